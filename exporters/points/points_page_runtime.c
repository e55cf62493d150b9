/* SPDX-License-Identifier: MIT */
/* points_page_runtime - adds a runtime of a snapshot to its application. */
#include <errno.h>
#include <stdlib.h>

#include "exporters/points/points_page_parts.h"
#include "shared/base/clock.h"

static bool is_due(const struct ntk_runtime_sample *runtime, enum ntk_runtime_group group,
                   uint32_t has)
{
    return runtime->group_period_ns[group] != NTK_GROUP_ABSENT && runtime->has & has;
}

static struct ntk_points_core *tag_core(struct ntk_points_tag *tag, uint32_t core)
{
    ntk_vec_each(struct ntk_points_core, at, &tag->cores) {
        if (at->core == core) {
            return at;
        }
    }
    struct ntk_points_core *added = ntk_vec_add(&tag->cores);
    if (added) {
        added->core = core;
    }
    return added;
}

static void add_ranks(struct ntk_points_tag *tag, const struct ntk_runtime_sample *runtime)
{
    for (size_t i = 0; i < runtime->rank_count; i++) {
        const struct ntk_rank_sample *rank = &runtime->ranks[i];

        tag->has_ranks = true;
        for (size_t k = 0; k < NTK_COLLECTIVE_COUNT; k++) {
            tag->collectives[k] += rank->operations[k].period;
        }
        for (size_t k = 0; k < NTK_RANK_COUNTS; k++) {
            tag->rank_counts[k] += rank->counts[k].period;
        }
        if (rank->in_flight > 0 && rank->state == NTK_RANK_JOINED && !runtime->ended &&
            rank->state_ns > tag->in_collective_ns) {
            tag->in_collective_ns = rank->state_ns;
        }
    }
}

/* Selects the largest percentiles of a tag's runtimes; `reported` without a histogram. */
static void take_percentiles(const struct ntk_histogram *histogram, const double *reported,
                             bool *has, double seconds[NTK_PERCENTILE_COUNT])
{
    double made[NTK_PERCENTILE_COUNT];
    const double *ns =
        ntk_histogram_percentiles(histogram, ntk_percentile_list, NTK_PERCENTILE_COUNT, made)
            ? made
            : reported;

    for (int i = 0; ns && i < NTK_PERCENTILE_COUNT; i++) {
        double value = ns[i] / (double)NTK_NS_PER_SECOND;
        seconds[i] = !*has || value > seconds[i] ? value : seconds[i];
    }
    *has = *has || ns;
}

static void add_executions(struct ntk_points_tag *tag, const struct ntk_runtime_sample *runtime)
{
    tag->has_executions = true;
    add_ranks(tag, runtime);
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        tag->outcome[i] += runtime->outcome[i].period;
    }
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        tag->error_class[i] += runtime->error_class[i].period;
    }
    take_percentiles(&runtime->total_latency,
                     runtime->has & NTK_RUNTIME_HAS_PERCENTILES ? runtime->total_percentile_ns
                                                                : NULL,
                     &tag->has_percentiles, tag->percentile_seconds);
    take_percentiles(
        &runtime->device_latency,
        runtime->has & NTK_RUNTIME_HAS_DEVICE_PERCENTILES ? runtime->device_percentile_ns : NULL,
        &tag->has_device_percentiles, tag->device_percentile_seconds);
}

static struct ntk_points_latency *tag_latency(struct ntk_points_tag *tag, const char *model_name)
{
    char name[NTK_POINTS_LABEL_BYTES];

    points_clean(name, model_name);
    ntk_vec_each(struct ntk_points_latency, at, &tag->latencies) {
        if (!strcmp(at->model_name, name)) {
            return at;
        }
    }
    if (tag->latencies.count >= NTK_POINTS_MODELS_MAX) {
        return NULL;
    }
    struct ntk_points_latency *added = ntk_vec_add(&tag->latencies);
    if (added) {
        memcpy(added->model_name, name, sizeof name);
    }
    return added;
}

static const char *name_of(const struct ntk_model_sample *model)
{
    return model->name[0] ? model->name : model->neff_path;
}

