/* SPDX-License-Identifier: MIT */
/* store_rows_core - writes the work of a process's cores: samples, executions, totals. */
#include "shared/store/store_rows_state.h"
#include "shared/store/store_sql.h"

#include <stdlib.h>

#include "shared/store/columns.h"
#include "shared/store/store_histogram.h"

static void add_period(struct ntk_buf *blob, const struct ntk_histogram *period)
{
    if (period->count > 0) {
        ntk_store_histogram_add(blob, period);
    }
}

/* Binds only known values: those of a period or, if there is a state, totals. A total stays the
 * same while its count in the period is unknown. */
static void bind_counts(const struct ntk_store_rows *rows, enum ntk_rows_statement id,
                        const struct ntk_core_sample *core, struct ntk_rows_core *state)
{
    uint32_t has = core->has | (state ? state->has : 0);

    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        for (size_t k = row->at; k < row->at + row->count && has & row->has; k++) {
            uint64_t value = core->counts[k].period;
            if (state) {
                value = core->has & row->has ? core->counts[k].total : state->totals[k];
                state->totals[k] = value;
            }
            if (rows->counts_at[id][k] > 0) {
                sqlite3_bind_int64(rows->statements[id], rows->counts_at[id][k],
                                   (sqlite3_int64)value);
            }
        }
    }
    if (state) {
        state->has = has;
    }
}

static int write_core_total(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                            struct ntk_rows_process *process, const struct ntk_core_sample *core,
                            struct ntk_err *err)
{
    struct ntk_rows_core *state = NULL;
    int ret = ntk_rows_get_core(rows, process, core->core, core->began_ns, &state, err);

    if (ret < 0) {
        return ret;
    }
    add_period(&state->total_latency, &core->total_latency);
    add_period(&state->device_latency, &core->device_latency);
    if (!ntk_buf_ok(&state->total_latency) || !ntk_buf_ok(&state->device_latency)) {
        return ntk_err_no_memory(err);
    }

    sqlite3_stmt *row = rows->statements[PUT_CORE_TOTAL];
    ntk_rows_bind(rows, row, "process_id", (uint64_t)process->id);
    ntk_rows_bind(rows, row, "core", core->core);
    ntk_rows_bind(rows, row, "began_ns", core->began_ns);
    ntk_rows_bind(rows, row, "time_ns", snapshot->realtime_ns);
    bind_counts(rows, PUT_CORE_TOTAL, core, state);
    ntk_rows_bind_blob(rows, row, "total_latency_histogram", &state->total_latency);
    ntk_rows_bind_blob(rows, row, "device_latency_histogram", &state->device_latency);
    return ntk_rows_finish(rows, row, err);
}

static void pack_core_sample(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                             const struct ntk_rows_process *process,
                             const struct ntk_core_sample *core)
{
    struct ntk_packer *row = rows->packers[NTK_FAMILY_CORE];

    ntk_packer_add(row);
    ntk_rows_put(rows, row, "process_id", true, (uint64_t)process->id);
    ntk_rows_put(rows, row, "core", true, core->core);
    ntk_rows_put(rows, row, "period_ns", true, snapshot->period_ns);
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *counts = &ntk_core_count_rows[i];

        for (size_t k = counts->at; k < counts->at + counts->count && core->has & counts->has;
             k++) {
            if (rows->packed_counts_at[k] >= 0) {
                ntk_packer_set(row, rows->packed_counts_at[k],
                               ntk_store_sql_integer(core->counts[k].period));
            }
        }
    }
    ntk_rows_put(rows, row, "busy_of_calls_ns", core->has & NTK_CORE_HAS_BUSY,
                 core->busy_of_calls ? core->busy_ns.period : 0);
    ntk_rows_put(rows, row, "in_flight", core->has & NTK_CORE_HAS_EXECUTIONS, core->in_flight);
    ntk_rows_put(rows, row, "busy_total_ns", core->has & NTK_CORE_HAS_BUSY, core->busy_ns.total);
}

static int write_executions(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                            const struct ntk_rows_process *process,
                            const struct ntk_core_sample *core, struct ntk_err *err)
{
    sqlite3_stmt *row = rows->statements[ADD_EXECUTION];
    uint64_t any = 0;

    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        any |= core->outcome[i].period;
    }
    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        any |= core->error_class[i].period;
    }
    if (!any || !(core->has & NTK_CORE_HAS_EXECUTIONS)) {
        return 0;
    }
    ntk_rows_bind(rows, row, "time_ns", snapshot->realtime_ns);
    ntk_rows_bind(rows, row, "process_id", (uint64_t)process->id);
    ntk_rows_bind(rows, row, "core", core->core);
    ntk_rows_bind(rows, row, "period_ns", snapshot->period_ns);
    bind_counts(rows, ADD_EXECUTION, core, NULL);
    ntk_rows_bind_percentiles(rows, row, &core->total_latency, "total_latency_p50_ns",
                              "total_latency_p99_ns", "total_latency_max_ns");
    ntk_rows_bind_percentiles(rows, row, &core->device_latency, "device_latency_p50_ns",
                              "device_latency_p99_ns", NULL);
    ntk_rows_bind_histogram(rows, row, "total_latency_histogram", &core->total_latency,
                            &rows->scratch);
    ntk_rows_bind_histogram(rows, row, "device_latency_histogram", &core->device_latency,
                            &rows->scratch_2);
    return ntk_rows_finish(rows, row, err);
}

