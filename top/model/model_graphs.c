/* SPDX-License-Identifier: MIT */
/*
 * model_graphs - adds each snapshot to the history, and reads it for a tab.
 *
 * The history is kept by core, not by application: a core belongs to one application at a time, so
 * the graph of an application shows its cores.
 */
#include "top/model/model_graphs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "shared/base/clock.h"

#define MINUTE_NS (60 * NTK_NS_PER_SECOND)
#define HOUR_NS (60 * MINUTE_NS)

static const uint64_t spans_ns[] = { MINUTE_NS,   5 * MINUTE_NS, 15 * MINUTE_NS, HOUR_NS,
                                     2 * HOUR_NS, 6 * HOUR_NS,   24 * HOUR_NS };
#define SPAN_COUNT (sizeof spans_ns / sizeof *spans_ns)
#define SPAN_FIRST 1 /* index of the first span, five minutes */

void ntk_top_model_graphs_init(struct ntk_top_graphs *graphs)
{
    graphs->span_index = SPAN_FIRST;
}

void ntk_top_model_graphs_fini(struct ntk_top_graphs *graphs)
{
    ntk_top_history_fini(&graphs->history);
    free(graphs->now);
}

/* Returns the series of a quantity: the total first, then the cores. */
static size_t series_of(const struct ntk_top_graphs *graphs, enum ntk_top_quantity quantity,
                        uint32_t core)
{
    return (size_t)quantity * (graphs->core_count + 1) +
           (core == NTK_TOP_GRAPHS_TOTAL ? 0 : core + 1);
}

/* Measures a value for each quantity; NAN if unknown. */
static void measure_core(const struct ntk_snapshot *snapshot, const struct ntk_core_sample *core,
                         float out[NTK_TOP_QUANTITY_COUNT])
{
    double seconds = (double)snapshot->period_ns / (double)NTK_NS_PER_SECOND;

    if (core->has & NTK_CORE_HAS_BUSY) {
        out[NTK_TOP_QUANTITY_BUSY] = (float)(100 * core->utilization);
    }
    if (core->has & NTK_CORE_HAS_EXECUTIONS && seconds > 0) {
        out[NTK_TOP_QUANTITY_EXECUTIONS] =
            (float)((double)ntk_snapshot_outcome_sum(core->outcome) / seconds);
    }
    if (core->has & NTK_CORE_HAS_EFFECTIVE_FLOPS) {
        out[NTK_TOP_QUANTITY_TERAFLOPS] =
            (float)(ntk_snapshot_rate(snapshot, core->effective_flops) / 1e12);
    }
}

/* Measures the memory of each core that applications report. A core without a report is unknown
 * while an application does not report, and so is a part of it. */
static void measure_memory(const struct ntk_snapshot *snapshot, uint32_t lnc, uint32_t core_count,
                           float *values)
{
    bool all_tell = true;

    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        all_tell = all_tell && (snapshot->runtimes[r].has & NTK_RUNTIME_HAS_MEMORY);
    }
    for (uint32_t c = 0; c < core_count; c++) {
        values[c] = all_tell ? 0 : NAN;
    }
    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        for (size_t i = 0; i < runtime->core_count && !ntk_snapshot_tells_memory(runtime); i++) {
            if (runtime->hooks != NTK_HOOKS_UNKNOWN && runtime->cores[i].core / lnc < core_count) {
                values[runtime->cores[i].core / lnc] = NAN;
            }
        }
    }
    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        for (size_t i = 0; runtime->has & NTK_RUNTIME_HAS_MEMORY && i < runtime->memory_count;
             i++) {
            const struct ntk_memory_sample *row = &runtime->memory[i];
            uint32_t core = row->core / lnc;

            if (row->location == NTK_MEMORY_DEVICE && row->core != NTK_NO_CORE &&
                core < core_count) {
                values[core] = (isnan(values[core]) ? 0 : values[core]) + (float)row->current_bytes;
            }
        }
    }
}

