/* SPDX-License-Identifier: MIT */
/* output_joined - writes the joined graph of ranks as text and as JSON. Threads: any. */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_JOINED_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_JOINED_H

#include "profiler/analysis/joined.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

/* The input: traces in memory or, without any, folders. */
struct ntk_system_asked {
    const struct ntk_system_trace *const *traces;
    size_t trace_count;
    const struct ntk_vec *folders;            /* elements are char *; NULL if none */
    const struct ntk_joined_options *options; /* may be NULL */
    /* set if a file could not be read, which is reported on stderr; may be NULL */
    bool *has_warned;
    struct ntk_err *err; /* message of a negative result, if any; may be NULL */
};

/* Appends to json, or to text if json is NULL. Returns 0, -errno, or -ENODATA without two ranks
 * with collectives; then nothing is appended. */
int ntk_output_joined(const struct ntk_system_asked *asked, struct ntk_buf *text,
                      struct ntk_json *json);

/* Same, for a finished list. */
int ntk_output_joined_list(struct ntk_rank_list *list, const struct ntk_joined_options *options,
                           struct ntk_buf *text, struct ntk_json *json, struct ntk_err *err);

#endif
