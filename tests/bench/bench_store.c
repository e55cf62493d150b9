/* SPDX-License-Identifier: MIT */
/*
 * bench_store - the cost of storing on the largest machine (128 cores, 32 runtimes, all cores
 * busy): CPU time per stored second compared with a bare loop of INSERTs into the same schema,
 * bytes on the disk, and the time of queries about a day.
 *
 * Method: runs the parts of the writer in this thread, one transaction per second as in the agent.
 * Time is the thread's CPU time, so disk syncs do not count. The day has one row per second at its
 * ends, where a question reads seconds, and one per minute in between.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/metrics/snapshot.h"
#include "shared/store/rollup.h"
#include "shared/store/store_reader.h"
#include "shared/store/store_rows.h"
#include "shared/store/store_schema.h"
#include "shared/store/tier.h"
#include "tests/bench/rounds.h"
#include "tests/support/scratch.h"

#define SECOND UINT64_C(1000000000)
#define T0 UINT64_C(1699999200000000000) /* on the hour */
#define RUNTIMES 32u
#define CORES_EACH 4u
#define DEVICES 16u
#define MEMORY_ROWS 12u
#define LATENCIES 64u                   /* executions of a core per period */
#define BATCH ROUNDS_SIZE(BATCH_MAX, 2) /* seconds per round */
#define BATCH_MAX 20
#define ROUNDS 7
#define DISK_SECONDS ROUNDS_SIZE(900, 5)
#define DAY_MINUTES ROUNDS_SIZE(24 * 60, 6)
#define DAY_SECONDS ROUNDS_SIZE(120, 30) /* at each end */
#define SPEED_TARGET (1 / 0.7)           /* at least 0.7 of the bare loop's speed */
#define ROWS_TARGET 300000
#define VALUE_BYTES_TARGET 4

static struct ntk_err err; /* of the last call */

static void must(int code)
{
    rounds_require(code >= 0, err.text);
}

static void must_sqlite(sqlite3 *db, int code)
{
    rounds_require(code == SQLITE_OK, sqlite3_errmsg(db));
}

