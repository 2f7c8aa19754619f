/* floor.c - the floor of a benchmark: the requests that a mount sends, sent directly.
 *
 *   floor ENDPOINT CONTAINER put COUNT SIZE CONNECTIONS          COUNT blobs of SIZE bytes, one Put Blob each
 *   floor ENDPOINT CONTAINER write FILE BLOCK CONNECTIONS        FILE as one blob: Put Block for each BLOCK, then the
 * list floor ENDPOINT CONTAINER read BLOCK CONNECTIONS [FILE]       the blob that `write` made, in ranges of BLOCK
 * bytes, handed on in order: to FILE, or dropped
 *
 * Requests are built and signed by readyfs's own wire/, with the headers that it sends: condition, digest, metadata,
 * tag. They are performed by libcurl alone, a handle with a kept-alive connection for each thread, and nothing else is
 * done: no catalogue, no kernel. Prints seconds of wall clock and of CPU. ENDPOINT is an emulator's, whose key
 * everybody knows: http://127.0.0.1:PORT/devstoreaccount1 */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text.h"
#include "blob/azure/wire/request.h"
#include "blob/azure/wire/sign.h"
#include "blob/azure/wire/xml.h"
#include "core/id.h"
#include "support/azurite.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define CONNECTIONS_MAX 64
#define CURL_BUFFER     (256L * 1024)
#define BLOB_OF_WRITE   "d/00/floor"
#define CATALOGUE       "0123456789abcdef0123456789abcdef"

static struct {
    const char *endpoint;
    struct wire_place place;
    uint8_t key[64];
    size_t key_len;
    size_t connections;
} to;

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "floor: %s: %s\n", what, why);
    exit(1);
}

static uint64_t number(const char *text)
{
    uint64_t value = 0;
    if (!parse_uint64(text, 1, 1ULL << 40, &value))
        die(text, "not a number");
    return value;
}

/* ---- one exchange ---- */

struct connection {
    CURL *easy;
    char *into; /* where the body of a ranged read goes */
    size_t len, capacity;
    char etag[128];
    const char *body;
    size_t body_len, sent;
};

static size_t on_body(char *bytes, size_t size, size_t count, void *data)
{
    struct connection *connection = data;
    size_t len = size * count;
    if (len > connection->capacity - connection->len)
        return connection->capacity ? 0 : len;
    memcpy(connection->into + connection->len, bytes, len);
    connection->len += len;
    return len;
}

static size_t on_header(char *line, size_t size, size_t count, void *data)
{
    struct connection *connection = data;
    size_t len = size * count;
    if (len > 6 && len < sizeof connection->etag && strncasecmp(line, "ETag: ", 6) == 0)
        (void)snprintf(connection->etag, sizeof connection->etag, "%.*s", (int)(len - 8), line + 6); /* without CRLF */
    return len;
}

static size_t on_read(char *buffer, size_t size, size_t count, void *data)
{
    struct connection *connection = data;
    size_t rest = connection->body_len - connection->sent, len = size * count < rest ? size * count : rest;
    memcpy(buffer, connection->body + connection->sent, len);
    connection->sent += len;
    return len;
}

static void connection_open(struct connection *connection)
{
    memset(connection, 0, sizeof *connection);
    connection->easy = curl_easy_init();
    if (!connection->easy)
        die("libcurl", "out of memory");
}

static void set_body(struct connection *connection, const void *body, size_t len)
{
    CURL *easy = connection->easy;
    connection->body = body;
    connection->body_len = len;
    connection->sent = 0;
    if (len <= (size_t)CURL_BUFFER / 8) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, len ? body : "");
    } else {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)len);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(easy, CURLOPT_READDATA, connection);
    }
}

static struct curl_slist *headers_of(const struct wire_request *request)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    list = curl_slist_append(list, "Accept:");
    if (!request->body_len)
        list = curl_slist_append(list, "Content-Type:"); /* else libcurl adds one that is not signed */
    char line[1024];
    for (size_t i = 0; i < request->header_count; i++) {
        (void)snprintf(line, sizeof line, "%s: %s", request->headers[i].name, request->headers[i].value);
        list = curl_slist_append(list, line);
    }
    (void)snprintf(line, sizeof line, "Authorization: %s", request->authorization);
    return curl_slist_append(list, line);
}

