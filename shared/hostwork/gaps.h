/* SPDX-License-Identifier: MIT */
/*
 * gaps - finds the times when cores of an observed process were idle, its marks and its collective
 * operations, from the events and counters in its segment.
 *
 * _begin() at the start of an observation, _follow() several times per second (the rings overwrite
 * their oldest events), _end() at its end.
 *
 * Owner:   caller's storage; the registry owns the segment; _fini() frees.
 * Threads: one.
 */
#ifndef NTK_SHARED_HOSTWORK_GAPS_H
#define NTK_SHARED_HOSTWORK_GAPS_H

#include "shared/base/err.h"
#include "shared/hostwork/hostwork.h"
#include "shared/ring/ring_registry.h"

struct ntk_core_gaps {
    struct ntk_ring_segment *segment;
    struct ntk_host_records *records;
    uint64_t start_ns, followed_ns;
    /* elements are struct busy of gaps.c: intervals in which a core had work */
    struct ntk_vec busy;
    uint64_t beyond;        /* executions that did not fit in the list */
    uint64_t missed;        /* events lost in any ring until followed_ns */
    uint64_t missed_before; /* the part of missed from before the start */
    /* elements are struct blind of gaps.c: intervals in which events were lost */
    struct ntk_vec blinds;
    uint32_t main_tid; /* thread that is responsible while no thread submits work */
    bool has_parts;    /* for our software cores: each core of a model writes a record */
    struct ntk_ring_model *models;
    size_t model_count;
    struct ntk_ring_core cores[NTK_SEGMENT_CORES];
    uint64_t held_ns[NTK_SEGMENT_CORES]; /* time at which each core was last seen held; 0: never */
};

/* Returns -ENODATA with a message if the process records no events, or its executions are not
 * observed. */
int ntk_core_gaps_begin(struct ntk_core_gaps *gaps, struct ntk_ring_segment *segment,
                        struct ntk_host_records *records, uint64_t now_ns, struct ntk_err *err);
/* Discards everything before now_ns, because a sampler takes a while to start. */
void ntk_core_gaps_start(struct ntk_core_gaps *gaps, uint64_t now_ns);
/* Reads the new events. Returns whether a core of the process is idle now. */
bool ntk_core_gaps_follow(struct ntk_core_gaps *gaps);
/* Writes gaps, marks and collective operations to the records. *out_cores is the number of the
 * process's cores. */
int ntk_core_gaps_end(struct ntk_core_gaps *gaps, uint64_t now_ns, uint32_t *out_cores);
void ntk_core_gaps_fini(struct ntk_core_gaps *gaps);

#endif
