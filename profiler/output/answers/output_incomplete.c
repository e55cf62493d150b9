/* SPDX-License-Identifier: MIT */
/* output_incomplete - incomplete.h as text and JSON. */
#include "profiler/output/answers/output_analysis.h"

#include "profiler/analysis/incomplete.h"

void ntk_output_incomplete_text(const struct ntk_program *program, unsigned needs,
                                struct ntk_buf *out)
{
    unsigned lacks = needs ? needs & ntk_program_lacks(program) : 0;

    if (lacks) {
        ntk_buf_add_text(out, "Partial: ");
        ntk_incomplete_text(program, lacks, out);
        ntk_buf_add_text(out, "; the missing records are not estimated\n");
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
