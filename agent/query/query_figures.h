/* SPDX-License-Identifier: MIT */
/*
 * query_figures - answers queries about figures over time: for each core, or for a single series.
 *
 * Threads: one.
 */
#ifndef NTK_AGENT_QUERY_QUERY_FIGURES_H
#define NTK_AGENT_QUERY_QUERY_FIGURES_H

#include "agent/query/query.h"

int ntk_query_answer_cores(const struct ntk_query *query, struct ntk_query_table *table,
                           struct ntk_err *err);
int ntk_query_answer_series(const struct ntk_query *query, struct ntk_query_table *table,
                            struct ntk_err *err);

#endif
