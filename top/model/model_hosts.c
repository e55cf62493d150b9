/* SPDX-License-Identifier: MIT */
/* model_hosts - computes the state of each of many machines, with the model of its page. */
#include "top/model/model_hosts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/units.h"
#include "shared/metrics/health.h"
#include "top/base/keys.h"

/* Number of periods, plus a margin, after which a report is late. */
#define LATE_PERIODS 3
#define LATE_NS (2 * NTK_NS_PER_SECOND)
#define VALUE_STEP 1000 /* more than any share in percent */
#define CLOCK_BYTES (2 * NTK_UNITS_TEXT_BYTES + 16)

const char *const ntk_top_host_health_names[NTK_TOP_HOST_HEALTH_COUNT] = {
    [NTK_TOP_HOST_UNHEALTHY] = "unhealthy", [NTK_TOP_HOST_UNREACHABLE] = "unreachable",
    [NTK_TOP_HOST_HANGS] = "hangs",         [NTK_TOP_HOST_LATE] = "late",
    [NTK_TOP_HOST_UNKNOWN] = "unknown",     [NTK_TOP_HOST_NO_DEVICES] = "no devices",
    [NTK_TOP_HOST_GOOD] = "good",           [NTK_TOP_HOST_ASKED] = "asked",
};

/* Returns the communicator that hangs, or broke, with a rank on the host; NULL if none. */
static const struct ntk_comm_verdict *hang_of(const struct ntk_top_hosts *hosts,
                                              const struct ntk_top_host *host)
{
    ntk_vec_each(const struct ntk_comm_verdict, verdict, &hosts->ranks.verdicts) {
        if (verdict->kind != NTK_COMM_HANGS && verdict->kind != NTK_COMM_BROKE) {
            continue;
        }
        for (uint32_t i = 0; i < verdict->seen; i++) {
            if (verdict->ranks[i].row && verdict->ranks[i].row->host == host->name) {
                return verdict;
            }
        }
    }
    return NULL;
}

/* Returns true if there are devices; a report in the vendor's form has devices by number only. */
static bool has_devices(const struct ntk_snapshot *snapshot)
{
    return snapshot->device_count > 0 || snapshot->runtime_count > 0 ||
           snapshot->hardware.has & NTK_HARDWARE_HAS_DEVICES;
}

enum ntk_top_host_health ntk_top_model_host_health(const struct ntk_top_hosts *hosts,
                                                   const struct ntk_top_host *host)
{
    const struct ntk_snapshot *snapshot = host->state.snapshot;

    if (host->verdict == NTK_HEALTH_UNHEALTHY) {
        return NTK_TOP_HOST_UNHEALTHY; /* even if its state has changed since then */
    }
    if (host->state.trouble[0]) {
        return NTK_TOP_HOST_UNREACHABLE;
    }
    if (!snapshot) {
        return NTK_TOP_HOST_ASKED;
    }
    if (hang_of(hosts, host)) {
        return NTK_TOP_HOST_HANGS;
    }
    if (host->state.age_ns > LATE_NS &&
        (host->state.age_ns - LATE_NS) / LATE_PERIODS > snapshot->period_ns) {
        return NTK_TOP_HOST_LATE;
    }
    return host->verdict == NTK_HEALTH_UNKNOWN ? NTK_TOP_HOST_UNKNOWN
           : has_devices(snapshot)             ? NTK_TOP_HOST_GOOD
                                               : NTK_TOP_HOST_NO_DEVICES;
}

/* ---- a new round ---- */

static void take_health(struct ntk_top_host *host)
{
    const struct ntk_snapshot *snapshot = host->state.snapshot;

    host->verdict = -1;
    host->reason = "";
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];

        if (device->has & NTK_DEVICE_HAS_HEALTH && (int)device->verdict > host->verdict) {
            host->verdict = (int)device->verdict;
            host->reason =
                device->health_count > 0 && device->health[0].reason < NTK_HEALTH_REASON_COUNT
                    ? ntk_health_reasons[device->health[0].reason].name
                    : "";
        }
    }
}

