/* SPDX-License-Identifier: MIT */
/*
 * perfetto_writer - writes packets: descriptions of tracks use protobuf-c; slices and counters,
 * which are most of the file, are written field by field (docs/decisions/libraries.md).
 */
#include "profiler/output/traces/perfetto_writer.h"

#include <errno.h>
#include <string.h>

#include "shared/formats/common/protobuf_write.h"

enum { /* tags: field << 3 | wire type */
       TAG_PACKET = 1 << 3 | 2,
       TAG_TIMESTAMP = 8 << 3,
       TAG_SEQUENCE = 10 << 3,
       TAG_TRACK_EVENT = 11 << 3 | 2,
       TAG_INTERNED = 12 << 3 | 2,
       TAG_FLAGS = 13 << 3,
       TAG_TYPE = 9 << 3,
       TAG_NAME = 10 << 3,
       TAG_TRACK = 11 << 3,
       TAG_COUNTER = 30 << 3,
       TAG_DOUBLE_COUNTER = 44 << 3 | 1,
       TAG_FLOW = 47 << 3 | 1,
       TAG_STRING_VALUE = 29 << 3 | 2, /* interned data; its fields follow */
       TAG_IID = 1 << 3,
       TAG_STRING = 2 << 3 | 2,
};

int ntk_perfetto_put_packet(struct ntk_perfetto *w, Ntk__Perfetto__TracePacket *packet)
{
    Ntk__Perfetto__Trace trace = NTK__PERFETTO__TRACE__INIT;

    packet->has_trusted_packet_sequence_id = 1;
    packet->trusted_packet_sequence_id = w->sequence;
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

/* ---- tracks ---- */

static int put_track(struct ntk_perfetto *w, Ntk__Perfetto__TrackDescriptor *track,
                     uint64_t *out_uuid)
{
    Ntk__Perfetto__TracePacket packet = NTK__PERFETTO__TRACE_PACKET__INIT;

    track->has_uuid = 1;
    track->uuid = ++w->track_count;
    *out_uuid = track->uuid;
    packet.has_timestamp = 1; /* set for the start: processes and threads have a time */
    packet.track_descriptor = track;
    packet.sequence_flags = NTK_PERFETTO_NEEDS_STATE;
    return ntk_perfetto_put_packet(w, &packet);
}

int ntk_perfetto_put_process(struct ntk_perfetto *w, int32_t pid, const char *name,
                             uint64_t *out_uuid)
{
    Ntk__Perfetto__TrackDescriptor track = NTK__PERFETTO__TRACK_DESCRIPTOR__INIT;
    Ntk__Perfetto__ProcessDescriptor process = NTK__PERFETTO__PROCESS_DESCRIPTOR__INIT;

    process.has_pid = 1;
    process.pid = pid;
    process.process_name = (char *)name;
    track.process = &process;
    return put_track(w, &track, out_uuid);
}

int ntk_perfetto_put_thread(struct ntk_perfetto *w, int32_t pid, int32_t tid, const char *name,
                            uint64_t parent, uint64_t *out_uuid)
{
    Ntk__Perfetto__TrackDescriptor track = NTK__PERFETTO__TRACK_DESCRIPTOR__INIT;
    Ntk__Perfetto__ThreadDescriptor thread = NTK__PERFETTO__THREAD_DESCRIPTOR__INIT;

    if (parent) {
        track.name = (char *)name;
        track.has_parent_uuid = 1;
        track.parent_uuid = parent;
    } else {
        thread.has_pid = 1;
        thread.pid = pid;
        thread.has_tid = 1;
        thread.tid = tid;
        thread.thread_name = (char *)name;
        track.thread = &thread;
    }
    return put_track(w, &track, out_uuid);
}

int ntk_perfetto_put_counter_track(struct ntk_perfetto *w, const char *name, const char *unit,
                                   uint64_t process, uint64_t *out_uuid)
{
    Ntk__Perfetto__TrackDescriptor track = NTK__PERFETTO__TRACK_DESCRIPTOR__INIT;
    Ntk__Perfetto__CounterDescriptor counter = NTK__PERFETTO__COUNTER_DESCRIPTOR__INIT;

    counter.unit_name = (char *)unit;
    track.name = (char *)name;
    track.has_parent_uuid = 1;
    track.parent_uuid = process;
    track.counter = &counter;
    return put_track(w, &track, out_uuid);
}

/* ---- events field by field ---- */

static inline uint8_t *put_fixed64(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < sizeof value; i++) {
        *at++ = (uint8_t)(value >> 8 * i);
    }
    return at;
}

