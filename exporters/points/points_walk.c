/* SPDX-License-Identifier: MIT */
/* points_walk - the page as points. */
#include "exporters/points/points_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/points/points_view.h"
#include "shared/base/clock.h"

#define NS (double)NTK_NS_PER_SECOND

struct walk {
    const struct ntk_points_page *page;
    const struct ntk_metric_row *row; /* of the family */
    void (*visit)(const struct ntk_point *point, void *ctx);
    void *ctx;
    const struct ntk_points_owner *owner; /* of the points to come; NULL: none */
    size_t with;                          /* which of the figures that a function walks */
};

/* -- pieces ------------------------------------------------------------------------------------ */

#define LABELS(...)                   \
    (const struct ntk_points_label[]) \
    {                                 \
        __VA_ARGS__,                  \
        {                             \
            NULL, NULL                \
        }                             \
    }
#define NO_LABELS ((const struct ntk_points_label[]){ { NULL, NULL } })

/* Labels that are in `room`, those of a point and more of them, all in their order. */
static const struct ntk_points_label *merge(const struct ntk_points_label *labels,
                                            const struct ntk_points_label *more, size_t more_count,
                                            struct ntk_points_label room[NTK_POINTS_LABELS_MAX + 1])
{
    size_t used = 0;

    for (size_t i = 0; i < more_count; i++) {
        while (labels->name && strcmp(labels->name, more[i].name) < 0) {
            room[used++] = *labels++;
        }
        if (more[i].value[0]) {
            room[used++] = more[i];
        }
    }
    while (labels->name) {
        room[used++] = *labels++;
    }
    room[used] = (struct ntk_points_label){ NULL, NULL };
    return room;
}

/* The owner's labels and the user's, those that are there, among the point's. */
static void with_more(const struct walk *e, struct ntk_point *point)
{
    struct ntk_points_label owned[NTK_POINTS_LABELS_MAX + 1];
    struct ntk_points_label labels[NTK_POINTS_LABELS_MAX + 1];

    if (e->owner) {
        const struct ntk_points_label own[] = {
            { "container_name", e->owner->container_name },
            { "namespace", e->owner->namespace_name },
            { "pid", e->owner->pid },
            { "pod_name", e->owner->pod_name },
            { "user", e->owner->user },
        };
        point->labels = merge(point->labels, own, sizeof own / sizeof *own, owned);
    }
    if (e->page->labels) {
        struct ntk_points_label said[NTK_LABELS_MAX];
        size_t count = e->page->labels->count;
        for (size_t i = 0; i < count; i++) {
            const struct ntk_labels_row *row = &e->page->labels->rows[i];
            said[i] = (struct ntk_points_label){ row->name, row->value };
        }
        point->labels = merge(point->labels, said, count, labels);
    }
    e->visit(point, e->ctx);
}

static void visit(const struct walk *e, struct ntk_point point)
{
    if (e->row->kind == NTK_METRIC_KIND_COUNTER && point.began_ns == 0) {
        point.began_ns = e->page->began_ns;
    }
    with_more(e, &point);
}

static void sample(const struct walk *e, const struct ntk_points_label *labels, double value)
{
    visit(e, (struct ntk_point){ .has_instance_labels = true, .labels = labels, .number = value });
}

static void sample_u64(const struct walk *e, const struct ntk_points_label *labels, uint64_t value)
{
    visit(e, (struct ntk_point){ .has_instance_labels = true,
                                 .labels = labels,
                                 .is_integer = true,
                                 .integer = value,
                                 .number = (double)value });
}

/* What is in ns where the family is in seconds. */
static void sample_in_unit(const struct walk *e, const struct ntk_points_label *labels,
                           uint64_t value)
{
    if (e->row->unit == NTK_METRIC_UNIT_SECONDS) {
        sample(e, labels, (double)value / NS);
    } else {
        sample_u64(e, labels, value);
    }
}

/* A counter whose beginning the vendor's page shows. */
static void counter(const struct walk *e, const struct ntk_points_label *labels, uint64_t value,
                    double created_seconds, uint64_t began_ns)
{
    visit(e, (struct ntk_point){ .has_instance_labels = true,
                                 .labels = labels,
                                 .is_integer = true,
                                 .integer = value,
                                 .number = (double)value,
                                 .created_seconds = created_seconds,
                                 .began_ns = began_ns });
}

struct number {
    char text[16];
};

static struct number number_text(uint32_t value)
{
    struct number number;

    snprintf(number.text, sizeof number.text, "%u", value);
    return number;
}

