/* SPDX-License-Identifier: MIT */
/* store_rows - one snapshot as rows of the open transaction. */
#include "shared/store/store_rows.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/map.h"
#include "shared/store/store_histogram.h"
#include "shared/store/store_machine.h"
#include "shared/store/store_sql.h"

#define KEY_BYTES 128

enum statement_id {
    FIND_PROCESS,
    ADD_PROCESS,
    SEE_PROCESS,
    PUT_MODEL,
    ADD_MACHINE,
    ADD_DEVICE,
    ADD_PROCESS_SAMPLE,
    ADD_CORE,
    ADD_EXECUTION,
    ADD_MODEL_SAMPLE,
    ADD_MEMORY,
    PUT_MEMORY_LAST,
    PUT_CORE_TOTAL,
    FIND_HISTOGRAMS,
    FIND_MEMORY,
    ADD_MEMORY_LOG,
    ADD_ERROR_LOG,
    ADD_MODEL_LOG,
    STATEMENT_COUNT
};

static const char *const statement_sql[STATEMENT_COUNT] = {
    [FIND_PROCESS] = "SELECT process_id FROM process"
                     " WHERE boot_id = ?1 AND header_pid = ?2 AND start_time = ?3",
    [ADD_PROCESS] = "INSERT INTO process VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
                    " ?11, ?12, ?13, ?13, NULL, ?14, ?15)",
    [SEE_PROCESS] = "UPDATE process SET last_seen_ns = ?2, ended_ns = ?3 WHERE process_id = ?1",
    [PUT_MODEL] = "INSERT INTO model VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12,"
                  " ?13, ?14)"
                  " ON CONFLICT DO UPDATE SET last_seen_ns = excluded.last_seen_ns,"
                  " executions_total = excluded.executions_total,"
                  " errors_total = excluded.errors_total, estimated = excluded.estimated,"
                  " load_time_ns = excluded.load_time_ns,"
                  " load_duration_ns = excluded.load_duration_ns,"
                  " unloaded_ns = excluded.unloaded_ns",
    [ADD_MACHINE] = "INSERT OR REPLACE INTO machine_sample"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    [ADD_DEVICE] = "INSERT OR REPLACE INTO device_sample"
                   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    [ADD_PROCESS_SAMPLE] = "INSERT OR REPLACE INTO process_sample"
                           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [ADD_CORE] = "INSERT OR REPLACE INTO core_sample"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"
                 " ?17, ?18, ?19, ?20)",
    [ADD_EXECUTION] = "INSERT OR REPLACE INTO execution_sample"
                      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
                      " ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)",
    [ADD_MODEL_SAMPLE] = "INSERT OR REPLACE INTO model_sample"
                         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [ADD_MEMORY] = "INSERT OR REPLACE INTO memory_sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [PUT_MEMORY_LAST] = "INSERT OR REPLACE INTO memory_last VALUES (?2, ?3, ?4, ?5, ?1, ?6, ?7)",
    [PUT_CORE_TOTAL] = "INSERT OR REPLACE INTO core_total"
                       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
                       " ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29,"
                       " ?30, ?31)",
    [FIND_HISTOGRAMS] = "SELECT latency_histogram, device_latency_histogram FROM core_total"
                        " WHERE process_id = ?1 AND core = ?2",
    [FIND_MEMORY] = "SELECT core, category, model_id, current_bytes, peak_bytes FROM memory_last"
                    " WHERE process_id = ?1",
    [ADD_MEMORY_LOG] = "INSERT INTO memory_log VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [ADD_ERROR_LOG] = "INSERT INTO error_log VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [ADD_MODEL_LOG] = "INSERT INTO model_log VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
};

struct core_state {
    struct ntk_histogram_dense total;
    struct ntk_histogram_dense device;
    struct ntk_buf total_blob; /* encoded again only when the period added something */
    struct ntk_buf device_blob;
};

struct memory_state {
    uint64_t current_bytes;
    uint64_t peak_bytes;
    uint64_t generation; /* of the last snapshot that had the row */
};

struct process_state {
    int64_t id;
    struct ntk_map cores;  /* core -> struct core_state */
    struct ntk_map memory; /* memory_key() -> struct memory_state */
};