/* ---- the unobserved part ---- */

/* The two histograms after subtraction. */
struct difference {
    struct ntk_histogram_dense whole;
    struct ntk_histogram_dense part;
    struct ntk_histogram_entry entries[2][NTK_HISTOGRAM_BUCKETS];
};

static struct ntk_histogram subtract_histogram(struct difference *difference,
                                               const struct ntk_histogram *whole,
                                               const struct ntk_histogram *part,
                                               struct ntk_histogram_entry *entries)
{
    ntk_histogram_dense_reset(&difference->whole);
    ntk_histogram_dense_reset(&difference->part);
    ntk_histogram_dense_merge(&difference->whole, whole);
    ntk_histogram_dense_merge(&difference->part, part);
    ntk_histogram_dense_difference(&difference->whole, &difference->part, &difference->part);
    return (struct ntk_histogram){
        .count = difference->part.count,
        .sum_ns = difference->part.sum_ns,
        .entries = entries,
        .entry_count =
            ntk_histogram_dense_entries(&difference->part, entries, NTK_HISTOGRAM_BUCKETS),
    };
}

/* The sample without its unobserved part; its histograms are in difference. */
static struct ntk_core_sample take_watched(const struct ntk_core_sample *core,
                                           struct difference *difference)
{
    const struct ntk_core_sample *part = core->unwatched;
    struct ntk_core_sample watched = ntk_snapshot_watched_core(core);

    watched.total_latency = subtract_histogram(difference, &core->total_latency,
                                               &part->total_latency, difference->entries[0]);
    watched.device_latency = subtract_histogram(difference, &core->device_latency,
                                                &part->device_latency, difference->entries[1]);
    return watched;
}

static int write_unwatched(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                           struct ntk_rows_process *process, const struct ntk_core_sample *core,
                           struct ntk_err *err)
{
    struct ntk_rows_core *state = NULL;
    int ret = ntk_rows_get_core(rows, process, core->core, core->began_ns, &state, err);

    if (ret < 0) {
        return ret;
    }
    sqlite3_stmt *row = rows->statements[ADD_UNWATCHED];
    ntk_rows_bind(rows, row, "time_ns", snapshot->realtime_ns);
    ntk_rows_bind(rows, row, "process_id", (uint64_t)process->id);
    ntk_rows_bind(rows, row, "core", core->core);
    ntk_rows_bind_known(rows, row, "since_ns", state->since_ns, state->since_ns);
    bind_counts(rows, ADD_UNWATCHED, core->unwatched, NULL);
    ntk_rows_bind_histogram(rows, row, "total_latency_histogram", &core->unwatched->total_latency,
                            &rows->scratch);
    ntk_rows_bind_histogram(rows, row, "device_latency_histogram", &core->unwatched->device_latency,
                            &rows->scratch_2);
    return ntk_rows_finish(rows, row, err);
}

static int write_samples(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         struct ntk_rows_process *process, const struct ntk_core_sample *core,
                         struct ntk_err *err)
{
    pack_core_sample(rows, snapshot, process, core);
    return write_executions(rows, snapshot, process, core, err);
}

int ntk_rows_write_core(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                        struct ntk_rows_process *process, const struct ntk_core_sample *core,
                        struct ntk_err *err)
{
    int ret = 0;

    if (core->unwatched) {
        struct difference *difference = malloc(sizeof *difference);
        if (!difference) {
            return ntk_err_no_memory(err);
        }
        const struct ntk_core_sample watched = take_watched(core, difference);
        ret = write_unwatched(rows, snapshot, process, core, err);
        ret = ret < 0 ? ret : write_samples(rows, snapshot, process, &watched, err);
        free(difference);
    } else {
        ret = write_samples(rows, snapshot, process, core, err);
    }
    /* Write a row for each run of the process. */
    for (size_t i = 0; ret == 0 && i < core->life_count; i++) {
        ret = write_core_total(rows, snapshot, process, &core->lives[i], err);
    }
    return ret < 0 || core->lives ? ret : write_core_total(rows, snapshot, process, core, err);
}