static void add_latency(struct ntk_points_page *page, struct ntk_points_latency_series *series,
                        const struct ntk_histogram *period, uint64_t period_began_ns)
{
    if (period->entry_count == 0) {
        return;
    }
    if (!series->began_ns) {
        series->began_ns = period_began_ns;
        if (page->keeps_fine_latencies && page->fine_count < NTK_POINTS_FINE_MAX) {
            series->fine = calloc(1, sizeof *series->fine);
            page->fine_count += series->fine != NULL;
        }
    }
    ntk_latency_series_add(&series->edges, period);
    if (series->fine) {
        ntk_histogram_dense_merge(series->fine, period);
    }
}

/* Adds latencies. Histograms of models are updated with the executions; a page of one period needs
 * only the total. */
static void add_latencies(struct ntk_points_page *page, struct ntk_points_tag *tag,
                          const struct ntk_runtime_sample *runtime,
                          const struct points_moment *moment)
{
    uint64_t period_began_ns =
        points_began_ns(moment, runtime->group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS]);

    struct ntk_points_latency *of_all = page->is_of_period ? tag_latency(tag, "") : NULL;
    if (of_all) {
        add_latency(page, &of_all->total, &runtime->total_latency, period_began_ns);
        add_latency(page, &of_all->device, &runtime->device_latency, period_began_ns);
    }
    for (size_t i = 0; i < runtime->model_count && !page->is_of_period; i++) {
        const struct ntk_model_sample *model = &runtime->models[i];
        if (!(model->has & (NTK_MODEL_HAS_LATENCY | NTK_MODEL_HAS_DEVICE_LATENCY))) {
            continue;
        }
        struct ntk_points_latency *latency = tag_latency(tag, name_of(model));
        if (latency) {
            add_latency(page, &latency->total, &model->total_latency, period_began_ns);
            add_latency(page, &latency->device, &model->device_latency, period_began_ns);
            if (model->slowest.duration_ns > latency->total.slowest.duration_ns) {
                latency->total.slowest = model->slowest;
            }
        }
    }
}

static void add_memory_row(struct ntk_points_tag *tag, const struct ntk_memory_sample *row,
                           uint32_t lnc)
{
    uint32_t core = row->core == NTK_NO_CORE ? NTK_NO_CORE : row->core / lnc;

    if (row->category >= NTK_MEMORY_CATEGORY_COUNT) {
        return;
    }
    ntk_vec_each(struct ntk_points_memory, at, &tag->memory) {
        if (at->core == core && at->category == row->category) {
            at->bytes += row->current_bytes;
            at->peak_bytes += row->peak_bytes;
            return;
        }
    }
    struct ntk_points_memory *added = ntk_vec_add(&tag->memory);
    if (added) {
        *added = (struct ntk_points_memory){ core, row->location, row->category, row->current_bytes,
                                             row->peak_bytes };
    }
}

static void add_groups(struct ntk_points_core *core, const bool known[NTK_GROUP_COUNT])
{
    for (int g = 0; g < NTK_GROUP_COUNT; g++) {
        core->has_group[g] = core->has_group[g] || known[g];
    }
}

static void add_total(struct ntk_memory_total *sum, const struct ntk_memory_total *part)
{
    sum->bytes += part->bytes;
    sum->known = (sum->known && part->known) || sum->bytes > 0;
}

