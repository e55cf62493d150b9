/* SPDX-License-Identifier: MIT */
/* store_replay_failing - finds since when the cores of a past moment have failed, from the error
 * log, and for how long their executions have been running, from samples. */
#include "shared/store/store_reader_state.h"
#include "shared/abi/result.h"
#include "shared/store/store_sql.h"

/* How far back errors are searched. A running agent has rows of seconds, and executions, for
 * longer. */
#define REACH_NS (UINT64_C(24) * 3600 * 1000000000)

/*
 * Finds the first error after the last period with a completed execution. The errors are the same
 * as in the hooks: hardware errors, timeouts, calls to a dead core. In that period itself the order
 * is unknown, so its errors count, too. A timeout without a class was detected while its execution
 * still occupied the core.
 */
static const char failing_sql[] =
    "WITH failed AS (SELECT time_ns, process_id, core FROM error_log WHERE time_ns > :from_ns"
    "  AND time_ns > (SELECT first_ns FROM tier WHERE tier = 'second') AND time_ns <= :time_ns"
    "  AND (error_class = :hardware OR"
    "  (nrt_status IN (:timed_out, :dead) AND error_class <> 'none'))),"
    " good AS (SELECT process_id, core, coalesce((SELECT e.time_ns - coalesce(m.period_ns, 0)"
    "  FROM execution_sample e LEFT JOIN machine_sample m USING (time_ns)"
    "  WHERE e.process_id = f.process_id AND e.core = f.core AND e.completed > 0"
    "  AND e.time_ns <= :time_ns AND e.time_ns > :from_ns ORDER BY e.time_ns DESC LIMIT 1), 0)"
    "  AS good_ns FROM (SELECT DISTINCT process_id, core FROM failed) f)"
    " SELECT p.pid, p.start_time, g.core, min(f.time_ns) AS since_ns"
    " FROM good g JOIN failed f USING (process_id, core) JOIN process p USING (process_id)"
    " WHERE f.time_ns > g.good_ns GROUP BY g.process_id, g.core";

static void take(struct ntk_snapshot *snapshot, sqlite3_stmt *statement)
{
    uint64_t since_ns = ntk_store_sql_u64(statement, "since_ns");
    uint64_t number = ntk_store_sql_u64(statement, "core");

    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        if (runtime->ended || runtime->pid != ntk_store_sql_u64(statement, "pid") ||
            runtime->start_time != ntk_store_sql_u64(statement, "start_time")) {
            continue;
        }
        for (size_t c = 0; c < runtime->core_count; c++) {
            if (runtime->cores[c].core != number) {
                continue;
            }
            runtime->cores[c].failing_since_ns = since_ns;
            if (number < snapshot->core_count) {
                struct ntk_core_sample *core = &snapshot->cores[number];

                core->failing_since_ns = ntk_snapshot_earlier(core->failing_since_ns, since_ns);
            }
        }
    }
}

/* How far back running executions are searched: each second costs a lookup per core. */
#define RUNNING_REACH_NS (UINT64_C(3600) * 1000000000)

/* The end of the last period after which an execution of the core ended, or none was in flight; the
 * start of the recording without one. NULL without rows of seconds. */
static const char running_sql[] =
    "SELECT coalesce((SELECT m.time_ns FROM machine_sample m"
    "  LEFT JOIN core_sample c ON c.time_ns = m.time_ns AND c.process_id = p.process_id"
    "   AND c.core = :core"
    "  LEFT JOIN execution_sample e ON e.time_ns = m.time_ns AND e.process_id = p.process_id"
    "   AND e.core = :core"
    "  WHERE m.time_ns <= :time_ns AND m.time_ns > :from_ns"
    "  AND (coalesce(c.in_flight, 0) = 0 OR e.time_ns IS NOT NULL)"
    "  ORDER BY m.time_ns DESC LIMIT 1), (SELECT time_ns - period_ns FROM machine_sample"
    "  WHERE time_ns > :from_ns AND time_ns <= :time_ns ORDER BY time_ns LIMIT 1)) AS since_ns"
    " FROM process p WHERE p.pid = :pid AND p.start_time = :start_time"
    " ORDER BY p.process_id DESC LIMIT 1";

static int load_running(struct ntk_store_reader *reader, struct ntk_snapshot *snapshot,
                        sqlite3_stmt *statement, const struct ntk_runtime_sample *runtime,
                        struct ntk_core_sample *core, struct ntk_err *err)
{
    uint64_t time_ns = snapshot->realtime_ns;
    uint64_t since_ns = time_ns;
    int ret = 0;

    ntk_store_sql_bind(statement, "time_ns", time_ns);
    ntk_store_sql_bind(statement, "from_ns",
                       time_ns > RUNNING_REACH_NS ? time_ns - RUNNING_REACH_NS : 0);
    ntk_store_sql_bind(statement, "core", core->core);
    ntk_store_sql_bind(statement, "pid", runtime->pid);
    ntk_store_sql_bind(statement, "start_time", runtime->start_time);
    if (ntk_store_sql_next(reader->db, statement, &ret, err) &&
        ntk_store_sql_known(statement, "since_ns")) {
        since_ns = ntk_store_sql_u64(statement, "since_ns");
    }
    sqlite3_reset(statement);
    core->running_ns = since_ns < time_ns ? time_ns - since_ns : 0;
    if (core->core < snapshot->core_count) {
        struct ntk_core_sample *machine = &snapshot->cores[core->core];

        machine->running_ns =
            machine->running_ns > core->running_ns ? machine->running_ns : core->running_ns;
    }
    return ret;
}

static int load_all_running(struct ntk_store_reader *reader, struct ntk_snapshot *snapshot,
                            struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(reader->db, running_sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        for (size_t c = 0; ret == 0 && !runtime->ended && c < runtime->core_count; c++) {
            struct ntk_core_sample *core = &runtime->cores[c];

            if (core->in_flight > 0 && ntk_snapshot_outcome_sum(core->outcome) == 0) {
                ret = load_running(reader, snapshot, statement, runtime, core, err);
            }
        }
    }
    sqlite3_finalize(statement);
    return ret;
}

int ntk_store_reader_load_failing(struct ntk_store_reader *reader, struct ntk_snapshot *snapshot,
                                  struct ntk_err *err)
{
    uint64_t time_ns = snapshot->realtime_ns;
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(reader->db, failing_sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    ntk_store_sql_bind(statement, "time_ns", time_ns);
    ntk_store_sql_bind(statement, "from_ns", time_ns > REACH_NS ? time_ns - REACH_NS : 0);
    ntk_store_sql_bind_text(statement, "hardware", ntk_error_class_names[NTK_ERROR_HARDWARE]);
    ntk_store_sql_bind(statement, "timed_out", NTK_RESULT_TIMED_OUT);
    ntk_store_sql_bind(statement, "dead", NTK_RESULT_DEAD);
    while (ntk_store_sql_next(reader->db, statement, &ret, err)) {
        take(snapshot, statement);
    }
    sqlite3_finalize(statement);
    return ret < 0 ? ret : load_all_running(reader, snapshot, err);
}
