/* SPDX-License-Identifier: MIT */
/* Method: only the server of the Unix socket, asked as local commands ask it. */
#include "agent/http/local.h"

#include <stdio.h>
#include <string.h>

#include "agent/health/health.h"
#include "shared/hosts/hosts.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    char path[512];
    struct ntk_local *local;
    struct ntk_host host;
    bool (*refresh)(void *ctx);
    bool loop_hangs;
};

static void put(struct fixture *f, uint64_t sequence)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_buf line = { 0 };

    snapshot->sequence = sequence;
    assert_true(ntk_health_line_write(snapshot, &line));
    ntk_local_put(f->local, NTK_LOCAL_DEVICES, &line);
    ntk_buf_fini(&line);
    ntk_snapshot_destroy(snapshot);
}

static void serve(struct fixture *f)
{
    const struct ntk_local_options options = { .path = f->path,
                                               .refresh = f->refresh,
                                               .refresh_ctx = f };
    struct ntk_err err = { 0 };

    (void)snprintf(f->path, sizeof f->path, "%s/agent.sock", test_scratch_folder);
    if (ntk_local_create(&options, &f->local, &err) < 0) {
        fail_msg("%s", err.text);
    }
    put(f, 1);
}

static void ask(struct fixture *f)
{
    const struct ntk_hosts_remote remote = { .timeout_ns = NTK_HOSTS_TIMEOUT_NS,
                                             .unix_path = f->path };
    struct ntk_err err = { 0 };

    ntk_host_set(&f->host, "");
    assert_int_equal(ntk_hosts_ask(&f->host, 1, NTK_HOSTS_REPORT, &remote, &err), 0);
}

static void a_local_query_returns_a_report(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    serve(&f);
    ask(&f);
    assert_non_null(f.host.snapshot);
    ntk_host_fini(&f.host);
    ntk_local_destroy(f.local);
}

/* Acts as the loop: provides what was requested, or reports that it cannot. */
static bool put_new(void *ctx)
{
    struct fixture *f = ctx;

    if (f->loop_hangs) {
        return false;
    }
    put(f, 2);
    return true;
}

static void a_local_query_returns_a_report_newer_than_the_query(void **state)
{
    struct fixture f = { .refresh = put_new };

    (void)state;
    serve(&f);
    ask(&f);
    assert_non_null(f.host.snapshot);
    assert_int_equal(f.host.snapshot->sequence, 2);
    ntk_host_fini(&f.host);
    ntk_local_destroy(f.local);
}

static void a_local_report_older_than_the_query_is_not_used(void **state)
{
    struct fixture f = { .refresh = put_new, .loop_hangs = true };

    (void)state;
    serve(&f);
    ask(&f);
    assert_null(f.host.snapshot);
    assert_non_null(strstr(f.host.err.text, "503"));
    ntk_host_fini(&f.host);
    ntk_local_destroy(f.local);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_local_query_returns_a_report),
        cmocka_unit_test(a_local_query_returns_a_report_newer_than_the_query),
        cmocka_unit_test(a_local_report_older_than_the_query_is_not_used),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
