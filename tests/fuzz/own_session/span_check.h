/* SPDX-License-Identifier: MIT */
/*
 * span_check - invariants of the spans of any trace, and of the analyses of them: aborts if one is
 * violated.
 */
#ifndef NTK_TESTS_FUZZ_SPAN_CHECK_H
#define NTK_TESTS_FUZZ_SPAN_CHECK_H

#include "profiler/system/system_trace.h"

/* Spans are in order, do not end before they begin, and are within their parents. */
void span_check_order(const struct ntk_system_trace *trace);
/* The parts of a time sum to it for any content of the file. */
void span_check_analyses(const struct ntk_system_trace *trace);

#endif