static void must_run(sqlite3 *db, const char *sql)
{
    must_sqlite(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

/* ---- snapshots ---- */

/* A measured figure: no two are related. */
static uint64_t noise(uint64_t sequence, uint64_t number, uint64_t kind, uint64_t range)
{
    uint64_t mix = (sequence * 1000003 + number) * 257 + kind + 1;

    mix = (mix ^ mix >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mix = (mix ^ mix >> 27) * UINT64_C(0x94d049bb133111eb);
    return (mix ^ mix >> 31) % range;
}

static void fill_core(struct ntk_snapshot *snapshot, struct ntk_core_sample *core, uint32_t number,
                      uint64_t sequence, struct ntk_histogram_dense *dense)
{
    ntk_histogram_dense_reset(dense);
    for (uint64_t i = 0; i < LATENCIES; i++) {
        /* Distributed like latencies: most near 2 ms, a tail up to 8. */
        uint64_t mix = (sequence * 64 + i + number) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
        ntk_histogram_dense_record(dense,
                                   2000000 + mix % 400000 + (i % 16 == 0 ? mix % 6000000 : 0));
    }
    core->core = number;
    core->has = NTK_CORE_HAS_BUSY | NTK_CORE_HAS_ENGINES | NTK_CORE_HAS_FLOPS |
                NTK_CORE_HAS_EFFECTIVE_FLOPS | NTK_CORE_HAS_BYTES | NTK_CORE_HAS_EXECUTIONS |
                NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_DEVICE_LATENCY | NTK_CORE_HAS_TRANSFERS;
    struct ntk_count *const counts[] = { &core->busy_ns,
                                         &core->flops,
                                         &core->effective_flops,
                                         &core->hbm_read_bytes,
                                         &core->hbm_written_bytes,
                                         &core->dma_bytes,
                                         &core->host_to_device_bytes,
                                         &core->device_to_host_bytes };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t period = 700000000 + noise(sequence, number, i, 200000000);
        *counts[i] = (struct ntk_count){ period, period * sequence };
    }
    for (size_t i = 0; i < NTK_ENGINE_COUNT; i++) {
        core->engine_busy_ns[i].period = 100000000 + noise(sequence, number, 100 + i, 50000000);
    }
    core->outcome[NTK_OUTCOME_COMPLETED] = (struct ntk_count){ LATENCIES, LATENCIES * sequence };
    core->total_latency = ntk_snapshot_histogram(snapshot, dense);
    core->device_latency = core->total_latency;
}

static void fill_runtime(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                         uint32_t index, uint64_t sequence, struct ntk_histogram_dense *dense)
{
    runtime->pid = 1000 + index;
    runtime->header_pid = 1000 + index;
    runtime->start_time = 5000 + index;
    runtime->tag = ntk_snapshot_format(snapshot, "worker-%u", index);
    runtime->command = ntk_snapshot_text(snapshot, "python");
    runtime->lnc = 1;
    runtime->has = NTK_RUNTIME_HAS_CPU | NTK_RUNTIME_HAS_RSS | NTK_RUNTIME_HAS_MEMORY |
                   NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_CORES | NTK_RUNTIME_HAS_MODELS |
                   NTK_RUNTIME_HAS_TOTALS;
    runtime->vcpu_user = (double)noise(sequence, index, 200, 1000) * 1e7 / (1e9 + (double)sequence);
    runtime->vcpu_system =
        (double)noise(sequence, index, 201, 100) * 1e7 / (1e9 + (double)sequence);
    runtime->rss_bytes = 3000000000u + (index * 1000 + noise(sequence, index, 202, 5000)) * 4096;
    runtime->cores = ntk_snapshot_alloc(snapshot, CORES_EACH, sizeof *runtime->cores);
    runtime->core_count = CORES_EACH;
    for (uint32_t c = 0; c < CORES_EACH; c++) {
        fill_core(snapshot, &runtime->cores[c], index * CORES_EACH + c, sequence, dense);
    }
    runtime->memory = ntk_snapshot_alloc(snapshot, MEMORY_ROWS, sizeof *runtime->memory);
    runtime->memory_count = MEMORY_ROWS;
    for (uint32_t m = 0; m < MEMORY_ROWS; m++) {
        /* One of them moves. */
        uint64_t bytes =
            1000000 * (m + 1 + index) + (m == 0 ? noise(sequence, index, 203, 100000) * 4096 : 0);
        runtime->memory[m] = (struct ntk_memory_sample){ .location = NTK_MEMORY_DEVICE,
                                                         .core = (uint16_t)(index * CORES_EACH),
                                                         .category = NTK_MEMORY_TENSORS,
                                                         .model_id = m,
                                                         .current_bytes = bytes,
                                                         .peak_bytes = bytes };
    }
    struct ntk_model_sample *model = ntk_snapshot_alloc_models(snapshot, runtime, 1);
    model->has = NTK_MODEL_HAS_EXECUTIONS | NTK_MODEL_HAS_LATENCY | NTK_MODEL_HAS_DEVICE_LATENCY;
    model->id = 10001;
    model->name = ntk_snapshot_text(snapshot, "resnet.neff");
    model->loaded = true;
    model->core = index * CORES_EACH;
    model->core_count = CORES_EACH;
    model->executions = (struct ntk_count){ LATENCIES, LATENCIES * sequence };
    model->total_latency = runtime->cores[0].total_latency;
    model->device_latency = runtime->cores[0].total_latency;
}

static struct ntk_snapshot *make_snapshot(uint64_t time_ns, uint64_t period_ns, uint64_t sequence)
{
    static struct ntk_histogram_dense dense;
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    snapshot->realtime_ns = time_ns;
    snapshot->period_ns = period_ns;
    snapshot->sequence = sequence;
    snapshot->boot_id = ntk_snapshot_text(snapshot, "11111111-2222-3333-4444-555555555555");
    snapshot->system.has = NTK_SYSTEM_HAS_CPU | NTK_SYSTEM_HAS_MEMORY;
    snapshot->system.memory_total_bytes = 2000000000000;
    snapshot->system.memory_used_bytes = 300000000000 + sequence * 4096;
    struct ntk_device_sample *devices = ntk_snapshot_alloc_devices(snapshot, DEVICES);
    for (uint32_t d = 0; d < DEVICES; d++) {
        devices[d].index = d;
        devices[d].has = NTK_DEVICE_HAS_ECC | NTK_DEVICE_HAS_MEMORY_USED;
        devices[d].ecc_has = (1u << NTK_ECC_COUNT) - 1;
        devices[d].stack_count = NTK_SNAPSHOT_STACKS_MAX;
        for (uint32_t i = 0; i < NTK_SNAPSHOT_STACKS_MAX; i++) {
            devices[d].memory_used_bytes[i] =
                5000000000 + noise(sequence, d, 300 + i, 1000000) * 4096;
        }
    }
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, RUNTIMES);
    for (uint32_t r = 0; r < RUNTIMES; r++) {
        fill_runtime(snapshot, &runtimes[r], r, sequence, &dense);
    }
    return snapshot;
}

/* ---- the writer ---- */

struct writer {
    char *path;
    sqlite3 *db;
    struct ntk_store_rows *rows;
    struct ntk_rollup *rollup;
    uint64_t time_ns;
    uint64_t sequence;
    uint64_t row_count;
    struct ntk_snapshot *batch[BATCH_MAX];
};

static sqlite3 *open_database(const char *path)
{
    sqlite3 *db;

    /* Opens SQLite without mutexes, as the agent does. */
    rounds_require(sqlite3_open_v2(path, &db,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                   NULL) == SQLITE_OK,
                   path);
    must(ntk_store_schema_make(db, &err));
    must(ntk_tier_add_functions(db, &err));
    must_run(db, "PRAGMA synchronous = FULL; PRAGMA cache_size = -4096");
    return db;
}

static void open_writer(struct writer *writer, const char *folder, const char *name)
{
    *writer = (struct writer){ .path = test_scratch_path(folder, name), .time_ns = T0 };
    writer->db = open_database(writer->path);
    must(ntk_store_rows_create(writer->db, &writer->rows, &err));
    must(ntk_rollup_create(writer->db, &writer->rollup, &err));
}

static void close_writer(struct writer *writer)
{
    ntk_store_rows_destroy(writer->rows);
    ntk_rollup_destroy(writer->rollup);
    sqlite3_close(writer->db);
    free(writer->path);
}

static void store_one(struct writer *writer, const struct ntk_snapshot *snapshot)
{
    must_run(writer->db, "BEGIN IMMEDIATE");
    must(ntk_rollup_see(writer->rollup, snapshot->realtime_ns, snapshot->period_ns, &err));
    must(ntk_store_rows_write(writer->rows, snapshot, &writer->row_count, &err));
    must_run(writer->db, "COMMIT");
    must(ntk_rollup_run(writer->rollup, SECOND, &err));
}

static void make_and_store(struct writer *writer, uint64_t period_ns)
{
    writer->time_ns += period_ns;
    struct ntk_snapshot *snapshot = make_snapshot(writer->time_ns, period_ns, ++writer->sequence);

    store_one(writer, snapshot);
    ntk_snapshot_destroy(snapshot);
}

/* CPU time per row for BATCH seconds, merging included. */
static double measure_writer(void *ctx)
{
    struct writer *writer = ctx;

    for (int i = 0; i < BATCH; i++) {
        writer->time_ns += SECOND;
        writer->batch[i] = make_snapshot(writer->time_ns, SECOND, ++writer->sequence);
    }
    uint64_t rows_before = writer->row_count;
    uint64_t before_ns = rounds_cpu_ns();
    for (int i = 0; i < BATCH; i++) {
        store_one(writer, writer->batch[i]);
    }
    double cpu_ns = (double)(rounds_cpu_ns() - before_ns);
    for (int i = 0; i < BATCH; i++) {
        ntk_snapshot_destroy(writer->batch[i]);
    }
    return cpu_ns / (double)(writer->row_count - rows_before);
}

/* ---- the bare loop ---- */

struct bare {
    sqlite3 *db;
    uint64_t time_ns;
};

/* The rows that a stored second writes. */
static const struct {
    const char *table;
    int rows;
    const char *key; /* of a table that the store packs; the bare one has plain rows */
} bare_tables[] = { { "machine_sample", 1, NULL },
                    { "device_sample", DEVICES, "device" },
                    { "process_sample", RUNTIMES, "process_id" },
                    { "core_sample", RUNTIMES *CORES_EACH, "process_id, core" },
                    { "execution_sample", RUNTIMES *CORES_EACH, NULL },
                    { "core_total", RUNTIMES *CORES_EACH, NULL },
                    { "model_sample", RUNTIMES, NULL },
                    { "memory_sample", RUNTIMES, NULL } };
#define BARE_TABLES (sizeof bare_tables / sizeof *bare_tables)
#define COLUMNS_MAX 64

struct bare_insert {
    sqlite3_stmt *statement;
    int rows, column_count;
    enum { TIME, KEY, HISTOGRAM, VALUE } columns[COLUMNS_MAX];
};

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    must_sqlite(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    return statement;
}

/* Replaces a packed table by one with plain rows. */
static void make_plain(sqlite3 *db, const char *table, const char *key)
{
    sqlite3_stmt *names = prepare(
        db, "SELECT group_concat(name || ' INTEGER', ', ') FROM pragma_table_info(?1, 'main')");

    sqlite3_bind_text(names, 1, table, -1, SQLITE_STATIC);
    rounds_require(sqlite3_step(names) == SQLITE_ROW, table);
    char *sql = sqlite3_mprintf("DROP TABLE temp.%s; DROP VIEW %s; CREATE TABLE %s"
                                " (%s, PRIMARY KEY (time_ns, %s)) WITHOUT ROWID",
                                table, table, table, sqlite3_column_text(names, 0), key);
    sqlite3_finalize(names);
    must_run(db, sql);
    sqlite3_free(sql);
}

/* The columns are read from the schema. */
static struct bare_insert prepare_insert(sqlite3 *db, size_t table)
{
    struct bare_insert insert = { .rows = bare_tables[table].rows };
    char sql[64 + 3 * COLUMNS_MAX];
    int used =
        snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO %s VALUES (?1", bare_tables[table].table);
    sqlite3_stmt *info = prepare(db, "SELECT name, type, pk FROM pragma_table_info(?1)");

    sqlite3_bind_text(info, 1, bare_tables[table].table, -1, SQLITE_STATIC);
    while (sqlite3_step(info) == SQLITE_ROW && insert.column_count < COLUMNS_MAX) {
        const char *name = (const char *)sqlite3_column_text(info, 0);
        const char *type = (const char *)sqlite3_column_text(info, 1);

        used += insert.column_count > 0 ? snprintf(sql + used, sizeof sql - (size_t)used, ",?") : 0;
        insert.columns[insert.column_count++] = strcmp(name, "time_ns") == 0  ? TIME
                                                : sqlite3_column_int(info, 2) ? KEY
                                                : strcmp(type, "BLOB") == 0   ? HISTOGRAM
                                                                              : VALUE;
    }
    sqlite3_finalize(info);
    (void)snprintf(sql + used, sizeof sql - (size_t)used, ")");
    insert.statement = prepare(db, sql);
    return insert;
}

static void step(sqlite3 *db, sqlite3_stmt *statement)
{
    must_sqlite(db, sqlite3_step(statement) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR);
    sqlite3_reset(statement);
}

static void insert_bare(sqlite3 *db, const struct bare_insert *insert, uint64_t time_ns, int row)
{
    static unsigned char blob[200]; /* as long as a histogram of LATENCIES values */

    for (int c = 0; c < insert->column_count; c++) {
        switch (insert->columns[c]) {
        case TIME:
            sqlite3_bind_int64(insert->statement, c + 1, (sqlite3_int64)time_ns);
            break;
        case KEY:
            sqlite3_bind_int64(insert->statement, c + 1, row);
            break;
        case HISTOGRAM:
            sqlite3_bind_blob(insert->statement, c + 1, blob, sizeof blob, SQLITE_STATIC);
            break;
        case VALUE:
            sqlite3_bind_int64(insert->statement, c + 1, 700000000 + row * 104729);
            break;
        }
    }
    step(db, insert->statement);
}

static double measure_bare(void *ctx)
{
    struct bare *bare = ctx;
    struct bare_insert inserts[BARE_TABLES];
    sqlite3_stmt *seen = prepare(bare->db, "UPDATE process SET last_seen_ns = ?1"
                                           " WHERE process_id = ?2");
    uint64_t rows = 0;

    for (size_t t = 0; t < BARE_TABLES; t++) {
        inserts[t] = prepare_insert(bare->db, t);
    }
    uint64_t before_ns = rounds_cpu_ns();
    for (int i = 0; i < BATCH; i++) {
        bare->time_ns += SECOND;
        must_run(bare->db, "BEGIN IMMEDIATE");
        for (size_t t = 0; t < BARE_TABLES; t++) {
            for (int r = 0; r < inserts[t].rows; r++) {
                insert_bare(bare->db, &inserts[t], bare->time_ns, r);
                rows++;
            }
        }
        for (int r = 0; r < (int)RUNTIMES; r++) {
            sqlite3_bind_int64(seen, 1, (sqlite3_int64)bare->time_ns);
            sqlite3_bind_int(seen, 2, r);
            step(bare->db, seen);
            rows++;
        }
        must_run(bare->db, "COMMIT");
    }
    double cpu_ns = (double)(rounds_cpu_ns() - before_ns);
    for (size_t t = 0; t < BARE_TABLES; t++) {
        sqlite3_finalize(inserts[t].statement);
    }
    sqlite3_finalize(seen);
    return cpu_ns / (double)rows;
}

static void bench_writing(const char *folder)
{
    struct writer writer;
    struct bare bare = { .time_ns = T0 };
    char *bare_path = test_scratch_path(folder, "bare.db");
    struct rounds_subject subjects[2] = { { .name = "store, per row", .measure = measure_writer },
                                          { .name = "bare loop, per row",
                                            .measure = measure_bare } };

    open_writer(&writer, folder, "writer.db");
    bare.db = open_database(bare_path);
    for (size_t i = 0; i < BARE_TABLES; i++) {
        if (bare_tables[i].key) {
            make_plain(bare.db, bare_tables[i].table, bare_tables[i].key);
        }
    }
    subjects[0].ctx = &writer;
    subjects[1].ctx = &bare;
    rounds_run(subjects, 2, ROUNDS);
    rounds_print(&subjects[0], "ns");
    rounds_print(&subjects[1], "ns");
    rounds_print_ratio("A3 store vs bare loop", &subjects[0], &subjects[1], SPEED_TARGET);
    /* The best of all rounds, so that a missed target is not caused by other load on the
     * machine. */
    rounds_print_exact("A3 a row, best round (300,000 rows/s)", rounds_min(&subjects[0]), "ns",
                       1e9 / ROWS_TARGET);
    double rows_per_second = (double)writer.row_count / (double)writer.sequence;
    rounds_print_value("rows of a second", rows_per_second, "rows", 0, 0);
    rounds_print_value("CPU to store a second, merging included",
                       rows_per_second * rounds_median(&subjects[0]) / 1e6, "ms", 0, 0);
    sqlite3_close(bare.db);
    free(bare_path);
    close_writer(&writer);
}

/* ---- the disk ---- */

static double ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    double value = 0;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        value = sqlite3_column_double(statement, 0);
    }
    sqlite3_finalize(statement);
    return value;
}

