/* SPDX-License-Identifier: MIT */
/* otlp_health - compares the health of devices with the last state, and encodes the differences. */
#include "exporters/otlp/otlp_health.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/metrics/health.h"

#define ATTRIBUTES_MAX 16
#define TEXT_BYTES 256

static_assert(NTK_HEALTH_REASON_COUNT <= 64, "reasons are bits of a word");

struct encoder {
    const struct ntk_snapshot *snapshot;
    uint64_t now_ns;
    struct ntk_otlp_memory memory;
    struct ntk_vec records; /* elements are Ntk__Otlp__LogRecord * */
};

static const struct {
    Ntk__Otlp__Severity number;
    const char *text;
} severities[NTK_HEALTH_VERDICT_COUNT] = {
    [NTK_HEALTH_HEALTHY] = { NTK__OTLP__SEVERITY__INFO, "INFO" },
    [NTK_HEALTH_UNKNOWN] = { NTK__OTLP__SEVERITY__WARN, "WARN" },
    [NTK_HEALTH_UNHEALTHY] = { NTK__OTLP__SEVERITY__ERROR, "ERROR" },
};

static void add_text(struct encoder *e, Ntk__Otlp__LogRecord *record, const char *name,
                     const char *value)
{
    if (value && value[0]) {
        char *copy = ntk_otlp_take_clean(&e->memory, value);
        assert(record->n_attributes < ATTRIBUTES_MAX);
        record->attributes[record->n_attributes++] =
            ntk_otlp_text_attribute(&e->memory, name, copy);
    }
}

static void add_number(struct encoder *e, Ntk__Otlp__LogRecord *record, const char *name,
                       uint64_t value)
{
    assert(record->n_attributes < ATTRIBUTES_MAX);
    record->attributes[record->n_attributes++] = ntk_otlp_number_attribute(&e->memory, name, value);
}

/* Adds a record; NULL if out of memory. */
static Ntk__Otlp__LogRecord *add_record(struct encoder *e, const struct ntk_device_sample *device,
                                        const char *event_name, enum ntk_health_verdict verdict,
                                        uint64_t time_ns, const char *body)
{
    Ntk__Otlp__LogRecord *record = ntk_otlp_take(&e->memory, 1, sizeof *record);
    Ntk__Otlp__AnyValue *text = ntk_otlp_take(&e->memory, 1, sizeof *text);
    Ntk__Otlp__KeyValue **attributes = ntk_otlp_take(&e->memory, ATTRIBUTES_MAX, sizeof(void *));
    char id[NTK_OTLP_ID_BYTES];

    if (!record || !text || !attributes || ntk_vec_push(&e->records, &record) < 0) {
        e->memory.is_out = true;
        return NULL;
    }
    ntk__otlp__log_record__init(record);
    ntk__otlp__any_value__init(text);
    text->value_case = NTK__OTLP__ANY_VALUE__VALUE_TEXT;
    text->text = ntk_otlp_take_clean(&e->memory, body);
    record->body = text;
    record->attributes = attributes;
    record->event_name = (char *)(uintptr_t)event_name;
    record->severity_number = severities[verdict].number;
    record->severity_text = (char *)(uintptr_t)severities[verdict].text;
    record->observed_time_unix_nano = e->now_ns;
    record->time_unix_nano = time_ns ? time_ns : e->now_ns;
    ntk_otlp_device_id(e->snapshot, device->index, id);
    add_text(e, record, "hw.id", id);
    add_text(e, record, "hw.name", id);
    add_text(e, record, "hw.type", "gpu");
    add_text(e, record, "hw.model", device->name);
    add_text(e, record, "hw.serial_number", device->serial_number);
    return record;
}

static void add_reason(struct encoder *e, const struct ntk_device_sample *device,
                       const struct ntk_health_sample *health)
{
    const struct ntk_health_reason_row *row = &ntk_health_reasons[health->reason];
    uint32_t lnc = e->snapshot->hardware.lnc;
    char body[TEXT_BYTES];

    ntk_health_reason_format(device->index, health->reason, body, sizeof body);
    Ntk__Otlp__LogRecord *record = add_record(e, device, "neuron.device.health.reason.started",
                                              row->verdict, health->since_ns, body);
    if (!record) {
        return;
    }
    add_text(e, record, "neuron.health.reason", row->name);
    add_text(e, record, "neuron.health.action", ntk_health_actions[row->action].name);
    add_text(e, record, "neuron.health.detail", health->detail);
    if (health->count > 0) {
        add_number(e, record, "neuron.health.count", health->count);
    }
    if (health->status != 0) {
        add_number(e, record, "neuron.status", health->status);
    }
    if (health->core != NTK_NO_CORE) {
        add_number(e, record, "neuron.core", health->core / (lnc ? lnc : 1));
    }
}

static void add_end(struct encoder *e, const struct ntk_device_sample *device, unsigned reason)
{
    char body[TEXT_BYTES];

    (void)snprintf(body, sizeof body, "device %u: %s has ended", (unsigned)device->index,
                   ntk_health_reasons[reason].name);
    Ntk__Otlp__LogRecord *record = add_record(e, device, "neuron.device.health.reason.ended",
                                              NTK_HEALTH_HEALTHY, e->now_ns, body);
    if (record) {
        add_text(e, record, "neuron.health.reason", ntk_health_reasons[reason].name);
    }
}

