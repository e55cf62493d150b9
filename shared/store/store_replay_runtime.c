/* SPDX-License-Identifier: MIT */
/* store_replay_runtime - loads the runtimes of a past time: processes, cores, executions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/base/word.h"
#include "shared/store/columns.h"
#include "shared/store/store_replay_state.h"
#include "shared/store/store_sql.h"

static const char runtime_columns[] =
    "p.process_id, p.pid, p.header_pid, p.start_time, p.uid, p.software, p.ended_ns, p.killed,"
    " p.exit_code, p.exit_signal, p.tag,"
    " p.command, p.user, p.container_id, p.runtime_version, p.framework_version, p.instance_type,"
    " p.lnc, p.first_seen_ns, r.vcpu_user_ns, r.vcpu_system_ns, r.vcpu_period_ns, r.rss_bytes_last,"
    " r.in_flight_max, r.events_lost, p.hooks, p.cores_guessed, p.executions_counted";

/* The index of a column's word in the list; 0 if it is not in the list. */
static uint32_t word_of(sqlite3_stmt *statement, const char *column, const char *const *words,
                        size_t count)
{
    size_t i = ntk_word_find(ntk_store_sql_word(statement, column), words, count);

    return i < count ? (uint32_t)i : 0;
}

static void take_runtime(const struct ntk_replay *replay, sqlite3_stmt *statement,
                         struct ntk_runtime_sample *runtime)
{
    uint64_t start_ns = replay->time_ns - replay->snapshot->period_ns;

