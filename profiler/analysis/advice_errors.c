/* SPDX-License-Identifier: MIT */
/* advice_errors - reports the errors of an execution, which come before its speed. */
#include "profiler/analysis/advice_private.h"

#include "profiler/analysis/device_errors.h"

/* "Scalar of core 0 at 0.160 us, pc 1 (nan.c:26): NaN written" */
static void add_first(const struct ntk_program *program, const struct ntk_device_errors *errors,
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
    struct ntk_device_errors errors;
    struct ntk_buf text = { 0 };

    ntk_analysis_device_errors(list->input->program->trace, &errors);
    if (errors.has_first) {
        ntk_buf_add_text(&text, errors.count == 1 ? ": " : ", the first by ");
        add_first(list->input->program, &errors, &text);
    }
    ntk_advice_judge(list, NTK_ADVICE_ERRORS, (double)errors.count, 1,
                     "the device recorded %llu error%s%s", (unsigned long long)errors.count,
                     errors.count == 1 ? "" : "s",
                     ntk_buf_ok(&text) && errors.has_first ? ntk_buf_text_get(&text) : "");
    ntk_buf_fini(&text);
}