struct ntk_store_rows {
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    struct ntk_map processes; /* process_key() -> struct process_state */
    struct ntk_store_machine machine;
    uint64_t generation;
    uint64_t row_count;
    struct ntk_buf scratch;
    struct ntk_buf scratch_2;
};

/* Binds the columns of one row in order; a parameter of SQLite counts from 1. */
struct binder {
    sqlite3_stmt *statement;
    int next;
};

static struct binder bind_start(struct ntk_store_rows *rows, enum statement_id id)
{
    return (struct binder){ rows->statements[id], 1 };
}

static void bind_u64(struct binder *binder, uint64_t value)
{
    sqlite3_bind_int64(binder->statement, binder->next++, (sqlite3_int64)value);
}

static void bind_known(struct binder *binder, bool known, uint64_t value)
{
    if (known) {
        bind_u64(binder, value);
    } else {
        sqlite3_bind_null(binder->statement, binder->next++);
    }
}

static void bind_ratio(struct binder *binder, bool known, double value)
{
    if (known) {
        sqlite3_bind_double(binder->statement, binder->next++, value);
    } else {
        sqlite3_bind_null(binder->statement, binder->next++);
    }
}

static void bind_text(struct binder *binder, const char *text)
{
    sqlite3_bind_text(binder->statement, binder->next++, text ? text : "", -1, SQLITE_STATIC);
}

static void bind_blob(struct binder *binder, const struct ntk_buf *buf)
{
    sqlite3_bind_blob64(binder->statement, binder->next++, buf->bytes, buf->bytes_count,
                        SQLITE_STATIC);
}

static void bind_core(struct binder *binder, uint32_t core)
{
    sqlite3_bind_int64(binder->statement, binder->next++, core == NTK_NO_CORE ? -1 : (int)core);
}

/* Runs the statement to its end: one row is written. */
static int bind_finish(struct ntk_store_rows *rows, struct binder *binder, struct ntk_err *err)
{
    int step = sqlite3_step(binder->statement);
    int ret = 0;

    if (step != SQLITE_DONE) {
        ret = ntk_store_sql_error(rows->db, "database", err);
    }
    sqlite3_reset(binder->statement);
    sqlite3_clear_bindings(binder->statement);
    rows->row_count++;
    return ret;
}

static void destroy_process(struct process_state *process)
{
    ntk_map_each(entry, &process->cores) {
        struct core_state *core = entry->value;
        ntk_buf_fini(&core->total_blob);
        ntk_buf_fini(&core->device_blob);
        free(core);
    }
    ntk_map_each(entry, &process->memory) {
        free(entry->value);
    }
    ntk_map_fini(&process->cores);
    ntk_map_fini(&process->memory);
    free(process);
}

void ntk_store_rows_forget(struct ntk_store_rows *rows)
{
    ntk_map_each(entry, &rows->processes) {
        destroy_process(entry->value);
    }
    ntk_map_fini(&rows->processes);
    ntk_buf_reset(&rows->machine.written);
}

int ntk_store_rows_create(sqlite3 *db, struct ntk_store_rows **out_rows, struct ntk_err *err)
{
    struct ntk_store_rows *rows = calloc(1, sizeof *rows);

    if (!rows) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    rows->db = db;
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        int ret = ntk_store_sql_prepare(db, statement_sql[i], &rows->statements[i], err);
        if (ret < 0) {
            ntk_store_rows_destroy(rows);
            return ret;
        }
    }
    *out_rows = rows;
    return 0;
}

void ntk_store_rows_destroy(struct ntk_store_rows *rows)
{
    if (!rows) {
        return;
    }
    ntk_store_rows_forget(rows);
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        sqlite3_finalize(rows->statements[i]);
    }
    ntk_store_machine_fini(&rows->machine);
    ntk_buf_fini(&rows->scratch);
    ntk_buf_fini(&rows->scratch_2);
    free(rows);
}

static int out_of_memory(struct ntk_err *err)
{
    return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
}

