/* SPDX-License-Identifier: MIT */
/*
 * hand_timeline - a hand_trace on the page: its timeline, its analyses, and answers as JSON.
 *
 *   struct hand_timeline t;
 *   hand_trace_begin(&t.h, 1, "trn2.3xlarge", 1000); // and add runs
 *   hand_timeline_open(&t, 100);                     // 100 ns are 0 of the timeline
 *   hand_timeline_close(&t);
 *
 * Fails the test on any error.
 */
#ifndef NTK_TESTS_PROFILER_TIMELINE_HAND_TIMELINE_H
#define NTK_TESTS_PROFILER_TIMELINE_HAND_TIMELINE_H

#include <jansson.h>

#include "profiler/timeline/timeline_insight.h"
#include "tests/support/hand_trace.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)

struct hand_timeline {
    struct hand_trace h;
    struct ntk_timeline *timeline;
    struct ntk_analyses *analyses;
};

/* Ends the trace. */
void hand_timeline_open(struct hand_timeline *t, int64_t origin_ns);
/* Frees the trace too. */
void hand_timeline_close(struct hand_timeline *t);

/* Empties the buffer; the caller frees the result. */
json_t *json_of(struct ntk_buf *buf);
json_int_t number(const json_t *object, const char *key);
const char *text(const json_t *object, const char *key);

#endif
