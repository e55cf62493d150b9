/* SPDX-License-Identifier: MIT */
/*
 * perfetto_writer - packets of a Perfetto trace, docs/formats/profile-traces.md: tracks, slices,
 * counters.
 *
 * Names of slices and arguments, and their texts, are numbers of what a packet before says.
 *
 * Owner:   caller's storage; nothing to free. Threads: one. Each function returns 0 or -errno.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_PERFETTO_WRITER_H
#define NTK_PROFILER_OUTPUT_TRACES_PERFETTO_WRITER_H

#include "profiler/output/export.h"
#include "profiler/output/sink.h"
#include "profiler/output/traces/perfetto.pb-c.h"

#define NTK_PERFETTO_EVENT_BYTES 400 /* twelve arguments, each number of ten bytes */

enum { /* flags of packets */
       NTK_PERFETTO_STATE_CLEARED = 1,
       NTK_PERFETTO_NEEDS_STATE = 2,
};

enum { /* kinds of arguments: field << 3 | wire type */
       NTK_PERFETTO_UINT = 3 << 3,
       NTK_PERFETTO_STRING = 17 << 3,
};

struct ntk_perfetto {
    struct ntk_sink *sink;
    uint32_t sequence;     /* of the packets from now on; from 1 */
    int64_t offset_ns;     /* added to the times of slices and counters */
    const char *prefix;    /* of the names of processes of a capture; NULL: none */
    int32_t process_count; /* processes are numbered from 1 */
    uint64_t track_count;  /* tracks are numbered from 1 */
    uint64_t next_text;    /* of arguments; numbers below are taken in this sequence */
};

int ntk_perfetto_put_packet(struct ntk_perfetto *w, Ntk__Perfetto__TracePacket *packet);
int ntk_perfetto_put_process(struct ntk_perfetto *w, int32_t pid, const char *name,
                             uint64_t *out_uuid);
/* parent: the track that it is a further line of; 0 makes it the track of the thread. */
int ntk_perfetto_put_thread(struct ntk_perfetto *w, int32_t pid, int32_t tid, const char *name,
                            uint64_t parent, uint64_t *out_uuid);
int ntk_perfetto_put_counter_track(struct ntk_perfetto *w, const char *name, const char *unit,
                                   uint64_t process, uint64_t *out_uuid);

/* Writes an argument of a slice at `at`; what is behind it. */
uint8_t *ntk_perfetto_argument(uint8_t *at, unsigned name, unsigned value_tag, uint64_t value);
/* Arrows that begin or end at one end of a slice: those of one id go through their slices in order
 * of time. */
struct ntk_perfetto_flows {
    const uint64_t *ids;
    size_t count;
};

/* event: NTK_PERFETTO_EVENT_BYTES, with arguments up to at. flows: of its start and its end; NULL:
 * none. */
int ntk_perfetto_put_slice(struct ntk_perfetto *w, uint64_t track, uint64_t name, int64_t start_ns,
                           int64_t end_ns, uint8_t *event, uint8_t *at,
                           const struct ntk_perfetto_flows flows[2]);
int ntk_perfetto_put_count(struct ntk_perfetto *w, uint64_t track, int64_t time_ns, int64_t value);
int ntk_perfetto_put_number(struct ntk_perfetto *w, uint64_t track, int64_t time_ns, double value);

/* A text of arguments, appended to those of the next packet of texts; its iid. */
uint64_t ntk_perfetto_add_text(struct ntk_perfetto *w, const char *text, struct ntk_buf *texts);
/* The packet, before slices that name them; empties texts. */
int ntk_perfetto_put_texts(struct ntk_perfetto *w, struct ntk_buf *texts);

/* A capture, as its own sequence. */
int ntk_perfetto_put_capture(struct ntk_perfetto *to, const struct ntk_export *export);
/* Folders of inspections with their captures, each capture its own sequence. */
int ntk_perfetto_put_folders(struct ntk_perfetto *to, const struct ntk_export *export);

#endif
