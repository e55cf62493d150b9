/* SPDX-License-Identifier: MIT */
/*
 * mlu_segments - groups operators of a graph for fusion.
 *
 * A set of operators of one MLU may become one fusion operator if it can run at a single position
 * of a topological order: its external inputs are available before, and its external outputs are
 * needed after. In a set,
 *
 *   an input operator   reads values at run time from outside of the set (bound weights do not
 *   count), an output operator  has an output that is unread, a head, or read outside,
 *
 * and the set is valid if it has at least two operators and the last input operator is before the
 * first output operator. Per device, the largest valid set is taken repeatedly until none is left.
 * For every cut of the order there is one largest set with input operators at or before the cut and
 * output operators after it (a greatest fixpoint), and the largest among these is the largest valid
 * set; among sets of equal size, the set of the smallest cut is taken.
 *
 * Cost: for n connected operators of a device and e entries between them, n (n + e) steps and n * n
 * / 8 bytes, for all segments together: an operator leaves the set of a cut only once.
 *
 * Owner:   mlu_segments_find() fills a zeroed vec of struct mlu_segment, mlu_segments_fini() frees.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_SEGMENTS_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/vec.h"

#define MLU_FUSE_EXTERNAL UINT32_MAX

/* An operator. Its index in the array is its position in topological order. */
struct mlu_fuse_node {
    int32_t device; /* negative if not an MLU */
    bool is_copy;   /* between devices: never fused */
    uint32_t first_input;
    uint32_t input_count;
    uint32_t first_output;
    uint32_t output_count;
};

/* An input that an operator reads at run time. */
struct mlu_fuse_input {
    uint32_t producer; /* an earlier node, or MLU_FUSE_EXTERNAL */
    uint32_t output;   /* index of the producer's output */
};

struct mlu_fuse_graph {
    const struct mlu_fuse_node *nodes;
    uint32_t node_count;
    const struct mlu_fuse_input *inputs; /* inputs of all nodes */
    uint32_t input_count;
    const bool *is_head; /* one flag per output of all nodes */
    uint32_t output_count;
};

struct mlu_segment {
    int32_t device;
    uint32_t *ops; /* all three lists are ascending */
    uint32_t op_count;
    uint32_t *inputs; /* numbers of the input operators */
    uint32_t input_count;
    uint32_t *outputs; /* numbers of the output operators */
    uint32_t output_count;
    /* operator at which the segment runs: the last input operator, or the first operator */
    uint32_t fire;
};

/* Results are sorted by device, then in order of discovery. Returns 0 or -ENOMEM. */
int mlu_segments_find(const struct mlu_fuse_graph *graph, struct ntk_vec *out_segments,
                      struct ntk_err *err);
void mlu_segments_fini(struct ntk_vec *segments);

#endif
