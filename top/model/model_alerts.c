/* SPDX-License-Identifier: MIT */
/* model_alerts - tracks the state of each core over the snapshots, and writes the line. */
#include "top/model/model_alerts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/abi/core_number.h"
#include "shared/base/buf.h"
#include "shared/base/str.h"
#include "top/base/format.h"
#include "top/model/model_errors.h"

#define NAMED_MAX 3 /* maximum number of cores in the line */

struct ntk_top_alerts_core {
    uint64_t dead_since_ns;
    uint64_t still_since_ns; /* time since which work is in flight, but none has begun or ended */
};

void ntk_top_model_alerts_fini(struct ntk_top_alerts *alerts)
{
    free(alerts->cores);
    *alerts = (struct ntk_top_alerts){ 0 };
}

int ntk_top_model_alerts_dup(const struct ntk_top_alerts *alerts, struct ntk_top_alerts *out_copy)
{
    *out_copy = *alerts;
    out_copy->cores = alerts->cores ? calloc(alerts->core_count + 1u, sizeof *alerts->cores) : NULL;
    if (alerts->cores && !out_copy->cores) {
        *out_copy = (struct ntk_top_alerts){ 0 };
        return -ENOMEM;
    }
    if (alerts->cores) {
        memcpy(out_copy->cores, alerts->cores, alerts->core_count * sizeof *alerts->cores);
    }
    return 0;
}

/* Adapts to the machine: another machine has other cores; if time goes back, a recording was
 * rewound. */
static int fit(struct ntk_top_model *model)
{
    struct ntk_top_alerts *alerts = &model->watch.alerts;
    uint32_t core_count = model->device_count * model->cores_per_device;

    bool is_rewound = model->snapshot->realtime_ns < alerts->last_ns;

    if (is_rewound) {
        alerts->failed.count = 0;
    }
    if (is_rewound || alerts->core_count != core_count || alerts->lnc != model->lnc) {
        free(alerts->cores);
        alerts->core_count = 0;
        alerts->cores = calloc(core_count + 1, sizeof *alerts->cores);
        if (!alerts->cores) {
            return -ENOMEM;
        }
        alerts->core_count = core_count;
        alerts->lnc = model->lnc;
    }
    alerts->last_ns = model->snapshot->realtime_ns;
    return 0;
}

/* Returns true if a process runs on the core that would report it. */
static bool is_owned(const struct ntk_top_model *model, uint32_t logical)
{
    const struct ntk_snapshot *snapshot = model->snapshot;

    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        if (!runtime->ended && ntk_top_model_core_of(model, runtime, logical)) {
            return true;
        }
    }
    return false;
}

static void observe_core(const struct ntk_snapshot *snapshot, const struct ntk_core_sample *sample,
                         struct ntk_top_alerts_core *core)
{
    uint64_t now_ns = snapshot->realtime_ns;
    uint64_t since_ns = now_ns - (snapshot->period_ns < now_ns ? snapshot->period_ns : now_ns);
    uint64_t running_ns = sample->running_ns < now_ns ? sample->running_ns : 0;

    if (sample->failing_since_ns > 0) { /* the segment records it for every viewer */
        core->dead_since_ns = sample->failing_since_ns < now_ns ? sample->failing_since_ns : now_ns;
    } else if (sample->error_class[NTK_ERROR_HARDWARE].period > 0 ||
               sample->outcome[NTK_OUTCOME_TIMED_OUT].period > 0) {
        core->dead_since_ns = core->dead_since_ns > 0 ? core->dead_since_ns : now_ns;
    } else if (sample->outcome[NTK_OUTCOME_COMPLETED].period > 0) {
        core->dead_since_ns = 0;
    }
    if (sample->in_flight == 0 || ntk_snapshot_outcome_sum(sample->outcome) > 0) {
        core->still_since_ns = 0;
    } else if (core->still_since_ns == 0) {
        core->still_since_ns = since_ns;
    }
    if (sample->in_flight > 0 && running_ns > 0) { /* the application reports it */
        core->still_since_ns = now_ns - running_ns;
    }
}

static bool has_failed_recently(const struct ntk_top_alerts *alerts)
{
    return alerts->failed.count > 0 &&
           alerts->failed.at_ns + NTK_TOP_ALERTS_RECENT_NS > alerts->last_ns;
}

static void observe_ends(const struct ntk_snapshot *snapshot, struct ntk_top_alerts *alerts)
{
    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        if (ntk_exit_is_failure(runtime->exit, runtime->killed)) {
            alerts->failed.count = has_failed_recently(alerts) ? alerts->failed.count + 1 : 1;
            alerts->failed.pid = runtime->pid;
            (void)ntk_exit_text(runtime->exit, runtime->killed, alerts->failed.how);
            alerts->failed.at_ns = snapshot->realtime_ns;
            ntk_str_copy_clean(alerts->failed.tag, sizeof alerts->failed.tag, runtime->tag,
                               strlen(runtime->tag));
        }
    }
}

