/* SPDX-License-Identifier: MIT */
/*
 * aws_process - runs the command of a "credential_process" line.
 *
 * No shell: words are split at blanks; '...' keeps everything unchanged, and so does "..." except
 * for a backslash before a quote or a backslash; a backslash outside of quotes escapes the next
 * character. The program is looked up in PATH; it inherits our standard error, and its standard
 * input is empty.
 *
 * Owner:   *out_words is one allocation, freed with free(); the caller owns out.
 * Threads: any.
 */
#ifndef NTK_SHARED_AWS_AWS_PROCESS_H
#define NTK_SHARED_AWS_AWS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_AWS_PROCESS_WORDS_MAX 64
#define NTK_AWS_PROCESS_NS UINT64_C(60000000000)

/* Splits the command into words in one allocation, freed with free() and ended by NULL. -EINVAL if
 * it has no word, an open quote, or too many words. */
int ntk_aws_process_split(const char *command, char ***out_words, struct ntk_err *err);

/* Appends the command's standard output after it has succeeded. Kills the command and fails after
 * timeout_ns, after NTK_AWS_ANSWER_BYTES_MAX bytes, or when is_cancelled(ctx) is true (checked
 * every 100 ms). */
int ntk_aws_process_run(const char *command, uint64_t timeout_ns, bool (*is_cancelled)(void *ctx),
                        void *ctx, struct ntk_buf *out, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
