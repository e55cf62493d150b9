/* SPDX-License-Identifier: MIT */
/*
 * query_groups - combines the rows of a table to groups with partial counts and sums, for
 * query_plan.h.
 *
 * Rows are counted as they are produced, so no table is built. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_QUERY_GROUPS_H
#define NTK_PROFILER_OUTPUT_TABLES_QUERY_GROUPS_H

#include <sqlite3.h>

#include "profiler/output/export.h"
#include "profiler/output/tables/query_plan.h"
#include "shared/base/progress.h"

/* Number of groups above which groups are not worthwhile, if they also exceed 1 in NTK_GROUPS_SHARE
 * rows. */
#define NTK_GROUPS_MANY 65536
#define NTK_GROUPS_SHARE 8

/* Replaces the empty table in db with the groups. Returns 1; 0 without changes if there are too
 * many, or if sums are too large to be exact; -errno. */
int ntk_query_groups_fill(sqlite3 *db, const struct ntk_export *export,
                          const struct ntk_table *table, const struct ntk_query_plan *plan,
                          struct ntk_progress *progress);

#endif
