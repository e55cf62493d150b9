/* SPDX-License-Identifier: MIT */
/* opcode_table - groups instructions by engine and opcode. */
#include "profiler/analysis/opcode_table.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/analysis/interval.h"
#include "profiler/trace/walk.h"
#include "shared/base/order.h"

#define OPCODES 256

NTK_ORDER(compare, struct ntk_opcode_row, NTK_UP(engine) NTK_DOWN(instruction_ps) NTK_UP(opcode));

int ntk_analysis_opcode_table(const struct ntk_trace *trace, struct ntk_opcode_table *out_table)
{
    const size_t all = (size_t)NTK_NTFF_ENGINE_COUNT * OPCODES;
    struct ntk_opcode_row *rows = calloc(all, sizeof *rows);
    struct ntk_cover *covers = calloc(all, sizeof *covers);
    struct ntk_walk walk;
    struct ntk_walk_span span;
    size_t kept = 0;

    if (!rows || !covers) {
        free(rows);
        free(covers);
        return -ENOMEM;
    }
    ntk_walk_init(&walk, trace, NTK_WALK_INSTRUCTIONS);
    while (ntk_walk_next(&walk, &span)) {
        size_t at = (size_t)span.instruction->engine * OPCODES + span.instruction->opcode;
        rows[at].instruction_count++;
        ntk_cover_add(&covers[at], span.start_ps, span.end_ps);
    }
    for (size_t at = 0; at < all; at++) {
        if (rows[at].instruction_count) {
            rows[kept++] = (struct ntk_opcode_row){
                .engine = (uint8_t)(at / OPCODES),
                .opcode = (uint8_t)(at % OPCODES),
                .instruction_count = rows[at].instruction_count,
                .instruction_ps = covers[at].sum_ps,
                .active_ps = covers[at].covered_ps,
            };
        }
    }
    free(covers);
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
