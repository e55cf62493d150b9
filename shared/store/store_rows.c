/* SPDX-License-Identifier: MIT */
/* store_rows - writes one snapshot as rows of the open transaction. */
#include "shared/store/store_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "shared/metrics/snapshot_idle.h"
#include "shared/store/columns.h"
#include "shared/store/store_rows_state.h"
#include "shared/store/store_sql.h"

/* Tables with rows that are written completely; statement_sql defines how existing rows are
 * handled. */
static const char *const tables[STATEMENT_COUNT] = {
    [ADD_PROCESS] = "process",           [PUT_MODEL] = "model",
    [ADD_MACHINE] = "machine_sample",    [ADD_EXECUTION] = "execution_sample",
    [ADD_MODEL_SAMPLE] = "model_sample", [ADD_MEMORY] = "memory_sample",
    [PUT_MEMORY_LAST] = "memory_last",   [PUT_CORE_TOTAL] = "core_total",
    [ADD_UNWATCHED] = "unwatched",       [ADD_MEMORY_LOG] = "memory_log",
    [ADD_ERROR_LOG] = "error_log",       [ADD_MODEL_LOG] = "model_log",
    [ADD_MARK_LOG] = "mark_log",         [PUT_RANK] = "rank",
    [ADD_RANK_SAMPLE] = "rank_sample",   [ADD_IDLE] = "idle",
    [ADD_IDLE_CAUSE] = "idle_cause",
};

/* A process that initialises repeatedly has rows of totals for this many runs, so that they are
 * known for files that still exist; earlier runs share one row. Checked when a new run begins. */
#define LIVES_KEPT "512"
#define OF_CORE " WHERE process_id = :process_id AND core = :core"
#define OLDEST_LIFE                            \
    "(SELECT began_ns FROM core_total" OF_CORE \
    " AND began_ns <> 0 ORDER BY began_ns DESC LIMIT 1 OFFSET " LIVES_KEPT ")"

static const char *const statement_sql[STATEMENT_COUNT] = {
    [FIND_PROCESS] = "SELECT process_id FROM process WHERE boot_id = :boot_id"
                     " AND header_pid = :header_pid AND uid = :uid AND start_time = :start_time",
    [ADD_PROCESS] = "",
    [SEE_PROCESS] = "UPDATE process SET last_seen_ns = :last_seen_ns, ended_ns = :ended_ns,"
                    " killed = :killed, exit_code = :exit_code, exit_signal = :exit_signal,"
                    " hooks = :hooks, cores_guessed = :cores_guessed,"
                    " executions_counted = :executions_counted WHERE process_id = :process_id",
    [PUT_MODEL] = " ON CONFLICT DO UPDATE SET last_seen_ns = excluded.last_seen_ns,"
                  " executions_total = excluded.executions_total,"
                  " errors_total = excluded.errors_total, estimated = excluded.estimated,"
                  " memory_estimated = excluded.memory_estimated,"
                  " load_timestamp_ns = excluded.load_timestamp_ns,"
                  " load_ns = excluded.load_ns,"
                  " unloaded_ns = excluded.unloaded_ns",
    [FIND_TOTAL] = "SELECT * FROM core_total" OF_CORE " AND began_ns = :began_ns",
    [FIND_LAST_TOTAL] = "SELECT max(time_ns) AS time_ns FROM core_total" OF_CORE,
    [SUM_OLD_TOTALS] = "INSERT OR REPLACE INTO core_total"
                       " SELECT process_id, core, 0, max(time_ns){count|, add_up(%)},"
                       " x'010000', x'010000' FROM core_total" OF_CORE
                       " AND began_ns <= " OLDEST_LIFE " GROUP BY process_id, core",
    [DROP_OLD_TOTALS] =
        "DELETE FROM core_total" OF_CORE " AND began_ns <> 0 AND began_ns <= " OLDEST_LIFE,
    [FIND_MEMORY] = "SELECT core, category, model_id, current_bytes, peak_bytes FROM memory_last"
                    " WHERE process_id = :process_id",
    /* Two runs of a runtime in one process may end at the same time. */
    [ADD_IDLE] = " ON CONFLICT DO NOTHING",
    [ADD_IDLE_CAUSE] = " ON CONFLICT DO NOTHING",
    [PUT_RANK] = " ON CONFLICT DO UPDATE SET last_seen_ns = excluded.last_seen_ns,"
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
    for (size_t i = 0; i < NTK_FAMILY_COUNT; i++) {
        if (rows->packers[i]) {
            ntk_packer_forget(rows->packers[i]);
        }
    }
}

