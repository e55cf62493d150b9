/* SPDX-License-Identifier: MIT */
/*
 * idle_sample - converts the result of an observation to rows: the largest causes, and one row for
 * the rest.
 *
 * Owner:   the sample borrows the texts of the records, and the array of causes.
 */
#ifndef NTK_AGENT_IDLE_IDLE_SAMPLE_H
#define NTK_AGENT_IDLE_IDLE_SAMPLE_H

#include "shared/hostwork/hostwork.h"
#include "shared/metrics/snapshot_idle.h"

#define NTK_IDLE_REST "rest" /* cause of the last row, if there are more causes */

/* The caller sets key and time of the sample. */
void ntk_idle_sample_make(const struct ntk_host_records *records,
                          const struct ntk_host_result *result, struct ntk_idle_sample *out_sample,
                          struct ntk_idle_cause out_causes[NTK_SNAPSHOT_IDLE_CAUSES_MAX]);

#endif
