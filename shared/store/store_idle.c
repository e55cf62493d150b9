/* SPDX-License-Identifier: MIT */
/* store_idle - reads why cores were idle in a window. */
#include "shared/store/store_reader_state.h"
#include "shared/store/store_sql.h"

/* A process that was observed but had no idle time has a row without a cause. */
static const char idle_sql[] =
    "WITH m AS (SELECT (i.time_ns - 1 - :from_ns) / :step_ns AS step, i.* FROM idle i"
    " WHERE i.time_ns > :from_ns AND i.time_ns <= :to_ns),"
    " t AS (SELECT step, process_id, add_up(period_ns) AS period_ns, add_up(held_ns) AS held_ns,"
    " add_up(idle_ns) AS idle_ns, add_up(lost) AS lost FROM m GROUP BY step, process_id),"
    " c AS (SELECT step, process_id, cause, thread, function, module, syscall, object,"
    " add_up(c.idle_ns) AS idle_ns, add_up(c.gaps) AS gaps, max(c.longest_ns) AS longest_ns"
    " FROM m JOIN idle_cause c USING (time_ns, process_id)"
    " GROUP BY step, process_id, cause, thread, function, module, syscall, object),"
    " r AS (SELECT *, row_number() OVER (PARTITION BY step, process_id ORDER BY idle_ns DESC)"
    " AS place FROM c)"
    " SELECT t.step * :step_ns + :from_ns AS start_ns, (t.step + 1) * :step_ns + :from_ns AS "
    "end_ns,"
    " p.tag, p.pid, t.period_ns, t.held_ns, t.idle_ns AS all_idle_ns, t.lost, cause, thread,"
    " function, module, syscall, object, r.idle_ns AS idle_ns, gaps, longest_ns"
    " FROM t JOIN process p USING (process_id) LEFT JOIN r USING (step, process_id)"
    " WHERE coalesce(place, 1) <= :most"
    " AND (:process IS NULL OR p.tag = :process OR CAST(p.pid AS TEXT) = :process)"
    " AND (:user IS NULL OR p.user = :user OR CAST(p.uid AS TEXT) = :user)"
    " AND (:name IS NULL OR p.tag = :name OR EXISTS (SELECT 1 FROM rank k"
    "  WHERE k.process_id = p.process_id AND k.rendezvous = :name))"
    " ORDER BY t.step, p.first_seen_ns, process_id, place";

static void take(sqlite3_stmt *statement, struct ntk_store_idle *idle)
{
    *idle = (struct ntk_store_idle){
        .start_ns = ntk_store_sql_u64(statement, "start_ns"),
        .end_ns = ntk_store_sql_u64(statement, "end_ns"),
        .tag = ntk_store_sql_word(statement, "tag"),
        .pid = (uint32_t)ntk_store_sql_u64(statement, "pid"),
        .period_ns = ntk_store_sql_u64(statement, "period_ns"),
        .held_ns = ntk_store_sql_u64(statement, "held_ns"),
        .all_idle_ns = ntk_store_sql_u64(statement, "all_idle_ns"),
        .lost = ntk_store_sql_u64(statement, "lost"),
        .cause = ntk_store_sql_word(statement, "cause"),
        .thread = ntk_store_sql_word(statement, "thread"),
        .function = ntk_store_sql_word(statement, "function"),
        .module = ntk_store_sql_word(statement, "module"),
        .syscall = ntk_store_sql_word(statement, "syscall"),
        .object = ntk_store_sql_word(statement, "object"),
        .idle_ns = ntk_store_sql_u64(statement, "idle_ns"),
        .gaps = ntk_store_sql_u64(statement, "gaps"),
        .longest_ns = ntk_store_sql_u64(statement, "longest_ns"),
    };
}

int ntk_store_reader_idle(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                          const struct ntk_store_window *window, ntk_store_idle_row row, void *ctx,
                          struct ntk_err *err)
{
    struct ntk_store_window aligned = *window;
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_window_align(&aligned, err);

    ret = ret < 0 ? ret : ntk_store_sql_prepare(reader->db, idle_sql, &statement, err);
    if (ret == 0) {
        ntk_store_window_bind(statement, filter);
        ntk_store_sql_bind(statement, "from_ns", aligned.from_ns);
        ntk_store_sql_bind(statement, "to_ns", aligned.to_ns);
        ntk_store_sql_bind(statement, "step_ns", aligned.step_ns);
        ntk_store_sql_bind(statement, "most", NTK_STORE_IDLE_CAUSES);
    }
    while (ret == 0 && ntk_store_sql_next(reader->db, statement, &ret, err)) {
        struct ntk_store_idle idle;
        take(statement, &idle);
        ret = row(&idle, ctx);
    }
    sqlite3_finalize(statement);
    return ret < 0 ? ret : 0;
}
