/* SPDX-License-Identifier: MIT */
/* store_replay_failing - the time since which the cores of a past moment have failed, from the
 * error log. */
#include "shared/store/store_reader_state.h"
#include "shared/store/store_sql.h"

/* The limit for errors: a running agent has seconds, and executions, for longer. */
#define REACH_NS (UINT64_C(24) * 3600 * 1000000000)

/*
 * The same errors as in the hooks: of hardware, timeouts (5), calls to a dead core (101). The first
 * one after the last period with a completed execution. In that period itself their order is
 * unknown: its errors count, too.
 */
static const char failing_sql[] =
    "WITH failed AS (SELECT time_ns, process_id, core FROM error_log WHERE time_ns > :from_ns"
    "  AND time_ns > (SELECT first_ns FROM tier WHERE tier = 'second') AND time_ns <= :time_ns"
    "  AND (error_class = :hardware OR nrt_status IN (5, 101))),"
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
    while (ntk_store_sql_next(reader->db, statement, &ret, err)) {
        take(snapshot, statement);
    }
    sqlite3_finalize(statement);
    return ret;
}
