/* SPDX-License-Identifier: MIT */
/*
 * core_signals - which instruction of another core changed a semaphore of this one.
 *
 * A core changes a semaphore of another one with a WRITE to the address of a register that
 * increments it, or (in the open encoding) at the end of a transfer if its group names it. The core
 * that has the semaphore records a change by DMA. Changes are matched with their makers by order,
 * not by time: if no transfer of the own core changes the semaphore, and exactly one address was
 * written as often as the semaphore changed, and never later than it, then the k-th change was made
 * by the k-th write. In any other case the maker is unknown.
 *
 * Pure: program to result; -ENOMEM.
 * Owner:   caller's storage; ntk_core_signals_fini() frees, also a zeroed one.
 */
#ifndef NTK_PROFILER_ANALYSIS_CORE_SIGNALS_H
#define NTK_PROFILER_ANALYSIS_CORE_SIGNALS_H

#include "profiler/analysis/program.h"

/* Only cores of one device and at most this far apart change one another's semaphores here. */
#define NTK_CORE_SIGNALS_AWAY 7

struct ntk_core_signal {
    uint32_t event; /* index of the change in the core that has the semaphore */
    uint32_t item;  /* the instruction that made it, or started the transfer that did */
    uint16_t core;  /* of the instruction; index in the trace */
    bool is_transfer;
};

struct ntk_core_signals {
    size_t count;
    struct ntk_core_signal *items; /* by event */
};

/* Changes of semaphores of one core. */
int ntk_core_signals_find(const struct ntk_program *program, size_t core_index,
                          struct ntk_core_signals *out_signals);
void ntk_core_signals_fini(struct ntk_core_signals *signals);
/* NULL: the maker of the change is not an instruction of another core, or unknown. */
const struct ntk_core_signal *ntk_core_signals_at(const struct ntk_core_signals *signals,
                                                  uint32_t event);

/* The trace has fewer cores than the capture or the NEFF: another one may have made a change. */
bool ntk_core_signals_lack_cores(const struct ntk_trace *trace);

/* Whether a vendor's slot writes to a register that increments a semaphore. */
bool ntk_core_signals_in(const uint8_t *slot);

#endif
