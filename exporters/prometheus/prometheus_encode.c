/* SPDX-License-Identifier: MIT */
/* prometheus_encode - the page as text for a scraper. */
#include "exporters/prometheus/prometheus_encode.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/metrics/catalogue.h"

#define EXTRA_LABELS_MAX 6
#define NS (double)NTK_NS_PER_SECOND

/* The labels of the instance, cut where labels of a series may have to stand between them. */
enum {
    CUT_INSTANCE, /* before "instance_id" */
    CUT_REGION,   /* before "region" */
    CUT_SUBNET,   /* before "subnet_id" */
    CUT_END,
    CUT_COUNT
};
static const char *const cut_names[CUT_COUNT] = { "instance_id", "region", "subnet_id", "\x7f" };

/* Which samples a walk over a counter with a beginning writes. */
enum counter_part { COUNTER_TOTAL = 1, COUNTER_CREATED = 2 };

struct encoder {
    const struct ntk_prometheus_page *page;
    enum ntk_prometheus_format format;
    struct ntk_buf *out;
    unsigned counter_parts;
    enum ntk_metric metric; /* the family */
    bool has_header;
    struct ntk_buf part[CUT_COUNT]; /* what stands before cut i, each label with a comma after it */
};

struct label {
    const char *name;
    const char *value;
};

/* -- pieces ------------------------------------------------------------------------------------- */

static void add_escaped(struct ntk_buf *buf, const char *text)
{
    const char *start = text;

    for (; *text; text++) {
        if (*text != '\\' && *text != '"' && *text != '\n') {
            continue;
        }
        ntk_buf_add(buf, start, (size_t)(text - start));
        ntk_buf_add_char(buf, '\\');
        ntk_buf_add_char(buf, *text == '\n' ? 'n' : *text);
        start = text + 1;
    }
    ntk_buf_add(buf, start, (size_t)(text - start));
}

static void add_label(struct ntk_buf *buf, const char *name, const char *value)
{
    ntk_buf_add_text(buf, name);
    ntk_buf_add(buf, "=\"", 2);
    add_escaped(buf, value);
    ntk_buf_add(buf, "\",", 2);
}

static void make_parts(struct encoder *e)
{
    const struct ntk_prometheus_page *page = e->page;

    add_label(&e->part[CUT_INSTANCE], "availability_zone", page->zone);
    add_label(&e->part[CUT_REGION], "instance_id", page->instance_id);
    add_label(&e->part[CUT_REGION], "instance_name", page->instance_name);
    add_label(&e->part[CUT_REGION], "instance_type", page->instance_type);
    add_label(&e->part[CUT_SUBNET], "region", page->region);
    add_label(&e->part[CUT_END], "subnet_id", page->subnet_id);
    if (page->ultraserver_id[0]) {
        add_label(&e->part[CUT_END], "ultraserver_id", page->ultraserver_id);
    }
}

