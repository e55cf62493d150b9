/* SPDX-License-Identifier: MIT */
/*
 * page_sql - the inputs of queries on the page: the options of `neuron-profile query` that open
 * what the page shows.
 *
 * Owner:   caller's storage, zeroed is empty; _fini() frees. Texts are borrowed.
 */
#ifndef NTK_PROFILER_CMD_PAGE_SQL_H
#define NTK_PROFILER_CMD_PAGE_SQL_H

#include "profiler/cmd/cmd.h"
#include "profiler/timeline/timeline_sql.h"
#include "shared/base/vec.h"

struct ntk_page_sql {
    struct ntk_vec sources; /* of struct ntk_timeline_sql_source */
};

void ntk_page_sql_init(struct ntk_page_sql *sql);
void ntk_page_sql_fini(struct ntk_page_sql *sql);
/* Adds a capture with the NEFF of the options, or the one next to it if neff is NULL. 0 or
 * -ENOMEM. */
int ntk_page_sql_add(struct ntk_page_sql *sql, const struct ntk_page_options *options,
                     const struct ntk_profile *profile, const char *name, const char *neff);
/* Adds the folder of the options; it has the system tables. */
int ntk_page_sql_add_folder(struct ntk_page_sql *sql, const struct ntk_page_options *options);

#endif