/* Signs and performs; ends the program unless the answer has the expected status. */
static void exchange(struct connection *connection, struct wire_request *request, const void *body, long expected)
{
    const struct sign_key key = {AZURITE_ACCOUNT, to.key, to.key_len};
    struct buf url AUTO_BUF;
    buf_init(&url, 16384);
    size_t base = strlen(to.endpoint) - strlen(to.place.base_path);
    if (sign_request(request, &key, time(NULL)) != STATUS_OK || request_status(request) != STATUS_OK ||
        buf_append(&url, to.endpoint, base) != STATUS_OK || request_target(request, NULL, &url) != STATUS_OK)
        die("sign", "the request cannot be built");
    CURL *easy = connection->easy;
    struct curl_slist *headers = headers_of(request);
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, CURL_BUFFER);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, CURL_BUFFER);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, connection);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, connection);
    if (strcmp(request->method, "PUT") == 0)
        set_body(connection, body, request->body_len);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(easy, CURLOPT_URL, url.bytes);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    CURLcode code = curl_easy_perform(easy);
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    if (code != CURLE_OK || status != expected) {
        char text[64];
        (void)snprintf(text, sizeof text, "status %ld instead of %ld", status, expected);
        die(request->path, code != CURLE_OK ? curl_easy_strerror(code) : text);
    }
}

/* ---- many ---- */

/* What the threads share: the next piece of work, and the pieces in the order of the file for who hands them on. */
struct work {
    size_t count;
    size_t piece; /* bytes of each but the last */
    size_t size;
    const char *bytes; /* of what is written */
    atomic_size_t next;
    void (*run)(struct work *work, struct connection *connection, size_t index);

    /* of reads; protected by `lock` */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char **slots; /* index % (2 * connections) */
    bool *full;
    size_t handed_on;
    char etag[128];
};

static void *run_thread(void *argument)
{
    struct work *work = argument;
    struct connection connection;
    connection_open(&connection);
    for (size_t index; (index = atomic_fetch_add(&work->next, 1)) < work->count;)
        work->run(work, &connection, index);
    curl_easy_cleanup(connection.easy);
    return NULL;
}

static void start_threads(struct work *work, pthread_t threads[CONNECTIONS_MAX])
{
    for (size_t i = 0; i < to.connections; i++)
        if (pthread_create(&threads[i], NULL, run_thread, work) != 0)
            die("threads", "cannot be started");
}

static void join_threads(pthread_t threads[CONNECTIONS_MAX])
{
    for (size_t i = 0; i < to.connections; i++)
        (void)pthread_join(threads[i], NULL); /* they were started */
}

static size_t piece_len(const struct work *work, size_t index)
{
    size_t left = work->size - index * work->piece;
    return left < work->piece ? left : work->piece;
}

static struct wire_label label(char token[ID_TEXT_SIZE])
{
    uint8_t random[ID_BYTES];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        die("getrandom", "failed");
    id_text(random, token);
    return (struct wire_label){.catalogue = CATALOGUE,
                               .token = token,
                               .name_hex = "66696c65303030312e747874",
                               .content_type = "text/plain",
                               .document = 1001,
                               .version = 2001,
                               .state = "pending"};
}

static void put_one(struct work *work, struct connection *connection, size_t index)
{
    uint8_t random[ID_BYTES], digest[MD5_BYTES];
    char name[LIMIT_BLOB_NAME_BYTES], token[ID_TEXT_SIZE];
    struct wire_request request;
    struct wire_label about = label(token);
    const char *bytes = work->bytes + index; /* each has other bytes */
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random || id_blob_name("", random, name) != STATUS_OK ||
        md5(bytes, work->piece, digest) != STATUS_OK)
        die("put", "out of memory");
    request_put(&request, &to.place, name, work->piece, digest, &about);
    exchange(connection, &request, bytes, 201);
}

