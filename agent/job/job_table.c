/* SPDX-License-Identifier: MIT */
/* job_table - writes the figures of a job or user as columns. */
#include "agent/job/job.h"
#include "shared/base/clock.h"

#define NS_PER_HOUR (3600.0 * NTK_NS_PER_SECOND)

#define IN_SHORT (1u << NTK_JOB_VIEW_SHORT)
#define IN_JOBS (1u << NTK_JOB_VIEW_JOBS)
#define IN_USERS (1u << NTK_JOB_VIEW_USERS)
#define ANY_JOB (IN_SHORT | IN_JOBS)
#define ALL (ANY_JOB | IN_USERS)

static double hours(uint64_t ns)
{
    return (double)ns / NS_PER_HOUR;
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static uint64_t executions_of(const struct ntk_store_job *job)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        sum += job->outcome[i];
    }
    return sum;
}

static uint64_t errors_of(const struct ntk_store_job *job)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        sum += job->error_class[i];
    }
    return sum;
}

#define ECC_UNCORRECTED (1u << NTK_ECC_MEM_UNCORRECTED | 1u << NTK_ECC_SRAM_UNCORRECTED)
#define ECC_CORRECTED (1u << NTK_ECC_MEM_CORRECTED | 1u << NTK_ECC_SRAM_CORRECTED)

static void add_ecc(struct ntk_query_table *table, const struct ntk_store_job *job, uint32_t kinds)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < NTK_ECC_COUNT; i++) {
        sum += job->ecc_has & kinds & 1u << i ? job->ecc[i] : 0;
    }
    ntk_query_table_add_count(table, job->ecc_has & kinds, sum);
}

/* ---- a column each ---- */

static void add_id(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_text(t, row->job.id);
}

static void add_user(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_text(t, row->job.user);
}

static void add_name(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_text(t, row->job.name);
}

static void add_partition(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_text(t, row->job.partition);
}

static void add_cluster(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_text(t, row->job.cluster);
}

static void add_jobs(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_count(t, true, row->jobs);
}

static void add_began(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_count(t, true, row->job.from_ns);
}

static void add_ended(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_count(t, row->job.is_ended, row->job.to_ns);
}

static void add_runs(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_count(t, true, row->job.runs);
}

static void add_cores(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_count(t, true, row->job.core_count / row->job.lnc);
}

static void add_core_hours(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_number(t, true, hours(row->job.held_ns));
}

static void add_watched(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_number(t, row->job.held_ns > 0,
                               share((double)row->job.watched_ns, (double)row->job.held_ns));
}

static void add_used_hours(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_number(t, row->job.has_used, hours(row->job.used_ns));
}

static void add_used(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    const struct ntk_store_job *job = &row->job;

    ntk_query_table_add_number(t, job->has_used && job->watched_ns > 0,
                               share((double)job->used_watched_ns, (double)job->watched_ns));
}

static void add_coarse(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_count(t, true, row->job.is_coarse);
}

static void add_executions(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_count(t, row->job.has_executions, executions_of(&row->job));
}

static void add_errors(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_count(t, row->job.has_executions, errors_of(&row->job));
}

static void add_uncorrected(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    add_ecc(t, &row->job, ECC_UNCORRECTED);
}

static void add_corrected(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    add_ecc(t, &row->job, ECC_CORRECTED);
}

static void add_memory(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_count(t, row->job.has_memory, row->job.memory_bytes_max);
}

static void add_mfu(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    const struct ntk_store_job *job = &row->job;

    ntk_query_table_add_number(t, job->has_flops && job->has_peak && job->peak_flops > 0,
                               share(job->effective_flops, job->peak_flops));
}

static void add_power(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    const struct ntk_store_job *job = &row->job;

    ntk_query_table_add_number(t, job->has_power,
                               share((double)job->full_power_ns, (double)job->power_known_ns));
}

static void add_device_hours(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_number(t, row->job.has_power, hours(row->job.full_power_ns));
}

static void add_energy(struct ntk_query_table *t, const struct ntk_job_row *row)
{
    ntk_query_table_add_number(t, row->job.has_power && row->device_watts > 0,
                               hours(row->job.full_power_ns) * row->device_watts / 1000);
}

