/* SPDX-License-Identifier: MIT */
/*
 * timestamp - converts between times and the form that users write.
 *
 * Threads: any; the time zone is that of the process.
 */
#ifndef NTK_SHARED_BASE_TIMESTAMP_H
#define NTK_SHARED_BASE_TIMESTAMP_H

#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Parses "2026-11-21T07:30:00Z", with "+02:00", or without a zone (local time), as nanoseconds
 * since 1970; seconds and the time of day may be missing. Also accepts seconds since 1970. Returns
 * -EINVAL for any other text.
 */
int ntk_timestamp_parse(const char *text, uint64_t *out_ns, struct ntk_err *err);
#define NTK_TIMESTAMP_BYTES 32
/* Formats "2026-11-21T07:30:00Z", with milliseconds if they are not 0. buf has
 * NTK_TIMESTAMP_BYTES. */
void ntk_timestamp_format(uint64_t ns, char *buf, size_t buf_bytes);

#ifdef __cplusplus
}
#endif
#endif