    *runtime = ntk_snapshot_no_runtime();
    runtime->pid = (uint32_t)ntk_store_sql_u64(statement, "pid");
    runtime->header_pid = (uint32_t)ntk_store_sql_u64(statement, "header_pid");
    runtime->start_time = ntk_store_sql_u64(statement, "start_time");
    runtime->uid = (uint32_t)ntk_store_sql_u64(statement, "uid");
    runtime->software = ntk_store_sql_u64(statement, "software") != 0;
    uint64_t ended_ns = ntk_store_sql_u64(statement, "ended_ns");
    runtime->ended = ended_ns > start_ns && ended_ns <= replay->time_ns;
    if (runtime->ended) {
        runtime->killed = ntk_store_sql_u64(statement, "killed") != 0;
        runtime->exit = ntk_store_sql_exit(statement);
    }
    runtime->tag = ntk_replay_text(replay, statement, "tag");
#define NTK_PROCESS_TEXT(name) runtime->name = ntk_replay_text(replay, statement, #name);
#include "shared/metrics/process.def"
    runtime->lnc = (uint32_t)ntk_store_sql_u64(statement, "lnc");
    runtime->first = ntk_store_sql_u64(statement, "first_seen_ns") > start_ns;
    double period_ns = (double)ntk_store_sql_u64(statement, "vcpu_period_ns");
    if (period_ns > 0) {
        runtime->has |= NTK_RUNTIME_HAS_CPU;
#define NTK_PROCESS_SHARE(name, key) \
    runtime->name = (double)ntk_store_sql_u64(statement, #name "_ns") / period_ns;
#include "shared/metrics/process.def"
    }
#define NTK_PROCESS_BYTES(name, group, ...)                                                      \
    runtime->has |= ntk_store_sql_known(statement, #name "_last") ? NTK_RUNTIME_HAS_##group : 0; \
    runtime->name = ntk_store_sql_u64(statement, #name "_last");
#include "shared/metrics/process.def"
    runtime->has |= ntk_store_sql_known(statement, "in_flight_max") ? NTK_RUNTIME_HAS_IN_FLIGHT : 0;
    runtime->in_flight = ntk_store_sql_u64(statement, "in_flight_max");
    runtime->events_lost.period = ntk_store_sql_u64(statement, "events_lost");
    runtime->hooks = (enum ntk_hooks_kind)word_of(statement, "hooks", ntk_hooks_kind_names,
                                                  NTK_HOOKS_KIND_COUNT);
    runtime->cores_guessed = ntk_store_sql_u64(statement, "cores_guessed") != 0;
    runtime->executions_counted = (enum ntk_executions_counted)word_of(
        statement, "executions_counted", ntk_executions_counted_names,
        NTK_EXECUTIONS_COUNTED_COUNT);
}

static int load_processes(struct ntk_replay *replay, struct ntk_err *err)
{
    struct ntk_vec runtimes = NTK_VEC_INIT(struct ntk_runtime_sample);
    struct ntk_vec ids = NTK_VEC_INIT(int64_t);
    sqlite3_stmt *statement;
    int ret = ntk_replay_prepare(replay, NTK_FAMILY_PROCESS, runtime_columns,
                                 "JOIN process p USING (process_id) ORDER BY p.start_time, p.pid",
                                 &statement, err);

    while (ret == 0 && (ret = ntk_replay_next(replay, statement, err)) > 0) {
        struct ntk_runtime_sample *runtime = ntk_replay_add(&runtimes);
        int64_t id = (int64_t)ntk_store_sql_u64(statement, "process_id");
        if (!runtime || ntk_vec_push(&ids, &id) < 0) {
            ret = ntk_err_no_memory(err);
            break;
        }
        take_runtime(replay, statement, runtime);
        ret = 0;
    }
    sqlite3_finalize(statement);
    if (ret == 0 && runtimes.count > 0) {
        struct ntk_runtime_sample *to =
            ntk_snapshot_alloc_runtimes(replay->snapshot, runtimes.count);
        if (to) {
            memcpy(to, runtimes.items, runtimes.count * sizeof *to);
        }
    }
    replay->process_ids = ids.items; /* takes ownership */
    ntk_vec_fini(&runtimes);
    return ret;
}

/* ---- cores ---- */

static void take_counts(sqlite3_stmt *statement, enum ntk_store_counts set,
                        struct ntk_core_sample *core)
{
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        for (size_t k = 0; k < row->count && ntk_store_counts_have(set, row); k++) {
            const char *column = ntk_store_count_name(row, k);
            core->has |= ntk_store_sql_known(statement, column) ? row->has : 0;
            core->counts[row->at + k].period = ntk_store_sql_u64(statement, column);
        }
    }
}

static const char core_columns[] =
    "process_id, core, period_ns, busy_period_ns, in_flight_max, busy_total_ns,"
    " busy_of_calls_ns{core|, %}";

static void take_core(sqlite3_stmt *statement, struct ntk_core_sample *core)
{
    double busy_period_ns =
        (double)ntk_store_sql_u64(statement, "busy_period_ns"); /* may be only a part of a minute */

    core->busy_of_calls = ntk_store_sql_u64(statement, "busy_of_calls_ns") > 0;
    take_counts(statement, NTK_STORE_COUNTS_CORE, core);
    core->core = (uint32_t)ntk_store_sql_u64(statement, "core");
    core->busy_ns.total = ntk_store_sql_u64(statement, "busy_total_ns");
    core->utilization = busy_period_ns > 0 ? (double)core->busy_ns.period / busy_period_ns : 0;
    core->utilization = core->utilization > 1 ? 1 : core->utilization;
    core->in_flight = ntk_store_sql_u64(statement, "in_flight_max");
}

/* Assigns cores to runtimes: rows of one runtime are adjacent, and each group becomes its array. */
static void give_cores(const struct ntk_replay *replay, int64_t process_id, struct ntk_vec *cores)
{
    struct ntk_runtime_sample *runtime = ntk_replay_find_runtime(replay, process_id);

    if (runtime && cores->count > 0) {
        runtime->cores = ntk_snapshot_alloc(replay->snapshot, cores->count, sizeof *runtime->cores);
        if (runtime->cores) {
            memcpy(runtime->cores, cores->items, cores->count * sizeof *runtime->cores);
            runtime->core_count = cores->count;
            runtime->has |= NTK_RUNTIME_HAS_CORES;
        }
    }
    ntk_vec_clear(cores);
}

static int load_cores(struct ntk_replay *replay, struct ntk_err *err)
{
    struct ntk_vec cores = NTK_VEC_INIT(struct ntk_core_sample);
    int64_t process_id = 0;
    sqlite3_stmt *statement;
    int ret = ntk_replay_prepare(replay, NTK_FAMILY_CORE, core_columns, "ORDER BY process_id, core",
                                 &statement, err);

    while (ret == 0 && (ret = ntk_replay_next(replay, statement, err)) > 0) {
        int64_t id = (int64_t)ntk_store_sql_u64(statement, "process_id");
        if (id != process_id) {
            give_cores(replay, process_id, &cores);
            process_id = id;
        }
        struct ntk_core_sample *core = ntk_replay_add(&cores);
        ret = core ? 0 : ntk_err_no_memory(err);
        if (core) {
            take_core(statement, core);
        }
    }
    give_cores(replay, process_id, &cores);
    sqlite3_finalize(statement);
    ntk_vec_fini(&cores);
    return ret;
}

static const char execution_columns[] =
    "process_id, core{execution|, %}, total_latency_histogram, device_latency_histogram";

static int load_executions(struct ntk_replay *replay, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret =
        ntk_replay_prepare(replay, NTK_FAMILY_EXECUTION, execution_columns, "", &statement, err);

    while (ret == 0 && (ret = ntk_replay_next(replay, statement, err)) > 0) {
        ret = 0;
        struct ntk_runtime_sample *runtime =
            ntk_replay_find_runtime(replay, (int64_t)ntk_store_sql_u64(statement, "process_id"));
        for (size_t i = 0; runtime && i < runtime->core_count; i++) {
            struct ntk_core_sample *core = &runtime->cores[i];
            if (core->core != ntk_store_sql_u64(statement, "core")) {
                continue;
            }
            take_counts(statement, NTK_STORE_COUNTS_EXECUTION, core);
            core->total_latency =
                ntk_replay_histogram(replay, statement, "total_latency_histogram");
            core->device_latency =
                ntk_replay_histogram(replay, statement, "device_latency_histogram");
            core->has |= core->total_latency.count > 0 ? NTK_CORE_HAS_LATENCY : 0;
            core->has |= core->device_latency.count > 0 ? NTK_CORE_HAS_DEVICE_LATENCY : 0;
        }
    }
    sqlite3_finalize(statement);
    return ret;
}

/* Sums up the cores of a runtime. Without a row of executions, none ran in the period:
 * the groups are known for every core of a runtime that counts them. */
static void sum_runtime(struct ntk_replay *replay, struct ntk_runtime_sample *runtime)
{
    struct ntk_histogram_dense *device = calloc(1, sizeof *device);

    if (!device) {
        return;
    }
    ntk_histogram_dense_reset(&replay->dense);
    bool is_counted = runtime->executions_counted == NTK_EXECUTIONS_ALL;
    runtime->has |= is_counted ? NTK_RUNTIME_HAS_EXECUTIONS : 0u;
    for (size_t i = 0; i < runtime->core_count; i++) {
        struct ntk_core_sample *core = &runtime->cores[i];
        core->has |= is_counted ? NTK_CORE_HAS_EXECUTIONS | NTK_CORE_HAS_LATENCY : 0u;
        for (size_t o = 0; o < NTK_OUTCOME_COUNT; o++) {
            runtime->outcome[o].period += core->outcome[o].period;
            replay->snapshot->outcome[o].period += core->outcome[o].period;
        }
        for (size_t e = 0; e < NTK_ERROR_CLASS_COUNT; e++) {
            runtime->error_class[e].period += core->error_class[e].period;
            replay->snapshot->error_class[e].period += core->error_class[e].period;
        }
        ntk_histogram_dense_merge(&replay->dense, &core->total_latency);
        ntk_histogram_dense_merge(device, &core->device_latency);
    }
    runtime->total_latency = ntk_snapshot_histogram(replay->snapshot, &replay->dense);
    runtime->device_latency = ntk_snapshot_histogram(replay->snapshot, device);
    runtime->has_device_latency = device->count > 0;
    free(device);
}

/* Computes the machine's cores as sums over all runtimes. */
static void sum_machine(const struct ntk_replay *replay, const struct ntk_runtime_sample *runtime)
{
    for (size_t i = 0; i < runtime->core_count; i++) {
        const struct ntk_core_sample *from = &runtime->cores[i];
        if (from->core >= replay->snapshot->core_count) {
            continue;
        }
        struct ntk_core_sample *to = &replay->snapshot->cores[from->core];
        to->has |= from->has;
        to->busy_of_calls = to->busy_of_calls || from->busy_of_calls;
        to->utilization += from->utilization;
        to->utilization = to->utilization > 1 ? 1 : to->utilization;
        to->in_flight += from->in_flight;
        for (size_t k = 0; k < NTK_CORE_COUNTS; k++) {
            to->counts[k].period += from->counts[k].period;
            to->counts[k].total += from->counts[k].total;
        }
        if (to->total_latency.count == 0) {
            to->total_latency = from->total_latency;
            to->device_latency = from->device_latency;
        }
    }
}

int ntk_replay_load_runtimes(struct ntk_replay *replay, struct ntk_err *err)
{
    int ret = load_processes(replay, err);

    if (ret == 0) {
        ret = load_cores(replay, err);
    }
    if (ret == 0) {
        ret = load_executions(replay, err);
    }
    for (size_t i = 0; ret == 0 && i < replay->snapshot->runtime_count; i++) {
        sum_runtime(replay, &replay->snapshot->runtimes[i]);
        sum_machine(replay, &replay->snapshot->runtimes[i]);
    }
    return ret;
}
