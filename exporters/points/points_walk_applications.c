/* SPDX-License-Identifier: MIT */
/* points_walk_applications - visits families of applications with lists: cores, memory, models. */
#include <string.h>

#include "exporters/points/points_visit.h"

void points_each_tag(const struct points_visit *v,
                     void (*visit)(const struct points_visit *v, const struct ntk_points_tag *tag,
                                   const void *arg),
                     const void *arg)
{
    bool is_counted =
        v->row->kind == NTK_METRIC_KIND_COUNTER || v->row->kind == NTK_METRIC_KIND_HISTOGRAM;

    const struct ntk_map *tags = &v->page->tags;

    for (size_t i = v->part ? v->part->next : 0; i < tags->count; i++) {
        const struct ntk_points_tag *tag = tags->entries[i].value;
        /* Counters include processes that have exited, as long as their last counts are
         * exported. */
        if (tag->is_live || (is_counted && tag->is_leaving)) {
            struct points_visit of_tag = points_owned(v, &tag->owner);
            points_share(&of_tag, "runtime_tag", tag->tag);
            visit(&of_tag, tag, arg);
        }
        if (v->part && i + 1 < tags->count && v->part->is_full(v->ctx)) {
            v->part->next = i + 1;
            v->part->is_stopped = true;
            return;
        }
    }
}

/* -- cores of applications --------------------------------------------------------------------- */

/* A family of cores: its figure, and the function that reads it. */
struct of_cores {
    void (*visit)(const struct points_visit *v, const struct ntk_points_core *core, size_t which);
    size_t which;
};

static void each_core(const struct points_visit *v, const struct ntk_points_tag *tag,
                      const void *arg)
{
    const struct of_cores *of_cores = arg;

    ntk_vec_each(const struct ntk_points_core, core, &tag->cores) {
        struct points_visit of_core = *v;
        points_share_number(&of_core, "neuroncore", core->core);
        of_cores->visit(&of_core, core, of_cores->which);
    }
}

static void walk_cores(const struct points_visit *v,
                       void (*visit)(const struct points_visit *v,
                                     const struct ntk_points_core *core, size_t which),
                       size_t which)
{
    const struct of_cores of_cores = { visit, which };

    points_each_tag(v, each_core, &of_cores);
}

static void core_utilization(const struct points_visit *v, const struct ntk_points_core *core,
                             size_t which)
{
    (void)which;
    if (core->has_utilization) {
        points_put_f64(v, NO_LABELS, core->utilization);
    }
}

/* Visits rows of core_state.def with a metric. */
static void core_state(const struct points_visit *v, const struct ntk_points_core *core, size_t row)
{
    if (core->has_state >> row & 1) {
        points_put_u64(v, NO_LABELS, core->state[row]);
    }
}

static void core_rate(const struct points_visit *v, const struct ntk_points_core *core, size_t row)
{
    if (core->has_rate >> row & 1) {
        points_put_f64(v, NO_LABELS, core->rate[row]);
    }
}

static void core_memory(const struct points_visit *v, const struct ntk_points_core *core,
                        size_t group)
{
    if (core->has_memory && core->has_group[group]) {
        points_put_u64(v, LABELS({ "memory_location", "None" }), core->group_bytes[group]);
    }
}

