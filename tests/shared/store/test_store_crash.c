/* SPDX-License-Identifier: MIT */
/* A writer killed with SIGKILL at random moments: the file is intact and lacks at most the data
 * after the last commit. */
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/store/store.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/tier_check.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define ROUNDS 15

/* Shared with the child: how many periods the store reported as committed. */
struct progress {
    volatile uint64_t committed;
    volatile uint64_t next_time_ns;
    volatile uint64_t sequence;
    volatile uint64_t completed_total;
};

static void write_until_killed(const char *path, struct progress *progress)
{
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 2000000 };
    struct ntk_store *store;
    uint64_t before = progress->committed;
    struct test_period period = { .completed = 1, .latency_ns = 1000 };

    if (ntk_store_open(path, &options, &store, NULL) < 0) {
        _exit(1);
    }
    for (;;) {
        struct ntk_store_status status;
        period.time_ns = progress->next_time_ns;
        progress->next_time_ns += 7000000000; /* a minute ends every ninth time */
        struct ntk_snapshot *snapshot = test_make_snapshot(&period);
        ntk_store_put(store, snapshot);
        ntk_snapshot_destroy(snapshot);
        do {
            ntk_store_status_get(store, &status);
            progress->committed = before + status.snapshots_stored;
        } while (status.snapshots_waiting > NTK_STORE_QUEUE_MAX / 2);
    }
}

static void every_commit_of_a_killed_writer_is_in_the_database(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "store.db");
    struct progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned int seed = 7;
    int64_t stored = 0;
    bool merged = false;

    progress->next_time_ns = 1000000;
    /* On a slow machine a round may end before it stores anything; then there are more and longer
     * rounds, until a minute was merged. */
    uint64_t end_ns = ntk_clock_monotonic_ns() + test_patience_ns();
    for (int round = 0; round < ROUNDS || (!merged && ntk_clock_monotonic_ns() < end_ns); round++) {
        pid_t child = fork();
        if (child == 0) {
            write_until_killed(path, progress);
        }
        /* The time of the kill is the point of the test, not a wait for something. */
        long longer_ms = round < ROUNDS ? 0 : 20L * (round - ROUNDS);
        nanosleep(&(struct timespec){ longer_ms / 1000, 10000000 + rand_r(&seed) % 40000000 +
                                                            longer_ms % 1000 * 900000 },
                  NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);

        sqlite3 *db = test_tier_open(path);
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
        sqlite3_finalize(statement);
        if (test_tier_number(db, "PRAGMA user_version") == 0) {
            sqlite3_close(db); /* killed before the schema existed */
            continue;
        }
        int64_t now_stored = test_tier_number(db, "SELECT count(*) FROM machine_sample");
        assert_true(now_stored >= stored);
        assert_true(now_stored >= (int64_t)progress->committed);
        assert_int_equal(test_tier_number(db, "SELECT count(*) FROM core_sample"), 2 * now_stored);
        test_tier_check(db);
        merged = test_tier_number(db, "SELECT count(*) FROM core_minute") > 0;
        stored = now_stored;
        progress->committed = (uint64_t)stored;
        sqlite3_close(db);
    }
    assert_true(stored > 0);
    assert_true(merged);
    munmap(progress, sizeof *progress);
    free(path);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_commit_of_a_killed_writer_is_in_the_database),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
