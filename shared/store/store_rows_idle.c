/* SPDX-License-Identifier: MIT */
/* store_rows_idle - writes the idle time of processes and its causes. */
#include "shared/metrics/snapshot_idle.h"
#include "shared/store/store_rows_state.h"
#include "shared/store/store_sql.h"

static int write_cause(struct ntk_store_rows *rows, const struct ntk_rows_process *process,
                       const struct ntk_idle_sample *idle, size_t place, struct ntk_err *err)
{
    const struct ntk_idle_cause *cause = &idle->causes[place];
    sqlite3_stmt *row = rows->statements[ADD_IDLE_CAUSE];

    ntk_store_sql_bind(row, "time_ns", idle->realtime_ns);
    ntk_store_sql_bind(row, "process_id", (uint64_t)process->id);
    ntk_store_sql_bind(row, "place", place);
    ntk_store_sql_bind_text(row, "cause", cause->cause);
    ntk_store_sql_bind_text(row, "thread", cause->thread);
    ntk_store_sql_bind_text(row, "function", cause->function);
    ntk_store_sql_bind_text(row, "module", cause->module);
    ntk_store_sql_bind_text(row, "syscall", cause->syscall);
    ntk_store_sql_bind_text(row, "object", cause->object);
    ntk_store_sql_bind(row, "idle_ns", cause->idle_ns);
    ntk_store_sql_bind(row, "gaps", cause->gaps);
    ntk_store_sql_bind(row, "longest_ns", cause->longest_ns);
    return ntk_rows_finish(rows, row, err);
}

int ntk_rows_write_idle(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                        const struct ntk_idle_sample *idle, struct ntk_err *err)
{
    struct ntk_rows_process *process;
    int ret = ntk_rows_get_process(rows, snapshot, idle->key, NULL, &process, err);

    if (ret < 0) {
        return ret;
    }
    sqlite3_stmt *row = rows->statements[ADD_IDLE];
    ntk_store_sql_bind(row, "time_ns", idle->realtime_ns);
    ntk_store_sql_bind(row, "process_id", (uint64_t)process->id);
    ntk_store_sql_bind(row, "period_ns", idle->period_ns);
    ntk_store_sql_bind(row, "held_ns", idle->held_ns);
    ntk_store_sql_bind(row, "idle_ns", idle->idle_ns);
    ntk_store_sql_bind(row, "gaps", idle->gaps);
    ntk_store_sql_bind(row, "longest_ns", idle->longest_ns);
    ntk_store_sql_bind(row, "lost", idle->lost);
    ret = ntk_rows_finish(rows, row, err);
    for (size_t i = 0; ret == 0 && i < idle->cause_count; i++) {
        ret = write_cause(rows, process, idle, i, err);
    }
    return ret;
}
