/* SPDX-License-Identifier: MIT */
/*
 * err - the message that explains a negative return value.
 *
 * A function that can fail for external reasons returns -errno. If a number is not enough, it also
 * fills the caller's struct ntk_err with one message and, if a byte position helps, the offset.
 * Libraries never print; a program prints the message once (ntk_err_format).
 *
 * Text from outside is sanitized when it is stored, so the message may be printed unchanged.
 *
 * Owner:   the caller; a zeroed struct is "no error". Every function here accepts err == NULL.
 * Threads: one at a time per struct.
 */
#ifndef NTK_SHARED_BASE_ERR_H
#define NTK_SHARED_BASE_ERR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_ERR_TEXT_BYTES 512
#define NTK_ERR_NO_OFFSET UINT64_MAX

struct ntk_err {
    int code;        /* the negative errno that was returned */
    uint64_t offset; /* byte position in the object, or NTK_ERR_NO_OFFSET */
    char text[NTK_ERR_TEXT_BYTES];
};

/* Fills err (an earlier message is replaced) and returns code, for use in a return statement. code
 * is a negative errno. */
int ntk_err_set(struct ntk_err *err, int code, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Sets the message "out of memory"; returns -ENOMEM. */
int ntk_err_no_memory(struct ntk_err *err);

/* Puts "<formatted>: " before the message in err: callers add the object when they pass the error
 * on. */
void ntk_err_prefix(struct ntk_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes "text" or "text (at byte N)" into buf and returns buf. */
const char *ntk_err_format(const struct ntk_err *err, char *buf, size_t buf_bytes);

#ifdef __cplusplus
}
#endif
#endif
