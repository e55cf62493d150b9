/* SPDX-License-Identifier: MIT */
/*
 * output_perfetto - a profile as a Perfetto trace, docs/formats/profile-traces.md.
 *
 * A core is a process, an engine or queue a thread. Spans of one line must not overlap, so those that do
 * get lines of their own below it. Descriptions of tracks and names go through protobuf-c; slices and
 * counters, which are the file, are written field by field (decision 0216).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/dma_rate.h"
#include "profiler/output/export_to.h"
#include "profiler/output/lanes.h"
#include "profiler/output/perfetto.pb-c.h"
#include "profiler/output/rows.h"
#include "shared/base/str.h"

#define SEQUENCE 1
#define SEQUENCE_STATE_CLEARED 1
#define SEQUENCE_NEEDS_STATE 2

#define OPCODES 256
#define IID_OF_OPCODE(opcode) (1U + (opcode))
#define IID_OF_CLASS(dma_class) (1U + OPCODES + (dma_class))
/* Layers have their numbers; what the runtime put around a program is of none, so its number is free. */
#define IID_OF_UNKNOWN_LAYER NTK_LAYER_RUNTIME
#define EVENT_NAMES (OPCODES + NTK_TRACE_DMA_CLASS_COUNT)

/* Process and thread numbers: any that are unique. */
#define PID_OF(core_index) ((int32_t)(1 + (core_index)))
#define TIDS_OF_CORE 1000
#define TID_OF_QUEUES 100

enum { /* interned names of arguments */
       ARGUMENT_PC = 1,
       ARGUMENT_COMPILER_PC,
       ARGUMENT_WAIT,
       ARGUMENT_LAYER,
       ARGUMENT_BYTES,
       ARGUMENT_COUNT,
};

static const char *const argument_names[ARGUMENT_COUNT] = {
    [ARGUMENT_PC] = "pc",
    [ARGUMENT_COMPILER_PC] = "compiler_pc",
    [ARGUMENT_WAIT] = "evt_wait_time_ns",
    [ARGUMENT_LAYER] = "layer",
    [ARGUMENT_BYTES] = "bytes",
};

enum { /* tags: field << 3 | wire type */
       TAG_PACKET = 1 << 3 | 2,
       TAG_TIMESTAMP = 8 << 3,
       TAG_SEQUENCE = 10 << 3,
       TAG_TRACK_EVENT = 11 << 3 | 2,
       TAG_FLAGS = 13 << 3,
       TAG_ANNOTATION = 4 << 3 | 2,
       TAG_TYPE = 9 << 3,
       TAG_NAME = 10 << 3,
       TAG_TRACK = 11 << 3,
       TAG_COUNTER = 30 << 3,
       TAG_DOUBLE_COUNTER = 44 << 3 | 1,
       TAG_ANNOTATION_NAME = 1 << 3,
       TAG_ANNOTATION_UINT = 3 << 3,
       TAG_ANNOTATION_STRING = 17 << 3,
};
#define EVENT_BYTES_MAX 200 /* five arguments, each number of ten bytes */

struct trace_writer {
    const struct ntk_export *export;
    struct ntk_sink *sink;
    uint64_t track_count; /* tracks are numbered from 1 */
};

struct core_writer {
    struct trace_writer *w;
    size_t index;
    const struct ntk_trace_core *core;
    uint64_t process, rate, pending, throttle; /* tracks */
    uint64_t semaphores[NTK_EXPORT_SEMAPHORES];
};

/* ---- packets by protobuf-c ---- */

static int put_packet(struct trace_writer *w, Ntk__Perfetto__TracePacket *packet)
{
    Ntk__Perfetto__Trace trace = NTK__PERFETTO__TRACE__INIT;

    packet->has_trusted_packet_sequence_id = 1;
    packet->trusted_packet_sequence_id = SEQUENCE;
    packet->has_sequence_flags = 1;
    trace.n_packet = 1;
    trace.packet = &packet;
    size_t bytes_count = ntk__perfetto__trace__get_packed_size(&trace);
    uint8_t *room = ntk_buf_extend(&w->sink->buf, bytes_count);
    if (room) {
        ntk__perfetto__trace__pack(&trace, room);
    }
    return ntk_sink_step(w->sink);
}

