/* SPDX-License-Identifier: MIT */
/*
 * store_replay_state - shared by the parts that build a past moment. Private to shared/store.
 * Threads: one.
 *
 * Owner:   the caller finalizes statements; rows belong to the snapshot under construction.
 */
#ifndef NTK_SHARED_STORE_STORE_REPLAY_STATE_H
#define NTK_SHARED_STORE_STORE_REPLAY_STATE_H

#include "shared/store/store_reader_state.h"

/* The snapshot under construction. */
struct ntk_replay {
    sqlite3 *db;
    struct ntk_tier_extent extents[NTK_STORE_TIER_COUNT];
    enum ntk_store_tier tier;
    uint64_t time_ns; /* time of the rows */
    struct ntk_snapshot *snapshot;
    int64_t *process_ids; /* ids of the processes in snapshot->runtimes[] */
    struct ntk_histogram_dense dense;
    struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS];
};

/* Reads the text of a column by name; the snapshot owns it. */
const char *ntk_replay_text(const struct ntk_replay *replay, sqlite3_stmt *statement,
                            const char *column);
struct ntk_histogram ntk_replay_histogram(struct ntk_replay *replay, sqlite3_stmt *statement,
                                          const char *column);

/* Prepares "SELECT columns FROM (rows r of the family) rest", bound to :time_ns. */
int ntk_replay_prepare(const struct ntk_replay *replay, enum ntk_tier_family family,
                       const char *columns, const char *rest, sqlite3_stmt **out_statement,
                       struct ntk_err *err);
/* Prepares a separate statement, bound to :time_ns. */
int ntk_replay_prepare_plain(const struct ntk_replay *replay, const char *sql,
                             sqlite3_stmt **out_statement, struct ntk_err *err);
/* Returns 1 for a row, 0 at the end, or a negative value. */
int ntk_replay_next(const struct ntk_replay *replay, sqlite3_stmt *statement, struct ntk_err *err);

/* Adds a zeroed row to a list that becomes part of the snapshot. Returns NULL if out of memory, or
 * if the file has more rows of one kind for one moment than a machine can have. */
#define NTK_REPLAY_ROWS_MAX 32768
void *ntk_replay_add(struct ntk_vec *rows);

/* Returns NULL if the process has no sample at this moment. */
struct ntk_runtime_sample *ntk_replay_find_runtime(const struct ntk_replay *replay,
                                                   int64_t process_id);

/* Loads facts and readings of the machine. */
int ntk_replay_load_machine(struct ntk_replay *replay, struct ntk_err *err);
/* Loads the runtimes with their cores and executions, and adds these up in the machine's cores. */
int ntk_replay_load_runtimes(struct ntk_replay *replay, struct ntk_err *err);
/* Loads models, memory and events of the runtimes. */
int ntk_replay_load_details(struct ntk_replay *replay, struct ntk_err *err);

#endif
