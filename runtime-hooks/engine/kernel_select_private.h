/* SPDX-License-Identifier: MIT */
/*
 * kernel_select_private - shared by the files of kernel_select.h: the operands of an instruction,
 * and the movement of rows.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_SELECT_PRIVATE_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_SELECT_PRIVATE_H

#include "runtime-hooks/engine/kernel_select.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_SELECT_GROUP 16  /* partitions that share indices or a list */
#define NTK_SELECT_TOP 8     /* number of values in max8 and similar operations */
#define NTK_SELECT_KEEP (-1) /* in a map: keep the destination's element */
#define NTK_SELECT_FILL (-2) /* in a map: write the fill value */

struct ntk_select_work {
    const struct ntk_isa_instr *instr;
    const struct ntk_tile *to, *a, *b, *c, *second;
    const struct ntk_tile_scratch *scratch;
    struct ntk_rng *rng;
    struct ntk_latches *latches;
    float *x, *y, *out; /* rows of scratch memory */
    int64_t *map;       /* last row of scratch memory */
};

/* The column's value in a partition, or the immediate float32 without a column. */
float ntk_select_column(const struct ntk_tile *tile, uint32_t partition, uint32_t immediate);
/* Writes out[i] = a[map[i]] for partition `from`; exact, because it uses integers if both sides are
 * integers. */
bool ntk_select_place(const struct ntk_select_work *w, uint32_t partition, uint32_t from,
                      float fill);

/* Kernels that process one row, by file. */
bool ntk_select_find_index8(const struct ntk_select_work *w, uint32_t p);
bool ntk_select_match_replace8(const struct ntk_select_work *w, uint32_t p);
bool ntk_select_match_value_load(const struct ntk_select_work *w, uint32_t p);
bool ntk_select_nonzero_with_count(const struct ntk_select_work *w, uint32_t p);
bool ntk_select_sequence_bounds(const struct ntk_select_work *w, uint32_t p);
bool ntk_select_dropout(const struct ntk_select_work *w, uint32_t p);
bool ntk_select_random_row(const struct ntk_select_work *w, uint32_t p);
bool ntk_select_random_state(const struct ntk_select_work *w, uint32_t p);
/* A kernel that processes all partitions at once. */
bool ntk_select_topk(const struct ntk_select_work *w);

#ifdef __cplusplus
}
#endif
#endif
