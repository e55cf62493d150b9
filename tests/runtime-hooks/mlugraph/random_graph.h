/* SPDX-License-Identifier: MIT */
/* random_graph - numbered graphs of operators: a seed yields the same graph on every machine. */
#ifndef NTK_TESTS_MLUGRAPH_RANDOM_GRAPH_H
#define NTK_TESTS_MLUGRAPH_RANDOM_GRAPH_H

#include "runtime-hooks/mlugraph/mlu_segments.h"

#define RANDOM_GRAPH_NODES_MAX 64
#define RANDOM_GRAPH_INPUTS_MAX 4
#define RANDOM_GRAPH_OUTPUTS_MAX 2

struct random_graph {
    struct mlu_fuse_graph graph;
    struct mlu_fuse_node nodes[RANDOM_GRAPH_NODES_MAX];
    struct mlu_fuse_input inputs[RANDOM_GRAPH_NODES_MAX * RANDOM_GRAPH_INPUTS_MAX];
    bool is_head[RANDOM_GRAPH_NODES_MAX * RANDOM_GRAPH_OUTPUTS_MAX];
};

/* The next number of a sequence (SplitMix64). */
uint64_t random_next(uint64_t *state);
uint32_t random_below(uint64_t *state, uint32_t limit);

/* Up to two MLUs, other devices, copies, operators that read nothing, several outputs. */
void random_graph_make(struct random_graph *random, uint64_t seed, uint32_t node_count);

/* From a text with one word per operator: "m0:e", "m1:2,e", "cpu:0", "copy:4", "m0:1H" (a head),
 * "m0:" (no inputs). */
void random_graph_parse(struct random_graph *random, const char *text);

#endif