static void add_value(struct ntk_buf *buf, double value)
{
    char text[64];

    if (!isfinite(value)) {
        ntk_buf_add_text(buf, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    ntk_buf_add(buf, text, ntk_json_format_double(text, sizeof text, value));
}

static bool is_open(const struct encoder *e)
{
    return e->format == NTK_PROMETHEUS_OPENMETRICS_1_0_0;
}

static bool has_end(const char *name, const char *end)
{
    size_t name_bytes = strlen(name);
    size_t end_bytes = strlen(end);

    return name_bytes > end_bytes && !strcmp(name + name_bytes - end_bytes, end);
}

/* Type and name of a family in each format: OpenMetrics takes what the type says off the name. */
static const struct kind {
    const char *text_type;
    const char *open_type;
    const char *open_end; /* of the samples' names, not of the family's */
} kinds[] = {
    [NTK_METRIC_KIND_GAUGE] = { "gauge", "gauge", "" },
    [NTK_METRIC_KIND_COUNTER] = { "counter", "counter", "_total" },
    [NTK_METRIC_KIND_HISTOGRAM] = { "histogram", "histogram", "" },
    [NTK_METRIC_KIND_INFO] = { "gauge", "info", "_info" },
};

static void add_header(struct encoder *e, const char *name, enum ntk_metric_kind kind,
                       const char *help)
{
    static const char *const units[] = { "seconds", "bytes", "ratio" };
    const struct kind *row = &kinds[kind];
    int length = (int)strlen(name);

    if (is_open(e) && has_end(name, row->open_end)) {
        length -= (int)strlen(row->open_end);
    }
    ntk_buf_add_format(e->out, "# HELP %.*s %s\n# TYPE %.*s %s\n", length, name, help, length, name,
                       is_open(e) ? row->open_type : row->text_type);
    for (size_t i = 0; is_open(e) && i < sizeof units / sizeof *units; i++) {
        int unit = (int)strlen(units[i]);
        if (length > unit && name[length - unit - 1] == '_' &&
            !strncmp(name + length - unit, units[i], (size_t)unit)) {
            ntk_buf_add_format(e->out, "# UNIT %.*s %s\n", length, name, units[i]);
        }
    }
}

static void begin_sample(struct encoder *e, const char *suffix)
{
    const struct ntk_metric_row *row = &ntk_metrics[e->metric];

    if (!e->has_header) {
        add_header(e, row->name, row->kind, row->help);
        e->has_header = true;
    }
    ntk_buf_add_text(e->out, row->name);
    ntk_buf_add_text(e->out, suffix);
}

/* {instance labels and extra ones}; extra is sorted by name and ends with a NULL name. */
static void add_labels(struct encoder *e, const struct label *extra)
{
    ntk_buf_add_char(e->out, '{');
    for (int cut = 0; cut < CUT_COUNT; cut++) {
        if (cut > 0 || !extra->name || strcmp(extra->name, "availability_zone") > 0) {
            ntk_buf_add(e->out, ntk_buf_text_get(&e->part[cut]), e->part[cut].bytes_count);
        }
        for (; extra->name && strcmp(extra->name, cut_names[cut]) < 0; extra++) {
            add_label(e->out, extra->name, extra->value);
        }
    }
    if (e->out->bytes_count > 0 && ntk_buf_ok(e->out)) {
        e->out->bytes[e->out->bytes_count - 1] = '}'; /* in place of the last comma */
    }
    ntk_buf_add_char(e->out, ' ');
}

static void sample(struct encoder *e, const struct label *extra, double value)
{
    begin_sample(e, "");
    add_labels(e, extra);
    add_value(e->out, value);
    ntk_buf_add_char(e->out, '\n');
}

static void sample_u64(struct encoder *e, const struct label *extra, uint64_t value)
{
    begin_sample(e, "");
    add_labels(e, extra);
    ntk_buf_add_u64(e->out, value);
    ntk_buf_add_char(e->out, '\n');
}

#define LABELS(...)        \
    (const struct label[]) \
    {                      \
        __VA_ARGS__,       \
        {                  \
            NULL, NULL     \
        }                  \
    }
#define NO_LABELS ((const struct label[]){ { NULL, NULL } })

struct number {
    char text[16];
};

static struct number number_text(uint32_t value)
{
    struct number number;

    snprintf(number.text, sizeof number.text, "%u", value);
    return number;
}

#define each_live_tag(name)                                                                  \
    ntk_map_each(name##_entry, &e->page->tags)                                               \
        for (const struct ntk_prometheus_tag *name = name##_entry->value; name; name = NULL) \
            if (name->is_live)

/* -- the vendor's families ---------------------------------------------------------------------- */

static void core_utilization(struct encoder *e)
{
    each_live_tag(tag)
    {
        ntk_vec_each(const struct ntk_prometheus_core, core, &tag->cores) {
            if (core->has_utilization) {
                struct number number = number_text(core->core);
                sample(e, LABELS({ "neuroncore", number.text }, { "runtime_tag", tag->tag }),
                       core->utilization);
            }
        }
    }
}

static void runtime_cpu(struct encoder *e)
{
    each_live_tag(tag)
    {
        if (tag->has_cpu) {
            sample(e, LABELS({ "runtime_tag", tag->tag }, { "usage_type", "system" }),
                   tag->cpu_system);
            sample(e, LABELS({ "runtime_tag", tag->tag }, { "usage_type", "user" }), tag->cpu_user);
        }
    }
}

static void runtime_memory(struct encoder *e)
{
    each_live_tag(tag)
    {
        if (tag->has_memory) {
            sample_u64(e, LABELS({ "memory_location", "host" }, { "runtime_tag", tag->tag }),
                       tag->host_bytes);
            sample_u64(e,
                       LABELS({ "memory_location", "neuron_device" }, { "runtime_tag", tag->tag }),
                       tag->device_bytes);
        }
    }
}

static void core_memory(struct encoder *e, enum ntk_memory_group group)
{
    each_live_tag(tag)
    {
        ntk_vec_each(const struct ntk_prometheus_core, core, &tag->cores) {
            if (core->has_memory) {
                struct number number = number_text(core->core);
                sample_u64(e,
                           LABELS({ "memory_location", "None" }, { "neuroncore", number.text },
                                  { "runtime_tag", tag->tag }),
                           core->group_bytes[group]);
            }
        }
    }
}

static void core_memory_constants(struct encoder *e)
{
    core_memory(e, NTK_GROUP_CONSTANTS);
}

static void core_memory_model_code(struct encoder *e)
{
    core_memory(e, NTK_GROUP_MODEL_CODE);
}

static void core_memory_scratchpad(struct encoder *e)
{
    core_memory(e, NTK_GROUP_SCRATCHPAD);
}

static void core_memory_runtime(struct encoder *e)
{
    core_memory(e, NTK_GROUP_RUNTIME);
}

static void core_memory_tensors(struct encoder *e)
{
    core_memory(e, NTK_GROUP_TENSORS);
}

/* A counter with its beginning: the name of that is the counter's with another end. */
static void counter(struct encoder *e, const struct label *labels, uint64_t value,
                    double created_seconds)
{
    const char *name = ntk_metrics[e->metric].name;

    if (e->counter_parts & COUNTER_TOTAL) {
        sample_u64(e, labels, value);
    }
    if (e->counter_parts & COUNTER_CREATED) {
        ntk_buf_add(e->out, name, strlen(name) - strlen("_total"));
        ntk_buf_add_text(e->out, "_created");
        add_labels(e, labels);
        add_value(e->out, created_seconds);
        ntk_buf_add_char(e->out, '\n');
    }
}

/* OpenMetrics has the beginning of each counter behind the counter; in the older format the vendor's
 * exporter shows them as a family of their own. */
static void walk_counters(struct encoder *e, void (*walk)(struct encoder *e))
{
    const struct ntk_metric_row *row = &ntk_metrics[e->metric];
    char name[64];

    e->counter_parts = is_open(e) ? COUNTER_TOTAL | COUNTER_CREATED : COUNTER_TOTAL;
    walk(e);
    if (is_open(e) || !e->has_header) {
        return;
    }
    snprintf(name, sizeof name, "%.*s_created", (int)(strlen(row->name) - strlen("_total")),
             row->name);
    add_header(e, name, NTK_METRIC_KIND_GAUGE, row->help);
    e->counter_parts = COUNTER_CREATED;
    walk(e);
}

static void walk_execution_errors(struct encoder *e)
{
    each_live_tag(tag)
    {
        for (int i = 0; i < NTK_ERROR_CLASS_COUNT && tag->has_executions; i++) {
            counter(e,
                    LABELS({ "error_type", ntk_error_class_names[i] }, { "runtime_tag", tag->tag }),
                    tag->error_class[i], tag->created_seconds);
        }
    }
}

static void execution_errors(struct encoder *e)
{
    walk_counters(e, walk_execution_errors);
}

static void walk_execution_status(struct encoder *e)
{
    each_live_tag(tag)
    {
        for (int i = 0; i < NTK_OUTCOME_COUNT && tag->has_executions; i++) {
            counter(e, LABELS({ "runtime_tag", tag->tag }, { "status_type", ntk_outcome_names[i] }),
                    tag->outcome[i], tag->created_seconds);
        }
    }
}

static void execution_status(struct encoder *e)
{
    walk_counters(e, walk_execution_status);
}

static void execution_latency(struct encoder *e)
{
    each_live_tag(tag)
    {
        for (int i = 0; i < NTK_PERCENTILE_COUNT && tag->has_percentiles; i++) {
            sample(e,
                   LABELS({ "percentile", ntk_percentile_names[i] }, { "runtime_tag", tag->tag }),
                   tag->percentile_seconds[i]);
        }
    }
}

static void walk_ecc_events(struct encoder *e)
{
    for (size_t i = 0; i < e->page->device_sample_count; i++) {
        const struct ntk_prometheus_device *device = &e->page->devices[i];
        struct number number = number_text(device->index);
        for (int k = 0; k < NTK_ECC_COUNT && device->has & NTK_DEVICE_HAS_ECC; k++) {
            counter(
                e,
                LABELS({ "event_type", ntk_ecc_names[k] }, { "neuron_device_index", number.text }),
                device->ecc[k], e->page->created_seconds);
        }
    }
}

static void ecc_events(struct encoder *e)
{
    walk_counters(e, walk_ecc_events);
}

static void system_cpu_count(struct encoder *e)
{
    if (e->page->has_cpu) {
        sample_u64(e, NO_LABELS, e->page->cpu_count);
    }
}

static void system_cpu(struct encoder *e)
{
    if (e->page->has_cpu) {
        sample(e, LABELS({ "usage_type", "system" }), e->page->cpu_system);
        sample(e, LABELS({ "usage_type", "user" }), e->page->cpu_user);
    }
}

static void system_memory_total(struct encoder *e)
{
    if (e->page->has_memory) {
        sample_u64(e, NO_LABELS, e->page->memory_total_bytes);
    }
}

static void system_memory_used(struct encoder *e)
{
    if (e->page->has_memory) {
        sample_u64(e, NO_LABELS, e->page->memory_used_bytes);
    }
}

static void system_swap_total(struct encoder *e)
{
    if (e->page->has_memory) {
        sample_u64(e, NO_LABELS, e->page->swap_total_bytes);
    }
}

static void system_swap_used(struct encoder *e)
{
    if (e->page->has_memory) {
        sample_u64(e, NO_LABELS, e->page->swap_used_bytes);
    }
}

static void instance_info(struct encoder *e)
{
    sample_u64(e, NO_LABELS, 1);
}

static void hardware_info(struct encoder *e)
{
    if (e->page->device_count > 0) {
        struct number devices = number_text(e->page->device_count);
        struct number cores = number_text(e->page->cores_per_device);
        sample_u64(e,
                   LABELS({ "neuron_device_count", devices.text },
                          { "neuroncore_per_device_count", cores.text }),
                   1);
    }
}

/* -- ours --------------------------------------------------------------------------------------- */

static void latency_series(struct encoder *e, const struct ntk_prometheus_tag *tag,
                           const char *model_name, const char *type,
                           const struct ntk_latency_series *series)
{
    char edge[32];

    if (series->count == 0) {
        return;
    }
    for (unsigned int i = 0; i <= NTK_LATENCY_EDGE_COUNT; i++) {
        if (i < NTK_LATENCY_EDGE_COUNT) {
            /* At most 13 digits: the text is exact, and the same as the client libraries'. */
            snprintf(edge, sizeof edge, "%.13g",
                     (double)(UINT64_C(1) << (NTK_LATENCY_EDGE_FIRST + i)) / NS);
        } else {
            snprintf(edge, sizeof edge, "+Inf");
        }
        begin_sample(e, "_bucket");
        add_labels(e, LABELS({ "latency_type", type }, { "le", edge }, { "model_name", model_name },
                             { "runtime_tag", tag->tag }));
        ntk_buf_add_u64(e->out, i < NTK_LATENCY_EDGE_COUNT ? series->below[i] : series->count);
        ntk_buf_add_char(e->out, '\n');
    }
    begin_sample(e, "_sum");
    add_labels(e, LABELS({ "latency_type", type }, { "model_name", model_name },
                         { "runtime_tag", tag->tag }));
    add_value(e->out, (double)series->sum_ns / NS);
    ntk_buf_add_char(e->out, '\n');
    begin_sample(e, "_count");
    add_labels(e, LABELS({ "latency_type", type }, { "model_name", model_name },
                         { "runtime_tag", tag->tag }));
    ntk_buf_add_u64(e->out, series->count);
    ntk_buf_add_char(e->out, '\n');
}

static void latency_histogram(struct encoder *e)
{
    each_live_tag(tag)
    {
        ntk_vec_each(const struct ntk_prometheus_latency, latency, &tag->latencies) {
            latency_series(e, tag, latency->model_name, "total", &latency->total);
            latency_series(e, tag, latency->model_name, "device", &latency->device);
        }
    }
}

static void machine_executions(struct encoder *e)
{
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        sample_u64(e, LABELS({ "status_type", ntk_outcome_names[i] }), e->page->outcome[i]);
    }
}

static void machine_errors(struct encoder *e)
{
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        sample_u64(e, LABELS({ "error_type", ntk_error_class_names[i] }), e->page->error_class[i]);
    }
}

static void machine_utilization(struct encoder *e)
{
    for (size_t i = 0; i < e->page->core_count; i++) {
        struct number number = number_text((uint32_t)i);
        sample(e, LABELS({ "neuroncore", number.text }), e->page->cores[i].utilization);
    }
}

static void machine_busy(struct encoder *e)
{
    for (size_t i = 0; i < e->page->core_count; i++) {
        struct number number = number_text((uint32_t)i);
        sample(e, LABELS({ "neuroncore", number.text }), (double)e->page->cores[i].busy_ns / NS);
    }
}

static void machine_engines(struct encoder *e)
{
    for (size_t i = 0; i < e->page->core_count; i++) {
        const struct ntk_prometheus_machine_core *core = &e->page->cores[i];
        struct number number = number_text((uint32_t)i);
        for (int k = 0; k < NTK_ENGINE_COUNT && core->has & NTK_CORE_HAS_ENGINES; k++) {
            sample(e, LABELS({ "engine", ntk_engine_labels[k] }, { "neuroncore", number.text }),
                   (double)core->engine_busy_ns[k] / NS);
        }
    }
}

static void machine_flops(struct encoder *e)
{
    for (size_t i = 0; i < e->page->core_count; i++) {
        struct number number = number_text((uint32_t)i);
        if (e->page->cores[i].has & NTK_CORE_HAS_FLOPS) {
            sample_u64(e, LABELS({ "neuroncore", number.text }), e->page->cores[i].flops);
        }
    }
}

static void machine_effective_flops(struct encoder *e)
{
    for (size_t i = 0; i < e->page->core_count; i++) {
        struct number number = number_text((uint32_t)i);
        if (e->page->cores[i].has & NTK_CORE_HAS_EFFECTIVE_FLOPS) {
            sample_u64(e, LABELS({ "neuroncore", number.text }), e->page->cores[i].effective_flops);
        }
    }
}

static void fine_memory(struct encoder *e, bool peak)
{
    each_live_tag(tag)
    {
        ntk_vec_each(const struct ntk_prometheus_memory, row, &tag->memory) {
            struct number number = number_text(row->core);
            sample_u64(e,
                       LABELS({ "category", ntk_memory_category_names[row->category] },
                              { "memory_location",
                                row->location == NTK_MEMORY_DEVICE ? "neuron_device" : "host" },
                              { "neuroncore", row->core == NTK_NO_CORE ? "" : number.text },
                              { "runtime_tag", tag->tag }),
                       peak ? row->peak_bytes : row->bytes);
        }
    }
}

static void memory_used(struct encoder *e)
{
    fine_memory(e, false);
}

static void memory_peak(struct encoder *e)
{
    fine_memory(e, true);
}

static void device_memory(struct encoder *e, uint32_t has)
{
    for (size_t i = 0; i < e->page->device_sample_count; i++) {
        const struct ntk_prometheus_device *device = &e->page->devices[i];
        struct number number = number_text(device->index);
        for (uint32_t k = 0; k < device->stack_count && device->has & has; k++) {
            struct number stack = number_text(k);
            sample_u64(e, LABELS({ "hbm", stack.text }, { "neuron_device_index", number.text }),
                       has == NTK_DEVICE_HAS_MEMORY_USED ? device->stack_used_bytes[k]
                                                         : device->stack_capacity_bytes[k]);
        }
    }
}

static void device_memory_used(struct encoder *e)
{
    device_memory(e, NTK_DEVICE_HAS_MEMORY_USED);
}

static void device_memory_capacity(struct encoder *e)
{
    device_memory(e, NTK_DEVICE_HAS_MEMORY_CAPACITY);
}

static void model_loaded(struct encoder *e)
{
    each_live_tag(tag)
    {
        ntk_vec_each(const struct ntk_prometheus_model, model, &tag->models) {
            bool doubled = false; /* two runtimes of a tag may have the same id and name */
            for (const struct ntk_prometheus_model *before = tag->models.items;
                 before < model && !doubled; before++) {
                doubled = before->id == model->id && before->core == model->core &&
                          !strcmp(before->name, model->name);
            }
            struct number core = number_text(model->core);
            struct number id = number_text(model->id);
            if (!doubled) {
                sample_u64(e,
                           LABELS({ "model_id", id.text }, { "model_name", model->name },
                                  { "neuroncore", core.text }, { "runtime_tag", tag->tag }),
                           1);
            }
        }
    }
}

static void events_lost(struct encoder *e)
{
    sample_u64(e, NO_LABELS, e->page->events_lost);
}

static void events_read(struct encoder *e)
{
    sample_u64(e, NO_LABELS, e->page->events_read);
}

static void build_info(struct encoder *e)
{
    begin_sample(e, "{version=\"" NTK_VERSION "\"} 1\n");
}

static void collect_duration(struct encoder *e)
{
    sample(e, NO_LABELS, e->page->collect_seconds);
}

static void (*const encode_family[NTK_METRIC_COUNT])(struct encoder *e) = {
    [NTK_METRIC_NEURONCORE_UTILIZATION] = core_utilization,
    [NTK_METRIC_RUNTIME_VCPU_USAGE] = runtime_cpu,
    [NTK_METRIC_RUNTIME_MEMORY_USED] = runtime_memory,
    [NTK_METRIC_CORE_MEMORY_CONSTANTS] = core_memory_constants,
    [NTK_METRIC_CORE_MEMORY_MODEL_CODE] = core_memory_model_code,
    [NTK_METRIC_CORE_MEMORY_SCRATCHPAD] = core_memory_scratchpad,
    [NTK_METRIC_CORE_MEMORY_RUNTIME] = core_memory_runtime,
    [NTK_METRIC_CORE_MEMORY_TENSORS] = core_memory_tensors,
    [NTK_METRIC_EXECUTION_ERRORS] = execution_errors,
    [NTK_METRIC_EXECUTION_STATUS] = execution_status,
    [NTK_METRIC_EXECUTION_LATENCY] = execution_latency,
    [NTK_METRIC_HARDWARE_ECC_EVENTS] = ecc_events,
    [NTK_METRIC_SYSTEM_VCPU_COUNT] = system_cpu_count,
    [NTK_METRIC_SYSTEM_VCPU_USAGE] = system_cpu,
    [NTK_METRIC_SYSTEM_MEMORY_TOTAL] = system_memory_total,
    [NTK_METRIC_SYSTEM_MEMORY_USED] = system_memory_used,
    [NTK_METRIC_SYSTEM_SWAP_TOTAL] = system_swap_total,
    [NTK_METRIC_SYSTEM_SWAP_USED] = system_swap_used,
    [NTK_METRIC_INSTANCE_INFO] = instance_info,
    [NTK_METRIC_HARDWARE_INFO] = hardware_info,
    [NTK_METRIC_LATENCY_HISTOGRAM] = latency_histogram,
    [NTK_METRIC_EXECUTIONS] = machine_executions,
    [NTK_METRIC_ERRORS] = machine_errors,
    [NTK_METRIC_CORE_TOTAL_UTILIZATION] = machine_utilization,
    [NTK_METRIC_CORE_BUSY] = machine_busy,
    [NTK_METRIC_CORE_ENGINE_BUSY] = machine_engines,
    [NTK_METRIC_CORE_FLOPS_TOTAL] = machine_flops,
    [NTK_METRIC_CORE_EFFECTIVE_FLOPS_TOTAL] = machine_effective_flops,
    [NTK_METRIC_MEMORY_USED] = memory_used,
    [NTK_METRIC_MEMORY_PEAK] = memory_peak,
    [NTK_METRIC_DEVICE_MEMORY_USED] = device_memory_used,
    [NTK_METRIC_DEVICE_MEMORY_CAPACITY] = device_memory_capacity,
    [NTK_METRIC_MODEL_LOADED] = model_loaded,
    [NTK_METRIC_EVENTS_LOST] = events_lost,
    [NTK_METRIC_EVENTS_READ] = events_read,
    [NTK_METRIC_BUILD_INFO] = build_info,
    [NTK_METRIC_COLLECT_DURATION] = collect_duration,
};

/* The names that every client library gives its own process. */
static void encode_process(struct encoder *e)
{
    const struct ntk_prometheus_process *process = &e->page->process;
    const struct {
        const char *name;
        enum ntk_metric_kind kind;
        const char *help;
        double value;
    } rows[] = {
        { "process_cpu_seconds_total", NTK_METRIC_KIND_COUNTER,
          "Total user and system CPU time spent in seconds.", process->cpu_seconds },
        { "process_max_fds", NTK_METRIC_KIND_GAUGE, "Maximum number of open file descriptors.",
          (double)process->max_fds },
        { "process_open_fds", NTK_METRIC_KIND_GAUGE, "Number of open file descriptors.",
          (double)process->open_fds },
        { "process_resident_memory_bytes", NTK_METRIC_KIND_GAUGE, "Resident memory size in bytes.",
          (double)process->resident_bytes },
        { "process_start_time_seconds", NTK_METRIC_KIND_GAUGE,
          "Start time of the process since unix epoch in seconds.", process->start_seconds },
        { "process_virtual_memory_bytes", NTK_METRIC_KIND_GAUGE, "Virtual memory size in bytes.",
          (double)process->virtual_bytes },
    };

    for (size_t i = 0; process->present && i < sizeof rows / sizeof *rows; i++) {
        add_header(e, rows[i].name, rows[i].kind, rows[i].help);
        ntk_buf_add_text(e->out, rows[i].name);
        ntk_buf_add_char(e->out, ' ');
        add_value(e->out, rows[i].value);
        ntk_buf_add_char(e->out, '\n');
    }
}

void ntk_prometheus_encode(const struct ntk_prometheus_page *page,
                           enum ntk_prometheus_format format, bool vendor_only, struct ntk_buf *out)
{
    struct encoder e = { .page = page, .format = format, .out = out };

    make_parts(&e);
    for (int i = 0; i < NTK_METRIC_COUNT; i++) {
        if (encode_family[i] &&
            (!vendor_only || ntk_metrics[i].origin == NTK_METRIC_ORIGIN_VENDOR)) {
            e.metric = (enum ntk_metric)i;
            e.has_header = false;
            encode_family[i](&e);
        }
    }
    encode_process(&e);
    if (is_open(&e)) {
        ntk_buf_add_text(out, "# EOF\n");
    }
    for (int i = 0; i < CUT_COUNT; i++) {
        out->failed = out->failed || !ntk_buf_ok(&e.part[i]);
        ntk_buf_fini(&e.part[i]);
    }
}

const char *ntk_prometheus_content_type_get(enum ntk_prometheus_format format)
{
    return format == NTK_PROMETHEUS_OPENMETRICS_1_0_0
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}
