/* SPDX-License-Identifier: MIT */
/* store_totals - everything that was ever counted, as one snapshot. */
#include <errno.h>
#include <string.h>

#include "shared/store/columns.h"
#include "shared/store/store_reader.h"
#include "shared/store/store_reader_state.h"
#include "shared/store/store_sql.h"

/* As many tags as a page of metrics remembers. */
#define RUNTIMES_MAX 4096
#define CORES_MAX 1024
#define TOTALS_OF_CORES \
    (NTK_CORE_HAS_BUSY | NTK_CORE_HAS_ENGINES | NTK_CORE_HAS_FLOPS | NTK_CORE_HAS_EFFECTIVE_FLOPS)

/* A row per tag and owner, and per process where they stand apart; the last that ran, if there are
 * too many. */
static const char runtimes_sql[] =
    "SELECT tag, max(pid), min(first_seen_ns), max(last_seen_ns), max(lnc), uid,"
    " max(user){execution|, add_up(%)}"
    " FROM process JOIN core_total USING (process_id)"
    " GROUP BY tag, uid, CASE ?1 WHEN 0 THEN 0 ELSE process_id END"
    " ORDER BY max(last_seen_ns) DESC LIMIT ?2";

/* Of all of them, also those that are too many to be listed. */
static const char machine_sql[] = "SELECT (SELECT min(first_seen_ns) FROM process JOIN core_total"
                                  " USING (process_id)){execution|, add_up(%)} FROM core_total";

static const char cores_sql[] = "SELECT core{core|, add_up(%)} FROM core_total"
                                " WHERE core BETWEEN 0 AND ?1 GROUP BY core ORDER BY core";

static uint64_t number(sqlite3_stmt *statement, int column)
{
    int64_t value = sqlite3_column_int64(statement, column);

    return value > 0 ? (uint64_t)value : 0;
}

static void take_runtime(struct ntk_snapshot *snapshot, sqlite3_stmt *statement,
                         struct ntk_runtime_sample *runtime)
{
    int column = 0;

    *runtime = ntk_snapshot_no_runtime();
    runtime->tag =
        ntk_snapshot_text(snapshot, (const char *)sqlite3_column_text(statement, column++));
    runtime->pid = (uint32_t)number(statement, column++);
    uint64_t from_ns = number(statement, column++);
    uint64_t to_ns = number(statement, column++);
    runtime->lnc = (uint32_t)number(statement, column++);
    runtime->uid = (uint32_t)number(statement, column++);
    runtime->user =
        ntk_snapshot_text(snapshot, (const char *)sqlite3_column_text(statement, column++));
    runtime->has = sqlite3_column_type(statement, column) != SQLITE_NULL
                       ? NTK_RUNTIME_HAS_EXECUTIONS
                       : 0; /* not counted */
    runtime->group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS] = to_ns > from_ns ? to_ns - from_ns : 1;
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        runtime->outcome[i].period = number(statement, column++);
    }
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        runtime->error_class[i].period = number(statement, column++);
    }
    /* The last that ran comes first. */
    if (snapshot->realtime_ns == 0) {
        snapshot->realtime_ns = to_ns;
        snapshot->hardware.lnc = runtime->lnc;
    }
}

/* The last that ran is known. */
static int load_machine(struct ntk_store_reader *reader, struct ntk_snapshot *snapshot,
                        struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int column = 0;
    int ret = ntk_columns_prepare(reader->db, machine_sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    if (sqlite3_step(statement) == SQLITE_ROW) {
        uint64_t first_ns = number(statement, column++);
        snapshot->period_ns =
            snapshot->realtime_ns > first_ns ? snapshot->realtime_ns - first_ns : 1;
        for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
            snapshot->outcome[i].period = number(statement, column++);
        }
        for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
            snapshot->error_class[i].period = number(statement, column++);
        }
    } else {
        ret = ntk_store_sql_error(reader->db, "database", err);
    }
    sqlite3_finalize(statement);
    return ret;
}

