/* SPDX-License-Identifier: MIT */
/* store_ranks - reads the work of ranks in a window, and the verdicts on them. */
#include <errno.h>
#include <inttypes.h>

#include "shared/store/columns.h"
#include "shared/store/store_reader_state.h"
#include "shared/store/store_sql.h"

#define LONGEST "9223372036854775807"

/* The verdicts on the rank in the step, in order; about its process, if that is known. */
#define SAID                                                                         \
    "(SELECT group_concat(what, ', ') FROM (SELECT v.kind || ' ' || v.cause AS what" \
    " FROM rank_verdict v WHERE v.communicator = s.communicator AND v.rank = s.rank" \
    " AND (v.pid IS NULL OR v.pid = p.pid) AND v.time_ns <= s.end_ns"                \
    " AND coalesce(v.to_ns, " LONGEST ") > s.start_ns GROUP BY what ORDER BY min(v.time_ns)))"

static const char rank_columns[] =
    "SELECT s.start_ns, s.end_ns, p.tag, p.pid, s.communicator, r.rendezvous, s.rank, r.rank_count,"
    " r.model_id{rank_step|, s.%}, r.last_sequence, " SAID
    " AS verdicts, coalesce(p.hooks, '') = 'built-in' AS tells_wait";

static int make_sql(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                    const struct ntk_store_window *window, struct ntk_buf *sql, struct ntk_err *err)
{
    struct ntk_vec pieces = NTK_VEC_INIT(struct ntk_store_piece);
    struct ntk_store_window aligned = *window;
    int ret = ntk_store_window_align(&aligned, err);

    if (ret == 0) {
        ret = ntk_store_window_cut(reader, &aligned, window->step_ns == 0, &pieces, err);
    }
    ntk_columns_tell(sql, rank_columns);
    ntk_buf_add_format(sql,
                       " FROM (SELECT step * %" PRIu64 " + %" PRIu64 " AS start_ns,"
                       " (step + 1) * %" PRIu64 " + %" PRIu64 " AS end_ns, * FROM"
                       " (SELECT (time_ns - 1 - %" PRIu64 ") / %" PRIu64 " AS step, process_id,"
                       " communicator, rank",
                       aligned.step_ns, aligned.from_ns, aligned.step_ns, aligned.from_ns,
                       aligned.from_ns, aligned.step_ns);
    ntk_columns_tell(sql, "{rank_step|, add_up(%) AS %}");
    ntk_buf_add_text(sql, " FROM ");
    ntk_store_window_add_rows(sql, &pieces, NTK_FAMILY_RANK, filter);
    ntk_buf_add_text(sql, " GROUP BY step, process_id, communicator, rank)) s"
                          " JOIN process p USING (process_id)"
                          " JOIN rank r USING (process_id, communicator, rank)"
                          " ORDER BY s.start_ns, r.rendezvous, s.communicator, s.rank,"
                          " p.first_seen_ns");
    ntk_vec_fini(&pieces);
    if (ret == 0 && !ntk_buf_ok(sql)) {
        ret = ntk_err_no_memory(err);
    }
    return ret;
}

static void take_rank(sqlite3_stmt *statement, struct ntk_store_rank *rank)
{
    *rank = (struct ntk_store_rank){
        .start_ns = ntk_store_sql_u64(statement, "start_ns"),
        .end_ns = ntk_store_sql_u64(statement, "end_ns"),
        .tag = ntk_store_sql_word(statement, "tag"),
        .pid = (uint32_t)ntk_store_sql_u64(statement, "pid"),
        .communicator = ntk_store_sql_word(statement, "communicator"),
        .rendezvous = ntk_store_sql_word(statement, "rendezvous"),
        .rank = (uint32_t)ntk_store_sql_u64(statement, "rank"),
        .rank_count = (uint32_t)ntk_store_sql_u64(statement, "rank_count"),
        .model_id = (uint32_t)ntk_store_sql_u64(statement, "model_id"),
        .period_ns = ntk_store_sql_u64(statement, "period_ns"),
        .operations = ntk_store_sql_u64(statement, "operations"),
        .errors = ntk_store_sql_u64(statement, "errors"),
        .moved_bytes = ntk_store_sql_u64(statement, "moved_bytes"),
        .in_operations_ns = ntk_store_sql_u64(statement, "in_operations_ns"),
        .wait_ns = ntk_store_sql_u64(statement, "wait_ns"),
        .core_busy_ns = ntk_store_sql_u64(statement, "core_busy_ns"),
        .last_sequence = ntk_store_sql_u64(statement, "last_sequence"),
        .verdicts = ntk_store_sql_word(statement, "verdicts"),
        .has_wait = ntk_store_sql_u64(statement, "wait_ns") > 0 ||
                    ntk_store_sql_u64(statement, "tells_wait") > 0,
    };
}

