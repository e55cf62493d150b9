/* SPDX-License-Identifier: MIT */
/*
 * attribute_rows - sums up pieces by cause, thread and function: private to attribute.c.
 *
 * The running time of a thread is exact, but its functions are only known from samples. So its
 * running time is divided in proportion to the samples.
 *
 * Owner: caller's storage; _fini() frees. Threads: one.
 */
#ifndef NTK_SHARED_HOSTWORK_ATTRIBUTE_ROWS_H
#define NTK_SHARED_HOSTWORK_ATTRIBUTE_ROWS_H

#include "shared/hostwork/hostwork.h"

/* Sum of time in gaps; the pieces of one gap must be added consecutively. */
struct ntk_host_gap_sum {
    struct ntk_host_share share;
    uint32_t gap_plus_one;
    uint64_t in_gap_ns;
};

struct ntk_host_rows {
    struct ntk_host_records *records;
    struct ntk_host_result *result;
    struct ntk_map keys;    /* maps a key to 1 + index in sums */
    struct ntk_vec sums;    /* elements are struct sum: pieces of threads that do not run */
    struct ntk_map runners; /* maps a tid to 1 + index in running */
    struct ntk_vec running; /* elements are struct running */
    struct ntk_map hit_keys;
    struct ntk_vec hits; /* elements are struct hit: samples in running pieces */
    /* taken from the result until _finish() */
    struct ntk_host_gap_sum causes[NTK_HOST_CAUSE_COUNT];
};

void ntk_host_rows_init(struct ntk_host_rows *rows, struct ntk_host_records *records,
                        struct ntk_host_result *result);
void ntk_host_rows_fini(struct ntk_host_rows *rows);
/* Adds a piece; pieces of one gap must be added consecutively. Returns 0 or -ENOMEM. */
int ntk_host_rows_add(struct ntk_host_rows *rows, const struct ntk_host_piece *piece);
/* Adds a sample in a running piece of the gap. */
int ntk_host_rows_hit(struct ntk_host_rows *rows, const struct ntk_host_sample *sample,
                      uint32_t gap);
/* Fills causes, rows, flames and steps of the result. */
int ntk_host_rows_finish(struct ntk_host_rows *rows);

#endif
