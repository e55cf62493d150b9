/* SPDX-License-Identifier: MIT */
/* output_regions - writes regions.h as text and JSON. */
#include <inttypes.h>

#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"

/* Number of regions in text with their slowest instances. */
#define TEXT_OUTLIER_REGIONS 8

static unsigned core_of(const struct ntk_trace *trace, const struct ntk_region *region)
{
    return trace->cores[region->core_index].ntff->core;
}

static const char *engine_title(const struct ntk_region *region)
{
    return region->engine < NTK_NTFF_ENGINE_COUNT ? ntk_ntff_engine_title(region->engine) : "all";
}

static void table_text(const struct ntk_trace *trace, const struct ntk_regions *regions,
                       struct ntk_buf *out)
{
    static const char *const heads[] = { "REGION",   "KIND",         "ENGINE",
                                         "COUNT",    "MEDIAN US",    "WORST US",
                                         "TOTAL US", "OF EXECUTION", "OUTLIERS" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, 9, 1u << 0 | 1u << 1 | 1u << 2, heads);
    for (size_t i = 0; i < regions->region_count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        const struct ntk_region *region = &regions->regions[i];
        ntk_text_table_format(&table, "%zu %.100s", i, region->name);
        ntk_text_table_text(&table, ntk_region_kind_name(region->kind));
        ntk_text_table_format(&table, "NC %u %s", core_of(trace, region), engine_title(region));
        ntk_cell_u64(&table, region->count);
        ntk_cell_us(&table, region->median_ps);
        ntk_cell_us(&table, region->worst_ps);
        ntk_cell_us(&table, region->total_ps);
        ntk_cell_share(&table, (double)region->covered_ps,
                       trace->has_total ? (double)trace->total_ps : 0);
        ntk_cell_u64(&table, region->outlier_count);
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    ntk_output_more(out, regions->region_count);
    ntk_buf_add_text(out, "TOTAL adds up the repetitions; OF EXECUTION counts overlapping time "
                          "once\n");
}

static void outliers_text(const struct ntk_regions *regions, struct ntk_buf *out)
{
    size_t shown = 0;

    for (size_t i = 0; i < regions->region_count && shown < TEXT_OUTLIER_REGIONS; i++) {
        const struct ntk_region *region = &regions->regions[i];
        if (!region->outliers_kept) {
            continue;
        }
        ntk_buf_add_format(out, "%s%zu %.100s, slow:", shown ? "" : "\n", i, region->name);
        for (uint32_t o = 0; o < region->outliers_kept; o++) {
            const struct ntk_region_outlier *outlier = &region->outliers[o];
            ntk_buf_add_format(out, "%s #%" PRIu64 " at %.3f us took %.3f us", o ? "," : "",
                               outlier->index, (double)outlier->start_ps / 1e6,
                               (double)(outlier->end_ps - outlier->start_ps) / 1e6);
        }
        ntk_buf_add_char(out, '\n');
        shown++;
    }
}

void ntk_output_regions_text(const struct ntk_program *program, const struct ntk_regions *regions,
                             struct ntk_buf *out)
{
    if (regions->region_count == 0) {
        ntk_buf_add_text(out, "No repetitions: no loop, iteration, layer or collective\n");
    } else {
        table_text(program->trace, regions, out);
        outliers_text(regions, out);
    }
    if (regions->omitted) {
        ntk_buf_add_format(out, "%" PRIu64 " repetitions are omitted: too many different ones\n",
                           regions->omitted);
    }
    if (program->trace->has_collectives) {
        ntk_buf_add_text(out, "Collective-communication core records cannot be read: only "
                              "collectives with known names are listed\n");
    }
}

static void region_json(const struct ntk_trace *trace, const struct ntk_regions *regions,
                        size_t index, struct ntk_json *json)
{
    const struct ntk_region *region = &regions->regions[index];

    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "id", index);
    ntk_json_key_text(json, "name", region->name);
    ntk_json_key_text(json, "key", region->key);
    ntk_json_key_text(json, "kind", ntk_region_kind_name(region->kind));
    ntk_json_key_u64(json, "core", core_of(trace, region));
    ntk_json_key_text(json, "engine",
                      region->engine < NTK_NTFF_ENGINE_COUNT ? ntk_region_engine_name(region)
                                                             : NULL);
    ntk_json_key(json, "parent");
    if (region->parent == NTK_REGION_NONE) {
        ntk_json_null(json);
    } else {
        ntk_json_u64(json, region->parent);
    }
    ntk_json_key_u64(json, "depth", region->depth);
    ntk_json_key_u64(json, "count", region->count);
    ntk_json_key_u64(json, "instruction_count", region->instruction_count);
    ntk_json_key_ns(json, "median_ns", region->median_ps);
    ntk_json_key_ns(json, "worst_ns", region->worst_ps);
    ntk_json_key_u64(json, "worst", region->worst);
    ntk_json_key_ns(json, "worst_at_ns",
                    ntk_region_instances(regions, region)[region->worst].start_ps);
    ntk_json_key_ns(json, "total_ns", region->total_ps);
    ntk_json_key_share(json, "covered_ratio", (double)region->covered_ps,
                       trace->has_total ? (double)trace->total_ps : 0);
    ntk_json_key_ns(json, "start_ns", region->start_ps);
    ntk_json_key_ns(json, "end_ns", region->end_ps);
    ntk_json_key_u64(json, "outlier_count", region->outlier_count);
    ntk_json_key_array_begin(json, "outliers");
    for (uint32_t o = 0; o < region->outliers_kept; o++) {
        const struct ntk_region_outlier *outlier = &region->outliers[o];
        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "index", outlier->index);
        ntk_json_key_ns(json, "start_ns", outlier->start_ps);
        ntk_json_key_ns(json, "end_ns", outlier->end_ps);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

void ntk_output_regions_json(const struct ntk_program *program, const struct ntk_regions *regions,
                             struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "omitted", regions->omitted);
    ntk_json_key_bool(json, "has_unread_collectives", program->trace->has_collectives);
    ntk_json_key_array_begin(json, "regions");
    for (size_t i = 0; i < regions->region_count; i++) {
        region_json(program->trace, regions, i, json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}
