/* SPDX-License-Identifier: MIT */
/*
 * output_perfetto_system - writes folders of inspections as a Perfetto trace
 * (docs/formats/profile-traces.md): events on lines of processes, samples as counters, captures at
 * their time on the host's clock.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profiler/output/tables/rows_system.h"
#include "profiler/output/traces/perfetto_writer.h"
#include "profiler/output/traces/system_lines.h"

#define CLOCK_REALTIME_ID 1
#define CLOCK_TRACE_ID 6
#define ARGUMENTS_MAX (1 + NTK_SYSTEM_ARGUMENTS_MAX)
/* maximum for processors and memories of all machines; further ones have no row */
#define COUNTERS_MAX 4096

struct folder_writer {
    struct ntk_perfetto *to;
    const struct ntk_export *export;
    int64_t zero_ns; /* time 0, since 1970 */
    struct ntk_system_lines lines;
    struct ntk_map machines; /* maps the name of a machine to the track of its process */
    struct ntk_map counters; /* maps a key to its track */
    uint64_t thread_count;
};

/* Writes the real time of time 0. */
static int put_clock(struct folder_writer *f)
{
    Ntk__Perfetto__TracePacket packet = NTK__PERFETTO__TRACE_PACKET__INIT;
    Ntk__Perfetto__ClockSnapshot snapshot = NTK__PERFETTO__CLOCK_SNAPSHOT__INIT;
    Ntk__Perfetto__ClockSnapshot__Clock clocks[2];
    Ntk__Perfetto__ClockSnapshot__Clock *rows[2] = { &clocks[0], &clocks[1] };

    for (size_t i = 0; i < 2; i++) {
        ntk__perfetto__clock_snapshot__clock__init(&clocks[i]);
        clocks[i].has_clock_id = 1;
        clocks[i].clock_id = i ? CLOCK_TRACE_ID : CLOCK_REALTIME_ID;
        clocks[i].has_timestamp = 1;
        clocks[i].timestamp = i ? 0 : (uint64_t)f->zero_ns;
    }
    snapshot.n_clocks = 2;
    snapshot.clocks = rows;
    packet.clock_snapshot = &snapshot;
    packet.has_first_packet_on_sequence = 1;
    packet.first_packet_on_sequence = 1;
    packet.sequence_flags = NTK_PERFETTO_STATE_CLEARED;
    return ntk_perfetto_put_packet(f->to, &packet);
}

/* ---- events ---- */

struct arguments {
    size_t count;
    Ntk__Perfetto__DebugAnnotation items[ARGUMENTS_MAX];
    Ntk__Perfetto__DebugAnnotation *rows[ARGUMENTS_MAX];
};

static Ntk__Perfetto__DebugAnnotation *add_argument(struct arguments *arguments, const char *name)
{
    Ntk__Perfetto__DebugAnnotation *item = &arguments->items[arguments->count];

    ntk__perfetto__debug_annotation__init(item);
    item->name = (char *)name;
    arguments->rows[arguments->count++] = item;
    return item;
}

static void add_number(struct arguments *arguments, const char *name, int64_t value)
{
    if (value != NTK_ABSENT_I64) {
        Ntk__Perfetto__DebugAnnotation *item = add_argument(arguments, name);
        item->has_uint_value = 1;
        item->uint_value = (uint64_t)value;
    }
}

static void add_text(struct arguments *arguments, const char *name, const char *value)
{
    if (value) {
        add_argument(arguments, name)->string_value = (char *)value;
    }
}

static int put_event(struct folder_writer *f, Ntk__Perfetto__TrackEvent *event, uint64_t track,
                     Ntk__Perfetto__TrackEvent__Type type, int64_t time_ns)
{
    Ntk__Perfetto__TracePacket packet = NTK__PERFETTO__TRACE_PACKET__INIT;

    event->has_type = 1;
    event->type = type;
    event->has_track_uuid = 1;
    event->track_uuid = track;
    packet.has_timestamp = 1;
    packet.timestamp = (uint64_t)(time_ns - f->zero_ns);
    packet.track_event = event;
    packet.sequence_flags = NTK_PERFETTO_NEEDS_STATE;
    return ntk_perfetto_put_packet(f->to, &packet);
}

/* Describes new tracks of a place. */
static int describe(struct folder_writer *f, const struct ntk_system_place *place)
{
    int ret = 0;

    if (!place->process->id) {
        place->process->pid = ++f->to->process_count;
        ret = ntk_perfetto_put_process(f->to, (int32_t)place->process->pid, place->process->name,
                                       &place->process->id);
    }
    if (ret == 0 && !place->lane->id) {
        ret =
            ntk_perfetto_put_thread(f->to, (int32_t)place->process->pid, (int32_t)++f->thread_count,
                                    place->line->name, place->first->id, &place->lane->id);
    }
    return ret;
}

