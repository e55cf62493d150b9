/* SPDX-License-Identifier: MIT */
/* query_states - answers queries about ranks, their verdicts, idle time, and the health of
 * devices. */
#ifndef NTK_AGENT_QUERY_QUERY_STATES_H
#define NTK_AGENT_QUERY_QUERY_STATES_H

#include "agent/query/query.h"

int ntk_query_answer_ranks(const struct ntk_query *query, struct ntk_query_table *table,
                           struct ntk_err *err);
int ntk_query_answer_verdicts(const struct ntk_query *query, struct ntk_query_table *table,
                              struct ntk_err *err);
int ntk_query_answer_idle(const struct ntk_query *query, struct ntk_query_table *table,
                          struct ntk_err *err);
/* Lists states that held at some time in the window, including states that started before. */
int ntk_query_answer_health(const struct ntk_query *query, struct ntk_query_table *table,
                            struct ntk_err *err);

#endif