/* Looks the parameters up once, because there are many for each core. */
static void find_counts(sqlite3_stmt *statement, int at[NTK_CORE_COUNTS])
{
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        for (size_t k = 0; k < row->count; k++) {
            at[row->at + k] = ntk_store_sql_parameter(statement, ntk_store_count_name(row, k));
        }
    }
}

static int create_packers(struct ntk_store_rows *rows, struct ntk_err *err)
{
    int ret = 0;

    for (int i = 0; ret == 0 && i < NTK_FAMILY_COUNT; i++) {
        if (ntk_packed_is((enum ntk_tier_family)i)) {
            ret = ntk_packer_create(rows->db, (enum ntk_tier_family)i, &rows->packers[i], err);
        }
    }
    for (size_t i = 0; ret == 0 && i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        for (size_t k = 0; k < row->count; k++) {
            rows->packed_counts_at[row->at + k] =
                ntk_packer_column(rows->packers[NTK_FAMILY_CORE], ntk_store_count_name(row, k));
        }
    }
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
        int ret = tables[i] ? ntk_store_sql_prepare_row(db, tables[i], statement_sql[i],
                                                        &rows->statements[i], err)
                            : ntk_columns_prepare(db, statement_sql[i], &rows->statements[i], err);
        if (ret < 0) {
            ntk_store_rows_destroy(rows);
            return ret;
        }
        find_counts(rows->statements[i], rows->counts_at[i]);
    }
    int ret = create_packers(rows, err);
    if (ret < 0) {
        ntk_store_rows_destroy(rows);
        return ret;
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
    for (size_t i = 0; i < NTK_FAMILY_COUNT; i++) {
        ntk_packer_destroy(rows->packers[i]);
    }
    ntk_store_machine_fini(&rows->machine);
    ntk_buf_fini(&rows->scratch);
    ntk_buf_fini(&rows->scratch_2);
    free(rows);
}

