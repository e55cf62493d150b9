/* SPDX-License-Identifier: MIT */
/*
 * job - neuron-monitor job: what batch jobs held and what they made of it, from a database of the
 * agent.
 *
 * Which cores a job held is in the database (shared/store/store_jobs.h), and so does what ran on
 * them meanwhile; this adds up and writes. A table for people, every figure of one job below each
 * other, CSV or JSON.
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

/* One job, or all of a user. */
struct ntk_job_row {
    struct ntk_store_job job; /* texts last as long as whoever filled it says */
    uint64_t jobs;            /* in it */
    double device_watts;      /* of a device at full power; 0: not told */
};
/* Adds another job of the same user: what is unknown of one is unknown of the sum. */
void ntk_job_row_add(struct ntk_job_row *row, const struct ntk_store_job *job);

enum ntk_job_view {
    NTK_JOB_VIEW_SHORT, /* jobs, what fits a screen */
    NTK_JOB_VIEW_JOBS,  /* jobs, all that is known */
    NTK_JOB_VIEW_USERS,
};
/* The columns of a view, then a row for each. */
void ntk_job_table_begin(struct ntk_query_table *table, enum ntk_job_view view);
void ntk_job_table_add(struct ntk_query_table *table, enum ntk_job_view view,
                       const struct ntk_job_row *row);

#ifdef __cplusplus
}
#endif
#endif