static int load_runtimes(struct ntk_store_reader *reader, bool by_process,
                         struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    struct ntk_vec rows = NTK_VEC_INIT(struct ntk_runtime_sample);
    sqlite3_stmt *statement;
    int step;
    int ret = ntk_columns_prepare(reader->db, runtimes_sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    sqlite3_bind_int(statement, 1, by_process);
    sqlite3_bind_int(statement, 2, RUNTIMES_MAX);
    while (ret == 0 && (step = sqlite3_step(statement)) != SQLITE_DONE) {
        struct ntk_runtime_sample *runtime = step == SQLITE_ROW ? ntk_vec_add(&rows) : NULL;
        if (runtime) {
            take_runtime(snapshot, statement, runtime);
        } else {
            ret = step == SQLITE_ROW ? ntk_err_no_memory(err)
                                     : ntk_store_sql_error(reader->db, "database", err);
        }
    }
    sqlite3_finalize(statement);
    if (ret == 0 && rows.count == 0) {
        ret = ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "nothing was counted yet");
    }
    struct ntk_runtime_sample *to =
        ret == 0 ? ntk_snapshot_alloc_runtimes(snapshot, rows.count) : NULL;
    if (to) {
        memcpy(to, rows.items, rows.count * sizeof *to);
    } else if (ret == 0) {
        ret = ntk_err_no_memory(err);
    }
    ntk_vec_fini(&rows);
    return ret;
}

static int load_cores(struct ntk_store_reader *reader, struct ntk_snapshot *snapshot,
                      struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int step = SQLITE_DONE;
    int ret = ntk_columns_prepare(reader->db, cores_sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    struct ntk_core_sample *cores = ntk_snapshot_alloc(snapshot, CORES_MAX, sizeof *cores);
    sqlite3_bind_int(statement, 1, CORES_MAX - 1);
    while (cores && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        struct ntk_core_sample *core = &cores[sqlite3_column_int(statement, 0)];
        int column = 1;

        for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
            const struct ntk_core_count_row *row = &ntk_core_count_rows[i];
            bool is_known = ntk_store_counts_have(NTK_STORE_COUNTS_CORE, row) &&
                            row->has & TOTALS_OF_CORES &&
                            sqlite3_column_type(statement, column) != SQLITE_NULL;

            core->has |= is_known ? row->has : 0;
            for (size_t k = 0; k < row->count && is_known; k++) {
                core->counts[row->at + k].period = number(statement, column + (int)k);
            }
            column += ntk_store_counts_have(NTK_STORE_COUNTS_CORE, row) ? (int)row->count : 0;
        }
        snapshot->core_count = (size_t)sqlite3_column_int(statement, 0) + 1;
    }
    ret = !cores                ? ntk_err_no_memory(err)
          : step != SQLITE_DONE ? ntk_store_sql_error(reader->db, "database", err)
                                : 0;
    sqlite3_finalize(statement);
    snapshot->cores = cores;
    for (size_t i = 0; cores && i < snapshot->core_count; i++) {
        cores[i].core = (uint32_t)i;
    }
    return ret;
}

int ntk_store_reader_totals_snapshot(struct ntk_store_reader *reader, bool by_process,
                                     struct ntk_snapshot **out_snapshot, struct ntk_err *err)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    if (!snapshot) {
        return ntk_err_no_memory(err);
    }
    snapshot->k8s.period_ns = NTK_GROUP_ABSENT;
    int ret = ntk_store_reader_begin(reader, err);
    if (ret == 0) {
        ret = load_runtimes(reader, by_process, snapshot, err);
        ret = ret < 0 ? ret : load_machine(reader, snapshot, err);
        ret = ret < 0 ? ret : load_cores(reader, snapshot, err);
        ntk_store_reader_end(reader);
    }
    if (ret < 0) {
        ntk_snapshot_destroy(snapshot);
        return ret;
    }
    *out_snapshot = snapshot;
    return 0;
}