/* Written without a call per field, which would take a quarter longer per event. */
uint64_t ntk_perfetto_add_text(struct ntk_perfetto *w, const char *text, struct ntk_buf *texts)
{
    size_t length = strlen(text);
    uint64_t iid = w->next_text++;
    size_t bytes = 2 + ntk_protobuf_varint_bytes(iid) + ntk_protobuf_varint_bytes(length) + length;
    size_t room_bytes = bytes + 2 + NTK_PERFETTO_VARINT_BYTES;
    uint8_t *room = ntk_buf_extend(texts, room_bytes);

    if (room) { /* if out of memory, texts report it */
        uint8_t *at = ntk_perfetto_field(room, TAG_STRING_VALUE, bytes);
        at = ntk_perfetto_field(ntk_perfetto_field(at, TAG_IID, iid), TAG_STRING, length);
        memcpy(at, text, length);
        texts->bytes_count -= room_bytes - (size_t)(at + length - room);
    }
    return iid;
}

int ntk_perfetto_put_texts(struct ntk_perfetto *w, struct ntk_buf *texts)
{
    uint8_t head[2 * (2 + NTK_PERFETTO_VARINT_BYTES)];
    uint8_t begin[2 + NTK_PERFETTO_VARINT_BYTES];
    uint8_t flags[4];

    if (!ntk_buf_ok(texts)) {
        return -ENOMEM;
    }
    if (!texts->bytes_count) {
        return 0;
    }
    uint8_t *head_end = ntk_perfetto_field(head, TAG_SEQUENCE, w->sequence);
    head_end = ntk_perfetto_field(head_end, TAG_INTERNED, texts->bytes_count);
    uint8_t *flags_end = ntk_perfetto_field(flags, TAG_FLAGS, NTK_PERFETTO_NEEDS_STATE);
    size_t head_bytes = (size_t)(head_end - head);
    size_t flags_bytes = (size_t)(flags_end - flags);
    uint8_t *begin_end =
        ntk_perfetto_field(begin, TAG_PACKET, head_bytes + texts->bytes_count + flags_bytes);
    ntk_buf_add(&w->sink->buf, begin, (size_t)(begin_end - begin));
    ntk_buf_add(&w->sink->buf, head, head_bytes);
    ntk_buf_add(&w->sink->buf, texts->bytes, texts->bytes_count);
    ntk_buf_add(&w->sink->buf, flags, flags_bytes);
    ntk_buf_reset(texts);
    return ntk_sink_step(w->sink);
}

#define FLOW_BYTES 10 /* tag and number */
/* Maximum size of a packet without arguments and flows: tags, and numbers of at most ten bytes. */
#define PACKET_BYTES_MAX (12 + 6 * NTK_PERFETTO_VARINT_BYTES)

static inline size_t field_bytes(unsigned tag, uint64_t value)
{
    return ntk_perfetto_varint_bytes(tag) + ntk_perfetto_varint_bytes(value);
}

/* Writes a packet up to the fields of its event, which have this many bytes. Lengths come first, so
 * that nothing is copied: copying freshly written bytes stalls. */
static inline uint8_t *begin_packet(const struct ntk_perfetto *w, uint8_t *at, int64_t time_ns,
                                    size_t event_bytes, bool needs_names)
{
    uint64_t time = (uint64_t)(w->offset_ns + time_ns);
    size_t bytes = field_bytes(TAG_TIMESTAMP, time) + field_bytes(TAG_SEQUENCE, w->sequence) +
                   field_bytes(TAG_TRACK_EVENT, event_bytes) + event_bytes + (needs_names ? 2 : 0);

    at = ntk_perfetto_field(at, TAG_PACKET, bytes);
    at = ntk_perfetto_field(at, TAG_TIMESTAMP, time);
    at = ntk_perfetto_field(at, TAG_SEQUENCE, w->sequence);
    return ntk_perfetto_field(at, TAG_TRACK_EVENT, event_bytes);
}

