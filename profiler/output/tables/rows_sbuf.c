/* SPDX-License-Identifier: MIT */
/* rows_sbuf - creates rows for allocations of the state buffer, for exports that request them. */
#include "profiler/output/tables/rows.h"

#include <errno.h>
#include <stdio.h>

#include "profiler/analysis/sbuf_allocations.h"
#include "profiler/output/tables/operands.h"

struct target {
    const struct ntk_export *export;
    size_t core_index;
    struct ntk_operands *operands;
    ntk_row_put *put;
    void *ctx;
};

static int put_allocation(void *ctx, const struct ntk_sbuf_allocation *from)
{
    const struct target *t = ctx;
    const struct ntk_export *export = t->export;
    const struct ntk_trace_instruction *by =
        &export->trace->cores[t->core_index].instructions[from->instruction];
    const struct ntk_slot_fact *fact = ntk_program_fact(export->program, t->core_index, by);
    const struct ntk_moves *moves = fact->code->is_transfer ? fact->code->moves : NULL;
    struct ntk_operands_text text = { 0 };
    char queue[NTK_NTFF_NAME_BYTES + 16];
    char unnamed[8];
    struct ntk_allocation_row row = {
        .start_ns = ntk_rows_ns(from->start_ps),
        .end_ns = ntk_rows_ns(from->end_ps),
        .first_byte = from->low,
        .last_byte = (int64_t)from->high - 1,
        .partition = from->partition,
        .source = fact->code->is_transfer ? "dma" : "instruction",
        .block_id = ntk_rows_block_id(moves),
        .tensor = moves ? moves->variable : NULL,
        .hlo_name = fact->hlo ? fact->hlo->text : NULL,
        .instruction_id = export->cores[t->core_index].first_instruction_id + from->instruction,
        .core_index = (int64_t)ntk_trace_core_number(export->trace, t->core_index),
    };

    if (fact->code->is_transfer && fact->code->queue) {
        ntk_ntff_queue_name_show(fact->code->queue, queue, sizeof queue);
        row.queue_name = queue;
    } else if (!fact->code->is_transfer) {
        (void)ntk_operands_get(t->operands, t->core_index, by, &text);
        row.opcode = ntk_ntff_opcode_name(by->opcode, unnamed, sizeof unnamed);
        row.operands = text.operands;
    }
    return t->put(t->ctx, &row);
}

int ntk_rows_sbuf_allocations(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    struct target target = { .export = export, .put = put, .ctx = ctx };
    int ret = 0;

    if (!export->has_memory_tracker) {
        return 0;
    }
    target.operands = ntk_operands_create(export->trace);
    ret = target.operands ? 0 : -ENOMEM;
    for (; target.core_index < export->trace->core_count && ret == 0; target.core_index++) {
        ret = ntk_analysis_sbuf_allocations(&export->transfers, target.core_index, put_allocation,
                                            &target);
    }
    ntk_operands_destroy(target.operands);
    return ret;
}

int ntk_rows_sbuf_warnings(const struct ntk_export *export, const char *category, ntk_row_put *put,
                           void *ctx)
{
    int ret = 0;

    for (size_t c = 0; export->has_memory_tracker && c < export->trace->core_count && ret == 0;
         c++) {
        char text[160];
        bool is_known = false;
        ret = ntk_sbuf_allocations_are_known(export->program, c, &is_known);
        if (ret == 0 && !is_known) {
            snprintf(text, sizeof text,
                     "SbufAllocation has no rows for %s: for some of its instructions, the "
                     "accessed bytes are unknown.",
                     export->trace->cores[c].ntff->name);
            ret = put(ctx, &(struct ntk_warning_row){ .message = text, .category = category });
        }
    }
    return ret;
}
