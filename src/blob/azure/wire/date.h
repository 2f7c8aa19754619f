/* date.h - the three ways in which Azure Storage writes a moment, from and to seconds since 1970-01-01 UTC. Pure: no
 * time zone, no locale, no table of the C library is asked. Years 1970 to 9999. */
#ifndef READYFS_BLOB_AZURE_WIRE_DATE_H
#define READYFS_BLOB_AZURE_WIRE_DATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define DATE_HTTP_SIZE 30 /* "Sun, 06 Nov 1994 08:49:37 GMT" and NUL */
#define DATE_ISO_SIZE  21 /* "1994-11-06T08:49:37Z" and NUL */

/* The preferred form of HTTP (RFC 9110, 5.6.7; once RFC 1123). Moments outside the years above are INVARIANT. */
void date_http(int64_t utc_s, char ret_text[DATE_HTTP_SIZE]);

/* What a shared access signature wants. */
void date_iso(int64_t utc_s, char ret_text[DATE_ISO_SIZE]);

/* Reads the preferred form of HTTP, and nothing else. False for anything malformed; the day's name is not compared with
 * the date. */
MUST_CHECK bool date_parse_http(const char *text, int64_t *ret_utc_s);

/* Reads "2024-01-31", "2024-01-31T10:20Z", "2024-01-31T10:20:30Z" and the last with a fraction, which is dropped: the
 * forms allowed in a shared access signature. */
MUST_CHECK bool date_parse_iso(const char *text, int64_t *ret_utc_s);

#endif
