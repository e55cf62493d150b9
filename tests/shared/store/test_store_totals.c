/* SPDX-License-Identifier: MIT */
/* Stored totals are found again, and continue over restarts, lives and users. */

#include <sqlite3.h>

#include "shared/metrics/snapshot_merge.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/store_fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void stored_rows_and_views_match_the_snapshots(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = open_store(f->path);
    struct test_period period = { .time_ns = T0,
                                  .completed = 10,
                                  .latency_ns = 5000000,
                                  .memory_bytes = 4096,
                                  .with_events = true };

    for (int i = 0; i < 5; i++) {
        put(store, &period);
        period.with_events = false;
    }
    period.ended = true;
    put(store, &period);
    assert_int_equal(ntk_store_close(store, NULL), 0);

    assert_string_equal(ask_sqlite(f->path, "SELECT sum(completed) FROM execution_sample"), "120");
    assert_string_equal(ask_sqlite(f->path, "SELECT sum(completed) FROM core_total"), "120");
    assert_string_equal(ask_sqlite(f->path, "SELECT completed FROM process_overview"), "120");
    assert_string_equal(ask_sqlite(f->path, "SELECT busy_percent FROM core_overview LIMIT 1"),
                        "50.0");
    assert_string_equal(ask_sqlite(f->path, "SELECT executions_total FROM model"), "50");
    assert_string_equal(ask_sqlite(f->path, "SELECT ended_ns IS NOT NULL FROM process"), "1");
    assert_string_equal(ask_sqlite(f->path, "SELECT abs(total_latency_p99_ns - 5000000) < 40000"
                                            " FROM execution_sample LIMIT 1"),
                        "1");
    /* A row only when the value changed: one at the start, one at the end. */
    assert_string_equal(
        ask_sqlite(f->path, "SELECT group_concat(current_bytes) FROM memory_sample"), "4096,0");
    assert_string_equal(
        ask_sqlite(f->path, "SELECT current_bytes || ' ' || peak_bytes FROM memory_now"), "0 4096");
    assert_string_equal(ask_sqlite(f->path, "SELECT kind || ' ' || category || ' ' || name"
                                            " FROM memory_events"),
                        "alloc tensors weights");
    assert_string_equal(ask_sqlite(f->path, "SELECT error_class || ' ' || nrt_status FROM errors"),
                        "model 1006");
    assert_string_equal(ask_sqlite(f->path, "SELECT kind || ' ' || name FROM model_log"),
                        "load weights");
    assert_string_equal(ask_sqlite(f->path, "SELECT per_second FROM execution_rate LIMIT 1"),
                        "20.0");
    /* Unknown values are NULL, not 0. */
    assert_string_equal(ask_sqlite(f->path, "SELECT pe_busy_ns FROM core_sample LIMIT 1"), "NULL");
    assert_string_equal(ask_sqlite(f->path, "PRAGMA integrity_check"), "ok");
}

static void a_restarted_writer_continues_where_the_last_one_stopped(void **state)
{
    struct fixture *f = *state;
    struct test_period period = {
        .time_ns = T0, .completed = 7, .latency_ns = 1000, .memory_bytes = 100
    };
    struct ntk_core_sample cores[4];
    struct ntk_store_reader *reader;
    size_t count;

    for (int round = 0; round < 3; round++) {
        struct ntk_store *store = open_store(f->path);
        put(store, &period);
        put(store, &period);
        assert_int_equal(ntk_store_close(store, NULL), 0);
    }
    assert_string_equal(ask(f->path, "SELECT count(*) FROM process"), "1");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM memory_sample"), "1");
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    struct ntk_process_key key = { TEST_HEADER_PID, 0, TEST_START_TIME };
    assert_true(ntk_store_reader_totals_get(TEST_BOOT_ID, key, 0, cores, 4, &count, reader));
    assert_int_equal(count, 2);
    assert_int_equal(cores[0].core, 4);
    assert_int_equal(cores[1].core, 5);
    assert_int_equal(cores[0].outcome[NTK_OUTCOME_COMPLETED].total, 42);
    assert_int_equal(cores[0].total_latency.count, 42);
    assert_int_equal(cores[0].busy_ns.total, 6 * SECOND / 2);
    key.header_pid++;
    assert_false(ntk_store_reader_totals_get(TEST_BOOT_ID, key, 0, cores, 4, &count, reader));
    ntk_store_reader_close(reader);
}

