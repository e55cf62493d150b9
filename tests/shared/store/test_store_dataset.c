/* SPDX-License-Identifier: MIT */
/* The database as tables for export: their columns, the rows of a step, late rows, and files of
 * other programs. */
#include "shared/store/store_dataset.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/store/store.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)
#define T0 UINT64_C(1700006400000000000) /* 2023-11-15T00:00:00Z */
#define DAMAGES 150

/* Adds a row per second after start_ns. */
static void add_rows(const struct fixture *f, uint64_t start_ns, unsigned periods)
{
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 20000000 };
    struct test_period period = { .latency_ns = 2000000, .memory_bytes = 5 << 20, .completed = 2 };
    struct ntk_store *store = NULL;

    assert_int_equal(ntk_store_open(f->path, &options, &store, NULL), 0);
    for (unsigned i = 1; i <= periods; i++) {
        period.time_ns = start_ns + i * SECOND;
        period.with_events = i == 2;
        struct ntk_snapshot *snapshot = test_make_snapshot(&period);
        test_store_put(store, snapshot);
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
}

static void make_store(const struct fixture *f, unsigned periods)
{
    add_rows(f, T0 + HOUR - 5 * SECOND, periods);
}

static void execute(const struct fixture *f, const char *sql)
{
    sqlite3 *db = NULL;
    char *text = NULL;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK) {
        fail_msg("%s", text);
    }
    sqlite3_close(db);
}

static struct ntk_store_reader *open_reader(const struct fixture *f)
{
    struct ntk_store_reader *reader = NULL;
    struct ntk_err err = { 0 };

    if (ntk_store_reader_open(f->path, &reader, &err) < 0) {
        fail_msg("%s", err.text);
    }
    return reader;
}

/* The number of rows of a step; the last value of the column with that name as a number. */
static size_t count_rows(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                         uint64_t start_ns, const char *column, int64_t *out_value)
{
    struct ntk_store_cursor *cursor = NULL;
    const struct ntk_store_cell *cells;
    struct ntk_err err = { 0 };
    size_t count, rows = 0;
    int64_t last = INT64_MIN;
    int ret = ntk_store_cursor_open(reader, id, start_ns, start_ns + ntk_store_datasets[id].step_ns,
                                    &cursor, &err);

    if (ret < 0) {
        fail_msg("%s: %s", ntk_store_datasets[id].name, err.text);
    }
    const struct ntk_store_cursor_column *columns = ntk_store_cursor_columns(cursor, &count);
    while ((ret = ntk_store_cursor_next(cursor, &cells, &err)) == 1) {
        assert_int_equal(cells[0].kind, NTK_STORE_CELL_TIME);
        assert_true(cells[0].i64 >= last); /* in order */
        last = cells[0].i64;
        for (size_t i = 0; i < count && column; i++) {
            if (strcmp(columns[i].name, column) == 0) {
                *out_value = cells[i].i64;
            }
        }
        rows++;
    }
    if (ret < 0) {
        fail_msg("%s: %s", ntk_store_datasets[id].name, err.text);
    }
    ntk_store_cursor_close(cursor);
    return rows;
}

/* Readers of archives depend on them: changing a name or a type requires a new version of the
 * archive. */
static void dataset_columns_match_their_documentation(void **state)
{
    static const char *const kinds[] = { "", "BIGINT", "TIMESTAMP", "DOUBLE", "VARCHAR", "BLOB" };
    const char *source = getenv("NTK_SOURCE_DIR");
    char path[4096];
    struct ntk_buf text = { 0 };
    uint8_t *wanted = NULL;
    size_t wanted_bytes = 0;

    make_store(*state, 1);
    struct ntk_store_reader *reader = open_reader(*state);
    ntk_buf_add_text(
        &text, "# Columns of the archive\n\nThis page lists the columns of version 1 of "
               "[archive.md](archive.md), in addition to\n`cluster`, `date` and `host`, which "
               "are in the path. `tests/shared/store/test_store_dataset.c`\ncompares the page "
               "with the program.\n");
    for (size_t id = 0; id < NTK_STORE_DATASET_COUNT; id++) {
        struct ntk_store_cursor *cursor = NULL;
        struct ntk_err err = { 0 };
        size_t count = 0;
        if (ntk_store_cursor_open(reader, id, 0, DAY, &cursor, &err) < 0) {
            fail_msg("%s: %s", ntk_store_datasets[id].name, err.text);
        }
        const struct ntk_store_cursor_column *columns = ntk_store_cursor_columns(cursor, &count);
        ntk_buf_add_format(&text, "\n## %s\n\n%s\n\n| Column | Type |\n|---|---|\n",
                           ntk_store_datasets[id].name, ntk_store_datasets[id].meaning);
        for (size_t i = 0; i < count; i++) {
            ntk_buf_add_format(&text, "| %s | %s |\n", columns[i].name, kinds[columns[i].kind]);
        }
        ntk_store_cursor_close(cursor);
    }
    ntk_store_reader_close(reader);
    snprintf(path, sizeof path, "%s/docs/formats/archive-columns.md", source ? source : ".");
    if (getenv("NTK_UPDATE")) {
        assert_int_equal(ntk_fs_write(path, text.bytes, text.bytes_count, NULL), 0);
    }
    assert_int_equal(ntk_fs_read(path, 1 << 20, &wanted, &wanted_bytes, NULL), 0);
    assert_string_equal(ntk_buf_text_get(&text), (const char *)wanted);
    free(wanted);
    ntk_buf_fini(&text);
}

