/* SPDX-License-Identifier: MIT */
/* advice_errors - errors that the device recorded during the execution. */
#include "profiler/analysis/advice_private.h"

struct errors {
    unsigned count;
    bool has_first; /* a known error, the earliest one: */
    struct ntk_ntff_record first;
    int64_t first_ps; /* since time 0 of the trace */
    size_t first_core;
};

/* Errors of hardware have an unknown record, without a time. They count without being the first. */
static void count_error(struct errors *errors, const struct ntk_trace *trace, size_t core,
                        const struct ntk_ntff_section *section, uint64_t index)
{
    struct ntk_ntff_record record;
    int64_t since_ps = 0;

    ntk_ntff_record_get(trace->cores[core].ntff, section, index, &record);
    if (record.kind != NTK_NTFF_RECORD_ERROR) {
        errors->count++;
        return;
    }
    if (__builtin_sub_overflow(record.time_ps, trace->cores[core].t0_ps, &since_ps) ||
        !ntk_trace_has_moment(trace, since_ps)) {
        return;
    }
    errors->count++;
    if (!errors->has_first || since_ps < errors->first_ps) {
        errors->has_first = true;
        errors->first = record;
        errors->first_ps = since_ps;
        errors->first_core = core;
    }
}

static void count_errors(const struct ntk_trace *trace, struct errors *errors)
{
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_ntff_subgraph *subgraph = trace->cores[c].ntff;
        for (size_t s = 0; s < subgraph->section_count; s++) {
            const struct ntk_ntff_section *section = &subgraph->sections[s];
            bool is_errors =
                section->type == NTK_NTFF_SECTION_ERROR && section->block == NTK_NTFF_BLOCK_CORE;
            for (uint64_t i = 0; is_errors && i < section->record_count; i++) {
                count_error(errors, trace, c, section, i);
            }
        }
    }
}

/* "Scalar of core 0 at 0.160 us, pc 1 (nan.c:26): NaN written" */
static void add_first(const struct ntk_program *program, const struct errors *errors,
                      struct ntk_buf *text)
{
    const struct ntk_ntff_record *first = &errors->first;
    const struct ntk_ntff_subgraph *subgraph = program->trace->cores[errors->first_core].ntff;

    ntk_buf_add_format(text, "%s of core %u at %.3f us",
                       first->engine < NTK_NTFF_ENGINE_COUNT ? ntk_ntff_engine_title(first->engine)
                                                             : "DMA",
                       subgraph->core, (double)errors->first_ps / 1e6);
    if (first->slot != NTK_NTFF_SLOT_OUTSIDE) {
        const struct ntk_neff_position *at = ntk_neff_position_get(
            program->positions, errors->first_core, (enum ntk_isa_engine)first->engine,
            ntk_ntff_compiler_pc(subgraph, first->engine, first->slot));
        ntk_buf_add_format(text, ", pc %u", first->slot);
        if (at && at->file) {
            ntk_buf_add_text(text, " (");
            ntk_line_name_add(program->positions, at->file, at->line, text);
            ntk_buf_add_text(text, ")");
        }
    }
    ntk_buf_add_format(text, ": %s", ntk_ntff_error_name(first->error));
}

void ntk_advice_errors(struct ntk_advice_list *list)
{
    struct errors errors = { 0 };
    struct ntk_buf text = { 0 };

    count_errors(list->input->program->trace, &errors);
    if (errors.has_first) {
        ntk_buf_add_text(&text, errors.count == 1 ? ": " : ", the first by ");
        add_first(list->input->program, &errors, &text);
    }
    ntk_advice_judge(list, NTK_ADVICE_ERRORS, errors.count, 1, "the device recorded %u error%s%s",
                     errors.count, errors.count == 1 ? "" : "s",
                     ntk_buf_ok(&text) && errors.has_first ? ntk_buf_text_get(&text) : "");
    ntk_buf_fini(&text);
}