int ntk_top_model_alerts_observe(struct ntk_top_model *model)
{
    struct ntk_top_alerts *alerts = &model->watch.alerts;

    if (fit(model) < 0) {
        return -ENOMEM;
    }
    observe_ends(model->snapshot, alerts);
    for (uint32_t i = 0; i < alerts->core_count; i++) {
        struct ntk_core_sample sample;

        if (ntk_top_model_core_find_of_all(model, i, &sample) &&
            sample.has & NTK_CORE_HAS_EXECUTIONS) {
            observe_core(model->snapshot, &sample, &alerts->cores[i]);
        }
        if (ntk_top_model_alerts_since(model, i) > 0 && !is_owned(model, i)) {
            alerts->cores[i] = (struct ntk_top_alerts_core){ 0 };
        }
    }
    return 0;
}

enum ntk_top_core_state ntk_top_model_alerts_core(const struct ntk_top_model *model,
                                                  uint32_t logical)
{
    const struct ntk_top_alerts *alerts = &model->watch.alerts;
    const struct ntk_top_alerts_core *core =
        logical < alerts->core_count ? &alerts->cores[logical] : NULL;

    return !core                     ? NTK_TOP_CORE_GOOD
           : core->dead_since_ns > 0 ? NTK_TOP_CORE_DEAD
           : core->still_since_ns > 0 &&
                   core->still_since_ns + NTK_TOP_ALERTS_STUCK_NS <= alerts->last_ns
               ? NTK_TOP_CORE_STUCK
               : NTK_TOP_CORE_GOOD;
}

const char *ntk_top_model_alerts_word(enum ntk_top_core_state state, bool is_short)
{
    switch (state) {
    case NTK_TOP_CORE_STUCK:
        return is_short ? "!" : "stuck";
    case NTK_TOP_CORE_DEAD:
        return is_short ? "x" : "dead";
    default:
        return "";
    }
}

uint64_t ntk_top_model_alerts_since(const struct ntk_top_model *model, uint32_t logical)
{
    switch (ntk_top_model_alerts_core(model, logical)) {
    case NTK_TOP_CORE_DEAD:
        return model->watch.alerts.cores[logical].dead_since_ns;
    case NTK_TOP_CORE_STUCK:
        return model->watch.alerts.cores[logical].still_since_ns;
    default:
        return 0;
    }
}

/* ---- the line ---- */

static void begin_part(struct ntk_buf *line)
{
    ntk_buf_add_text(line, line->bytes_count > 0 ? "; " : "");
}

/* Adds a local time such as " since 18:02:11"; nothing if the time is unknown (0). */
static void add_time(struct ntk_buf *line, const char *word, uint64_t at_ns)
{
    char text[NTK_TOP_FORMAT_BYTES];

    if (at_ns && ntk_top_format_clock(text, at_ns)[0]) {
        ntk_buf_add_format(line, " %s %s", word, text);
    }
}

/* Adds cores, such as "ND0 NC1, ND3 NC0 dead since 18:02:11"; the time belongs to the first
 * core. */
static void add_cores(const struct ntk_top_model *model, enum ntk_top_core_state state,
                      const char *words, struct ntk_buf *line)
{
    uint64_t since_ns = UINT64_MAX;
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->watch.alerts.core_count; i++) {
        uint64_t core_since_ns;

        if (ntk_top_model_alerts_core(model, i) != state) {
            continue;
        }
        if (count == 0) {
            begin_part(line);
        }
        if (count++ < NAMED_MAX) {
            ntk_buf_add_format(line, "%sND%u NC%u", count > 1 ? ", " : "",
                               i / model->cores_per_device, i % model->cores_per_device);
        }
        core_since_ns = ntk_top_model_alerts_since(model, i);
        since_ns = core_since_ns < since_ns ? core_since_ns : since_ns;
    }
    if (count > NAMED_MAX) {
        ntk_buf_add_format(line, " and %u more", count - NAMED_MAX);
    }
    if (count > 0) {
        ntk_buf_add_text(line, words);
        add_time(line, "since", since_ns);
    }
}

static bool has_dead_core(const struct ntk_top_model *model, uint32_t device)
{
    for (uint32_t i = 0; i < model->cores_per_device; i++) {
        if (ntk_top_model_alerts_core(model, ntk_core_number(device, model->cores_per_device, i)) ==
            NTK_TOP_CORE_DEAD) {
            return true;
        }
    }
    return false;
}

static const struct ntk_device_sample *find_device(const struct ntk_top_model *model,
                                                   uint32_t index)
{
    const struct ntk_snapshot *snapshot = model->snapshot;

    for (size_t i = 0; snapshot && i < snapshot->device_count; i++) {
        if (snapshot->devices[i].index == index) {
            return &snapshot->devices[i];
        }
    }
    return NULL;
}

enum ntk_health_verdict ntk_top_model_alerts_device(const struct ntk_top_model *model,
                                                    uint32_t device)
{
    const struct ntk_device_sample *sample = find_device(model, device);

    return sample && sample->has & NTK_DEVICE_HAS_HEALTH ? (enum ntk_health_verdict)sample->verdict
                                                         : NTK_HEALTH_HEALTHY;
}

