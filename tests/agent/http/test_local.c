/* SPDX-License-Identifier: MIT */
/* Method: the server behind the Unix socket alone, asked as local commands ask it. */
#include "agent/http/local.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/health/health.h"
#include "shared/hosts/hosts.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    char path[512];
    struct ntk_local *local;
    struct ntk_host host;
    atomic_bool is_asked;
};

static void serve(struct fixture *f, uint64_t stale_ns)
{
    const struct ntk_local_options options = { .path = f->path, .stale_ns = stale_ns };
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_buf line = { 0 };
    struct ntk_err err = { 0 };

    (void)snprintf(f->path, sizeof f->path, "%s/agent.sock", test_scratch_folder);
    if (ntk_local_create(&options, &f->local, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_true(ntk_health_line_write(snapshot, &line));
    ntk_local_put(f->local, NTK_LOCAL_DEVICES, &line);
    ntk_buf_fini(&line);
    ntk_snapshot_destroy(snapshot);
}

static void ask(struct fixture *f)
{
    const struct ntk_hosts_remote remote = { .timeout_ns = NTK_HOSTS_TIMEOUT_NS,
                                             .unix_path = f->path };
    struct ntk_err err = { 0 };

    ntk_host_set(&f->host, "");
    assert_int_equal(ntk_hosts_ask(&f->host, 1, NTK_HOSTS_REPORT, &remote, &err), 0);
}

static void an_answer_is_given(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    serve(&f, 0);
    ask(&f);
    assert_non_null(f.host.snapshot);
    ntk_host_fini(&f.host);
    ntk_local_destroy(f.local);
}

static void an_answer_that_is_too_old_is_not_given(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    serve(&f, 1);
    ask(&f);
    assert_null(f.host.snapshot);
    assert_non_null(strstr(f.host.err.text, "503"));
    ntk_host_fini(&f.host);
    ntk_local_destroy(f.local);
}

/* Puts the answer some time after it was asked for, as a loop does that reads a slow machine. */
static void *put_late(void *ctx)
{
    struct fixture *f = ctx;
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_buf line = { 0 };

    while (!atomic_load(&f->is_asked)) {
        usleep(1000);
    }
    usleep(10000);
    assert_true(ntk_health_line_write(snapshot, &line));
    ntk_local_put(f->local, NTK_LOCAL_DEVICES, &line);
    ntk_buf_fini(&line);
    ntk_snapshot_destroy(snapshot);
    return NULL;
}

static void ask_in_vain(void *ctx)
{
    atomic_store(&((struct fixture *)ctx)->is_asked, true);
}

static void an_answer_that_comes_late_is_waited_for(void **state)
{
    struct fixture f = { 0 };
    const struct ntk_local_options options = { .path = f.path,
                                               .refresh = ask_in_vain,
                                               .refresh_ctx = &f };
    struct ntk_err err = { 0 };
    pthread_t thread;

    (void)state;
    (void)snprintf(f.path, sizeof f.path, "%s/agent.sock", test_scratch_folder);
    assert_int_equal(ntk_local_create(&options, &f.local, &err), 0);
    assert_int_equal(pthread_create(&thread, NULL, put_late, &f), 0);
    ask(&f);
    assert_non_null(f.host.snapshot);
    assert_int_equal(pthread_join(thread, NULL), 0);
    ntk_host_fini(&f.host);
    ntk_local_destroy(f.local);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_given),
        cmocka_unit_test(an_answer_that_is_too_old_is_not_given),
        cmocka_unit_test(an_answer_that_comes_late_is_waited_for),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