static void a_dataset_step_includes_its_end_and_not_its_start(void **state)
{
    struct fixture *f = *state;
    uint64_t time_ns = 0;

    make_store(f, 10); /* five seconds of one hour, five of the next */
    struct ntk_store_reader *reader = open_reader(f);
    enum ntk_store_dataset_id id = NTK_STORE_DATASET_machine_sample;
    assert_int_equal(count_rows(reader, id, T0, NULL, NULL), 5);
    assert_int_equal(count_rows(reader, id, T0 + HOUR, NULL, NULL), 5);
    assert_int_equal(ntk_store_dataset_start(id, T0 + HOUR), T0);
    assert_int_equal(ntk_store_dataset_start(id, T0 + HOUR + 1), T0 + HOUR);
    assert_int_equal(ntk_store_dataset_start(id, 0), 0);
    assert_int_equal(ntk_store_dataset_next(reader, id, 0, &time_ns, NULL), 0);
    assert_int_equal(ntk_store_dataset_start(id, time_ns), T0);
    assert_int_equal(ntk_store_dataset_next(reader, id, T0 + HOUR, &time_ns, NULL), 0);
    assert_int_equal(ntk_store_dataset_start(id, time_ns), T0 + HOUR);
    assert_int_equal(ntk_store_dataset_next(reader, id, T0 + 2 * HOUR, &time_ns, NULL), -ENODATA);
    /* States: only of the day when a process was there. */
    assert_int_equal(count_rows(reader, NTK_STORE_DATASET_process, T0, NULL, NULL), 1);
    assert_int_equal(count_rows(reader, NTK_STORE_DATASET_process, T0 + DAY, NULL, NULL), 0);
    assert_int_equal(count_rows(reader, NTK_STORE_DATASET_machine, T0, NULL, NULL), 1);
    assert_int_equal(count_rows(reader, NTK_STORE_DATASET_machine, T0 + DAY, NULL, NULL), 0);
    ntk_store_reader_close(reader);
}

static void finished_dataset_steps_are_determined_by_stored_samples(void **state)
{
    struct fixture *f = *state;
    uint64_t whole_ns = 1, done_ns = 1;

    make_store(f, 10);
    execute(f, "UPDATE tier SET first_ns = 77 WHERE tier = 'second'");
    struct ntk_store_reader *reader = open_reader(f);
    assert_int_equal(
        ntk_store_dataset_span(reader, NTK_STORE_DATASET_core_sample, &whole_ns, &done_ns, NULL),
        0);
    assert_int_equal(whole_ns, 77);
    assert_int_equal(done_ns, T0 + HOUR);
    assert_int_equal(
        ntk_store_dataset_span(reader, NTK_STORE_DATASET_core_hour, &whole_ns, &done_ns, NULL), 0);
    assert_int_equal(whole_ns, 0);
    assert_true(done_ns <= T0 + HOUR); /* merged up to this time, at most */
    assert_int_equal(
        ntk_store_dataset_span(reader, NTK_STORE_DATASET_error_log, &whole_ns, &done_ns, NULL), 0);
    assert_int_equal(done_ns, T0 + HOUR);
    ntk_store_reader_close(reader);
}

/* The rows of the repeated time are committed later than the clock passes them. */
static void a_repeated_step_is_unfinished_until_its_rows_are_stored(void **state)
{
    struct fixture *f = *state;
    uint64_t whole_ns, done_ns = 0;

    make_store(f, 10);
    add_rows(f, T0 + HOUR / 2, 90);
    struct ntk_store_reader *reader = open_reader(f);
    assert_int_equal(
        ntk_store_dataset_span(reader, NTK_STORE_DATASET_core_sample, &whole_ns, &done_ns, NULL),
        0);
    assert_int_equal(done_ns, T0 + HOUR / 2 + 60 * SECOND);
    ntk_store_reader_close(reader);
}

