/* SPDX-License-Identifier: MIT */
/* rows_region - creates rows for repeated regions and their outliers. */
#include "profiler/output/tables/rows.h"

int ntk_rows_regions(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_regions *regions = &export->regions;
    int ret = 0;

    for (size_t i = 0; i < regions->region_count && ret == 0; i++) {
        const struct ntk_region *from = &regions->regions[i];
        const struct ntk_region_instance *worst = &ntk_region_instances(regions, from)[from->worst];
        double share = ntk_region_share(export->trace, from);
        struct ntk_region_row row = {
            .id = (int64_t)i,
            .core_index = (int64_t)ntk_trace_core_number(export->trace, from->core_index),
            .subgraph = export->trace->cores[from->core_index].ntff->name,
            .engine = ntk_region_engine_name(from),
            .kind = ntk_region_kind_name(from->kind),
            .name = from->name,
            .key = from->key,
            .parent_id = from->parent == NTK_REGION_NONE ? NTK_ABSENT_I64 : from->parent,
            .depth = from->depth,
            .count = (int64_t)from->count,
            .instruction_count = (int64_t)from->instruction_count,
            .median_ns = ntk_rows_ns(from->median_ps),
            .worst_ns = ntk_rows_ns(from->worst_ps),
            .worst_index = (int64_t)from->worst,
            .worst_start_ns = ntk_rows_ns(worst->start_ps),
            .total_ns = ntk_rows_ns(from->total_ps),
            .share = share < 0 ? NTK_ABSENT_F64 : share,
            .start_ns = ntk_rows_ns(from->start_ps),
            .end_ns = ntk_rows_ns(from->end_ps),
            .outlier_count = (int64_t)from->outlier_count,
        };
        ret = put(ctx, &row);
    }
    return ret;
}

int ntk_rows_region_outliers(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_regions *regions = &export->regions;
    int ret = 0;

    for (size_t i = 0; i < regions->region_count; i++) {
        const struct ntk_region *region = &regions->regions[i];
        for (uint32_t o = 0; o < region->outliers_kept && ret == 0; o++) {
            const struct ntk_region_outlier *from = &region->outliers[o];
            int64_t duration_ps = from->end_ps - from->start_ps;
            struct ntk_region_outlier_row row = {
                .region_id = (int64_t)i,
                .core_index = (int64_t)ntk_trace_core_number(export->trace, region->core_index),
                .subgraph = export->trace->cores[region->core_index].ntff->name,
                .index = (int64_t)from->index,
                .start_ns = ntk_rows_ns(from->start_ps),
                .end_ns = ntk_rows_ns(from->end_ps),
                .duration_ns = ntk_rows_ns(duration_ps),
                .medians = region->median_ps > 0 ? (double)duration_ps / (double)region->median_ps
                                                 : NTK_ABSENT_F64,
            };
            ret = put(ctx, &row);
        }
    }
    return ret;
}
