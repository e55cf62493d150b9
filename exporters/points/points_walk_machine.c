/* SPDX-License-Identifier: MIT */
/* points_walk_machine - visits families of cores, devices, adapters, health, troubles of ranks. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exporters/points/points_visit.h"

/* -- cores ------------------------------------------------------------------------------------- */

static void core_utilization(const struct points_visit *v,
                             const struct ntk_points_machine_core *core, size_t unused)
{
    (void)unused;
    if (!core->is_unreported) {
        points_put_f64(v, NO_LABELS, core->utilization);
    }
}

/* Visits rows of core_counts.def with a metric. */
static void core_count(const struct points_visit *v, const struct ntk_points_machine_core *core,
                       size_t which)
{
    const struct ntk_core_count_row *row = &ntk_core_count_rows[which];

    /* A core without a process is known to be idle. */
    if (!(core->has & row->has) && (row->has != NTK_CORE_HAS_BUSY || core->is_unreported)) {
        return;
    }
    for (size_t k = 0; k < row->count; k++) {
        points_put_u64(v, row->names ? LABELS({ "engine", row->names[k] }) : NO_LABELS,
                       core->counts[row->at + k]);
    }
}

static void walk_cores(const struct points_visit *v,
                       void (*visit)(const struct points_visit *v,
                                     const struct ntk_points_machine_core *core, size_t which),
                       size_t which)
{
    for (size_t i = 0; i < v->page->core_count; i++) {
        struct points_visit of_core = points_owned(v, &v->page->cores[i].owner);
        points_share_number(&of_core, "neuroncore", (uint32_t)i);
        visit(&of_core, &v->page->cores[i], which);
    }
}

/* -- devices ----------------------------------------------------------------------------------- */

static void ecc_events(const struct points_visit *v, const struct ntk_points_device *device)
{
    struct points_visit since = *v;

    since.created_seconds = v->page->created_seconds;
    for (int k = 0; k < NTK_ECC_COUNT && device->has & NTK_DEVICE_HAS_ECC; k++) {
        /* Readers have a metric for each other type, but none for this one. */
        if (k != NTK_ECC_MEM_REPAIRABLE) {
            points_put_u64(&since, LABELS({ "event_type", ntk_ecc_names[k] }), device->ecc[k]);
        }
    }
}

/* Returns the driver's counter, or the sum of the reports; false if not counted. */
static bool ecc_total(const struct ntk_points_device *device, int kind, uint64_t *out)
{
    bool is_total = device->ecc_total_has >> kind & 1;

    *out = is_total ? device->ecc_total[kind] : device->ecc[kind];
    return is_total || device->ecc_has >> kind & 1;
}

static void ecc_totals(const struct points_visit *v, const struct ntk_points_device *device)
{
    uint64_t total;
    for (int k = 0; k < NTK_ECC_COUNT; k++) {
        if (ecc_total(device, k, &total)) {
            points_put_u64(v, LABELS({ "event_type", ntk_ecc_names[k] }), total);
        }
    }
}

static void ecc_repairable(const struct points_visit *v, const struct ntk_points_device *device)
{
    uint64_t total;
    if (ecc_total(device, NTK_ECC_MEM_REPAIRABLE, &total)) {
        points_put_u64(v, NO_LABELS, total);
    }
}

static void health_status(const struct points_visit *v, const struct ntk_points_device *device)
{
    if (device->has & NTK_DEVICE_HAS_HEALTH) {
        points_put_u64(v, NO_LABELS, device->verdict);
    }
}

static void health_reasons(const struct points_visit *v, const struct ntk_points_device *device)
{
    for (size_t k = 0; k < device->health_count; k++) {
        const struct ntk_health_reason_row *row = &ntk_health_reasons[device->health[k].reason];
        points_put_f64(v,
                       LABELS({ "action", ntk_health_actions[row->action].name },
                              { "reason", row->name },
                              { "verdict", ntk_health_verdict_names[row->verdict] }),
                       (double)device->health[k].since_ns / POINTS_NS);
    }
}

static void device_well(const struct points_visit *v, const struct ntk_points_device *device)
{
    bool is_ill = device->verdict == NTK_HEALTH_UNHEALTHY;
    if (device->has & NTK_DEVICE_HAS_HEALTH && device->verdict != NTK_HEALTH_UNKNOWN) {
        points_put_u64(v,
                       LABELS({ "reason", is_ill && device->health_count > 0
                                              ? ntk_health_reasons[device->health[0].reason].name
                                              : "" }),
                       !is_ill);
    }
}