static int put_track(struct trace_writer *w, Ntk__Perfetto__TrackDescriptor *track,
                     uint64_t *out_uuid)
{
    Ntk__Perfetto__TracePacket packet = NTK__PERFETTO__TRACE_PACKET__INIT;

    track->has_uuid = 1;
    track->uuid = ++w->track_count;
    *out_uuid = track->uuid;
    packet.has_timestamp = 1; /* of the start: processes and threads have a time */
    packet.track_descriptor = track;
    packet.sequence_flags = SEQUENCE_NEEDS_STATE;
    return put_packet(w, &packet);
}

static int put_process(struct core_writer *c)
{
    Ntk__Perfetto__TrackDescriptor track = NTK__PERFETTO__TRACK_DESCRIPTOR__INIT;
    Ntk__Perfetto__ProcessDescriptor process = NTK__PERFETTO__PROCESS_DESCRIPTOR__INIT;
    char name[NTK_NTFF_NAME_BYTES + 32];

    snprintf(name, sizeof name, "NC %u (%s)", c->core->ntff->core, c->core->ntff->name);
    process.has_pid = 1;
    process.pid = PID_OF(c->index);
    process.process_name = name;
    track.process = &process;
    return put_track(c->w, &track, &c->process);
}

/* parent: 0 makes it the track of the thread. */
static int put_thread(struct core_writer *c, int32_t tid, const char *name, uint64_t parent,
                      uint64_t *out_uuid)
{
    Ntk__Perfetto__TrackDescriptor track = NTK__PERFETTO__TRACK_DESCRIPTOR__INIT;
    Ntk__Perfetto__ThreadDescriptor thread = NTK__PERFETTO__THREAD_DESCRIPTOR__INIT;

    if (parent) {
        track.name = (char *)name;
        track.has_parent_uuid = 1;
        track.parent_uuid = parent;
    } else {
        thread.has_pid = 1;
        thread.pid = PID_OF(c->index);
        thread.has_tid = 1;
        thread.tid = tid;
        thread.thread_name = (char *)name;
        track.thread = &thread;
    }
    return put_track(c->w, &track, out_uuid);
}

static int put_counter_track(struct core_writer *c, const char *name, const char *unit,
                             uint64_t *out_uuid)
{
    Ntk__Perfetto__TrackDescriptor track = NTK__PERFETTO__TRACK_DESCRIPTOR__INIT;
    Ntk__Perfetto__CounterDescriptor counter = NTK__PERFETTO__COUNTER_DESCRIPTOR__INIT;

    counter.unit_name = (char *)unit;
    track.name = (char *)name;
    track.has_parent_uuid = 1;
    track.parent_uuid = c->process;
    track.counter = &counter;
    return put_track(c->w, &track, out_uuid);
}