static int find_process_row(struct ntk_store_rows *rows, const char *boot_id, uint32_t header_pid,
                            uint64_t start_time, int64_t *out_id, struct ntk_err *err)
{
    struct binder binder = bind_start(rows, FIND_PROCESS);
    int ret = 0;

    bind_text(&binder, boot_id);
    bind_u64(&binder, header_pid);
    bind_u64(&binder, start_time);
    int step = sqlite3_step(binder.statement);
    if (step == SQLITE_ROW) {
        *out_id = sqlite3_column_int64(binder.statement, 0);
        ret = 1;
    } else if (step != SQLITE_DONE) {
        ret = ntk_store_sql_error(rows->db, "database", err);
    }
    sqlite3_reset(binder.statement);
    sqlite3_clear_bindings(binder.statement);
    return ret;
}

/* One number for a row of memory: core 16 bits, category 16, model 32. */
static uint64_t memory_key(uint32_t core, uint32_t category, uint32_t model_id)
{
    return (uint64_t)core << 48 | (uint64_t)category << 32 | model_id;
}

/* What the rows of a process were when the last writer stopped. */
static int load_memory(struct ntk_store_rows *rows, struct process_state *process,
                       struct ntk_err *err)
{
    struct binder binder = bind_start(rows, FIND_MEMORY);
    int ret = 0;
    int step;

    bind_u64(&binder, (uint64_t)process->id);
    while (ret == 0 && (step = sqlite3_step(binder.statement)) != SQLITE_DONE) {
        if (step != SQLITE_ROW) {
            ret = ntk_store_sql_error(rows->db, "database", err);
            break;
        }
        int64_t core = sqlite3_column_int64(binder.statement, 0);
        struct memory_state *state = calloc(1, sizeof *state);
        if (!state) {
            ret = out_of_memory(err);
            break;
        }
        state->current_bytes = (uint64_t)sqlite3_column_int64(binder.statement, 3);
        state->peak_bytes = (uint64_t)sqlite3_column_int64(binder.statement, 4);
        uint64_t key = memory_key(core < 0 ? NTK_NO_CORE : (uint32_t)core & 0xffff,
                                  (uint32_t)sqlite3_column_int(binder.statement, 1) & 0xffff,
                                  (uint32_t)sqlite3_column_int64(binder.statement, 2));
        if (ntk_map_put_number(&process->memory, key, state) < 0) {
            free(state);
            ret = out_of_memory(err);
        }
    }
    sqlite3_reset(binder.statement);
    sqlite3_clear_bindings(binder.statement);
    return ret;
}

/* runtime may be NULL for an event of a process that has no sample. */
static int get_process(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                       uint32_t header_pid, uint64_t start_time,
                       const struct ntk_runtime_sample *runtime, struct process_state **out,
                       struct ntk_err *err)
{
    char key[KEY_BYTES];
    int64_t id = 0;

    snprintf(key, sizeof key, "%s/%" PRIu32 "/%" PRIu64, snapshot->boot_id, header_pid, start_time);
    *out = ntk_map_get(&rows->processes, key);
    if (*out) {
        return 0;
    }
    int found = find_process_row(rows, snapshot->boot_id, header_pid, start_time, &id, err);
    if (found < 0) {
        return found;
    }
    if (!found) {
        struct binder binder = bind_start(rows, ADD_PROCESS);
        bind_text(&binder, snapshot->boot_id);
        bind_u64(&binder, header_pid);
        bind_u64(&binder, start_time);
        bind_u64(&binder, runtime ? runtime->pid : header_pid);
        bind_text(&binder, runtime ? runtime->tag : "");
        bind_text(&binder, runtime ? runtime->command : "");
        bind_text(&binder, runtime ? runtime->user : "");
        bind_text(&binder, runtime ? runtime->container : "");
        bind_text(&binder, runtime ? runtime->runtime_version : "");
        bind_text(&binder, runtime ? runtime->framework_version : "");
        bind_text(&binder, runtime ? runtime->instance_type : "");
        bind_u64(&binder, runtime ? runtime->lnc : 1);
        bind_u64(&binder, snapshot->realtime_ns);
        bind_known(&binder, runtime, runtime ? runtime->uid : 0);
        bind_known(&binder, runtime, runtime && runtime->software);
        int ret = bind_finish(rows, &binder, err);
        if (ret < 0) {
            return ret;
        }
        id = sqlite3_last_insert_rowid(rows->db);
    }
    struct process_state *process = calloc(1, sizeof *process);
    if (!process || ntk_map_put(&rows->processes, key, process) < 0) {
        free(process);
        return out_of_memory(err);
    }
    process->id = id;
    *out = process;
    return found ? load_memory(rows, process, err) : 0;
}

