/* SPDX-License-Identifier: MIT */
/*
 * perfetto_writer - descriptions of tracks go through protobuf-c; slices and counters, which are
 * the file, are written field by field (docs/decisions/libraries.md).
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
       TAG_ANNOTATION = 4 << 3 | 2,
       TAG_TYPE = 9 << 3,
       TAG_NAME = 10 << 3,
       TAG_TRACK = 11 << 3,
       TAG_COUNTER = 30 << 3,
       TAG_DOUBLE_COUNTER = 44 << 3 | 1,
       TAG_FLOW = 47 << 3 | 1,
       TAG_ANNOTATION_NAME = 1 << 3,
       TAG_STRING_VALUE = 29 << 3 | 2, /* of interned data; its fields: */
       TAG_IID = 1 << 3,
       TAG_STRING = 2 << 3 | 2,
};

#define VARINT_BYTES_MAX 10

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
    packet.has_timestamp = 1; /* of the start: processes and threads have a time */
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

static inline uint8_t *put_fixed64(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < sizeof value; i++) {
        *at++ = (uint8_t)(value >> 8 * i);
    }
    return at;
}

uint8_t *ntk_perfetto_argument(uint8_t *at, unsigned name, unsigned value_tag, uint64_t value)
{
    uint8_t *length = at + 1;

    *at = TAG_ANNOTATION;
    at = put_field(put_field(at + 2, TAG_ANNOTATION_NAME, name), value_tag, value);
    *length = (uint8_t)(at - length - 1);
    return at;
}

/* By hand: with a call for each field an event would take a quarter longer. */
uint64_t ntk_perfetto_add_text(struct ntk_perfetto *w, const char *text, struct ntk_buf *texts)
{
    size_t length = strlen(text);
    uint64_t iid = w->next_text++;
    size_t bytes = 2 + ntk_protobuf_varint_bytes(iid) + ntk_protobuf_varint_bytes(length) + length;
    size_t room_bytes = bytes + 2 + VARINT_BYTES_MAX;
    uint8_t *room = ntk_buf_extend(texts, room_bytes);

    if (room) { /* without memory texts say so */
        uint8_t *at = put_field(room, TAG_STRING_VALUE, bytes);
        at = put_field(put_field(at, TAG_IID, iid), TAG_STRING, length);
        memcpy(at, text, length);
        texts->bytes_count -= room_bytes - (size_t)(at + length - room);
    }
    return iid;
}

int ntk_perfetto_put_texts(struct ntk_perfetto *w, struct ntk_buf *texts)
{
    uint8_t head[2 * (2 + VARINT_BYTES_MAX)];
    uint8_t begin[2 + VARINT_BYTES_MAX];
    uint8_t flags[4];

    if (!ntk_buf_ok(texts)) {
        return -ENOMEM;
    }
    if (!texts->bytes_count) {
        return 0;
    }
    uint8_t *head_end = put_field(head, TAG_SEQUENCE, w->sequence);
    head_end = put_field(head_end, TAG_INTERNED, texts->bytes_count);
    uint8_t *flags_end = put_field(flags, TAG_FLAGS, NTK_PERFETTO_NEEDS_STATE);
    size_t head_bytes = (size_t)(head_end - head);
    size_t flags_bytes = (size_t)(flags_end - flags);
    uint8_t *begin_end =
        put_field(begin, TAG_PACKET, head_bytes + texts->bytes_count + flags_bytes);
    ntk_buf_add(&w->sink->buf, begin, (size_t)(begin_end - begin));
    ntk_buf_add(&w->sink->buf, head, head_bytes);
    ntk_buf_add(&w->sink->buf, texts->bytes, texts->bytes_count);
    ntk_buf_add(&w->sink->buf, flags, flags_bytes);
    ntk_buf_reset(texts);
    return ntk_sink_step(w->sink);
}

#define PACKET_BYTES_MAX (NTK_PERFETTO_EVENT_BYTES + 40)
#define FLOW_BYTES 10 /* its tag and number */

static const struct ntk_perfetto_flows no_flows = { 0 };

/* A packet around the bytes of a TrackEvent; fields in order of their numbers, as protobuf-c has
 * them. Only what names something needs what the first packet said. */
