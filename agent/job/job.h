/* SPDX-License-Identifier: MIT */
/*
 * job - implements neuron-monitor job: the resources of batch jobs and their use, from a database
 * of the agent.
 *
 * The database has the cores of a job (shared/store/store_jobs.h) and the activity on them; this
 * module adds up the figures and writes a table, a list for one job, CSV or JSON.
 *
 * Threads: one.
 */
#ifndef NTK_AGENT_JOB_JOB_H
#define NTK_AGENT_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/query/query_table.h"
#include "shared/store/store_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the subcommand; argv[0] is "job". Returns the exit code. */
int ntk_job_main(int argc, char **argv);

/* One job, or all jobs of a user. */
struct ntk_job_row {
    struct ntk_store_job job; /* the texts are borrowed */
    uint64_t jobs;            /* number of jobs in the row */
    double device_watts;      /* power of a device at full load; 0 if unknown */
};
/* Adds another job of the same user: a figure that is unknown for one job is unknown in the sum. */
void ntk_job_row_add(struct ntk_job_row *row, const struct ntk_store_job *job);

enum ntk_job_view {
    NTK_JOB_VIEW_SHORT, /* jobs, no wider than a screen */
    NTK_JOB_VIEW_JOBS,  /* jobs with all figures */
    NTK_JOB_VIEW_USERS,
};
/* Add the columns of a view, and a row for each job or user. */
void ntk_job_table_begin(struct ntk_query_table *table, enum ntk_job_view view);
void ntk_job_table_add(struct ntk_query_table *table, enum ntk_job_view view,
                       const struct ntk_job_row *row);

#ifdef __cplusplus
}
#endif
#endif