static void add_memory(struct ntk_points_tag *tag, const struct ntk_runtime_sample *runtime)
{
    uint32_t lnc = runtime->lnc ? runtime->lnc : 1;
    bool known[NTK_GROUP_COUNT];
    struct ntk_memory_total host;
    struct ntk_memory_total device;

    for (int g = 0; g < NTK_GROUP_COUNT; g++) {
        known[g] = ntk_snapshot_tells_group(runtime, (enum ntk_memory_group)g);
    }
    ntk_snapshot_memory_total(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
    add_total(&tag->host, &host);
    add_total(&tag->device, &device);
    /* A core with an owner but without memory has zeros. */
    size_t owned = runtime->has & NTK_RUNTIME_HAS_LISTED_MEMORY ? 0 : runtime->core_count;
    for (size_t i = 0; i < owned; i++) {
        struct ntk_points_core *core = tag_core(tag, runtime->cores[i].core / lnc);
        if (core) {
            core->has_memory = true;
            add_groups(core, known);
        }
    }
    for (size_t i = 0; i < runtime->memory_count; i++) {
        const struct ntk_memory_sample *row = &runtime->memory[i];
        if (row->core == NTK_NO_CORE || row->category >= NTK_MEMORY_CATEGORY_COUNT ||
            row->location != NTK_MEMORY_DEVICE) {
            continue;
        }
        struct ntk_points_core *core = tag_core(tag, row->core / lnc);
        if (core) {
            enum ntk_memory_group group =
                ntk_memory_group_of((enum ntk_memory_category)row->category);
            core->has_memory = true;
            add_groups(core, known);
            core->group_bytes[group] += known[group] ? row->current_bytes : 0;
        }
    }
    for (size_t i = 0; i < runtime->memory_by_category_count; i++) {
        add_memory_row(tag, &runtime->memory_by_category[i], lnc);
    }
    for (size_t i = 0; i < runtime->model_count; i++) {
        const struct ntk_model_sample *model = &runtime->models[i];
        if (!model->loaded || tag->models.count >= NTK_POINTS_MODELS_MAX) {
            continue;
        }
        struct ntk_points_model *added = ntk_vec_add(&tag->models);
        if (added) {
            added->core = model->core / lnc;
            added->id = model->id;
            points_clean(added->name, name_of(model));
        }
    }
}

/* Combines states of a tag's runtimes by the rule of the row. */
static void add_state(struct ntk_points_core *core, const struct ntk_core_sample *sample)
{
    for (size_t i = 0; i < NTK_CORE_STATES; i++) {
        const struct ntk_core_state_row *row = &ntk_core_state_rows[i];
        uint64_t value;

        if (row->metric == NTK_METRIC_NONE || !(sample->has & row->has)) {
            continue;
        }
        memcpy(&value, (const char *)sample + row->offset, sizeof value);
        if (!(core->has_state >> i & 1) || (value < core->state[i]) == row->is_smallest) {
            core->state[i] = value;
        }
        core->has_state |= 1u << i;
    }
}

static void add_rates(struct ntk_points_core *core, const struct ntk_core_sample *sample,
                      double seconds)
{
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS && seconds > 0; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        if (sample->has & row->has && !row->names && row->metric != NTK_METRIC_NONE) {
            core->rate[i] += (double)sample->counts[row->at].period / seconds;
            core->has_rate |= 1u << i;
        }
    }
}

static void add_cores(const struct ntk_points_page *page, struct ntk_points_tag *tag,
                      const struct ntk_runtime_sample *runtime, uint64_t period_ns)
{
    uint64_t own_ns = runtime->group_period_ns[NTK_RUNTIME_GROUP_CORES];
    double seconds = (double)(own_ns ? own_ns : period_ns) / (double)NTK_NS_PER_SECOND;
    uint32_t lnc = runtime->lnc ? runtime->lnc : 1;

    for (size_t i = 0; i < runtime->core_count; i++) {
        struct ntk_core_sample logical;
        struct ntk_core_sample watched;
        uint32_t number = runtime->cores[i].core / lnc;
        if (i > 0 && runtime->cores[i - 1].core / lnc == number) {
            continue;
        }
        struct ntk_points_core *core = tag_core(tag, number);
        if (!core || !ntk_snapshot_logical_core(runtime->cores, runtime->core_count, lnc, number,
                                                &logical)) {
            continue;
        }
        if (!runtime->ended) {
            add_state(core, &logical);
        }
        if (page->is_of_period && ntk_snapshot_watched_logical_core(
                                      runtime->cores, runtime->core_count, lnc, number, &watched)) {
            add_rates(core, &watched, seconds);
        }
        if (logical.has & NTK_CORE_HAS_BUSY) {
            core->utilization = core->has_utilization && core->utilization > logical.utilization
                                    ? core->utilization
                                    : logical.utilization;
            core->has_utilization = true;
        }
    }
}

