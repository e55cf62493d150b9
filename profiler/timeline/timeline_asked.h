/* SPDX-License-Identifier: MIT */
/*
 * timeline_asked - reads parameters of the page's requests as numbers.
 *
 * Owner:   the caller frees lists.
 * Errors:  -EINVAL with a message if a parameter is missing, or not a number in its range.
 * Threads: any; no state.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_ASKED_H
#define NTK_PROFILER_TIMELINE_TIMELINE_ASKED_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/timeline/timeline_ask.h"

/* Returns NULL if the query has none. */
const char *ntk_asked_get(const struct ntk_timeline_query *query, const char *name);
/* Reads a number from 0 to max. */
int ntk_asked_u64(const struct ntk_timeline_query *query, const char *name, uint64_t max,
                  uint64_t *out_value, struct ntk_err *err);
/* Reads a list of numbers such as "0,3-7". */
int ntk_asked_list(const struct ntk_timeline_query *query, const char *name, uint32_t **out_values,
                   size_t *out_count, struct ntk_err *err);

#endif
