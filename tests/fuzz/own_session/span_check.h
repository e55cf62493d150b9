/* SPDX-License-Identifier: MIT */
/*
 * span_check - what holds for the spans of any trace, and for what analyses make of them: aborts
 * where it does not.
 */
#ifndef NTK_TESTS_FUZZ_SPAN_CHECK_H
#define NTK_TESTS_FUZZ_SPAN_CHECK_H

#include "profiler/system/system_trace.h"

/* Spans are in order, end after they begin and lie within their parents. */
void span_check_order(const struct ntk_system_trace *trace);
/* Parts of a time add up to it, whatever the file says. */
void span_check_analyses(const struct ntk_system_trace *trace);

#endif