static void device_unwell(const struct points_visit *v, const struct ntk_points_device *device)
{
    if (device->has & NTK_DEVICE_HAS_HEALTH && device->verdict != NTK_HEALTH_HEALTHY) {
        points_put_u64(v,
                       LABELS({ "reason", device->health_count > 0
                                              ? ntk_health_reasons[device->health[0].reason].name
                                              : "other" }),
                       device->verdict);
    }
}

static void device_row(const struct points_visit *v, const struct ntk_device_row *row,
                       const struct ntk_device_sample *figures)
{
    const void *value = (const char *)figures + row->offset;

    if (row->statistic) {
        points_put_f64(v, LABELS({ "statistic", row->statistic }), *(const double *)value);
        return;
    }
    for (uint32_t k = 0; k < figures->stack_count; k++) {
        struct points_number stack = points_number_text(k);
        points_put_u64(v, LABELS({ "hbm", stack.text }), ((const uint64_t *)value)[k]);
    }
}

/* Visits rows of device.def in reverse, so that labels are in order. */
static void device_figures(const struct points_visit *v, const struct ntk_points_device *device)
{
    for (size_t k = NTK_DEVICE_ROWS; k-- > 0;) {
        const struct ntk_device_row *row = &ntk_device_rows[k];
        if (&ntk_metrics[row->metric] == v->row && device->figures.has & row->has) {
            device_row(v, row, &device->figures);
        }
    }
}

static const struct {
    size_t family;
    void (*visit)(const struct points_visit *v, const struct ntk_points_device *device);
} of_devices[] = {
    { NTK_METRIC_HARDWARE_ECC_EVENTS, ecc_events },
    { NTK_METRIC_DEVICE_ECC, ecc_totals },
    { NTK_METRIC_DEVICE_ECC_REPAIRABLE, ecc_repairable },
    { NTK_METRIC_DEVICE_HEALTH, health_status },
    { NTK_METRIC_DEVICE_HEALTH_REASON, health_reasons },
    { NTK_METRIC_DEVICE_WELL, device_well },
    { NTK_POINTS_UNWELL, device_unwell },
};

static void walk_devices(const struct points_visit *v,
                         void (*visit)(const struct points_visit *v,
                                       const struct ntk_points_device *device))
{
    for (size_t i = 0; i < v->page->device_sample_count; i++) {
        struct points_visit of_device = points_owned(v, &v->page->devices[i].owner);
        points_share_number(&of_device, "neuron_device_index", v->page->devices[i].index);
        visit(&of_device, &v->page->devices[i]);
    }
}

/* -- the rest ---------------------------------------------------------------------------------- */

static void hardware_info(const struct points_visit *v)
{
    if (v->page->device_count > 0) {
        struct points_number devices = points_number_text(v->page->device_count);
        struct points_number cores = points_number_text(v->page->cores_per_device);
        char bytes[24];
        snprintf(bytes, sizeof bytes, "%" PRIu64, v->page->device_memory_bytes);
        if (v->page->device_memory_bytes > 0) {
            points_put_u64(v,
                           LABELS({ "neuron_device_count", devices.text },
                                  { "neuron_device_memory_size", bytes },
                                  { "neuroncore_per_device_count", cores.text }),
                           1);
        } else { /* a report of an older version lacks the size */
            points_put_u64(v,
                           LABELS({ "neuron_device_count", devices.text },
                                  { "neuroncore_per_device_count", cores.text }),
                           1);
        }
    }
}

static void node_health(const struct points_visit *v)
{
    struct ntk_health_node node = { 0 };

    for (size_t i = 0; i < v->page->device_sample_count; i++) {
        const struct ntk_points_device *device = &v->page->devices[i];
        if (device->has & NTK_DEVICE_HAS_HEALTH) {
            ntk_health_node_add(&node, device->verdict);
        }
        for (size_t k = 0; k < device->health_count; k++) {
            ntk_health_node_add_reason(&node, device->health[k].reason);
        }
    }
    if (node.is_known) {
        points_put_u64(v, LABELS({ "action", ntk_health_actions[node.action].name }), node.verdict);
    }
}

static void adapter_counter(const struct points_visit *v, size_t c)
{
    const struct ntk_adapter_row *row = &ntk_adapter_rows[c];
    char device_label[32];
    char port_label[32];

    snprintf(device_label, sizeof device_label, "%s_device", ntk_adapter_words[row->family]);
    snprintf(port_label, sizeof port_label, "%s_port", ntk_adapter_words[row->family]);
    for (size_t i = 0; i < v->page->port_count; i++) {
        const struct ntk_adapter_port *port = &v->page->ports[i];
        struct points_number number = points_number_text(port->port);

        if (port->has >> c & 1) {
            points_put_u64(v,
                           LABELS({ "counter", row->name }, { device_label, port->device },
                                  { port_label, number.text }),
                           port->counter[c]);
        }
    }
}

