/* SPDX-License-Identifier: MIT */
/* When a process is checked again, and what observing may cost, with times given by the test. */
#include "runtime-hooks/attach/attach_pace.h"

#include "tests/support/unit.h"

#define BEGIN_NS (3600 * NTK_NS_PER_SECOND)

static void a_process_without_libnrt_is_checked_at_growing_intervals(void **state)
{
    static const uint64_t waits_s[] = { 1, 2, 4, 8, 8, 8 };
    struct ntk_attach_pace pace = { 0 };
    uint64_t now_ns = BEGIN_NS;

    (void)state;
    for (size_t i = 0; i < sizeof waits_s / sizeof *waits_s; i++) {
        ntk_attach_pace_put_off(&pace, now_ns);
        assert_int_equal(pace.next_ns - now_ns, waits_s[i] * NTK_NS_PER_SECOND);
        now_ns = pace.next_ns + 123; /* the scan that finds it due */
    }
    /* Another program in the process, or its child has exited. */
    pace = (struct ntk_attach_pace){ 0 };
    ntk_attach_pace_put_off(&pace, now_ns);
    assert_int_equal(pace.next_ns - now_ns, NTK_NS_PER_SECOND);
}

/* Observing an execution costs 1 us of the 5 us of an execution: 20 %. */
static void the_observation_cost_is_judged_after_enough_executions_or_time(void **state)
{
    static const struct {
        uint64_t before; /* executions at the previous verdict */
        uint64_t count;  /* executions since then */
        uint64_t after_ns;
        bool is_judged;
    } rows[] = {
        { 0, 31, 10 * NTK_NS_PER_SECOND, false }, /* too few */
        { 0, 32, NTK_NS_PER_SECOND - 1, false },
        { 0, 32, NTK_NS_PER_SECOND, true },
        { 0, 255, 0, false },
        { 0, 256, 0, true }, /* the first verdict */
        { 256, 1000000, NTK_NS_PER_SECOND - 1, false },
        { 256, 1000000, NTK_NS_PER_SECOND, true },
        { 256, 31, 10 * NTK_NS_PER_SECOND, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_attach_judge judge = { .cost_max = 0.1,
                                          .cost_ns = 1000,
                                          .judged_ns = BEGIN_NS,
                                          .exec_count = rows[i].before,
                                          .exec_ns = rows[i].before * 1000000 };
        uint64_t now_ns = BEGIN_NS + rows[i].after_ns;
        uint64_t count = rows[i].before + rows[i].count;
        uint64_t ns = judge.exec_ns + rows[i].count * 5000;
        double execution_ns = 0;

        assert_int_equal(ntk_attach_judge_is_too_dear(&judge, count, ns, now_ns, &execution_ns),
                         rows[i].is_judged);
        assert_true(execution_ns == (rows[i].is_judged ? 5000.0 : 0.0));
        assert_int_equal(judge.judged_ns, rows[i].is_judged ? now_ns : BEGIN_NS);
        assert_int_equal(judge.exec_count, rows[i].is_judged ? count : rows[i].before);
    }
}

static void an_observation_cost_at_the_limit_is_allowed(void **state)
{
    static const struct {
        uint64_t execution_ns;
        bool is_too_dear;
    } rows[] = { { 9999, true }, { 10000, false }, { 10001, false } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_attach_judge judge = { .cost_max = 0.1, .cost_ns = 1000 };
        double execution_ns;

        assert_int_equal(ntk_attach_judge_is_too_dear(&judge, 1000, 1000 * rows[i].execution_ns,
                                                      BEGIN_NS, &execution_ns),
                         rows[i].is_too_dear);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_without_libnrt_is_checked_at_growing_intervals),
        cmocka_unit_test(the_observation_cost_is_judged_after_enough_executions_or_time),
        cmocka_unit_test(an_observation_cost_at_the_limit_is_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
