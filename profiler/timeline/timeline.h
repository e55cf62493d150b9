/* SPDX-License-Identifier: MIT */
/*
 * timeline - converts captures to rows of slices, each with a pyramid of buckets for drawing at any
 * zoom.
 *
 * A track is one row: an engine, a DMA queue, a semaphore, the bytes moved by all queues of a core,
 * a host thread. Its slices are sorted by start. The pyramid has, for buckets of 2^n
 * ps, the busy time of the row, its main content, and the number of slices that start. It is built
 * once, so the cost of an answer depends on the screen, not on the capture.
 *
 * Data beyond several tens of megabytes is in a mapped temporary file (trace/spill.h): memory does
 * not grow with the capture if passes over many slices return memory.
 *
 * Owner:   ntk_timeline_create() allocates, _destroy() frees; the traces are borrowed and must
 *          outlive it.
 * Threads: any; immutable after creation: any number of readers.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_H
#define NTK_PROFILER_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/analysis/rank_ops.h"
#include "profiler/system/system_trace.h"
#include "profiler/trace/spill.h"
#include "profiler/trace/trace.h"
#include "shared/base/err.h"
#include "shared/base/vec.h"

enum ntk_timeline_kind {
    NTK_TIMELINE_ENGINE,
    NTK_TIMELINE_QUEUE,     /* lanes are DMA engines */
    NTK_TIMELINE_SEMAPHORE, /* a slice is the time with one value */
    NTK_TIMELINE_RATE,      /* no slices: bytes per second of all queues on the core */
    /* Spans of a host thread, or of a core as seen by the host; lanes nest */
    NTK_TIMELINE_HOST,
    NTK_TIMELINE_COUNTER, /* a slice is the time between two samples or values */
    NTK_TIMELINE_REGION,  /* a slice is one instance of a region; lanes nest */
    NTK_TIMELINE_RANK,    /* activity of a rank, joined at collectives; or the rank of the path */
    NTK_TIMELINE_KIND_COUNT
};

#define NTK_TIMELINE_LANES_MAX 32
#define NTK_TIMELINE_NO_GROUP UINT32_MAX
#define NTK_TIMELINE_NO_SOURCE UINT32_MAX

struct ntk_timeline_slice {
    int64_t start_ps, end_ps;
    uint32_t ref;  /* index in the trace's list, or in the spans, values or instances of the row */
    uint16_t what; /* index in whats: the opcode, class of transfer, cause of a change */
    uint8_t lane;
    bool is_wait; /* EVENT_SEMAPHORE: the engine waits, which is not activity */
};

/* A bucket. Busy time counts overlaps once and excludes waiting: a queue is busy while any of its
 * DMA engines is. */
struct ntk_timeline_node {
    float busy_ps; /* for a semaphore: sum of value * ps */
    float vote_ps; /* lead of `what` in the vote; for a semaphore: the largest value */
    /* bytes of packets, spread over their time; cycles waited by instructions that start here */
    float sum;
    uint32_t count; /* number of slices that start here */
    uint16_t what;  /* content with more than half of the busy time, if any */
    uint16_t reserved;
};

/* Buckets of 2^level ps since the timeline's start. */
struct ntk_timeline_level {
    size_t node_count;
    struct ntk_timeline_node *nodes;
};

struct ntk_timeline_pyramid {
    unsigned first;     /* finest stored level */
    size_t level_count; /* levels are first, first + 1 and so on */
    /* the last level has at most NTK_TIMELINE_TILE_BUCKETS nodes */
    struct ntk_timeline_level *levels;
    int64_t *block_end_ps; /* largest end in each block of slices */
};

struct ntk_timeline_track {
    char name[NTK_NTFF_NAME_BYTES];
    enum ntk_timeline_kind kind;
    uint32_t group;
    const struct ntk_trace_core *core;   /* NULL for a row of a host or of ranks */
    const struct ntk_system_trace *host; /* for hosts and their counters; else NULL */
    uint32_t *values;                    /* for COUNTER: in units of scale */
    const char *unit;                    /* for COUNTER, static: such as "KiB", "%" or "B/s" */
    const char *help;                    /* for COUNTER of a core, static: meaning of the values */
    double scale;                        /* for COUNTER of a core; 0 means 1 */
    uint32_t lane_count;                 /* at least 1 */
    uint16_t lane_ids[NTK_TIMELINE_LANES_MAX]; /* for QUEUE: the DMA engine */
    const struct ntk_spill
        *spill; /* spill of the timeline: stores slices, values and the levels of the pyramid */
    size_t slice_count;
    struct ntk_timeline_slice *slices;
    double value_max; /* for SEMAPHORE and COUNTER: largest value */
    struct ntk_timeline_pyramid pyramid;
};

/* Returns true if its values are computed from other tracks: they are not events, and no hits of a
 * search. */
static inline bool ntk_timeline_is_counter_of_core(const struct ntk_timeline_track *track)
{
    return track->kind == NTK_TIMELINE_COUNTER && track->core;
}