#define each_live_tag(name)                                                              \
    ntk_map_each(name##_entry, &e->page->tags)                                           \
        for (const struct ntk_points_tag *name = name##_entry->value; name; name = NULL) \
            if (e->owner = &name->owner, name->is_live)

/* Since when counters of this process count; 0 where that is unknown. */
static uint64_t process_began_ns(const struct walk *e)
{
    return (uint64_t)(e->page->process.start_seconds * NS);
}

/* -- the vendor's families --------------------------------------------------------------------- */

/* The cores that no application shows, at zero. */
static void fill_zeros(struct walk *e, bool is_memory)
{
    bool shown[NTK_POINTS_CORES_MAX] = { false };
    size_t count = (size_t)e->page->device_count * e->page->cores_per_device;

    if (!e->page->fills_zeros) {
        return;
    }
    count = count < NTK_POINTS_CORES_MAX ? count : NTK_POINTS_CORES_MAX;
    each_live_tag(tag)
    {
        ntk_vec_each(const struct ntk_points_core, core, &tag->cores) {
            if (core->core < count && (is_memory ? core->has_memory : core->has_utilization)) {
                shown[core->core] = true;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct number number = number_text((uint32_t)i);
        e->owner = &e->page->cores[i].owner;
        if (!shown[i] && is_memory) {
            sample_u64(e,
                       LABELS({ "memory_location", "None" }, { "neuroncore", number.text },
                              { "runtime_tag", "" }),
                       0);
        } else if (!shown[i]) {
            sample_u64(e, LABELS({ "neuroncore", number.text }, { "runtime_tag", "" }), 0);
        }
    }
}

static void core_utilization(struct walk *e)
{
    each_live_tag(tag)
    {
        ntk_vec_each(const struct ntk_points_core, core, &tag->cores) {
            if (core->has_utilization) {
                struct number number = number_text(core->core);
                sample(e, LABELS({ "neuroncore", number.text }, { "runtime_tag", tag->tag }),
                       core->utilization);
            }
        }
    }
    fill_zeros(e, false);
}

/* The state of the cores of applications: rows of core_state.def with a metric. */
static void core_states(struct walk *e, size_t i)
{
    each_live_tag(tag)
    {
        ntk_vec_each(const struct ntk_points_core, core, &tag->cores) {
            if (core->has_state >> i & 1) {
                struct number number = number_text(core->core);
                sample_in_unit(e,
                               LABELS({ "neuroncore", number.text }, { "runtime_tag", tag->tag }),
                               core->state[i]);
            }
        }
    }
}

static void runtime_cpu(struct walk *e, const struct ntk_points_tag *tag)
{
    if (tag->has_cpu) {
        sample(e, LABELS({ "runtime_tag", tag->tag }, { "usage_type", "system" }), tag->cpu_system);
        sample(e, LABELS({ "runtime_tag", tag->tag }, { "usage_type", "user" }), tag->cpu_user);
    }
}

static void runtime_memory(struct walk *e, const struct ntk_points_tag *tag)
{
    if (tag->has_memory && tag->host.known) {
        sample_u64(e, LABELS({ "memory_location", "host" }, { "runtime_tag", tag->tag }),
                   tag->host.bytes);
    }
    if (tag->has_memory && tag->device.known) {
        sample_u64(e, LABELS({ "memory_location", "neuron_device" }, { "runtime_tag", tag->tag }),
                   tag->device.bytes);
    }
}

static void core_memory(struct walk *e)
{
    size_t group = e->with; /* enum ntk_memory_group */

    each_live_tag(tag)
    {
        ntk_vec_each(const struct ntk_points_core, core, &tag->cores) {
            if (core->has_memory && core->has_group[group]) {
                struct number number = number_text(core->core);
                sample_u64(e,
                           LABELS({ "memory_location", "None" }, { "neuroncore", number.text },
                                  { "runtime_tag", tag->tag }),
                           core->group_bytes[group]);
            }
        }
    }
    fill_zeros(e, true);
}

static void execution_errors(struct walk *e, const struct ntk_points_tag *tag)
{
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT && tag->has_executions && !tag->is_uncounted; i++) {
        counter(e, LABELS({ "error_type", ntk_error_class_names[i] }, { "runtime_tag", tag->tag }),
                tag->error_class[i], tag->created_seconds, tag->began_ns);
    }
}

static void execution_status(struct walk *e, const struct ntk_points_tag *tag)
{
    for (int i = 0; i < NTK_OUTCOME_COUNT && tag->has_executions && !tag->is_uncounted; i++) {
        counter(e, LABELS({ "runtime_tag", tag->tag }, { "status_type", ntk_outcome_names[i] }),
                tag->outcome[i], tag->created_seconds, tag->began_ns);
    }
}

static void percentiles(struct walk *e)
{
    bool of_device = e->row == &ntk_metrics[NTK_METRIC_DEVICE_LATENCY];

    each_live_tag(tag)
    {
        bool has = of_device ? tag->has_device_percentiles : tag->has_percentiles;
        const double *seconds =
            of_device ? tag->device_percentile_seconds : tag->percentile_seconds;

        for (int i = 0; i < NTK_PERCENTILE_COUNT && has && !tag->is_uncounted; i++) {
            sample(e,
                   LABELS({ "percentile", ntk_percentile_names[i] }, { "runtime_tag", tag->tag }),
                   seconds[i]);
        }
    }
}

static void ecc_events(struct walk *e, const struct ntk_points_device *device, const char *number)
{
    for (int k = 0; k < NTK_ECC_COUNT && device->has & NTK_DEVICE_HAS_ECC; k++) {
        /* Readers make a metric of each type they know; this one they do not. */
        if (k != NTK_ECC_MEM_REPAIRABLE) {
            counter(e,
                    LABELS({ "event_type", ntk_ecc_names[k] }, { "neuron_device_index", number }),
                    device->ecc[k], e->page->created_seconds, e->page->began_ns);
        }
    }
}

static void system_cpu_count(struct walk *e)
{
    if (e->page->has_cpu) {
        sample_u64(e, NO_LABELS, e->page->cpu_count);
    }
}

static void system_cpu(struct walk *e)
{
    if (e->page->has_cpu) {
        sample(e, LABELS({ "usage_type", "system" }), e->page->cpu_system);
        sample(e, LABELS({ "usage_type", "user" }), e->page->cpu_user);
    }
}

static void system_cpu_fields(struct walk *e)
{
    for (int i = 0; i < NTK_CPU_FIELD_COUNT && e->page->has_cpu; i++) {
        sample(e, LABELS({ "usage_type", ntk_cpu_field_names[i] }), e->page->cpu_fields[i]);
    }
}

/* A number of the page, which is there. */
static void page_number(struct walk *e)
{
    sample_u64(e, NO_LABELS, *(const uint64_t *)((const char *)e->page + e->with));
}

static void instance_info(struct walk *e)
{
    sample_u64(e, NO_LABELS, 1);
}

static void hardware_info(struct walk *e)
{
    if (e->page->device_count > 0) {
        struct number devices = number_text(e->page->device_count);
        struct number cores = number_text(e->page->cores_per_device);
        char bytes[24];
        snprintf(bytes, sizeof bytes, "%" PRIu64, e->page->device_memory_bytes);
        if (e->page->device_memory_bytes > 0) {
            sample_u64(e,
                       LABELS({ "neuron_device_count", devices.text },
                              { "neuron_device_memory_size", bytes },
                              { "neuroncore_per_device_count", cores.text }),
                       1);
        } else { /* a report from before the size was reported */
            sample_u64(e,
                       LABELS({ "neuron_device_count", devices.text },
                              { "neuroncore_per_device_count", cores.text }),
                       1);
        }
    }
}

static void hardware_counts(struct walk *e)
{
    uint64_t devices = e->page->device_count;

    if (devices > 0) {
        sample_u64(e, LABELS({ "kind", "devices" }), devices);
        sample_u64(e, LABELS({ "kind", "physical_cores" }),
                   devices * e->page->physical_cores_per_device);
        sample_u64(e, LABELS({ "kind", "logical_cores" }), devices * e->page->cores_per_device);
    }
}

/* -- ours -------------------------------------------------------------------------------------- */

static void latency_series(struct walk *e, const struct ntk_points_tag *tag, const char *model_name,
                           const char *type, const struct ntk_points_latency_series *series)
{
    if (series->edges.count > 0) {
        visit(e, (struct ntk_point){ .has_instance_labels = true,
                                     .labels = LABELS({ "latency_type", type },
                                                      { "model_name", model_name },
                                                      { "runtime_tag", tag->tag }),
                                     .latency = series,
                                     .began_ns = series->began_ns });
    }
}

static void latency_histogram(struct walk *e, const struct ntk_points_tag *tag)
{
    if (tag->is_uncounted) {
        return;
    }
    ntk_vec_each(const struct ntk_points_latency, latency, &tag->latencies) {
        latency_series(e, tag, latency->model_name, "total", &latency->total);
        latency_series(e, tag, latency->model_name, "device", &latency->device);
    }
}

static void machine_executions(struct walk *e)
{
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        sample_u64(e, LABELS({ "status_type", ntk_outcome_names[i] }), e->page->outcome[i]);
    }
}

static void machine_partial(struct walk *e)
{
    sample_u64(e, NO_LABELS, e->page->is_partial);
}

static void machine_errors(struct walk *e)
{
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        sample_u64(e, LABELS({ "error_type", ntk_error_class_names[i] }), e->page->error_class[i]);
    }
}

static void machine_utilization(struct walk *e)
{
    for (size_t i = 0; i < e->page->core_count; i++) {
        struct number number = number_text((uint32_t)i);
        e->owner = &e->page->cores[i].owner;
        if (!e->page->cores[i].is_unreported) {
            sample(e, LABELS({ "neuroncore", number.text }), e->page->cores[i].utilization);
        }
    }
}

static void machine_count(const struct walk *e, const struct ntk_core_count_row *row,
                          const struct ntk_points_machine_core *core, const char *neuroncore)
{
    for (size_t k = 0; k < row->count; k++) {
        uint64_t value = core->counts[row->at + k];
        const struct ntk_points_label *labels =
            row->names ? LABELS({ "engine", row->names[k] }, { "neuroncore", neuroncore })
                       : LABELS({ "neuroncore", neuroncore });
        sample_in_unit(e, labels, value);
    }
}

/* The counters of cores: rows of core_counts.def with a metric. */
static void machine_counts(struct walk *e)
{
    const struct ntk_core_count_row *row = ntk_core_count_rows;
    const struct ntk_core_count_row *end = row + NTK_CORE_COUNT_ROWS;

    while (row < end && (row->metric == NTK_METRIC_NONE || &ntk_metrics[row->metric] != e->row)) {
        row++;
    }
    for (size_t i = 0; row < end && i < e->page->core_count; i++) {
        const struct ntk_points_machine_core *core = &e->page->cores[i];
        struct number number = number_text((uint32_t)i);
        e->owner = &core->owner;
        /* A core without a process is known to be idle. */
        if (core->has & row->has || (row->has == NTK_CORE_HAS_BUSY && !core->is_unreported)) {
            machine_count(e, row, core, number.text);
        }
    }
}

static void fine_memory(struct walk *e, const struct ntk_points_tag *tag)
{
    ntk_vec_each(const struct ntk_points_memory, row, &tag->memory) {
        struct number number = number_text(row->core);
        sample_u64(e,
                   LABELS({ "category", ntk_memory_category_names[row->category] },
                          { "memory_location",
                            row->location == NTK_MEMORY_DEVICE ? "neuron_device" : "host" },
                          { "neuroncore", row->core == NTK_NO_CORE ? "" : number.text },
                          { "runtime_tag", tag->tag }),
                   e->with ? row->peak_bytes : row->bytes);
    }
}

/* The driver's counter, or what reports that do not have it add up to. False: not counted. */
static bool ecc_total(const struct ntk_points_device *device, int kind, uint64_t *out)
{
    bool is_total = device->ecc_total_has >> kind & 1;

    *out = is_total ? device->ecc_total[kind] : device->ecc[kind];
    return is_total || device->ecc_has >> kind & 1;
}

static void ecc_totals(struct walk *e, const struct ntk_points_device *device, const char *number)
{
    uint64_t total;
    for (int k = 0; k < NTK_ECC_COUNT; k++) {
        if (ecc_total(device, k, &total)) {
            sample_u64(
                e, LABELS({ "event_type", ntk_ecc_names[k] }, { "neuron_device_index", number }),
                total);
        }
    }
}

static void ecc_repairable(struct walk *e, const struct ntk_points_device *device,
                           const char *number)
{
    uint64_t total;
    if (ecc_total(device, NTK_ECC_MEM_REPAIRABLE, &total)) {
        sample_u64(e, LABELS({ "neuron_device_index", number }), total);
    }
}

static void health_status(struct walk *e, const struct ntk_points_device *device,
                          const char *number)
{
    if (device->has & NTK_DEVICE_HAS_HEALTH) {
        sample_u64(e, LABELS({ "neuron_device_index", number }), device->verdict);
    }
}

static void health_reasons(struct walk *e, const struct ntk_points_device *device,
                           const char *number)
{
    for (size_t k = 0; k < device->health_count; k++) {
        const struct ntk_health_reason_row *row = &ntk_health_reasons[device->health[k].reason];
        sample(e,
               LABELS({ "action", ntk_health_actions[row->action].name },
                      { "neuron_device_index", number }, { "reason", row->name },
                      { "verdict", ntk_health_verdict_names[row->verdict] }),
               (double)device->health[k].since_ns / NS);
    }
}

static void device_well(struct walk *e, const struct ntk_points_device *device, const char *number)
{
    bool is_ill = device->verdict == NTK_HEALTH_UNHEALTHY;
    if (device->has & NTK_DEVICE_HAS_HEALTH && device->verdict != NTK_HEALTH_UNKNOWN) {
        sample_u64(e,
                   LABELS({ "neuron_device_index", number },
                          { "reason", is_ill && device->health_count > 0
                                          ? ntk_health_reasons[device->health[0].reason].name
                                          : "" }),
                   !is_ill);
    }
}

static void node_health(struct walk *e)
{
    struct ntk_health_node node = { 0 };

    for (size_t i = 0; i < e->page->device_sample_count; i++) {
        const struct ntk_points_device *device = &e->page->devices[i];
        if (device->has & NTK_DEVICE_HAS_HEALTH) {
            ntk_health_node_add(&node, device->verdict);
        }
        for (size_t k = 0; k < device->health_count; k++) {
            ntk_health_node_add_reason(&node, device->health[k].reason);
        }
    }
    if (node.is_known) {
        sample_u64(e, LABELS({ "action", ntk_health_actions[node.action].name }), node.verdict);
    }
}

static void device_row(const struct walk *e, const struct ntk_device_row *row,
                       const struct ntk_device_sample *figures, const char *index)
{
    const void *value = (const char *)figures + row->offset;

    if (row->statistic) {
        sample(e, LABELS({ "neuron_device_index", index }, { "statistic", row->statistic }),
               *(const double *)value);
        return;
    }
    for (uint32_t k = 0; k < figures->stack_count; k++) {
        struct number stack = number_text(k);
        sample_u64(e, LABELS({ "hbm", stack.text }, { "neuron_device_index", index }),
                   ((const uint64_t *)value)[k]);
    }
}

/* The rows of device.def, the last first: labels are in their order then. */
static void device_figures(struct walk *e, const struct ntk_points_device *device,
                           const char *number)
{
    for (size_t k = NTK_DEVICE_ROWS; k-- > 0;) {
        const struct ntk_device_row *row = &ntk_device_rows[k];
        if (&ntk_metrics[row->metric] == e->row && device->figures.has & row->has) {
            device_row(e, row, &device->figures, number);
        }
    }
}

static void adapter_counter(const struct walk *e, size_t c)
{
    const struct ntk_adapter_row *row = &ntk_adapter_rows[c];
    char device_label[32];
    char port_label[32];

    snprintf(device_label, sizeof device_label, "%s_device", ntk_adapter_words[row->family]);
    snprintf(port_label, sizeof port_label, "%s_port", ntk_adapter_words[row->family]);
    for (size_t i = 0; i < e->page->port_count; i++) {
        const struct ntk_adapter_port *port = &e->page->ports[i];
        struct number number = number_text(port->port);

        if (port->has >> c & 1) {
            sample_u64(e,
                       LABELS({ "counter", row->name }, { device_label, port->device },
                              { port_label, number.text }),
                       port->counter[c]);
        }
    }
}

static void runtime_resident(struct walk *e, const struct ntk_points_tag *tag)
{
    if (tag->has_resident) {
        sample_u64(e, LABELS({ "runtime_tag", tag->tag }), tag->resident_bytes);
    }
}

static void model_loaded(struct walk *e, const struct ntk_points_tag *tag)
{
    ntk_vec_each(const struct ntk_points_model, model, &tag->models) {
        bool doubled = false; /* two runtimes of a tag may have the same id and name */
        for (const struct ntk_points_model *before = tag->models.items; before < model && !doubled;
             before++) {
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

static void collectives(struct walk *e, const struct ntk_points_tag *tag)
{
    for (int i = 0; i < NTK_COLLECTIVE_COUNT && tag->has_ranks; i++) {
        counter(e, LABELS({ "operation", ntk_collective_names[i] }, { "runtime_tag", tag->tag }),
                tag->collectives[i], tag->created_seconds, tag->began_ns);
    }
}

static void collective_seconds(struct walk *e, const struct ntk_points_tag *tag, uint64_t ns)
{
    if (tag->has_ranks) {
        sample(e, LABELS({ "runtime_tag", tag->tag }), (double)ns / NTK_NS_PER_SECOND);
    }
}

/* The rows of rank.def with this metric. */
static void rank_counts(struct walk *e, const struct ntk_points_tag *tag)
{
    for (size_t i = 0; i < NTK_RANK_COUNTS; i++) {
        if (&ntk_metrics[ntk_rank_count_rows[i].metric] == e->row) {
            collective_seconds(e, tag, tag->rank_counts[i]);
        }
    }
}

static void collective_age(struct walk *e, const struct ntk_points_tag *tag)
{
    collective_seconds(e, tag, tag->in_collective_ns);
}

/* Two with the same labels cannot be: the first is written. */
static bool is_written_before(const struct ntk_points_page *page, size_t at)
{
    const struct ntk_points_trouble *one = &page->troubles[at];

    for (size_t i = 0; i < at; i++) {
        const struct ntk_points_trouble *other = &page->troubles[i];

        if (one->kind == other->kind && one->key == other->key &&
            one->has_rank == other->has_rank && one->rank == other->rank &&
            strcmp(one->cause, other->cause) == 0 &&
            strcmp(one->rendezvous, other->rendezvous) == 0) {
            return true;
        }
    }
    return false;
}

static void rank_troubles(struct walk *e)
{
    e->owner = NULL;
    for (size_t i = 0; i < e->page->trouble_count; i++) {
        const struct ntk_points_trouble *trouble = &e->page->troubles[i];
        struct number rank = number_text(trouble->rank);
        char key[17];

        if (is_written_before(e->page, i)) {
            continue;
        }
        snprintf(key, sizeof key, "%016llx", (unsigned long long)trouble->key);
        sample(e,
               LABELS({ "cause", trouble->cause }, { "communicator", key },
                      { "kind", ntk_trouble_kind_names[trouble->kind] },
                      { "rank", trouble->has_rank ? rank.text : "all" },
                      { "rendezvous", trouble->rendezvous }),
               (double)trouble->since_ns / NS);
    }
}

/* What jobs that share a core or a device have of one kind, each once, commas between; those that
 * have room. */
struct job_text {
    char text[NTK_POINTS_LABEL_BYTES];
    size_t used;
};

static void add_job_text(struct job_text *to, const char *text)
{
    size_t bytes = strlen(text);
    size_t at = 0;

    while (at < to->used) { /* two jobs of one user */
        size_t length = strcspn(to->text + at, ",");
        if (length == bytes && memcmp(to->text + at, text, bytes) == 0) {
            return;
        }
        at += length + 1;
    }
    if (bytes == 0 || to->used + bytes + 2 > sizeof to->text) {
        return;
    }
    if (to->used > 0) {
        to->text[to->used++] = ',';
    }
    memcpy(to->text + to->used, text, bytes + 1);
    to->used += bytes;
}

static int compare_labels(const void *a, const void *b)
{
    return strcmp(((const struct ntk_points_label *)a)->name,
                  ((const struct ntk_points_label *)b)->name);
}

/* One series, whoever shares it: a join finds one, and no other series becomes more. */
static void job_sample(const struct walk *e, uint32_t index, bool is_core)
{
    struct job_text texts[NTK_JOB_TEXTS] = { 0 };
    uint32_t per_device = e->page->cores_per_device;
    uint32_t device = !is_core ? index : per_device > 0 ? index / per_device : 0;
    struct ntk_points_label labels[NTK_JOB_TEXTS + 3];
    size_t used = 0;

    for (size_t i = 0; i < e->page->job_count; i++) {
        const struct ntk_points_job *job = &e->page->jobs[i];
        bool has = is_core ? job->cores[index / 64] >> index % 64 & 1 : job->devices >> index & 1;
        for (size_t k = 0; k < NTK_JOB_TEXTS && has; k++) {
            add_job_text(&texts[k], job->texts[k]);
        }
    }
    if (texts[0].used == 0) { /* ids */
        return;
    }
    struct number device_number = number_text(device);
    struct number core_number = number_text(index);
    for (size_t k = 0; k < NTK_JOB_TEXTS; k++) {
        labels[used] = (struct ntk_points_label){ ntk_job_texts[k].label, texts[k].text };
        used += texts[k].used > 0;
    }
    labels[used] = (struct ntk_points_label){ "neuron_device_index", device_number.text };
    used += !is_core || per_device > 0;
    labels[used] = (struct ntk_points_label){ "neuroncore", core_number.text };
    used += is_core;
    qsort(labels, used, sizeof *labels, compare_labels);
    labels[used] = (struct ntk_points_label){ NULL, NULL };
    sample_u64(e, labels, 1);
}

static void job_info(struct walk *e)
{
    uint64_t any[NTK_POINTS_CORES_MAX / 64] = { 0 };

    e->owner = NULL;
    for (size_t i = 0; i < e->page->job_count; i++) {
        for (size_t k = 0; k < sizeof any / sizeof *any; k++) {
            any[k] |= e->page->jobs[i].cores[k];
        }
    }
    for (uint32_t core = 0; core < NTK_POINTS_CORES_MAX; core++) {
        if (any[core / 64] >> core % 64 & 1) {
            job_sample(e, core, true);
        }
    }
}

static void device_job_info(struct walk *e)
{
    e->owner = NULL;
    for (uint32_t device = 0; e->page->job_count > 0 && device < NTK_SNAPSHOT_DEVICES_MAX;
         device++) {
        job_sample(e, device, false);
    }
}

/* A line for each way in which runtimes of a tag are watched. */
static void runtime_hooks(struct walk *e)
{
    static const char *const flags[] = { "false", "true" };
    static const char *const counts[NTK_POINTS_COUNTED] = { "true", "false", "partly" };

    each_live_tag(tag)
    {
        for (int i = 0; i < NTK_HOOKS_KIND_COUNT * 2 * NTK_POINTS_COUNTED; i++) {
            int kind = i / (2 * NTK_POINTS_COUNTED);
            int guessed = i / NTK_POINTS_COUNTED % 2;
            int counted = i % NTK_POINTS_COUNTED;

            if (kind != NTK_HOOKS_UNKNOWN && tag->is_watched[kind][guessed][counted]) {
                sample_u64(e,
                           LABELS({ "cores_guessed", flags[guessed] },
                                  { "executions_counted", counts[counted] },
                                  { "hooks", ntk_hooks_kind_names[kind] },
                                  { "runtime_tag", tag->tag }),
                           1);
            }
        }
    }
}

static void other_applications(struct walk *e)
{
    if (e->page->application_max > 0) {
        sample_u64(e, NO_LABELS, e->page->others.count);
    }
}

static void build_info(struct walk *e)
{
    visit(e, (struct ntk_point){ .labels = LABELS({ "version", NTK_VERSION }),
                                 .is_integer = true,
                                 .integer = 1,
                                 .number = 1 });
}

/* For the process, as those at the end: without the instance's labels, counted since it began. */
static void output_sample(const struct walk *e, const struct ntk_points_label *labels,
                          uint64_t value)
{
    visit(e, (struct ntk_point){
                 .labels = labels,
                 .is_integer = true,
                 .integer = value,
                 .number = (double)value,
                 .began_ns = e->row->kind == NTK_METRIC_KIND_COUNTER ? process_began_ns(e) : 0 });
}

#define each_output(e, row)                                      \
    for (const struct ntk_output_counts *row = e->page->outputs; \
         row < e->page->outputs + e->page->output_count; row++)

static void output_cut(struct walk *e)
{
    each_output(e, row)
    {
        if (row->has_cut) {
            output_sample(e, LABELS({ "output", row->name }), row->cut_items);
        }
    }
}

static void output_items(struct walk *e)
{
    each_output(e, row)
    {
        output_sample(e, LABELS({ "output", row->name }, { "result", "lost" }), row->lost_items);
        output_sample(e, LABELS({ "output", row->name }, { "result", "refused" }),
                      row->refused_items);
        output_sample(e, LABELS({ "output", row->name }, { "result", "sent" }), row->sent_items);
    }
}

static void output_retries(struct walk *e)
{
    each_output(e, row)
    {
        output_sample(e, LABELS({ "output", row->name }), row->retry_count);
    }
}

static void output_waiting(struct walk *e)
{
    each_output(e, row)
    {
        output_sample(e, LABELS({ "output", row->name }, { "place", "memory" }), row->memory_items);
        output_sample(e, LABELS({ "output", row->name }, { "place", "spool" }), row->spool_items);
    }
}

static void collect_duration(struct walk *e)
{
    sample(e, NO_LABELS, e->page->collect_seconds);
}

static void report_age(struct walk *e)
{
    if (e->page->age.is_known) {
        sample(e, NO_LABELS, e->page->age.seconds);
    }
}

static void report_period(struct walk *e)
{
    if (e->page->age.is_known) {
        sample(e, NO_LABELS, e->page->age.period_seconds);
    }
}

/* The rows with this metric: of the host, of adapters, the state of cores, what cores count. */
static void walk_rows(struct walk *e)
{
    for (size_t i = 0; i < NTK_SYSTEM_FIGURES; i++) {
        if (&ntk_metrics[ntk_system_rows[i].metric] == e->row) {
            if (e->page->system_has & ntk_system_rows[i].has) {
                sample_u64(e, NO_LABELS, e->page->system[i]);
            }
            return;
        }
    }
    for (size_t i = 0; i < NTK_CORE_STATES; i++) {
        if (&ntk_metrics[ntk_core_state_rows[i].metric] == e->row) {
            core_states(e, i);
            return;
        }
    }
    for (size_t c = 0; c < NTK_ADAPTER_COUNTERS; c++) {
        if (&ntk_metrics[ntk_adapter_rows[c].metric] == e->row) {
            adapter_counter(e, c);
        }
    }
    machine_counts(e);
}

/* Families that are not here come from rows (walk_rows), or are not on a page; those without a name
 * are for the names of others alone. */
#define PAGE(member) offsetof(struct ntk_points_page, member)
static const struct {
    void (*walk)(struct walk *e);
    size_t with;
    void (*of_device)(struct walk *e, const struct ntk_points_device *device, const char *number);
    void (*of_tag)(struct walk *e, const struct ntk_points_tag *tag);
} families[NTK_METRIC_COUNT] = {
    [NTK_METRIC_NEURONCORE_UTILIZATION] = { core_utilization },
    [NTK_METRIC_RUNTIME_VCPU_USAGE] = { .of_tag = runtime_cpu },
    [NTK_METRIC_RUNTIME_MEMORY_USED] = { .of_tag = runtime_memory },
    [NTK_METRIC_CORE_MEMORY_CONSTANTS] = { core_memory, NTK_GROUP_CONSTANTS },
    [NTK_METRIC_CORE_MEMORY_MODEL_CODE] = { core_memory, NTK_GROUP_MODEL_CODE },
    [NTK_METRIC_CORE_MEMORY_SCRATCHPAD] = { core_memory, NTK_GROUP_SCRATCHPAD },
    [NTK_METRIC_CORE_MEMORY_RUNTIME] = { core_memory, NTK_GROUP_RUNTIME },
    [NTK_METRIC_CORE_MEMORY_TENSORS] = { core_memory, NTK_GROUP_TENSORS },
    [NTK_METRIC_EXECUTION_ERRORS] = { .of_tag = execution_errors },
    [NTK_METRIC_EXECUTION_STATUS] = { .of_tag = execution_status },
    [NTK_METRIC_EXECUTION_LATENCY] = { percentiles },
    [NTK_METRIC_HARDWARE_ECC_EVENTS] = { .of_device = ecc_events },
    [NTK_METRIC_SYSTEM_VCPU_COUNT] = { system_cpu_count },
    [NTK_METRIC_SYSTEM_VCPU_USAGE] = { system_cpu },
    [NTK_METRIC_INSTANCE_INFO] = { instance_info },
    [NTK_METRIC_HARDWARE_INFO] = { hardware_info },
    [NTK_METRIC_DEVICE_LATENCY] = { percentiles },
    [NTK_METRIC_SYSTEM_VCPU_FIELDS] = { system_cpu_fields },
    [NTK_METRIC_HARDWARE_COUNTS] = { hardware_counts },
    [NTK_METRIC_LATENCY_HISTOGRAM] = { .of_tag = latency_histogram },
    [NTK_METRIC_EXECUTIONS] = { machine_executions },
    [NTK_METRIC_EXECUTIONS_PARTIAL] = { machine_partial },
    [NTK_METRIC_ERRORS] = { machine_errors },
    [NTK_METRIC_CORE_TOTAL_UTILIZATION] = { machine_utilization },
    [NTK_METRIC_MEMORY_USED] = { .of_tag = fine_memory, .with = false },
    [NTK_METRIC_MEMORY_PEAK] = { .of_tag = fine_memory, .with = true },
    [NTK_METRIC_DEVICE_MEMORY_USED] = { .of_device = device_figures },
    [NTK_METRIC_DEVICE_MEMORY_CAPACITY] = { .of_device = device_figures },
    [NTK_METRIC_DEVICE_ECC] = { .of_device = ecc_totals },
    [NTK_METRIC_DEVICE_ECC_REPAIRABLE] = { .of_device = ecc_repairable },
    [NTK_METRIC_DEVICE_HEALTH] = { .of_device = health_status },
    [NTK_METRIC_DEVICE_HEALTH_REASON] = { .of_device = health_reasons },
    [NTK_METRIC_DEVICE_WELL] = { .of_device = device_well },
    [NTK_METRIC_NODE_HEALTH] = { node_health },
    [NTK_METRIC_DEVICE_POWER] = { .of_device = device_figures },
    [NTK_METRIC_RUNTIME_RESIDENT] = { .of_tag = runtime_resident },
    [NTK_METRIC_MODEL_LOADED] = { .of_tag = model_loaded },
    [NTK_METRIC_RUNTIME_HOOKS] = { runtime_hooks },
    [NTK_METRIC_COLLECTIVES] = { .of_tag = collectives },
    [NTK_METRIC_COLLECTIVE_TIME] = { .of_tag = rank_counts },
    [NTK_METRIC_COLLECTIVE_WAIT] = { .of_tag = rank_counts },
    [NTK_METRIC_COLLECTIVE_AGE] = { .of_tag = collective_age },
    [NTK_METRIC_RANK_TROUBLE] = { rank_troubles },
    [NTK_METRIC_JOB_INFO] = { job_info },
    [NTK_METRIC_DEVICE_JOB_INFO] = { device_job_info },
    [NTK_METRIC_EVENTS_LOST] = { page_number, PAGE(events_lost) },
    [NTK_METRIC_EVENTS_READ] = { page_number, PAGE(events_read) },
    [NTK_METRIC_OTHER_APPLICATIONS] = { other_applications },
    [NTK_METRIC_OUTPUT_CUT] = { output_cut },
    [NTK_METRIC_OUTPUT_ITEMS] = { output_items },
    [NTK_METRIC_OUTPUT_RETRIES] = { output_retries },
    [NTK_METRIC_OUTPUT_WAITING] = { output_waiting },
    [NTK_METRIC_BUILD_INFO] = { build_info },
    [NTK_METRIC_REPORT_AGE] = { report_age },
    [NTK_METRIC_REPORT_PERIOD] = { report_period },
    [NTK_METRIC_COLLECT_DURATION] = { collect_duration },
};

/* -- the exporter's own process ---------------------------------------------------------------- */

#define PROCESS_ROW(unit, kind, name, help)                                                     \
    {                                                                                           \
        NTK_METRIC_ORIGIN_VENDOR, NTK_METRIC_UNIT_##unit, NTK_METRIC_KIND_##kind, "", name, "", \
            help                                                                                \
    }

/* The names that every client library gives its own process. */
static const struct ntk_metric_row process_rows[NTK_POINTS_PROCESS_FAMILIES] = {
    PROCESS_ROW(SECONDS, COUNTER, "process_cpu_seconds_total",
                "Total user and system CPU time spent in seconds."),
    PROCESS_ROW(COUNT, GAUGE, "process_max_fds", "Maximum number of open file descriptors."),
    PROCESS_ROW(COUNT, GAUGE, "process_open_fds", "Number of open file descriptors."),
    PROCESS_ROW(BYTES, GAUGE, "process_resident_memory_bytes", "Resident memory size in bytes."),
    PROCESS_ROW(SECONDS, GAUGE, "process_start_time_seconds",
                "Start time of the process since unix epoch in seconds."),
    PROCESS_ROW(BYTES, GAUGE, "process_virtual_memory_bytes", "Virtual memory size in bytes."),
};

static void walk_process(const struct walk *e, size_t index)
{
    const struct ntk_points_process *process = &e->page->process;
    const double values[NTK_POINTS_PROCESS_FAMILIES] = {
        process->cpu_seconds,      (double)process->max_fds,
        (double)process->open_fds, (double)process->resident_bytes,
        process->start_seconds,    (double)process->virtual_bytes,
    };

    if (process->present) {
        visit(e, (struct ntk_point){ .labels = NO_LABELS,
                                     .number = values[index],
                                     .began_ns = e->row->kind == NTK_METRIC_KIND_COUNTER
                                                     ? process_began_ns(e)
                                                     : 0 });
    }
}

const struct ntk_metric_row *ntk_points_family_get(size_t family)
{
    return family < NTK_METRIC_COUNT ? &ntk_metrics[family]
           : family < NTK_POINTS_OWN_FAMILIES
               ? &process_rows[family - NTK_METRIC_COUNT]
               : &ntk_name_get(family - NTK_POINTS_OWN_FAMILIES)->metric;
}

/* For the program that serves the page, not of the machine. */
static bool is_of_program(size_t family)
{
    switch (family) {
    case NTK_METRIC_OUTPUT_CUT:
    case NTK_METRIC_OUTPUT_ITEMS:
    case NTK_METRIC_OUTPUT_RETRIES:
    case NTK_METRIC_OUTPUT_WAITING:
    case NTK_METRIC_BUILD_INFO:
    case NTK_METRIC_REPORT_AGE:
    case NTK_METRIC_REPORT_PERIOD:
        return true;
    default:
        return family >= NTK_METRIC_COUNT && family < NTK_POINTS_OWN_FAMILIES;
    }
}

bool ntk_points_is_shown(const struct ntk_points_page *page, bool vendor_only, size_t family)
{
    if (page->age.is_stale && !is_of_program(family)) {
        return false;
    }
    return ntk_names_have(page->names, vendor_only, ntk_points_family_get(family));
}

void ntk_points_created_name(const struct ntk_metric_row *row, char name[NTK_POINTS_NAME_BYTES])
{
    snprintf(name, NTK_POINTS_NAME_BYTES, "%.*s_created",
             (int)(strlen(row->name) - strlen("_total")), row->name);
}

size_t ntk_points_instance_get(const struct ntk_points_page *page,
                               struct ntk_points_label labels[NTK_POINTS_INSTANCE_LABELS + 1])
{
    const struct ntk_points_label rows[NTK_POINTS_INSTANCE_LABELS] = {
        { "availability_zone", page->zone },
        { "instance_id", page->instance_id },
        { "instance_name", page->instance_name },
        { "instance_type", page->instance_type },
        { "region", page->region },
        { "subnet_id", page->subnet_id },
        { "ultraserver_id", page->ultraserver_id },
    };
    size_t count = NTK_POINTS_INSTANCE_LABELS - (page->ultraserver_id[0] == '\0');

    memcpy(labels, rows, sizeof rows);
    labels[count] = (struct ntk_points_label){ NULL, NULL };
    return count;
}

/* Counters include processes that exited, as long as their last counts are exported. */
static void walk_tags(struct walk *e, size_t family)
{
    bool is_counted =
        e->row->kind == NTK_METRIC_KIND_COUNTER || e->row->kind == NTK_METRIC_KIND_HISTOGRAM;

    ntk_map_each(entry, &e->page->tags) {
        const struct ntk_points_tag *tag = entry->value;
        e->owner = &tag->owner;
        if (tag->is_live || (is_counted && tag->is_leaving)) {
            families[family].of_tag(e, tag);
        }
    }
}

void ntk_points_walk(const struct ntk_points_page *page, size_t family,
                     void (*visit_point)(const struct ntk_point *point, void *ctx), void *ctx)
{
    struct walk walk = {
        .page = page, .row = ntk_points_family_get(family), .visit = visit_point, .ctx = ctx
    };

    walk.with = family < NTK_METRIC_COUNT ? families[family].with : 0;
    if (family >= NTK_POINTS_OWN_FAMILIES) {
        ntk_points_view_walk(page, ntk_name_get(family - NTK_POINTS_OWN_FAMILIES), visit_point,
                             ctx);
    } else if (family >= NTK_METRIC_COUNT) {
        walk_process(&walk, family - NTK_METRIC_COUNT);
    } else if (families[family].of_device) {
        for (size_t i = 0; i < page->device_sample_count; i++) {
            struct number number = number_text(page->devices[i].index);
            walk.owner = &page->devices[i].owner;
            families[family].of_device(&walk, &page->devices[i], number.text);
        }
    } else if (families[family].of_tag) {
        walk_tags(&walk, family);
    } else if (families[family].walk) {
        families[family].walk(&walk);
    } else {
        walk_rows(&walk);
    }
}