const char *ntk_top_model_alerts_mark(const struct ntk_top_model *model, uint32_t device)
{
    const struct ntk_device_sample *sample = find_device(model, device);
    enum ntk_health_verdict verdict = ntk_top_model_alerts_device(model, device);

    return verdict == NTK_HEALTH_UNHEALTHY ? "!"
           : verdict == NTK_HEALTH_UNKNOWN && ntk_health_action_of(sample) > NTK_HEALTH_ACTION_NONE
               ? "?"
               : "";
}

/* Adds the worst device, such as "ND3 unhealthy since 18:02:11 (hbm_repairable: reload the driver)
 * and 2 more devices". No alert if no action is needed, or if the dead core has one already. */
static void add_devices(const struct ntk_top_model *model, struct ntk_buf *line)
{
    const struct ntk_device_sample *worst = NULL;
    uint32_t count = 0;

    for (size_t i = 0; i < model->snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &model->snapshot->devices[i];
        enum ntk_health_action action = ntk_health_action_of(device);

        if (!(device->has & NTK_DEVICE_HAS_HEALTH) || device->verdict == NTK_HEALTH_HEALTHY ||
            action == NTK_HEALTH_ACTION_NONE ||
            (action == NTK_HEALTH_ACTION_RESTART_WORKLOAD &&
             device->health[0].core != NTK_NO_CORE && has_dead_core(model, device->index))) {
            continue;
        }
        count++;
        if (!worst || device->verdict > worst->verdict ||
            (device->verdict == worst->verdict && action > ntk_health_action_of(worst))) {
            worst = device;
        }
    }
    if (!worst) {
        return;
    }
    begin_part(line);
    ntk_buf_add_format(line, "ND%u %s", worst->index,
                       worst->verdict == NTK_HEALTH_UNHEALTHY ? "unhealthy" : "of unknown health");
    add_time(line, "since", worst->verdict_since_ns);
    ntk_buf_add_format(line, " (%s: %s)", ntk_health_worst(worst)->name,
                       ntk_health_actions[ntk_health_action_of(worst)].sentence);
    if (count > 1) {
        ntk_buf_add_format(line, " and %u more device%s", count - 1, count > 2 ? "s" : "");
    }
}

/* Adds a text such as ", the last 5s ago". */
static void add_last(uint64_t ago_ns, struct ntk_buf *line)
{
    char ago[NTK_TOP_FORMAT_BYTES];

    if (ago_ns >= NTK_NS_PER_SECOND) {
        ntk_buf_add_format(
            line, ", the last %s ago",
            ntk_top_format_delay(ago, ago_ns / NTK_NS_PER_SECOND * NTK_NS_PER_SECOND));
    }
}

/* Adds a text such as "trainer (pid 4711) killed by SIGKILL at 18:02:11 and 2 more". */
static void add_failed(const struct ntk_top_alerts *alerts, struct ntk_buf *line)
{
    if (!has_failed_recently(alerts)) {
        return;
    }
    begin_part(line);
    ntk_buf_add_format(line, "%s (pid %u) %s", alerts->failed.tag, alerts->failed.pid,
                       alerts->failed.how);
    add_time(line, "at", alerts->failed.at_ns);
    if (alerts->failed.count > 1) {
        ntk_buf_add_format(line, " and %u more", alerts->failed.count - 1);
    }
}

void ntk_top_model_alerts_project(struct ntk_top_model *model)
{
    struct ntk_top_errors_news news;
    struct ntk_buf line = { 0 };

    model->alert[0] = '\0';
    if (!model->snapshot) {
        return;
    }
    ntk_top_model_errors_news(model, NTK_TOP_ALERTS_RECENT_NS, &news);
    add_devices(model, &line);
    add_cores(model, NTK_TOP_CORE_DEAD, " dead", &line);
    add_cores(model, NTK_TOP_CORE_STUCK, " stuck", &line);
    if (news.uncorrected > 0) {
        begin_part(&line);
        ntk_buf_add_format(&line, "%llu uncorrected ECC error%s on ND%u",
                           (unsigned long long)news.uncorrected, news.uncorrected > 1 ? "s" : "",
                           news.device_index);
        if (news.device_count > 1) {
            ntk_buf_add_format(&line, " and %u more", news.device_count - 1);
        }
    }
    add_failed(&model->watch.alerts, &line);
    if (news.executions > 0) {
        begin_part(&line);
        ntk_buf_add_format(&line, "%llu failed execution%s of ",
                           (unsigned long long)news.executions, news.executions > 1 ? "s" : "");
        if (news.tag_count > 1) { /* the number covers all of them */
            ntk_buf_add_format(&line, "%u applications", news.tag_count);
        } else {
            ntk_buf_add_text(&line, news.tag);
        }
        add_last(news.ago_ns, &line);
    }
    if (ntk_buf_ok(&line) && line.bytes_count > 0) {
        ntk_str_copy(model->alert, sizeof model->alert, ntk_buf_text_get(&line));
    }
    ntk_buf_fini(&line);
}