/* Columns in the order of the output. */
static const struct {
    const char *name;
    enum ntk_query_kind kind;
    uint32_t views;
    void (*add)(struct ntk_query_table *table, const struct ntk_job_row *row);
} columns[] = {
    { "job_id", NTK_QUERY_TEXT, ANY_JOB, add_id },
    { "user", NTK_QUERY_TEXT, ALL, add_user },
    { "name", NTK_QUERY_TEXT, ANY_JOB, add_name },
    { "partition", NTK_QUERY_TEXT, IN_JOBS, add_partition },
    { "cluster", NTK_QUERY_TEXT, IN_JOBS, add_cluster },
    { "jobs", NTK_QUERY_COUNT, IN_USERS, add_jobs },
    { "began", NTK_QUERY_TIME, ANY_JOB, add_began },
    { "ended", NTK_QUERY_TIME, ANY_JOB, add_ended },
    { "runs", NTK_QUERY_COUNT, IN_JOBS, add_runs },
    { "cores", NTK_QUERY_COUNT, ANY_JOB, add_cores },
    { "core_hours", NTK_QUERY_DECIMAL, ALL, add_core_hours },
    { "watched_ratio", NTK_QUERY_RATIO, IN_JOBS | IN_USERS, add_watched },
    { "used_core_hours", NTK_QUERY_DECIMAL, IN_JOBS | IN_USERS, add_used_hours },
    { "used_ratio", NTK_QUERY_RATIO, ALL, add_used },
    { "estimated", NTK_QUERY_ESTIMATED, ALL, add_coarse },
    { "executions", NTK_QUERY_COUNT, ALL, add_executions },
    { "errors", NTK_QUERY_COUNT, ALL, add_errors },
    { "ecc_uncorrected", NTK_QUERY_COUNT, ALL, add_uncorrected },
    { "ecc_corrected", NTK_QUERY_COUNT, IN_JOBS | IN_USERS, add_corrected },
    { "memory_max_bytes", NTK_QUERY_BYTES, ALL, add_memory },
    { "mfu_ratio", NTK_QUERY_RATIO, ALL, add_mfu },
    { "power_ratio", NTK_QUERY_RATIO, ALL, add_power },
    { "full_power_device_hours", NTK_QUERY_DECIMAL, IN_JOBS | IN_USERS, add_device_hours },
    { "energy_kwh", NTK_QUERY_DECIMAL, ALL, add_energy },
};
#define COLUMN_COUNT (sizeof columns / sizeof *columns)

void ntk_job_table_begin(struct ntk_query_table *table, enum ntk_job_view view)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (columns[i].views & 1u << view) {
            ntk_query_table_add_column(table, columns[i].kind, columns[i].name);
        }
    }
}

void ntk_job_table_add(struct ntk_query_table *table, enum ntk_job_view view,
                       const struct ntk_job_row *row)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (columns[i].views & 1u << view) {
            columns[i].add(table, row);
        }
    }
}

void ntk_job_row_add(struct ntk_job_row *row, const struct ntk_store_job *job)
{
    struct ntk_store_job *sum = &row->job;
    uint64_t most = sum->memory_bytes_max > job->memory_bytes_max ? sum->memory_bytes_max
                                                                  : job->memory_bytes_max;

    row->jobs++;
    if (row->jobs == 1) {
        const char *user = sum->user;

        *sum = *job;
        sum->user = user;
        return;
    }
    sum->is_coarse |= job->is_coarse;
    sum->held_ns += job->held_ns;
    sum->watched_ns += job->watched_ns;
    sum->has_used &= job->has_used;
    sum->used_ns += job->used_ns;
    sum->used_watched_ns += job->used_watched_ns;
    sum->has_executions &= job->has_executions;
    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        sum->outcome[i] += job->outcome[i];
    }
    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        sum->error_class[i] += job->error_class[i];
    }
    sum->ecc_has &= job->ecc_has;
    for (size_t i = 0; i < NTK_ECC_COUNT; i++) {
        sum->ecc[i] += job->ecc[i];
    }
    sum->has_memory &= job->has_memory;
    sum->memory_bytes_max = most;
    sum->has_flops &= job->has_flops;
    sum->effective_flops += job->effective_flops;
    sum->has_peak &= job->has_peak;
    sum->peak_flops += job->peak_flops;
    sum->has_power &= job->has_power;
    sum->full_power_ns += job->full_power_ns;
    sum->power_known_ns += job->power_known_ns;
}
