/* SPDX-License-Identifier: MIT */
/*
 * opcode_table - which operations did each engine execute, how often, for how long?
 *
 * Owner:   the result is the caller's storage; ntk_opcode_table_fini() frees what it points to.
 */
#ifndef NTK_PROFILER_ANALYSIS_OPCODE_TABLE_H
#define NTK_PROFILER_ANALYSIS_OPCODE_TABLE_H

#include "profiler/trace/trace.h"

struct ntk_opcode_row {
    uint8_t engine;
    uint8_t opcode;
    uint64_t instruction_count;
    int64_t instruction_ps; /* sum of durations */
    int64_t active_ps;      /* union */
};

struct ntk_opcode_table { /* engines in order, in each by descending time */
    size_t row_count;
    struct ntk_opcode_row *rows;
};

/* 0 or -ENOMEM; freed with _fini. */
int ntk_analysis_opcode_table(const struct ntk_trace *trace, struct ntk_opcode_table *out_table);
void ntk_opcode_table_fini(struct ntk_opcode_table *table);

#endif