/* Returns bytes that the driver counts on all devices; false if a device has no count. */
static bool driver_memory(const struct ntk_snapshot *snapshot, bool of_capacity, double *out)
{
    uint32_t has = of_capacity ? NTK_DEVICE_HAS_MEMORY_CAPACITY : NTK_DEVICE_HAS_MEMORY_USED;

    *out = 0;
    for (size_t d = 0; d < snapshot->device_count; d++) {
        const struct ntk_device_sample *device = &snapshot->devices[d];

        if (!(device->has & has)) {
            return false;
        }
        *out += (double)ntk_device_sum(device, of_capacity ? device->memory_capacity_bytes
                                                           : device->memory_used_bytes);
    }
    return snapshot->device_count > 0;
}

/* Returns the mean or sum of the known values, NAN if there are none. Uses every stride-th value of
 * count. */
static float combine(enum ntk_top_quantity quantity, const float *values, size_t count,
                     size_t stride)
{
    double sum = 0;
    size_t known = 0;

    for (size_t i = 0; i < count; i++) {
        if (!isnan(values[i * stride])) {
            sum += values[i * stride];
            known++;
        }
    }
    if (known == 0) {
        return NAN;
    }
    return (float)(quantity == NTK_TOP_QUANTITY_BUSY ? sum / (double)known : sum);
}

/* Measures all series of the model's snapshot. */
static void measure(const struct ntk_top_model *model, float *values)
{
    const struct ntk_top_graphs *graphs = &model->graphs;
    const struct ntk_snapshot *snapshot = model->snapshot;
    double used;

    for (uint32_t c = 0; c < graphs->core_count; c++) {
        float measured[NTK_TOP_QUANTITY_COUNT] = { NAN, NAN, NAN, NAN };
        struct ntk_core_sample core;

        if (ntk_top_model_core_find_of_all(model, c, &core)) {
            measure_core(snapshot, &core, measured);
        }
        for (int q = 0; q < NTK_TOP_QUANTITY_COUNT; q++) {
            values[series_of(graphs, (enum ntk_top_quantity)q, c)] = measured[q];
        }
    }
    measure_memory(snapshot, graphs->lnc, graphs->core_count,
                   values + series_of(graphs, NTK_TOP_QUANTITY_HBM, 0));
    for (int q = 0; q < NTK_TOP_QUANTITY_COUNT; q++) {
        values[series_of(graphs, (enum ntk_top_quantity)q, NTK_TOP_GRAPHS_TOTAL)] =
            combine((enum ntk_top_quantity)q,
                    values + series_of(graphs, (enum ntk_top_quantity)q, 0), graphs->core_count, 1);
    }
    if (driver_memory(snapshot, false, &used)) {
        values[series_of(graphs, NTK_TOP_QUANTITY_HBM, NTK_TOP_GRAPHS_TOTAL)] = (float)used;
    }
}

/* Adapts the history to the machine: another machine, or the same one with other logical cores, has
 * another history. */
static int fit(struct ntk_top_model *model)
{
    struct ntk_top_graphs *graphs = &model->graphs;
    uint32_t core_count = model->device_count * model->cores_per_device;
    size_t series_count;
    int ret;

    core_count = core_count > NTK_TOP_GRAPHS_CORES_MAX ? NTK_TOP_GRAPHS_CORES_MAX : core_count;
    if (graphs->now && graphs->core_count == core_count && graphs->lnc == model->lnc) {
        return 0;
    }
    series_count = (size_t)NTK_TOP_QUANTITY_COUNT * (core_count + 1);
    free(graphs->now);
    graphs->now = calloc(series_count, sizeof *graphs->now);
    ret = ntk_top_history_reset(&graphs->history, series_count);
    if (!graphs->now || ret < 0) {
        return -ENOMEM;
    }
    graphs->core_count = core_count;
    graphs->lnc = model->lnc;
    for (size_t s = 0; s < series_count; s++) {
        graphs->now[s] = NAN;
    }
    return 0;
}