static void take_work(struct ntk_top_host *host)
{
    const struct ntk_snapshot *snapshot = host->state.snapshot;
    double rate = 0;
    double good = 0;
    bool is_reported = false;
    bool is_partial = false;

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        struct ntk_count outcome[NTK_OUTCOME_COUNT];

        is_partial = is_partial || runtime->executions_counted != NTK_EXECUTIONS_ALL;

        if (!(runtime->has & NTK_RUNTIME_HAS_EXECUTIONS)) {
            continue;
        }
        is_reported = true;
        ntk_snapshot_watched_outcome(runtime, outcome);
        for (int o = 0; o < NTK_OUTCOME_COUNT; o++) {
            rate += ntk_snapshot_rate(snapshot, outcome[o]);
        }
        good += ntk_snapshot_rate(snapshot, outcome[NTK_OUTCOME_COMPLETED]);
    }
    is_reported = is_reported || snapshot->runtime_count == 0;
    host->rate =
        (struct ntk_top_number){ .value = rate, .present = is_reported, .estimated = is_partial };
    host->error_rate = (struct ntk_top_number){ .value = rate - good,
                                                .present = is_reported,
                                                .estimated = is_partial };
}

static int take_host(struct ntk_top_model *scratch, struct ntk_top_host *host)
{
    const struct ntk_snapshot *snapshot = host->state.snapshot;
    struct ntk_err err;
    int ret = ntk_top_model_show(scratch, ntk_snapshot_share(snapshot), &err);

    host->busy_percent = scratch->busy_percent_mean;
    host->hbm = has_devices(snapshot) ? scratch->memory.device_total : (struct ntk_top_bytes){ 0 };
    host->hbm_capacity = 0;
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];

        if (device->has & NTK_DEVICE_HAS_MEMORY_CAPACITY) {
            host->hbm_capacity += ntk_device_sum(device, device->memory_capacity_bytes);
        }
    }
    take_work(host);
    take_health(host);
    return ret;
}

int ntk_top_model_hosts_observe(struct ntk_top_model *model)
{
    struct ntk_top_hosts *hosts = model->hosts;
    struct ntk_err err;
    int ret = 0;

    if (!hosts) {
        return 0;
    }
    if (!model->host_scratch) {
        ret = ntk_top_model_create(model->views, &model->host_scratch, &err);
        if (ret < 0) {
            return -ENOMEM;
        }
        model->host_scratch->is_report = true;
    }
    for (size_t i = 0; i < hosts->count; i++) {
        struct ntk_top_host *host = &hosts->items[i];

        if (host->state.reports != host->taken && ret == 0) {
            host->taken = host->state.reports;
            ret = take_host(model->host_scratch, host);
        }
        memmove(host->past, host->past + 1, sizeof host->past - sizeof *host->past);
        host->past[NTK_TOP_HOST_PAST - 1] =
            host->state.snapshot && !host->state.trouble[0] && host->busy_percent.present
                ? (float)host->busy_percent.value
                : NAN;
    }
    return ret;
}

/* ---- rows ---- */

/* Returns the difference of its clock to the clock of this machine, as far as it is known. */
static const char *clock_text(char text[CLOCK_BYTES], const struct ntk_top_host *host)
{
    int64_t ahead_ns = host->state.clock.ahead_ns;
    uint64_t far_ns = ahead_ns < 0 ? -(uint64_t)ahead_ns : (uint64_t)ahead_ns;
    char span[NTK_UNITS_TEXT_BYTES];

    if (host->state.clock.error_ns == NTK_RANKS_CLOCK_UNKNOWN) {
        (void)snprintf(text, CLOCK_BYTES, "unknown");
    } else if (far_ns <= host->state.clock.error_ns) {
        (void)snprintf(text, CLOCK_BYTES, "within %s",
                       ntk_units_duration(span, sizeof span, host->state.clock.error_ns));
    } else {
        (void)snprintf(text, CLOCK_BYTES, "%s %s", ntk_units_duration(span, sizeof span, far_ns),
                       ahead_ns > 0 ? "ahead" : "behind");
    }
    return text;
}

static struct ntk_top_cell past_cell(struct ntk_top_table *table, const struct ntk_top_host *host,
                                     bool has_utf8)
{
    static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char *const signs[] = { "_", ".", ":", "-", "=", "+", "*", "#" };
    char text[4 * NTK_TOP_HOST_PAST + 1] = "";
    size_t at = 0;
    bool has_some = false;

    for (size_t i = 0; i < NTK_TOP_HOST_PAST; i++) {
        float value = host->past[i];
        int step = isnan(value) || value < 0 ? 0 : (int)(value / 12.5f);

        has_some = has_some || !isnan(value);
        step = step > 7 ? 7 : step;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s",
                               isnan(value) ? " " : (has_utf8 ? blocks : signs)[step]);
    }
    return has_some ? ntk_top_cell_text(ntk_top_table_text(table, "%s", text))
                    : (struct ntk_top_cell){ 0 };
}

