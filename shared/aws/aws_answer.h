/* SPDX-License-Identifier: MIT */
/*
 * aws_answer - what services say, read: temporary keys as JSON or XML, times, errors. Pure.
 *
 * Owner:   ntk_aws_keys_fini() frees; a zeroed struct has no keys.
 * Threads: any; plain data.
 */
#ifndef NTK_SHARED_AWS_AWS_ANSWER_H
#define NTK_SHARED_AWS_AWS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_AWS_ERROR_CODE_BYTES 128u
#define NTK_AWS_ERROR_TEXT_BYTES 200u

struct ntk_aws_keys {
    char *access_key; /* all three of printable ASCII without blanks */
    char *secret_key;
    char *session_token;           /* NULL: none */
    uint64_t expires_unix_seconds; /* 0: never */
};

struct ntk_aws_error {
    char code[NTK_AWS_ERROR_CODE_BYTES]; /* "ThrottlingException"; "" when none was found */
    char text[NTK_AWS_ERROR_TEXT_BYTES];
};

/* Copies the three, each checked; session_token may be NULL. -EBADMSG with a message (which never
 * has the key in it), -ENOMEM. */
int ntk_aws_keys_set(struct ntk_aws_keys *out_keys, const char *access_key, const char *secret_key,
                     const char *session_token, struct ntk_err *err);
/* The object of a container's endpoint or of the instance metadata service. */
int ntk_aws_keys_from_json(const char *bytes, size_t bytes_count, struct ntk_aws_keys *out_keys,
                           struct ntk_err *err);
/* What a credential_process writes: an object of version 1. */
int ntk_aws_keys_from_process(const char *bytes, size_t bytes_count, struct ntk_aws_keys *out_keys,
                              struct ntk_err *err);
/* AssumeRoleWithWebIdentityResponse, AssumeRoleResponse. */
int ntk_aws_keys_from_sts(const char *bytes, size_t bytes_count, struct ntk_aws_keys *out_keys,
                          struct ntk_err *err);
void ntk_aws_keys_fini(struct ntk_aws_keys *keys);

/* Seconds since 1970 of "2023-11-14T22:13:20Z" (with a fraction too); -EBADMSG. */
int ntk_aws_time_parse(const char *text, uint64_t *out_unix_seconds);
/* Seconds since 1970 of a header "Date: Tue, 14 Nov 2023 22:13:20 GMT"; -EBADMSG. */
int ntk_aws_http_date_parse(const char *text, uint64_t *out_unix_seconds);
/* Code and text of an error as JSON ("__type", "message") or XML (<Code>, <Message>). */
void ntk_aws_error_parse(const char *bytes, size_t bytes_count, struct ntk_aws_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