static int load_histograms(struct ntk_store_rows *rows, const struct process_state *process,
                           uint32_t core, struct core_state *state, struct ntk_err *err)
{
    struct binder binder = bind_start(rows, FIND_HISTOGRAMS);
    int ret = 0;

    bind_u64(&binder, (uint64_t)process->id);
    bind_u64(&binder, core);
    int step = sqlite3_step(binder.statement);
    if (step == SQLITE_ROW) {
        /* A blob that cannot be read starts anew: the counts beside it stay right. */
        (void)ntk_store_histogram_decode(sqlite3_column_blob(binder.statement, 0),
                                         (size_t)sqlite3_column_bytes(binder.statement, 0),
                                         &state->total);
        (void)ntk_store_histogram_decode(sqlite3_column_blob(binder.statement, 1),
                                         (size_t)sqlite3_column_bytes(binder.statement, 1),
                                         &state->device);
    } else if (step != SQLITE_DONE) {
        ret = ntk_store_sql_error(rows->db, "database", err);
    }
    sqlite3_reset(binder.statement);
    sqlite3_clear_bindings(binder.statement);
    return ret;
}

static int get_core(struct ntk_store_rows *rows, struct process_state *process, uint32_t core,
                    struct core_state **out, struct ntk_err *err)
{
    struct core_state *state = ntk_map_get_number(&process->cores, core);

    if (!state) {
        state = calloc(1, sizeof *state);
        if (!state || ntk_map_put_number(&process->cores, core, state) < 0) {
            free(state);
            return out_of_memory(err);
        }
        int ret = load_histograms(rows, process, core, state, err);
        if (ret < 0) {
            return ret;
        }
        ntk_store_histogram_encode_dense(&state->total, &state->total_blob);
        ntk_store_histogram_encode_dense(&state->device, &state->device_blob);
    }
    *out = state;
    return 0;
}

static void add_period(struct ntk_histogram_dense *dense, struct ntk_buf *blob,
                       const struct ntk_histogram *period)
{
    if (period->count > 0) {
        ntk_histogram_dense_merge(dense, period);
        ntk_buf_reset(blob);
        ntk_store_histogram_encode_dense(dense, blob);
    }
}

static int write_core_total(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                            struct process_state *process, const struct ntk_core_sample *core,
                            struct ntk_err *err)
{
    struct core_state *state = NULL;
    int ret = get_core(rows, process, core->core, &state, err);

    if (ret < 0) {
        return ret;
    }
    add_period(&state->total, &state->total_blob, &core->total_latency);
    add_period(&state->device, &state->device_blob, &core->device_latency);

    struct binder binder = bind_start(rows, PUT_CORE_TOTAL);
    bind_u64(&binder, (uint64_t)process->id);
    bind_u64(&binder, core->core);
    bind_u64(&binder, snapshot->realtime_ns);
    bind_u64(&binder, core->busy_ns.total);
    for (size_t i = 0; i < NTK_ENGINE_COUNT; i++) {
        bind_u64(&binder, core->engine_busy_ns[i].total);
    }
    bind_u64(&binder, core->flops.total);
    bind_u64(&binder, core->effective_flops.total);
    bind_u64(&binder, core->hbm_bytes_read.total);
    bind_u64(&binder, core->hbm_bytes_written.total);
    bind_u64(&binder, core->dma_bytes.total);
    bind_u64(&binder, core->host_to_device_bytes.total);
    bind_u64(&binder, core->device_to_host_bytes.total);
    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        bind_u64(&binder, core->outcome[i].total);
    }
    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        bind_u64(&binder, core->error_class[i].total);
    }
    bind_blob(&binder, &state->total_blob);
    bind_blob(&binder, &state->device_blob);
    return bind_finish(rows, &binder, err);
}

