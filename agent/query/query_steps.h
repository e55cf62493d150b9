/* SPDX-License-Identifier: MIT */
/*
 * query_steps - writes the first columns of answers with steps: the time, the part of it that the
 * agent watched, and the part in which the selected processes ran.
 *
 * Threads: one.
 */
#ifndef NTK_AGENT_QUERY_QUERY_STEPS_H
#define NTK_AGENT_QUERY_QUERY_STEPS_H

#include "agent/query/query.h"

void ntk_query_step_columns(struct ntk_query_table *table);
void ntk_query_add_step(struct ntk_query_table *table, uint64_t start_ns, uint64_t end_ns,
                        uint64_t covered_ns);

/* Returns true if the query selects processes: their shares and rates refer to the time in which
 * they ran, and the answer shows it. */
bool ntk_query_has_running(const struct ntk_query *query);
/* Adds the columns for shares and rates. */
void ntk_query_rate_columns(const struct ntk_query *query, struct ntk_query_table *table);
/* Adds nothing if the query selects no processes. */
void ntk_query_add_running(const struct ntk_query *query, struct ntk_query_table *table,
                           bool is_watched, bool is_running, uint64_t running_ns);
/* Add both for ntk_query_rate_columns(). */
void ntk_query_add_point_step(const struct ntk_query *query, struct ntk_query_table *table,
                              const struct ntk_store_point *point);

#endif
