/* SPDX-License-Identifier: MIT */
/* Method: every allocation and file call fails in turn while a database is opened, written and
 * closed, or read; then it is read without faults. */
#include <errno.h>
#include <glob.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "shared/store/store_sql.h"
#include "shared/store/tier.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/support/fault.h"
#include "tests/support/unit.h"

#define T0 UINT64_C(1700000000000000000)
#define SECOND UINT64_C(1000000000)
#define NEVER_NS (3600 * SECOND)
#define CREATE_ROUNDS 10
#define WRITE_ROUNDS 20
#define READ_ROUNDS 30
#define EARLIER 2u /* snapshots stored beforehand */
#define PUT 2u     /* snapshots that run() puts */

struct world {
    const char *path;
    uint8_t *earlier; /* the bytes of a database of EARLIER snapshots */
    size_t earlier_bytes;
    struct ntk_snapshot *snapshots[EARLIER + PUT];
    unsigned put; /* snapshots that an open store accepted */
    unsigned seen;
    sqlite3 *db; /* open while a packed table is read */
};

/* Opens, puts snapshots [first, end) and closes. */
static int write_some(struct world *world, unsigned first, unsigned end, struct ntk_err *err)
{
    /* Keeps samples although they are years old. Commits only at the end, and never retries. */
    const struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                               .commit_ns = 1,
                                               .retry_ns = NEVER_NS };
    struct ntk_store *store = NULL;
    int ret = ntk_store_open(world->path, &options, &store, err);

    world->put = 0;
    if (ret < 0) {
        return ret;
    }
    for (unsigned i = first; i < end; i++) {
        fault_pause(); /* put() cannot fail */
        ntk_store_put(store, world->snapshots[i]);
        fault_resume();
        world->put++;
    }
    return ntk_store_close(store, err);
}

static int take_count(size_t count, const char *const *names, const char *const *values, void *ctx)
{
    (void)count;
    (void)names;
    *(unsigned *)ctx = (unsigned)strtoul(values[0], NULL, 10);
    return 0;
}

/* The number of snapshots in the file. */
static int read_count(const char *path, unsigned *out_count, struct ntk_err *err)
{
    struct ntk_store_reader *reader = NULL;
    int ret = ntk_store_reader_open(path, &reader, err);

    *out_count = 0;
    if (ret >= 0) {
        ret = ntk_store_reader_query(reader, "SELECT count(*) FROM machine_sample", take_count,
                                     out_count, err);
    }
    ntk_store_reader_close(reader);
    return ret;
}

/* The database, its log, and those that were moved aside. */
static void files_list(const struct world *world, const char *end, glob_t *out_files)
{
    char pattern[512];

    (void)snprintf(pattern, sizeof pattern, "%s%s", world->path, end);
    assert_true(glob(pattern, 0, NULL, out_files) == 0 || out_files->gl_pathc == 0);
}

static void no_database(void *ctx)
{
    glob_t files = { 0 };

    files_list(ctx, "*", &files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        (void)unlink(files.gl_pathv[i]);
    }
    globfree(&files);
}

static void an_earlier_database(void *ctx)
{
    const struct world *world = ctx;

    no_database(ctx);
    assert_int_equal(ntk_fs_write(world->path, world->earlier, world->earlier_bytes, NULL), 0);
}

static int create_and_put(void *ctx, struct ntk_err *err)
{
    return write_some(ctx, EARLIER, EARLIER + PUT, err);
}

/* SQLite treats a page that the disk cannot read as damaged, so the file is moved aside. */
static unsigned set_aside_count(const struct world *world)
{
    glob_t files = { 0 };
    unsigned sum = 0;

    files_list(world, ".damaged-*Z", &files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        unsigned count;
        if (read_count(files.gl_pathv[i], &count, NULL) == 0) {
            sum += count;
        }
    }
    globfree(&files);
    return sum;
}

static const char *holds(struct world *world, unsigned earlier, int ret)
{
    unsigned found = 0;
    unsigned more = 0;
    unsigned put = world->put;

    unsigned aside = set_aside_count(world);

    if (read_count(world->path, &found, NULL) < 0 && aside == 0 && (earlier > 0 || ret >= 0)) {
        return "unreadable";
    }
    unsigned all = found + aside;

    if (all > found && fault_error() != EIO) {
        return "a sound file is set aside";
    }
    if (all < earlier || all > earlier + put) {
        return "what was there is not there";
    }
    if (ret >= 0 && all != earlier + put) {
        return "something is not stored without an error";
    }
    if (write_some(world, EARLIER, EARLIER + PUT, NULL) < 0 ||
        read_count(world->path, &more, NULL) < 0 || more < found || more < PUT) {
        return "it takes no more";
    }
    return NULL;
}

