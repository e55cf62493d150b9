/* SPDX-License-Identifier: MIT */
/* measures - collects results of other analyses, with names that are the same in every capture. */
#include "profiler/analysis/measures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/ceilings.h"
#include "profiler/analysis/chip_memory.h"
#include "profiler/analysis/dma_efficiency.h"
#include "profiler/analysis/engine_activity.h"
#include "profiler/analysis/hbm_traffic.h"
#include "profiler/analysis/incomplete.h"
#include "profiler/analysis/queue_names.h"
#include "profiler/analysis/regions.h"

#define NAME_BYTES 512

static const struct {
    const char *key, *title;
    enum ntk_measure_unit unit;
} kinds[NTK_MEASURE_KIND_COUNT] = {
#define NTK_MEASURE(symbol, key, unit, title) { key, title, NTK_MEASURE_UNIT_##unit },
#include "profiler/analysis/measures.def"
};

const char *ntk_measure_key(enum ntk_measure_kind kind)
{
    return kinds[kind].key;
}

const char *ntk_measure_title(enum ntk_measure_kind kind)
{
    return kinds[kind].title;
}

enum ntk_measure_unit ntk_measure_unit(enum ntk_measure_kind kind)
{
    return kinds[kind].unit;
}

static struct ntk_measure *find(const struct ntk_measures *measures, enum ntk_measure_kind kind,
                                const char *name)
{
    uintptr_t index = (uintptr_t)ntk_map_get(&measures->indices[kind], name);

    return index ? ntk_vec_at(&measures->items, index - 1) : NULL;
}

const struct ntk_measure *ntk_measures_find(const struct ntk_measures *measures,
                                            enum ntk_measure_kind kind, const char *name)
{
    return find(measures, kind, name);
}

bool ntk_measures_is_unknown(const struct ntk_measures *measures, enum ntk_measure_kind kind,
                             const char *name)
{
    return !ntk_measures_have(measures, kind) ||
           (ntk_measure_is_always(kind) && !ntk_measures_find(measures, kind, name));
}

int ntk_measures_add(struct ntk_measures *measures, enum ntk_measure_kind kind, const char *name,
                     double value)
{
    struct ntk_measure *before = find(measures, kind, name);

    if (before) {
        before->value += value;
        return 0;
    }
    if (!measures->items.item_bytes) {
        ntk_vec_init(&measures->items, sizeof(struct ntk_measure));
    }
    struct ntk_measure measure = { .kind = kind, .name = strdup(name), .value = value };
    if (!measure.name || ntk_vec_push(&measures->items, &measure) < 0) {
        free(measure.name);
        return -ENOMEM;
    }
    return ntk_map_put(&measures->indices[kind], name, (void *)(uintptr_t)measures->items.count);
}

int ntk_measures_add_peak(struct ntk_measures *measures, enum ntk_measure_kind kind,
                          const char *name, double value)
{
    int ret = ntk_measures_add(measures, kind, name, value);

    if (ret == 0) {
        find(measures, kind, name)->is_peak = true;
    }
    return ret;
}

int ntk_measures_show(struct ntk_measures *measures, enum ntk_measure_kind kind, const char *name,
                      const char *shown)
{
    struct ntk_measure *measure = find(measures, kind, name);

    if (!measure || measure->shown || strcmp(name, shown) == 0) {
        return 0;
    }
    measure->shown = strdup(shown);
    return measure->shown ? 0 : -ENOMEM;
}

static int add_path(struct ntk_measures *measures, const struct ntk_program *program,
                    const struct ntk_critical_path *path)
{
    char name[NAME_BYTES];
    int ret = 0;

    for (size_t i = 0; i < path->resources.count && ret == 0; i++) {
        ntk_path_resource_name(&path->resources.shares[i], name, sizeof name);
        ret = ntk_measures_add(measures, NTK_MEASURE_RESOURCE, name,
                               (double)path->resources.shares[i].path_ps);
    }
    for (size_t i = 0; i < path->layers.count && ret == 0 && program->has_layers; i++) {
        ret = ntk_measures_add(measures, NTK_MEASURE_LAYER, path->layers.shares[i].name,
                               (double)path->layers.shares[i].path_ps);
    }
    return ret;
}