/* Labels of a problem, with space for their texts. */
struct trouble_labels {
    struct points_number rank;
    char key[17];
    struct ntk_points_label rows[9];
};

static void trouble_labels_make(const struct ntk_points_page *page,
                                const struct ntk_points_trouble *trouble,
                                struct trouble_labels *labels)
{
    labels->rank = points_number_text(trouble->rank);
    snprintf(labels->key, sizeof labels->key, "%016llx", (unsigned long long)trouble->key);
    const struct ntk_points_label rows[] = {
        { "cause", trouble->cause },
        { "communicator", labels->key },
        { "host_name", trouble->is_elsewhere ? "" : page->host_name },
        { "job_id", trouble->job_id },
        { "kind", ntk_trouble_kind_names[trouble->kind] },
        { "rank", trouble->has_rank ? labels->rank.text : "all" },
        { "rendezvous", trouble->rendezvous },
        { "runtime_tag", trouble->tag },
        { NULL, NULL },
    };
    static_assert(sizeof rows == sizeof labels->rows, "a row for each");
    memcpy(labels->rows, rows, sizeof rows);
}

/* Returns true if an equal problem was already visited, because labels must be unique. */
static bool is_written_before(const struct ntk_points_page *page, size_t at)
{
    struct trouble_labels own, other;

    trouble_labels_make(page, &page->troubles[at], &own);
    for (size_t i = 0; i < at; i++) {
        bool is_same = true;

        trouble_labels_make(page, &page->troubles[i], &other);
        for (size_t k = 0; own.rows[k].name && is_same; k++) {
            is_same = strcmp(own.rows[k].value, other.rows[k].value) == 0;
        }
        if (is_same) {
            return true;
        }
    }
    return false;
}

static void rank_troubles(const struct points_visit *v)
{
    for (size_t i = 0; i < v->page->trouble_count; i++) {
        const struct ntk_points_trouble *trouble = &v->page->troubles[i];
        struct ntk_points_label known[9];
        struct trouble_labels labels;
        size_t used = 0;

        if (is_written_before(v->page, i)) {
            continue;
        }
        trouble_labels_make(v->page, trouble, &labels);
        for (size_t k = 0; labels.rows[k].name; k++) {
            known[used] = labels.rows[k];
            used += labels.rows[k].value[0] != '\0';
        }
        known[used] = (struct ntk_points_label){ NULL, NULL };
        points_put_f64(v, known, (double)trouble->since_ns / POINTS_NS);
    }
}

static void other_applications(const struct points_visit *v)
{
    if (v->page->application_max > 0) {
        points_put_u64(v, NO_LABELS, v->page->other_count);
    }
}

static const struct {
    size_t family;
    void (*walk)(const struct points_visit *v);
} of_machine[] = {
    { NTK_METRIC_HARDWARE_INFO, hardware_info },
    { NTK_METRIC_NODE_HEALTH, node_health },
    { NTK_METRIC_RANK_TROUBLE, rank_troubles },
    { NTK_METRIC_OTHER_APPLICATIONS, other_applications },
};

/* Visits rows with this metric: of the host, adapters, devices and counters of cores. */
static void walk_rows(const struct points_visit *v, size_t family)
{
    for (size_t i = 0; i < NTK_SYSTEM_FIGURES; i++) {
        if (ntk_system_rows[i].metric == family && v->page->system_has & ntk_system_rows[i].has) {
            points_put_u64(v, NO_LABELS, v->page->system[i]);
        }
    }
    for (size_t i = 0; i < NTK_ADAPTER_COUNTERS; i++) {
        if (ntk_adapter_rows[i].metric == family) {
            adapter_counter(v, i);
        }
    }
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        if (ntk_core_count_rows[i].metric == family) {
            walk_cores(v, core_count, i);
        }
    }
    for (size_t i = 0; i < NTK_DEVICE_ROWS; i++) {
        if (ntk_device_rows[i].metric == family) {
            walk_devices(v, device_figures);
            return;
        }
    }
}

void points_machine_walk(const struct points_visit *v, size_t family)
{
    if (family == NTK_METRIC_CORE_TOTAL_UTILIZATION) {
        walk_cores(v, core_utilization, 0);
    }
    for (size_t i = 0; i < sizeof of_devices / sizeof *of_devices; i++) {
        if (of_devices[i].family == family) {
            walk_devices(v, of_devices[i].visit);
        }
    }
    for (size_t i = 0; i < sizeof of_machine / sizeof *of_machine; i++) {
        if (of_machine[i].family == family) {
            of_machine[i].walk(v);
        }
    }
    walk_rows(v, family);
}
