/* SPDX-License-Identifier: MIT */
/*
 * bench_archive - the cost of archiving an hour of the largest machine (128 cores, one row per
 * second: 460,800 rows of core_sample), compared with SQLite stepping through the same rows and
 * returning their values: CPU time, bytes per row, and memory.
 *
 * Method: runs the agent's own archive in this thread, into a folder in memory. Time is the
 * thread's CPU time, so the disk does not count. Memory is the peak of the process beyond what
 * reading alone needs. The values resemble those of busy cores: busy shares and bytes that change
 * every second.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/archive/archive.h"
#include "shared/store/packed.h"
#include "shared/store/store.h"
#include "tests/bench/rounds.h"
#include "tests/support/scratch.h"

#define ROWS ROUNDS_SIZE(460800, 12800)
#define CORES 128
#define START_NS UINT64_C(1700002800000000000) /* on the hour */
#define ROUND_COUNT 5
#define FLOOR_TARGET 2.5
#define MEMORY_TARGET_MIB 96

static char *db_path;
static struct ntk_store_reader *reader;
static struct ntk_archive *archive;
static uint64_t bytes_written;

static int64_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    rounds_require(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
                       sqlite3_step(statement) == SQLITE_ROW,
                   sqlite3_errmsg(db));
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static void make_database(void)
{
    static const char sql[] =
        "INSERT INTO machine (since_ns, boot_id, host_name, instance_name, instance_id, "
        "instance_type, availability_zone, region,"
        " lnc, core_count) VALUES (1700000000000000000, 'b', 'bench', '', '', '', '', '', 1, 128);"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 31)"
        " INSERT INTO process (process_id, boot_id, header_pid, uid, start_time, pid, tag, "
        "command, user, container_id,"
        " runtime_version, framework_version, instance_type, lnc, first_seen_ns, last_seen_ns)"
        " SELECT i + 1, '11111111-2222-3333-4444-555555555555', 1000 + i, 1000, 77000 + i, 1000 + "
        "i, 'job-' || i,"
        " 'python', 'user', '', '', '', '', 1, 0, 0 FROM n;";
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .keep_bytes = UINT64_C(1) << 40 };
    struct ntk_store *store = NULL;
    struct ntk_err err = { 0 };
    sqlite3 *db = NULL;
    struct ntk_packer *packer = NULL;

    rounds_require(ntk_store_open(db_path, &options, &store, &err) == 0, err.text);
    ntk_store_close(store, NULL);
    rounds_require(sqlite3_open(db_path, &db) == SQLITE_OK &&
                       sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK &&
                       sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK,
                   "no database");
    rounds_require(ntk_tier_add_functions(db, &err) == 0 &&
                       ntk_packer_create(db, NTK_FAMILY_CORE, &packer, &err) == 0,
                   err.text);
    int columns = (int)number(db, "SELECT count(*) - 1 FROM pragma_table_info('core_sample')");
    uint64_t mix = 1;
    for (int second = 0; second < ROWS / CORES; second++) {
        uint64_t written = 0;
        for (int core = 0; core < CORES; core++) {
            ntk_packer_add(packer);
            ntk_packer_set(packer, 0, 1 + core / 4);
            ntk_packer_set(packer, 1, core);
            ntk_packer_set(packer, 2, 1000000000 + second % 1000);
            for (int c = 3; c < columns; c++) {
                mix = mix * UINT64_C(6364136223846793005) + 1442695040888963407u;
                ntk_packer_set(packer, c, (int64_t)(500000000 + (mix >> 36)));
            }
        }
        uint64_t time_ns =
            START_NS + ((uint64_t)second + 1) * UINT64_C(1000000000) - (uint64_t)second % 7 * 1000;
        rounds_require(ntk_packer_write(packer, time_ns, &written, &err) == 0, err.text);
    }
    ntk_packer_destroy(packer);
    rounds_require(sqlite3_exec(db, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL) ==
                       SQLITE_OK,
                   sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* Reads each value, as any program that writes it elsewhere must. */
static double read_rows(void *ctx)
{
    struct ntk_store_cursor *cursor = NULL;
    const struct ntk_store_cell *cells;
    struct ntk_err err = { 0 };
    uint64_t begin = rounds_cpu_ns();
    volatile uint64_t sum = 0;
    size_t count, rows = 0;

    (void)ctx;
    rounds_require(ntk_store_cursor_open(reader, NTK_STORE_DATASET_core_sample, START_NS,
                                         START_NS + UINT64_C(3600000000000), &cursor, &err) == 0,
                   err.text);
    (void)ntk_store_cursor_columns(cursor, &count);
    while (ntk_store_cursor_next(cursor, &cells, &err) == 1) {
        for (size_t i = 0; i < count; i++) {
            sum = sum + (cells[i].kind == NTK_STORE_CELL_TEXT ? cells[i].bytes_count
                                                              : (uint64_t)cells[i].i64);
        }
        rows++;
    }
    ntk_store_cursor_close(cursor);
    rounds_require(rows == ROWS, "rows are missing");
    return (double)(rounds_cpu_ns() - begin) / ROWS;
}

static double write_rows(void *ctx)
{
    struct ntk_archive_counts counts = { 0 };
    struct ntk_err err = { 0 };
    uint64_t begin = rounds_cpu_ns();

    (void)ctx;
    rounds_require(ntk_archive_write(archive, reader, NTK_STORE_DATASET_core_sample, START_NS,
                                     &counts, &err) == 0,
                   err.text);
    rounds_require(counts.rows == ROWS, "rows are missing from the part");
    bytes_written = counts.bytes;
    return (double)(rounds_cpu_ns() - begin) / ROWS;
}

static double used_mib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

int main(int argc, char **argv)
{
    struct rounds_subject subjects[2] = {
        { "archive: core_sample as Parquet", write_rows, NULL, { 0 }, 0 },
        { "reading alone (SQLite)", read_rows, NULL, { 0 }, 0 },
    };
    struct ntk_archive_options options = { .cluster = "bench" };
    struct ntk_err err = { 0 };

    rounds_options(argc, argv);
    test_scratch_in_memory();
    char *folder = test_scratch_create();
    char *place = test_scratch_path(folder, "archive");
    db_path = test_scratch_path(folder, "store.db");
    make_database();
    options.target.destination = place;
    rounds_require(ntk_store_reader_open(db_path, &reader, &err) == 0, err.text);
    rounds_require(ntk_archive_open(&options, &archive, &err) == 0, err.text);
    (void)read_rows(NULL);
    double before = used_mib();
    (void)write_rows(NULL);
    double memory = used_mib() - before;
    rounds_run(subjects, 2, ROUND_COUNT);
    rounds_print(&subjects[0], "ns/row");
    rounds_print(&subjects[1], "ns/row");
    rounds_print_ratio("archive over reading alone", &subjects[0], &subjects[1], FLOOR_TARGET);
    rounds_print_value("rows per second", 1e9 / rounds_min(&subjects[0]), "1/s", 0, 1);
    rounds_print_value("Parquet", 1e3 / rounds_min(&subjects[0]) * (double)bytes_written / ROWS,
                       "MB/s", 0, 1);
    rounds_print_value("bytes per row", (double)bytes_written / ROWS, "B", 0, 0);
    rounds_print_value("memory beyond reading", memory, "MiB", MEMORY_TARGET_MIB, 0);
    ntk_archive_close(archive);
    ntk_store_reader_close(reader);
    test_scratch_destroy(folder);
    free(place);
    free(db_path);
    return rounds_result();
}
