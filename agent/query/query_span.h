/* SPDX-License-Identifier: MIT */
/*
 * query_span - implements --from, --to and --last: the part of a database that a query covers.
 *
 * Threads: any; plain data.
 */
#ifndef NTK_AGENT_QUERY_QUERY_SPAN_H
#define NTK_AGENT_QUERY_QUERY_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/opt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Option values; zeroed if not given. */
struct ntk_query_span {
    const char *from;
    const char *to;
    uint64_t last_ns;
};

/* The ends that a user sets: from and to, or last before the end. */
struct ntk_query_bounds {
    bool has_from;
    bool has_to;
    uint64_t from_ns;
    uint64_t to_ns;
    uint64_t last_ns; /* 0 if missing */
};

/* Expands to rows of the options. */
#define NTK_QUERY_SPAN_OPT(span)                                                                \
    { 0,                                                                                        \
      "from",                                                                                   \
      "TIME",                                                                                   \
      NTK_OPT_TEXT,                                                                             \
      &(span).from,                                                                             \
      "begin at TIME: 2026-11-21T07:30:00Z, local time without the Z, or seconds since the "    \
      "Unix epoch (default: the first row)" },                                                  \
        { 0, "to", "TIME", NTK_OPT_TEXT, &(span).to, "end at TIME (default: the last row)" },   \
    {                                                                                           \
        0, "last", "TIME", NTK_OPT_DURATION, &(span).last_ns,                                   \
            "begin TIME before the end of the window, such as 5m or 24h", .is_above_zero = true \
    }

/* -EINVAL: usage error. */
int ntk_query_span_parse(const struct ntk_query_span *span, struct ntk_query_bounds *out_bounds,
                         struct ntk_err *err);
/* Narrows a window from the first to the last row of the database. Without `to`, `last` counts from
 * newest_ns. -EINVAL: the window is empty, with the wrong end in the message. */
int ntk_query_bounds_apply(const struct ntk_query_bounds *bounds, uint64_t newest_ns,
                           uint64_t *from_ns, uint64_t *to_ns, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