static void add_verdict(struct encoder *e, const struct ntk_device_sample *device,
                        const char *before)
{
    enum ntk_health_verdict verdict = device->verdict;
    char body[TEXT_BYTES];

    (void)snprintf(body, sizeof body, "device %u: %s", (unsigned)device->index,
                   ntk_health_verdict_names[verdict]);
    Ntk__Otlp__LogRecord *record = add_record(e, device, "neuron.device.health.verdict", verdict,
                                              device->verdict_since_ns, body);
    if (!record) {
        return;
    }
    add_text(e, record, "neuron.health.verdict", ntk_health_verdict_names[verdict]);
    add_text(e, record, "neuron.health.verdict.before", before);
    add_text(e, record, "neuron.health.action",
             ntk_health_actions[ntk_health_action_of(device)].name);
    add_text(e, record, "hw.state",
             verdict == NTK_HEALTH_HEALTHY     ? "ok"
             : verdict == NTK_HEALTH_UNHEALTHY ? "failed"
                                               : "");
}

static void compare(struct encoder *e, struct ntk_otlp_health *health,
                    const struct ntk_device_sample *device)
{
    uint32_t verdict_before = NTK_HEALTH_HEALTHY;
    uint64_t reasons = 0;

    if (!(device->has & NTK_DEVICE_HAS_HEALTH) || device->index >= NTK_SNAPSHOT_DEVICES_MAX ||
        device->verdict >= NTK_HEALTH_VERDICT_COUNT) {
        return;
    }
    bool is_known = health->devices[device->index].is_known;
    uint64_t reasons_before = health->devices[device->index].reasons;
    verdict_before = is_known ? health->devices[device->index].verdict : verdict_before;
    for (size_t i = 0; i < device->health_count; i++) {
        uint64_t bit = UINT64_C(1) << device->health[i].reason;
        if (!((reasons | reasons_before) & bit)) {
            add_reason(e, device, &device->health[i]);
        }
        reasons |= bit;
    }
    for (unsigned i = 0; i < NTK_HEALTH_REASON_COUNT; i++) {
        if ((reasons_before & ~reasons) >> i & 1) {
            add_end(e, device, i);
        }
    }
    if (device->verdict != verdict_before) {
        add_verdict(e, device, is_known ? ntk_health_verdict_names[verdict_before] : "");
    }
    health->devices[device->index].is_known = true;
    health->devices[device->index].verdict = device->verdict;
    health->devices[device->index].reasons = reasons;
}

/* Packs the request; returns 0 or -ENOMEM. */
static int pack(struct encoder *e, const struct ntk_otlp_machine *machine,
                const struct ntk_vec *attributes, struct ntk_buf *out)
{
    Ntk__Otlp__LogsRequest request = NTK__OTLP__LOGS_REQUEST__INIT;
    Ntk__Otlp__ResourceLogs resource = NTK__OTLP__RESOURCE_LOGS__INIT;
    Ntk__Otlp__ResourceLogs *resources[] = { &resource };
    Ntk__Otlp__ScopeLogs scope = NTK__OTLP__SCOPE_LOGS__INIT;
    Ntk__Otlp__ScopeLogs *scopes[] = { &scope };

    scope.scope = ntk_otlp_scope(&e->memory);
    scope.log_records = e->records.items;
    scope.n_log_records = e->records.count;
    resource.resource = ntk_otlp_resource(&e->memory, machine, attributes);
    resource.scope_logs = scopes;
    resource.n_scope_logs = 1;
    request.resource_logs = resources;
    request.n_resource_logs = 1;
    if (e->memory.is_out) {
        return -ENOMEM;
    }
    void *to = ntk_buf_extend(out, ntk__otlp__logs_request__get_packed_size(&request));
    if (!to) {
        return -ENOMEM;
    }
    ntk__otlp__logs_request__pack(&request, to);
    return 0;
}

int ntk_otlp_health_encode(struct ntk_otlp_health *health, const struct ntk_snapshot *snapshot,
                           const struct ntk_otlp_machine *machine, const struct ntk_vec *attributes,
                           uint64_t now_ns, struct ntk_buf *out)
{
    struct encoder e = { .snapshot = snapshot, .now_ns = now_ns };
    struct ntk_otlp_health after = *health;
    int ret = 0;

    ntk_vec_init(&e.records, sizeof(void *));
    for (size_t i = 0; i < snapshot->device_count; i++) {
        compare(&e, &after, &snapshot->devices[i]);
    }
    if (e.records.count > 0 || e.memory.is_out) {
        ret = pack(&e, machine, attributes, out);
        ret = ret < 0 ? ret : (int)e.records.count;
    }
    if (ret >= 0) {
        *health = after;
    }
    ntk_otlp_memory_fini(&e.memory);
    ntk_vec_fini(&e.records);
    return ret;
}
