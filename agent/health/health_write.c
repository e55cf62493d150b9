/* SPDX-License-Identifier: MIT */
/* health_write - writes verdicts for users and for programs. */
#include "agent/health/health.h"

#include <stdio.h>
#include <string.h>

#include "shared/base/json.h"
#include "shared/base/text_table.h"
#include "shared/base/timestamp.h"
#include "shared/report/report_json.h"

/* ---- for users ---- */

enum { HOST, DEVICE, VERDICT, SINCE, REASON, CORES, COUNT, ACTION, COLUMNS };

static void add_cores(struct ntk_text_table *table, const struct ntk_device_sample *device,
                      uint32_t cores)
{
    char text[128] = "";

    for (uint32_t i = 0; i < NTK_HEALTH_CORES_MAX; i++) {
        size_t used = strlen(text);

        if (cores & 1u << i) {
            snprintf(text + used, sizeof text - used, "%s%u", used > 0 ? "," : "",
                     ntk_health_core_number(device, i));
        }
    }
    ntk_text_table_text(table, text[0] ? text : "-");
}

static void add_row(struct ntk_text_table *table, const char *host,
                    const struct ntk_device_sample *device, size_t i)
{
    const struct ntk_health_sample *health = i < device->health_count ? &device->health[i] : NULL;
    const struct ntk_health_reason_row *row = health ? &ntk_health_reasons[health->reason] : NULL;
    bool is_judged = device->has & NTK_DEVICE_HAS_HEALTH;
    uint64_t since_ns = health ? health->since_ns : device->verdict_since_ns;
    char since[64];

    ntk_timestamp_format(since_ns, since, sizeof since);
    ntk_text_table_text(table, host);
    ntk_text_table_format(table, "%u", device->index);
    ntk_text_table_text(table,
                        ntk_health_verdict_names[row         ? row->verdict
                                                 : is_judged ? device->verdict
                                                             : (uint32_t)NTK_HEALTH_UNKNOWN]);
    ntk_text_table_text(table, is_judged && since_ns ? since : "-");
    ntk_text_table_text(table, row ? row->name : "-");
    add_cores(table, device, health ? health->cores : 0);
    if (health && health->count > 0) {
        ntk_text_table_format(table, "%llu", (unsigned long long)health->count);
    } else {
        ntk_text_table_text(table, "-");
    }
    ntk_text_table_text(table, ntk_health_actions[row ? row->action : NTK_HEALTH_ACTION_NONE].name);
}