int ntk_top_model_graphs_observe(struct ntk_top_model *model)
{
    struct ntk_top_graphs *graphs = &model->graphs;
    float *values;

    if (fit(model) < 0) {
        return -ENOMEM;
    }
    values = calloc(graphs->history.series_count, sizeof *values);
    if (!values) {
        return -ENOMEM;
    }
    measure(model, values);
    ntk_top_history_add(&graphs->history, model->snapshot->realtime_ns, model->snapshot->period_ns,
                        values);
    free(values);
    return 0;
}

int ntk_top_model_graphs_take_past(struct ntk_top_model *model, const struct ntk_snapshot *snapshot)
{
    const struct ntk_snapshot *shown = model->snapshot;
    float *values = calloc(model->graphs.history.series_count + 1, sizeof *values);

    if (values && shown) {
        (void)ntk_top_model_look_at(model, snapshot);
        measure(model, values);
        (void)ntk_top_model_look_at(model, shown);
        ntk_top_history_add_past(&model->graphs.history, snapshot->realtime_ns, snapshot->period_ns,
                                 shown->realtime_ns, values);
    }
    free(values);
    ntk_snapshot_destroy(snapshot);
    return values ? 0 : -ENOMEM;
}

int ntk_top_model_graphs_project(struct ntk_top_model *model, struct ntk_top_table *table)
{
    (void)table; /* no list */
    if (model->graphs.now) {
        measure(model, model->graphs.now);
    }
    return 0;
}

static bool change_span(struct ntk_top_graphs *graphs, bool longer)
{
    if (longer) {
        graphs->span_index += graphs->span_index + 1 < SPAN_COUNT;
    } else {
        graphs->span_index -= graphs->span_index > 0;
    }
    return true;
}

bool ntk_top_model_graphs_act(struct ntk_top_model *model, int action, int argument)
{
    struct ntk_top_graphs *graphs = &model->graphs;
    size_t page = graphs->page > 1 ? graphs->page - 1 : 1;

    switch (action) {
    case NTK_TOP_ACTION_SPAN_SHORTER:
    case NTK_TOP_ACTION_SPAN_LONGER:
        return change_span(graphs, action == NTK_TOP_ACTION_SPAN_LONGER);
    case NTK_TOP_ACTION_QUANTITY:
        graphs->quantity =
            (graphs->quantity + NTK_TOP_QUANTITY_COUNT + argument) % NTK_TOP_QUANTITY_COUNT;
        return true;
    case NTK_TOP_ACTION_CURSOR_UP:
        graphs->first -= graphs->first > 0;
        return true;
    case NTK_TOP_ACTION_CURSOR_DOWN:
        graphs->first++;
        return true;
    case NTK_TOP_ACTION_PAGE_UP:
        graphs->first -= graphs->first < page ? graphs->first : page;
        return true;
    case NTK_TOP_ACTION_PAGE_DOWN:
        graphs->first += page;
        return true;
    case NTK_TOP_ACTION_CURSOR_FIRST:
        graphs->first = 0;
        return true;
    case NTK_TOP_ACTION_CURSOR_LAST:
        graphs->first = NTK_TOP_GRAPHS_CORES_MAX;
        return true;
    default:
        return false;
    }
}

uint64_t ntk_top_model_graphs_span_ns(const struct ntk_top_model *model)
{
    return spans_ns[model->graphs.span_index];
}

/* Returns NULL in the tab of all applications. */
size_t ntk_top_model_graphs_cores(const struct ntk_top_model *model,
                                  uint32_t out[NTK_TOP_GRAPHS_CORES_MAX])
{
    const struct ntk_top_graphs *graphs = &model->graphs;
    const struct ntk_runtime_sample *runtime = ntk_top_model_tab_runtime(model);
    size_t count = 0;

    for (uint32_t c = 0; c < graphs->core_count; c++) {
        bool is_its_own = !runtime;

        for (size_t i = 0; runtime && i < runtime->core_count; i++) {
            is_its_own = is_its_own || runtime->cores[i].core / graphs->lnc == c;
        }
        if (is_its_own) {
            out[count++] = c;
        }
    }
    return count;
}

