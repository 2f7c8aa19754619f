// list_blobs.mjs - lists a container with the service's own client for JavaScript, so that an audit of ours is not its own
// witness. Prints a line for each blob: its name, a tab, and its tag `state` ("-" where it has none).
//
//   node list_blobs.mjs URL-OF-CONTAINER NODE_MODULES
//
// The account is the one that every emulator has.
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [url, modules] = process.argv.slice(2);
const require = createRequire(resolve(modules, "anything.js"));
const { ContainerClient, StorageSharedKeyCredential } = require("@azure/storage-blob");
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const container = new ContainerClient(url, new StorageSharedKeyCredential("devstoreaccount1", key));
for await (const blob of container.listBlobsFlat({ includeTags: true })) {
  console.log(`${blob.name}\t${blob.tags?.state ?? "-"}`);
}
