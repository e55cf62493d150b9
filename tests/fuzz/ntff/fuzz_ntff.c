/* SPDX-License-Identifier: MIT */
/* fuzz_ntff - any bytes as a capture: opened, paired, summarised, printed. */
#include <stddef.h>
#include <stdint.h>

#include "profiler/output/output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_ntff *ntff = NULL;
    struct ntk_trace *trace = NULL;
    struct ntk_summary summary;
    struct ntk_opcode_table opcodes;
    struct ntk_buf text = { 0 };

    if (ntk_ntff_open_bytes(data, size, &ntff, NULL) < 0) {
        return 0;
    }
    if (ntk_trace_create_from_ntff(ntff, NULL, NULL, NULL, &trace, NULL) == 0) {
        if (ntk_analysis_summary(trace, &summary) == 0) {
            ntk_output_summary_text(&summary, &text);
            ntk_output_summary_json(&summary, "fuzz", &text);
            ntk_summary_fini(&summary);
        }
        if (ntk_analysis_opcode_table(trace, &opcodes) == 0) {
            ntk_output_session_text(trace, &opcodes, &text);
            ntk_output_session_json(trace, &opcodes, &text);
            ntk_opcode_table_fini(&opcodes);
        }
        for (size_t c = 0; c < trace->core_count; c++) {
            const struct ntk_trace_core *core = &trace->cores[c];
            for (size_t i = 0; i < core->instruction_count; i++) {
                ntk_ntff_compiler_pc(core->ntff, core->instructions[i].engine,
                                     core->instructions[i].slot);
            }
        }
        ntk_trace_destroy(trace);
    }
    ntk_buf_fini(&text);
    ntk_ntff_close(ntff);
    return 0;
}
