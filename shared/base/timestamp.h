/* SPDX-License-Identifier: MIT */
/*
 * timestamp - a moment as people write it.
 *
 * Threads: any; the time zone is the process's.
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
 * Nanoseconds since 1970 of "2026-11-21T07:30:00Z", with "+02:00", or without a zone (local time);
 * seconds and the time of day may be missing; or of seconds since 1970. -EINVAL.
 */
int ntk_timestamp_parse(const char *text, uint64_t *out_ns, struct ntk_err *err);
#define NTK_TIMESTAMP_BYTES 32
/* "2026-11-21T07:30:00Z", with milliseconds if there are any; buf of NTK_TIMESTAMP_BYTES. */
void ntk_timestamp_format(uint64_t ns, char *buf, size_t buf_bytes);

#ifdef __cplusplus
}
#endif
#endif