static void block_id(size_t index, char ret_id[BLOCK_ID_TEXT_SIZE])
{
    static const uint8_t upload[ID_BYTES] = {1, 2, 3};
    id_block(upload, (uint32_t)index, 0, ret_id);
}

static void stage_one(struct work *work, struct connection *connection, size_t index)
{
    uint8_t digest[MD5_BYTES];
    char id[BLOCK_ID_TEXT_SIZE];
    struct wire_request request;
    const char *bytes = work->bytes + index * work->piece;
    size_t len = piece_len(work, index);
    block_id(index, id);
    if (md5(bytes, len, digest) != STATUS_OK)
        die("stage", "out of memory");
    request_block(&request, &to.place, BLOB_OF_WRITE, id, len, digest);
    exchange(connection, &request, bytes, 201);
}

static void commit_blocks(const struct work *work)
{
    struct buf xml AUTO_BUF;
    buf_init(&xml, 8u << 20);
    enum status status = block_list_begin(&xml);
    for (size_t i = 0; i < work->count && status == STATUS_OK; i++) {
        char id[BLOCK_ID_TEXT_SIZE];
        block_id(i, id);
        status = block_list_add(&xml, id);
    }
    if (status == STATUS_OK)
        status = block_list_end(&xml);
    uint8_t digest[MD5_BYTES];
    char token[ID_TEXT_SIZE];
    if (status != STATUS_OK || md5(xml.bytes, xml.len, digest) != STATUS_OK)
        die("commit", "out of memory");
    struct wire_request request;
    struct wire_label about = label(token);
    struct connection connection;
    connection_open(&connection);
    request_commit(&request, &to.place, BLOB_OF_WRITE, xml.len, digest, &about);
    exchange(&connection, &request, xml.bytes, 201);
    curl_easy_cleanup(connection.easy);
}

static void read_one(struct work *work, struct connection *connection, size_t index)
{
    size_t slots = 2 * to.connections, slot = index % slots;
    pthread_mutex_lock(&work->lock);
    while (index >= work->handed_on + slots)
        pthread_cond_wait(&work->changed, &work->lock);
    pthread_mutex_unlock(&work->lock);
    struct wire_request request;
    const struct wire_range range = {index * work->piece, piece_len(work, index)};
    request_read(&request, &to.place, BLOB_OF_WRITE, work->etag, range);
    connection->into = work->slots[slot];
    connection->capacity = work->piece;
    connection->len = 0;
    exchange(connection, &request, NULL, 206);
    if (connection->len != range.len)
        die("read", "a short answer");
    pthread_mutex_lock(&work->lock);
    work->full[slot] = true;
    pthread_cond_broadcast(&work->changed);
    pthread_mutex_unlock(&work->lock);
}

/* Hands the pieces on in order, as a mount must. */
static void hand_on(struct work *work, int fd)
{
    for (size_t index = 0; index < work->count; index++) {
        size_t slot = index % (2 * to.connections), len = piece_len(work, index);
        pthread_mutex_lock(&work->lock);
        while (!work->full[slot])
            pthread_cond_wait(&work->changed, &work->lock);
        pthread_mutex_unlock(&work->lock);
        for (size_t done = 0; fd >= 0 && done < len;) {
            ssize_t n = write(fd, work->slots[slot] + done, len - done);
            if (n <= 0)
                die("output", "cannot be written");
            done += (size_t)n;
        }
        pthread_mutex_lock(&work->lock);
        work->full[slot] = false;
        work->handed_on++;
        pthread_cond_broadcast(&work->changed);
        pthread_mutex_unlock(&work->lock);
    }
}

/* ---- the three rows ---- */

static void create_container(void)
{
    struct wire_request request;
    struct connection connection;
    connection_open(&connection);
    request_container_create(&request, &to.place);
    exchange(&connection, &request, NULL, 201);
    curl_easy_cleanup(connection.easy);
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now); /* both clocks exist everywhere */
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double started_at;

static void finish(void)
{
    (void)fprintf(stderr, "{\"seconds\": %.4f, \"cpu_seconds\": %.4f}\n", seconds(CLOCK_MONOTONIC) - started_at,
                  seconds(CLOCK_PROCESS_CPUTIME_ID));
}

