/* SPDX-License-Identifier: MIT */
/* Full disks and overflowing queues: every loss is counted; old rows are deleted. */

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/metrics/snapshot_merge.h"
#include "shared/store/retention.h"
#include "shared/store/store.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/store_fixture.h"
#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int is_failing(void *ctx)
{
    struct ntk_store_status status;

    ntk_store_status_get(ctx, &status);
    return status.failing;
}

/* A file size limit simulates the full disk: SQLite sees a write fail. Runs in a child, since the
 * limit applies to every file of the process. The store tries again at the retry time of the clock,
 * and not before. */
static void samples_are_kept_while_the_disk_is_full(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 1,
                                         .retry_ns = 3600 * SECOND };
    struct test_clock clock;
    struct test_period period = { .time_ns = T0, .completed = 3, .latency_ns = 1000 };

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct ntk_store *store;
        struct rlimit limit = { 4096, RLIM_INFINITY };
        test_clock_init(&clock);
        options.clock = &clock.clock;
        signal(SIGXFSZ, SIG_IGN);
        if (ntk_store_open(f->path, &options, &store, NULL) < 0) {
            _exit(10);
        }
        setrlimit(RLIMIT_FSIZE, &limit);
        for (int i = 0; i < 10; i++) {
            put(store, &period);
        }
        if (!test_wait_until(is_failing, store)) {
            _exit(11);
        }
        limit.rlim_cur = RLIM_INFINITY;
        setrlimit(RLIMIT_FSIZE, &limit);
        if (test_clock_await(&clock) != options.retry_ns) {
            _exit(14);
        }
        test_clock_advance(&clock, options.retry_ns);
        if (!test_wait_until(has_stored_all, store)) {
            _exit(12);
        }
        _exit(ntk_store_close(store, NULL) == 0 ? 0 : 13);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_string_equal(ask(f->path, "SELECT sum(completed) FROM execution_sample"), "60");
    assert_string_equal(ask(f->path, "PRAGMA integrity_check"), "ok");
}

static void the_first_period_is_stored_at_once_and_others_with_the_next_commit(void **state)
{
    struct fixture *f = *state;
    struct test_clock clock;
    const struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                               .commit_ns = 3600 * SECOND,
                                               .clock = &clock.clock };
    struct test_period period = { .time_ns = T0, .completed = 3, .latency_ns = 1000 };
    struct ntk_store_status status;
    struct ntk_store *store = NULL;

    test_clock_init(&clock);
    assert_int_equal(ntk_store_open(f->path, &options, &store, NULL), 0);
    put(store, &period);
    assert_true(test_wait_until(has_stored_one, store));
    put(store, &period);
    put(store, &period);
    assert_int_equal(test_clock_await(&clock), options.commit_ns);
    ntk_store_status_get(store, &status);
    assert_int_equal(status.snapshots_stored, 1);
    test_clock_advance(&clock, options.commit_ns);
    assert_true(test_wait_until(has_stored_all, store));
    assert_int_equal(ntk_store_close(store, NULL), 0);
    test_clock_fini(&clock);
}

/* Method: the input fits into memory, so that only the commit fails, repeatedly; more periods than
 * can wait separately. */
static void a_store_can_be_closed_while_the_disk_is_full(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 3600 * SECOND };
    struct test_period period = { .time_ns = T0, .completed = 3, .latency_ns = 1000 };

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct ntk_store *store;
        struct rlimit limit = { 4096, RLIM_INFINITY };
        struct ntk_err err = { 0 };
        signal(SIGXFSZ, SIG_IGN);
        /* A retry without end would hang the test. */
        alarm((unsigned)(test_patience_ns() / NTK_NS_PER_SECOND));
        if (ntk_store_open(f->path, &options, &store, NULL) < 0) {
            _exit(10);
        }
        setrlimit(RLIMIT_FSIZE, &limit);
        for (int i = 0; i < NTK_STORE_QUEUE_MAX + 6; i++) {
            put(store, &period);
        }
        if (ntk_store_close(store, &err) != -EIO) {
            _exit(11);
        }
        _exit(strncmp(err.text, "the last 70.0 s were not stored: ", 33) == 0 ? 0 : 12);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Method: more periods than can wait while nothing can be written, and in the third of them a
 * process ends; then the disk is available again. The child reports how many were merged and
 * lost. */
