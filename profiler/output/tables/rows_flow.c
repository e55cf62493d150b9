/* SPDX-License-Identifier: MIT */
/* rows_flow - creates edges: the row that an instruction follows, and the instruction that started
 * a transfer. */
#include "profiler/output/tables/predecessors.h"
#include "profiler/output/tables/rows.h"

#include <stdio.h>

struct following {
    const struct ntk_trace_core *core;
    int64_t first_id;
    const struct ntk_trace_instruction *of;
    ntk_row_put *put;
    void *ctx;
    size_t looks;
};

static int put_edge(void *ctx, uint32_t index, uint64_t kind)
{
    struct following *f = ctx;
    const struct ntk_trace_instruction *by = &f->core->instructions[index];
    const char *type = ntk_neff_predecessor_kind_name(kind);
    char number[24];

    snprintf(number, sizeof number, "%llu", (unsigned long long)kind);
    struct ntk_flow_row row = {
        .in_id = f->first_id + index,
        .out_id = f->first_id + (f->of - f->core->instructions),
        .in_table = "Instruction",
        .out_table = "Instruction",
        .type = type   ? type
                : kind ? number
                       : "UNKNOWN",
        /* the difference of the columns, which are in whole ns */
        .gap_ns = ntk_rows_ns(f->of->start_ps) - ntk_rows_ns(by->end_ps),
    };
    if (++f->looks % NTK_TRACE_LOOKS == 0) {
        ntk_trace_give_back(f->core);
    }
    return f->put(f->ctx, &row);
}

static int put_dependencies(const struct ntk_export *export, size_t core_index, ntk_row_put *put,
                            void *ctx)
{
    struct following f = { .core = &export->trace->cores[core_index],
                           .first_id = export->cores[core_index].first_instruction_id,
                           .put = put,
                           .ctx = ctx };
    struct ntk_predecessors *predecessors = NULL;
    int ret = ntk_predecessors_create(export, core_index, &predecessors);

    ntk_trace_each_instruction(f.core, from) {
        f.of = from;
        ret = ret ? ret
                  : ntk_predecessors_each(predecessors,
                                          ntk_program_fact(export->program, core_index, from),
                                          put_edge, &f);
        if (ret < 0) {
            break;
        }
    }
    ntk_predecessors_destroy(predecessors);
    return ret;
}

struct triggering {
    const struct ntk_export *export;
    ntk_row_put *put;
    void *ctx;
};

static int put_trigger(void *ctx, const void *data)
{
    const struct triggering *t = ctx;
    const struct ntk_transfer_row *transfer = data;
    size_t core = ntk_trace_core_place(t->export->trace, (size_t)transfer->core_index);
    int64_t index = transfer->trigger_id - t->export->cores[core].first_instruction_id;
    const struct ntk_trace_instruction *by = &t->export->trace->cores[core].instructions[index];
    struct ntk_flow_row row = {
        .in_id = transfer->trigger_id,
        .out_id = transfer->id,
        .in_table = "Instruction",
        .out_table = "DmaPacketAggregated",
        .type = "DGE_TRIGGER",
        .gap_ns = transfer->start_ns - ntk_rows_ns(by->end_ps),
    };

    return t->put(t->ctx, &row);
}

int ntk_rows_flows(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    struct triggering triggering = { export, put, ctx };
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        ret = export->program->names[c] ? put_dependencies(export, c, put, ctx) : 0;
    }
    return ret ? ret : ntk_rows_transfers(export, put_trigger, &triggering);
}
