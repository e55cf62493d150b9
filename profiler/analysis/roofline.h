/* SPDX-License-Identifier: MIT */
/*
 * roofline - computes the ratio of the execution, each layer, region and source line to the limits
 * of the chip.
 *
 * flops are useful operations, independent of the version: transposes only move data, and a product
 * counts once, even with several passes. With the ceilings R and B of ceilings.h, a row with
 * products that take W of the peak in 16 bits and that moves Q bytes of device memory takes at
 * least max(W / R, Q / B): the larger term is its bound. ratio is this time divided by the actual
 * time. A row without work and bytes has no bound; a row with a roofline time above its actual time
 * overlaps with others.
 *
 * time_ps is the length of the execution, a layer's part of the critical path, or the time covered
 * by a region's instances or a line's instructions, without waiting in EVENT_SEMAPHORE. The work of
 * a region is started by its engine (or its core, for a region of the whole core) while an instance
 * runs; the work of a line is started by its instructions.
 *
 * Errors:  -ENOMEM, -errno of a long list, or -ENODATA if machine, work, bytes or the length of the
 *          execution is unknown.
 *
 * Owner:   the caller provides the storage of the result; ntk_roofline_fini() frees its content.
 *          The program is borrowed for names of layers and files.
 */
#ifndef NTK_PROFILER_ANALYSIS_ROOFLINE_H
#define NTK_PROFILER_ANALYSIS_ROOFLINE_H

#include "profiler/analysis/ceilings.h"
#include "profiler/analysis/cost_table.h"
#include "profiler/analysis/dma_traffic.h"

#define NTK_ROOFLINE_REGIONS_MAX 32 /* the regions that cover most of the execution */

enum ntk_roofline_bound { NTK_ROOFLINE_NONE, NTK_ROOFLINE_COMPUTE, NTK_ROOFLINE_MEMORY };

struct ntk_roofline_work {
    uint64_t flops, weighted_flops, bytes;
};

struct ntk_roofline_row {
    uint32_t layer;      /* for layers */
    char *name;          /* for regions: name for users; else NULL */
    uint32_t region;     /* for regions: number in ntk_analysis_regions() */
    uint32_t file, line; /* for lines: 1 + index in positions->files */
    uint64_t flops, bytes;
    bool has_intensity;
    double intensity;             /* in flops per byte */
    double peak_flops_per_second; /* peak for its mix of types; 0 without products */
    enum ntk_roofline_bound bound;
    double least_ps; /* minimum time by the roofline */
    int64_t time_ps;
    bool is_hidden;
    bool has_ratio; /* true unless hidden or without a bound */
    double ratio;
};

struct ntk_roofline_list { /* rows with the longest time first */
    size_t count;
    struct ntk_roofline_row *rows;
};

struct ntk_roofline {
    struct ntk_ceilings ceilings;
    double ridge; /* flops per byte above which compute is the bound */
    bool has_mfu;
    double mfu; /* by the rules of the trace's version, for all cores in 16 bits */
    struct ntk_roofline_row total;
    struct ntk_roofline_list layers, regions, lines;
};

int ntk_analysis_roofline(const struct ntk_program *program, const struct ntk_cost_table *costs,
                          struct ntk_roofline *out_roofline);
void ntk_roofline_fini(struct ntk_roofline *roofline);
/* Returns "compute", "memory" or "none". */
const char *ntk_roofline_bound_name(enum ntk_roofline_bound bound);

/* Compares the work in a time with the ceilings. */
struct ntk_roofline_row ntk_roofline_judge(const struct ntk_ceilings *ceilings,
                                           const struct ntk_roofline_work *work, int64_t time_ps);

#endif