static struct ntk_top_cell why_cell(struct ntk_top_table *table, const struct ntk_top_hosts *hosts,
                                    const struct ntk_top_host *host)
{
    const struct ntk_comm_verdict *hang = hang_of(hosts, host);
    struct ntk_rank_verdict missing;

    if (host->state.trouble[0]) {
        return ntk_top_cell_text(ntk_top_table_text(table, "%s", host->state.trouble));
    }
    if (host->reason[0]) {
        return ntk_top_cell_text(ntk_top_table_text(table, "%s", host->reason));
    }
    if (hang && ntk_comm_verdict_missing(hang, 0, &missing)) {
        return ntk_top_cell_text(ntk_top_table_text(
            table, "%s %llu: rank %u of %u is %s", ntk_collective_names[hang->operation],
            (unsigned long long)hang->sequence, missing.rank, hang->rank_count,
            ntk_rank_where_names[missing.where]));
    }
    if (!hang && host->state.snapshot && !has_devices(host->state.snapshot)) {
        return ntk_top_cell_text(
            ntk_top_table_text(table, "%s", host->state.snapshot->hardware.error));
    }
    return hang ? ntk_top_cell_text(ntk_top_table_text(table, "%s %llu: all ranks arrived",
                                                       ntk_collective_names[hang->operation],
                                                       (unsigned long long)hang->sequence))
                : (struct ntk_top_cell){ 0 };
}

static void fill(const struct ntk_top_model *model, struct ntk_top_table *table,
                 const struct ntk_top_host *host, enum ntk_top_host_health health,
                 struct ntk_top_cell *cells)
{
    char text[CLOCK_BYTES];

    cells[NTK_TOP_HOSTS_NAME] = ntk_top_cell_text(ntk_top_table_text(table, "%s", host->name));
    cells[NTK_TOP_HOSTS_STATE] = ntk_top_cell_text(ntk_top_host_health_names[health]);
    cells[NTK_TOP_HOSTS_STATE].value =
        health * VALUE_STEP - (host->busy_percent.present ? host->busy_percent.value : 0);
    cells[NTK_TOP_HOSTS_WHY] = why_cell(table, model->hosts, host);
    if (!host->state.snapshot) {
        return;
    }
    cells[NTK_TOP_HOSTS_BUSY] =
        ntk_top_cell_if(host->busy_percent.present, host->busy_percent.value);
    cells[NTK_TOP_HOSTS_HBM] = ntk_top_cell_if(host->hbm.present, (double)host->hbm.value);
    cells[NTK_TOP_HOSTS_HBM_SHARE] = ntk_top_cell_if(
        host->hbm.present && host->hbm_capacity > 0,
        100.0 * (double)host->hbm.value / (double)(host->hbm_capacity + !host->hbm_capacity));
    cells[NTK_TOP_HOSTS_RATE] = ntk_top_cell_if(host->rate.present, host->rate.value);
    cells[NTK_TOP_HOSTS_RATE].estimated = host->rate.estimated;
    cells[NTK_TOP_HOSTS_ERROR_RATE] =
        ntk_top_cell_if(host->error_rate.present, host->error_rate.value);
    cells[NTK_TOP_HOSTS_ERROR_RATE].estimated = host->error_rate.estimated;
    if (host->verdict >= 0) {
        cells[NTK_TOP_HOSTS_HEALTH] = ntk_top_cell_text(ntk_health_verdict_names[host->verdict]);
    }
    cells[NTK_TOP_HOSTS_AGE] = ntk_top_cell_number((double)host->state.age_ns);
    cells[NTK_TOP_HOSTS_CLOCK] =
        ntk_top_cell_text(ntk_top_table_text(table, "%s", clock_text(text, host)));
    cells[NTK_TOP_HOSTS_CLOCK].value = -fabs((double)host->state.clock.ahead_ns);
    cells[NTK_TOP_HOSTS_PAST] = past_cell(table, host, model->has_utf8);
    cells[NTK_TOP_HOSTS_TYPE] = ntk_top_cell_text(
        ntk_top_table_text(table, "%s", host->state.snapshot->hardware.instance_type));
}

