/* SPDX-License-Identifier: MIT */
/*
 * roofline - how near is each layer, and the whole execution, to what the chip can do?
 *
 * flops are useful ones: transposes move data only. With R the tensor peak of all cores and B the
 * rate of one memory stack (as in the summary), a layer with W flops, weighted by type as mfu
 * weights them, and Q bytes of device memory takes at least max(W / R, Q / B): it is bound by what
 * is larger. ratio is that over the time it
 * took: its part of the critical path, for the whole execution its length. A layer that does
 * neither has no bound; one that takes longer by the roofline than its part of the path is hidden
 * behind others.
 *
 * Pure: costs to result; -ENOMEM, or -ENODATA when machine, work, bytes or the length of the
 * execution is not known.
 *
 * Owner:   the result is the caller's storage; ntk_roofline_fini() frees what it points to.
 */
#ifndef NTK_PROFILER_ANALYSIS_ROOFLINE_H
#define NTK_PROFILER_ANALYSIS_ROOFLINE_H

#include "profiler/analysis/cost_table.h"
#include "profiler/analysis/dma_traffic.h"

enum ntk_roofline_bound { NTK_ROOFLINE_NONE, NTK_ROOFLINE_COMPUTE, NTK_ROOFLINE_MEMORY };

struct ntk_roofline_row {
    uint32_t layer; /* not of the total */
    uint64_t flops, bytes;
    bool has_intensity;
    double intensity; /* flops per byte */
    enum ntk_roofline_bound bound;
    double least_ps; /* by the roofline */
    int64_t time_ps;
    bool is_hidden;
    bool has_ratio; /* neither hidden nor without a bound */
    double ratio;
};

struct ntk_roofline {
    double peak_flops_per_second, peak_bytes_per_second;
    double ridge; /* flops per byte above which a layer is bound by compute */
    struct ntk_roofline_row total;
    size_t row_count;
    struct ntk_roofline_row *rows; /* layers, the longest on the path first */
};

int ntk_analysis_roofline(const struct ntk_program *program, const struct ntk_cost_table *costs,
                          struct ntk_roofline *out_roofline);
void ntk_roofline_fini(struct ntk_roofline *roofline);
/* "compute", "memory", "none" */
const char *ntk_roofline_bound_name(enum ntk_roofline_bound bound);

#endif
