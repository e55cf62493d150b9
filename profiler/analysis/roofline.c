/* SPDX-License-Identifier: MIT */
/* roofline - work and bytes of layers against the peaks of the chip. */
#include "profiler/analysis/roofline.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/analysis/hbm_traffic.h"

const char *ntk_roofline_bound_name(enum ntk_roofline_bound bound)
{
    static const char *const names[] = { "none", "compute", "memory" };

    return names[bound];
}

/* peak_flops: what the tensor engine could have done in 16 bits instead. */
static struct ntk_roofline_row judge(const struct ntk_roofline *roofline, uint64_t flops,
                                     uint64_t peak_flops, uint64_t bytes, int64_t time_ps)
{
    double compute_ps = (double)peak_flops / roofline->peak_flops_per_second * 1e12;
    double memory_ps = (double)bytes / roofline->peak_bytes_per_second * 1e12;
    struct ntk_roofline_row row = { .flops = flops, .bytes = bytes, .time_ps = time_ps };

    if (bytes) {
        row.has_intensity = true;
        row.intensity = (double)flops / (double)bytes;
    }
    if (flops || bytes) {
        row.bound = compute_ps >= memory_ps ? NTK_ROOFLINE_COMPUTE : NTK_ROOFLINE_MEMORY;
        row.least_ps = compute_ps >= memory_ps ? compute_ps : memory_ps;
        row.is_hidden = row.least_ps > (double)time_ps;
        row.has_ratio = time_ps > 0 && !row.is_hidden;
        row.ratio = row.has_ratio ? row.least_ps / (double)time_ps : 0;
    }
    return row;
}

static int compare(const void *a, const void *b)
{
    const struct ntk_roofline_row *x = a;
    const struct ntk_roofline_row *y = b;

    if (x->time_ps != y->time_ps) {
        return x->time_ps > y->time_ps ? -1 : 1;
    }
    return x->layer < y->layer ? -1 : x->layer > y->layer;
}

int ntk_analysis_roofline(const struct ntk_program *program, const struct ntk_cost_table *costs,
                          struct ntk_roofline *out_roofline)
{
    const struct ntk_trace *trace = program->trace;
    struct ntk_roofline roofline = { 0 };
    struct ntk_dma_traffic traffic;
    struct ntk_hbm_traffic hbm;
    uint64_t flops = 0;
    uint64_t peak_flops = 0;

    ntk_analysis_dma_traffic(trace, &traffic);
    ntk_analysis_hbm_traffic(trace, &traffic, &hbm);
    if (!trace->has_chip || !trace->has_total || trace->total_ps <= 0 || !costs->has_path ||
        !costs->flops_known || !costs->bytes_known || !hbm.is_known) {
        return -ENODATA;
    }
    roofline.peak_flops_per_second = trace->chip.core_flops_per_second * (double)trace->core_count;
    roofline.peak_bytes_per_second = trace->chip.hbm_bytes_per_second;
    roofline.ridge = roofline.peak_flops_per_second / roofline.peak_bytes_per_second;
    roofline.rows = calloc(costs->layers.count + 1, sizeof *roofline.rows);
    if (!roofline.rows) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < costs->layers.count; i++) {
        const struct ntk_cost_row *layer = &costs->layers.rows[i];
        uint64_t useful = layer->flops - layer->transpose_flops;
        struct ntk_roofline_row *row = &roofline.rows[roofline.row_count++];

        *row = judge(&roofline, useful, layer->useful_peak_flops,
                     layer->read_bytes + layer->write_bytes, layer->path_ps);
        row->layer = layer->layer;
        flops += useful;
        peak_flops += layer->useful_peak_flops;
    }
    qsort(roofline.rows, roofline.row_count, sizeof *roofline.rows, compare);
    roofline.total =
        judge(&roofline, flops, peak_flops, hbm.read_bytes + hbm.write_bytes, trace->total_ps);
    *out_roofline = roofline;
    return 0;
}

void ntk_roofline_fini(struct ntk_roofline *roofline)
{
    free(roofline->rows);
    *roofline = (struct ntk_roofline){ 0 };
}