static int write_core_sample(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                             const struct process_state *process,
                             const struct ntk_core_sample *core, struct ntk_err *err)
{
    struct binder binder = bind_start(rows, ADD_CORE);
    bool has_engines = core->has & NTK_CORE_HAS_ENGINES;
    bool has_bytes = core->has & NTK_CORE_HAS_BYTES;

    bind_u64(&binder, snapshot->realtime_ns);
    bind_u64(&binder, (uint64_t)process->id);
    bind_u64(&binder, core->core);
    bind_u64(&binder, snapshot->period_ns);
    bind_known(&binder, core->has & NTK_CORE_HAS_BUSY, core->busy_ns.period);
    for (size_t i = 0; i < NTK_ENGINE_COUNT; i++) {
        bind_known(&binder, has_engines, core->engine_busy_ns[i].period);
    }
    bind_known(&binder, core->has & NTK_CORE_HAS_FLOPS, core->flops.period);
    bind_known(&binder, core->has & NTK_CORE_HAS_EFFECTIVE_FLOPS, core->effective_flops.period);
    bind_known(&binder, has_bytes, core->hbm_bytes_read.period);
    bind_known(&binder, has_bytes, core->hbm_bytes_written.period);
    bind_known(&binder, has_bytes, core->dma_bytes.period);
    bind_known(&binder, core->has & NTK_CORE_HAS_BUSY, core->busy_ns.total);
    bind_u64(&binder, core->in_flight);
    bind_known(&binder, core->has & NTK_CORE_HAS_TRANSFERS, core->host_to_device_bytes.period);
    bind_known(&binder, core->has & NTK_CORE_HAS_TRANSFERS, core->device_to_host_bytes.period);
    return bind_finish(rows, &binder, err);
}

/* Binds p50 and p99, and the largest when asked. */
static void bind_percentiles(struct binder *binder, const struct ntk_histogram *histogram,
                             size_t count)
{
    static const double percents[] = { 50, 99, 100 };
    double values[3] = { 0 };
    bool known = ntk_histogram_percentiles(histogram, percents, 3, values);

    assert(count <= 3);
    for (size_t i = 0; i < count; i++) {
        bind_known(binder, known, (uint64_t)values[i]);
    }
}

static void bind_histogram(struct binder *binder, const struct ntk_histogram *histogram,
                           struct ntk_buf *scratch)
{
    if (histogram->count == 0) {
        sqlite3_bind_null(binder->statement, binder->next++);
        return;
    }
    ntk_buf_reset(scratch);
    ntk_store_histogram_encode(histogram, scratch);
    bind_blob(binder, scratch);
}

static int write_executions(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                            const struct process_state *process, const struct ntk_core_sample *core,
                            struct ntk_err *err)
{
    struct binder binder = bind_start(rows, ADD_EXECUTION);
    uint64_t any = 0;
    uint64_t total = 0;

    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        any |= core->outcome[i].period;
        total += core->outcome[i].total;
    }
    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        any |= core->error_class[i].period;
    }
    if (!any) {
        return 0;
    }
    bind_u64(&binder, snapshot->realtime_ns);
    bind_u64(&binder, (uint64_t)process->id);
    bind_u64(&binder, core->core);
    bind_u64(&binder, snapshot->period_ns);
    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        bind_u64(&binder, core->outcome[i].period);
    }
    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        bind_u64(&binder, core->error_class[i].period);
    }
    bind_u64(&binder, total);
    bind_percentiles(&binder, &core->total_latency, 3);
    bind_percentiles(&binder, &core->device_latency, 2);
    bind_histogram(&binder, &core->total_latency, &rows->scratch);
    bind_histogram(&binder, &core->device_latency, &rows->scratch_2);
    return bind_finish(rows, &binder, err);
}