int ntk_top_model_hosts(struct ntk_top_model *model, struct ntk_top_table *table)
{
    static const enum ntk_top_row_kind kinds[NTK_TOP_HOST_HEALTH_COUNT] = {
        [NTK_TOP_HOST_UNHEALTHY] = NTK_TOP_ROW_ERROR,
        [NTK_TOP_HOST_UNREACHABLE] = NTK_TOP_ROW_WARNING,
        [NTK_TOP_HOST_HANGS] = NTK_TOP_ROW_ERROR,
        [NTK_TOP_HOST_LATE] = NTK_TOP_ROW_WARNING,
        [NTK_TOP_HOST_UNKNOWN] = NTK_TOP_ROW_WARNING,
        [NTK_TOP_HOST_NO_DEVICES] = NTK_TOP_ROW_WARNING,
        [NTK_TOP_HOST_GOOD] = NTK_TOP_ROW_NORMAL,
        [NTK_TOP_HOST_ASKED] = NTK_TOP_ROW_DIM,
    };
    const struct ntk_top_hosts *hosts = model->hosts;

    for (size_t i = 0; hosts && i < hosts->count; i++) {
        const struct ntk_top_host *host = &hosts->items[i];
        enum ntk_top_host_health health = ntk_top_model_host_health(hosts, host);
        struct ntk_top_cell *cells = ntk_top_table_add(table, i + 1, kinds[health]);

        if (!cells) {
            return -ENOMEM;
        }
        fill(model, table, host, health, cells);
    }
    return 0;
}

bool ntk_top_model_hosts_act(struct ntk_top_model *model, int action, int argument)
{
    const struct ntk_top_row *row = ntk_top_table_cursor_get(&model->tables[NTK_TOP_VIEW_HOSTS]);

    (void)argument;
    if (action != NTK_TOP_ACTION_TOGGLE && action != NTK_TOP_ACTION_OPEN) {
        return false;
    }
    if (model->tables[NTK_TOP_VIEW_HOSTS].input != NTK_TOP_INPUT_NONE) {
        return false; /* an open box gets the key */
    }
    model->host_wanted = row ? (size_t)row->key : 0;
    return true;
}

/* ---- for programs ---- */

static void json_number(struct ntk_json *json, const char *key, bool present, double value)
{
    ntk_json_key(json, key);
    if (present) {
        ntk_json_double(json, value);
    } else {
        ntk_json_null(json);
    }
}

static void json_host(struct ntk_json *json, const struct ntk_top_hosts *hosts,
                      const struct ntk_top_host *host)
{
    bool has = host->state.snapshot != NULL;
    bool has_clock = has && host->state.clock.error_ns != NTK_RANKS_CLOCK_UNKNOWN;

    ntk_json_object_begin(json);
    ntk_json_key_text(json, "host", host->name);
    ntk_json_key_text(json, "state",
                      ntk_top_host_health_names[ntk_top_model_host_health(hosts, host)]);
    ntk_json_key_text(json, "error", host->state.trouble[0] ? host->state.trouble : NULL);
    json_number(json, "silent_seconds", host->state.silent_ns > 0,
                (double)host->state.silent_ns / NTK_NS_PER_SECOND);
    json_number(json, "age_seconds", has, (double)host->state.age_ns / NTK_NS_PER_SECOND);
    json_number(json, "clock_ahead_seconds", has_clock,
                (double)host->state.clock.ahead_ns / NTK_NS_PER_SECOND);
    json_number(json, "clock_error_seconds", has_clock,
                (double)host->state.clock.error_ns / NTK_NS_PER_SECOND);
    ntk_json_key_u64(json, "reports", host->state.reports);
    json_number(json, "utilization_percent", host->busy_percent.present, host->busy_percent.value);
    json_number(json, "device_memory_used_bytes", host->hbm.present, (double)host->hbm.value);
    json_number(json, "device_memory_capacity_bytes", host->hbm_capacity > 0,
                (double)host->hbm_capacity);
    json_number(json, "executions_per_second", host->rate.present, host->rate.value);
    json_number(json, "errors_per_second", host->error_rate.present, host->error_rate.value);
    ntk_json_key_bool(json, "executions_partial", host->rate.present && host->rate.estimated);
    ntk_json_key_text(json, "health",
                      host->verdict >= 0 ? ntk_health_verdict_names[host->verdict] : NULL);
    ntk_json_key_text(json, "health_reason", host->reason[0] ? host->reason : NULL);
    ntk_json_object_end(json);
}

void ntk_top_model_hosts_json(const struct ntk_top_model *model, struct ntk_buf *out)
{
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_HOSTS];
    struct ntk_json json;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "format", 1);
    ntk_json_key_u64(&json, "time_ns", model->snapshot->realtime_ns);
    ntk_json_key_array_begin(&json, "hosts"); /* in the order of the list */
    for (size_t i = 0; i < table->order.count; i++) {
        const struct ntk_top_row *row = ntk_top_table_row_get(table, i);

        json_host(&json, model->hosts, &model->hosts->items[row->key - 1]);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}
