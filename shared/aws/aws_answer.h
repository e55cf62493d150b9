/* SPDX-License-Identifier: MIT */
/*
 * aws_answer - parses service responses: temporary keys as JSON or XML, times, errors. Pure.
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
    char *access_key; /* like secret_key and session_token: printable ASCII without blanks */
    char *secret_key;
    char *session_token;           /* NULL for keys without a token */
    uint64_t expires_unix_seconds; /* 0: never expires */
};

struct ntk_aws_error {
    char code[NTK_AWS_ERROR_CODE_BYTES]; /* "ThrottlingException"; "" when none was found */
    char text[NTK_AWS_ERROR_TEXT_BYTES];
};

/* Copies and checks the three texts; session_token may be NULL. Returns -EBADMSG with a message
 * that never contains the key, or -ENOMEM. */
int ntk_aws_keys_set(struct ntk_aws_keys *out_keys, const char *access_key, const char *secret_key,
                     const char *session_token, struct ntk_err *err);
/* Parses the JSON object that a container's endpoint or the instance metadata service returns. */
int ntk_aws_keys_from_json(const char *bytes, size_t bytes_count, struct ntk_aws_keys *out_keys,
                           struct ntk_err *err);
/* Parses the output of a credential_process: a JSON object of version 1. */
int ntk_aws_keys_from_process(const char *bytes, size_t bytes_count, struct ntk_aws_keys *out_keys,
                              struct ntk_err *err);
/* Parses an AssumeRoleWithWebIdentityResponse or AssumeRoleResponse. */
int ntk_aws_keys_from_sts(const char *bytes, size_t bytes_count, struct ntk_aws_keys *out_keys,
                          struct ntk_err *err);
void ntk_aws_keys_fini(struct ntk_aws_keys *keys);

/* Parses "2023-11-14T22:13:20Z", with or without a fraction, to seconds since 1970; else
 * -EBADMSG. */
int ntk_aws_time_parse(const char *text, uint64_t *out_unix_seconds);
/* Parses the date of a header "Date: Tue, 14 Nov 2023 22:13:20 GMT" to seconds since 1970; else
 * -EBADMSG. */
int ntk_aws_http_date_parse(const char *text, uint64_t *out_unix_seconds);
/* Extracts code and text of an error in JSON ("__type", "message") or XML (<Code>, <Message>). */
void ntk_aws_error_parse(const char *bytes, size_t bytes_count, struct ntk_aws_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
