/* SPDX-License-Identifier: MIT */
/*
 * opcode_table - lists the operations that each engine executed, with their number and time.
 *
 * Owner:   the caller provides the storage of the result; ntk_opcode_table_fini() frees its
 *          content.
 */
#ifndef NTK_PROFILER_ANALYSIS_OPCODE_TABLE_H
#define NTK_PROFILER_ANALYSIS_OPCODE_TABLE_H

#include "profiler/trace/trace.h"

struct ntk_opcode_row {
    uint8_t engine;
    uint8_t opcode;
    uint64_t instruction_count;
    int64_t instruction_ps; /* sum of durations */
    int64_t active_ps;      /* union of durations */
};

struct ntk_opcode_table { /* engines in order, operations by descending time */
    size_t row_count;
    struct ntk_opcode_row *rows;
};

/* Returns 0 or -ENOMEM; the result is freed with _fini. */
int ntk_analysis_opcode_table(const struct ntk_trace *trace, struct ntk_opcode_table *out_table);
void ntk_opcode_table_fini(struct ntk_opcode_table *table);

#endif
