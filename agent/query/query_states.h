/* SPDX-License-Identifier: MIT */
/* query_states - answers about ranks, verdicts on them, idle time, and the health of devices. */
#ifndef NTK_AGENT_QUERY_QUERY_STATES_H
#define NTK_AGENT_QUERY_QUERY_STATES_H

#include "agent/query/query.h"

int ntk_query_answer_ranks(const struct ntk_query *query, struct ntk_query_table *table,
                           struct ntk_err *err);
int ntk_query_answer_verdicts(const struct ntk_query *query, struct ntk_query_table *table,
                              struct ntk_err *err);
int ntk_query_answer_idle(const struct ntk_query *query, struct ntk_query_table *table,
                          struct ntk_err *err);
/* States that held at some time of the window, including those that started before. */
int ntk_query_answer_health(const struct ntk_query *query, struct ntk_query_table *table,
                            struct ntk_err *err);

#endif