static uint8_t *put_flows(uint8_t *at, struct ntk_perfetto_flows flows)
{
    for (size_t i = 0; i < flows.count; i++) {
        at = put_fixed64(ntk_perfetto_varint(at, TAG_FLOW), flows.ids[i]);
    }
    return at;
}

/* Returns space at the end of the file; NULL if out of memory. Most of the time there is space, and
 * the call would take longer than the check. */
static inline uint8_t *begin_events(struct ntk_perfetto *w, size_t bytes)
{
    struct ntk_buf *buf = &w->sink->buf;

    return buf->capacity - buf->bytes_count > bytes && !buf->failed
               ? (uint8_t *)buf->bytes + buf->bytes_count
               : ntk_buf_extend(buf, bytes);
}

/* Sets the end of the file to `at`. */
static inline int end_events(struct ntk_perfetto *w, const uint8_t *at)
{
    w->sink->buf.bytes_count = (size_t)(at - (const uint8_t *)w->sink->buf.bytes);
    return ntk_sink_step(w->sink);
}

static void make_frame(struct ntk_perfetto_frame *frame, uint32_t sequence, uint64_t track,
                       uint64_t name)
{
    unsigned type = NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_BEGIN;
    uint8_t *at = ntk_perfetto_field(frame->begin, TAG_TYPE, type);

    at = ntk_perfetto_field(at, TAG_NAME, name);
    at = ntk_perfetto_field(at, TAG_TRACK, track);
    frame->begin_count = (uint8_t)(at - frame->begin);
    type = NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_END;
    at = ntk_perfetto_field(frame->end, TAG_SEQUENCE, sequence);
    frame->sequence_count = (uint8_t)(at - frame->end);
    at = ntk_perfetto_field(at, TAG_TRACK_EVENT,
                            field_bytes(TAG_TYPE, type) + field_bytes(TAG_TRACK, track));
    at = ntk_perfetto_field(at, TAG_TYPE, type);
    at = ntk_perfetto_field(at, TAG_TRACK, track);
    frame->end_count = (uint8_t)(at - frame->end);
    frame->track = track;
    frame->name = name;
    frame->sequence = sequence;
}

static inline const struct ntk_perfetto_frame *find_frame(struct ntk_perfetto *w, uint64_t track,
                                                          uint64_t name)
{
    struct ntk_perfetto_frame *frame = &w->frames[(track * 13 + name) % NTK_PERFETTO_FRAMES];

    if (frame->track != track || frame->name != name || frame->sequence != w->sequence) {
        make_frame(frame, w->sequence, track, name);
    }
    return frame;
}

/* Writes the fields of a begin before its arguments. Lengths come first, so that nothing is copied:
 * copying freshly written bytes stalls. */
static inline uint8_t *put_begin(uint8_t *at, const struct ntk_perfetto_frame *frame, uint64_t time,
                                 size_t event_bytes)
{
    at = ntk_perfetto_field(at, TAG_PACKET,
                            field_bytes(TAG_TIMESTAMP, time) + frame->sequence_count +
                                field_bytes(TAG_TRACK_EVENT, event_bytes) + event_bytes +
                                field_bytes(TAG_FLAGS, NTK_PERFETTO_NEEDS_STATE));
    at = ntk_perfetto_field(at, TAG_TIMESTAMP, time);
    memcpy(at, frame->end, 8); /* more than the number of the sequence */
    return ntk_perfetto_field(at + frame->sequence_count, TAG_TRACK_EVENT, event_bytes);
}

/* Writes the packet that ends a slice. */
static inline uint8_t *put_end(uint8_t *at, const struct ntk_perfetto_frame *frame, uint64_t time)
{
    at = ntk_perfetto_field(at, TAG_PACKET, field_bytes(TAG_TIMESTAMP, time) + frame->end_count);
    at = ntk_perfetto_field(at, TAG_TIMESTAMP, time);
    memcpy(at, frame->end, sizeof frame->end);
    return at + frame->end_count;
}