/* Non-NULL values of all rows of a table. */
static double count_values(sqlite3 *db, const char *table)
{
    char sql[2048];
    char *list = NULL;
    sqlite3_stmt *statement;

    snprintf(
        sql, sizeof sql,
        "SELECT group_concat('(' || name || ' IS NOT NULL)', '+') FROM pragma_table_info('%s')",
        table);
    statement = prepare(db, sql);
    if (sqlite3_step(statement) == SQLITE_ROW) {
        list = sqlite3_mprintf("SELECT sum(%s) FROM %s", sqlite3_column_text(statement, 0), table);
    }
    sqlite3_finalize(statement);
    double values = list ? ask(db, list) : 0;
    sqlite3_free(list);
    return values;
}

static void bench_disk(const char *folder)
{
    static const char *const tables[] = { "core_sample",    "core_minute",   "process_sample",
                                          "process_minute", "device_sample", "device_minute" };
    static const char *const blob_tables[] = { "execution_sample", "execution_minute" };
    struct writer writer;
    char name[96];
    char sql[256];

    open_writer(&writer, folder, "disk.db");
    for (int i = 0; i < DISK_SECONDS; i++) {
        make_and_store(&writer, SECOND);
    }
    must_run(writer.db, "PRAGMA wal_checkpoint(TRUNCATE)");
    struct stat info;
    rounds_require(stat(writer.path, &info) == 0, writer.path);
    rounds_print_value("file of an hour, every core at work",
                       (double)info.st_size * 3600 / DISK_SECONDS / 1e6, "MB", 0, 0);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT sum(pgsize) FROM dbstat('main', 1) WHERE name IN ('%s', '%s_packed')",
                 tables[i], tables[i]);
        double bytes = ask(writer.db, sql);
        snprintf(name, sizeof name, "A4 %s, per value", tables[i]);
        rounds_print_exact(name, bytes / count_values(writer.db, tables[i]), "bytes",
                           VALUE_BYTES_TARGET);
    }
    for (size_t i = 0; i < sizeof blob_tables / sizeof *blob_tables; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT (SELECT sum(pgsize) FROM dbstat('main', 1) WHERE name = '%s') * 1.0"
                 " / (SELECT count(*) FROM %s)",
                 blob_tables[i], blob_tables[i]);
        snprintf(name, sizeof name, "%s, a row with two histograms", blob_tables[i]);
        rounds_print_value(name, ask(writer.db, sql), "bytes", 0, 0);
    }
    close_writer(&writer);
}

