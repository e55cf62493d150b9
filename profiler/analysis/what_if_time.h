/* SPDX-License-Identifier: MIT */
/*
 * what_if_time - one core timed again with changed durations: the walk below what_if.h
 *
 * Owner:   caller's storage; ntk_retimed_init() allocates, _fini frees, also a zeroed one.
 * Errors:  -errno of a long list, or -ENOMEM.
 * Threads: one at a time per result.
 */
#ifndef NTK_PROFILER_ANALYSIS_WHAT_IF_TIME_H
#define NTK_PROFILER_ANALYSIS_WHAT_IF_TIME_H

#include "profiler/analysis/what_if.h"

/* What decided when an instruction could start. */
enum ntk_moment_cause {
    NTK_MOMENT_FIRST,    /* nothing was before it */
    NTK_MOMENT_ENGINE,   /* from executed before it */
    NTK_MOMENT_CHANGE,   /* from made the change */
    NTK_MOMENT_TRANSFER, /* from began the transfer that made it */
};

struct ntk_moment { /* of an instruction, timed again */
    int64_t start_ps, end_ps;
    int64_t own_ps;  /* from then on its time is its own; before, it waited inside itself */
    int64_t kept_ps; /* just before start_ps: no dependency explains it */
    uint32_t from;   /* instruction that decided own_ps */
    uint8_t cause;   /* enum ntk_moment_cause */
    bool is_done;    /* end_ps and own_ps are known */
    bool is_unknown; /* it waits for a change without a known maker: what is kept may be the wait */
};

struct ntk_retimed {
    const struct ntk_program *program;
    const struct ntk_transfers *transfers;
    const struct ntk_core_dependencies *dependencies;
    const struct ntk_what_if_changes *changes;
    size_t core;
    bool is_tight;                /* time that no dependency explains is dropped */
    struct ntk_long_list moments; /* struct ntk_moment: one per instruction */
    struct ntk_long_list moved;   /* one per transfer */
    int64_t measured_end_ps;      /* of the last instruction, or packet of a transfer */
    int64_t end_ps;
    uint32_t last;      /* instruction; NTK_NO_INDEX: none */
    bool ends_in_moved; /* last began the transfer that ends last */
    int64_t engine_busy_ps[NTK_NTFF_ENGINE_COUNT];
    int64_t dma_busy_ps; /* of the busiest DMA engine */
    uint64_t unknown_wait_count, unknown_transfer_count;
};

/* Whether a change of transposes, lines or waits is about the instruction. */
bool ntk_what_if_applies(const struct ntk_program *program, size_t core, uint32_t item,
                         const struct ntk_what_if_change *change);

int ntk_retimed_init(struct ntk_retimed *retimed, const struct ntk_program *program,
                     const struct ntk_transfers *transfers,
                     const struct ntk_dependencies *dependencies, size_t core,
                     const struct ntk_what_if_changes *changes, bool is_tight);
void ntk_retimed_fini(struct ntk_retimed *retimed);
/* Adds what the time up to end_ps is made of to path_ps of the row, and sets its items. */
int ntk_retimed_path(const struct ntk_retimed *retimed, struct ntk_what_if_row *row);

#endif