static int add_costs(struct ntk_measures *measures, const struct ntk_cost_table *costs)
{
    char name[NAME_BYTES];
    char opcode[16];
    int ret = 0;

    for (size_t i = 0; i < costs->operations.count && ret == 0; i++) {
        const struct ntk_cost_row *row = &costs->operations.rows[i];
        snprintf(name, sizeof name, "%s %s", ntk_ntff_engine_title(row->engine),
                 ntk_ntff_opcode_name(row->opcode, opcode, sizeof opcode));
        ret = ntk_measures_add(measures, NTK_MEASURE_OPERATION, name, (double)row->active_ps);
    }
    return ret;
}

/* Adds regions. A region found in only one of two executions is missing in the other. */
static int add_regions(struct ntk_measures *measures, const struct ntk_program *program,
                       struct ntk_work_units *out_units)
{
    bool are_known = ntk_measures_have(measures, NTK_MEASURE_REGION);
    struct ntk_regions regions;
    int ret = are_known || out_units ? ntk_analysis_regions(program, &regions) : 0;

    if (ret < 0 || !(are_known || out_units)) {
        return ret;
    }
    for (size_t i = 0; i < regions.region_count && ret == 0 && are_known; i++) {
        ret = ntk_measures_add(measures, NTK_MEASURE_REGION, regions.regions[i].key,
                               (double)regions.regions[i].median_ps);
        ret = ret ? ret
                  : ntk_measures_show(measures, NTK_MEASURE_REGION, regions.regions[i].key,
                                      regions.regions[i].shown);
    }
    ret = ret || !out_units ? ret : ntk_work_units_init(out_units, program, &regions);
    ntk_regions_fini(&regions);
    return ret;
}

/* Adds the maximum over cores, per partition, because all partitions have the same size. */
static int add_peaks(struct ntk_measures *measures, const struct ntk_program *program)
{
    static const char *const names[NTK_CHIP_SPACE_COUNT] = { "SBUF peak per partition",
                                                             "PSUM peak per partition" };
    struct ntk_chip_memory chip;
    int ret = ntk_analysis_chip_memory(program, 1, &chip);

    if (ret < 0) {
        return ret == -ENODATA ? 0 : ret;
    }
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT && ret == 0; s++) {
        double most = 0;
        for (size_t i = 0; i < chip.space_count; i++) {
            const struct ntk_chip_memory_space *use = &chip.spaces[i];
            most =
                use->space == s && (double)use->peak_bytes > most ? (double)use->peak_bytes : most;
        }
        ret = ntk_measures_add_peak(measures, NTK_MEASURE_MEMORY, names[s], most);
    }
    ntk_chip_memory_fini(&chip);
    return ret;
}

/* Adds utilizations; unknown values are omitted. */
static int add_use(struct ntk_measures *measures, const struct ntk_program *program,
                   const struct ntk_cost_table *costs, const struct ntk_dma_traffic *traffic)
{
    struct ntk_hbm_traffic hbm;
    double mfu;
    int ret = 0;

    if (ntk_analysis_mfu(program, costs, &mfu)) {
        ret = ntk_measures_add(measures, NTK_MEASURE_USE, "MFU", mfu);
    }
    ntk_analysis_hbm_traffic(program->trace, traffic, &hbm);
    if (ret == 0 && hbm.is_known) {
        ret = ntk_measures_add(measures, NTK_MEASURE_MEMORY, "HBM read", (double)hbm.read_bytes);
        ret = ret ? ret
                  : ntk_measures_add(measures, NTK_MEASURE_MEMORY, "HBM written",
                                     (double)hbm.write_bytes);
    }
    return ret ? ret : add_peaks(measures, program);
}

static int add_queues(struct ntk_measures *measures, const struct ntk_trace *trace)
{
    struct ntk_dma_efficiency dma;
    char name[NAME_BYTES];
    int ret = ntk_analysis_dma_efficiency(trace, &dma);

    if (ret < 0) {
        return ret;
    }
    for (size_t i = 0; i < dma.row_count && ret == 0; i++) {
        const struct ntk_dma_queue_row *row = &dma.rows[i];
        ntk_queue_name_show(row->name, row->dma_class, name, sizeof name);
        ret = ntk_measures_add(measures, NTK_MEASURE_QUEUE, name, (double)row->active_ps);
        ret = ret ? ret
                  : ntk_measures_add(measures, NTK_MEASURE_BYTES, name, (double)row->bytes_count);
    }
    ntk_dma_efficiency_fini(&dma);
    return ret;
}

static int add_engines(struct ntk_measures *measures, const struct ntk_activity *activity)
{
    int ret = 0;

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT && ret == 0; e++) {
        ret = ntk_measures_add(measures, NTK_MEASURE_ENGINE, ntk_ntff_engine_title(e),
                               (double)activity->engines[e].active_ps);
    }
    return ret;
}

