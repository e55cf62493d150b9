/* SPDX-License-Identifier: MIT */
/*
 * report_events - the events of the period, for viewers on another machine: loads, errors,
 * captures, marks, the memory log. A line has limited space; if it is not enough, the memory log is
 * omitted first, and omitted events are counted.
 */
#include <stdlib.h>
#include <string.h>

#include "shared/report/report_part.h"

#define EVENTS_WRITTEN_MAX 64
#define EVENTS_READ_MAX 4096

#define AT(member) .offset = offsetof(struct ntk_event_sample, member)
const struct report_field report_fields_event[] = {
    REPORT_ROW("time_ns", REPORT_U64, AT(realtime_ns)),
    REPORT_ROW("pid", REPORT_U32, AT(pid)),
    REPORT_ROW("header_pid", REPORT_U32, AT(header_pid)),
    REPORT_ROW("start_time", REPORT_U64, AT(start_time)),
    REPORT_ROW("uid", REPORT_U32, AT(uid)),
    REPORT_ROW("tid", REPORT_U32, AT(tid), .sparse = true),
    REPORT_ROW("model_id", REPORT_U32, AT(model_id), .sparse = true),
    REPORT_ROW("duration_ns", REPORT_U64, AT(duration_ns), .sparse = true),
    REPORT_ROW("bytes", REPORT_U64, AT(bytes), .sparse = true),
    REPORT_ROW("address", REPORT_U64, AT(address), .sparse = true),
    REPORT_ROW("value", REPORT_U64, AT(value), .sparse = true),
    REPORT_ROW("nrt_status", REPORT_U32, AT(status), .sparse = true),
    REPORT_ROW("error_code", REPORT_U32, AT(error_code), .sparse = true),
    REPORT_ROW("execution_id", REPORT_U64, AT(execution_id), .sparse = true),
    REPORT_ROW("name", REPORT_TEXT, AT(name), .sparse = true),
    REPORT_END,
};
#undef AT

static bool is_known(const struct ntk_event_sample *event)
{
    return event->kind < NTK_EVENT_KIND_COUNT && ntk_event_kind_names[event->kind];
}

static void write_event(struct report_writer *w, const struct ntk_event_sample *event)
{
    ntk_json_object_begin(&w->json);
    report_key_text(w, "kind", ntk_event_kind_names[event->kind]);
    report_write_fields(w, report_fields_event, event);
    if (event->core != NTK_NO_CORE) {
        report_key_u64(w, "core", event->core);
    }
    if (ntk_snapshot_event_is_memory(event) && event->category < NTK_MEMORY_CATEGORY_COUNT) {
        report_key_text(w, "category", ntk_memory_category_names[event->category]);
    }
    if (event->kind == NTK_EVENT_ERROR && event->error_class < NTK_ERROR_CLASS_COUNT) {
        report_key_text(w, "error_class", ntk_error_class_names[event->error_class]);
    }
    ntk_json_object_end(&w->json);
}

void report_write_events(struct report_writer *w)
{
    const struct ntk_snapshot *snapshot = w->snapshot;
    size_t count = snapshot->event_count;
    uint64_t unlisted = snapshot->events_unlisted;

    if (!snapshot->lists_events) {
        return;
    }
    struct ntk_event_sample *events = count > 0 ? malloc(count * sizeof *events) : NULL;
    if (events) {
        memcpy(events, snapshot->events, count * sizeof *events);
        count = ntk_snapshot_keep_events(events, count, EVENTS_WRITTEN_MAX);
    }
    unlisted += snapshot->event_count;
    ntk_json_key_array_begin(&w->json, "events");
    for (size_t i = 0; events && i < count; i++) {
        if (is_known(&events[i])) {
            write_event(w, &events[i]);
            unlisted--;
        }
    }
    free(events);
    ntk_json_array_end(&w->json);
    if (unlisted > 0) {
        report_key_u64(w, "events_unlisted", unlisted);
    }
}

/* Returns false if it is not an event, or one of an unknown kind. */
static bool read_event(struct ntk_snapshot *snapshot, const json_t *object,
                       struct ntk_event_sample *out)
{
    uint64_t core = report_has(object, "core") ? report_get_u64(object, "core") : NTK_NO_CORE;
    size_t kind = report_find_word(object, "kind", ntk_event_kind_names, NTK_EVENT_KIND_COUNT);
    size_t category =
        report_find_word(object, "category", ntk_memory_category_names, NTK_MEMORY_CATEGORY_COUNT);
    size_t error_class =
        report_find_word(object, "error_class", ntk_error_class_names, NTK_ERROR_CLASS_COUNT);

    if (kind == NTK_EVENT_KIND_COUNT) {
        return false;
    }
    report_read_fields(snapshot, object, report_fields_event, out);
    out->kind = (uint16_t)kind;
    out->core = (uint16_t)(core < REPORT_CORES_MAX ? core : NTK_NO_CORE);
    out->error_class =
        (uint16_t)(error_class < NTK_ERROR_CLASS_COUNT ? error_class : NTK_ERROR_CLASS_NONE);
    if (ntk_snapshot_event_is_memory(out)) {
        out->category =
            (uint16_t)(category < NTK_MEMORY_CATEGORY_COUNT ? category : NTK_MEMORY_UNCATEGORIZED);
        out->location = (uint16_t)ntk_memory_location_of((enum ntk_memory_category)out->category);
    }
    return true;
}

void report_read_events(struct ntk_snapshot *snapshot, const json_t *ext)
{
    const json_t *array = report_get_array(ext, "events");
    size_t room = report_bounded(json_array_size(array), EVENTS_READ_MAX);
    struct ntk_event_sample *events = ntk_snapshot_alloc_events(snapshot, room);
    size_t count = 0;

    snapshot->lists_events = array != NULL;
    snapshot->events_unlisted = report_get_u64(ext, "events_unlisted");
    for (size_t i = 0; events && i < room; i++) {
        count += read_event(snapshot, json_array_get(array, i), &events[count]);
    }
    snapshot->event_count = events ? count : 0;
}
