/* SPDX-License-Identifier: MIT */
/*
 * aws_post - the header lines of a signed request that sends a body to a service. Pure.
 *
 * Owner:   ntk_aws_post_fini() wipes and frees; a zeroed struct has no lines.
 * Threads: any; plain data.
 */
#ifndef NTK_SHARED_AWS_AWS_POST_H
#define NTK_SHARED_AWS_AWS_POST_H

#include <stddef.h>
#include <stdint.h>

#include "shared/aws/aws_answer.h"
#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_AWS_POST_LINES_MAX 10

struct ntk_aws_post {
    const char *method; /* NULL means POST */
    const char *url;    /* URL with a scheme; the part after the host is signed unchanged */
    const char *region;
    const char *service; /* the name in signatures: "monitoring", "sts" */
    const struct ntk_aws_keys *keys;
    uint64_t unix_seconds;
    const char *content_type;
    const char *content_encoding; /* NULL: none */
    const char *target;           /* value of X-Amz-Target; NULL: none */
    const char *if_none_match;    /* NULL: none */
    const char *body_sha256;      /* value of X-Amz-Content-SHA256, which S3 requires; NULL: none */
    const void *body;
    size_t body_bytes;
};

struct ntk_aws_post_lines {
    struct ntk_buf texts[NTK_AWS_POST_LINES_MAX];
    const char *lines[NTK_AWS_POST_LINES_MAX + 1]; /* header lines of the request, ended by NULL */
};

/* Returns -ENOMEM with a message; the lines must be freed even then. */
int ntk_aws_post_sign(const struct ntk_aws_post *post, struct ntk_aws_post_lines *out_lines,
                      struct ntk_err *err);
void ntk_aws_post_fini(struct ntk_aws_post_lines *lines);

#ifdef __cplusplus
}
#endif
#endif