/* The first packet: all names that slices and arguments have. */
static int put_names(struct trace_writer *w)
{
    const struct ntk_program *program = w->export->program;
    Ntk__Perfetto__TracePacket packet = NTK__PERFETTO__TRACE_PACKET__INIT;
    Ntk__Perfetto__InternedData data = NTK__PERFETTO__INTERNED_DATA__INIT;
    size_t name_count = EVENT_NAMES + ARGUMENT_COUNT;
    Ntk__Perfetto__InternedName *names = calloc(name_count, sizeof *names);
    Ntk__Perfetto__InternedName **name_rows = calloc(name_count, sizeof *name_rows);
    Ntk__Perfetto__InternedString *layers = calloc(program->layer_count, sizeof *layers);
    Ntk__Perfetto__InternedString **layer_rows = calloc(program->layer_count, sizeof *layer_rows);
    size_t row_count = 0;
    char opcodes[OPCODES][8];
    int ret = -ENOMEM;

    if (!names || !name_rows || !layers || !layer_rows) {
        goto out;
    }
    for (size_t i = 0; i < w->export->opcodes.row_count; i++) { /* those that ran */
        uint8_t opcode = w->export->opcodes.rows[i].opcode;
        names[opcode].name = (char *)ntk_ntff_opcode_name(opcode, opcodes[opcode], 8);
    }
    for (unsigned k = 0; k < NTK_TRACE_DMA_CLASS_COUNT; k++) {
        names[OPCODES + k].name = (char *)ntk_trace_dma_class_name(k);
    }
    for (size_t i = 1; i < ARGUMENT_COUNT; i++) {
        names[EVENT_NAMES + i].name = (char *)argument_names[i];
    }
    for (size_t i = 0; i < name_count; i++) {
        char *name = names[i].name;
        if (!name) {
            continue;
        }
        ntk__perfetto__interned_name__init(&names[i]);
        names[i].name = name;
        names[i].has_iid = 1;
        names[i].iid = i < EVENT_NAMES ? 1 + i : i - EVENT_NAMES;
        name_rows[row_count++] = &names[i];
    }
    for (size_t i = 0; i < program->layer_count; i++) {
        ntk__perfetto__interned_string__init(&layers[i]);
        layer_rows[i] = &layers[i];
        layers[i].has_iid = 1;
        layers[i].iid = i;
        layers[i].has_str = 1;
        const char *name = i == IID_OF_UNKNOWN_LAYER ? NTK_LAYER_UNKNOWN : program->layers[i];
        layers[i].str.data = (uint8_t *)name;
        layers[i].str.len = strlen(name);
    }
    data.event_names = name_rows;
    data.n_event_names = row_count - (ARGUMENT_COUNT - 1);
    data.debug_annotation_names = name_rows + data.n_event_names;
    data.n_debug_annotation_names = ARGUMENT_COUNT - 1;
    data.debug_annotation_string_values = layer_rows + NTK_LAYER_RUNTIME;
    data.n_debug_annotation_string_values = program->layer_count - NTK_LAYER_RUNTIME;
    packet.interned_data = &data;
    packet.has_first_packet_on_sequence = 1;
    packet.first_packet_on_sequence = 1;
    packet.sequence_flags = SEQUENCE_STATE_CLEARED;
    ret = put_packet(w, &packet);
out:
    free(names);
    free(name_rows);
    free(layers);
    free(layer_rows);
    return ret;
}

/* ---- events field by field ---- */

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *put_field(uint8_t *at, unsigned tag, uint64_t value)
{
    return put_varint(put_varint(at, tag), value);
}

static inline uint8_t *put_argument(uint8_t *at, unsigned name, unsigned value_tag, uint64_t value)
{
    uint8_t *length = at + 1;

    *at = TAG_ANNOTATION;
    at = put_field(put_field(at + 2, TAG_ANNOTATION_NAME, name), value_tag, value);
    *length = (uint8_t)(at - length - 1);
    return at;
}

#define PACKET_BYTES_MAX (EVENT_BYTES_MAX + 40)

/* A packet around the bytes of a TrackEvent; fields in order of their numbers, as protobuf-c has them.
 * Only what names something needs what the first packet said. */
static inline uint8_t *put_event(uint8_t *at, int64_t time_ns, const uint8_t *event,
                                 size_t event_bytes, bool needs_names)
{
    uint8_t head[24];
    uint8_t *end = put_field(head, TAG_TIMESTAMP, (uint64_t)time_ns);

    end = put_field(end, TAG_SEQUENCE, SEQUENCE);
    end = put_field(end, TAG_TRACK_EVENT, event_bytes);
    size_t head_bytes = (size_t)(end - head);
    at = put_field(at, TAG_PACKET, head_bytes + event_bytes + (needs_names ? 2 : 0));
    memcpy(at, head, head_bytes);
    at += head_bytes;
    memcpy(at, event, event_bytes);
    at += event_bytes;
    return needs_names ? put_field(at, TAG_FLAGS, SEQUENCE_NEEDS_STATE) : at;
}

