/* SPDX-License-Identifier: MIT */
/*
 * span_script - spans of a system trace from a line of text.
 *
 *   struct span_script s;
 *   span_script_read(&s, "run 0-100 copy 20-30:4096@2");   // ns; bytes; core and rank
 *   ntk_analysis_host_gaps(&s.trace, ...)
 *
 * Spans are listed by start, and time 0 is 1000 ns after that of the clock. Owner: the caller's
 * storage; nothing to free.
 */
#ifndef NTK_TESTS_SPAN_SCRIPT_H
#define NTK_TESTS_SPAN_SCRIPT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/system_trace.h"
#include "tests/support/unit.h"

#define SPAN_SCRIPT_MAX 32
#define SPAN_SCRIPT_ZERO_NS 1000

struct span_script {
    struct ntk_system_trace trace;
    struct ntk_system_span spans[SPAN_SCRIPT_MAX];
};

static inline const char *span_script_type(const char *word)
{
    static const char *const types[][2] = {
        { "run", "nc_exec_running" },    { "cc", "cc_running" },
        { "exec", "nrt_execute" },       { "load", "nrt_load" },
        { "copy", "dmem_buf_copyin" },   { "call", "nrt_get_version" },
        { "write", "nrt_tensor_write" }, { "alloc", "nrt_dma_mem_alloc" },
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(word, types[i][0]) == 0) {
            return types[i][1];
        }
    }
    fail_msg("unknown kind of span '%s'", word);
    return NULL;
}

static inline int span_script_compare(const void *a, const void *b)
{
    const struct ntk_system_span *x = a;
    const struct ntk_system_span *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static inline void span_script_read(struct span_script *s, const char *text)
{
    int used = 0;

    memset(s, 0, sizeof *s);
    s->trace.spans = s->spans;
    for (const char *at = text; *at; at += strspn(at, " ")) {
        struct ntk_system_span *span = &s->spans[s->trace.span_count++];
        char word[8];
        unsigned long long from;
        unsigned long long until;
        assert_true(s->trace.span_count < SPAN_SCRIPT_MAX);
        assert_int_equal(sscanf(at, "%7s %llu-%llu%n", word, &from, &until, &used), 3);
        at += used;
        *span = (struct ntk_system_span){ .type = span_script_type(word),
                                          .name = "",
                                          .start_ns = SPAN_SCRIPT_ZERO_NS + from,
                                          .end_ns = SPAN_SCRIPT_ZERO_NS + until };
        if (*at == ':') {
            span->bytes = strtoull(at + 1, (char **)(uintptr_t)&at, 10);
        }
        if (*at == '@') {
            span->nc = (uint32_t)strtoul(at + 1, (char **)(uintptr_t)&at, 10);
            span->worker = span->nc;
        }
    }
    if (s->trace.span_count) {
        qsort(s->spans, s->trace.span_count, sizeof *s->spans, span_script_compare);
    }
}

#endif
