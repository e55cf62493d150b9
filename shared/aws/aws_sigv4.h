/* SPDX-License-Identifier: MIT */
/*
 * aws_sigv4 - Signature Version 4: proves who sent a request and that it is unchanged. Pure.
 *
 * Source:  "Authenticating Requests (AWS Signature Version 4)" of the AWS General Reference. The
 *          standard encodes the path twice, except for S3; so only paths of unreserved characters
 *          and '/' are accepted (for S3, paths that are encoded once), and no query. Decision:
 *          docs/decisions/libraries.md.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_AWS_AWS_SIGV4_H
#define NTK_SHARED_AWS_AWS_SIGV4_H

#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_AWS_HEADERS_MAX 16u
#define NTK_AWS_DATE_BYTES 17u /* "20150830T123600Z" */

struct ntk_aws_header {
    const char *name; /* lower case */
    const char *value;
};

struct ntk_aws_request {
    const char *method;
    const char *path; /* "/" or longer; see above */
    /* All headers that are sent and must be protected, sorted by name: host and x-amz-date are
     * required, x-amz-security-token if there is one. At most NTK_AWS_HEADERS_MAX. */
    const struct ntk_aws_header *headers;
    size_t header_count;
    const void *body;
    size_t body_bytes;
    const char *body_sha256; /* SHA-256 of the body as 64 digits; NULL: computed */
};

struct ntk_aws_scope {
    const char *access_key;
    const char *secret_key;
    const char *region;
    const char *service;
    char date[NTK_AWS_DATE_BYTES]; /* the value of x-amz-date */
};

/* Formats seconds since 1970 as "20150830T123600Z". */
void ntk_aws_date(char date[NTK_AWS_DATE_BYTES], uint64_t seconds);
/* Appends the value of the header "Authorization"; ntk_buf_ok(out) shows whether that succeeded. */
void ntk_aws_sign(const struct ntk_aws_request *request, const struct ntk_aws_scope *scope,
                  struct ntk_buf *out);
/* SHA-256 of the bytes as 64 lower-case digits; returns -1 if libcrypto fails. */
#define NTK_AWS_SHA256_BYTES 65u
int ntk_aws_sha256(const void *bytes, size_t bytes_count, char hex[NTK_AWS_SHA256_BYTES]);
/* Returns -1 unless the path can be signed unchanged. */
int ntk_aws_path_check(const char *path);

#ifdef __cplusplus
}
#endif
#endif
