/* SPDX-License-Identifier: MIT */
/*
 * what_if_time - one core timed again with changed durations, for several changes in one walk: the
 * walk below what_if.h
 *
 * The facts that do not depend on the change are determined once for each instruction and packet:
 * what it waits for, and the measured gaps. Only times exist once per row, side by side (struct
 * ntk_lanes). The row without a change needs no lane: its times are the measured ones.
 *
 * Owner:   caller's storage; ntk_retimed_init() allocates, _fini frees, also a zeroed one.
 * Errors:  -errno of a long list, or -ENOMEM.
 * Threads: one at a time per result.
 */
#ifndef NTK_PROFILER_ANALYSIS_WHAT_IF_TIME_H
#define NTK_PROFILER_ANALYSIS_WHAT_IF_TIME_H

#include "profiler/analysis/what_if.h"

#define NTK_RETIME_LANES 16U
#define NTK_RETIME_MEASURED NTK_RETIME_LANES /* the row without a change */
#define NTK_RETIME_ROWS (NTK_RETIME_LANES + 1)

struct ntk_lanes { /* one time for each row with a change */
    int64_t ps[NTK_RETIME_LANES];
};

/* What decided when the own time of an instruction begins. */
enum ntk_moment_cause {
    NTK_MOMENT_FIRST,    /* nothing was before it */
    NTK_MOMENT_PREVIOUS, /* the previous instruction of its engine */
    NTK_MOMENT_HOLDER,   /* the holder of its engine */
    NTK_MOMENT_CHANGE,   /* the change that it waits for */
    /* It had started, and then waited inside itself for */
    NTK_MOMENT_DRAINED, /* the holder */
    NTK_MOMENT_INSIDE,  /* the change */
};
#define NTK_MOMENT_CAUSE_BITS 3

/*
 * What is kept of each instruction. Where its own time begins, and why, is one number: time <<
 * NTK_MOMENT_CAUSE_BITS | cause. Of rows only the difference is kept: from the measured time, less
 * that of the first instruction of the same engine in the block. Nearly all of these fit into 32
 * bits (268 us); the memory that this walk writes is a third of its CPU time.
 */
struct ntk_retimed_item {
    int64_t kept_ps;          /* just before its start: no dependency explains it */
    int64_t was;              /* its own time, as measured */
    uint32_t start_place;     /* 1 + place in starts; 0: it starts where its own time begins */
    uint32_t wide_place : 31; /* 1 + place in wide: own does not fit; 0: it does */
    /* It waits for a change without a known maker: the stored gap may be the wait. */
    uint32_t is_unknown : 1;
    int32_t own[]; /* of each row: see ntk_retimed_own() */
};

#define NTK_RETIME_BLOCK 256U
/* Own times of the rows less the measured one, of the first instruction kept. */
struct ntk_retimed_base {
    struct ntk_lanes later;
    bool is_set;
};

/* How a row ends. */
struct ntk_retimed_end {
    int64_t end_ps;
    uint32_t last;      /* instruction; NTK_NO_INDEX: none */
    bool ends_in_moved; /* the transfer that ends last was started by `last` */
    int64_t engine_busy_ps[NTK_NTFF_ENGINE_COUNT];
    int64_t dma_busy_ps; /* of the busiest DMA engine */
};

/* Which rows change single instructions of a slot. */
struct ntk_retimed_slots {
    uint64_t *of[NTK_NTFF_ENGINE_COUNT]; /* by slot; 0: not found yet */
};

struct ntk_retimed {
    const struct ntk_program *program;
    const struct ntk_transfers *transfers;
    const struct ntk_core_dependencies *dependencies;
    const struct ntk_what_if_changes *const *changes;
    size_t row_count; /* of changes, at most NTK_RETIME_LANES */
    size_t core;
    size_t tight; /* the row without time that no dependency explains; row_count: none */
    struct ntk_retimed_slots slots;
    double engine_factors[NTK_RETIME_LANES][NTK_NTFF_ENGINE_COUNT]; /* of durations */
    uint32_t single_rows;        /* a bit for each row that changes single instructions */
    struct ntk_long_list items;  /* struct ntk_retimed_item, as long as its rows: one per
                                 * instruction */
    struct ntk_long_list bases;  /* struct ntk_retimed_base: of each block, for each engine */
    struct ntk_long_list wide;   /* struct ntk_lanes: own times as one number each */
    struct ntk_long_list starts; /* struct ntk_lanes, of those that waited inside themselves */
    struct ntk_long_list moved;  /* one per transfer */
    int64_t measured_end_ps;     /* of the last instruction, or packet of a transfer */
    struct ntk_retimed_end ends[NTK_RETIME_ROWS];
    uint64_t unknown_wait_count, unknown_transfer_count;
};

/* Whether a change of transposes, lines or waits applies to the instruction. */
bool ntk_what_if_applies(const struct ntk_program *program, size_t core, uint32_t item,
                         const struct ntk_what_if_change *change);

/* retimed is zeroed, or has the result for another core with the same number of changes: its memory
 * is reused. */
int ntk_retimed_init(struct ntk_retimed *retimed, const struct ntk_program *program,
                     const struct ntk_transfers *transfers,
                     const struct ntk_dependencies *dependencies, size_t core,
                     const struct ntk_what_if_changes *const *changes, size_t count, size_t tight);
void ntk_retimed_fini(struct ntk_retimed *retimed);
/* Adds the parts of the time up to the end to path_ps of each row, and sets its items; a row may
 * be NULL. */
int ntk_retimed_paths(const struct ntk_retimed *retimed,
                      struct ntk_what_if_row *const rows[NTK_RETIME_ROWS]);

static inline struct ntk_retimed_item *ntk_retimed_item_at(const struct ntk_retimed *retimed,
                                                           uint32_t item)
{
    return (void *)((char *)retimed->items.items + item * retimed->items.item_bytes);
}

static inline struct ntk_retimed_base *ntk_retimed_base_at(const struct ntk_retimed *retimed,
                                                           uint32_t item)
{
    unsigned engine = retimed->program->trace->cores[retimed->core].instructions[item].engine;

    return (struct ntk_retimed_base *)retimed->bases.items +
           item / NTK_RETIME_BLOCK * NTK_NTFF_ENGINE_COUNT + engine;
}

/* Its own time and the cause of that in a row. */
static inline int64_t ntk_retimed_own(const struct ntk_retimed *retimed, uint32_t item, size_t lane)
{
    const struct ntk_retimed_item *of = ntk_retimed_item_at(retimed, item);

    if (lane == NTK_RETIME_MEASURED) {
        return of->was;
    }
    if (of->wide_place) {
        return ((const struct ntk_lanes *)retimed->wide.items)[of->wide_place - 1].ps[lane];
    }
    int64_t time_ps = (of->was >> NTK_MOMENT_CAUSE_BITS) +
                      ntk_retimed_base_at(retimed, item)->later.ps[lane] +
                      (of->own[lane] >> NTK_MOMENT_CAUSE_BITS);
    unsigned cause = (unsigned)of->own[lane] & ((1U << NTK_MOMENT_CAUSE_BITS) - 1);
    return (int64_t)((uint64_t)time_ps << NTK_MOMENT_CAUSE_BITS | cause);
}

/* When an instruction ends in a row. */
int64_t ntk_retimed_end_ps(const struct ntk_retimed *retimed, uint32_t item, size_t lane);

#endif