/* Room for so many events at the end of the file; NULL without memory. */
static inline uint8_t *begin_events(struct trace_writer *w, size_t count)
{
    return ntk_buf_extend(&w->sink->buf, count * PACKET_BYTES_MAX);
}

static inline int end_events(struct trace_writer *w, const uint8_t *room, size_t count,
                             const uint8_t *at)
{
    w->sink->buf.bytes_count -= count * PACKET_BYTES_MAX - (size_t)(at - room);
    return ntk_sink_step(w->sink);
}

/* arguments: what stands in `event` already, up to at. */
static int put_slice(struct trace_writer *w, uint64_t track, uint64_t name, int64_t start_ns,
                     int64_t end_ns, uint8_t *event, uint8_t *at)
{
    uint8_t *room = begin_events(w, 2);

    if (!room) {
        return -ENOMEM;
    }
    at = put_field(at, TAG_TYPE, NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_BEGIN);
    at = put_field(at, TAG_NAME, name);
    at = put_field(at, TAG_TRACK, track);
    uint8_t *to = put_event(room, start_ns, event, (size_t)(at - event), true);
    at = put_field(event, TAG_TYPE, NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_END);
    at = put_field(at, TAG_TRACK, track);
    to = put_event(to, end_ns, event, (size_t)(at - event), false);
    return end_events(w, room, 2, to);
}

static int put_counter(struct trace_writer *w, int64_t time_ns, const uint8_t *event,
                       const uint8_t *at)
{
    uint8_t *room = begin_events(w, 1);

    return room ? end_events(w, room, 1,
                             put_event(room, time_ns, event, (size_t)(at - event), false))
                : -ENOMEM;
}

static int put_count(struct trace_writer *w, uint64_t track, int64_t time_ns, int64_t value)
{
    uint8_t event[EVENT_BYTES_MAX];
    uint8_t *at = put_field(event, TAG_TYPE, NTK__PERFETTO__TRACK_EVENT__TYPE__COUNTER);

    at = put_field(at, TAG_TRACK, track);
    at = put_field(at, TAG_COUNTER, (uint64_t)value);
    return put_counter(w, time_ns, event, at);
}

static int put_number(struct trace_writer *w, uint64_t track, int64_t time_ns, double value)
{
    uint8_t event[EVENT_BYTES_MAX];
    uint8_t *at = put_field(event, TAG_TYPE, NTK__PERFETTO__TRACK_EVENT__TYPE__COUNTER);
    uint64_t bits;

    at = put_field(at, TAG_TRACK, track);
    at = put_varint(at, TAG_DOUBLE_COUNTER);
    memcpy(&bits, &value, sizeof bits);
    for (unsigned i = 0; i < sizeof bits; i++) {
        *at++ = (uint8_t)(bits >> 8 * i);
    }
    return put_counter(w, time_ns, event, at);
}

/* ---- a core ---- */

/* Writes the name of a line; only where one begins. */
typedef void name_line(const struct core_writer *c, size_t index, char *buf, size_t buf_bytes);

/* The track for a span: the thread's, or one below it where that is taken. */
static int take_track(struct core_writer *c, struct ntk_lanes *lanes, int32_t tid,
                      name_line *name_of, size_t index, int64_t start_ns, int64_t end_ns,
                      uint64_t *out_track)
{
    struct ntk_lane *lane = ntk_lanes_take(lanes, start_ns, end_ns);
    char name[NTK_NTFF_NAME_BYTES + 32];
    int ret = 0;

    if (!lane) {
        return -ENOMEM;
    }
    if (!lane->id) {
        name_of(c, index, name, sizeof name);
        ret = put_thread(c, tid, name, lane == lanes->items ? 0 : lanes->items[0].id, &lane->id);
    }
    *out_track = lane->id;
    return ret;
}

