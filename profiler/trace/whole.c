/* SPDX-License-Identifier: MIT */
#include "profiler/trace/whole.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/trace/trace_build.h"

int ntk_trace_whole_create(const struct ntk_trace *trace, struct ntk_trace **out_whole)
{
    struct ntk_err err = { 0 };
    struct ntk_trace_build build = { .options = { .metrics = trace->metrics,
                                                  .list_bytes = ntk_trace_list_bytes_get(trace),
                                                  .folder = ntk_trace_folder_get(trace) },
                                     .length_ps = INT64_MAX,
                                     .err = &err };
    struct ntk_trace_window window = { 0 };
    struct ntk_trace *whole = calloc(1, sizeof *whole);
    int ret = whole ? 0 : -ENOMEM;

    if (whole) {
        *whole = (struct ntk_trace){ .ntff = trace->ntff,
                                     .neff = trace->neff,
                                     .metrics = trace->metrics,
                                     .has_total = trace->has_total,
                                     .total_ps = trace->part.total_ps,
                                     .core_count = trace->core_count,
                                     .list_bytes = trace->list_bytes,
                                     .folder = trace->folder };
        whole->cores = calloc(trace->core_count + 1, sizeof *whole->cores);
        ret = whole->cores ? 0 : -ENOMEM;
        whole->core_count = whole->cores ? trace->core_count : 0;
    }
    build.trace = whole;
    build.heap_bytes_left = NTK_TRACE_HEAP_LISTS * build.options.list_bytes;
    for (size_t c = 0; ret == 0 && c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];

        whole->cores[c] = (struct ntk_trace_core){ .ntff = core->ntff,
                                                   .neff = core->neff,
                                                   .t0_ps = core->t0_ps - trace->part.from_ps,
                                                   .is_cut = core->is_cut };
    }
    ret = ret == 0 && trace->core_count ? ntk_trace_find_window(&build, &window) : ret;
    for (size_t c = 0; ret == 0 && c < trace->core_count; c++) {
        ret = ntk_trace_read_instructions(&build, &whole->cores[c], &window);
    }
    if (ret < 0) {
        ntk_trace_destroy(whole);
        return ret;
    }
    *out_whole = whole;
    return 0;
}
