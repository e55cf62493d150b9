/* SPDX-License-Identifier: MIT */
/* Files that someone else made, or that are truncated: they are read, moved aside or rejected, and
 * nothing in them is executed. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/store/store.h"
#include "shared/store/store_file.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/tier_check.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define T0 UINT64_C(1700000000000000000)
#define PAGE 4096

static int has_stored_all(void *ctx)
{
    struct ntk_store_status status;

    ntk_store_status_get(ctx, &status);
    return !status.failing && status.snapshots_waiting == 0;
}

/* Opens the file as an agent does, stores one period, closes; returns the number of files that it
 * moved aside. */
static uint64_t run_agent(const char *path)
{
    struct ntk_store_options options = { .commit_ns = 1000000, .retry_ns = 10000000 };
    struct test_period period = { .time_ns = T0 + 5000 * SECOND, .completed = 3, .latency_ns = 7 };
    struct ntk_store *store = NULL;
    struct ntk_store_status status;
    struct ntk_err err = { 0 };

    if (ntk_store_open(path, &options, &store, &err) < 0) {
        fail_msg("%s", err.text);
    }
    struct ntk_snapshot *snapshot = test_make_snapshot(&period);
    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
    assert_true(test_wait_until(has_stored_all, store));
    ntk_store_status_get(store, &status);
    ntk_store_close(store, NULL);
    return status.set_aside_count;
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    sqlite3_close(db);
}

static int64_t number(const char *path, const char *sql)
{
    sqlite3 *db = test_tier_open(path);
    int64_t value = test_tier_number(db, sql);

    sqlite3_close(db);
    return value;
}

static void expect_refused(const char *path, int code, const char *words)
{
    struct ntk_store_reader *reader = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_store_reader_open(path, &reader, &err), code);
    assert_null(reader);
    if (!strstr(err.text, words)) {
        fail_msg("'%s' is not in: %s", words, err.text);
    }
}

static void an_unknown_schema_version_counts_as_damage(void **state)
{
    static const char *const versions[] = { "-1", "-2147483648", "0" };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        char sql[64];

        assert_int_equal(run_agent(f->path), 0);
        snprintf(sql, sizeof sql, "PRAGMA user_version = %s", versions[i]);
        execute(f->path, sql);
        expect_refused(f->path, -EBADMSG, "unknown schema version");
        assert_int_equal(run_agent(f->path), 1);
    }
}

