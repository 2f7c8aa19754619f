"""azure_tool.py - the container of an emulator as somebody else sees and changes it, signed by itself with Shared Key.

    azure_tool.py URL list                  the names of all blobs, one a line
    azure_tool.py URL put NAME              writes standard input under NAME
    azure_tool.py URL get NAME
    azure_tool.py URL delete NAME
    azure_tool.py URL drop                  deletes the container

URL is http://HOST:PORT/ACCOUNT/CONTAINER; the key comes from AZURE_STORAGE_ACCESS_KEY.
"""
import base64, email.utils, hashlib, hmac, http.client, os, re, sys, urllib.parse


def exchange(method, url, name="", query=None, body=b"", headers=None):
    parts = urllib.parse.urlsplit(url)
    account = parts.path.split("/")[1]
    path = parts.path + ("/" + urllib.parse.quote(name) if name else "")
    query = query or {}
    fields = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-12-02", **(headers or {})}
    canonical = "".join(f"{key}:{fields[key]}\n" for key in sorted(fields))
    resource = f"/{account}{path}" + "".join(f"\n{key}:{query[key]}" for key in sorted(query))
    length = str(len(body)) if body else ""
    text = f"{method}\n\n\n{length}\n\n\n\n\n\n\n\n\n{canonical}{resource}"
    key = base64.b64decode(os.environ["AZURE_STORAGE_ACCESS_KEY"])
    sign = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
    fields["Authorization"] = f"SharedKey {account}:{sign}"
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    target = path + ("?" + urllib.parse.urlencode(query) if query else "")
    connection.request(method, target, body=body or None, headers=fields)
    answer = connection.getresponse()
    data = answer.read()
    if answer.status >= 300:
        sys.exit(f"{method} {target}: {answer.status} {data[:300]!r}")
    return data


def main():
    url, verb = sys.argv[1], sys.argv[2]
    if verb == "list":
        marker = ""
        while True:
            query = {"restype": "container", "comp": "list"} | ({"marker": marker} if marker else {})
            page = exchange("GET", url, query=query).decode()
            for name in re.findall("<Name>([^<]*)</Name>", page):
                print(name)
            found = re.search("<NextMarker>([^<]+)</NextMarker>", page)
            if not found:
                return
            marker = found.group(1)
    elif verb == "put":
        exchange("PUT", url, sys.argv[3], body=sys.stdin.buffer.read(), headers={"x-ms-blob-type": "BlockBlob"})
    elif verb == "get":
        sys.stdout.buffer.write(exchange("GET", url, sys.argv[3]))
    elif verb == "delete":
        exchange("DELETE", url, sys.argv[3])
    elif verb == "drop":
        exchange("DELETE", url, query={"restype": "container"})
    else:
        sys.exit(__doc__)


main()
