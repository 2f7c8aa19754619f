/* http_curl.h - the HTTP port over libcurl; its source is the only file that knows libcurl. */
#ifndef READYFS_BLOB_AZURE_HTTP_CURL_H
#define READYFS_BLOB_AZURE_HTTP_CURL_H

#include "blob/azure/http.h"

struct clock;

struct http_curl_options {
    const char *ca_file; /* NULL: the system's trusted certificates. Copied. */
    struct clock *clock; /* borrowed until close */
};

/* Opens a pool of connections that are kept alive. A thread performs its own exchange on a connection of the pool, so
 * there are as many as threads ever asked at once. Proxies are taken from the customary environment variables
 * (https_proxy, no_proxy ...), read when an exchange begins. Call it before threads are started: libcurl's own
 * initialisation is not thread-safe everywhere. */
MUST_CHECK enum status http_curl_open(const struct http_curl_options *options, struct http **ret_http, struct err *err);

#endif
