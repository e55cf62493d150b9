/* SPDX-License-Identifier: MIT */
/*
 * job - neuron-monitor job: the resources of batch jobs and how they used them, from a database of
 * the agent.
 *
 * The database has the cores of a job (shared/store/store_jobs.h) and what ran on them; this module
 * adds it up and writes a table, a list for one job, CSV or JSON.
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

/* The whole subcommand; argv[0] is "job". The exit code. */
int ntk_job_main(int argc, char **argv);

/* One job, or all jobs of a user. */
struct ntk_job_row {
    struct ntk_store_job job; /* texts live as long as their owner says */
    uint64_t jobs;            /* in it */
    double device_watts;      /* of a device at full power; 0: unknown */
};
/* Adds another job of the same user: a figure unknown for one is unknown in the sum. */
void ntk_job_row_add(struct ntk_job_row *row, const struct ntk_store_job *job);

enum ntk_job_view {
    NTK_JOB_VIEW_SHORT, /* jobs, as wide as a screen */
    NTK_JOB_VIEW_JOBS,  /* jobs, all figures */
    NTK_JOB_VIEW_USERS,
};
/* The columns of a view, and a row for each job or user. */
void ntk_job_table_begin(struct ntk_query_table *table, enum ntk_job_view view);
void ntk_job_table_add(struct ntk_query_table *table, enum ntk_job_view view,
                       const struct ntk_job_row *row);

#ifdef __cplusplus
}
#endif
#endif
