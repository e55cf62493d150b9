/* SPDX-License-Identifier: MIT */
/*
 * cost_table - computes the cost of each layer, operation and instruction: count, time and work.
 *
 * instruction_ps adds durations, active_ps counts overlaps once (over all engines and cores of the
 * group), path_ps is the group's part of the critical path. EVENT_SEMAPHORE is counted, but not its
 * time. Layers also have the span from first start to last end.
 *
 * Errors:  -ENOMEM.
 *
 * Owner:   the caller provides the storage of the result; ntk_cost_table_fini() frees its content.
 */
#ifndef NTK_PROFILER_ANALYSIS_COST_TABLE_H
#define NTK_PROFILER_ANALYSIS_COST_TABLE_H

#include "profiler/analysis/critical_path.h"

struct ntk_cost_row {
    size_t core;    /* for instructions: index in the trace */
    uint8_t engine; /* for operations and instructions */
    uint8_t opcode; /* for operations and instructions */
    uint32_t slot;  /* for instructions */
    uint32_t layer; /* for layers and instructions */
    uint64_t count;
    int64_t instruction_ps, active_ps, path_ps;
    int64_t start_ps, end_ps;
    uint64_t flops, transpose_flops; /* operations of matrix products with known work */
    uint64_t useful_peak_flops;      /* without transposes, counted as for shares of the peak */
    /* Without transposes, independent of the version: each product is counted once */
    uint64_t useful_flops;
    /* useful_flops in units of 16-bit operations that take the same time at peak */
    uint64_t weighted_flops;
    uint64_t read_bytes, write_bytes; /* device memory accessed by transfers that it starts */
};

/* A list by descending active time; layers by descending part of the path, because their transfers
 * are not activity. */
struct ntk_cost_list {
    size_t count;
    struct ntk_cost_row *rows;
};

struct ntk_cost_table {
    /* Otherwise path_ps is 0 everywhere, because the length of the execution is unknown */
    bool has_path;
    bool flops_known;   /* true if known for every matrix product */
    bool weights_known; /* useful_flops and weighted_flops are known for every matrix product */
    bool bytes_known;   /* true if known for every transfer */
    struct ntk_cost_list layers, operations, instructions;
};

/* path may be NULL. */
int ntk_analysis_cost_table(const struct ntk_program *program, const struct ntk_critical_path *path,
                            struct ntk_cost_table *out_table);
void ntk_cost_table_fini(struct ntk_cost_table *table);

#endif
