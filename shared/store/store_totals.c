/* SPDX-License-Identifier: MIT */
/* store_totals - reads all cumulative counts as one snapshot. */
#include <errno.h>
#include <string.h>

#include "shared/store/columns.h"
#include "shared/store/store_reader.h"
#include "shared/store/store_reader_state.h"
#include "shared/store/store_sql.h"

/* Maximum number of tags, the same as on a page of metrics. */
#define RUNTIMES_MAX 4096
#define CORES_MAX 1024
#define TOTALS_OF_CORES \
    (NTK_CORE_HAS_BUSY | NTK_CORE_HAS_ENGINES | NTK_CORE_HAS_FLOPS | NTK_CORE_HAS_EFFECTIVE_FLOPS)

/* Selects a row per tag and owner, or per process if requested; if there are too many, those that
 * ran last. No later process continues the counts of an ended process without a name, so those that
 * ended more than RECENT_NS before the last one are omitted. An agent may still see the others. */
#define RECENT_NS "600000000000"
static const char runtimes_sql[] =
    "SELECT tag, max(pid) AS pid, min(first_seen_ns) AS from_ns, max(last_seen_ns) AS to_ns,"
    " max(lnc) AS lnc, uid, max(user) AS user{execution|, add_up(%) AS %}"
    " FROM process JOIN core_total USING (process_id)"
    " WHERE ended_ns IS NULL OR (:by_process = 0 AND tag <> CAST(pid AS TEXT))"
    " OR last_seen_ns > (SELECT max(last_seen_ns) FROM process) - " RECENT_NS
    " GROUP BY tag, uid, CASE :by_process WHEN 0 THEN 0 ELSE process_id END"
    " ORDER BY max(last_seen_ns) DESC LIMIT :most";

/* Sums over all processes, including those that are not listed; lnc is that of the last one that
 * ran. */
static const char machine_sql[] =
    "SELECT (SELECT min(first_seen_ns) FROM process JOIN core_total USING (process_id)) AS "
    "first_ns,"
    " (SELECT max(last_seen_ns) FROM process JOIN core_total USING (process_id)) AS last_ns,"
    " (SELECT lnc FROM process JOIN core_total USING (process_id)"
    " ORDER BY last_seen_ns DESC LIMIT 1) AS lnc{execution|, add_up(%) AS %} FROM core_total";

static const char cores_sql[] = "SELECT core{core|, add_up(%) AS %} FROM core_total"
                                " WHERE core BETWEEN 0 AND :last GROUP BY core ORDER BY core";

static uint64_t number(sqlite3_stmt *statement, const char *column)
{
    int64_t value = (int64_t)ntk_store_sql_u64(statement, column);

    return value > 0 ? (uint64_t)value : 0;
}

static void take_executions(sqlite3_stmt *statement, struct ntk_count *to_outcome,
                            struct ntk_count *to_class)
{
    uint64_t outcome[NTK_OUTCOME_COUNT];
    uint64_t error_class[NTK_ERROR_CLASS_COUNT];

    ntk_store_executions_get(statement, number, outcome, error_class);
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        to_outcome[i].period = outcome[i];
    }
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        to_class[i].period = error_class[i];
    }
}

static void take_runtime(struct ntk_snapshot *snapshot, sqlite3_stmt *statement,
                         struct ntk_runtime_sample *runtime)
{
    *runtime = ntk_snapshot_no_runtime();
    runtime->tag = ntk_snapshot_text(snapshot, ntk_store_sql_word(statement, "tag"));
    runtime->pid = (uint32_t)number(statement, "pid");
    uint64_t from_ns = number(statement, "from_ns");
    uint64_t to_ns = number(statement, "to_ns");
    runtime->lnc = (uint32_t)number(statement, "lnc");
    runtime->uid = (uint32_t)number(statement, "uid");
    runtime->user = ntk_snapshot_text(snapshot, ntk_store_sql_word(statement, "user"));
    runtime->has = ntk_store_sql_known(statement, ntk_outcome_names[NTK_OUTCOME_COMPLETED])
                       ? NTK_RUNTIME_HAS_EXECUTIONS
                       : 0; /* not counted */
    runtime->group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS] = to_ns > from_ns ? to_ns - from_ns : 1;
    take_executions(statement, runtime->outcome, runtime->error_class);
}

static int load_machine(struct ntk_store_reader *reader, struct ntk_snapshot *snapshot,
                        struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret = ntk_columns_prepare(reader->db, machine_sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    if (sqlite3_step(statement) == SQLITE_ROW) {
        uint64_t first_ns = number(statement, "first_ns");
        snapshot->realtime_ns = number(statement, "last_ns");
        snapshot->hardware.lnc = (uint32_t)number(statement, "lnc");
        snapshot->period_ns =
            snapshot->realtime_ns > first_ns ? snapshot->realtime_ns - first_ns : 1;
        take_executions(statement, snapshot->outcome, snapshot->error_class);
        ret = snapshot->realtime_ns
                  ? 0
                  : ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "nothing has been counted yet");
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
    ntk_store_sql_bind(statement, "by_process", by_process);
    ntk_store_sql_bind(statement, "most", RUNTIMES_MAX);
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
    struct ntk_runtime_sample *to =
        ret == 0 ? ntk_snapshot_alloc_runtimes(snapshot, rows.count) : NULL;
    if (to) {
        memcpy(to, rows.items, rows.count * sizeof *to);
    } else if (ret == 0 && rows.count > 0) {
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
    ntk_store_sql_bind(statement, "last", CORES_MAX - 1);
    while (cores && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        struct ntk_core_sample *core = &cores[number(statement, "core")];

        for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
            const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

            if (!ntk_store_counts_have(NTK_STORE_COUNTS_CORE, row) ||
                !(row->has & TOTALS_OF_CORES) ||
                !ntk_store_sql_known(statement, ntk_store_count_name(row, 0))) {
                continue;
            }
            core->has |= row->has;
            for (size_t k = 0; k < row->count; k++) {
                core->counts[row->at + k].period = number(statement, ntk_store_count_name(row, k));
            }
        }
        snapshot->core_count = number(statement, "core") + 1;
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
        ret = load_machine(reader, snapshot, err);
        ret = ret < 0 ? ret : load_runtimes(reader, by_process, snapshot, err);
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