static int put_span(void *ctx, const void *data)
{
    struct folder_writer *f = ctx;
    const struct ntk_system_event_row *row = data;
    Ntk__Perfetto__TrackEvent event = NTK__PERFETTO__TRACK_EVENT__INIT;
    Ntk__Perfetto__TrackEvent end = NTK__PERFETTO__TRACK_EVENT__INIT;
    struct ntk_system_argument own[NTK_SYSTEM_ARGUMENTS_MAX];
    size_t own_count = ntk_rows_system_arguments(row, own);
    struct arguments arguments = { 0 };
    struct ntk_system_place place;
    uint64_t flow;
    int ret = ntk_system_lines_take(&f->lines, row, &place);

    ret = ret == 0 ? describe(f, &place) : ret;
    if (ret < 0) {
        return ret;
    }
    event.name = (char *)row->label;
    add_number(&arguments, "id", row->id);
    for (size_t i = 0; i < own_count; i++) {
        if (own[i].text) {
            add_text(&arguments, own[i].key, own[i].text);
        } else {
            add_number(&arguments, own[i].key, own[i].number);
        }
    }
    event.debug_annotations = arguments.rows;
    event.n_debug_annotations = arguments.count;
    if (row->is_instant) {
        return put_event(f, &event, place.lane->id, NTK__PERFETTO__TRACK_EVENT__TYPE__INSTANT,
                         row->start_ns);
    }
    if (f->export->has_flows && row->exec_id != NTK_ABSENT_I64) {
        /* The upper half has the process, because execution numbers are small. */
        flow = (uint64_t)row->process << 32 ^ (uint64_t)row->exec_id;
        event.flow_ids = &flow;
        event.n_flow_ids = 1;
    }
    ret = put_event(f, &event, place.lane->id, NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_BEGIN,
                    row->start_ns);
    return ret == 0 ? put_event(f, &end, place.lane->id,
                                NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_END, row->end_ns)
                    : ret;
}

/* ---- counters ---- */

/* Returns the track of a counter of a machine; 0 if there are too many. */
static int find_counter(struct folder_writer *f, const char *instance, const char *name,
                        const char *unit, uint64_t *out_track)
{
    char key[256];
    uint64_t machine = (uintptr_t)ntk_map_get(&f->machines, instance);
    int ret = 0;

    (void)snprintf(key, sizeof key, "%s %s", instance, name);
    *out_track = (uintptr_t)ntk_map_get(&f->counters, key);
    if (*out_track || f->counters.count >= COUNTERS_MAX) {
        return 0;
    }
    if (!machine) {
        ret = ntk_perfetto_put_process(f->to, ++f->to->process_count, instance, &machine);
        ret = ret == 0 ? ntk_map_put(&f->machines, instance, (void *)(uintptr_t)machine) : ret;
    }
    ret = ret == 0 ? ntk_perfetto_put_counter_track(f->to, name, unit, machine, out_track) : ret;
    return ret == 0 ? ntk_map_put(&f->counters, key, (void *)(uintptr_t)*out_track) : ret;
}

static int put_cpu(void *ctx, const void *data)
{
    struct folder_writer *f = ctx;
    const struct ntk_cpu_row *row = data;
    char name[64];
    uint64_t track;

    (void)snprintf(name, sizeof name, "CPU %s", row->cpu);
    int ret = find_counter(f, row->instance, name, "%", &track);
    return ret == 0 && track
               ? ntk_perfetto_put_number(f->to, track, row->time_ns - f->zero_ns, row->percent)
               : ret;
}

static int put_host_memory(void *ctx, const void *data)
{
    struct folder_writer *f = ctx;
    const struct ntk_host_memory_row *row = data;
    uint64_t track;
    int ret = find_counter(f, row->instance, "Host memory", "B", &track);

    return ret == 0 && track
               ? ntk_perfetto_put_count(f->to, track, row->time_ns - f->zero_ns, row->used_bytes)
               : ret;
}

static int put_hbm(void *ctx, const void *data)
{
    struct folder_writer *f = ctx;
    const struct ntk_hbm_row *row = data;
    char name[NTK_HBM_NAME_BYTES];
    uint64_t track;

    ntk_rows_hbm_name(row, name, sizeof name);
    int ret = find_counter(f, row->instance, name, "B", &track);
    return ret == 0 && track
               ? ntk_perfetto_put_count(f->to, track, row->time_ns - f->zero_ns, row->total_bytes)
               : ret;
}

/* ---- all of it ---- */

static int put_captures(struct folder_writer *f)
{
    int ret = 0;

    for (size_t i = 0; i < f->export->capture_count && ret == 0; i++) {
        const struct ntk_export_capture *capture = &f->export->captures[i];
        f->to->sequence++;
        f->to->prefix = capture->export->profile_name;
        f->to->offset_ns = ntk_rows_system_offset_ns(capture, f->zero_ns);
        ret = ntk_perfetto_put_capture(f->to, capture->export);
    }
    return ret;
}

int ntk_perfetto_put_folders(struct ntk_perfetto *to, const struct ntk_export *export)
{
    struct folder_writer f = {
        .to = to,
        .export = export,
        .zero_ns = ntk_rows_system_first_ns(export),
    };
    struct ntk_system_grouping grouping;
    int ret = ntk_system_grouping_set(&grouping, NULL, NULL, NULL);

    ntk_system_lines_init(&f.lines, export->grouping ? export->grouping : &grouping);
    ret = ret == 0 ? put_clock(&f) : ret;
    ret = ret == 0 ? ntk_rows_system_events(export, put_span, &f) : ret;
    ret = ret == 0 ? ntk_rows_system_cpus(export, put_cpu, &f) : ret;
    ret = ret == 0 ? ntk_rows_system_host_memory(export, put_host_memory, &f) : ret;
    ret = ret == 0 ? ntk_rows_system_hbm(export, put_hbm, &f) : ret;
    ret = ret == 0 ? put_captures(&f) : ret;
    ntk_map_fini(&f.machines);
    ntk_map_fini(&f.counters);
    ntk_system_lines_fini(&f.lines);
    return ret;
}
