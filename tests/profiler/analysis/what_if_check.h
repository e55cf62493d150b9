/* SPDX-License-Identifier: MIT */
/* what_if_check - what-if of hand-made traces: lengths that are known by construction. */
#ifndef NTK_TESTS_WHAT_IF_CHECK_H
#define NTK_TESTS_WHAT_IF_CHECK_H

#include "profiler/analysis/what_if.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

/* The caller frees it. */
static inline struct ntk_what_if what_if(const struct hand_answers *a, const char *changes)
{
    struct ntk_what_if_changes parsed = { 0 };
    struct ntk_what_if result;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_what_if_changes_add(&parsed, changes, &err), 0);
    assert_int_equal(ntk_what_if_changes_check(a->program, &parsed, &err), 0);
    assert_int_equal(ntk_analysis_what_if(a->program, &a->transfers, &parsed, NULL, &result), 0);
    assert_false(result.is_standard);
    assert_int_equal(result.row_count, 1);
    assert_int_equal(result.as_is.total_ps, a->program->trace->total_ps);
    return result;
}

/* The parts of the path are as long as the path. */
static inline void expect(const struct hand_answers *a, const char *changes, int64_t total_ns)
{
    struct ntk_what_if result = what_if(a, changes);
    int64_t sum_ps = 0;

    if (result.rows[0].total_ps != total_ns * NTK_TRACE_PS_PER_NS) {
        fail_msg("%s: %lld ps, not %lld ns", changes, (long long)result.rows[0].total_ps,
                 (long long)total_ns);
    }
    for (unsigned on = 0; on < NTK_WHAT_IF_ON_COUNT; on++) {
        sum_ps += result.rows[0].path_ps[on];
    }
    assert_int_equal(sum_ps, result.rows[0].total_ps);
    ntk_what_if_fini(&result);
}

static inline void run(struct hand_trace *h, size_t core, unsigned engine, unsigned wait,
                       unsigned wait_value, unsigned signal, int64_t start_ns, int64_t end_ns)
{
    uint32_t slot = hand_trace_nop(h, core, engine, wait, wait_value, signal);

    hand_trace_run(h, core, engine, slot, start_ns, end_ns);
}

#endif
