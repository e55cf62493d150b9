/* SPDX-License-Identifier: MIT */
/*
 * monitor_filter - compiles a tag_filter: a POSIX extended regular expression, bounded in memory
 * and time.
 *
 * The C library expands repetitions, and nested repetitions multiply, so an expression of a few
 * bytes can cost gigabytes. Such expressions are rejected before they are compiled.
 *
 * Owner:   the caller provides the storage; regfree() frees the compiled expression.
 * Threads: any; no state.
 */
#ifndef NTK_AGENT_REPORT_MONITOR_FILTER_H
#define NTK_AGENT_REPORT_MONITOR_FILTER_H

#include <regex.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_MONITOR_FILTER_BYTES_MAX 512

/* -EINVAL with a message. */
int ntk_monitor_filter_compile(const char *pattern, regex_t *out_regex, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