/* ---- queries ---- */

static int ignore_step(const struct ntk_store_executions *step, void *ctx)
{
    *(uint64_t *)ctx += step->total_latency.count;
    return 0;
}

static void bench_questions(const char *folder)
{
    struct writer writer;
    struct ntk_store_reader *reader;
    static const struct {
        const char *name;
        const char *model;
        uint64_t step_ns;
    } questions[] = {
        { "24 h of latency, a model of 32 processes", "resnet", 0 },
        { "the same in steps of an hour", "resnet", 3600 * SECOND },
        { "the same in steps of a minute", "resnet", 60 * SECOND },
        { "24 h of latency, all 128 cores", NULL, 0 },
    };

    open_writer(&writer, folder, "day.db");
    for (int i = 0; i < DAY_SECONDS; i++) {
        make_and_store(&writer, SECOND);
    }
    for (int i = 0; i < DAY_MINUTES - 4; i++) {
        make_and_store(&writer, 60 * SECOND);
    }
    for (int i = 0; i < DAY_SECONDS; i++) {
        make_and_store(&writer, SECOND);
    }
    must(ntk_store_reader_open(writer.path, &reader, &err));
    for (size_t q = 0; q < sizeof questions / sizeof *questions; q++) {
        /* Not on the minute: both ends are read from the seconds. */
        struct ntk_store_window window = { T0 + 17 * SECOND, writer.time_ns - 13 * SECOND,
                                           questions[q].step_ns };
        struct ntk_store_filter filter = { .model = questions[q].model };
        double best_ms = 1e9;
        for (int i = 0; i < ROUNDS_SIZE(ROUNDS, 1); i++) {
            uint64_t count = 0;
            uint64_t before_ns = rounds_cpu_ns();
            must(ntk_store_reader_executions(reader, &filter, &window, ignore_step, &count, &err));
            double ms = (double)(rounds_cpu_ns() - before_ns) / 1e6;
            best_ms = ms < best_ms ? ms : best_ms;
            rounds_require(count > 0, "the day has no executions");
        }
        rounds_print_value(questions[q].name, best_ms, "ms", 0, 0);
    }
    ntk_store_reader_close(reader);
    close_writer(&writer);
}

int main(int argc, char **argv)
{
    rounds_options(argc, argv);
    char *folder = test_scratch_create();
    bench_writing(folder);
    bench_disk(folder);
    bench_questions(folder);
    test_scratch_destroy(folder);
    return rounds_result();
}