/* Returns the kinds that need records which the capture lacks; advice omits the same kinds
 * (advice_incomplete.c). */
static unsigned unknown_kinds(const struct ntk_program *program,
                              const struct ntk_critical_path *path, uint64_t executions)
{
    unsigned lacks = ntk_program_lacks_most(program);
    bool has_path = path && !(lacks & (NTK_LACK_INSTRUCTIONS | NTK_LACK_EVENTS));
    unsigned unknown = 0;

    if (!has_path) {
        unknown |= 1u << NTK_MEASURE_RESOURCE | 1u << NTK_MEASURE_LAYER;
    }
    if (lacks & NTK_LACK_INSTRUCTIONS) {
        unknown |=
            1u << NTK_MEASURE_REGION | 1u << NTK_MEASURE_OPERATION | 1u << NTK_MEASURE_ENGINE;
    }
    if (executions > 1) { /* their regions differ from those of one execution */
        unknown |= 1u << NTK_MEASURE_REGION;
    }
    if (lacks & NTK_LACK_PACKETS) {
        unknown |= 1u << NTK_MEASURE_QUEUE | 1u << NTK_MEASURE_BYTES;
    }
    return unknown;
}

/* Returns true if the measure of a capture is the sum over its executions. Regions have a median,
 * and shares cover all executions. */
static bool adds_up(const struct ntk_measure *measure)
{
    return measure->kind != NTK_MEASURE_REGION && measure->kind != NTK_MEASURE_USE &&
           !measure->is_peak;
}

/* The mean: a capture of three executions is compared with one of a single execution. */
static void per_execution(struct ntk_measures *measures, uint64_t count)
{
    ntk_vec_each(struct ntk_measure, measure, &measures->items) {
        if (adds_up(measure)) {
            measure->value /= (double)count;
        }
    }
}

/* Share of the time after which the part is done, for progress. */
#define SHARE_PATH 0.02
#define SHARE_ACTIVITY 0.2
#define SHARE_USE 0.55
#define SHARE_REGIONS 0.7

int ntk_analysis_measures(const struct ntk_program *program, const struct ntk_critical_path *path,
                          const struct ntk_cost_table *costs, struct ntk_progress *progress,
                          struct ntk_measures *out_measures, struct ntk_work_units *out_units)
{
    const struct ntk_trace *trace = program->trace;
    uint64_t executions = program->execution_count;
    struct ntk_measures measures = { .unknown = unknown_kinds(program, path, executions) };
    struct ntk_activity activity;
    struct ntk_dma_traffic traffic;
    int ret = 0;

    if (trace->has_total && trace->total_ps > 0) {
        ret = ntk_measures_add(&measures, NTK_MEASURE_TOTAL, NTK_MEASURE_TOTAL_NAME,
                               (double)trace->total_ps);
    }
    if (ret == 0 && ntk_measures_have(&measures, NTK_MEASURE_RESOURCE)) {
        ret = add_path(&measures, program, path);
    }
    ntk_progress_show(progress, SHARE_PATH);
    ntk_analysis_activity_and_traffic(trace, &activity, &traffic);
    ntk_progress_show(progress, SHARE_ACTIVITY);
    ret = ret ? ret : add_use(&measures, program, costs, &traffic);
    ntk_progress_show(progress, SHARE_USE);
    if (ret == 0 && ntk_measures_have(&measures, NTK_MEASURE_OPERATION)) {
        ret = add_regions(&measures, program, out_units);
        ntk_progress_show(progress, SHARE_REGIONS);
        ret = ret ? ret : add_costs(&measures, costs);
        ret = ret ? ret : add_engines(&measures, &activity);
    }
    if (ret == 0 && ntk_measures_have(&measures, NTK_MEASURE_QUEUE)) {
        ret = add_queues(&measures, trace);
    }
    per_execution(&measures, executions);
    ntk_progress_show(progress, 1);
    if (ret < 0) {
        ntk_measures_fini(&measures);
        if (out_units) {
            ntk_work_units_fini(out_units);
        }
        return ret;
    }
    *out_measures = measures;
    return 0;
}

void ntk_measures_fini(struct ntk_measures *measures)
{
    ntk_vec_each(struct ntk_measure, measure, &measures->items) {
        free(measure->name);
        free(measure->shown);
    }
    ntk_vec_fini(&measures->items);
    free(measures->source);
    for (unsigned k = 0; k < NTK_MEASURE_KIND_COUNT; k++) {
        ntk_map_fini(&measures->indices[k]);
    }
}