/* Visits cores without an application, as zero. */
static void fill_zeros(const struct points_visit *v, bool is_memory)
{
    const struct ntk_points_page *page = v->page;
    bool shown[NTK_POINTS_CORES_MAX] = { false };
    size_t count = (size_t)page->device_count * page->cores_per_device;

    if (!page->fills_zeros || !points_is_last(v)) {
        return;
    }
    count = count < NTK_POINTS_CORES_MAX ? count : NTK_POINTS_CORES_MAX;
    ntk_map_each(entry, &page->tags) {
        const struct ntk_points_tag *tag = entry->value;
        ntk_vec_each(const struct ntk_points_core, core, &tag->cores) {
            if (tag->is_live && core->core < count &&
                (is_memory ? core->has_memory : core->has_utilization)) {
                shown[core->core] = true;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct points_visit of_core = points_owned(v, &page->cores[i].owner);
        points_share(&of_core, "runtime_tag", "");
        points_share_number(&of_core, "neuroncore", (uint32_t)i);
        if (!shown[i]) {
            points_put_u64(&of_core, is_memory ? LABELS({ "memory_location", "None" }) : NO_LABELS,
                           0);
        }
    }
}

/* -- lists of an application ------------------------------------------------------------------- */

static void latency_series(const struct points_visit *v, const char *model_name, const char *type,
                           const struct ntk_points_latency_series *series)
{
    if (series->edges.count > 0) {
        points_put(v, (struct ntk_point){
                          .labels = LABELS({ "latency_type", type }, { "model_name", model_name }),
                          .latency = series,
                          .began_ns = series->began_ns });
    }
}

static void latency_histogram(const struct points_visit *v, const struct ntk_points_tag *tag,
                              const void *arg)
{
    (void)arg;
    if (tag->is_uncounted) {
        return;
    }
    ntk_vec_each(const struct ntk_points_latency, latency, &tag->latencies) {
        latency_series(v, latency->model_name, "total", &latency->total);
        latency_series(v, latency->model_name, "device", &latency->device);
    }
}

static void fine_memory(const struct points_visit *v, const struct ntk_points_tag *tag,
                        const void *arg)
{
    ntk_vec_each(const struct ntk_points_memory, row, &tag->memory) {
        struct points_number number = points_number_text(row->core);
        points_put_u64(v,
                       LABELS({ "category", ntk_memory_category_names[row->category] },
                              { "memory_location",
                                row->location == NTK_MEMORY_DEVICE ? "neuron_device" : "host" },
                              { "neuroncore", row->core == NTK_NO_CORE ? "" : number.text }),
                       *(const bool *)arg ? row->peak_bytes : row->bytes);
    }
}

static void model_loaded(const struct points_visit *v, const struct ntk_points_tag *tag,
                         const void *arg)
{
    (void)arg;
    ntk_vec_each(const struct ntk_points_model, model, &tag->models) {
        bool doubled = false; /* two runtimes of a tag may have the same id and name */
        for (const struct ntk_points_model *before = tag->models.items; before < model && !doubled;
             before++) {
            doubled = before->id == model->id && before->core == model->core &&
                      !strcmp(before->name, model->name);
        }
        struct points_number core = points_number_text(model->core);
        struct points_number id = points_number_text(model->id);
        if (!doubled) {
            points_put_u64(v,
                           LABELS({ "model_id", id.text }, { "model_name", model->name },
                                  { "neuroncore", core.text }),
                           1);
        }
    }
}

/* Visits a point for each way in which runtimes of a tag are observed. */
static void runtime_hooks(const struct points_visit *v, const struct ntk_points_tag *tag,
                          const void *arg)
{
    static const char *const flags[] = { "false", "true" };

    (void)arg;
    for (int i = 0; i < NTK_HOOKS_KIND_COUNT * 2 * NTK_EXECUTIONS_COUNTED_COUNT; i++) {
        int kind = i / (2 * NTK_EXECUTIONS_COUNTED_COUNT);
        int guessed = i / NTK_EXECUTIONS_COUNTED_COUNT % 2;
        int counted = i % NTK_EXECUTIONS_COUNTED_COUNT;

        if (kind != NTK_HOOKS_UNKNOWN && tag->is_watched[kind][guessed][counted]) {
            points_put_u64(v,
                           LABELS({ "cores_guessed", flags[guessed] },
                                  { "executions_counted", ntk_executions_counted_names[counted] },
                                  { "hooks", ntk_hooks_kind_names[kind] }),
                           1);
        }
    }
}

/* -- which family is which --------------------------------------------------------------------- */

static const struct {
    size_t family;
    void (*of_tag)(const struct points_visit *v, const struct ntk_points_tag *tag, const void *arg);
    bool is_peak;
} of_tags[] = {
    { NTK_METRIC_LATENCY_HISTOGRAM, latency_histogram, false },
    { NTK_METRIC_MEMORY_USED, fine_memory, false },
    { NTK_METRIC_MEMORY_PEAK, fine_memory, true },
    { NTK_METRIC_MODEL_LOADED, model_loaded, false },
    { NTK_METRIC_RUNTIME_HOOKS, runtime_hooks, false },
};
static const struct {
    size_t family;
    enum ntk_memory_group group;
} of_groups[] = {
    { NTK_METRIC_CORE_MEMORY_CONSTANTS, NTK_GROUP_CONSTANTS },
    { NTK_METRIC_CORE_MEMORY_MODEL_CODE, NTK_GROUP_MODEL_CODE },
    { NTK_METRIC_CORE_MEMORY_SCRATCHPAD, NTK_GROUP_SCRATCHPAD },
    { NTK_METRIC_CORE_MEMORY_RUNTIME, NTK_GROUP_RUNTIME },
    { NTK_METRIC_CORE_MEMORY_TENSORS, NTK_GROUP_TENSORS },
};

void points_applications_walk(const struct points_visit *v, size_t family)
{
    if (family == NTK_METRIC_NEURONCORE_UTILIZATION) {
        walk_cores(v, core_utilization, 0);
        fill_zeros(v, false);
    }
    for (size_t i = 0; i < sizeof of_groups / sizeof *of_groups; i++) {
        if (of_groups[i].family == family) {
            walk_cores(v, core_memory, of_groups[i].group);
            fill_zeros(v, true);
        }
    }
    if (family >= NTK_POINTS_RATES) {
        walk_cores(v, core_rate, family - NTK_POINTS_RATES);
    }
    for (size_t i = 0; i < NTK_CORE_STATES; i++) {
        if (ntk_core_state_rows[i].metric == family) {
            walk_cores(v, core_state, i);
        }
    }
    for (size_t i = 0; i < sizeof of_tags / sizeof *of_tags; i++) {
        if (of_tags[i].family == family) {
            points_each_tag(v, of_tags[i].of_tag, &of_tags[i].is_peak);
        }
    }
}