/* Same, with arrows. */
static uint8_t *put_end_flows(const struct ntk_perfetto *w, uint8_t *at, uint64_t track,
                              int64_t time_ns, struct ntk_perfetto_flows flows)
{
    unsigned type = NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_END;
    size_t place_bytes = field_bytes(TAG_TYPE, type) + field_bytes(TAG_TRACK, track);

    at = begin_packet(w, at, time_ns, place_bytes + flows.count * FLOW_BYTES, false);
    at = ntk_perfetto_field(at, TAG_TYPE, type);
    return put_flows(ntk_perfetto_field(at, TAG_TRACK, track), flows);
}

/* Writes fields in order of their numbers, like protobuf-c. Only objects with names depend on the
 * first packet. */
int ntk_perfetto_put_slice(struct ntk_perfetto *w, uint64_t track, uint64_t name, int64_t start_ns,
                           int64_t end_ns, struct ntk_perfetto_arguments arguments,
                           const struct ntk_perfetto_flows flows[2])
{
    const struct ntk_perfetto_frame *frame = find_frame(w, track, name);
    size_t start_flows = flows ? flows[0].count : 0;
    size_t end_flows = flows ? flows[1].count : 0;
    uint8_t *at = begin_events(w, 2 * (size_t)PACKET_BYTES_MAX + arguments.bytes_count +
                                      (start_flows + end_flows) * FLOW_BYTES);

    if (!at) {
        return -ENOMEM;
    }
    at = put_begin(at, frame, (uint64_t)(w->offset_ns + start_ns),
                   arguments.bytes_count + frame->begin_count + start_flows * FLOW_BYTES);
    if (arguments.bytes_count) {
        memcpy(at, arguments.bytes, arguments.bytes_count);
        at += arguments.bytes_count;
    }
    memcpy(at, frame->begin, sizeof frame->begin);
    at += frame->begin_count;
    at = start_flows ? put_flows(at, flows[0]) : at;
    at = ntk_perfetto_field(at, TAG_FLAGS, NTK_PERFETTO_NEEDS_STATE);
    at = end_flows ? put_end_flows(w, at, track, end_ns, flows[1])
                   : put_end(at, frame, (uint64_t)(w->offset_ns + end_ns));
    return end_events(w, at);
}

/* Begins a counter, up to its value; NULL if out of memory. */
static inline uint8_t *begin_counter(struct ntk_perfetto *w, uint64_t track, int64_t time_ns,
                                     size_t value_bytes)
{
    unsigned type = NTK__PERFETTO__TRACK_EVENT__TYPE__COUNTER;
    uint8_t *room = begin_events(w, PACKET_BYTES_MAX);

    if (room) {
        size_t event_bytes = field_bytes(TAG_TYPE, type) + field_bytes(TAG_TRACK, track);
        room = begin_packet(w, room, time_ns, event_bytes + value_bytes, false);
        room = ntk_perfetto_field(room, TAG_TYPE, type);
        room = ntk_perfetto_field(room, TAG_TRACK, track);
    }
    return room;
}

int ntk_perfetto_put_count(struct ntk_perfetto *w, uint64_t track, int64_t time_ns, int64_t value)
{
    uint8_t *at = begin_counter(w, track, time_ns, field_bytes(TAG_COUNTER, (uint64_t)value));

    return at ? end_events(w, ntk_perfetto_field(at, TAG_COUNTER, (uint64_t)value)) : -ENOMEM;
}

int ntk_perfetto_put_number(struct ntk_perfetto *w, uint64_t track, int64_t time_ns, double value)
{
    uint64_t bits;
    uint8_t *at = begin_counter(w, track, time_ns,
                                ntk_perfetto_varint_bytes(TAG_DOUBLE_COUNTER) + sizeof bits);

    memcpy(&bits, &value, sizeof bits);
    return at ? end_events(w, put_fixed64(ntk_perfetto_varint(at, TAG_DOUBLE_COUNTER), bits))
              : -ENOMEM;
}