static void name_engine(const struct core_writer *c, size_t index, char *buf, size_t buf_bytes)
{
    (void)c;
    (void)ntk_str_copy(buf, buf_bytes, ntk_ntff_engine_title((unsigned)index));
}

static void name_ring(const struct core_writer *c, size_t index, char *buf, size_t buf_bytes)
{
    size_t e = index / NTK_NTFF_DMA_QUEUES;
    size_t q = index % NTK_NTFF_DMA_QUEUES;
    const char *queue = c->w->export->cores[c->index].queue_names[e][q];

    (void)snprintf(buf, buf_bytes, "%s%sQ%zu-E%zu", queue ? queue : "", queue ? " " : "", q,
                   (size_t)NTK_NTFF_DMA_ENGINES * c->core->ntff->core + e);
}

static int put_instructions(struct core_writer *c)
{
    const struct ntk_export *export = c->w->export;
    const struct ntk_trace *trace = export->trace;
    struct ntk_lanes lanes[NTK_NTFF_ENGINE_COUNT] = { 0 };
    int32_t tid = TIDS_OF_CORE * PID_OF(c->index);
    uint8_t event[EVENT_BYTES_MAX];
    uint64_t track;
    int ret = 0;

    ntk_trace_each_instruction(c->core, from) {
        const struct ntk_slot_fact *fact = ntk_program_fact(export->program, c->index, from);
        int64_t start_ns = ntk_rows_ns(from->start_ps);
        int64_t end_ns = start_ns + ntk_rows_ns(from->end_ps - from->start_ps);
        uint8_t *at = put_argument(event, ARGUMENT_PC, TAG_ANNOTATION_UINT, from->slot);

        if (fact->compiler_pc >= 0) {
            at = put_argument(at, ARGUMENT_COMPILER_PC, TAG_ANNOTATION_UINT,
                              (uint64_t)fact->compiler_pc);
        }
        if (trace->has_chip && from->wait_cycles) {
            at = put_argument(at, ARGUMENT_WAIT, TAG_ANNOTATION_UINT,
                              (uint64_t)from->wait_cycles * 1000 / trace->chip.base_mhz);
        }
        if (fact->layer > NTK_LAYER_RUNTIME || ntk_layer_name(export->program, c->core, fact)) {
            at = put_argument(at, ARGUMENT_LAYER, TAG_ANNOTATION_STRING,
                              fact->layer > NTK_LAYER_RUNTIME ? fact->layer : IID_OF_UNKNOWN_LAYER);
        }
        ret = take_track(c, &lanes[from->engine], tid + from->engine, name_engine, from->engine,
                         start_ns, end_ns, &track);
        if (ret == 0) {
            ret = put_slice(c->w, track, IID_OF_OPCODE(from->opcode), start_ns, end_ns, event, at);
        }
        if (ret < 0) {
            break;
        }
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        ntk_lanes_fini(&lanes[e]);
    }
    return ret;
}

static int put_packet_slice(struct core_writer *c, const struct ntk_trace_packet *from,
                            struct ntk_lanes *lanes)
{
    size_t e = from->engine % NTK_NTFF_DMA_ENGINES;
    size_t q = from->queue % NTK_NTFF_DMA_QUEUES;
    int64_t start_ns = ntk_rows_ns(from->start_ps);
    int64_t end_ns = start_ns + ntk_rows_ns(from->end_ps - from->start_ps);
    size_t ring = e * NTK_NTFF_DMA_QUEUES + q;
    uint8_t event[EVENT_BYTES_MAX];
    uint8_t *at = put_argument(event, ARGUMENT_BYTES, TAG_ANNOTATION_UINT, from->bytes_count);
    uint64_t track;
    int ret =
        take_track(c, &lanes[ring], TIDS_OF_CORE * PID_OF(c->index) + TID_OF_QUEUES + (int32_t)ring,
                   name_ring, ring, start_ns, end_ns, &track);

