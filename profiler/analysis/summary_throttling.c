/* SPDX-License-Identifier: MIT */
/* summary_throttling - fills metrics by core and type of throttling. */
#include "profiler/analysis/summary_private.h"

#include <stdio.h>

#include "profiler/analysis/throttling.h"

#define CORES 2 /* maximum number of physical cores per logical core */

static void fill_core(struct summary_filler *f, size_t core, unsigned number)
{
    enum ntk_summary_group group = NTK_SUMMARY_GROUP_THROTTLING_NC0 + (unsigned)core;
    struct ntk_throttling throttling;
    char name[72];

    ntk_analysis_throttling(&f->trace->cores[core], &throttling);
    if (!throttling.is_present || throttling.end_ns <= 0) {
        return;
    }
    snprintf(name, sizeof name, "throttle_active_nc%u_time_ns", number);
    summary_set_extra(f, group, NTK_SUMMARY_KIND_COUNT, 0, (uint64_t)throttling.limited_ns, name);
    snprintf(name, sizeof name, "throttle_avg_util_limit_nc%u_percent", number);
    summary_set_extra(f, group, NTK_SUMMARY_KIND_FRACTION,
                      throttling.limit_ns / (double)throttling.end_ns, 0, name);
    for (unsigned t = 0; t < NTK_THROTTLE_TYPES; t++) {
        const struct ntk_throttle_type *type = &throttling.types[t];
        if (type->count == 0) {
            continue;
        }
        snprintf(name, sizeof name, "throttle_%s_active_time_nc%u_percent",
                 ntk_throttle_type_name(t), number);
        summary_set_extra(f, group, NTK_SUMMARY_KIND_FRACTION,
                          (double)type->duration_ns / (double)throttling.end_ns, 0, name);
        if (type->duration_ns > 0) {
            snprintf(name, sizeof name, "throttle_%s_avg_util_limit_nc%u_percent",
                     ntk_throttle_type_name(t), number);
            summary_set_extra(f, group, NTK_SUMMARY_KIND_FRACTION,
                              type->limit_ns / (double)type->duration_ns, 0, name);
        }
    }
}

/* Fills metrics of throttling. In 2.32 and later, the only physical core of a logical core has its
 * own number. The names for the two cores of a pair are unknown, so they keep their positions. */
void summary_fill_throttling(struct summary_filler *f)
{
    const struct ntk_trace *trace = f->trace;
    bool has_numbers = trace->metrics != NTK_METRICS_2_28 && trace->core_count == 1;

    for (size_t c = 0; c < CORES && c < trace->core_count; c++) {
        fill_core(f, c, has_numbers ? trace->cores[c].ntff->core : (unsigned)c);
    }
}
