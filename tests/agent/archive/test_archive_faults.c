/* SPDX-License-Identifier: MIT */
/* Method: every allocation and file call fails in turn while a part is written over an earlier one.
 * The earlier part or the whole new one exists afterwards, and the next run leaves no other
 * file. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/archive/archive.h"
#include "shared/base/fs.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/support/fault.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define T0 UINT64_C(1700000000000000000)
#define SECOND UINT64_C(1000000000)
#define SNAPSHOTS 3
#define DATASET NTK_STORE_DATASET_core_sample
#define EARLIER "an earlier part"
#define OWN_ROUNDS 40
#define ALL_ROUNDS 10

struct world {
    char *database;
    char *archive;
    char part[1024]; /* the path of the file */
    uint8_t *bytes;  /* of the whole part */
    size_t bytes_count;
};

static int write_part(void *ctx, struct ntk_err *err)
{
    const struct world *world = ctx;
    const struct ntk_archive_options options = { .target.destination = world->archive,
                                                 .host = "h" };
    struct ntk_store_reader *reader = NULL;
    struct ntk_archive *archive = NULL;
    struct ntk_archive_counts counts = { 0 };
    int ret = ntk_store_reader_open(world->database, &reader, err);

    if (ret >= 0) {
        ret = ntk_archive_open(&options, &archive, err);
    }
    if (ret >= 0) {
        ret = ntk_archive_write(archive, reader, DATASET, ntk_store_dataset_start(DATASET, T0),
                                &counts, err);
    }
    ntk_archive_close(archive);
    ntk_store_reader_close(reader);
    return ret;
}

static void an_earlier_part(void *ctx)
{
    const struct world *world = ctx;

    assert_int_equal(ntk_fs_write(world->part, EARLIER, strlen(EARLIER), NULL), 0);
}

static bool has(const char *path, const void *bytes, size_t bytes_count)
{
    uint8_t *found = NULL;
    size_t found_count = 0;
    bool is_same = ntk_fs_read(path, 1 << 24, &found, &found_count, NULL) == 0 &&
                   found_count == bytes_count && memcmp(found, bytes, bytes_count) == 0;

    free(found);
    return is_same;
}

/* The folder of the part. */
static unsigned entries_count(const struct world *world)
{
    char folder[1024];
    unsigned count = 0;

    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(world->part, '/') - world->part),
                   world->part);
    DIR *list = opendir(folder);

    for (const struct dirent *entry; (entry = readdir(list));) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(list);
    return count;
}

static const char *holds_either(void *ctx, int ret)
{
    struct world *world = ctx;

    if (!has(world->part, world->bytes, world->bytes_count) &&
        (ret >= 0 || !has(world->part, EARLIER, strlen(EARLIER)))) {
        return "the part is neither the earlier one nor the new one";
    }
    if (write_part(world, NULL) < 0 || !has(world->part, world->bytes, world->bytes_count)) {
        return "it cannot be written afterwards";
    }
    return entries_count(world) == 1 ? NULL : "a temporary file stays";
}

static void database_make(const struct world *world)
{
    const struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };
    struct test_period period = { .time_ns = T0, .completed = 5, .latency_ns = 1000 };
    struct ntk_store *store = NULL;

    assert_int_equal(ntk_store_open(world->database, &options, &store, NULL), 0);
    for (unsigned i = 0; i < SNAPSHOTS; i++) {
        struct ntk_snapshot *snapshot = test_make_snapshot(&period);

        ntk_store_put(store, snapshot);
        ntk_snapshot_destroy(snapshot);
        period.time_ns += SECOND;
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
}

/* The only file below a folder. */
static void part_find(const char *folder, char *out_path, size_t bytes)
{
    char path[1024];
    DIR *list;

    (void)snprintf(path, sizeof path, "%s", folder);
    while ((list = opendir(path)) != NULL) {
        size_t at = strlen(path);

        for (const struct dirent *entry; (entry = readdir(list));) {
            if (entry->d_name[0] != '.') {
                (void)snprintf(path + at, sizeof path - at, "/%s", entry->d_name);
            }
        }
        closedir(list);
        assert_true(strlen(path) > at);
    }
    (void)snprintf(out_path, bytes, "%s", path);
}

static void a_failed_write_leaves_the_old_or_the_new_archive_part(void **state)
{
    /* Most of all allocations are SQLite's. */
    static const struct fault_operation operations[] = {
        { .kinds = FAULT_ALL,
          .own_allocations_only = true,
          .rounds_max = OWN_ROUNDS,
          .before = an_earlier_part,
          .run = write_part,
          .after = holds_either },
        { .kinds = FAULT_ALLOCATION,
          .rounds_max = ALL_ROUNDS,
          .before = an_earlier_part,
          .run = write_part,
          .after = holds_either },
    };
    char *folder = test_scratch_create();
    struct world world = { .database = test_scratch_path(folder, "store.db"),
                           .archive = test_scratch_path(folder, "archive") };

    database_make(&world);
    assert_int_equal(write_part(&world, NULL), 0);
    part_find(world.archive, world.part, sizeof world.part);
    assert_int_equal(ntk_fs_read(world.part, 1 << 24, &world.bytes, &world.bytes_count, NULL), 0);
    assert_true(world.bytes_count > 100);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        assert_true(fault_everywhere(&operations[i], &world) > 50);
    }
    free(world.bytes);
    free(world.database);
    free(world.archive);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_write_leaves_the_old_or_the_new_archive_part),
    };

    test_scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