    return ret == 0
               ? put_slice(c->w, track, IID_OF_CLASS(from->dma_class), start_ns, end_ns, event, at)
               : ret;
}

static int put_packets(struct core_writer *c)
{
    const size_t rings = (size_t)NTK_NTFF_DMA_ENGINES * NTK_NTFF_DMA_QUEUES;
    struct ntk_lanes *lanes = calloc(rings, sizeof *lanes);
    int ret = lanes ? 0 : -ENOMEM;

    if (ret == 0) {
        ntk_trace_each_packet(c->core, from) {
            ret = put_packet_slice(c, from, lanes);
            if (ret < 0) {
                break;
            }
        }
    }
    for (size_t r = 0; lanes && r < rings; r++) {
        ntk_lanes_fini(&lanes[r]);
    }
    free(lanes);
    return ret;
}

static int put_rate(void *ctx, const struct ntk_dma_rate_point *point)
{
    struct core_writer *c = ctx;

    /* With the 24 bits of the tables. */
    return put_number(c->w, c->rate, ntk_rows_ns(point->time_ps), (float)point->bytes_per_second);
}

static int put_semaphores(struct core_writer *c)
{
    const struct ntk_export_core *names = &c->w->export->cores[c->index];

    ntk_trace_each_event(c->core, from) {
        uint64_t *track = &c->semaphores[from->number];
        int ret = 0;
        if (!from->is_semaphore) {
            continue;
        }
        if (!*track) {
            char name[NTK_NTFF_NAME_BYTES + 32];
            snprintf(name, sizeof name, "Semaphore %s", names->semaphore_names[from->number]);
            ret = put_counter_track(c, name, NULL, track);
        }
        if (ret == 0) {
            ret = put_count(c->w, *track, ntk_rows_ns(from->time_ps), from->value);
        }
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static int put_counters(struct core_writer *c)
{
    int ret = 0;
    int64_t pending = 0;

    if (c->core->packet_count) {
        ret = put_counter_track(c, "DMA throughput", "B/s", &c->rate);
        ret = ret == 0 ? ntk_analysis_dma_rate(c->core, put_rate, c) : ret;
    }
    for (size_t i = 0; i < c->core->throttle_count && ret == 0; i++) {
        const struct ntk_trace_throttle *from = &c->core->throttles[i];
        ret = i ? 0 : put_counter_track(c, "Throttle limit", "of 1", &c->throttle);
        ret = ret == 0 ? put_number(c->w, c->throttle, ntk_rows_ns(from->time_ps),
                                    (double)from->k / from->n)
                       : ret;
    }
    if (ret < 0) {
        return ret;
    }
    ntk_trace_each_instruction(c->core, from) {
        if (from->opcode != NTK_NTFF_OPCODE_DMA_DIRECT2D) {
            continue;
        }
        ret = pending ? 0 : put_counter_track(c, "Pending DMA", NULL, &c->pending);
        ret = ret == 0 ? put_count(c->w, c->pending, ntk_rows_ns(from->start_ps), ++pending) : ret;
        if (ret < 0) {
            return ret;
        }
    }
    return put_semaphores(c);
}

int ntk_export_to_perfetto(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    struct ntk_sink sink;
    struct trace_writer w = { .export = export, .sink = &sink };
    int ret = ntk_sink_open(&sink, path, err);

    if (ret < 0) {
        return ret;
    }
    ret = put_names(&w);
    for (size_t i = 0; i < export->trace->core_count && ret == 0; i++) {
        struct core_writer c = { .w = &w, .index = i, .core = &export->trace->cores[i] };
        ret = put_process(&c);
        ret = ret == 0 ? put_instructions(&c) : ret;
        ret = ret == 0 ? put_packets(&c) : ret;
        ret = ret == 0 ? put_counters(&c) : ret;
    }
    return ntk_export_finish(&sink, ret, err);
}