static inline uint8_t *put_event(const struct ntk_perfetto *w, uint8_t *at, int64_t time_ns,
                                 const uint8_t *event, size_t event_bytes,
                                 struct ntk_perfetto_flows flows, bool needs_names)
{
    uint8_t head[24];
    uint8_t *end = put_field(head, TAG_TIMESTAMP, (uint64_t)(w->offset_ns + time_ns));
    size_t flows_bytes = flows.count * FLOW_BYTES;

    end = put_field(end, TAG_SEQUENCE, w->sequence);
    end = put_field(end, TAG_TRACK_EVENT, event_bytes + flows_bytes);
    size_t head_bytes = (size_t)(end - head);
    at = put_field(at, TAG_PACKET, head_bytes + event_bytes + flows_bytes + (needs_names ? 2 : 0));
    memcpy(at, head, head_bytes);
    at += head_bytes;
    memcpy(at, event, event_bytes);
    at += event_bytes;
    for (size_t i = 0; i < flows.count; i++) {
        at = put_fixed64(put_varint(at, TAG_FLOW), flows.ids[i]);
    }
    return needs_names ? put_field(at, TAG_FLAGS, NTK_PERFETTO_NEEDS_STATE) : at;
}

/* Room at the end of the file; NULL without memory. */
static inline uint8_t *begin_events(struct ntk_perfetto *w, size_t bytes)
{
    return ntk_buf_extend(&w->sink->buf, bytes);
}

static inline int end_events(struct ntk_perfetto *w, const uint8_t *room, size_t bytes,
                             const uint8_t *at)
{
    w->sink->buf.bytes_count -= bytes - (size_t)(at - room);
    return ntk_sink_step(w->sink);
}

/* arguments: what is in `event` already, up to at. */
int ntk_perfetto_put_slice(struct ntk_perfetto *w, uint64_t track, uint64_t name, int64_t start_ns,
                           int64_t end_ns, uint8_t *event, uint8_t *at,
                           const struct ntk_perfetto_flows flows[2])
{
    struct ntk_perfetto_flows of_start = flows ? flows[0] : no_flows;
    struct ntk_perfetto_flows of_end = flows ? flows[1] : no_flows;
    size_t bytes = 2 * (size_t)PACKET_BYTES_MAX + (of_start.count + of_end.count) * FLOW_BYTES;
    uint8_t *room = begin_events(w, bytes);

    if (!room) {
        return -ENOMEM;
    }
    at = put_field(at, TAG_TYPE, NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_BEGIN);
    at = put_field(at, TAG_NAME, name);
    at = put_field(at, TAG_TRACK, track);
    uint8_t *to = put_event(w, room, start_ns, event, (size_t)(at - event), of_start, true);
    at = put_field(event, TAG_TYPE, NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_END);
    at = put_field(at, TAG_TRACK, track);
    to = put_event(w, to, end_ns, event, (size_t)(at - event), of_end, false);
    return end_events(w, room, bytes, to);
}

static int put_counter(struct ntk_perfetto *w, int64_t time_ns, const uint8_t *event,
                       const uint8_t *at)
{
    uint8_t *room = begin_events(w, PACKET_BYTES_MAX);

    return room ? end_events(
                      w, room, PACKET_BYTES_MAX,
                      put_event(w, room, time_ns, event, (size_t)(at - event), no_flows, false))
                : -ENOMEM;
}

int ntk_perfetto_put_count(struct ntk_perfetto *w, uint64_t track, int64_t time_ns, int64_t value)
{
    uint8_t event[NTK_PERFETTO_EVENT_BYTES];
    uint8_t *at = put_field(event, TAG_TYPE, NTK__PERFETTO__TRACK_EVENT__TYPE__COUNTER);

    at = put_field(at, TAG_TRACK, track);
    at = put_field(at, TAG_COUNTER, (uint64_t)value);
    return put_counter(w, time_ns, event, at);
}

int ntk_perfetto_put_number(struct ntk_perfetto *w, uint64_t track, int64_t time_ns, double value)
{
    uint8_t event[NTK_PERFETTO_EVENT_BYTES];
    uint8_t *at = put_field(event, TAG_TYPE, NTK__PERFETTO__TRACK_EVENT__TYPE__COUNTER);
    uint64_t bits;

    at = put_field(at, TAG_TRACK, track);
    at = put_varint(at, TAG_DOUBLE_COUNTER);
    memcpy(&bits, &value, sizeof bits);
    return put_counter(w, time_ns, event, put_fixed64(at, bits));
}
