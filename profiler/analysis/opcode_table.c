/* SPDX-License-Identifier: MIT */
/* opcode_table - instructions grouped by engine and opcode. */
#include "profiler/analysis/opcode_table.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/analysis/interval.h"

#define OPCODES 256

static int compare(const void *a, const void *b)
{
    const struct ntk_opcode_row *x = a;
    const struct ntk_opcode_row *y = b;

    if (x->engine != y->engine) {
        return x->engine < y->engine ? -1 : 1;
    }
    if (x->instruction_ps != y->instruction_ps) {
        return x->instruction_ps > y->instruction_ps ? -1 : 1;
    }
    return x->opcode < y->opcode ? -1 : x->opcode > y->opcode;
}

int ntk_analysis_opcode_table(const struct ntk_trace *trace, struct ntk_opcode_table *out_table)
{
    const size_t all = (size_t)NTK_NTFF_ENGINE_COUNT * OPCODES;
    struct ntk_opcode_row *rows = calloc(all, sizeof *rows);
    struct ntk_intervals *spans = calloc(all, sizeof *spans);
    size_t kept = 0;
    int ret = rows && spans ? 0 : -ENOMEM;

    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        for (size_t i = 0; i < trace->cores[c].instruction_count; i++) {
            const struct ntk_trace_instruction *instruction = &trace->cores[c].instructions[i];
            size_t at = (size_t)instruction->engine * OPCODES + instruction->opcode;
            rows[at].instruction_count++;
            rows[at].instruction_ps =
                ntk_ps_sum(rows[at].instruction_ps, instruction->end_ps - instruction->start_ps);
            ntk_intervals_add(&spans[at], instruction->start_ps, instruction->end_ps);
        }
    }
    for (size_t at = 0; at < all && rows && spans; at++) {
        if (rows[at].instruction_count) {
            struct ntk_opcode_row row = rows[at];
            row.engine = (uint8_t)(at / OPCODES);
            row.opcode = (uint8_t)(at % OPCODES);
            row.active_ps = ntk_intervals_union_ps(&spans[at]);
            ret = spans[at].failed ? spans[at].failed : ret;
            rows[kept++] = row;
        }
        ntk_intervals_fini(&spans[at]);
    }
    free(spans);
    if (ret < 0) {
        free(rows);
        return ret;
    }
    qsort(rows, kept, sizeof *rows, compare);
    out_table->rows = rows;
    out_table->row_count = kept;
    return 0;
}

void ntk_opcode_table_fini(struct ntk_opcode_table *table)
{
    free(table->rows);
    *table = (struct ntk_opcode_table){ 0 };
}
