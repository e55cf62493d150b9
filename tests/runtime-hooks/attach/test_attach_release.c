/* SPDX-License-Identifier: MIT */
/* How attaching begins and ends: which processes are rejected, and that nothing remains in a
 * job. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/runtime-hooks/attach/attach_fixture.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

static void detaching_restores_the_code_of_the_job(void **state)
{
    struct attach_fixture *f = *state;

    job_start(f);
    job_tell(f, "init");
    job_load(f, "load", 0);
    attach_start(f, at_any_cost);
    job_tell(f, "exec 3 0 1000");
    assert_false(job_code_is_its_own(f));
    job_begin(f, "until 4 5000"); /* detaches in the middle */
    assert_int_equal(attach_end(f, SIGINT), 0);
    assert_true(job_code_is_its_own(f));
    job_finish(f);
    assert_true(test_wait_until(segment_is_gone, f));
    job_tell(f, "exec 3 0 1000");
    assert_int_equal(job_end(f), 0);
}

static int writer_is_gone(void *ctx)
{
    return kill(*(pid_t *)ctx, 0) != 0;
}

static int code_is_restored(void *ctx)
{
    return job_code_is_its_own(ctx);
}

static void killing_the_attached_program_restores_the_code_of_the_job(void **state)
{
    struct attach_fixture *f = *state;
    pid_t writer;

    job_start(f);
    job_tell(f, "init");
    job_load(f, "load", 0);
    attach_start(f, at_any_cost);
    job_tell(f, "exec 3 0 1000");
    writer = attach_writer(f);
    job_begin(f, "until 4 5000");
    assert_int_equal(attach_end(f, SIGKILL), 128 + SIGKILL);
    assert_true(test_wait_until(writer_is_gone, &writer));
    assert_true(test_wait_until(code_is_restored, f));
    job_finish(f);
    assert_true(test_wait_until(segment_is_gone, f));

    attach_start(f, at_any_cost); /* now kill only the writer */
    writer = attach_writer(f);
    job_begin(f, "until 4 5000");
    assert_int_equal(kill(writer, SIGKILL), 0);
    assert_int_equal(attach_end(f, 0), 1);
    assert_true(test_wait_until(code_is_restored, f));
    assert_true(test_wait_until(segment_is_gone, f));
    job_finish(f);
    job_tell(f, "exec 3 0 1000");
    assert_int_equal(job_end(f), 0);
}

static void the_segment_of_a_killed_job_is_marked_as_ended(void **state)
{
    struct attach_fixture *f = *state;

    job_start(f);
    job_tell(f, "init");
    job_load(f, "load", 0);
    attach_start(f, at_any_cost);
    job_begin(f, "until 4 5000");
    assert_int_equal(test_stop_program(f->job, SIGKILL), 128 + SIGKILL);
    assert_int_equal(attach_end(f, 0), 0);
    assert_true(test_wait_until(segment_is_gone, f));
    f->job = 0;
}

static void run_again(struct attach_fixture *f, const char *pid, struct test_run *out)
{
    const char *const argv[] = { "neuron-monitor", "attach", pid, NULL };
    char folder[600];
    const char *const environment[] = { folder, NULL };

    (void)snprintf(folder, sizeof folder, "NEURON_HOOKS_DIR=%s", f->hooks);
    *out = test_run_program(argv, environment);
}

static void two_programs_never_attach_to_one_job(void **state)
{
    struct attach_fixture *f = *state;
    struct test_run run;
    char pid[16];

    job_start(f);
    job_tell(f, "init");
    job_load(f, "load", 0);
    attach_start(f, at_any_cost);
    (void)snprintf(pid, sizeof pid, "%d", (int)f->job);
    run_again(f, pid, &run);
    assert_int_equal(run.exit_code, 1);
    assert_non_null(strstr(run.err, "another program is attached to process"));
    test_run_fini(&run);
    job_tell(f, "exec 12 0 1000");
    expect_completed(f, 12);
}

static void attach_reports_why_a_process_cannot_be_attached_to(void **state)
{
    struct attach_fixture *f = *state;
    struct test_run run;
    char pid[16];

    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    run_again(f, pid, &run);
    assert_int_equal(run.exit_code, 1);
    assert_non_null(strstr(run.err, "the process has no libnrt.so.1 mapped"));
    test_run_fini(&run);
    run_again(f, "2147483000", &run);
    assert_int_equal(run.exit_code, 1);
    assert_non_null(strstr(run.err, "no such process"));
    test_run_fini(&run);
    run_again(f, "abc", &run);
    assert_int_equal(run.exit_code, 2);
    test_run_fini(&run);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ATTACH_TEST(detaching_restores_the_code_of_the_job),
        ATTACH_TEST(killing_the_attached_program_restores_the_code_of_the_job),
        ATTACH_TEST(the_segment_of_a_killed_job_is_marked_as_ended),
        ATTACH_TEST(two_programs_never_attach_to_one_job),
        ATTACH_TEST(attach_reports_why_a_process_cannot_be_attached_to),
    };
    int skipped = attach_prepare(argc, argv);

    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
