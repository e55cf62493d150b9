/* SPDX-License-Identifier: MIT */
/* Damaged files are moved aside, and storing continues. */

#include <errno.h>
#include <glob.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/store/store.h"
#include "shared/store/store_machine.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/store_fixture.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* The only file next to the database that was moved aside; the caller frees it. */
static char *find_set_aside(const struct fixture *f, const struct ntk_store_status *status)
{
    glob_t found;
    char *pattern = test_scratch_path(f->folder, "store.db.damaged-*Z");
    char *path;

    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    path = strdup(found.gl_pathv[0]);
    assert_non_null(strstr(status->set_aside, path));
    assert_non_null(strstr(status->set_aside, "is damaged"));
    globfree(&found);
    free(pattern);
    return path;
}

static void overwrite(const char *path, long offset, int byte, size_t count)
{
    FILE *file = fopen(path, "r+");

    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    for (size_t i = 0; i < count; i++) {
        fputc(byte, file);
    }
    fclose(file);
}

/* Opens, stores one period, and checks what happened to the damaged file. */
static void store_one(const struct fixture *f, struct ntk_store_status *out_status)
{
    struct test_period period = { .time_ns = T0, .completed = 3, .latency_ns = 1000 };
    struct ntk_store *store = open_store(f->path);

    put(store, &period);
    assert_true(test_wait_until(has_stored_one, store));
    ntk_store_status_get(store, out_status);
    assert_false(out_status->failing);
    assert_int_equal(out_status->snapshots_lost, 0);
    assert_int_equal(ntk_store_close(store, NULL), 0);
}

static void a_damaged_file_is_set_aside_and_storing_continues(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_status status;
    static const struct {
        const char *page; /* the damaged page: SQL for its number */
        long from;        /* offset in it */
        int byte;
    } damages[] = {
        { "SELECT 1", 0, 0 },      /* blocks that never reached the disk */
        { "SELECT 1", 100, 0xff }, /* the schema */
        /* Shows only when the writer's thread writes to the table. */
        { "SELECT rootpage FROM sqlite_schema WHERE name = 'machine_sample'", 0, 0xff },
        { "SELECT rootpage FROM sqlite_schema WHERE name = 'core_sample_packed'", 0, 0xff },
    };

    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        store_one(f, &status);
        assert_int_equal(status.set_aside_count, 0);
        long page = atol(ask(f->path, damages[i].page));
        overwrite(f->path, (page - 1) * 4096 + damages[i].from, damages[i].byte,
                  4096 - (size_t)damages[i].from);
        struct stat before;
        struct stat after;
        assert_int_equal(stat(f->path, &before), 0);

        store_one(f, &status);
        assert_int_equal(status.set_aside_count, 1);
        char *aside = find_set_aside(f, &status);
        assert_int_equal(stat(aside, &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
        assert_int_equal(before.st_size, after.st_size);
        assert_string_equal(ask(f->path, "SELECT sum(completed) FROM execution_sample"), "6");
        assert_int_equal(unlink(aside), 0);
        assert_int_equal(unlink(f->path), 0);
        free(aside);
    }
}

/* Method: a valid file, with single bytes of its header changed, then all of the header. The
 * database opens in every case: the old one, or a new one after the old one was moved aside. */
static void an_agent_starts_with_a_damaged_database_header(void **state)
{
    static const int places[] = { 0,  15, 16, 18, 19, 20, 21, 23, 28, 44,
                                  47, 52, 56, 59, 60, 61, 68, 71, 96, 100 }; /* 100: all */
    struct fixture *f = *state;
    uint8_t *sound;
    size_t bytes;
    struct ntk_store *store;
    struct ntk_err err = { 0 };
    char *all = test_scratch_path(f->folder, "*");
    char command[600];

    assert_int_equal(ntk_store_close(open_store(f->path), NULL), 0);
    assert_int_equal(ntk_fs_read(f->path, 1 << 24, &sound, &bytes, NULL), 0);
    (void)snprintf(command, sizeof command, "rm -f %s", all);
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        int at = places[k];

        for (int i = 0; i < 100; i++) {
            sound[i] ^= at == i || at == 100 ? 0xff : 0;
        }
        assert_int_equal(system(command), 0);
        assert_int_equal(ntk_fs_write(f->path, sound, bytes, NULL), 0);
        if (ntk_store_open(f->path, NULL, &store, &err) < 0) {
            fail_msg("byte %d: %s", at, err.text);
        }
        assert_int_equal(ntk_store_close(store, NULL), 0);
        for (int i = 0; i < 100; i++) {
            sound[i] ^= at == i || at == 100 ? 0xff : 0;
        }
    }
    free(all);
    free(sound);
}

static void a_damaged_file_of_another_program_is_not_moved(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = NULL;
    struct ntk_err err = { 0 };
    sqlite3 *db;

    sqlite3_open(f->path, &db);
    sqlite3_exec(db, "CREATE TABLE theirs (a)", NULL, NULL, NULL);
    sqlite3_close(db);
    overwrite(f->path, 100, 0xff, 1000);
    assert_int_equal(ntk_store_open(f->path, NULL, &store, &err), -EPROTO);
    assert_non_null(strstr(err.text, "a damaged database created by another program"));
    assert_int_equal(access(f->path, F_OK), 0);
}

/* A statement that the first attempt prepared is not prepared again: each would keep the file
 * open. */
static void a_failed_insert_leaves_no_statement_open(void **state)
{
    struct test_period period = { .time_ns = T0 };
    struct ntk_snapshot *snapshot = test_make_snapshot(&period);
    struct ntk_store_machine machine = { 0 };
    uint64_t row_count = 0;
    sqlite3 *db;

    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE machine (since_ns)", NULL, NULL, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(ntk_store_machine_write(&machine, db, snapshot, &row_count, NULL) < 0);
    }
    ntk_store_machine_fini(&machine);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    ntk_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_damaged_file_is_set_aside_and_storing_continues, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_agent_starts_with_a_damaged_database_header, set_up,
                                        tear_down),
        cmocka_unit_test(a_failed_insert_leaves_no_statement_open),
        cmocka_unit_test_setup_teardown(a_damaged_file_of_another_program_is_not_moved, set_up,
                                        tear_down),
    };

    test_scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
