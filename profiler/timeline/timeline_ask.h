/* SPDX-License-Identifier: MIT */
/*
 * timeline_ask - answers the page's requests by name, from parameters to bytes or a message. It is
 * independent of HTTP; timeline_serve.h lists the requests.
 *
 * Times are ps since the start of the timeline; later times count as its end. The cost of an answer
 * is bounded by the timeline and by limits on lists; search patterns are matched in the browser.
 *
 * Owner:   create / destroy; the timeline and the traces are borrowed for that time.
 * Threads: slow requests come from one thread, the others from any.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_ASK_H
#define NTK_PROFILER_TIMELINE_TIMELINE_ASK_H

#include "profiler/timeline/timeline.h"
#include "shared/base/buf.h"

struct ntk_source_text;
struct ntk_timeline_ask;

struct ntk_timeline_ask_options {
    const struct ntk_timeline *timeline;
    const char *title;                            /* copied */
    const struct ntk_system_trace *const *traces; /* traces of the displayed hosts; borrowed */
    size_t trace_count;
    struct ntk_source_text *source_text; /* NULL if none; borrowed */
    const char *joined_json; /* answer of the analysis joined; NULL to compute it; borrowed */
};

/* Returns the value of a parameter, NULL if absent. */
struct ntk_timeline_query {
    const char *(*get)(const char *name, void *ctx);
    void *ctx;
};

struct ntk_timeline_question {
    const char *name, *content_type;
    bool is_slow; /* scans whole rows or runs analyses; the cost of others depends on their size */
};

int ntk_timeline_ask_create(const struct ntk_timeline_ask_options *options,
                            struct ntk_timeline_ask **out_ask, struct ntk_err *err);
/* Accepts NULL. */
void ntk_timeline_ask_destroy(struct ntk_timeline_ask *ask);

size_t ntk_timeline_question_count(void);
/* index must be below ntk_timeline_question_count(). */
const struct ntk_timeline_question *ntk_timeline_question_get(size_t index);
/* Appends the answer. Returns 0; -EINVAL for a parameter, -ENOENT for an absent object, each with a
 * message; -ENOMEM. */
int ntk_timeline_ask(const struct ntk_timeline_ask *ask, size_t index,
                     const struct ntk_timeline_query *query, struct ntk_buf *out,
                     struct ntk_err *err);

#endif
