/* SPDX-License-Identifier: MIT */
/* store_verdicts - writes verdicts on ranks as rows with beginning and end. */
#include "shared/store/store_verdicts.h"

#include <stdio.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/store/store_sql.h"

struct open_verdict {
    int64_t id;
    char kind[16];
    char communicator[17];
    char cause[32];
    int64_t rank; /* -1 if none is named */
    uint32_t missing_count;
    uint64_t behind_ns;
    bool is_seen; /* is in the current snapshot */
};

static const char find_sql[] =
    "SELECT verdict_id, kind, communicator, cause, coalesce(rank, -1) AS rank, missing_count,"
    " coalesce(behind_ns, 0) AS behind_ns FROM rank_verdict WHERE to_ns IS NULL"
    " ORDER BY time_ns DESC LIMIT 1024";
static const char change_sql[] =
    "UPDATE rank_verdict SET missing_count = :missing_count, behind_ns = :behind_ns,"
    " interval_ns = :interval_ns WHERE verdict_id = :verdict_id";
static const char close_sql[] =
    "UPDATE rank_verdict SET to_ns = max(time_ns, :now_ns) WHERE verdict_id = :verdict_id";
/* Closes rows of an earlier agent. */
static const char close_old_sql[] =
    "UPDATE rank_verdict SET to_ns = max(time_ns, coalesce((SELECT max(time_ns)"
    " FROM machine_sample WHERE time_ns < :now_ns), :now_ns)) WHERE verdict_id = :verdict_id";

void ntk_store_verdicts_reset(struct ntk_store_verdicts *verdicts)
{
    ntk_vec_fini(&verdicts->open);
    memset(verdicts, 0, sizeof *verdicts);
}

static int load(struct ntk_store_verdicts *verdicts, sqlite3 *db, struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare(db, find_sql, &statement, err);

    ntk_vec_init(&verdicts->open, sizeof(struct open_verdict));
    while (ret == 0 && ntk_store_sql_next(db, statement, &ret, err)) {
        struct open_verdict *open = ntk_vec_add(&verdicts->open);

        if (!open) {
            ret = ntk_err_no_memory(err);
            break;
        }
        open->id = (int64_t)ntk_store_sql_u64(statement, "verdict_id");
        ntk_str_copy(open->kind, sizeof open->kind, ntk_store_sql_text(statement, "kind"));
        ntk_str_copy(open->communicator, sizeof open->communicator,
                     ntk_store_sql_text(statement, "communicator"));
        ntk_str_copy(open->cause, sizeof open->cause, ntk_store_sql_text(statement, "cause"));
        open->rank = (int64_t)ntk_store_sql_u64(statement, "rank");
        open->missing_count = (uint32_t)ntk_store_sql_u64(statement, "missing_count");
        open->behind_ns = ntk_store_sql_u64(statement, "behind_ns");
    }
    sqlite3_finalize(statement);
    return ret;
}

/* Binds with the limits of the columns, because reports may be wrong. */
static void bind_pace(sqlite3_stmt *statement, const struct ntk_rank_trouble *trouble)
{
    ntk_store_sql_bind(statement, "missing_count", trouble->missing_count);
    ntk_store_sql_bind_known(statement, "behind_ns", trouble->behind_ns > 0,
                             ntk_store_sql_integer(trouble->behind_ns));
    ntk_store_sql_bind_known(statement, "interval_ns", trouble->interval_ns > 0,
                             ntk_store_sql_integer(trouble->interval_ns));
}

static int add(struct ntk_store_verdicts *verdicts, sqlite3 *db,
               const struct ntk_rank_trouble *trouble, struct open_verdict *open,
               uint64_t *row_count, struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare_row(db, "rank_verdict", "", &statement, err);

    if (ret < 0) {
        return ret;
    }
    ntk_store_sql_bind(statement, "time_ns", ntk_store_sql_integer(trouble->since_ns));
    ntk_store_sql_bind_text(statement, "kind", open->kind);
    ntk_store_sql_bind_text(statement, "cause", open->cause);
    ntk_store_sql_bind_text(statement, "communicator", open->communicator);
    ntk_store_sql_bind_text(statement, "rendezvous", trouble->rendezvous);
    ntk_store_sql_bind(statement, "rank_count", trouble->rank_count);
    ntk_store_sql_bind_known(statement, "rank", trouble->has_rank, trouble->rank);
    ntk_store_sql_bind_known(statement, "pid", trouble->pid > 0, trouble->pid);
    ntk_store_sql_bind_text(statement, "tag", trouble->tag);
    if (trouble->sequence > 0) {
        ntk_store_sql_bind_text(statement, "operation", ntk_collective_names[trouble->operation]);
        ntk_store_sql_bind(statement, "sequence", ntk_store_sql_integer(trouble->sequence));
    }
    bind_pace(statement, trouble);
    ret = ntk_store_sql_finish(db, statement, row_count, err);
    open->id = sqlite3_last_insert_rowid(db);
    if (ret == 0 && ntk_vec_push(&verdicts->open, open) < 0) {
        ret = ntk_err_no_memory(err);
    }
    return ret;
}

