/* SPDX-License-Identifier: MIT */
/* Method: the server behind the Unix socket alone, asked as local commands ask it. */
#include "agent/http/local.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/health/health.h"
#include "shared/hosts/hosts.h"
#include "tests/support/clock.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    char path[512];
    struct test_clock clock;
    struct ntk_local *local;
    struct ntk_host host;
    atomic_int asked;
};

static void note_asked(void *ctx)
{
    atomic_fetch_add(&((struct fixture *)ctx)->asked, 1);
}

static void put(struct fixture *f)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_buf line = { 0 };

    assert_true(ntk_health_line_write(snapshot, &line));
    ntk_local_put(f->local, NTK_LOCAL_DEVICES, &line);
    ntk_buf_fini(&line);
    ntk_snapshot_destroy(snapshot);
}

static void serve(void **state, void (*refresh)(void *ctx))
{
    struct fixture *f = calloc(1, sizeof *f);
    const struct ntk_local_options options = {
        .path = f->path, .clock = &f->clock.clock, .refresh = refresh, .refresh_ctx = f
    };
    struct ntk_err err = { 0 };

    test_clock_init(&f->clock);
    (void)snprintf(f->path, sizeof f->path, "%s/agent.sock", test_scratch_folder);
    if (ntk_local_create(&options, &f->local, &err) < 0) {
        fail_msg("%s", err.text);
    }
    *state = f;
}

static int set_up(void **state)
{
    serve(state, NULL);
    return 0;
}

static int set_up_with_loop(void **state)
{
    serve(state, note_asked);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_host_fini(&f->host);
    ntk_local_destroy(f->local);
    test_clock_fini(&f->clock);
    free(f);
    return 0;
}

static void *ask(void *ctx)
{
    struct fixture *f = ctx;
    const struct ntk_hosts_remote remote = { .timeout_ns = NTK_HOSTS_TIMEOUT_NS,
                                             .unix_path = f->path };
    struct ntk_err err = { 0 };

    ntk_host_fini(&f->host);
    ntk_host_set(&f->host, "");
    assert_int_equal(ntk_hosts_ask(&f->host, 1, NTK_HOSTS_REPORT, &remote, &err), 0);
    return NULL;
}

static void an_answer_is_given_until_it_is_too_old(void **state)
{
    struct fixture *f = *state;

    put(f);
    ask(f);
    assert_non_null(f->host.snapshot);
    test_clock_advance(&f->clock, NTK_LOCAL_STALE_NS);
    ask(f);
    assert_non_null(f->host.snapshot);
    test_clock_advance(&f->clock, 1);
    ask(f);
    assert_null(f->host.snapshot);
    assert_non_null(strstr(f->host.err.text, "503"));
}

/* Method: the loop puts the answer when the asker is seen to wait for it. */
static void an_answer_that_comes_late_is_waited_for(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, ask, f), 0);
    assert_int_equal(test_clock_await(&f->clock), NTK_LOCAL_WAIT_NS);
    assert_int_equal(atomic_load(&f->asked), 1);
    put(f);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(f->host.snapshot);
}

static void an_answer_that_does_not_come_is_waited_for_so_long_only(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, ask, f), 0);
    test_clock_advance(&f->clock, test_clock_await(&f->clock));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(f->host.snapshot);
    assert_non_null(strstr(f->host.err.text, "503"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answer_is_given_until_it_is_too_old, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_answer_that_comes_late_is_waited_for, set_up_with_loop,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_answer_that_does_not_come_is_waited_for_so_long_only,
                                        set_up_with_loop, tear_down),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
