/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/device_errors.h"

static void count_error(struct ntk_device_errors *errors, const struct ntk_trace *trace,
                        size_t core, const struct ntk_ntff_section *section, uint64_t index)
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
    errors->has_stopped = errors->has_stopped || record.error != NTK_NTFF_ERROR_NUMERICAL;
    if (!errors->has_first || since_ps < errors->first_ps) {
        errors->has_first = true;
        errors->first = record;
        errors->first_ps = since_ps;
        errors->first_core = core;
    }
}

void ntk_analysis_device_errors(const struct ntk_trace *trace, struct ntk_device_errors *out_errors)
{
    *out_errors = (struct ntk_device_errors){ 0 };
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_ntff_subgraph *subgraph = trace->cores[c].ntff;
        for (size_t s = 0; s < subgraph->section_count; s++) {
            const struct ntk_ntff_section *section = &subgraph->sections[s];
            bool is_errors =
                section->type == NTK_NTFF_SECTION_ERROR && section->block == NTK_NTFF_BLOCK_CORE;
            for (uint64_t i = 0; is_errors && i < section->record_count; i++) {
                count_error(out_errors, trace, c, section, i);
            }
        }
    }
}
