/* SPDX-License-Identifier: MIT */
/* roofline - compares work and bytes of layers with the ceilings; regions and lines are added
 * afterwards. */
#include "profiler/analysis/roofline.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/analysis/hbm_traffic.h"
#include "profiler/analysis/roofline_points.h"
#include "shared/base/order.h"

const char *ntk_roofline_bound_name(enum ntk_roofline_bound bound)
{
    static const char *const names[] = { "none", "compute", "memory" };

    return names[bound];
}

struct ntk_roofline_row ntk_roofline_judge(const struct ntk_ceilings *ceilings,
                                           const struct ntk_roofline_work *work, int64_t time_ps)
{
    double compute_ps = (double)work->weighted_flops / ceilings->plain_per_second * 1e12;
    double memory_ps = (double)work->bytes / ceilings->bytes_per_second * 1e12;
    struct ntk_roofline_row row = { .flops = work->flops,
                                    .bytes = work->bytes,
                                    .time_ps = time_ps };

    if (work->bytes) {
        row.has_intensity = true;
        row.intensity = (double)work->flops / (double)work->bytes;
    }
    if (work->flops && work->weighted_flops) {
        row.peak_flops_per_second =
            ceilings->plain_per_second * ((double)work->flops / (double)work->weighted_flops);
    }
    if (work->flops || work->bytes) {
        row.bound = compute_ps >= memory_ps ? NTK_ROOFLINE_COMPUTE : NTK_ROOFLINE_MEMORY;
        row.least_ps = compute_ps >= memory_ps ? compute_ps : memory_ps;
        row.is_hidden = row.least_ps > (double)time_ps;
        row.has_ratio = time_ps > 0 && !row.is_hidden;
        row.ratio = row.has_ratio ? row.least_ps / (double)time_ps : 0;
    }
    return row;
}

NTK_ORDER(compare, struct ntk_roofline_row, NTK_DOWN(time_ps) NTK_UP(layer));

static int add_layers(const struct ntk_cost_table *costs, struct ntk_roofline *roofline,
                      struct ntk_roofline_work *out_all)
{
    roofline->layers.rows = calloc(costs->layers.count + 1, sizeof *roofline->layers.rows);
    if (!roofline->layers.rows) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < costs->layers.count; i++) {
        const struct ntk_cost_row *layer = &costs->layers.rows[i];
        struct ntk_roofline_row *row = &roofline->layers.rows[roofline->layers.count++];
        struct ntk_roofline_work work = { .flops = layer->useful_flops,
                                          .weighted_flops = layer->weighted_flops,
                                          .bytes = layer->read_bytes + layer->write_bytes };

        *row = ntk_roofline_judge(&roofline->ceilings, &work, layer->path_ps);
        row->layer = layer->layer;
        out_all->flops += work.flops;
        out_all->weighted_flops += work.weighted_flops;
    }
    qsort(roofline->layers.rows, roofline->layers.count, sizeof *roofline->layers.rows, compare);
    return 0;
}

int ntk_analysis_roofline(const struct ntk_program *program, const struct ntk_cost_table *costs,
                          struct ntk_roofline *out_roofline)
{
    const struct ntk_trace *trace = program->trace;
    struct ntk_roofline roofline = { 0 };
    struct ntk_roofline_work all = { 0 };
    struct ntk_dma_traffic traffic;
    struct ntk_hbm_traffic hbm;

    ntk_analysis_dma_traffic(trace, &traffic);
    ntk_analysis_hbm_traffic(trace, &traffic, &hbm);
    if (!trace->has_total || trace->total_ps <= 0 || !costs->has_path || !costs->bytes_known ||
        !hbm.is_known || !ntk_analysis_ceilings(program, costs, &roofline.ceilings)) {
        return -ENODATA;
    }
    roofline.ridge = roofline.ceilings.flops_per_second / roofline.ceilings.bytes_per_second;
    roofline.has_mfu = ntk_analysis_mfu(program, costs, &roofline.mfu);
    int ret = add_layers(costs, &roofline, &all);
    all.bytes = hbm.read_bytes + hbm.write_bytes;
    roofline.total = ntk_roofline_judge(&roofline.ceilings, &all, trace->total_ps);
    ret = ret ? ret : ntk_roofline_add_regions(program, &roofline);
    ret = ret ? ret : ntk_roofline_add_lines(program, &roofline);
    if (ret < 0) {
        ntk_roofline_fini(&roofline);
        return ret;
    }
    *out_roofline = roofline;
    return 0;
}

void ntk_roofline_fini(struct ntk_roofline *roofline)
{
    for (size_t i = 0; i < roofline->regions.count; i++) {
        free(roofline->regions.rows[i].name);
    }
    free(roofline->layers.rows);
    free(roofline->regions.rows);
    free(roofline->lines.rows);
    *roofline = (struct ntk_roofline){ 0 };
}
