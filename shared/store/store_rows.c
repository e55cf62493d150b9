/* SPDX-License-Identifier: MIT */
/* store_rows - one snapshot as rows of the open transaction. */
#include "shared/store/store_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/store/columns.h"
#include "shared/store/store_rows_state.h"
#include "shared/store/store_sql.h"

/* What is given a whole row at once, in the order of the columns. */
static const char *const tables[STATEMENT_COUNT] = {
    [ADD_MACHINE] = "machine_sample",        [ADD_DEVICE] = "device_sample",
    [ADD_PROCESS_SAMPLE] = "process_sample", [ADD_CORE] = "core_sample",
    [ADD_EXECUTION] = "execution_sample",    [ADD_MODEL_SAMPLE] = "model_sample",
    [ADD_MEMORY] = "memory_sample",          [PUT_CORE_TOTAL] = "core_total",
    [ADD_UNWATCHED] = "unwatched",           [ADD_RANK_SAMPLE] = "rank_sample",
};

/* A process that begins repeatedly has a row of totals for this many of its lives, so that they are
 * known of each of its files that may still lie there; those before are one row. Of all when a new
 * one begins. */
#define LIVES_KEPT "512"
#define OLDEST_LIFE                                                        \
    "(SELECT began_ns FROM core_total WHERE process_id = ?1 AND core = ?2" \
    " AND began_ns <> 0 ORDER BY began_ns DESC LIMIT 1 OFFSET " LIVES_KEPT ")"

static const char *const statement_sql[STATEMENT_COUNT] = {
    [FIND_PROCESS] = "SELECT process_id FROM process"
                     " WHERE boot_id = ?1 AND header_pid = ?2 AND uid = ?3 AND start_time = ?4",
    [ADD_PROCESS] = "INSERT INTO process VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
                    " ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?18, NULL)",
    [SEE_PROCESS] = "UPDATE process SET last_seen_ns = ?2, ended_ns = ?3, hooks = ?4,"
                    " cores_guessed = ?5, counts_executions = ?6 WHERE process_id = ?1",
    [PUT_MODEL] = "INSERT INTO model VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12,"
                  " ?13, ?14, ?15)"
                  " ON CONFLICT DO UPDATE SET last_seen_ns = excluded.last_seen_ns,"
                  " executions_total = excluded.executions_total,"
                  " errors_total = excluded.errors_total, estimated = excluded.estimated,"
                  " memory_estimated = excluded.memory_estimated,"
                  " load_time_ns = excluded.load_time_ns,"
                  " load_duration_ns = excluded.load_duration_ns,"
                  " unloaded_ns = excluded.unloaded_ns",
    [PUT_MEMORY_LAST] = "INSERT OR REPLACE INTO memory_last VALUES (?2, ?3, ?4, ?5, ?1, ?6, ?7)",
    [FIND_TOTAL] = "SELECT * FROM core_total"
                   " WHERE process_id = ?1 AND core = ?2 AND began_ns = ?3",
    [FIND_LAST_TOTAL] = "SELECT max(time_ns) AS time_ns FROM core_total"
                        " WHERE process_id = ?1 AND core = ?2",
    [SUM_OLD_TOTALS] = "INSERT OR REPLACE INTO core_total"
                       " SELECT process_id, core, 0, max(time_ns){count|, add_up(%)},"
                       " x'010000', x'010000' FROM core_total"
                       " WHERE process_id = ?1 AND core = ?2 AND began_ns <= " OLDEST_LIFE
                       " GROUP BY process_id, core",
    [DROP_OLD_TOTALS] = "DELETE FROM core_total WHERE process_id = ?1 AND core = ?2"
                        " AND began_ns <> 0 AND began_ns <= " OLDEST_LIFE,
    [FIND_MEMORY] = "SELECT core, category, model_id, current_bytes, peak_bytes FROM memory_last"
                    " WHERE process_id = ?1",
    [ADD_MEMORY_LOG] = "INSERT INTO memory_log VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [ADD_ERROR_LOG] = "INSERT INTO error_log VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [ADD_MODEL_LOG] = "INSERT INTO model_log VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [ADD_MARK_LOG] = "INSERT INTO mark_log VALUES (NULL, ?1, ?2, ?3, ?4, ?5)",
    [PUT_RANK] = "INSERT INTO rank VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12)"
                 " ON CONFLICT DO UPDATE SET last_seen_ns = excluded.last_seen_ns,"
                 " last_sequence = excluded.last_sequence",
};