static int write_models(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                        const struct process_state *process,
                        const struct ntk_runtime_sample *runtime, struct ntk_err *err)
{
    for (size_t i = 0; i < runtime->model_count; i++) {
        const struct ntk_model_sample *model = &runtime->models[i];
        struct binder binder = bind_start(rows, PUT_MODEL);
        bind_u64(&binder, (uint64_t)process->id);
        bind_u64(&binder, model->id);
        bind_text(&binder, model->name);
        bind_text(&binder, model->neff_path);
        bind_text(&binder, model->uuid);
        bind_core(&binder, model->core);
        bind_u64(&binder, model->core_count);
        bind_u64(&binder, snapshot->realtime_ns);
        bind_u64(&binder, model->executions.total);
        bind_u64(&binder, model->errors.total);
        bind_u64(&binder, model->estimated);
        bind_known(&binder, model->load_realtime_ns, model->load_realtime_ns);
        bind_known(&binder, model->load_realtime_ns, model->load_ns);
        bind_known(&binder, !model->loaded, snapshot->realtime_ns);
        int ret = bind_finish(rows, &binder, err);
        if (ret < 0) {
            return ret;
        }
        if (model->executions.period == 0 && model->errors.period == 0) {
            continue;
        }
        binder = bind_start(rows, ADD_MODEL_SAMPLE);
        bind_u64(&binder, snapshot->realtime_ns);
        bind_u64(&binder, (uint64_t)process->id);
        bind_u64(&binder, model->id);
        bind_u64(&binder, snapshot->period_ns);
        bind_u64(&binder, model->executions.period);
        bind_u64(&binder, model->errors.period);
        bind_percentiles(&binder, &model->total_latency, 2);
        bind_histogram(&binder, &model->total_latency, &rows->scratch);
        bind_histogram(&binder, &model->device_latency, &rows->scratch_2);
        ret = bind_finish(rows, &binder, err);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static int write_memory_row(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                            const struct process_state *process, uint64_t key,
                            const struct memory_state *state, struct ntk_err *err)
{
    static const enum statement_id both[] = { ADD_MEMORY, PUT_MEMORY_LAST };

    for (size_t i = 0; i < 2; i++) {
        struct binder binder = bind_start(rows, both[i]);
        bind_u64(&binder, snapshot->realtime_ns);
        bind_u64(&binder, (uint64_t)process->id);
        bind_core(&binder, (uint32_t)(key >> 48));
        bind_u64(&binder, key >> 32 & 0xffff);
        bind_u64(&binder, key & UINT32_MAX);
        bind_u64(&binder, state->current_bytes);
        bind_u64(&binder, state->peak_bytes);
        int ret = bind_finish(rows, &binder, err);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static int write_memory(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                        struct process_state *process, const struct ntk_runtime_sample *runtime,
                        struct ntk_err *err)
{
    for (size_t i = 0; i < runtime->memory_count; i++) {
        const struct ntk_memory_sample *row = &runtime->memory[i];
        uint64_t key = memory_key(row->core, row->category, row->model_id);
        struct memory_state *state = ntk_map_get_number(&process->memory, key);
        bool is_new = !state;
        if (is_new) {
            state = calloc(1, sizeof *state);
            if (!state || ntk_map_put_number(&process->memory, key, state) < 0) {
                free(state);
                return out_of_memory(err);
            }
        }
        state->generation = rows->generation;
        if (!is_new && state->current_bytes == row->current_bytes &&
            state->peak_bytes == row->peak_bytes) {
            continue;
        }
        state->current_bytes = row->current_bytes;
        state->peak_bytes = row->peak_bytes;
        int ret = write_memory_row(rows, snapshot, process, key, state, err);
        if (ret < 0) {
            return ret;
        }
    }
    /* A row that is gone became 0; its peak stays. */
    ntk_map_each(entry, &process->memory) {
        struct memory_state *state = entry->value;
        if (state->generation != rows->generation && state->current_bytes != 0) {
            state->current_bytes = 0;
            int ret = write_memory_row(rows, snapshot, process, entry->number, state, err);
            if (ret < 0) {
                return ret;
            }
        }
    }
    return 0;
}

static int write_process_sample(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                                const struct process_state *process,
                                const struct ntk_runtime_sample *runtime, struct ntk_err *err)
{
    struct binder binder = bind_start(rows, ADD_PROCESS_SAMPLE);
    bool has_cpu = runtime->has & NTK_RUNTIME_HAS_CPU;
    uint64_t host_bytes;
    uint64_t device_bytes;

    ntk_snapshot_memory_sum(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, NULL, &host_bytes,
                            &device_bytes);
    bind_u64(&binder, snapshot->realtime_ns);
    bind_u64(&binder, (uint64_t)process->id);
    bind_u64(&binder, snapshot->period_ns);
    bind_ratio(&binder, has_cpu, runtime->cpu_user);
    bind_ratio(&binder, has_cpu, runtime->cpu_system);
    bind_known(&binder, runtime->has & NTK_RUNTIME_HAS_RSS, runtime->rss_bytes);
    bind_u64(&binder, host_bytes);
    bind_u64(&binder, device_bytes);
    bind_u64(&binder, runtime->in_flight);
    bind_u64(&binder, runtime->events_lost.period);
    return bind_finish(rows, &binder, err);
}

static int write_runtime(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         const struct ntk_runtime_sample *runtime, struct ntk_err *err)
{
    struct process_state *process;
    int ret = get_process(rows, snapshot, runtime->header_pid, runtime->start_time, runtime,
                          &process, err);

    if (ret < 0) {
        return ret;
    }
    struct binder binder = bind_start(rows, SEE_PROCESS);
    bind_u64(&binder, (uint64_t)process->id);
    bind_u64(&binder, snapshot->realtime_ns);
    bind_known(&binder, runtime->ended, snapshot->realtime_ns);
    ret = bind_finish(rows, &binder, err);
    if (ret == 0) {
        ret = write_process_sample(rows, snapshot, process, runtime, err);
    }
    for (size_t i = 0; ret == 0 && i < runtime->core_count; i++) {
        const struct ntk_core_sample *core = &runtime->cores[i];
        ret = write_core_sample(rows, snapshot, process, core, err);
        if (ret == 0) {
            ret = write_executions(rows, snapshot, process, core, err);
        }
        if (ret == 0) {
            ret = write_core_total(rows, snapshot, process, core, err);
        }
    }
    if (ret == 0) {
        ret = write_models(rows, snapshot, process, runtime, err);
    }
    if (ret == 0) {
        ret = write_memory(rows, snapshot, process, runtime, err);
    }
    return ret;
}

static int write_machine(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         struct ntk_err *err)
{
    const struct ntk_system_sample *system = &snapshot->system;
    struct binder binder = bind_start(rows, ADD_MACHINE);
    bool has_cpu = system->has & NTK_SYSTEM_HAS_CPU;
    bool has_memory = system->has & NTK_SYSTEM_HAS_MEMORY;
    const double *average = system->average;

    bind_u64(&binder, snapshot->realtime_ns);
    bind_u64(&binder, snapshot->period_ns);
    bind_ratio(&binder, has_cpu, average[NTK_CPU_USER] + average[NTK_CPU_NICE]);
    bind_ratio(&binder, has_cpu,
               average[NTK_CPU_SYSTEM] + average[NTK_CPU_IRQ] + average[NTK_CPU_SOFT_IRQ]);
    bind_known(&binder, has_memory, system->memory_used_bytes);
    bind_known(&binder, has_memory, system->memory_total_bytes);
    bind_known(&binder, has_memory, system->swap_used_bytes);
    bind_u64(&binder, snapshot->events_read.period);
    bind_u64(&binder, snapshot->events_lost.period);
    bind_u64(&binder, snapshot->events_unlisted);
    bind_ratio(&binder, has_cpu, average[NTK_CPU_IO_WAIT]);
    bind_known(&binder, has_memory, system->swap_total_bytes);
    bind_known(&binder, system->has & NTK_SYSTEM_HAS_CONTEXT_SWITCHES, system->context_switches);
    return bind_finish(rows, &binder, err);
}

static int write_devices(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         struct ntk_err *err)
{
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];
        struct binder binder = bind_start(rows, ADD_DEVICE);
        uint64_t used_bytes = 0;
        for (size_t s = 0; s < device->stack_count && s < NTK_SNAPSHOT_STACKS_MAX; s++) {
            used_bytes += device->stack_used_bytes[s];
        }
        bind_u64(&binder, snapshot->realtime_ns);
        bind_u64(&binder, device->index);
        bind_known(&binder, device->has & NTK_DEVICE_HAS_MEMORY_USED, used_bytes);
        for (size_t e = 0; e < NTK_ECC_COUNT; e++) {
            bool known = (device->has & NTK_DEVICE_HAS_ECC) && (device->ecc_has >> e & 1);
            bind_known(&binder, known, device->ecc[e].period);
        }
        for (size_t s = 0; s < NTK_SNAPSHOT_STACKS_MAX; s++) {
            bind_known(&binder,
                       (device->has & NTK_DEVICE_HAS_MEMORY_USED) && s < device->stack_count,
                       device->stack_used_bytes[s]);
        }
        int ret = bind_finish(rows, &binder, err);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static int write_event(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                       const struct ntk_event_sample *event, struct ntk_err *err)
{
    struct process_state *process;
    struct binder binder;
    int ret =
        get_process(rows, snapshot, event->header_pid, event->start_time, NULL, &process, err);

    if (ret < 0) {
        return ret;
    }
    switch (event->kind) {
    case NTK_EVENT_MEM_ALLOC:
    case NTK_EVENT_MEM_FREE:
        binder = bind_start(rows, ADD_MEMORY_LOG);
        bind_u64(&binder, event->realtime_ns);
        bind_u64(&binder, (uint64_t)process->id);
        bind_text(&binder, event->kind == NTK_EVENT_MEM_ALLOC ? "alloc" : "free");
        bind_u64(&binder, event->category);
        bind_core(&binder, event->core);
        bind_u64(&binder, event->model_id);
        bind_u64(&binder, event->address);
        bind_u64(&binder, event->bytes);
        bind_text(&binder, event->name);
        return bind_finish(rows, &binder, err);
    case NTK_EVENT_ERROR:
        binder = bind_start(rows, ADD_ERROR_LOG);
        bind_u64(&binder, event->realtime_ns);
        bind_u64(&binder, (uint64_t)process->id);
        bind_text(&binder, event->error_class < NTK_ERROR_CLASS_COUNT
                               ? ntk_error_class_names[event->error_class]
                               : "none");
        bind_u64(&binder, event->nrt_status);
        bind_core(&binder, event->core);
        bind_u64(&binder, event->model_id);
        bind_u64(&binder, event->execution_id);
        return bind_finish(rows, &binder, err);
    case NTK_EVENT_MODEL_LOAD:
    case NTK_EVENT_MODEL_UNLOAD:
        binder = bind_start(rows, ADD_MODEL_LOG);
        bind_u64(&binder, event->realtime_ns);
        bind_u64(&binder, (uint64_t)process->id);
        bind_text(&binder, event->kind == NTK_EVENT_MODEL_LOAD ? "load" : "unload");
        bind_u64(&binder, event->model_id);
        bind_text(&binder, event->name);
        bind_core(&binder, event->core);
        bind_u64(&binder, event->nrt_status);
        bind_u64(&binder, event->duration_ns);
        bind_u64(&binder, event->bytes);
        return bind_finish(rows, &binder, err);
    default:
        return 0; /* marks and profiles: in the events of neuron-top, not stored */
    }
}

/* Processes that ended are not asked for again. */
static void forget_ended(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        char key[KEY_BYTES];
        if (!runtime->ended) {
            continue;
        }
        snprintf(key, sizeof key, "%s/%" PRIu32 "/%" PRIu64, snapshot->boot_id, runtime->header_pid,
                 runtime->start_time);
        struct process_state *process = ntk_map_remove(&rows->processes, key);
        if (process) {
            destroy_process(process);
        }
    }
}

int ntk_store_rows_write(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         uint64_t *out_row_count, struct ntk_err *err)
{
    rows->row_count = 0;
    rows->generation++;
    int ret = ntk_store_machine_write(&rows->machine, rows->db, snapshot, &rows->row_count, err);
    if (ret == 0) {
        ret = write_machine(rows, snapshot, err);
    }
    if (ret == 0) {
        ret = write_devices(rows, snapshot, err);
    }
    for (size_t i = 0; ret == 0 && i < snapshot->runtime_count; i++) {
        ret = write_runtime(rows, snapshot, &snapshot->runtimes[i], err);
    }
    for (size_t i = 0; ret == 0 && i < snapshot->event_count; i++) {
        ret = write_event(rows, snapshot, &snapshot->events[i], err);
    }
    if (ret < 0) {
        return ret;
    }
    forget_ended(rows, snapshot);
    *out_row_count += rows->row_count;
    return 0;
}
