/* SPDX-License-Identifier: MIT */
/*
 * Jobs around another runtime that end or stop in the middle of a call: their work until then is
 * counted, and the running execution is visible.
 *
 * Method: the sixth execution hangs, so when the signal arrives five have ended and one is on the
 * core.
 */
#include <signal.h>
#include <stdlib.h>

#include "tests/runtime-hooks/interpose/jobs/job.h"
#include "tests/support/emulated.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

#define HANG "NEURON_SOFT_FAULT=hang:at=6", "NEURON_RT_EXEC_TIMEOUT=600"

struct waited {
    pid_t pid;
    struct job_look look;
};

static int is_inside(void *ctx)
{
    struct waited *waited = ctx;

    return job_look(waited->pid, &waited->look) && waited->look.in_flight == 1 &&
           waited->look.completed == 5;
}

static int has_ended(void *ctx)
{
    struct waited *waited = ctx;

    return job_look(waited->pid, &waited->look) && waited->look.state == NTK_SEGMENT_ENDED;
}

static int is_gone(void *ctx)
{
    struct waited *waited = ctx;
    struct job_look look;

    return !job_look(waited->pid, &look);
}

struct end {
    struct job job;
    int signals[2]; /* in order */
    int exit_code;
};

static void end_check(const struct end *end, enum job_means means)
{
    print_message("%s, means %d\n", end->job.name, (int)means);
    struct waited waited = { .pid = job_start(&end->job, means) };
    assert_true(test_wait_until(is_inside, &waited));
    assert_int_equal(waited.look.state, NTK_SEGMENT_ALIVE);
    if (end->signals[1]) {
        assert_int_equal(kill(waited.pid, end->signals[0]), 0);
        for (int i = 0; i < 5; i++) {
            assert_true(is_inside(&waited)); /* a stopped process is not a dead one */
            assert_int_equal(waited.look.state, NTK_SEGMENT_ALIVE);
        }
    }
    int last = end->signals[1] ? end->signals[1] : end->signals[0];
    assert_int_equal(test_stop_program(waited.pid, last), end->exit_code);
    assert_true(test_wait_until(has_ended, &waited));
    assert_int_equal(waited.look.completed, 5);
    assert_false(waited.look.is_clean);
    assert_true(test_wait_until(is_gone, &waited));
}

static void executions_of_a_job_killed_inside_a_call_are_counted(void **state)
{
    /* clang-format off */
    static const struct end ends[] = {
        { { .name = "SIGKILL", .words = { "@linked", "sync:5", "stay-inside:600000" }, .environment = { HANG } }, { SIGKILL }, 128 + SIGKILL },
        { { .name = "SIGTERM", .words = { "@linked", "sync:5", "stay-inside:600000" }, .environment = { HANG } }, { SIGTERM }, 128 + SIGTERM },
        { { .name = "SIGSTOP", .words = { "@opens", "soname", "sync:5", "stay-inside:600000" }, .environment = { HANG } }, { SIGSTOP, SIGKILL }, 128 + SIGKILL },
        { { .name = "abort", .words = { "@linked", "sync:5", "abort-inside" }, .environment = { HANG } }, { SIGUSR1 }, 128 + SIGABRT },
    };
    /* clang-format on */
    static const enum job_means all[] = { JOB_CORE, JOB_PRELOAD, JOB_AUDIT };

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            if (job_means_there_are() & all[k]) {
                end_check(&ends[i], all[k]);
            }
        }
    }
}

static int has_executed(void *ctx)
{
    struct waited *waited = ctx;

    return job_look(waited->pid, &waited->look) && waited->look.completed == 2;
}

/* A watching agent removes what each run of the runtime leaves. */
static void executions_are_counted_after_a_thousand_reopens_of_the_runtime(void **state)
{
    static const struct job job = {
        .name = "init-close", .words = { "@linked", "init-close:1000", "sync:2", "stay:600000" }
    };

    (void)state;
    if (test_is_emulated()) {
        skip(); /* the emulator keeps tables of each mapping: 17 GB for a thousand runtimes */
    }
    struct waited waited = { .pid = job_start(&job, JOB_PRELOAD) };
    assert_true(test_wait_until(has_executed, &waited));
    assert_int_equal(test_stop_program(waited.pid, SIGTERM), 128 + SIGTERM);
    assert_true(test_wait_until(is_gone, &waited));
}

static void children_that_do_not_use_the_runtime_are_not_counted(void **state)
{
    static const struct job jobs[] = {
        { .name = "2,000 forks",
          .words = { "@linked", "sync:3", "idlers:2000", "sync:2" },
          .means = JOB_PRELOAD },
    };

    (void)state;
    JOBS_CHECK(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(executions_of_a_job_killed_inside_a_call_are_counted),
        cmocka_unit_test(executions_are_counted_after_a_thousand_reopens_of_the_runtime),
        cmocka_unit_test(children_that_do_not_use_the_runtime_are_not_counted),
    };

    if (test_is_sanitized()) {
        return test_skip("a sanitizer's runtime must be the first library of a process");
    }
    return cmocka_run_group_tests_name("ends", tests, job_setup, job_teardown);
}