static void rows_added_late_to_a_dataset_are_found(void **state)
{
    struct fixture *f = *state;
    uint64_t last = 0, later = 0, time_ns = 0;

    make_store(f, 10);
    struct ntk_store_reader *reader = open_reader(f);
    enum ntk_store_dataset_id id = NTK_STORE_DATASET_model_log;
    assert_int_equal(ntk_store_dataset_late(reader, id, 0, &last, &time_ns, NULL), 0);
    assert_true(last > 0 && time_ns < UINT64_MAX);
    assert_int_equal(ntk_store_dataset_late(reader, id, last, &later, &time_ns, NULL), 0);
    assert_true(later == last && time_ns == UINT64_MAX);
    execute(f, "INSERT INTO model_log SELECT max(event_id) + 1, 5000, process_id, 'load', 1, 'x', "
               "0, 0, 0, 0 FROM model_log");
    assert_int_equal(ntk_store_dataset_late(reader, id, last, &later, &time_ns, NULL), 0);
    assert_true(later == last + 1 && time_ns == 5000);
    ntk_store_reader_close(reader);
}

static void a_sum_beyond_64_bits_is_limited_to_the_maximum(void **state)
{
    struct fixture *f = *state;
    int64_t completed = 0;

    make_store(f, 10);
    execute(f, "UPDATE core_total SET completed = 9223372036854775807");
    struct ntk_store_reader *reader = open_reader(f);
    assert_int_equal(count_rows(reader, NTK_STORE_DATASET_process, T0, "completed", &completed), 1);
    assert_true(completed == INT64_MAX);
    ntk_store_reader_close(reader);
}

static void read_all(const char *path)
{
    struct ntk_store_reader *reader = NULL;
    struct ntk_err err = { 0 };
    char host[NTK_STORE_HOST_BYTES];
    uint64_t a, b;

    if (ntk_store_reader_open(path, &reader, &err) < 0) {
        assert_string_not_equal(err.text, "");
        return;
    }
    (void)ntk_store_dataset_origin(reader, T0, &a, host, &err);
    for (size_t id = 0; id < NTK_STORE_DATASET_COUNT; id++) {
        struct ntk_store_cursor *cursor = NULL;
        const struct ntk_store_cell *cells;
        (void)ntk_store_dataset_span(reader, id, &a, &b, &err);
        (void)ntk_store_dataset_next(reader, id, 0, &a, &err);
        if (ntk_store_cursor_open(reader, id, 0, T0 + DAY, &cursor, &err) == 0) {
            for (int rows = 0; rows < 100000 && ntk_store_cursor_next(cursor, &cells, &err) == 1;) {
                rows++;
            }
        }
        ntk_store_cursor_close(cursor);
    }
    ntk_store_reader_close(reader);
}

/* A valid file with bytes changed at places that follow from a number, or truncated: an error or
 * rows, but never more. */
static void a_damaged_database_yields_rows_or_an_error(void **state)
{
    struct fixture *f = *state;
    uint8_t *bytes = NULL;
    size_t count = 0;
    uint64_t mix = 1;

    make_store(f, 10);
    execute(f, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
    assert_int_equal(ntk_fs_read(f->path, 64 << 20, &bytes, &count, NULL), 0);
    char *path = test_scratch_path(f->folder, "damaged.db");
    for (int i = 0; i < DAMAGES; i++) {
        uint8_t *copy = malloc(count);
        size_t length = count;
        memcpy(copy, bytes, count);
        for (int k = 0; k < 1 + i % 20; k++) {
            mix = mix * UINT64_C(6364136223846793005) + 1442695040888963407u;
            copy[100 + (mix >> 20) % (count - 100)] = (uint8_t)(mix >> 56);
        }
        length -= i % 5 == 4 ? (mix >> 24) % count : 0;
        assert_int_equal(ntk_fs_write(path, copy, length, NULL), 0);
        read_all(path);
        free(copy);
    }
    free(path);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dataset_columns_match_their_documentation, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_dataset_step_includes_its_end_and_not_its_start, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(finished_dataset_steps_are_determined_by_stored_samples,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_repeated_step_is_unfinished_until_its_rows_are_stored,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_added_late_to_a_dataset_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sum_beyond_64_bits_is_limited_to_the_maximum, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_database_yields_rows_or_an_error, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
