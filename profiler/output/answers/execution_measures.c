/* SPDX-License-Identifier: MIT */
#include "profiler/output/answers/execution_measures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/trace/slice.h"

struct adding {
    struct ntk_execution_measures *to;
    const char *name;
    bool wants_units;
    void (*on_program)(const struct ntk_program *program, void *ctx);
    void *ctx;
};

static void pass_program(const struct adding *adding, const struct ntk_program *program)
{
    if (adding->on_program) {
        adding->on_program(program, adding->ctx);
    }
}

/* Adds the measures of one execution, or the means of several. */
static int add_analyses(struct adding *adding, const struct ntk_analyses *analyses,
                        const char *source)
{
    struct ntk_execution_measures *to = adding->to;
    uint64_t count = analyses->program->execution_count;
    bool has_units = adding->wants_units && !to->has_units;
    struct ntk_measures measures = { 0 };
    struct ntk_progress progress;

    to->mean_count = count > 1 && count > to->mean_count ? count : to->mean_count;
    ntk_progress_begin(&progress, "measuring");
    int ret = ntk_analysis_measures(analyses->program, analyses->has_path ? &analyses->path : NULL,
                                    &analyses->costs, &progress, &measures,
                                    has_units ? &to->units : NULL);
    ntk_progress_end(&progress);
    if (ret < 0) {
        return ret;
    }
    to->has_units =
        to->has_units || (has_units && ntk_measures_have(&measures, NTK_MEASURE_OPERATION));
    measures.source = source ? strdup(source) : NULL;
    ret = source && !measures.source ? -ENOMEM : ntk_vec_push(&to->measures, &measures);
    if (ret < 0) {
        ntk_measures_fini(&measures);
    }
    return ret;
}

/* Adds a trace that is measured as one. */
static int add_trace(struct adding *adding, const struct ntk_trace *trace)
{
    struct ntk_analyses *analyses = NULL;
    int ret = ntk_analyses_create_shown(trace, NTK_USES_COSTS, &analyses);

    if (ret == 0) {
        pass_program(adding, analyses->program);
        ret = add_analyses(adding, analyses, adding->name);
    }
    ntk_analyses_destroy(analyses);
    return ret;
}

/* Finds the executions that are measured one by one; there are none in a window, or if they are of
 * several models. */
static int find_executions(const struct ntk_trace *trace, struct ntk_execution_borders *out_borders)
{
    size_t *models = calloc(trace->core_count + 1, sizeof *models);
    uint64_t count;
    bool is_one_model = true;

    *out_borders = (struct ntk_execution_borders){ 0 };
    if (!models) {
        return -ENOMEM;
    }
    ntk_execution_models_find(trace, models);
    for (size_t c = 0; c < trace->core_count; c++) {
        is_one_model = is_one_model && models[c] == models[0];
    }
    free(models);
    return is_one_model && trace->has_total && !ntk_trace_has_window(trace)
               ? ntk_execution_borders_find(trace, &count, out_borders)
               : 0;
}

static int add_execution(struct adding *adding, const struct ntk_program *whole,
                         const struct ntk_execution_borders *borders, size_t execution)
{
    char source[NTK_NTFF_NAME_BYTES + 64];
    struct ntk_analyses *analyses = NULL;
    struct ntk_trace *slice = NULL;
    int64_t from_ps;
    int64_t to_ps;

    ntk_execution_window(borders, execution, &from_ps, &to_ps);
    (void)snprintf(source, sizeof source, "%s%sexecution %zu", adding->name ? adding->name : "",
                   adding->name ? ", " : "", execution + 1);
    int ret = ntk_trace_slice_create(whole->trace, from_ps, to_ps, &slice);
    ret = ret ? ret : ntk_analyses_create_slice(whole, slice, NTK_USES_COSTS, &analyses);
    ret = ret ? ret : add_analyses(adding, analyses, source);
    ntk_analyses_destroy(analyses);
    ntk_trace_destroy(slice);
    return ret;
}

/* Adds each execution; of more than the maximum, some. Only the program of the whole trace shows
 * which records are lost, and its names and positions take long to read. */
static int add_executions(struct adding *adding, const struct ntk_program *whole,
                          const struct ntk_execution_borders *borders)
{
    size_t count = borders->count;
    size_t measured = count < NTK_EXECUTION_MEASURES_MAX ? count : NTK_EXECUTION_MEASURES_MAX;
    int ret = 0;

    pass_program(adding, whole);
    adding->to->omitted_count += count - measured;
    for (size_t i = 0; i < measured && ret == 0; i++) {
        ret = add_execution(adding, whole, borders, i * count / measured);
    }
    return ret;
}

int ntk_execution_measures_add(struct ntk_execution_measures *to, const struct ntk_trace *trace,
                               const struct ntk_analyses *whole, const char *name, bool wants_units,
                               void (*on_program)(const struct ntk_program *program, void *ctx),
                               void *ctx)
{
    struct adding adding = { to, name, wants_units, on_program, ctx };
    struct ntk_execution_borders borders;
    struct ntk_program *own = NULL;
    int ret = find_executions(trace, &borders);

    if (!to->measures.item_bytes) {
        ntk_vec_init(&to->measures, sizeof(struct ntk_measures));
    }
    if (ret == 0 && borders.count > 0) {
        ret = whole ? 0 : ntk_program_create(trace, &own);
        ret = ret ? ret : add_executions(&adding, whole ? whole->program : own, &borders);
    } else if (ret == 0 && whole) {
        pass_program(&adding, whole->program);
        ret = add_analyses(&adding, whole, name);
    } else if (ret == 0) {
        ret = add_trace(&adding, trace);
    }
    ntk_program_destroy(own);
    ntk_execution_borders_fini(&borders);
    return ret;
}

void ntk_execution_measures_fini(struct ntk_execution_measures *measures)
{
    ntk_vec_each(struct ntk_measures, one, &measures->measures) {
        ntk_measures_fini(one);
    }
    ntk_vec_fini(&measures->measures);
    ntk_work_units_fini(&measures->units);
}
