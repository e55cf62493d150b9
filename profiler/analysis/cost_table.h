/* SPDX-License-Identifier: MIT */
/*
 * cost_table - what did each layer, each operation and each instruction cost: how often, how long,
 * which work?
 *
 * Times: instruction_ps adds durations up, active_ps counts what overlaps once (over all engines
 * and cores of the group), path_ps is the group's part of the critical path. EVENT_SEMAPHORE
 * counts, its time does not. Of layers the span from first start to last end too.
 *
 * Pure: trace to result; -ENOMEM.
 *
 * Owner:   the result is the caller's storage; ntk_cost_table_fini() frees what it points to.
 */
#ifndef NTK_PROFILER_ANALYSIS_COST_TABLE_H
#define NTK_PROFILER_ANALYSIS_COST_TABLE_H

#include "profiler/analysis/critical_path.h"

struct ntk_cost_row {
    size_t core;    /* instructions: index in the trace */
    uint8_t engine; /* operations, instructions */
    uint8_t opcode; /* operations, instructions */
    uint32_t slot;  /* instructions */
    uint32_t layer; /* layers, instructions */
    uint64_t count;
    int64_t instruction_ps, active_ps, path_ps;
    int64_t start_ps, end_ps;
    uint64_t flops, transpose_flops;  /* of matrix products whose work is known */
    uint64_t useful_peak_flops;       /* without transposes, as shares of the peak count them */
    uint64_t useful_flops;            /* without transposes, by no version: each product once */
    uint64_t weighted_flops;          /* of these, what the peak does in their time in 16 bits */
    uint64_t read_bytes, write_bytes; /* of device memory, by transfers that it begins */
};

/* The longest active time first; of layers the longest part of the path, whose transfers are not
 * activity. */
struct ntk_cost_list {
    size_t count;
    struct ntk_cost_row *rows;
};

struct ntk_cost_table {
    bool has_path;      /* else path_ps is 0 everywhere: the length of the execution is unknown */
    bool flops_known;   /* of every matrix product */
    bool weights_known; /* of every matrix product: useful_flops and weighted_flops */
    bool bytes_known;   /* of every transfer */
    struct ntk_cost_list layers, operations, instructions;
};

/* path may be NULL. */
int ntk_analysis_cost_table(const struct ntk_program *program, const struct ntk_critical_path *path,
                            struct ntk_cost_table *out_table);
void ntk_cost_table_fini(struct ntk_cost_table *table);

#endif