struct ntk_timeline_group {
    char name[NTK_NTFF_NAME_BYTES];
    uint32_t parent; /* index of the parent, or NTK_TIMELINE_NO_GROUP */
    uint32_t source; /* NTK_TIMELINE_NO_SOURCE for a host */
    bool is_folded;  /* initially folded */
};

/* A kind of slices, such as "MATMUL" or "io". */
struct ntk_timeline_what {
    char name[64];
    const char *family; /* static: "instruction", "dma" or "semaphore" */
};

struct ntk_timeline_regions;

struct ntk_timeline_source {
    const struct ntk_trace *trace;
    const char *name;  /* such as "rank 3", or a file; borrowed */
    int64_t offset_ps; /* added to the times of the source */
};

struct ntk_timeline_host {
    const struct ntk_system_trace *trace;
    const char *name; /* borrowed */
    uint64_t zero_ns; /* host time of 0 on the timeline; the same for all hosts */
    bool is_folded;   /* initially folded */
};

struct ntk_timeline_options {
    const struct ntk_timeline_source *sources;
    size_t source_count;
    const struct ntk_timeline_host *hosts;
    size_t host_count;
    bool compares;                /* source 1 is a later run of source 0 */
    struct ntk_rank_list *ranks;  /* finished list; NULL without rows of ranks */
    uint64_t ranks_zero_ns;       /* like zero_ns of hosts, and equal to it if there are both */
    ntk_trace_progress *progress; /* NULL if not needed */
    void *progress_ctx;
    size_t heap_bytes;  /* larger data is stored in a temporary file; 0 for NTK_SPILL_HEAP_BYTES */
    const char *folder; /* folder of the file; NULL for $TMPDIR, else /var/tmp */
};

struct ntk_timeline {
    size_t source_count;
    struct ntk_timeline_source *sources;
    struct ntk_timeline_regions **regions; /* by source: its repeated regions */
    bool compares;                         /* same as in the options, if there are two sources */
    int64_t begin_ps, end_ps;              /* range of all rows; begin_ps <= 0 */
    uint64_t slice_count;
    /* Number of computed slices; the others are events of the captures */
    uint64_t derived_slice_count;
    uint64_t zero_ns;      /* host time of 0 on the timeline; 0 without a host */
    struct ntk_vec groups; /* elements are struct ntk_timeline_group */
    /* elements are struct ntk_timeline_track; a core's RATE follows its queues */
    struct ntk_vec tracks;
    struct ntk_vec whats; /* elements are struct ntk_timeline_what */
    struct ntk_spill spill;
};

/* Returns 0, -ENOMEM, or -errno with a message if the temporary file fails; names are copied. */
int ntk_timeline_create(const struct ntk_timeline_options *options,
                        struct ntk_timeline **out_timeline, struct ntk_err *err);
void ntk_timeline_destroy(struct ntk_timeline *timeline);

const struct ntk_timeline_track *ntk_timeline_track_get(const struct ntk_timeline *timeline,
                                                        size_t index);
/* Returns the track, if it exists and has the slice; else NULL with a message. */
const struct ntk_timeline_track *ntk_timeline_track_with(const struct ntk_timeline *timeline,
                                                         uint64_t track, uint64_t slice,
                                                         struct ntk_err *err);
/* Returns a name such as "engine" or "queue". */
const char *ntk_timeline_kind_name(enum ntk_timeline_kind kind);
/* Returns true if the row is a value over time instead of slices. */
static inline bool ntk_timeline_is_value(const struct ntk_timeline_track *track)
{
    return track->kind == NTK_TIMELINE_SEMAPHORE || track->kind == NTK_TIMELINE_COUNTER;
}
/* Returns memory of processed slices and of their sources to the system. */
void ntk_timeline_give_back(const struct ntk_timeline_track *track, size_t first, size_t count);
/* Returns memory of all tracks and sources to the system. */
void ntk_timeline_give_back_all(const struct ntk_timeline *timeline);
#define NTK_TIMELINE_PASS ((size_t)4 << 10)
/* Must be called with each index of a pass, in either direction; returns memory to the system
 * occasionally. */
static inline void ntk_timeline_pass(const struct ntk_timeline_track *track, size_t index,
                                     bool is_back)
{
    if (index % NTK_TIMELINE_PASS == 0) {
        if (is_back) {
            ntk_timeline_give_back(track, index + NTK_TIMELINE_PASS, NTK_TIMELINE_PASS);
        } else if (index >= 2 * NTK_TIMELINE_PASS) {
            ntk_timeline_give_back(track, index - 2 * NTK_TIMELINE_PASS, NTK_TIMELINE_PASS);
        }
    }
}
/* Returns bytes of a packet or span, value of a semaphore or counter, or base cycles that an
 * instruction waited. */
uint32_t ntk_timeline_slice_value(const struct ntk_timeline_track *track,
                                  const struct ntk_timeline_slice *slice);

#endif
