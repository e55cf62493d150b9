/* SPDX-License-Identifier: MIT */
/*
 * query_span - implements --from, --to and --last: the part of a database that a query covers.
 *
 * Threads: any; plain data.
 */
#ifndef NTK_AGENT_QUERY_QUERY_SPAN_H
#define NTK_AGENT_QUERY_QUERY_SPAN_H

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

/* Checks that the options are valid times in the right order; -EINVAL: usage error. */
int ntk_query_span_check(const struct ntk_query_span *span, struct ntk_err *err);
/* Narrows the window. Without --to, --last counts from last_ns. -EINVAL: the window is empty. */
int ntk_query_span_apply(const struct ntk_query_span *span, uint64_t last_ns, uint64_t *from_ns,
                         uint64_t *to_ns, struct ntk_err *err);
/* has_from, has_to: the user set this end; otherwise it is the first or last row of the database.
 * -EINVAL: the window is empty, with the wrong end in the message. */
int ntk_query_window_check(uint64_t from_ns, uint64_t to_ns, bool has_from, bool has_to,
                           struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
