/* http.c - what every implementation of the port shares. */
#include "blob/azure/http.h"

void http_response_init(struct http_response *response, size_t body_max)
{
    *response = (struct http_response){0};
    buf_init(&response->headers, HTTP_HEADERS_BYTES);
    buf_init(&response->body, body_max);
}

void http_response_clear(struct http_response *response)
{
    buf_clear(&response->headers);
    buf_clear(&response->body);
    response->status = 0;
    response->into_len = 0;
    response->moving_ms = 0;
}

void http_response_done(struct http_response *response)
{
    buf_done(&response->headers);
    buf_done(&response->body);
}

struct http *http_close(struct http *http)
{
    if (http)
        http->ops->close(http);
    return NULL;
}