static int change(sqlite3 *db, const struct ntk_rank_trouble *trouble, struct open_verdict *open,
                  uint64_t *row_count, struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare(db, change_sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    open->missing_count = trouble->missing_count;
    open->behind_ns = trouble->behind_ns;
    ntk_store_sql_bind(statement, "verdict_id", (uint64_t)open->id);
    bind_pace(statement, trouble);
    return ntk_store_sql_finish(db, statement, row_count, err);
}

static int end(sqlite3 *db, const char *sql, const struct open_verdict *open, uint64_t now_ns,
               uint64_t *row_count, struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare(db, sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    ntk_store_sql_bind(statement, "verdict_id", (uint64_t)open->id);
    ntk_store_sql_bind(statement, "now_ns", ntk_store_sql_integer(now_ns));
    return ntk_store_sql_finish(db, statement, row_count, err);
}

static struct open_verdict verdict_of(const struct ntk_rank_trouble *trouble)
{
    struct open_verdict open = { .rank = trouble->has_rank ? (int64_t)trouble->rank : -1,
                                 .missing_count = trouble->missing_count,
                                 .behind_ns = trouble->behind_ns,
                                 .is_seen = true };

    ntk_str_copy(open.kind, sizeof open.kind, ntk_trouble_kind_names[trouble->kind]);
    (void)snprintf(open.communicator, sizeof open.communicator, "%016llx",
                   (unsigned long long)trouble->key);
    ntk_str_copy(open.cause, sizeof open.cause, trouble->cause ? trouble->cause : "");
    return open;
}

static struct open_verdict *find(struct ntk_store_verdicts *verdicts,
                                 const struct open_verdict *wanted)
{
    ntk_vec_each(struct open_verdict, open, &verdicts->open) {
        if (!open->is_seen && open->rank == wanted->rank &&
            strcmp(open->communicator, wanted->communicator) == 0 &&
            strcmp(open->kind, wanted->kind) == 0 && strcmp(open->cause, wanted->cause) == 0) {
            return open;
        }
    }
    return NULL;
}

int ntk_store_verdicts_write(struct ntk_store_verdicts *verdicts, sqlite3 *db,
                             const struct ntk_snapshot *snapshot, uint64_t *row_count,
                             struct ntk_err *err)
{
    bool is_first = !verdicts->is_loaded;
    int ret = is_first ? load(verdicts, db, err) : 0;

    if (ret < 0) {
        ntk_store_verdicts_reset(verdicts);
        return ret;
    }
    verdicts->is_loaded = true;
    ntk_vec_each(struct open_verdict, open, &verdicts->open) {
        open->is_seen = false;
    }
    for (size_t i = 0; i < snapshot->trouble_count && ret == 0; i++) {
        const struct ntk_rank_trouble *trouble = &snapshot->troubles[i];
        struct open_verdict wanted = verdict_of(trouble);
        struct open_verdict *open = find(verdicts, &wanted);

        if (!open) {
            ret = add(verdicts, db, trouble, &wanted, row_count, err);
            continue;
        }
        open->is_seen = true;
        if (open->missing_count != trouble->missing_count ||
            open->behind_ns != trouble->behind_ns) {
            ret = change(db, trouble, open, row_count, err);
        }
    }
    for (size_t i = verdicts->open.count; i-- > 0 && ret == 0;) {
        const struct open_verdict *open = ntk_vec_at(&verdicts->open, i);

        if (!open->is_seen) {
            ret = end(db, is_first ? close_old_sql : close_sql, open, snapshot->realtime_ns,
                      row_count, err);
            ntk_vec_remove(&verdicts->open, i);
        }
    }
    return ret;
}
