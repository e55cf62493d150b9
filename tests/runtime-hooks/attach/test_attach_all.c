/* SPDX-License-Identifier: MIT */
/* Attaching to every job of the machine: in a PID namespace, this test sees only its own. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime-hooks/attach/attach_fixture.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

static void start_attach_all(struct attach_fixture *f)
{
    attach_start_to(f, "--all", at_any_cost);
}

/* The only test that runs: a PID namespace with its own /proc has no other processes. */
static int run_alone(int (*run)(int argc, char **argv), int argc, char **argv)
{
    int status = 0;
    pid_t child;

    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
        return test_skip("this user may not make a PID namespace");
    }
    child = fork();
    if (child == 0) {
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("proc", "/proc", "proc", 0, NULL) != 0) {
            _exit(test_skip("this user may not mount /proc"));
        }
        exit(run(argc, argv));
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return EXIT_FAILURE;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int has_one_in_flight(void *ctx)
{
    struct seen seen;

    seen_now(ctx, &seen);
    return seen.in_flight == 1;
}

static int is_attached_again(void *ctx)
{
    const struct attach_fixture *f = ctx;
    const char *said = strstr(attach_read_file(f->out), "it is now running a different program");

    char text[64];

    (void)snprintf(text, sizeof text, "attached to %d ", (int)f->job);
    return said != NULL && strstr(said, text) != NULL;
}

/* The same process, but nothing of the previous program remains, and the kernel has no probe in it
 * if a thread other than the first called exec. */
static void a_job_is_attached_to_again_after_exec(void **state)
{
    struct attach_fixture *f = *state;
    struct ntk_ring_model models[4];
    struct seen seen;

    job_start(f);
    start_attach_all(f);
    job_tell(f, "init");
    job_load(f, "load", 0);
    job_tell(f, "alloc 0 0 4096");
    job_tell(f, "exec 3 0 1000");
    expect_completed(f, 3);
    expect_tensors(f, 4096);
    job_begin(f, "again");
    assert_true(test_wait_until(has_one_in_flight, f));
    job_tell(f, "");
    assert_true(test_wait_until(is_attached_again, f));
    job_tell(f, "init");
    job_load(f, "load", 0);
    job_tell(f, "alloc 0 0 50");
    job_tell(f, "exec 4 0 1000");
    expect_completed(f, 4);
    expect_tensors(f, 50);
    seen_now(f, &seen);
    assert_int_equal(seen.in_flight, 0);
    assert_int_equal(ntk_ring_segment_models(segment_get(f), models, 4), 1);
    assert_int_equal(models[0].state, NTK_MODEL_LOADED);
    assert_int_equal(models[0].executions, 4);
}

static int run(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ATTACH_TEST(a_job_is_attached_to_again_after_exec),
    };
    int skipped = attach_prepare(argc, argv);

    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    int code = run_alone(run, argc, argv);

    /* The leak sanitizer's thread cannot start here, because the PID namespace of children has
     * ended. */
    (void)fflush(NULL);
    _exit(code);
}