static void run_put(size_t count, size_t size)
{
    create_container();
    AUTO_FREE char *bytes = malloc(count + size);
    if (!bytes)
        die("put", "out of memory");
    for (size_t i = 0; i < count + size; i++)
        bytes[i] = (char)(i * 2654435761u >> 11);
    struct work work = {.count = count, .piece = size, .size = count * size, .bytes = bytes, .run = put_one};
    pthread_t threads[CONNECTIONS_MAX];
    started_at = seconds(CLOCK_MONOTONIC);
    start_threads(&work, threads);
    join_threads(threads);
    finish();
}

static void run_write(const char *path, size_t block)
{
    create_container();
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat stat;
    if (fd < 0 || fstat(fd, &stat) != 0 || stat.st_size == 0)
        die(path, "cannot be read");
    size_t size = (size_t)stat.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        die(path, "cannot be mapped");
    struct work work = {
        .count = (size + block - 1) / block, .piece = block, .size = size, .bytes = bytes, .run = stage_one};
    pthread_t threads[CONNECTIONS_MAX];
    started_at = seconds(CLOCK_MONOTONIC);
    start_threads(&work, threads);
    join_threads(threads);
    commit_blocks(&work);
    finish();
    (void)munmap(bytes, size); /* the program ends */
}

static size_t look(char ret_etag[128])
{
    struct wire_request request;
    struct connection connection;
    connection_open(&connection);
    const struct wire_range first = {0, 1};
    request_read(&request, &to.place, BLOB_OF_WRITE, "*", first);
    exchange(&connection, &request, NULL, 206);
    memcpy(ret_etag, connection.etag, sizeof connection.etag);
    struct curl_header *header = NULL;
    if (curl_easy_header(connection.easy, "Content-Range", 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        die("read", "no Content-Range");
    const char *slash = strrchr(header->value, '/');
    size_t size = slash ? number(slash + 1) : 0;
    curl_easy_cleanup(connection.easy);
    return size;
}

static void run_read(size_t block, const char *path)
{
    AUTO_FD int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    if (path && fd < 0)
        die(path, "cannot be opened");
    struct work work = {.piece = block,
                        .run = read_one,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
    work.size = look(work.etag);
    work.count = (work.size + block - 1) / block;
    char *slots[2 * CONNECTIONS_MAX] = {0};
    bool full[2 * CONNECTIONS_MAX] = {0};
    for (size_t i = 0; i < 2 * to.connections; i++)
        if (!(slots[i] = malloc(block)))
            die("read", "out of memory");
    work.slots = slots;
    work.full = full;
    pthread_t threads[CONNECTIONS_MAX];
    started_at = seconds(CLOCK_MONOTONIC);
    start_threads(&work, threads);
    hand_on(&work, fd);
    join_threads(threads);
    finish();
    for (size_t i = 0; i < 2 * to.connections; i++)
        free(slots[i]);
}

int main(int argc, char **argv)
{
    static const char usage[] = "ENDPOINT CONTAINER put COUNT SIZE CONNECTIONS | write FILE BLOCK CONNECTIONS | "
                                "read BLOCK CONNECTIONS [FILE]";
    const char *verb = argc > 5 ? argv[3] : "";
    bool reads = strcmp(verb, "read") == 0;
    if (argc < (reads ? 6 : 7) || argc > 7)
        die("usage", usage);
    to.endpoint = argv[1];
    to.place = (struct wire_place){.base_path = "/" AZURITE_ACCOUNT, .container = argv[2]};
    to.connections = number(argv[reads ? 5 : 6]);
    if (to.connections > CONNECTIONS_MAX || !base64_decode(AZURITE_KEY, to.key, sizeof to.key, &to.key_len))
        die("usage", "too many connections");
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* curl_easy_init tells when it had failed */
    if (strcmp(verb, "put") == 0)
        run_put(number(argv[4]), number(argv[5]));
    else if (strcmp(verb, "write") == 0)
        run_write(argv[4], number(argv[5]));
    else if (reads)
        run_read(number(argv[4]), argc > 6 ? argv[6] : NULL);
    else
        die("usage", usage);
    return 0;
}
