/* SPDX-License-Identifier: MIT */
/* output_incomplete - writes incomplete.h as text and JSON. */
#include "profiler/output/answers/output_analysis.h"

#include "profiler/analysis/incomplete.h"

/* Describes the remaining data: only individual changes of semaphores can be derived
 * (lost_changes.h), not a whole kind. */
static const char *rest_of(const struct ntk_program *program, unsigned lacks)
{
    bool derives = lacks & NTK_LACK_EVENTS && program->dropped.changes.lost > 0 &&
                   !program->trace->is_cut.events;

    return !derives                   ? "the missing records are not estimated"
           : lacks == NTK_LACK_EVENTS ? "missing changes with a known origin are reconstructed"
                                      : "of the missing records, only semaphore changes with a "
                                        "known origin are reconstructed";
}

void ntk_output_several_text(const struct ntk_program *program, struct ntk_buf *out)
{
    if (program->execution_count > 1) {
        bool is_window = ntk_trace_has_window(program->trace);
        ntk_buf_add_format(out, "The %s %llu executions: figures cover all of them together\n",
                           is_window ? "window covers" : "capture has",
                           (unsigned long long)program->execution_count);
    }
}

void ntk_output_incomplete_text(const struct ntk_program *program, unsigned needs,
                                struct ntk_buf *out)
{
    unsigned lacks = needs ? needs & ntk_program_lacks(program) : 0;

    if (lacks) {
        ntk_buf_add_text(out, "Partial: ");
        ntk_incomplete_text(program, lacks, out);
        ntk_buf_add_format(out, "; %s\n", rest_of(program, lacks));
    }
}

void ntk_output_incomplete_json(const struct ntk_program *program, struct ntk_json *json)
{
    unsigned lacks = ntk_program_lacks(program);

    if (!lacks) {
        return;
    }
    ntk_json_key_array_begin(json, "incomplete");
    for (unsigned bit = 1; bit & NTK_LACK_ANY; bit <<= 1) {
        struct ntk_buf text = { 0 };
        if (ntk_incomplete_text(program, lacks & bit, &text) && ntk_buf_ok(&text)) {
            ntk_json_text(json, ntk_buf_text_get(&text));
        }
        ntk_buf_fini(&text);
    }
    ntk_json_array_end(json);
}