static void overflow(const char *path, size_t joined_bytes, uint64_t joined, uint64_t lost)
{
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 1,
                                         .retry_ns = 3600 * SECOND,
                                         .joined_bytes = joined_bytes };
    struct test_period period = { .time_ns = T0, .completed = 1, .latency_ns = 1000 };
    struct test_period last = { .time_ns = T0 + 2 * SECOND + 7,
                                .uid = 1001,
                                .completed = 5,
                                .latency_ns = 1000,
                                .ended = true };

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct ntk_store *store;
        struct ntk_store_status store_status;
        struct rlimit limit = { 4096, RLIM_INFINITY };
        signal(SIGXFSZ, SIG_IGN);
        if (ntk_store_open(path, &options, &store, NULL) < 0) {
            _exit(10);
        }
        setrlimit(RLIMIT_FSIZE, &limit);
        put(store, &period);
        if (!test_wait_until(is_failing, store)) {
            _exit(11);
        }
        for (int i = 1; i < NTK_STORE_QUEUE_MAX + 6; i++) {
            put(store, &period);
            if (i == 2) {
                put(store, &last);
            }
        }
        ntk_store_status_get(store, &store_status);
        if (store_status.sequence_stored != 0 || store_status.snapshots_joined != joined ||
            store_status.snapshots_lost != lost) {
            _exit(12);
        }
        limit.rlim_cur = RLIM_INFINITY;
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(ntk_store_close(store, NULL) == 0 ? 0 : 13);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void an_overflowing_queue_merges_its_oldest_periods(void **state)
{
    struct fixture *f = *state;

    overflow(f->path, 0, 7, 0);
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_sample"), "64");
    assert_string_equal(ask(f->path, "SELECT min(time_ns) - 1700000000000000000 FROM"
                                     " machine_sample"),
                        "6000000000");
    assert_string_equal(ask(f->path, "SELECT max(period_ns) FROM machine_sample"), "8000000000");
    assert_string_equal(ask(f->path, "SELECT sum(period_ns) / 1000000000 FROM machine_sample"),
                        "71");
    assert_string_equal(ask(f->path, "SELECT group_concat(n) FROM (SELECT sum(completed) AS n"
                                     " FROM execution_sample GROUP BY process_id ORDER BY 1)"),
                        "10,140");
    assert_string_equal(ask_sqlite(f->path, "SELECT group_concat(completed) FROM (SELECT completed"
                                            " FROM process_overview ORDER BY 1)"),
                        "10,140");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM process WHERE ended_ns IS NOT NULL"),
                        "1");
}

static void waiting_periods_have_a_limit_and_the_excess_is_counted(void **state)
{
    struct fixture *f = *state;

    overflow(f->path, 1, 0, 7);
    /* The first and the last ones are kept. */
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_sample"), "64");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_sample"
                                     " WHERE time_ns = 1700000000000000000"),
                        "1");
    assert_string_equal(ask(f->path, "SELECT max(completed) FROM core_total"), "70");
}

static void retention_removes_rows_by_age_and_by_size(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = open_store(f->path);
    struct test_period period = { .time_ns = MINUTE_0 + SECOND,
                                  .completed = 2,
                                  .latency_ns = 1000,
                                  .memory_bytes = 4096,
                                  .with_events = true };
    struct ntk_retention retention = { { 200 * SECOND, UINT64_MAX, UINT64_MAX }, UINT64_MAX };
    struct ntk_err err = { 0 };
    sqlite3 *db;

    for (int i = 0; i < 320; i++) {
        put(store, &period);
        wait_for_room(store);
    }
    ntk_store_close(store, NULL);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(ntk_retention_run(db, &retention, MINUTE_0 + 320 * SECOND, &err), 0);
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_sample"), "201");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM core_sample"), "402");
    assert_string_equal(ask(f->path, "SELECT first_ns FROM tier WHERE tier = 'second'"),
                        "1700000160000000000");
    /* Totals and minutes are not affected by deleting samples. */
    assert_string_equal(ask(f->path, "SELECT sum(completed) FROM core_total"), "1280");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_minute"), "5");
    /* The last value of memory stays valid where its row was deleted. */
    assert_string_equal(ask(f->path, "SELECT group_concat(time_ns || ' ' || current_bytes)"
                                     " FROM memory_sample"),
                        "1700000160000000000 4096");
    for (int i = 0; i < 200 && ntk_retention_run(db, &retention, MINUTE_0, &err) > 0; i++) {
    }
    /* Rows that are not merged yet are never deleted: the last, open minute. */
    retention.keep_bytes = 1;
    for (int i = 0; i < 200 && ntk_retention_run(db, &retention, MINUTE_0, &err) > 0; i++) {
    }
    sqlite3_close(db);
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_sample"), "21");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(samples_are_kept_while_the_disk_is_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            the_first_period_is_stored_at_once_and_others_with_the_next_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_store_can_be_closed_while_the_disk_is_full, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_overflowing_queue_merges_its_oldest_periods, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(waiting_periods_have_a_limit_and_the_excess_is_counted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(retention_removes_rows_by_age_and_by_size, set_up,
                                        tear_down),
    };

    test_scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
