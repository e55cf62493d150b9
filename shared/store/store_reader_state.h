/* SPDX-License-Identifier: MIT */
/*
 * store_reader_state - shared by the parts of the reader: reads a window across the tiers. Private
 * to shared/store. Threads: one at a time per reader.
 */
#ifndef NTK_SHARED_STORE_STORE_READER_STATE_H
#define NTK_SHARED_STORE_STORE_READER_STATE_H

#include <sqlite3.h>

#include "shared/base/vec.h"
#include "shared/store/store_file.h"
#include "shared/store/store_reader.h"
#include "shared/store/tier.h"

struct core_entries;

struct ntk_store_reader {
    sqlite3 *db;
    struct ntk_store_file file;
    sqlite3_stmt *totals;
    struct core_entries *entries; /* one for each core in the last answer */
    size_t entries_count;
};

/* A time range (from_ns, to_ns] of one tier. */
struct ntk_store_piece {
    enum ntk_store_tier tier;
    uint64_t from_ns;
    uint64_t to_ns;
};

/* Widens the window to whole steps; if step_ns is 0, it becomes the window's length. Returns
 * -EINVAL or -E2BIG on error. */
int ntk_store_window_align(struct ntk_store_window *window, struct ntk_err *err);
/* Finds the pieces (struct ntk_store_piece) that cover an aligned window, in order. */
int ntk_store_window_cut(struct ntk_store_reader *reader, const struct ntk_store_window *window,
                         bool whole, struct ntk_vec *pieces, struct ntk_err *err);
/* Appends "(SELECT ... UNION ALL SELECT ...)": the rows of the pieces with the columns of
 * ntk_tier_add_select() and row_step_ns, only those that match the filter's :process, :name (model
 * or job) and :user. */
void ntk_store_window_add_rows(struct ntk_buf *sql, const struct ntk_vec *pieces,
                               enum ntk_tier_family family, const struct ntk_store_filter *filter);
/* Appends " AND ..." for the columns of process, with the prefix before their names. */
void ntk_store_window_add_process(struct ntk_buf *sql, const char *prefix,
                                  const struct ntk_store_filter *filter);
/* Appends " AND ..." for the columns of a family that the filter uses. */
void ntk_store_window_add_filter(struct ntk_buf *sql, enum ntk_tier_family family,
                                 const struct ntk_store_filter *filter);
/* Binds :process, :name and :user if the statement has them. */
void ntk_store_window_bind(sqlite3_stmt *statement, const struct ntk_store_filter *filter);

/* Reads the histogram in a column by its name; entries has room for NTK_HISTOGRAM_BUCKETS. */
struct ntk_histogram ntk_store_reader_histogram(sqlite3_stmt *statement, const char *column,
                                                struct ntk_histogram_entry *entries);

#endif
