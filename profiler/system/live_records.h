/* SPDX-License-Identifier: MIT */
/*
 * live_records - converts records of a process's rings to events of a system trace, in pieces of
 * its file.
 *
 * Owner:   the caller provides zeroed storage, on the heap because of its size;
 *          ntk_live_records_fini() frees its content. The registry owns the segment.
 * Threads: one at a time.
 */
#ifndef NTK_PROFILER_SYSTEM_LIVE_RECORDS_H
#define NTK_PROFILER_SYSTEM_LIVE_RECORDS_H

#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/formats/ntrace/ntrace.h"
#include "shared/ring/ring_registry.h"

#define NTK_LIVE_PIECE_EVENTS 16384U

/* Start of a core, from the engine records just before the execution. */
struct ntk_live_began {
    uint64_t execution_id;
    uint64_t ticks;
    uint64_t cores; /* bit i is core first + i */
    uint16_t first;
};

struct ntk_live_records {
    struct ntk_ring_segment *segment;
    struct ntk_ring_process process;
    struct ntk_ntrace_writer writer;
    struct ntk_map names;     /* maps a text to its number */
    struct ntk_map models;    /* maps an id to the number of its name */
    struct ntk_vec unwritten; /* elements are char *: names not yet in the file, in order */
    uint32_t type_count;      /* number of types in the file */
    uint64_t events, events_max, beyond;
    uint64_t first_ns; /* time of the earliest event, since 1970; 0 if none */
    uint64_t executions;
    uint64_t tracking_id;
    uint32_t first_logical, core_count;
    uint32_t logical[NTK_SEGMENT_CORES];
    uint64_t device_ns[NTK_SEGMENT_CORES]; /* clock of each core since the start of the recording */
    struct ntk_live_began began[NTK_SEGMENT_THREADS];
    struct ntk_ntrace_event event[NTK_LIVE_PIECE_EVENTS];
    uint32_t nc[NTK_LIVE_PIECE_EVENTS]; /* core of each event */
    struct ntk_ntrace_event of_core[NTK_LIVE_PIECE_EVENTS];
    size_t count;
    struct ntk_ring_core cores[NTK_SEGMENT_CORES];
    struct ntk_ring_model known[NTK_SEGMENT_MODELS];
    struct ntk_ring_comm comms[NTK_SEGMENT_COMMS];
    size_t comm_count;
    bool has_comms; /* true after this drain has read them */
    int failed;     /* 0, or the first failure, after which nothing is written */
    struct ntk_err *err;
};

/* Begins the file. The caller must set segment, process and err, and start the writer. Writes the
 * head of the file. */
void ntk_live_records_begin(struct ntk_live_records *records);
/* Adds new models and cores. */
void ntk_live_records_look(struct ntk_live_records *records);
/* Reads the rings. */
void ntk_live_records_drain(struct ntk_live_records *records);
/* Adds types of events; returns the number of the first. */
uint8_t ntk_live_records_types(struct ntk_live_records *records, const char *const *names,
                               size_t count);
/* Adds a span that no ring has, in ns since 1970. core: global physical core; NTK_NO_CORE if none.
 * name: "" if none. */
void ntk_live_records_span(struct ntk_live_records *records, uint16_t core, uint8_t kind,
                           uint32_t thread_id, const char *name, uint64_t start_ns,
                           uint64_t end_ns);
/* Writes the rest, and the number of lost events. */
void ntk_live_records_end(struct ntk_live_records *records, uint64_t lost);
void ntk_live_records_fini(struct ntk_live_records *records);

#endif
