/* SPDX-License-Identifier: MIT */
/* A recording as a source: the data that graphs get from before the shown moment. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/store/retention.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/tier_check.h"
#include "tests/support/scratch.h"
#include "top/source/source.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define BEGAN (UINT64_C(472224) * HOUR)
#define SHOWN (BEGAN + 3 * HOUR)
#define DENSE (20 * MINUTE) /* at the end, where periods are seconds */

/* Stores periods of a minute, then of a second; removes the older ones and the older minutes. */
static void record(const char *path)
{
    const struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                               .commit_ns = 1000000 };
    const struct ntk_retention retention = { { DENSE, HOUR, UINT64_MAX }, UINT64_MAX };
    struct test_period period = { .completed = 4, .latency_ns = 1000, .memory_bytes = 4096 };
    struct ntk_store *store = NULL;
    struct ntk_store_status status;
    sqlite3 *db;

    assert_int_equal(ntk_store_open(path, &options, &store, NULL), 0);
    for (uint64_t at = BEGAN, step; at < SHOWN;) {
        struct ntk_snapshot *snapshot;

        step = at < SHOWN - DENSE ? MINUTE : SECOND;
        period.time_ns = at += step;
        snapshot = test_make_snapshot(&period);
        snapshot->period_ns = step;
        ntk_store_put(store, snapshot);
        ntk_snapshot_destroy(snapshot);
        do {
            ntk_store_status_get(store, &status);
        } while (status.snapshots_waiting > NTK_STORE_QUEUE_MAX / 2);
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    db = test_tier_open(path);
    while (ntk_retention_run(db, &retention, SHOWN, NULL) > 0) {
    }
    sqlite3_close(db);
}

static void earlier_data_is_reported_without_gaps_in_growing_steps(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "store.db");
    struct ntk_top_source *source = NULL;
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };
    uint64_t from_ns = SHOWN; /* the reported data now starts at this time */
    uint64_t last_period_ns = SECOND;
    size_t seconds = 0;
    size_t minutes = 0;
    size_t hours = 0;

    record(path);
    assert_int_equal(ntk_top_source_replay_open(path, SHOWN, &source, &err), 0);
    assert_int_equal(ntk_top_source_take(source, &snapshot, &err), 1);
    assert_int_equal(snapshot->realtime_ns, SHOWN);
    assert_null(strstr(ntk_top_source_note(source), " over "));
    from_ns -= snapshot->period_ns;
    ntk_snapshot_destroy(snapshot);
    while (ntk_top_source_before_shown(source, 0, &snapshot) > 0) {
        uint64_t start_ns = snapshot->realtime_ns - snapshot->period_ns;

        assert_true(snapshot->realtime_ns <= SHOWN);
        assert_true(snapshot->realtime_ns >= from_ns); /* no gap */
        assert_true(snapshot->period_ns >= last_period_ns);
        last_period_ns = snapshot->period_ns;
        from_ns = start_ns < from_ns ? start_ns : from_ns;
        seconds += snapshot->period_ns == SECOND;
        minutes += snapshot->period_ns == MINUTE;
        hours += snapshot->period_ns == HOUR;
        ntk_snapshot_destroy(snapshot);
    }
    assert_int_equal(from_ns, BEGAN);
    assert_int_equal(seconds, 959); /* sixteen minutes, without the shown one */
    assert_int_equal(minutes, 45);  /* the remaining part of the hour */
    assert_int_equal(hours, 2);
    assert_int_equal(ntk_top_source_before_shown(source, 0, &snapshot), 0); /* once is enough */
    ntk_top_source_close(source);

    /* An unusual period is named. */
    assert_int_equal(ntk_top_source_replay_open(path, SHOWN - 30 * MINUTE, &source, &err), 0);
    assert_int_equal(ntk_top_source_take(source, &snapshot, &err), 1);
    assert_int_equal(snapshot->period_ns, MINUTE);
    assert_non_null(strstr(ntk_top_source_note(source), " over 60 s"));
    ntk_snapshot_destroy(snapshot);
    ntk_top_source_close(source);
    free(path);
    test_scratch_destroy(folder);
}

