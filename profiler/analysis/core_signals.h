/* SPDX-License-Identifier: MIT */
/*
 * core_signals - finds the instruction of another core that changed a semaphore of this core.
 *
 * A core changes a semaphore of another core with a WRITE to the address of a register that
 * increments it, or (in the open encoding) at the end of a transfer if its group has the semaphore.
 * The core that has the semaphore records a change by DMA. Changes are matched with their makers by
 * order, not by time: if no transfer of the same core changes the semaphore, and exactly one
 * address was written as often as the semaphore changed, and never later than the change, then the
 * k-th change was made by the k-th write. In any other case the maker is unknown.
 *
 * Errors:  -ENOMEM.
 * Owner:   the caller provides the storage; ntk_core_signals_fini() frees the content, and accepts
 *          a zeroed struct.
 */
#ifndef NTK_PROFILER_ANALYSIS_CORE_SIGNALS_H
#define NTK_PROFILER_ANALYSIS_CORE_SIGNALS_H

#include "profiler/analysis/program.h"

/* Maximum distance of two cores in one device that may change each other's semaphores. */
#define NTK_CORE_SIGNALS_AWAY 7

struct ntk_core_signal {
    uint32_t event; /* index of the change in the core that has the semaphore */
    uint32_t item;  /* instruction that made the change, or started the transfer that made it */
    uint16_t core;  /* core of the instruction, as index in the trace */
    bool is_transfer;
};

struct ntk_core_signals {
    size_t count;
    struct ntk_core_signal *items; /* by event */
};

/* Finds the changes of semaphores in one core. */
int ntk_core_signals_find(const struct ntk_program *program, size_t core_index,
                          struct ntk_core_signals *out_signals);
void ntk_core_signals_fini(struct ntk_core_signals *signals);
/* Returns NULL if the maker of the change is unknown, or is not an instruction of another core. */
const struct ntk_core_signal *ntk_core_signals_at(const struct ntk_core_signals *signals,
                                                  uint32_t event);

/* Returns true if the trace has fewer cores than the capture or the NEFF: a missing core may have
 * made a change. */
bool ntk_core_signals_lack_cores(const struct ntk_trace *trace);

/* Returns true if a vendor's slot writes to a register that increments a semaphore. */
bool ntk_core_signals_in(const uint8_t *slot);

#endif