static void unexpected_schema_objects_are_rejected_and_not_executed(void **state)
{
    static const struct {
        const char *sql;
        const char *name;
    } rows[] = {
        { "CREATE TABLE proof (a); CREATE TRIGGER t AFTER INSERT ON machine_sample BEGIN"
          " INSERT INTO proof VALUES (1); END",
          "proof" },
        { "CREATE TRIGGER t AFTER INSERT ON machine_sample BEGIN DELETE FROM process; END", "'t'" },
        { "ALTER TABLE machine_sample RENAME TO hidden; CREATE VIEW machine_sample AS WITH "
          "RECURSIVE"
          " n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS time_ns FROM n",
          "hidden" },
        { "CREATE INDEX i ON process (hex(zeroblob(1000)))", "'i'" },
        { "DROP TABLE error_log", "error_log" },
        { "CREATE VIRTUAL TABLE v USING dbstat", "'v'" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_store *store = NULL;
        struct ntk_err err = { 0 };

        assert_int_equal(run_agent(f->path), 0);
        execute(f->path, rows[i].sql);
        expect_refused(f->path, -EPROTO, rows[i].name);
        assert_int_equal(ntk_store_open(f->path, NULL, &store, &err), -EPROTO);
        assert_non_null(strstr(err.text, rows[i].name));
        unlink(f->path);
    }
}

/* A row of the schema that falsely claims to be a view. */
static void a_trigger_disguised_as_a_view_counts_as_damage(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(run_agent(f->path), 0);
    execute(f->path,
            "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('view', 'x', 'x', 0,"
            " 'CREATE TRIGGER x AFTER INSERT ON machine_sample BEGIN DELETE FROM process; END')");
    expect_refused(f->path, -EBADMSG, "malformed");
    assert_int_equal(run_agent(f->path), 1);
}

/* ... and an agent that meets a trigger at run time does not execute it either. */
static void a_trigger_added_later_is_not_executed(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_options options = { .commit_ns = 1000000, .retry_ns = 10000000 };
    struct test_period period = { .time_ns = T0, .completed = 3, .latency_ns = 7 };
    struct ntk_store *store = NULL;

    assert_int_equal(ntk_store_open(f->path, &options, &store, NULL), 0);
    execute(f->path, "CREATE TRIGGER t AFTER INSERT ON machine_sample BEGIN"
                     " DELETE FROM memory_category; END");
    struct ntk_snapshot *snapshot = test_make_snapshot(&period);
    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
    assert_true(test_wait_until(has_stored_all, store));
    ntk_store_close(store, NULL);
    assert_int_equal(number(f->path, "SELECT count(*) FROM machine_sample"), 1);
    assert_true(number(f->path, "SELECT count(*) FROM memory_category") > 0);
}

static void views_and_statistics_added_by_users_are_accepted(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_reader *reader = NULL;

    assert_int_equal(run_agent(f->path), 0);
    execute(f->path, "ANALYZE; CREATE VIEW mine AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
                     " SELECT i FROM n) SELECT i FROM n");
    assert_int_equal(run_agent(f->path), 0);
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    ntk_store_reader_close(reader);
}

/* ---- truncated ---- */

static void remove_set_aside(const struct fixture *f)
{
    DIR *folder = opendir(f->folder);
    struct dirent *entry;

    while ((entry = readdir(folder))) {
        if (strstr(entry->d_name, ".damaged-")) {
            char *path = test_scratch_path(f->folder, entry->d_name);
            unlink(path);
            free(path);
        }
    }
    closedir(folder);
}

/* An agent continues from a file that is truncated anywhere; a damaged or foreign file is moved
 * aside. */
static void an_agent_continues_with_a_truncated_database(void **state)
{
    struct fixture *f = *state;
    uint8_t *bytes;
    size_t count;
    uint64_t aside = 0;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_agent(f->path), 0);
    }
    assert_int_equal(ntk_fs_read(f->path, 1 << 22, &bytes, &count, NULL), 0);
    assert_true(count > 20 * PAGE);
    for (size_t length = 1; length < count; length += length < 128    ? 9
                                                      : length < PAGE ? 509
                                                                      : 9973) {
        struct ntk_store_reader *reader = NULL;

        unlink(f->path);
        assert_int_equal(ntk_fs_write(f->path, bytes, length, NULL), 0);
        if (ntk_store_reader_open(f->path, &reader, NULL) == 0) {
            ntk_store_reader_close(reader);
        }
        aside += run_agent(f->path);
        assert_int_equal(number(f->path, "PRAGMA user_version"), NTK_STORE_SCHEMA_VERSION);
        remove_set_aside(f);
    }
    assert_true(aside > 20);
    free(bytes);
}

static void non_regular_files_are_rejected_at_once(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = NULL;

    assert_int_equal(mkfifo(f->path, 0600), 0);
    expect_refused(f->path, -EPROTO, "is not a database");
    assert_int_equal(ntk_store_open(f->path, NULL, &store, NULL), -EPROTO);
}

/* ---- endless ---- */

static void put_be(uint8_t *to, uint32_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
    }
}

/* A tree of machine_sample in which all children of a page are the same page, `levels` deep: more
 * rows than could ever be read. */
