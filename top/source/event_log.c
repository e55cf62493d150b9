/* SPDX-License-Identifier: MIT */
/* event_log - stores a ring of copies. */
#include "top/source/event_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"

void ntk_top_event_log_fini(struct ntk_top_event_log *log)
{
    free(log->events);
    *log = (struct ntk_top_event_log){ 0 };
}

static const struct ntk_runtime_sample *find_runtime(const struct ntk_snapshot *snapshot,
                                                     const struct ntk_event_sample *sample)
{
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        if (ntk_runtime_has_event(&snapshot->runtimes[i], sample)) {
            return &snapshot->runtimes[i];
        }
    }
    return NULL;
}

/* Stores the names of an event, because a model's names must remain after it is unloaded. */
static void fill_names(struct ntk_top_event *event, const struct ntk_snapshot *snapshot)
{
    const struct ntk_runtime_sample *runtime = find_runtime(snapshot, &event->sample);

    for (size_t m = 0; runtime && m < runtime->model_count; m++) {
        if (runtime->models[m].id == event->sample.model_id) {
            const char *name = runtime->models[m].name;
            const char *slash = strrchr(name, '/');

            ntk_str_copy(event->model, sizeof event->model, slash && slash[1] ? slash + 1 : name);
        }
    }
    if (runtime) {
        ntk_str_copy(event->tag, sizeof event->tag, runtime->tag);
    } else if (event->sample.tag && event->sample.tag[0]) {
        ntk_str_copy(event->tag, sizeof event->tag, event->sample.tag);
    } else {
        (void)snprintf(event->tag, sizeof event->tag, "%u", event->sample.pid);
    }
    event->sample.tag = NULL;
}

static int add(struct ntk_top_event_log *log, const struct ntk_snapshot *snapshot,
               const struct ntk_event_sample *sample)
{
    struct ntk_top_event *event;

    if (!log->events) {
        log->events = calloc(NTK_TOP_EVENTS_MAX, sizeof *log->events);
        if (!log->events) {
            return -ENOMEM;
        }
    }
    event = &log->events[log->count % NTK_TOP_EVENTS_MAX];
    *event = (struct ntk_top_event){ .sample = *sample,
                                     .number = ++log->count,
                                     .listed_ns = snapshot->realtime_ns };
    event->sample.name = NULL;
    ntk_str_copy(event->name, sizeof event->name, sample->name ? sample->name : "");
    fill_names(event, snapshot);
    return 0;
}

struct ntk_event_sample ntk_top_event_log_end_of(const struct ntk_runtime_sample *runtime,
                                                 uint64_t realtime_ns)
{
    return (struct ntk_event_sample){
        .realtime_ns = realtime_ns,
        .kind = NTK_TOP_EVENT_END,
        .pid = runtime->pid,
        .header_pid = runtime->header_pid,
        .uid = runtime->uid,
        .start_time = runtime->start_time,
        .value = runtime->killed,
        .error_code = runtime->exit.kind,
        .status = runtime->exit.value,
        .name = runtime->command,
        .tag = runtime->tag,
        .core = (uint16_t)(runtime->core_count == 1 ? runtime->cores[0].core : NTK_NO_CORE),
    };
}

int ntk_top_event_log_add(struct ntk_top_event_log *log, const struct ntk_snapshot *snapshot)
{
    int ret = 0;

    if (snapshot->realtime_ns < log->realtime_ns) {
        log->count = log->lost = log->unlisted = 0;
    }
    log->realtime_ns = snapshot->realtime_ns;
    log->lost += snapshot->events_lost.period;
    log->unlisted += snapshot->events_unlisted;
    for (size_t i = 0; ret == 0 && i < snapshot->event_count; i++) {
        ret = add(log, snapshot, &snapshot->events[i]);
    }
    for (size_t i = 0; ret == 0 && i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        const struct ntk_event_sample end =
            ntk_top_event_log_end_of(runtime, snapshot->realtime_ns);

        ret = runtime->ended ? add(log, snapshot, &end) : 0;
    }
    return ret;
}

size_t ntk_top_event_log_kept(const struct ntk_top_event_log *log)
{
    return log->count < NTK_TOP_EVENTS_MAX ? (size_t)log->count : NTK_TOP_EVENTS_MAX;
}

const struct ntk_top_event *ntk_top_event_log_get(const struct ntk_top_event_log *log, size_t index)
{
    return &log->events[(log->count - ntk_top_event_log_kept(log) + index) % NTK_TOP_EVENTS_MAX];
}
