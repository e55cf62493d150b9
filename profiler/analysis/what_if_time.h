/* SPDX-License-Identifier: MIT */
/*
 * what_if_time - recomputes the times of one core with changed durations, for what_if.h.
 *
 * Owner:   caller's storage; ntk_retimed_init() allocates, _fini frees, also a zeroed one.
 * Errors:  -errno of a long list, or -ENOMEM.
 * Threads: one at a time per result.
 */
#ifndef NTK_PROFILER_ANALYSIS_WHAT_IF_TIME_H
#define NTK_PROFILER_ANALYSIS_WHAT_IF_TIME_H

#include "profiler/analysis/what_if.h"

/* What determined the start of an instruction. */
enum ntk_moment_cause {
    NTK_MOMENT_FIRST,    /* it had no predecessor */
    NTK_MOMENT_ENGINE,   /* the previous instruction of the engine */
    NTK_MOMENT_CHANGE,   /* the instruction that made the change */
    NTK_MOMENT_TRANSFER, /* the instruction that started the transfer that made it */
};

struct ntk_moment { /* recomputed times of an instruction */
    int64_t start_ps, end_ps;
    int64_t own_ps;  /* start of its own time; before it, the instruction waited inside itself */
    int64_t kept_ps; /* unexplained time just before start_ps */
    uint32_t from;   /* instruction that determined own_ps */
    uint8_t cause;   /* enum ntk_moment_cause */
    bool is_done;    /* end_ps and own_ps are known */
    bool is_unknown; /* it waits for a change of unknown origin: kept time may be the wait */
};

struct ntk_retimed {
    const struct ntk_program *program;
    const struct ntk_transfers *transfers;
    const struct ntk_core_dependencies *dependencies;
    const struct ntk_what_if_changes *changes;
    size_t core;
    bool is_tight;                /* unexplained time is dropped */
    struct ntk_long_list moments; /* struct ntk_moment: one per instruction */
    struct ntk_long_list moved;   /* one per transfer */
    int64_t measured_end_ps;      /* of the last instruction, or packet of a transfer */
    int64_t end_ps;
    uint32_t last;      /* instruction; NTK_NO_INDEX: none */
    bool ends_in_moved; /* last started the transfer that ends last */
    int64_t engine_busy_ps[NTK_NTFF_ENGINE_COUNT];
    int64_t dma_busy_ps; /* of the busiest DMA engine */
    uint64_t unknown_wait_count, unknown_transfer_count;
};

/* Whether a change of transposes, lines or waits applies to the instruction. */
bool ntk_what_if_applies(const struct ntk_program *program, size_t core, uint32_t item,
                         const struct ntk_what_if_change *change);

int ntk_retimed_init(struct ntk_retimed *retimed, const struct ntk_program *program,
                     const struct ntk_transfers *transfers,
                     const struct ntk_dependencies *dependencies, size_t core,
                     const struct ntk_what_if_changes *changes, bool is_tight);
void ntk_retimed_fini(struct ntk_retimed *retimed);
/* Adds the composition of the time up to end_ps to path_ps of the row, and sets its items. */
int ntk_retimed_path(const struct ntk_retimed *retimed, struct ntk_what_if_row *row);

#endif
