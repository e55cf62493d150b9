/* SPDX-License-Identifier: MIT */
/*
 * perfetto_writer - writes packets of a Perfetto trace, docs/formats/profile-traces.md: tracks,
 * slices, counters.
 *
 * Names of slices and arguments, and their texts, are numbers defined by an earlier packet.
 *
 * Owner: the caller provides the storage; nothing must be freed. Threads: one. Each function
 *        returns 0 or -errno.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_PERFETTO_WRITER_H
#define NTK_PROFILER_OUTPUT_TRACES_PERFETTO_WRITER_H

#include <string.h>

#include "profiler/output/export.h"
#include "profiler/output/sink.h"
#include "profiler/output/traces/perfetto.pb-c.h"

enum { /* flags of packets */
       NTK_PERFETTO_STATE_CLEARED = 1,
       NTK_PERFETTO_NEEDS_STATE = 2,
};

enum { /* kinds of arguments: field << 3 | wire type */
       NTK_PERFETTO_UINT = 3 << 3,
       NTK_PERFETTO_TEXT = 6 << 3 | 2,
       NTK_PERFETTO_STRING = 17 << 3,
       NTK_PERFETTO_ANNOTATION = 4 << 3 | 2, /* an argument in an event; its fields follow */
       NTK_PERFETTO_ANNOTATION_NAME = 1 << 3,
};

#define NTK_PERFETTO_VARINT_BYTES 10

/* Fields that all slices with the same name and track share, encoded once. */
struct ntk_perfetto_frame {
    uint64_t track, name;
    uint32_t sequence;                                      /* 0: empty */
    uint8_t sequence_count;                                 /* of end: the number of the sequence */
    uint8_t begin_count, end_count;                         /* number of bytes */
    uint8_t begin[2 + 2 * (1 + NTK_PERFETTO_VARINT_BYTES)]; /* type, name, track */
    uint8_t end[10 + 1 + NTK_PERFETTO_VARINT_BYTES]; /* packet after the time, without arrows */
};

#define NTK_PERFETTO_FRAMES 64

struct ntk_perfetto {
    struct ntk_sink *sink;
    uint32_t sequence;     /* sequence of the packets from now on, from 1 */
    int64_t offset_ns;     /* added to the times of slices and counters */
    const char *prefix;    /* for the names of processes of a capture; NULL if none */
    int32_t process_count; /* processes are numbered from 1 */
    uint64_t track_count;  /* tracks are numbered from 1 */
    uint64_t next_text;    /* next number for arguments; lower numbers are used in this sequence */
    struct ntk_perfetto_frame frames[NTK_PERFETTO_FRAMES]; /* the last one per hash */
};

int ntk_perfetto_put_packet(struct ntk_perfetto *w, Ntk__Perfetto__TracePacket *packet);
int ntk_perfetto_put_process(struct ntk_perfetto *w, int32_t pid, const char *name,
                             uint64_t *out_uuid);
/* parent: the track for which this is an additional line; 0 makes it the track of the thread. */
int ntk_perfetto_put_thread(struct ntk_perfetto *w, int32_t pid, int32_t tid, const char *name,
                            uint64_t parent, uint64_t *out_uuid);
int ntk_perfetto_put_counter_track(struct ntk_perfetto *w, const char *name, const char *unit,
                                   uint64_t process, uint64_t *out_uuid);

#define NTK_PERFETTO_ARGUMENT_BYTES (6 + NTK_PERFETTO_VARINT_BYTES) /* maximum for a number */

static inline uint8_t *ntk_perfetto_varint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline size_t ntk_perfetto_varint_bytes(uint64_t value)
{
    return ((size_t)(63 - __builtin_clzll(value | 1)) * 9 + 73) / 64;
}

static inline uint8_t *ntk_perfetto_field(uint8_t *at, unsigned tag, uint64_t value)
{
    return ntk_perfetto_varint(ntk_perfetto_varint(at, tag), value);
}

/* Write an argument of a slice at `at` and return its end. The functions are inline, because a
 * slice has up to a dozen arguments. */
static inline uint8_t *ntk_perfetto_argument(uint8_t *at, unsigned name, unsigned value_tag,
                                             uint64_t value)
{
    uint8_t *length = at + 1;

    *at = NTK_PERFETTO_ANNOTATION;
    at = ntk_perfetto_field(at + 2, NTK_PERFETTO_ANNOTATION_NAME, name);
    at = ntk_perfetto_field(at, value_tag, value);
    *length = (uint8_t)(at - length - 1);
    return at;
}

/* Maximum size of a text of this length that is not interned. */
#define NTK_PERFETTO_TEXT_BYTES(length) ((size_t)(length) + 3 * NTK_PERFETTO_VARINT_BYTES)
static inline uint8_t *ntk_perfetto_text_argument(uint8_t *at, unsigned name, const char *text,
                                                  size_t length)
{
    size_t bytes = ntk_perfetto_varint_bytes(name) + 2 + ntk_perfetto_varint_bytes(length) + length;

    at = ntk_perfetto_field(at, NTK_PERFETTO_ANNOTATION, bytes);
    at = ntk_perfetto_field(at, NTK_PERFETTO_ANNOTATION_NAME, name);
    at = ntk_perfetto_field(at, NTK_PERFETTO_TEXT, length);
    memcpy(at, text, length);
    return at + length;
}

/* Arrows that start or end at one end of a slice: arrows with the same id connect their slices in
 * order of time. */
struct ntk_perfetto_flows {
    const uint64_t *ids;
    size_t count;
};

/* Arguments of a slice, as written by the functions above. */
struct ntk_perfetto_arguments {
    const uint8_t *bytes;
    size_t bytes_count;
};

/* flows: at its start and its end; NULL if none. */
int ntk_perfetto_put_slice(struct ntk_perfetto *w, uint64_t track, uint64_t name, int64_t start_ns,
                           int64_t end_ns, struct ntk_perfetto_arguments arguments,
                           const struct ntk_perfetto_flows flows[2]);
int ntk_perfetto_put_count(struct ntk_perfetto *w, uint64_t track, int64_t time_ns, int64_t value);
int ntk_perfetto_put_number(struct ntk_perfetto *w, uint64_t track, int64_t time_ns, double value);

/* Appends a text of arguments to the next packet of texts; returns its iid. */
uint64_t ntk_perfetto_add_text(struct ntk_perfetto *w, const char *text, struct ntk_buf *texts);
/* Writes the packet before slices that use its texts; empties texts. */
int ntk_perfetto_put_texts(struct ntk_perfetto *w, struct ntk_buf *texts);

/* Writes a capture as a separate sequence. */
int ntk_perfetto_put_capture(struct ntk_perfetto *to, const struct ntk_export *export);
/* Writes folders of inspections with their captures, each capture as a separate sequence. */
int ntk_perfetto_put_folders(struct ntk_perfetto *to, const struct ntk_export *export);

#endif
