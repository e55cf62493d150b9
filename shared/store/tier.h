/* SPDX-License-Identifier: MIT */
/*
 * tier - the three resolutions of the store, and how rows of one are merged into the next.
 *
 * Each family of samples has a table per tier: x_sample (a row per second), x_minute, x_hour. A
 * tier's row belongs to the step that ends at its time_ns and is computed from the rows of the tier
 * below with a time_ns in the step: sums, maxima, newest values, merged histograms. Nothing is
 * averaged.
 *
 * The rows of every tier can be read with the same columns: ntk_tier_add_select().
 * Private to shared/store. Threads: one at a time per connection.
 */
#ifndef NTK_SHARED_STORE_TIER_H
#define NTK_SHARED_STORE_TIER_H

#include <sqlite3.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/store/store.h"

enum ntk_tier_family {
    NTK_FAMILY_MACHINE = 0,
    NTK_FAMILY_DEVICE = 1,
    NTK_FAMILY_PROCESS = 2,
    NTK_FAMILY_CORE = 3,
    NTK_FAMILY_EXECUTION = 4,
    NTK_FAMILY_MODEL = 5,
    NTK_FAMILY_RANK = 6,
    NTK_FAMILY_COUNT
};

extern const char *const ntk_tier_names[NTK_STORE_TIER_COUNT]; /* same names as in the table tier */
extern const uint64_t ntk_tier_step_ns[NTK_STORE_TIER_COUNT];
extern const uint64_t ntk_tier_keep_ns[NTK_STORE_TIER_COUNT]; /* default retention */
extern const double ntk_tier_shares[NTK_STORE_TIER_COUNT]; /* shares of a file that is too large */

extern const char *const ntk_tier_families[NTK_FAMILY_COUNT]; /* such as "machine" */
/* Such as "_minute": the name of a table is the family's name and this suffix. */
extern const char *const ntk_tier_suffixes[NTK_STORE_TIER_COUNT];

/* What the table tier records: the tier is complete in (first_ns, done_ns]. done_ns is 0 before the
 * first merge, and INT64_MAX for seconds. */
struct ntk_tier_extent {
    uint64_t first_ns;
    uint64_t done_ns;
};

/* Reads the extents of all tiers. -EBADMSG: the table is incomplete. */
int ntk_tier_load_extents(sqlite3 *db, struct ntk_tier_extent *extents, struct ntk_err *err);

/* The start of the step that contains a sample at time_ns; steps are (start, start + step]. */
uint64_t ntk_tier_start(enum ntk_store_tier tier, uint64_t time_ns);

/* Appends "SELECT time_ns, ... FROM x_minute": the columns of the coarser tiers, without
 * percentiles. */
void ntk_tier_add_select(struct ntk_buf *sql, enum ntk_tier_family family,
                         enum ntk_store_tier tier);
/* Appends `before` and the columns that identify a row next to time_ns, with commas. */
void ntk_tier_add_keys(struct ntk_buf *sql, enum ntk_tier_family family, const char *before);
/* Appends the INSERT that computes the rows of one step of `tier` from the tier below, with
 * parameters :start_ns and :end_ns. */
void ntk_tier_add_merge(struct ntk_buf *sql, enum ntk_tier_family family, enum ntk_store_tier tier);

/*
 * SQL functions that the statements above and the reader use:
 * add_up(x)                   sum, at most the largest integer instead of failing; NULL of nothing
 * newest(x, time_ns)          the x of the largest time_ns that is not NULL
 * histogram_merge(blob)       all histograms as one BLOB; NULL of nothing; skips malformed ones
 * histogram_percentile(b, p)  ns, NULL for an empty or malformed one
 * and the packed tables (packed.h).
 */
int ntk_tier_add_functions(sqlite3 *db, struct ntk_err *err);

#endif