static const char *holds_new(void *ctx, int ret)
{
    return holds(ctx, 0, ret);
}

static const char *holds_earlier_and_new(void *ctx, int ret)
{
    return holds(ctx, EARLIER, ret);
}

static int read_it(void *ctx, struct ntk_err *err)
{
    struct world *world = ctx;

    return read_count(world->path, &world->seen, err);
}

static const char *has_seen_all(void *ctx, int ret)
{
    const struct world *world = ctx;

    return ret >= 0 && world->seen != EARLIER ? "rows are missing without an error" : NULL;
}

/* Reads columns of a packed table. */
static int read_packed(void *ctx, struct ntk_err *err)
{
    struct world *world = ctx;
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare(world->db, "SELECT process_id, core FROM core_sample",
                                    &statement, err);

    world->seen = 0;
    while (ret == 0 && ntk_store_sql_next(world->db, statement, &ret, err)) {
        world->seen++;
    }
    sqlite3_finalize(statement);
    return ret;
}

static const char *has_seen_all_cores(void *ctx, int ret)
{
    const struct world *world = ctx;

    return ret >= 0 && world->seen != EARLIER * 2 ? "rows are missing without an error" : NULL;
}

static void with_world(void **state, const struct fault_operation *operation, bool is_there)
{
    const struct fixture *f = *state;
    struct world world = { .path = f->path };
    struct test_period period = {
        .time_ns = T0, .completed = 5, .latency_ns = 1000, .memory_bytes = 4096
    };

    for (unsigned i = 0; i < EARLIER + PUT; i++) {
        world.snapshots[i] = test_make_snapshot(&period);
        period.time_ns += SECOND;
    }
    assert_int_equal(write_some(&world, 0, EARLIER, NULL), 0);
    assert_int_equal(ntk_fs_read(world.path, 1 << 24, &world.earlier, &world.earlier_bytes, NULL),
                     0);
    if (!is_there) {
        no_database(&world);
    }
    assert_true(fault_everywhere(operation, &world) > 50);
    free(world.earlier);
    for (unsigned i = 0; i < EARLIER + PUT; i++) {
        ntk_snapshot_destroy(world.snapshots[i]);
    }
}

static void a_new_database_is_valid_if_any_creation_step_fails(void **state)
{
    static const struct fault_operation operation = { .kinds = FAULT_ALL,
                                                      .own_allocations_only = true,
                                                      .rounds_max = CREATE_ROUNDS,
                                                      .before = no_database,
                                                      .run = create_and_put,
                                                      .after = holds_new };

    with_world(state, &operation, false);
}

static void a_database_keeps_its_rows_if_any_insert_step_fails(void **state)
{
    static const struct fault_operation operation = { .kinds = FAULT_ALL,
                                                      .own_allocations_only = true,
                                                      .rounds_max = WRITE_ROUNDS,
                                                      .before = an_earlier_database,
                                                      .run = create_and_put,
                                                      .after = holds_earlier_and_new };

    with_world(state, &operation, false);
}

static void a_failing_reader_returns_all_rows_or_an_error(void **state)
{
    static const struct fault_operation operation = { .kinds = FAULT_ALL,
                                                      .own_allocations_only = true,
                                                      .rounds_max = READ_ROUNDS,
                                                      .run = read_it,
                                                      .after = has_seen_all };

    with_world(state, &operation, true);
}

/* A sanitizer finds reads beyond a text that could not grow. */
static void a_packed_table_returns_all_rows_or_an_error(void **state)
{
    static const struct fault_operation operation = { .kinds = FAULT_ALLOCATION,
                                                      .own_allocations_only = true,
                                                      .run = read_packed,
                                                      .after = has_seen_all_cores };
    const struct fixture *f = *state;
    struct world world = { .path = f->path };
    struct test_period period = { .time_ns = T0, .completed = 5, .latency_ns = 1000 };

    for (unsigned i = 0; i < EARLIER; i++) {
        world.snapshots[i] = test_make_snapshot(&period);
        period.time_ns += SECOND;
    }
    assert_int_equal(write_some(&world, 0, EARLIER, NULL), 0);
    assert_int_equal(sqlite3_open(world.path, &world.db), SQLITE_OK);
    assert_int_equal(ntk_tier_add_functions(world.db, NULL), 0);
    assert_true(fault_everywhere(&operation, &world) > 3);
    sqlite3_close(world.db);
    for (unsigned i = 0; i < EARLIER; i++) {
        ntk_snapshot_destroy(world.snapshots[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_new_database_is_valid_if_any_creation_step_fails),
        TEST(a_database_keeps_its_rows_if_any_insert_step_fails),
        TEST(a_packed_table_returns_all_rows_or_an_error),
        TEST(a_failing_reader_returns_all_rows_or_an_error),
    };

    test_scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