int ntk_store_reader_ranks(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                           const struct ntk_store_window *window, ntk_store_rank_row row, void *ctx,
                           struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_reader_begin(reader, err);

    if (ret < 0) {
        return ret;
    }
    ret = make_sql(reader, filter, window, &sql, err);
    if (ret == 0) {
        ret = ntk_store_sql_prepare(reader->db, ntk_buf_text_get(&sql), &statement, err);
    }
    if (ret == 0) {
        ntk_store_window_bind(statement, filter);
    }
    while (ret == 0 && ntk_store_sql_next(reader->db, statement, &ret, err)) {
        struct ntk_store_rank rank;
        take_rank(statement, &rank);
        ret = row(&rank, ctx);
    }
    sqlite3_finalize(statement);
    ntk_buf_fini(&sql);
    ntk_store_reader_end(reader);
    return ret < 0 ? ret : 0;
}

/* ---- verdicts ---- */

static const char verdict_sql[] =
    "SELECT time_ns, to_ns, kind, cause, communicator, rendezvous, rank_count, rank, pid, tag,"
    " operation, sequence, missing_count, behind_ns, interval_ns FROM rank_verdict"
    " WHERE time_ns <= :to_ns AND coalesce(to_ns, " LONGEST ") > :from_ns"
    " AND (:process IS NULL OR tag = :process OR CAST(pid AS TEXT) = :process)"
    " AND (:user IS NULL OR EXISTS (SELECT 1 FROM process p WHERE p.pid = rank_verdict.pid"
    "  AND p.tag = rank_verdict.tag AND (p.user = :user OR CAST(p.uid AS TEXT) = :user)))"
    " AND (:name IS NULL OR tag = :name OR rendezvous = :name OR communicator IN"
    "  (SELECT communicator FROM rank r JOIN process p USING (process_id) WHERE p.tag = :name))"
    " ORDER BY time_ns, communicator, rank";

static void take_verdict(sqlite3_stmt *statement, struct ntk_store_verdict *verdict)
{
    *verdict = (struct ntk_store_verdict){
        .from_ns = ntk_store_sql_u64(statement, "time_ns"),
        .to_ns = ntk_store_sql_u64(statement, "to_ns"),
        .kind = ntk_store_sql_word(statement, "kind"),
        .cause = ntk_store_sql_word(statement, "cause"),
        .communicator = ntk_store_sql_word(statement, "communicator"),
        .rendezvous = ntk_store_sql_word(statement, "rendezvous"),
        .rank_count = (uint32_t)ntk_store_sql_u64(statement, "rank_count"),
        .has_rank = ntk_store_sql_known(statement, "rank"),
        .rank = (uint32_t)ntk_store_sql_u64(statement, "rank"),
        .pid = (uint32_t)ntk_store_sql_u64(statement, "pid"),
        .tag = ntk_store_sql_word(statement, "tag"),
        .operation = ntk_store_sql_word(statement, "operation"),
        .sequence = ntk_store_sql_u64(statement, "sequence"),
        .missing_count = (uint32_t)ntk_store_sql_u64(statement, "missing_count"),
        .behind_ns = ntk_store_sql_u64(statement, "behind_ns"),
        .interval_ns = ntk_store_sql_u64(statement, "interval_ns"),
    };
}

int ntk_store_reader_verdicts(struct ntk_store_reader *reader,
                              const struct ntk_store_filter *filter,
                              const struct ntk_store_window *window, ntk_store_verdict_row row,
                              void *ctx, struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;

    if (window->to_ns > INT64_MAX || window->from_ns >= window->to_ns) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the window is empty");
    }
    int ret = ntk_store_sql_prepare(reader->db, verdict_sql, &statement, err);
    if (ret == 0) {
        ntk_store_window_bind(statement, filter);
        ntk_store_sql_bind(statement, "from_ns", window->from_ns);
        ntk_store_sql_bind(statement, "to_ns", window->to_ns);
    }
    while (ret == 0 && ntk_store_sql_next(reader->db, statement, &ret, err)) {
        struct ntk_store_verdict verdict;
        take_verdict(statement, &verdict);
        ret = row(&verdict, ctx);
    }
    sqlite3_finalize(statement);
    return ret < 0 ? ret : 0;
}