static void pack_process_sample(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                                const struct ntk_rows_process *process,
                                const struct ntk_runtime_sample *runtime)
{
    struct ntk_packer *row = rows->packers[NTK_FAMILY_PROCESS];
    bool has_cpu = runtime->has & NTK_RUNTIME_HAS_CPU;
    /* The process may have had memory although none is left. */
    bool unseen = runtime->first && runtime->ended;
    struct ntk_memory_total host;
    struct ntk_memory_total device;

    ntk_snapshot_memory_total(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
    ntk_packer_add(row);
    ntk_rows_put(rows, row, "process_id", true, (uint64_t)process->id);
    ntk_rows_put(rows, row, "period_ns", true, snapshot->period_ns);
#define NTK_PROCESS_SHARE(name, key)                                                        \
    ntk_rows_put(rows, row, #name "_ratio", has_cpu &&ntk_packed_parts(runtime->name) >= 0, \
                 (uint64_t)ntk_packed_parts(runtime->name));
#define NTK_PROCESS_BYTES(name, group, ...) \
    ntk_rows_put(rows, row, #name, runtime->has &NTK_RUNTIME_HAS_##group, runtime->name);
#include "shared/metrics/process.def"
    ntk_rows_put(rows, row, "host_memory_bytes", host.known && !unseen, host.bytes);
    ntk_rows_put(rows, row, "device_memory_bytes", device.known && !unseen, device.bytes);
    ntk_rows_put(rows, row, "in_flight", runtime->has & NTK_RUNTIME_HAS_IN_FLIGHT,
                 runtime->in_flight);
    ntk_rows_put(rows, row, "events_lost", true, runtime->events_lost.period);
}

static int write_models(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                        const struct ntk_rows_process *process,
                        const struct ntk_runtime_sample *runtime, struct ntk_err *err)
{
    for (size_t i = 0; i < runtime->model_count; i++) {
        const struct ntk_model_sample *model = &runtime->models[i];
        sqlite3_stmt *row = rows->statements[PUT_MODEL];
        ntk_rows_bind(rows, row, "process_id", (uint64_t)process->id);
        ntk_rows_bind(rows, row, "model_id", model->id);
        ntk_store_sql_bind_text(row, "name", model->name);
        ntk_store_sql_bind_text(row, "neff_path", model->neff_path);
        ntk_store_sql_bind_text(row, "uuid", model->uuid);
        ntk_rows_bind_core(row, "core", model->core);
        ntk_rows_bind(rows, row, "core_count", model->core_count);
        ntk_rows_bind(rows, row, "first_seen_ns", snapshot->realtime_ns);
        ntk_rows_bind(rows, row, "last_seen_ns", snapshot->realtime_ns);
        bool is_counted = model->has & NTK_MODEL_HAS_EXECUTIONS;
        ntk_rows_bind_known(rows, row, "executions_total", is_counted, model->executions.total);
        ntk_rows_bind_known(rows, row, "errors_total", is_counted, model->errors.total);
        ntk_rows_bind(rows, row, "estimated", model->estimated);
        ntk_rows_bind(rows, row, "memory_estimated", model->memory_estimated);
        ntk_rows_bind_known(rows, row, "load_timestamp_ns", model->load_timestamp_ns,
                            model->load_timestamp_ns);
        ntk_rows_bind_known(rows, row, "load_ns", model->load_timestamp_ns, model->load_ns);
        ntk_rows_bind_known(rows, row, "unloaded_ns", !model->loaded, snapshot->realtime_ns);
        int ret = ntk_rows_finish(rows, row, err);
        if (ret < 0) {
            return ret;
        }
        if (!is_counted || (model->executions.period == 0 && model->errors.period == 0)) {
            continue;
        }
        row = rows->statements[ADD_MODEL_SAMPLE];
        ntk_rows_bind(rows, row, "time_ns", snapshot->realtime_ns);
        ntk_rows_bind(rows, row, "process_id", (uint64_t)process->id);
        ntk_rows_bind(rows, row, "model_id", model->id);
        ntk_rows_bind(rows, row, "period_ns", snapshot->period_ns);
        ntk_rows_bind(rows, row, "executions", model->executions.period);
        ntk_rows_bind(rows, row, "errors", model->errors.period);
        ntk_rows_bind_percentiles(rows, row, &model->total_latency, "total_latency_p50_ns",
                                  "total_latency_p99_ns", NULL);
        ntk_rows_bind_histogram(rows, row, "total_latency_histogram", &model->total_latency,
                                &rows->scratch);
        ntk_rows_bind_histogram(rows, row, "device_latency_histogram", &model->device_latency,
                                &rows->scratch_2);
        ret = ntk_rows_finish(rows, row, err);
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
    sqlite3_stmt *row = rows->statements[SEE_PROCESS];
    ntk_rows_bind(rows, row, "process_id", (uint64_t)process->id);
    ntk_rows_bind(rows, row, "last_seen_ns", snapshot->realtime_ns);
    ntk_rows_bind_known(rows, row, "ended_ns", runtime->ended, snapshot->realtime_ns);
    ntk_rows_bind_known(rows, row, "killed", runtime->ended, runtime->killed);
    ntk_rows_bind_known(rows, row, "exit_code", runtime->exit.kind == NTK_EXIT_CODE,
                        runtime->exit.value);
    ntk_rows_bind_known(rows, row, "exit_signal", runtime->exit.kind == NTK_EXIT_SIGNAL,
                        runtime->exit.value);
    ntk_rows_bind_hooks(row, runtime);
    ret = ntk_rows_finish(rows, row, err);
    if (ret == 0) {
        pack_process_sample(rows, snapshot, process, runtime);
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
    sqlite3_stmt *row = rows->statements[ADD_MACHINE];
    bool has_cpu = system->has & NTK_SYSTEM_HAS_CPU;
    const double *average = system->average;

    ntk_rows_bind(rows, row, "time_ns", snapshot->realtime_ns);
    ntk_rows_bind(rows, row, "period_ns", snapshot->period_ns);
    ntk_store_sql_bind_double(row, "vcpu_user_ratio", has_cpu,
                              average[NTK_CPU_USER] + average[NTK_CPU_NICE]);
    ntk_store_sql_bind_double(row, "vcpu_system_ratio", has_cpu,
                              average[NTK_CPU_SYSTEM] + average[NTK_CPU_IRQ] +
                                  average[NTK_CPU_SOFT_IRQ]);
    ntk_store_sql_bind_double(row, "vcpu_io_wait_ratio", has_cpu, average[NTK_CPU_IO_WAIT]);
    for (size_t i = 0; i < NTK_SYSTEM_FIGURES; i++) {
        ntk_rows_bind_known(rows, row, ntk_system_rows[i].name,
                            system->has & ntk_system_rows[i].has, system->figures[i]);
    }
    ntk_rows_bind(rows, row, "events_read", snapshot->events_read.period);
    ntk_rows_bind(rows, row, "events_lost", snapshot->events_lost.period);
    ntk_rows_bind(rows, row, "events_unlisted", snapshot->events_unlisted);
    return ntk_rows_finish(rows, row, err);
}

static void pack_devices(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot)
{
    static const char *const stacks[NTK_SNAPSHOT_STACKS_MAX] = { "stack_0_memory_used_bytes",
                                                                 "stack_1_memory_used_bytes",
                                                                 "stack_2_memory_used_bytes",
                                                                 "stack_3_memory_used_bytes" };

    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];
        struct ntk_packer *row = rows->packers[NTK_FAMILY_DEVICE];
        bool has_memory = device->has & NTK_DEVICE_HAS_MEMORY_USED;
        ntk_packer_add(row);
        ntk_rows_put(rows, row, "device", true, device->index);
        ntk_rows_put(rows, row, "memory_used_bytes", has_memory,
                     ntk_device_sum(device, device->memory_used_bytes));
        for (size_t s = 0; s < NTK_SNAPSHOT_STACKS_MAX; s++) {
            ntk_rows_put(rows, row, stacks[s], has_memory && s < device->stack_count,
                         device->memory_used_bytes[s]);
        }
        for (size_t e = 0; e < NTK_ECC_COUNT; e++) {
            bool known = (device->has & NTK_DEVICE_HAS_ECC) && (device->ecc_has >> e & 1);
            ntk_rows_put(rows, row, ntk_ecc_names[e], known,
                         device->ecc[e].period + device->ecc_unwatched[e]);
        }
        bool has_power = device->has & NTK_DEVICE_HAS_POWER;
        double power = device->power_average > 0 ? device->power_average : 0;
        ntk_rows_put(rows, row, "power_period_ns", has_power, snapshot->period_ns);
        ntk_rows_put(rows, row, "power_ns", has_power,
                     (uint64_t)((power < 1 ? power : 1) * (double)snapshot->period_ns + 0.5));
    }
}

/* Forgets rows of a snapshot that could not be written. */
static void reset_packers(struct ntk_store_rows *rows)
{
    for (size_t i = 0; i < NTK_FAMILY_COUNT; i++) {
        if (rows->packers[i]) {
            ntk_packer_reset(rows->packers[i]);
        }
    }
}

static int write_packed(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                        struct ntk_err *err)
{
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < NTK_FAMILY_COUNT; i++) {
        if (rows->packers[i]) {
            ret = ntk_packer_write(rows->packers[i], snapshot->realtime_ns, &rows->row_count, err);
        }
    }
    return ret;
}

int ntk_store_rows_write(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         uint64_t *out_row_count, struct ntk_err *err)
{
    rows->row_count = 0;
    rows->generation++;
    reset_packers(rows);
    pack_devices(rows, snapshot);
    int ret = ntk_store_machine_write(&rows->machine, rows->db, snapshot, &rows->row_count, err);
    if (ret == 0) {
        ret = write_machine(rows, snapshot, err);
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
    ret = ret < 0 ? ret : write_packed(rows, snapshot, err);
    for (size_t i = 0; ret == 0 && i < snapshot->event_count; i++) {
        ret = ntk_rows_write_event(rows, snapshot, &snapshot->events[i], err);
    }
    for (size_t i = 0; ret == 0 && i < snapshot->idle_count; i++) {
        ret = ntk_rows_write_idle(rows, snapshot, &snapshot->idle[i], err);
    }
    if (ret < 0) {
        return ret;
    }
    ntk_rows_forget_ended(rows, snapshot);
    *out_row_count += rows->row_count;
    return 0;
}
