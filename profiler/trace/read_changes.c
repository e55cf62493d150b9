/* SPDX-License-Identifier: MIT */
/* read_changes - reads semaphores, events and throttling of the execution. */
#include <errno.h>

#include "profiler/trace/trace_build.h"
#include "shared/base/order.h"

struct reader {
    const struct ntk_trace_build *build;
    struct ntk_trace_core *core;
    const struct ntk_trace_window *window;
    bool counts_all;
    /* The limit at the start of the window: the last limit before it. */
    bool has_before;
    struct ntk_trace_throttle before;
    struct ntk_sorter events;
    struct ntk_sorter throttles;
};

NTK_ORDER(compare_events, struct ntk_trace_event, NTK_UP(number));

static int compare_throttles(const void *a, const void *b)
{
    (void)a;
    (void)b;
    return 0;
}

static struct ntk_trace_throttle throttle_of(const struct ntk_ntff_record *record, int64_t time_ps)
{
    return (struct ntk_trace_throttle){ .time_ps = time_ps,
                                        .type = record->throttle_type,
                                        .k = record->throttle_k,
                                        .n = record->throttle_n };
}

static int read_record(struct reader *r, const struct ntk_ntff_record *record)
{
    if (record->kind == NTK_NTFF_RECORD_UNKNOWN) {
        r->core->unknown++;
        return 0;
    }
    if (!ntk_trace_is_inside(r->core, r->window, record->time_ps)) {
        r->core->more_event_count +=
            r->counts_all && !r->build->trace->is_part && record->kind == NTK_NTFF_RECORD_EVENT;
        r->core->outside_window++;
        return 0;
    }
    int64_t time_ps = ntk_trace_since(record->time_ps, r->core->t0_ps);
    if (time_ps < 0 && record->kind != NTK_NTFF_RECORD_EVENT) {
        if (r->build->trace->is_part && (!r->has_before || time_ps >= r->before.time_ps)) {
            r->before = throttle_of(record, time_ps);
            r->has_before = true;
        }
    }
    int64_t end_ps = time_ps;
    if (!ntk_trace_build_clip(r->build, &time_ps, &end_ps)) {
        return 0;
    }
    if (record->kind == NTK_NTFF_RECORD_EVENT) {
        struct ntk_trace_event *event = ntk_sorter_add(&r->events);
        if (!event) {
            return r->events.failed;
        }
        *event = (struct ntk_trace_event){ .time_ps = time_ps,
                                           .value = record->value,
                                           .source = record->engine,
                                           .mode = record->mode,
                                           .number = record->number,
                                           .is_semaphore = record->is_semaphore };
        return 0;
    }
    struct ntk_trace_throttle *throttle = ntk_sorter_add(&r->throttles);
    if (!throttle) {
        return r->throttles.failed;
    }
    *throttle = throttle_of(record, time_ps);
    return 0;
}

int ntk_trace_read_changes(struct ntk_trace_build *build, struct ntk_trace_core *core,
                           const struct ntk_trace_window *window)
{
    struct reader r = { .build = build,
                        .core = core,
                        .window = window,
                        .counts_all = build->trace->ntff->version < 6 };
    struct ntk_sorted sorted;
    int ret = 0;

    ntk_trace_build_sorter(build, &r.events, sizeof(struct ntk_trace_event), compare_events);
    ntk_trace_build_sorter(build, &r.throttles, sizeof(struct ntk_trace_throttle),
                           compare_throttles);
    for (size_t s = 0; s < core->ntff->section_count && ret == 0; s++) {
        const struct ntk_ntff_section *section = &core->ntff->sections[s];
        if (section->block != NTK_NTFF_BLOCK_CORE || (section->type != NTK_NTFF_SECTION_EVENT &&
                                                      section->type != NTK_NTFF_SECTION_THROTTLE)) {
            continue;
        }
        for (uint64_t i = 0; i < section->record_count && ret == 0;) {
            uint64_t end = ntk_trace_build_piece_end(section, i);
            for (; i < end && ret == 0; i++) {
                struct ntk_ntff_record record;
                ntk_ntff_record_get(core->ntff, section, i, &record);
                ret = read_record(&r, &record);
            }
            ntk_trace_build_passed(build, section, i);
        }
    }
    if (ret == 0 && r.has_before) {
        struct ntk_trace_throttle *first = ntk_sorter_add(&r.throttles);
        if (first) {
            *first = r.before;
            first->time_ps = 0;
        }
    }
    ret = ntk_trace_build_finish(build, &r.events, sizeof(struct ntk_trace_event), &sorted);
    if (ret == 0) {
        core->events = sorted.items;
        core->event_count = sorted.count;
        core->is_mapped.events = sorted.is_mapped;
        ret =
            ntk_trace_build_finish(build, &r.throttles, sizeof(struct ntk_trace_throttle), &sorted);
    }
    if (ret == 0) {
        core->throttles = sorted.items;
        core->throttle_count = sorted.count;
        core->is_mapped.throttles = sorted.is_mapped;
    }
    ntk_sorter_fini(&r.throttles);
    return ret;
}
