/* SPDX-License-Identifier: MIT */
/* store_jobs - writes the resources of jobs as rows with their times. */
#include "shared/store/store_jobs.h"

#include <string.h>

#include "shared/base/bits.h"
#include "shared/base/str.h"
#include "shared/store/store_sql.h"

#define CORES_MAX NTK_SNAPSHOT_JOB_CORES_MAX /* physical cores, as many as there are logical ones */
#define TEXT_BYTES 256

struct open_job {
    int64_t key;
    union {
        struct {
#define NTK_JOB_TEXT(name, ...) char name[TEXT_BYTES];
#include "shared/metrics/job.def"
        };
        char texts[NTK_JOB_TEXTS][TEXT_BYTES]; /* the texts as a list */
    };
    uint64_t cores[NTK_BITS_WORDS(CORES_MAX)]; /* bit mask of cores with open rows */
    bool is_seen;                              /* is in the current snapshot */
};

#define LAST_SAMPLE                                                      \
    "max(time_ns, coalesce((SELECT max(s.time_ns) FROM machine_sample s" \
    " WHERE s.time_ns < :time_ns), :time_ns))"

static const char find_sql[] = "SELECT * FROM job"
                               " WHERE to_ns IS NULL ORDER BY time_ns DESC LIMIT 1024";
static const char find_cores_sql[] =
    "SELECT core FROM job_core WHERE job_key = :job_key AND to_ns IS NULL";
/* The end of the same job's earlier time, if it was seen before; its file may be older than
 * that. */
static const char ended_sql[] = "SELECT coalesce(max(to_ns), 0) AS ended_ns FROM job"
                                " WHERE job_id = :job_id AND cluster = :cluster";
static const char add_sql[] = "INSERT INTO job (time_ns, lnc"
#define NTK_JOB_TEXT(name, column, ...) ", " column
#include "shared/metrics/job.def"
                              ") VALUES (:time_ns, :lnc"
#define NTK_JOB_TEXT(name, column, ...) ", :" column
#include "shared/metrics/job.def"
                              ")";
static const char name_sql[] = "UPDATE job SET job_key = :job_key"
#define NTK_JOB_TEXT(name, column, ...) ", " column " = :" column
#include "shared/metrics/job.def"
                               " WHERE job_key = :job_key";
static const char add_core_sql[] =
    "INSERT OR REPLACE INTO job_core VALUES (:job_key, :core, :time_ns, NULL)";
#define OPEN " WHERE job_key = :job_key AND to_ns IS NULL"
static const char close_core_sql[] =
    "UPDATE job_core SET to_ns = max(time_ns, :time_ns)" OPEN " AND core = :core";
static const char *const close_sql[] = {
    "UPDATE job_core SET to_ns = max(time_ns, :time_ns)" OPEN,
    "UPDATE job SET to_ns = max(time_ns, :time_ns)" OPEN,
};
/* Closes rows of an earlier agent. */
static const char *const close_old_sql[] = {
    "UPDATE job_core SET to_ns = " LAST_SAMPLE OPEN,
    "UPDATE job SET to_ns = " LAST_SAMPLE OPEN,
};

void ntk_store_jobs_reset(struct ntk_store_jobs *jobs)
{
    ntk_vec_fini(&jobs->open);
    memset(jobs, 0, sizeof *jobs);
}

/* -- open rows --------------------------------------------------------------------------------- */

static int load_cores(sqlite3 *db, struct open_job *open, struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare(db, find_cores_sql, &statement, err);

    if (ret == 0) {
        ntk_store_sql_bind(statement, "job_key", (uint64_t)open->key);
    }
    while (ret == 0 && ntk_store_sql_next(db, statement, &ret, err)) {
        sqlite3_int64 core = (int64_t)ntk_store_sql_u64(statement, "core");
        if (core >= 0 && core < (sqlite3_int64)CORES_MAX) {
            ntk_bits_add(open->cores, (size_t)core);
        }
    }
    sqlite3_finalize(statement);
    return ret;
}