/* Returns true if the total is computed from the cores of a tab; the total of all is a separate
 * series. */
static bool is_combined(const struct ntk_top_model *model, uint32_t core)
{
    return core == NTK_TOP_GRAPHS_TOTAL && !ntk_top_model_tab_get(model)->is_all;
}

struct ntk_top_number ntk_top_model_graphs_now(const struct ntk_top_model *model,
                                               enum ntk_top_quantity quantity, uint32_t core)
{
    const struct ntk_top_graphs *graphs = &model->graphs;
    float value = NAN;

    if (graphs->now && is_combined(model, core)) {
        uint32_t cores[NTK_TOP_GRAPHS_CORES_MAX];
        float values[NTK_TOP_GRAPHS_CORES_MAX];
        size_t count = ntk_top_model_graphs_cores(model, cores);

        for (size_t i = 0; i < count; i++) {
            values[i] = graphs->now[series_of(graphs, quantity, cores[i])];
        }
        value = combine(quantity, values, count, 1);
    } else if (graphs->now) {
        value = graphs->now[series_of(graphs, quantity, core)];
    }
    return (struct ntk_top_number){ isnan(value) ? 0 : (double)value, !isnan(value) };
}

int ntk_top_model_graphs_read(const struct ntk_top_model *model, enum ntk_top_quantity quantity,
                              uint32_t core, size_t count, float *out)
{
    return ntk_top_model_graphs_read_span(model, quantity, core,
                                          ntk_top_model_graphs_span_ns(model), count, out);
}

int ntk_top_model_graphs_read_span(const struct ntk_top_model *model,
                                   enum ntk_top_quantity quantity, uint32_t core, uint64_t span_ns,
                                   size_t count, float *out)
{
    const struct ntk_top_graphs *graphs = &model->graphs;
    uint64_t end_ns = model->snapshot ? model->snapshot->realtime_ns : 0;
    uint32_t cores[NTK_TOP_GRAPHS_CORES_MAX];
    size_t core_count;
    float *rows;

    if (!is_combined(model, core)) {
        ntk_top_history_read(&graphs->history, series_of(graphs, quantity, core), end_ns, span_ns,
                             count, out);
        return 0;
    }
    core_count = ntk_top_model_graphs_cores(model, cores);
    rows = calloc(core_count * count + 1, sizeof *rows);
    if (!rows) {
        return -ENOMEM;
    }
    for (size_t c = 0; c < core_count; c++) {
        ntk_top_history_read(&graphs->history, series_of(graphs, quantity, cores[c]), end_ns,
                             span_ns, count, rows + c * count);
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = combine(quantity, rows + i, core_count, count);
    }
    free(rows);
    return 0;
}

struct ntk_top_number ntk_top_model_graphs_limit(const struct ntk_top_model *model,
                                                 enum ntk_top_quantity quantity, uint32_t core)
{
    struct ntk_top_number limit = { 0 };
    uint32_t cores[NTK_TOP_GRAPHS_CORES_MAX];
    size_t count = core == NTK_TOP_GRAPHS_TOTAL ? ntk_top_model_graphs_cores(model, cores) : 1;

    switch (quantity) {
    case NTK_TOP_QUANTITY_BUSY:
        limit = (struct ntk_top_number){ 100, true };
        break;
    case NTK_TOP_QUANTITY_HBM: /* cores share it: cores and applications have no value */
        limit.present = core == NTK_TOP_GRAPHS_TOTAL && ntk_top_model_tab_get(model)->is_all &&
                        model->snapshot && driver_memory(model->snapshot, true, &limit.value);
        break;
    case NTK_TOP_QUANTITY_TERAFLOPS:
        limit = (struct ntk_top_number){ (double)count * model->core_peak_flops / 1e12,
                                         model->core_peak_flops > 0 };
        break;
    default:
        break;
    }
    return limit;
}