static void earlier_data_is_reported_as_needed_and_the_rest_later(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "store.db");
    struct ntk_top_source *source = NULL;
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };
    size_t minute = 0;
    size_t rest = 0;

    record(path);
    assert_int_equal(ntk_top_source_replay_open(path, SHOWN, &source, &err), 0);
    assert_int_equal(ntk_top_source_take(source, &snapshot, &err), 1);
    ntk_snapshot_destroy(snapshot);
    while (ntk_top_source_before_shown(source, SHOWN - MINUTE, &snapshot) > 0) {
        assert_true(snapshot->realtime_ns >= SHOWN - MINUTE);
        minute++;
        ntk_snapshot_destroy(snapshot);
    }
    while (ntk_top_source_before_shown(source, 0, &snapshot) > 0) {
        rest += snapshot->period_ns == SECOND;
        ntk_snapshot_destroy(snapshot);
    }
    assert_int_equal(minute, 60);
    assert_int_equal(minute + rest, 959);
    ntk_top_source_close(source);
    free(path);
    test_scratch_destroy(folder);
}

/* Reads the whole past of the shown moment: its beginning and its number of seconds. */
static size_t take_past(struct ntk_top_source *source, uint64_t *out_first_ns)
{
    struct ntk_snapshot *snapshot;
    size_t seconds = 0;

    while (ntk_top_source_before_shown(source, 0, &snapshot) > 0) {
        *out_first_ns = snapshot->realtime_ns;
        seconds += snapshot->period_ns == SECOND;
        ntk_snapshot_destroy(snapshot);
    }
    return seconds;
}

static void a_skipped_period_is_reported_as_earlier_data(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "store.db");
    struct ntk_top_source *source = NULL;
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };
    uint64_t first_ns = 0;

    record(path);
    assert_int_equal(ntk_top_source_replay_open(path, SHOWN - 10 * MINUTE, &source, &err), 0);
    assert_int_equal(ntk_top_source_take(source, &snapshot, &err), 1);
    ntk_snapshot_destroy(snapshot);
    (void)take_past(source, &first_ns);
    assert_true(ntk_top_source_control(source, NTK_TOP_CONTROL_JUMP_FORWARD));
    assert_true(ntk_top_source_control(source, NTK_TOP_CONTROL_JUMP_FORWARD));
    assert_int_equal(ntk_top_source_take(source, &snapshot, &err), 1);
    assert_int_equal(snapshot->realtime_ns, SHOWN - 8 * MINUTE);
    ntk_snapshot_destroy(snapshot);
    assert_int_equal(take_past(source, &first_ns), 119); /* two minutes, and no period twice */
    assert_int_equal(first_ns, SHOWN - 10 * MINUTE + SECOND);
    ntk_top_source_close(source);
    free(path);
    test_scratch_destroy(folder);
}

/* Method: a file without content, and one with tables but no rows. */
static void every_empty_database_is_reported_with_the_same_message(void **state)
{
    const struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "store.db");
    struct ntk_top_source *source = NULL;
    struct ntk_store_reader *reader = NULL;
    struct ntk_store *store = NULL;
    struct ntk_err err = { 0 };
    uint64_t first_ns;
    uint64_t last_ns;
    FILE *file = fopen(path, "w");

    (void)state;
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_true(ntk_top_source_replay_open(path, 0, &source, &err) < 0);
    assert_non_null(strstr(err.text, "store.db: the database is empty"));

    assert_int_equal(ntk_store_open(path, &options, &store, NULL), 0);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_true(ntk_top_source_replay_open(path, 0, &source, &err) < 0);
    assert_non_null(strstr(err.text, "store.db: the database is empty"));
    assert_int_equal(ntk_store_reader_open(path, &reader, NULL), 0);
    assert_true(ntk_store_reader_span(reader, NTK_STORE_SECOND, &first_ns, &last_ns, &err) < 0);
    assert_string_equal(err.text, "the database is empty");
    ntk_store_reader_close(reader);
    free(path);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_empty_database_is_reported_with_the_same_message),
        cmocka_unit_test(earlier_data_is_reported_without_gaps_in_growing_steps),
        cmocka_unit_test(earlier_data_is_reported_as_needed_and_the_rest_later),
        cmocka_unit_test(a_skipped_period_is_reported_as_earlier_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