/* What is stored for core 4 of the process since its segment began. */
static uint64_t total_of(const char *path, uint64_t began_ns)
{
    const struct ntk_process_key key = { TEST_HEADER_PID, 0, TEST_START_TIME };
    struct ntk_core_sample cores[4] = { 0 };
    struct ntk_store_reader *reader;
    size_t count;

    assert_int_equal(ntk_store_reader_open(path, &reader, NULL), 0);
    bool found = ntk_store_reader_totals_get(TEST_BOOT_ID, key, began_ns, cores, 4, &count, reader);
    uint64_t total = cores[0].outcome[NTK_OUTCOME_COMPLETED].total;
    assert_int_equal(found, count == 2);
    if (found) {
        assert_int_equal(cores[0].core, 4);
        assert_int_equal(cores[0].total_latency.count, total);
    }
    ntk_store_reader_close(reader);
    return total;
}

/* Stores a period of one device. */
static void put_ecc(struct ntk_store *store, uint64_t time_ns, const char *boot_id,
                    uint64_t counter, uint64_t total, uint64_t period, uint64_t unwatched)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_device_sample *device = ntk_snapshot_alloc_devices(snapshot, 1);

    snapshot->realtime_ns = time_ns;
    snapshot->period_ns = SECOND;
    snapshot->boot_id = boot_id;
    device->index = 3;
    device->has = NTK_DEVICE_HAS_ECC | NTK_DEVICE_HAS_ECC_TOTAL;
    device->ecc_has = 1u << NTK_ECC_MEM_CORRECTED;
    device->ecc[NTK_ECC_MEM_CORRECTED] = (struct ntk_count){ period, total };
    device->ecc_counter[NTK_ECC_MEM_CORRECTED] = counter;
    device->ecc_unwatched[NTK_ECC_MEM_CORRECTED] = unwatched;
    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
}

static void assert_stored_ecc(const char *path, const char *boot_id, uint64_t counter,
                              uint64_t total)
{
    struct ntk_store_reader *reader;
    struct ntk_ecc_stored stored;

    assert_int_equal(ntk_store_reader_open(path, &reader, NULL), 0);
    assert_false(ntk_store_reader_ecc_get(boot_id, 2, &stored, reader));
    assert_true(ntk_store_reader_ecc_get(boot_id, 3, &stored, reader));
    assert_int_equal(stored.has, 1u << NTK_ECC_MEM_CORRECTED);
    assert_int_equal(stored.counter[NTK_ECC_MEM_CORRECTED], counter);
    assert_int_equal(stored.total[NTK_ECC_MEM_CORRECTED], total);
    ntk_store_reader_close(reader);
}

static void ecc_counters_continue_and_the_day_includes_errors_without_an_agent(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = open_store(f->path);

    put_ecc(store, T0, "boot", 5, 5, 0, 0);
    put_ecc(store, T0 + SECOND, "boot", 7, 7, 2, 0);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_stored_ecc(f->path, "boot", 7, 7);
    assert_stored_ecc(f->path, "another boot", 0, 7); /* the driver counts from 0 again */
    store = open_store(f->path);
    put_ecc(store, T0 + 60 * SECOND, "boot", 19, 19, 0, 12);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_stored_ecc(f->path, "boot", 19, 19);
    assert_string_equal(ask_sqlite(f->path, "SELECT sum(mem_ecc_corrected) FROM device_sample"),
                        "14");
}

/* Method: a process closes the runtime and starts it again, twice: the second time within one
 * period and while another writer is working. */