/* Clears values that the groups of this snapshot replace, before the first runtime of the tag. */
static void begin_tag(struct ntk_points_page *page, struct ntk_points_tag *tag,
                      const struct ntk_runtime_sample *runtime)
{
    bool memory = is_due(runtime, NTK_RUNTIME_GROUP_MEMORY, NTK_RUNTIME_HAS_MEMORY);
    bool cores = is_due(runtime, NTK_RUNTIME_GROUP_CORES, NTK_RUNTIME_HAS_CORES);

    if (!tag->is_live) {
        /* The histograms restart, even if their last counts were not scraped. */
        points_tag_clear(page, tag);
    }
    tag->is_live = true;
    tag->is_leaving = false;
    ntk_vec_each(struct ntk_points_core, core, &tag->cores) {
        if (memory) {
            core->has_memory = false;
            memset(core->group_bytes, 0, sizeof core->group_bytes);
            memset(core->has_group, 0, sizeof core->has_group);
        }
        if (cores) {
            core->has_utilization = false;
            core->has_state = 0;
        }
    }
    if (memory) {
        tag->host = tag->device = (struct ntk_memory_total){ .known = true };
        tag->has_resident = false;
        tag->resident_bytes = 0;
        ntk_vec_clear(&tag->memory);
        ntk_vec_clear(&tag->models);
    }
    if (runtime->group_period_ns[NTK_RUNTIME_GROUP_CPU] != NTK_GROUP_ABSENT) {
        memset(tag->cpu_usage, 0, sizeof tag->cpu_usage);
        tag->has_cpu = false; /* due, but may be unknown */
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS, NTK_RUNTIME_HAS_EXECUTIONS)) {
        tag->in_collective_ns = 0;
    }
    /* Without an execution the last latency remains, as in the vendor's exporter. */
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS, NTK_RUNTIME_HAS_EXECUTIONS) &&
        (runtime->total_latency.count > 0 || runtime->has & NTK_RUNTIME_HAS_PERCENTILES)) {
        tag->has_percentiles = tag->has_device_percentiles = false;
    }
}

int points_runtime_add(struct ntk_points_page *page, const struct ntk_runtime_sample *runtime,
                       const struct points_moment *moment)
{
    struct ntk_points_tag *tag = points_tag_find(page, runtime, moment);

    if (!tag) {
        return -ENOMEM;
    }
    if (tag->last_sequence != page->sequence || !tag->is_live) {
        begin_tag(page, tag, runtime);
        tag->last_sequence = page->sequence;
        tag->is_over = tag->has_ended = true;
        tag->is_resumed = false;
        memset(tag->is_watched, 0, sizeof tag->is_watched);
        tag->is_uncounted = true;
    }
    tag->is_uncounted = tag->is_uncounted && runtime->executions_counted != NTK_EXECUTIONS_ALL;
    page->is_partial = page->is_partial || runtime->executions_counted != NTK_EXECUTIONS_ALL;
    tag->is_watched[runtime->hooks][runtime->cores_guessed][runtime->executions_counted] = true;
    tag->is_over = tag->is_over && runtime->ended && !runtime->first;
    tag->has_ended = tag->has_ended && runtime->ended;
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS, NTK_RUNTIME_HAS_EXECUTIONS)) {
        add_executions(tag, runtime);
        add_latencies(page, tag, runtime, moment);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_MEMORY, NTK_RUNTIME_HAS_MEMORY)) {
        add_memory(tag, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CPU, NTK_RUNTIME_HAS_CPU)) {
        tag->has_cpu = true;
        tag->cpu_usage[NTK_POINTS_CPU_USER] += runtime->vcpu_user;
        tag->cpu_usage[NTK_POINTS_CPU_SYSTEM] += runtime->vcpu_system;
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_MEMORY, NTK_RUNTIME_HAS_RSS)) {
        tag->has_resident = true;
        tag->resident_bytes += runtime->rss_bytes;
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CORES, NTK_RUNTIME_HAS_CORES)) {
        add_cores(page, tag, runtime, moment->period_ns);
    }
    return 0;
}