static void make_endless(const char *path, uint32_t levels)
{
    enum { CELLS = 600, CELL_AT = PAGE - 8 };
    uint8_t *bytes;
    size_t count;

    assert_int_equal(run_agent(path), 0);
    uint32_t root =
        (uint32_t)number(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'machine_sample'");
    assert_int_equal(ntk_fs_read(path, 1 << 22, &bytes, &count, NULL), 0);
    uint32_t first_new = (uint32_t)(count / PAGE) + 1;
    uint8_t *file = calloc(first_new + levels, PAGE);
    memcpy(file, bytes, count);
    for (uint32_t level = 0; level < levels; level++) {
        uint32_t page = level == 0 ? root : first_new + level - 1;
        uint32_t child = first_new + level;
        uint8_t *to = file + (size_t)(page - 1) * PAGE;

        memset(to, 0, PAGE);
        to[0] = 5; /* a page of a table with children */
        put_be(to + 3, CELLS, 2);
        put_be(to + 5, CELL_AT, 2);
        put_be(to + 8, child, 4);
        for (uint32_t cell = 0; cell < CELLS; cell++) {
            put_be(to + 12 + 2 * cell, CELL_AT, 2);
        }
        put_be(to + CELL_AT, child, 4);
        to[CELL_AT + 4] = 1; /* its key */
    }
    uint32_t pages = first_new + levels - 1; /* the last child is the old root, with its row */
    memcpy(file + (size_t)(pages - 1) * PAGE, bytes + (size_t)(root - 1) * PAGE, PAGE);
    put_be(file + 28, pages, 4);
    assert_int_equal(ntk_fs_write(path, file, (size_t)pages * PAGE, NULL), 0);
    free(file);
    free(bytes);
}

struct asking {
    struct ntk_store_reader *reader;
    int ret;
    atomic_bool is_asking;
    atomic_bool is_done;
};

static int take_nothing(size_t count, const char *const *names, const char *const *values,
                        void *ctx)
{
    (void)count;
    (void)names;
    (void)values;
    (void)ctx;
    return 0;
}

static void *ask_without_end(void *ctx)
{
    struct asking *asking = ctx;

    atomic_store(&asking->is_asking, true);
    asking->ret = ntk_store_reader_query(asking->reader,
                                         "SELECT sum(period_ns) FROM machine_sample NOT INDEXED",
                                         take_nothing, NULL, NULL);
    atomic_store(&asking->is_done, true);
    return NULL;
}

static int is_asking(void *ctx)
{
    return atomic_load(&((struct asking *)ctx)->is_asking);
}

static int is_done(void *ctx)
{
    return atomic_load(&((struct asking *)ctx)->is_done);
}

static void an_endless_query_stops_on_request(void **state)
{
    static atomic_bool stop;
    struct fixture *f = *state;
    struct asking asking = { 0 };
    pthread_t thread;
    struct ntk_err err = { 0 };

    atomic_store(&stop, false);
    make_endless(f->path, 6);
    if (ntk_store_reader_open_until(f->path, &stop, &asking.reader, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(pthread_create(&thread, NULL, ask_without_end, &asking), 0);
    assert_true(test_wait_until(is_asking, &asking));
    atomic_store(&stop, true);
    assert_true(test_wait_until(is_done, &asking));
    pthread_join(thread, NULL);
    assert_int_equal(asking.ret, -ECANCELED);
    ntk_store_reader_close(asking.reader);
}

/* neuron-top and the agent block the signals that end them; a call must not delay their
 * handling. */
static void an_endless_query_is_cancelled_by_sigterm(void **state)
{
    struct fixture *f = *state;
    struct asking asking = { 0 };
    sigset_t set;
    sigset_t before;
    int taken;

    make_endless(f->path, 6);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    assert_int_equal(ntk_store_reader_open(f->path, &asking.reader, NULL), 0);
    kill(getpid(), SIGTERM);
    ask_without_end(&asking);
    assert_int_equal(asking.ret, -ECANCELED);
    assert_int_equal(sigwait(&set, &taken), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    ntk_store_reader_close(asking.reader);
}

/* This process has computed for 100 ms since ctx: its other thread is inside the endless query. */
static int has_computed(void *ctx)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec > *(uint64_t *)ctx + SECOND / 10;
}

/* What the writer does of its own accord ends with the agent. */
static void an_agent_exits_during_an_endless_statement(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_options options = { .commit_ns = 1000000, .retry_ns = 10000000 };
    struct test_period period = { .time_ns = T0 + 9000 * SECOND, .completed = 3, .latency_ns = 7 };
    struct ntk_store *store = NULL;
    struct timespec used;

    make_endless(f->path, 6);
    assert_int_equal(ntk_store_open(f->path, &options, &store, NULL), 0);
    struct ntk_snapshot *snapshot = test_make_snapshot(&period);
    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    uint64_t used_ns = (uint64_t)used.tv_sec * SECOND + (uint64_t)used.tv_nsec;
    assert_true(test_wait_until(has_computed, &used_ns));
    assert_false(has_stored_all(store));
    ntk_store_close(store, NULL);
}

/* The memory of readers does not count as memory of a statement, in a new file and in an existing
 * one. */
static void memory_used_elsewhere_does_not_interrupt_a_statement(void **state)
{
    static const char sql[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                              " WHERE i < 200000) SELECT max(i) FROM n";
    struct fixture *f = *state;

    for (int round = 0; round < 2; round++) {
        struct ntk_store_file file = { 0 };
        sqlite3 *db;
        assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
        assert_int_equal(ntk_store_file_guard(&file, db, NULL), 0);
        assert_int_equal(sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS t (a)", NULL, NULL, NULL),
                         SQLITE_OK);
        void *others = sqlite3_malloc(64 << 20);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_free(others);
        sqlite3_close(db);
    }
}

static void a_statement_beyond_the_memory_limit_is_interrupted(void **state)
{
    static const char sql[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                              " WHERE i < 2000000) SELECT length(group_concat(i, x)) FROM n,"
                              " (SELECT hex(zeroblob(100)) AS x)";
    struct fixture *f = *state;
    struct ntk_store_file file = { 0 };
    sqlite3 *db;

    execute(f->path, "CREATE TABLE t (a)");
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(ntk_store_file_guard(&file, db, NULL), 0);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 30); /* otherwise this limit would end it */
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_INTERRUPT);
    sqlite3_close(db);
}

/* ---- denied to this user ---- */

#define OTHER_USER 65534

/* The message for another user who opens the file, for reading or as an agent. */
static void say_as_other_user(const char *path, bool writes, char *text, size_t text_bytes)
{
    int out[2];

    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct ntk_store_reader *reader;
        struct ntk_store *store;
        struct ntk_err err = { 0 };

        if (setgid(OTHER_USER) != 0 || setuid(OTHER_USER) != 0) {
            _exit(2);
        }
        int ret = writes ? ntk_store_open(path, NULL, &store, &err)
                         : ntk_store_reader_open(path, &reader, &err);
        _exit(ret < 0 && write(out[1], err.text, strlen(err.text)) > 0 ? 0 : 1);
    }
    close(out[1]);
    ssize_t count = read(out[0], text, text_bytes - 1);
    text[count > 0 ? count : 0] = '\0';
    close(out[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void an_unreadable_database_is_reported_with_the_cause(void **state)
{
    struct fixture *f = *state;
    char text[NTK_ERR_TEXT_BYTES];

    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(run_agent(f->path), 0);
    assert_int_equal(chmod(f->path, 0600), 0);
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        assert_int_equal(chmod(f->folder, is_closed ? 0700 : 0755), 0);
        for (int writes = 0; writes < 2; writes++) {
            say_as_other_user(f->path, writes, text, sizeof text);
            if (!strstr(text, "Permission denied") || strstr(text, "no database")) {
                fail_msg("%s", text);
            }
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_unknown_schema_version_counts_as_damage),
        TEST(unexpected_schema_objects_are_rejected_and_not_executed),
        TEST(a_trigger_disguised_as_a_view_counts_as_damage),
        TEST(a_trigger_added_later_is_not_executed),
        TEST(views_and_statistics_added_by_users_are_accepted),
        TEST(an_agent_continues_with_a_truncated_database),
        TEST(non_regular_files_are_rejected_at_once),
        TEST(an_endless_query_stops_on_request),
        TEST(an_endless_query_is_cancelled_by_sigterm),
        TEST(memory_used_elsewhere_does_not_interrupt_a_statement),
        TEST(a_statement_beyond_the_memory_limit_is_interrupted),
        TEST(an_agent_exits_during_an_endless_statement),
        TEST(an_unreadable_database_is_reported_with_the_cause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
