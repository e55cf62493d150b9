/* SPDX-License-Identifier: MIT */
/*
 * page_sql - collects inputs for queries on the page: the options of `neuron-profile query` that
 * open the same data as the page.
 *
 * Owner:   the caller provides the storage, zeroed if empty; _fini() frees the content. Texts are
 *          borrowed.
 */
#ifndef NTK_PROFILER_CMD_PAGE_SQL_H
#define NTK_PROFILER_CMD_PAGE_SQL_H

#include "profiler/cmd/cmd.h"
#include "profiler/timeline/timeline_sql.h"
#include "shared/base/vec.h"

struct ntk_page_sql {
    struct ntk_vec sources; /* elements are struct ntk_timeline_sql_source */
};

void ntk_page_sql_init(struct ntk_page_sql *sql);
void ntk_page_sql_fini(struct ntk_page_sql *sql);
/* Adds a capture with the NEFF of the options, or the NEFF in its folder if neff is NULL. Returns 0
 * or
 * -ENOMEM. */
int ntk_page_sql_add(struct ntk_page_sql *sql, const struct ntk_page_options *options,
                     const struct ntk_profile *profile, const char *name, const char *neff);
/* Adds the folder of the options; it has the system tables. */
int ntk_page_sql_add_folder(struct ntk_page_sql *sql, const struct ntk_page_options *options);

#endif