static void write_table(const struct ntk_host *hosts, size_t count, struct ntk_buf *out)
{
    static const char *const heads[COLUMNS] = { "HOST",   "DEVICE", "VERDICT", "SINCE",
                                                "REASON", "CORES",  "COUNT",   "ACTION" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, COLUMNS,
                        1u << HOST | 1u << VERDICT | 1u << SINCE | 1u << REASON | 1u << CORES |
                            1u << ACTION,
                        heads);
    table.hidden = hosts[0].name[0] ? 0 : 1u << HOST;
    for (size_t h = 0; h < count; h++) {
        const struct ntk_snapshot *snapshot = hosts[h].snapshot;

        for (size_t i = 0; snapshot && i < snapshot->device_count; i++) {
            const struct ntk_device_sample *device = &snapshot->devices[i];

            for (size_t k = 0; k == 0 || k < device->health_count; k++) {
                add_row(&table, hosts[h].name, device, k);
            }
        }
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

static void write_machine(const struct ntk_host *host, struct ntk_buf *out)
{
    struct ntk_health_node node = ntk_health_host_judge(host);

    ntk_buf_add_clean(out, host->name[0] ? host->name : "this machine");
    ntk_buf_add_format(out, " is %s", ntk_health_verdict_names[node.verdict]);
    if (!host->snapshot) {
        ntk_buf_add_text(out, ": ");
        ntk_buf_add_clean(out, host->err.text);
    } else if (!node.is_known) {
        ntk_buf_add_text(out, ": it reports no Neuron devices");
    } else if (node.action != NTK_HEALTH_ACTION_NONE) {
        ntk_buf_add_format(out, ": %s", ntk_health_actions[node.action].sentence);
    }
    ntk_buf_add_char(out, '\n');
}

static void write_reasons(const struct ntk_host *host, struct ntk_buf *out)
{
    for (size_t i = 0; host->snapshot && i < host->snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &host->snapshot->devices[i];

        for (size_t k = 0; k < device->health_count; k++) {
            const struct ntk_health_reason_row *row = &ntk_health_reasons[device->health[k].reason];

            ntk_buf_add_text(out, "  ");
            if (host->name[0]) {
                ntk_buf_add_clean(out, host->name);
                ntk_buf_add_text(out, " ");
            }
            ntk_buf_add_format(out, "device %u, %s: %s", device->index, row->name, row->sentence);
            if (device->health[k].detail && device->health[k].detail[0]) {
                ntk_buf_add_text(out, " (");
                ntk_buf_add_clean(out, device->health[k].detail);
                ntk_buf_add_text(out, ")");
            }
            if (row->action != NTK_HEALTH_ACTION_NONE) {
                ntk_buf_add_format(out, "; %s", ntk_health_actions[row->action].sentence);
            }
            ntk_buf_add_char(out, '\n');
        }
    }
}

void ntk_health_write_text(const struct ntk_host *hosts, size_t count, struct ntk_buf *out)
{
    bool has_devices = false;

    for (size_t i = 0; i < count; i++) {
        has_devices = has_devices || (hosts[i].snapshot && hosts[i].snapshot->device_count > 0);
        write_machine(&hosts[i], out);
        write_reasons(&hosts[i], out);
    }
    if (has_devices) {
        ntk_buf_add_char(out, '\n');
        write_table(hosts, count, out);
    }
}

/* ---- for programs ---- */

static void write_verdict(struct ntk_json *json, enum ntk_health_verdict verdict,
                          enum ntk_health_action action)
{
    ntk_json_key_text(json, "verdict", ntk_health_verdict_names[verdict]);
    ntk_json_key_text(json, "action", ntk_health_actions[action].name);
}

static void write_reason(struct ntk_json *json, const struct ntk_device_sample *device,
                         const struct ntk_health_sample *health)
{
    const struct ntk_health_reason_row *row = &ntk_health_reasons[health->reason];

    ntk_json_object_begin(json);
    ntk_json_key_text(json, "reason", row->name);
    write_verdict(json, row->verdict, row->action);
    ntk_json_key_text(json, "message", row->sentence);
    ntk_json_key_text(json, "advice", ntk_health_actions[row->action].sentence);
    if (health->since_ns) {
        ntk_json_key_u64(json, "since_ns", health->since_ns);
    }
    ntk_json_key_u64(json, "last_ns", health->last_ns);
    if (health->count > 0) {
        ntk_json_key_u64(json, "count", health->count);
    }
    if (health->status > 0) {
        ntk_json_key_u64(json, "nrt_status", health->status);
    }
    if (health->detail && health->detail[0]) {
        ntk_json_key_text(json, "detail", health->detail);
    }
    ntk_json_key_array_begin(json, "cores");
    for (uint32_t i = 0; i < NTK_HEALTH_CORES_MAX; i++) {
        if (health->cores & 1u << i) {
            ntk_json_u64(json, ntk_health_core_number(device, i));
        }
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

/* Returns the verdict on a core, which is unknown if the verdict on its device is unknown. */
static enum ntk_health_verdict core_verdict(const struct ntk_device_sample *device, uint32_t core)
{
    enum ntk_health_verdict verdict = ntk_health_core_verdict(device, core);
    bool is_known = device->has & NTK_DEVICE_HAS_HEALTH && device->verdict != NTK_HEALTH_UNKNOWN;

    return verdict == NTK_HEALTH_HEALTHY && !is_known ? NTK_HEALTH_UNKNOWN : verdict;
}

static void write_device(struct ntk_json *json, const struct ntk_device_sample *device)
{
    bool is_judged = device->has & NTK_DEVICE_HAS_HEALTH;

    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "device", device->index);
    write_verdict(json, is_judged ? (enum ntk_health_verdict)device->verdict : NTK_HEALTH_UNKNOWN,
                  ntk_health_action_of(device));
    if (is_judged && device->verdict_since_ns) {
        ntk_json_key_u64(json, "since_ns", device->verdict_since_ns);
    }
    ntk_json_key_array_begin(json, "evidence");
    for (int i = 0; i < NTK_HEALTH_EVIDENCE_COUNT; i++) {
        if (device->health_evidence & 1u << i) {
            ntk_json_text(json, ntk_health_evidence_names[i]);
        }
    }
    ntk_json_array_end(json);
    ntk_json_key_array_begin(json, "reasons");
    for (size_t i = 0; i < device->health_count; i++) {
        write_reason(json, device, &device->health[i]);
    }
    ntk_json_array_end(json);
    ntk_json_key_array_begin(json, "cores");
    for (uint32_t i = 0; i < device->core_count && i < NTK_HEALTH_CORES_MAX; i++) {
        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "core", ntk_health_core_number(device, i));
        ntk_json_key_text(json, "verdict", ntk_health_verdict_names[core_verdict(device, i)]);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

void ntk_health_write_json(const struct ntk_host *hosts, size_t count, struct ntk_buf *out)
{
    struct ntk_health_node all = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "hosts");
    for (size_t h = 0; h < count; h++) {
        const struct ntk_snapshot *snapshot = hosts[h].snapshot;
        struct ntk_health_node node = ntk_health_host_judge(&hosts[h]);

        all.verdict = node.verdict > all.verdict ? node.verdict : all.verdict;
        all.action = node.action > all.action ? node.action : all.action;
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "host", hosts[h].name);
        ntk_json_key_text(&json, "error", hosts[h].err.text);
        ntk_hang_write_source_json(&json, &hosts[h]);
        write_verdict(&json, node.verdict, node.action);
        ntk_json_key_array_begin(&json, "devices");
        for (size_t i = 0; snapshot && i < snapshot->device_count; i++) {
            write_device(&json, &snapshot->devices[i]);
        }
        ntk_json_array_end(&json);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    write_verdict(&json, all.verdict, all.action);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}

bool ntk_health_line_write(const struct ntk_snapshot *snapshot, struct ntk_buf *line)
{
    const struct ntk_report_options options = { .timestamps = true };
    struct ntk_snapshot devices = *snapshot; /* borrowed: the snapshot lives longer */

    devices.runtime_count = 0;
    devices.tag_count = 0;
    devices.event_count = 0;
    devices.lost_rank_count = 0;
    devices.trouble_count = 0;
    devices.k8s.core_count = 0;
    devices.k8s.device_count = 0;
    devices.jobs.count = 0;
    ntk_buf_reset(line);
    return ntk_report_write(&devices, &options, line, NULL) == 0;
}
