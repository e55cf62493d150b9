/* SPDX-License-Identifier: MIT */
/*
 * query_plan - finds SELECTs that can be answered from groups of rows, and rewrites them.
 *
 *   SELECT opcode, count(*), sum(duration_ns) FROM Instruction WHERE pc > 3 GROUP BY opcode
 *
 * Rows with equal values in all columns read outside of count, sum, total, avg, min and max (the
 * keys: opcode, pc) are interchangeable. So SQLite only needs one row per group, with partial
 * counts and sums, and a statement that adds up partial values has the same answer. Only safe cases
 * are planned: one table, plain column names, and columns outside these calls that are in GROUP BY.
 * All other statements use all rows.
 *
 * Owner: ntk_query_plan_fini() frees the content, and accepts a zeroed struct. Threads: any; no
 *        state.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_QUERY_PLAN_H
#define NTK_PROFILER_OUTPUT_TABLES_QUERY_PLAN_H

#include "profiler/output/tables/table.h"

#define NTK_PLAN_KEYS_MAX 16
#define NTK_PLAN_PARTIALS_MAX 16

enum ntk_partial_kind {
    NTK_PARTIAL_ROWS,  /* number of rows in the group */
    NTK_PARTIAL_COUNT, /* number of rows that have the column */
    NTK_PARTIAL_SUM,   /* sum of integers; like the next two, absent if no row has a value */
    NTK_PARTIAL_MIN,
    NTK_PARTIAL_MAX,
};

struct ntk_partial {
    enum ntk_partial_kind kind;
    size_t column;   /* column of the table; unused for ROWS */
    bool is_divided; /* a sum that must be exact as a floating-point number */
};

struct ntk_query_plan {
    size_t table; /* index of the table */
    size_t key_count, partial_count;
    size_t keys[NTK_PLAN_KEYS_MAX]; /* columns of the table */
    /* Partial value i is called "ntk i" in the statement. */
    struct ntk_partial partials[NTK_PLAN_PARTIALS_MAX];
    char *sql;
};

/* Returns 1, or 0 if the statement is not planned; -ENOMEM. */
int ntk_query_plan_make(const struct ntk_table *tables, size_t table_count, const char *sql,
                        struct ntk_query_plan *out_plan);
void ntk_query_plan_fini(struct ntk_query_plan *plan);

#endif