static void process_totals_are_the_sum_of_its_runtime_lives(void **state)
{
    struct fixture *f = *state;
    struct test_period period = { .time_ns = T0, .latency_ns = 1000, .memory_bytes = 100 };
    struct ntk_store *store = open_store(f->path);
    struct ntk_store_reader *reader;
    struct ntk_snapshot *totals;

    begin_life(&period, 100, 7);
    put(store, &period);
    period.ended = true;
    period.completed = 1;
    put(store, &period);
    period.ended = false;
    begin_life(&period, 200, 3);
    put(store, &period);
    assert_int_equal(ntk_store_close(store, NULL), 0);

    store = open_store(f->path);
    struct ntk_snapshot *older = test_make_snapshot(&period);
    begin_life(&period, 300, 5);
    struct ntk_snapshot *newer = test_make_snapshot(&period);
    struct ntk_snapshot *both = ntk_snapshot_merge(older, newer);
    ntk_store_put(store, both);
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);
    ntk_snapshot_destroy(both);
    assert_int_equal(ntk_store_close(store, NULL), 0);

    assert_int_equal(total_of(f->path, 100), 8);
    assert_int_equal(total_of(f->path, 200), 6);
    assert_int_equal(total_of(f->path, 300), 5);
    assert_int_equal(total_of(f->path, 400), 0);
    assert_string_equal(ask_sqlite(f->path, "SELECT sum(completed) FROM execution_sample"), "38");
    assert_string_equal(ask_sqlite(f->path, "SELECT completed || ' of ' || cores"
                                            " FROM process_overview"),
                        "38 of 2");
    assert_string_equal(ask_sqlite(f->path, "SELECT completed FROM core_overview"), "19");
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    assert_int_equal(ntk_store_reader_totals_snapshot(reader, true, &totals, NULL), 0);
    assert_int_equal(totals->runtime_count, 1);
    assert_int_equal(totals->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, 38);
    ntk_snapshot_destroy(totals);
    ntk_store_reader_close(reader);
}