static int load(struct ntk_store_jobs *jobs, sqlite3 *db, struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare(db, find_sql, &statement, err);

    ntk_vec_init(&jobs->open, sizeof(struct open_job));
    while (ret == 0 && ntk_store_sql_next(db, statement, &ret, err)) {
        struct open_job *open = ntk_vec_add(&jobs->open);

        if (!open) {
            ret = ntk_err_no_memory(err);
            break;
        }
        open->key = (int64_t)ntk_store_sql_u64(statement, "job_key");
        for (size_t i = 0; i < NTK_JOB_TEXTS; i++) {
            ntk_str_copy(open->texts[i], TEXT_BYTES,
                         ntk_store_sql_text(statement, ntk_job_texts[i].column));
        }
        ret = load_cores(db, open, err);
    }
    sqlite3_finalize(statement);
    return ret;
}

/* -- changes ----------------------------------------------------------------------------------- */

struct number {
    const char *name; /* name of the parameter */
    uint64_t value;
};

/* Runs a statement with numbers, and with the texts of the job (NULL: none). */
static int run(sqlite3 *db, const char *sql, const struct number *numbers, size_t number_count,
               const struct open_job *texts, uint64_t *row_count, struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare(db, sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    for (size_t i = 0; i < number_count; i++) {
        ntk_store_sql_bind(statement, numbers[i].name, ntk_store_sql_integer(numbers[i].value));
    }
    for (size_t i = 0; texts && i < NTK_JOB_TEXTS; i++) {
        ntk_store_sql_bind_text(statement, ntk_job_texts[i].column, texts->texts[i]);
    }
    return ntk_store_sql_finish(db, statement, row_count, err);
}

/* Finds the start of a job. A job that disappeared and returns is continued; it never gets the same
 * core twice. */
static int find_since(sqlite3 *db, const struct open_job *open, uint64_t *since_ns,
                      struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare(db, ended_sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    ntk_store_sql_bind_text(statement, "job_id", open->id);
    ntk_store_sql_bind_text(statement, "cluster", open->cluster);
    if (sqlite3_step(statement) == SQLITE_ROW) {
        sqlite3_int64 ended_ns = (int64_t)ntk_store_sql_u64(statement, "ended_ns");
        *since_ns = ended_ns > 0 && (uint64_t)ended_ns > *since_ns ? (uint64_t)ended_ns : *since_ns;
    } else {
        ret = ntk_store_sql_error(db, "database", err);
    }
    sqlite3_finalize(statement);
    return ret;
}

static int add_job(struct ntk_store_jobs *jobs, sqlite3 *db, const struct ntk_job *job,
                   uint32_t lnc, struct open_job **out_open, uint64_t *since_ns,
                   uint64_t *row_count, struct ntk_err *err)
{
    struct open_job *open = ntk_vec_add(&jobs->open);

    if (!open) {
        return ntk_err_no_memory(err);
    }
    for (size_t i = 0; i < NTK_JOB_TEXTS; i++) {
        ntk_str_copy(open->texts[i], TEXT_BYTES, job->texts[i]);
    }
    int ret = find_since(db, open, since_ns, err);
    const struct number numbers[] = { { "time_ns", *since_ns }, { "lnc", lnc } };
    ret = ret < 0 ? ret : run(db, add_sql, numbers, 2, open, row_count, err);
    open->key = sqlite3_last_insert_rowid(db);
    *out_open = open;
    return ret;
}

/* Stores facts about a job that arrive after its first core. */
static int name_job(sqlite3 *db, struct open_job *open, const struct ntk_job *job,
                    uint64_t *row_count, struct ntk_err *err)
{
    const struct number key = { "job_key", (uint64_t)open->key };
    bool is_new = false;

    for (size_t i = 0; i < NTK_JOB_TEXTS; i++) {
        if (job->texts[i][0] && strncmp(open->texts[i], job->texts[i], TEXT_BYTES - 1) != 0) {
            ntk_str_copy(open->texts[i], TEXT_BYTES, job->texts[i]);
            is_new = true;
        }
    }
    return is_new ? run(db, name_sql, &key, 1, open, row_count, err) : 0;
}

/* Writes changes of cores: new ones begin at began_ns, and missing ones end with the period. */
static int write_cores(sqlite3 *db, struct open_job *open, const struct ntk_job *job, uint32_t lnc,
                       uint64_t began_ns, uint64_t now_ns, uint64_t *row_count, struct ntk_err *err)
{
    uint64_t cores[NTK_BITS_WORDS(CORES_MAX)] = { 0 };
    int ret = 0;

    for (size_t i = 0; i < job->core_count; i++) {
        for (uint64_t k = 0; k < lnc; k++) {
            uint64_t core = (uint64_t)job->cores[i] * lnc + k;
            if (core < CORES_MAX) {
                ntk_bits_add(cores, core);
            }
        }
    }
    for (uint64_t core = 0; core < CORES_MAX && ret == 0; core++) {
        bool is_held = ntk_bits_has(cores, core);
        bool was_held = ntk_bits_has(open->cores, core);
        const struct number numbers[] = { { "job_key", (uint64_t)open->key },
                                          { "core", core },
                                          { "time_ns", is_held ? began_ns : now_ns } };

        if (is_held != was_held) {
            ret =
                run(db, is_held ? add_core_sql : close_core_sql, numbers, 3, NULL, row_count, err);
        }
    }
    if (ret == 0) {
        memcpy(open->cores, cores, sizeof cores);
    }
    return ret;
}

static struct open_job *find(struct ntk_store_jobs *jobs, const struct ntk_job *job)
{
    ntk_vec_each(struct open_job, open, &jobs->open) {
        if (!open->is_seen && strncmp(open->id, job->id, TEXT_BYTES - 1) == 0 &&
            strncmp(open->cluster, job->cluster, TEXT_BYTES - 1) == 0) {
            return open;
        }
    }
    return NULL;
}

static int write_job(struct ntk_store_jobs *jobs, sqlite3 *db, const struct ntk_snapshot *snapshot,
                     const struct ntk_job *job, uint64_t *row_count, struct ntk_err *err)
{
    uint32_t lnc = snapshot->hardware.lnc ? snapshot->hardware.lnc : 1;
    uint64_t now_ns = snapshot->realtime_ns;
    /* A core that is added later was there for at most this period. */
    uint64_t began_ns = now_ns > snapshot->period_ns ? now_ns - snapshot->period_ns : 0;
    struct open_job *open = find(jobs, job);
    int ret;

    if (!open) {
        began_ns = job->since_ns;
        ret = add_job(jobs, db, job, lnc, &open, &began_ns, row_count, err);
    } else {
        ret = name_job(db, open, job, row_count, err);
    }
    if (ret < 0) {
        return ret;
    }
    open->is_seen = true;
    began_ns = began_ns > job->since_ns ? began_ns : job->since_ns;
    return write_cores(db, open, job, lnc, began_ns, now_ns, row_count, err);
}

int ntk_store_jobs_write(struct ntk_store_jobs *jobs, sqlite3 *db,
                         const struct ntk_snapshot *snapshot, uint64_t *row_count,
                         struct ntk_err *err)
{
    bool is_first = !jobs->is_loaded;
    int ret = is_first ? load(jobs, db, err) : 0;

    if (ret < 0) {
        ntk_store_jobs_reset(jobs);
        return ret;
    }
    jobs->is_loaded = true;
    ntk_vec_each(struct open_job, open, &jobs->open) {
        open->is_seen = false;
    }
    for (size_t i = 0; i < snapshot->jobs.count && ret == 0; i++) {
        ret = write_job(jobs, db, snapshot, &snapshot->jobs.rows[i], row_count, err);
    }
    for (size_t i = jobs->open.count; i-- > 0 && ret == 0;) {
        const struct open_job *open = ntk_vec_at(&jobs->open, i);
        const struct number numbers[] = { { "job_key", (uint64_t)open->key },
                                          { "time_ns", snapshot->realtime_ns } };

        if (open->is_seen) {
            continue;
        }
        for (size_t k = 0; k < sizeof close_sql / sizeof *close_sql && ret == 0; k++) {
            ret = run(db, is_first ? close_old_sql[k] : close_sql[k], numbers, 2, NULL, row_count,
                      err);
        }
        ntk_vec_remove(&jobs->open, i);
    }
    return ret;
}
