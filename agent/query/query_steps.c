/* SPDX-License-Identifier: MIT */
#include "agent/query/query_steps.h"

void ntk_query_step_columns(struct ntk_query_table *table)
{
    ntk_query_table_add_column(table, NTK_QUERY_TIME, "from");
    ntk_query_table_add_column(table, NTK_QUERY_TIME, "to");
    ntk_query_table_add_column(table, NTK_QUERY_SECONDS, "watched_seconds");
}

void ntk_query_add_step(struct ntk_query_table *table, uint64_t start_ns, uint64_t end_ns,
                        uint64_t covered_ns)
{
    ntk_query_table_add_count(table, true, start_ns);
    ntk_query_table_add_count(table, true, end_ns);
    ntk_query_table_add_count(table, true, covered_ns);
}

bool ntk_query_has_running(const struct ntk_query *query)
{
    return query->filter.process || query->filter.user || query->filter.model;
}

void ntk_query_rate_columns(const struct ntk_query *query, struct ntk_query_table *table)
{
    ntk_query_step_columns(table);
    if (ntk_query_has_running(query)) {
        ntk_query_table_add_column(table, NTK_QUERY_SECONDS, "running_seconds");
    }
}

void ntk_query_add_running(const struct ntk_query *query, struct ntk_query_table *table,
                           bool is_watched, bool is_running, uint64_t running_ns)
{
    if (ntk_query_has_running(query)) {
        ntk_query_table_add_count(table, is_watched, is_running ? running_ns : 0);
    }
}

void ntk_query_add_point_step(const struct ntk_query *query, struct ntk_query_table *table,
                              const struct ntk_store_point *point)
{
    ntk_query_add_step(table, point->start_ns, point->end_ns, point->covered_ns);
    ntk_query_add_running(query, table, point->covered_ns > 0, point->is_running,
                          point->running_ns);
}