void ntk_store_rows_forget(struct ntk_store_rows *rows)
{
    ntk_map_each(entry, &rows->processes) {
        ntk_rows_destroy_process(entry->value);
    }
    ntk_map_fini(&rows->processes);
    ntk_buf_reset(&rows->machine.written);
    ntk_store_health_reset(&rows->health);
    ntk_store_ecc_reset(&rows->ecc);
    ntk_store_verdicts_reset(&rows->verdicts);
    ntk_store_jobs_reset(&rows->jobs);
}

static int prepare_row(sqlite3 *db, const char *table, sqlite3_stmt **out_statement,
                       struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *columns = NULL;

    ntk_buf_add_format(&sql, "SELECT * FROM %s", table);
    int ret = ntk_store_sql_prepare_buf(db, &sql, &columns, err);
    if (ret == 0) {
        ntk_buf_add_format(&sql, "INSERT OR REPLACE INTO %s VALUES (?", table);
        for (int i = 1; i < sqlite3_column_count(columns); i++) {
            ntk_buf_add_text(&sql, ", ?");
        }
        ntk_buf_add_char(&sql, ')');
        ret = ntk_store_sql_prepare_buf(db, &sql, out_statement, err);
    }
    sqlite3_finalize(columns);
    return ret;
}

int ntk_store_rows_create(sqlite3 *db, struct ntk_store_rows **out_rows, struct ntk_err *err)
{
    struct ntk_store_rows *rows = calloc(1, sizeof *rows);

    if (!rows) {
        return ntk_err_no_memory(err);
    }
    rows->db = db;
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        int ret = tables[i] ? prepare_row(db, tables[i], &rows->statements[i], err)
                            : ntk_columns_prepare(db, statement_sql[i], &rows->statements[i], err);
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

static int write_process_sample(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                                const struct ntk_rows_process *process,
                                const struct ntk_runtime_sample *runtime, struct ntk_err *err)
{
    struct ntk_rows_binder binder = ntk_rows_bind_start(rows, ADD_PROCESS_SAMPLE);
    bool has_cpu = runtime->has & NTK_RUNTIME_HAS_CPU;
    /* It may have had memory although nothing is left of it. */
    bool unseen = runtime->first && runtime->ended;
    struct ntk_memory_total host;
    struct ntk_memory_total device;

    ntk_snapshot_memory_total(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
    ntk_rows_bind_u64(&binder, snapshot->realtime_ns);
    ntk_rows_bind_u64(&binder, (uint64_t)process->id);
    ntk_rows_bind_u64(&binder, snapshot->period_ns);
    ntk_rows_bind_ratio(&binder, has_cpu, runtime->cpu_user);
    ntk_rows_bind_ratio(&binder, has_cpu, runtime->cpu_system);
    ntk_rows_bind_known(&binder, runtime->has & NTK_RUNTIME_HAS_RSS, runtime->rss_bytes);
    ntk_rows_bind_known(&binder, host.known && !unseen, host.bytes);
    ntk_rows_bind_known(&binder, device.known && !unseen, device.bytes);
    ntk_rows_bind_known(&binder, runtime->has & NTK_RUNTIME_HAS_IN_FLIGHT, runtime->in_flight);
    ntk_rows_bind_u64(&binder, runtime->events_lost.period);
    return ntk_rows_bind_finish(rows, &binder, err);
}

static int write_models(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                        const struct ntk_rows_process *process,
                        const struct ntk_runtime_sample *runtime, struct ntk_err *err)
{
    for (size_t i = 0; i < runtime->model_count; i++) {
        const struct ntk_model_sample *model = &runtime->models[i];
        struct ntk_rows_binder binder = ntk_rows_bind_start(rows, PUT_MODEL);
        ntk_rows_bind_u64(&binder, (uint64_t)process->id);
        ntk_rows_bind_u64(&binder, model->id);
        ntk_rows_bind_text(&binder, model->name);
        ntk_rows_bind_text(&binder, model->neff_path);
        ntk_rows_bind_text(&binder, model->uuid);
        ntk_rows_bind_core(&binder, model->core);
        ntk_rows_bind_u64(&binder, model->core_count);
        ntk_rows_bind_u64(&binder, snapshot->realtime_ns);
        bool is_counted = model->has & NTK_MODEL_HAS_EXECUTIONS;
        ntk_rows_bind_known(&binder, is_counted, model->executions.total);
        ntk_rows_bind_known(&binder, is_counted, model->errors.total);
        ntk_rows_bind_u64(&binder, model->estimated);
        ntk_rows_bind_u64(&binder, model->memory_estimated);
        ntk_rows_bind_known(&binder, model->load_realtime_ns, model->load_realtime_ns);
        ntk_rows_bind_known(&binder, model->load_realtime_ns, model->load_ns);
        ntk_rows_bind_known(&binder, !model->loaded, snapshot->realtime_ns);
        int ret = ntk_rows_bind_finish(rows, &binder, err);
        if (ret < 0) {
            return ret;
        }
        if (!is_counted || (model->executions.period == 0 && model->errors.period == 0)) {
            continue;
        }
        binder = ntk_rows_bind_start(rows, ADD_MODEL_SAMPLE);
        ntk_rows_bind_u64(&binder, snapshot->realtime_ns);
        ntk_rows_bind_u64(&binder, (uint64_t)process->id);
        ntk_rows_bind_u64(&binder, model->id);
        ntk_rows_bind_u64(&binder, snapshot->period_ns);
        ntk_rows_bind_u64(&binder, model->executions.period);
        ntk_rows_bind_u64(&binder, model->errors.period);
        ntk_rows_bind_percentiles(&binder, &model->total_latency, 2);
        ntk_rows_bind_histogram(&binder, &model->total_latency, &rows->scratch);
        ntk_rows_bind_histogram(&binder, &model->device_latency, &rows->scratch_2);
        ret = ntk_rows_bind_finish(rows, &binder, err);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static int write_runtime(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         const struct ntk_runtime_sample *runtime, struct ntk_err *err)
{
    struct ntk_rows_process *process;
    int ret =
        ntk_rows_get_process(rows, snapshot, ntk_runtime_key(runtime), runtime, &process, err);

    if (ret < 0) {
        return ret;
    }
    struct ntk_rows_binder binder = ntk_rows_bind_start(rows, SEE_PROCESS);
    ntk_rows_bind_u64(&binder, (uint64_t)process->id);
    ntk_rows_bind_u64(&binder, snapshot->realtime_ns);
    ntk_rows_bind_known(&binder, runtime->ended, snapshot->realtime_ns);
    ntk_rows_bind_hooks(&binder, runtime);
    ret = ntk_rows_bind_finish(rows, &binder, err);
    if (ret == 0) {
        ret = write_process_sample(rows, snapshot, process, runtime, err);
    }
    for (size_t i = 0; ret == 0 && i < runtime->core_count; i++) {
        ret = ntk_rows_write_core(rows, snapshot, process, &runtime->cores[i], err);
    }
    if (ret == 0) {
        ret = write_models(rows, snapshot, process, runtime, err);
    }
    if (ret == 0) {
        ret = ntk_rows_write_memory(rows, snapshot, process, runtime, err);
    }
    if (ret == 0) {
        ret = ntk_rows_write_ranks(rows, snapshot, process, runtime, err);
    }
    return ret;
}

static int write_machine(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         struct ntk_err *err)
{
    const struct ntk_system_sample *system = &snapshot->system;
    struct ntk_rows_binder binder = ntk_rows_bind_start(rows, ADD_MACHINE);
    bool has_cpu = system->has & NTK_SYSTEM_HAS_CPU;
    const double *average = system->average;

    ntk_rows_bind_u64(&binder, snapshot->realtime_ns);
    ntk_rows_bind_u64(&binder, snapshot->period_ns);
    ntk_rows_bind_ratio(&binder, has_cpu, average[NTK_CPU_USER] + average[NTK_CPU_NICE]);
    ntk_rows_bind_ratio(&binder, has_cpu,
                        average[NTK_CPU_SYSTEM] + average[NTK_CPU_IRQ] + average[NTK_CPU_SOFT_IRQ]);
    ntk_rows_bind_ratio(&binder, has_cpu, average[NTK_CPU_IO_WAIT]);
    for (size_t i = 0; i < NTK_SYSTEM_FIGURES; i++) {
        ntk_rows_bind_known(&binder, system->has & ntk_system_rows[i].has, system->figures[i]);
    }
    ntk_rows_bind_u64(&binder, snapshot->events_read.period);
    ntk_rows_bind_u64(&binder, snapshot->events_lost.period);
    ntk_rows_bind_u64(&binder, snapshot->events_unlisted);
    return ntk_rows_bind_finish(rows, &binder, err);
}

static int write_devices(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         struct ntk_err *err)
{
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];
        struct ntk_rows_binder binder = ntk_rows_bind_start(rows, ADD_DEVICE);
        ntk_rows_bind_u64(&binder, snapshot->realtime_ns);
        ntk_rows_bind_u64(&binder, device->index);
        ntk_rows_bind_known(&binder, device->has & NTK_DEVICE_HAS_MEMORY_USED,
                            ntk_device_sum(device, device->memory_used_bytes));
        for (size_t s = 0; s < NTK_SNAPSHOT_STACKS_MAX; s++) {
            ntk_rows_bind_known(
                &binder, (device->has & NTK_DEVICE_HAS_MEMORY_USED) && s < device->stack_count,
                device->memory_used_bytes[s]);
        }
        for (size_t e = 0; e < NTK_ECC_COUNT; e++) {
            bool known = (device->has & NTK_DEVICE_HAS_ECC) && (device->ecc_has >> e & 1);
            ntk_rows_bind_known(&binder, known, device->ecc[e].period + device->ecc_unwatched[e]);
        }
        bool has_power = device->has & NTK_DEVICE_HAS_POWER;
        double power = device->power_average > 0 ? device->power_average : 0;
        ntk_rows_bind_known(&binder, has_power, snapshot->period_ns);
        ntk_rows_bind_known(
            &binder, has_power,
            (uint64_t)((power < 1 ? power : 1) * (double)snapshot->period_ns + 0.5));
        int ret = ntk_rows_bind_finish(rows, &binder, err);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
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
    if (ret == 0) {
        ret = ntk_store_health_write(&rows->health, rows->db, snapshot, &rows->row_count, err);
    }
    if (ret == 0) {
        ret = ntk_store_ecc_write(&rows->ecc, rows->db, snapshot, &rows->row_count, err);
    }
    if (ret == 0) {
        ret = ntk_store_verdicts_write(&rows->verdicts, rows->db, snapshot, &rows->row_count, err);
    }
    if (ret == 0) {
        ret = ntk_store_jobs_write(&rows->jobs, rows->db, snapshot, &rows->row_count, err);
    }
    for (size_t i = 0; ret == 0 && i < snapshot->runtime_count; i++) {
        ret = write_runtime(rows, snapshot, &snapshot->runtimes[i], err);
    }
    for (size_t i = 0; ret == 0 && i < snapshot->event_count; i++) {
        ret = ntk_rows_write_event(rows, snapshot, &snapshot->events[i], err);
    }
    if (ret < 0) {
        return ret;
    }
    ntk_rows_forget_ended(rows, snapshot);
    *out_row_count += rows->row_count;
    return 0;
}