/* Method: two segments of a process that claim the maximum number of executions. */
static void processes_with_huge_counts_are_included_in_totals(void **state)
{
    struct fixture *f = *state;
    struct test_period period = { .time_ns = T0, .latency_ns = 1000, .memory_bytes = 100 };
    struct ntk_store *store = open_store(f->path);
    struct ntk_store_reader *reader;
    struct ntk_snapshot *totals;
    struct ntk_err err = { 0 };

    for (uint64_t i = 1; i <= 2; i++) {
        begin_life(&period, i * SECOND, 1);
        period.completed_total = INT64_MAX - 1;
        put(store, &period);
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    if (ntk_store_reader_totals_snapshot(reader, true, &totals, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(totals->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, INT64_MAX);
    assert_int_equal(totals->cores[4].busy_ns.period, 3 * SECOND / 2);
    ntk_snapshot_destroy(totals);
    ntk_store_reader_close(reader);
}

/* Method: of two processes, the first ended an hour before the last row and has no name. */
static void an_exited_untagged_process_is_only_in_machine_totals(void **state)
{
    struct fixture *f = *state;
    struct test_period period = {
        .time_ns = T0, .completed = 4, .latency_ns = 1000, .memory_bytes = 100
    };
    struct ntk_store *store = open_store(f->path);
    struct ntk_store_reader *reader;
    struct ntk_snapshot *totals;
    sqlite3 *db;

    put(store, &period);
    period.uid = 1001;
    put(store, &period);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "UPDATE process SET tag = pid, ended_ns = last_seen_ns,"
                                  " last_seen_ns = last_seen_ns - 3600000000000 WHERE uid = 0",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    assert_int_equal(ntk_store_reader_totals_snapshot(reader, false, &totals, NULL), 0);
    assert_int_equal(totals->runtime_count, 1);
    assert_int_equal(totals->runtimes[0].uid, 1001);
    uint64_t of_one = totals->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period;
    assert_true(of_one > 0);
    assert_true(totals->outcome[NTK_OUTCOME_COMPLETED].period > of_one);
    ntk_snapshot_destroy(totals);
    ntk_store_reader_close(reader);
}

/* Method: so many lives that the totals of the first ones are merged into one row. */
static void totals_of_many_runtime_lives_are_merged_into_one_row(void **state)
{
    enum { LIVES = 700 };
    struct fixture *f = *state;
    struct test_period period = { .time_ns = T0, .latency_ns = 1000, .memory_bytes = 100 };
    struct ntk_store *store = open_store(f->path);

    for (uint64_t i = 1; i <= LIVES; i++) {
        begin_life(&period, i * SECOND, 2);
        put(store, &period);
        wait_for_room(store);
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_string_equal(ask(f->path, "SELECT sum(completed) FROM core_total WHERE core = 4"),
                        "1400");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM core_total WHERE core = 4"), "514");
    assert_string_equal(
        ask(f->path, "SELECT completed FROM core_total WHERE core = 5 AND began_ns = 0"), "374");
    assert_int_equal(total_of(f->path, LIVES * SECOND), 2);
    assert_int_equal(total_of(f->path, (LIVES - 512) * SECOND), 2);
    assert_int_equal(total_of(f->path, (LIVES - 513) * SECOND), 0);
}

/* Method: two users with segments that claim the same pid and start time, in turn, across a restart
 * of the writer. */
static void segments_of_two_users_with_the_same_pid_have_separate_rows(void **state)
{
    struct fixture *f = *state;
    struct test_period periods[2] = {
        { .time_ns = T0, .uid = 1000, .completed = 7, .memory_bytes = 100, .with_events = true },
        { .time_ns = T0, .uid = 1001, .completed = 11, .memory_bytes = 900, .with_events = true },
    };
    struct ntk_store_reader *reader;

    for (int round = 0; round < 2; round++) {
        struct ntk_store *store = open_store(f->path);
        for (size_t i = 0; i < 2; i++) {
            periods[i].time_ns = T0 + (uint64_t)(2 * round + (int)i) * SECOND;
            put(store, &periods[i]);
        }
        assert_int_equal(ntk_store_close(store, NULL), 0);
    }
    assert_string_equal(ask(f->path, "SELECT group_concat(uid) FROM process"), "1000,1001");
    assert_string_equal(
        ask(f->path, "SELECT group_concat(n) FROM (SELECT sum(completed) AS n FROM execution_sample"
                     " GROUP BY process_id ORDER BY 1)"),
        "28,44");
    assert_string_equal(ask(f->path, "SELECT group_concat(current_bytes) FROM memory_last"),
                        "100,900");
    assert_string_equal(ask(f->path, "SELECT group_concat(n) FROM (SELECT count(*) AS n"
                                     " FROM error_log GROUP BY process_id)"),
                        "2,2");
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        const struct ntk_process_key key = { TEST_HEADER_PID, periods[i].uid, TEST_START_TIME };
        struct ntk_core_sample cores[4];
        struct ntk_snapshot *snapshot;
        size_t count;

        assert_true(ntk_store_reader_totals_get(TEST_BOOT_ID, key, 0, cores, 4, &count, reader));
        assert_int_equal(cores[0].outcome[NTK_OUTCOME_COMPLETED].total, 2 * periods[i].completed);
        assert_int_equal(
            ntk_store_reader_snapshot_at(reader, T0 + (2 + i) * SECOND, &snapshot, NULL), 0);
        assert_int_equal(snapshot->runtime_count, 1);
        assert_int_equal(snapshot->event_count, 3);
        for (size_t e = 0; e < snapshot->event_count; e++) {
            assert_true(ntk_runtime_has_event(&snapshot->runtimes[0], &snapshot->events[e]));
        }
        ntk_snapshot_destroy(snapshot);
    }
    ntk_store_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stored_rows_and_views_match_the_snapshots, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_restarted_writer_continues_where_the_last_one_stopped,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            ecc_counters_continue_and_the_day_includes_errors_without_an_agent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_totals_are_the_sum_of_its_runtime_lives, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(processes_with_huge_counts_are_included_in_totals, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_exited_untagged_process_is_only_in_machine_totals,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(totals_of_many_runtime_lives_are_merged_into_one_row,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(segments_of_two_users_with_the_same_pid_have_separate_rows,
                                        set_up, tear_down),
    };

    test_scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
