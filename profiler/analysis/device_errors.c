/* SPDX-License-Identifier: MIT */
/* device_errors - reads the error records of all cores, and counts them. */
#include "profiler/analysis/device_errors.h"

/* Returns false if the error is not in the shown part of the execution. */
static bool error_get(const struct ntk_trace *trace, size_t core,
                      const struct ntk_ntff_section *section, uint64_t index,
                      struct ntk_device_error *out_error)
{
    struct ntk_device_error error = { .core = core,
                                      .bytes = section->records + index * NTK_DEVICE_ERROR_BYTES };

    ntk_ntff_record_get(trace->cores[core].ntff, section, index, &error.record);
    error.is_known = error.record.kind == NTK_NTFF_RECORD_ERROR;
    if (error.is_known &&
        (__builtin_sub_overflow(error.record.time_ps, trace->cores[core].t0_ps, &error.since_ps) ||
         !ntk_trace_has_moment(trace, error.since_ps))) {
        return false;
    }
    *out_error = error;
    return true;
}

int ntk_device_errors_each(const struct ntk_trace *trace, ntk_device_error_call *call, void *ctx)
{
    struct ntk_device_error error;
    int ret = 0;

    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_ntff_subgraph *subgraph = trace->cores[c].ntff;
        for (size_t s = 0; s < subgraph->section_count; s++) {
            const struct ntk_ntff_section *section = &subgraph->sections[s];
            bool is_errors =
                section->type == NTK_NTFF_SECTION_ERROR && section->block == NTK_NTFF_BLOCK_CORE;
            for (uint64_t i = 0; is_errors && i < section->record_count && ret == 0; i++) {
                ret = error_get(trace, c, section, i, &error) ? call(&error, ctx) : 0;
            }
        }
    }
    return ret;
}

static int count_error(const struct ntk_device_error *error, void *ctx)
{
    struct ntk_device_errors *errors = ctx;

    errors->count++;
    if (!error->is_known) {
        return 0;
    }
    errors->has_stopped = errors->has_stopped || error->record.error != NTK_NTFF_ERROR_NUMERICAL;
    if (!errors->has_first || error->since_ps < errors->first_ps) {
        errors->has_first = true;
        errors->first = error->record;
        errors->first_ps = error->since_ps;
        errors->first_core = error->core;
    }
    return 0;
}

void ntk_analysis_device_errors(const struct ntk_trace *trace, struct ntk_device_errors *out_errors)
{
    *out_errors = (struct ntk_device_errors){ 0 };
    (void)ntk_device_errors_each(trace, count_error, out_errors);
}
