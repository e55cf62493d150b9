/* SPDX-License-Identifier: MIT */
/*
 * lost_changes - changes of semaphores that the capture lost, derived from their makers.
 *
 * When many semaphores change at once, hardware delays changes by up to 20 us, and drops the
 * records of some. Instruction and packet records have separate buffers, so what made a
 * change is still there: the k-th instruction that increments a semaphore sets it to k, and so does
 * the k-th end of a transfer on a ring. A lost change came
 *
 *   - at the start of an instruction that needed it, if the engine of that one was free before;
 *   - otherwise with a delay between those of the recorded changes before and after it;
 *   - in any case after its maker and the change before it, and before the change after it and each
 *     instruction that needed it or a later one.
 *
 * A semaphore is left as it is where that would be a guess: something else than an increment by 1
 * and a write of 0 changes it, a record has a value that its makers cannot have set, or is earlier
 * than its maker, its core lost instructions or packets, or the trace is a part of the execution.
 *
 * Pure: program to result. Errors: -errno of a long list.
 * Owner:   caller's storage; ntk_lost_changes_fini() frees, also a zeroed one.
 */
#ifndef NTK_PROFILER_ANALYSIS_LOST_CHANGES_H
#define NTK_PROFILER_ANALYSIS_LOST_CHANGES_H

#include "profiler/analysis/program.h"
#include "profiler/trace/long_list.h"

struct ntk_transfers;

struct ntk_lost_changes {
    size_t count;
    const struct ntk_trace_event *events; /* in time order */
    struct ntk_long_list list;            /* that they are in */
    /* uint32_t: indices of the core's changes that those in events replace, in order */
    struct ntk_long_list replaced;
    /* By number: the instruction that made the change to value k is the k-th that changes the
     * semaphore, however late the change is. */
    bool is_counted[256];
};

/* One core's changes that were lost (dropped.h) or recorded too early (early_changes.h). */
int ntk_lost_changes_find(const struct ntk_program *program, size_t core_index,
                          const struct ntk_transfers *transfers,
                          struct ntk_lost_changes *out_changes);
void ntk_lost_changes_fini(struct ntk_lost_changes *changes);

/* Numbers of all changes in time order, as uint32_t: the core's count from 0, derived ones
 * continue after those. Empty without derived ones. 0 or -errno; the caller frees the
 * list. */
int ntk_lost_changes_order(const struct ntk_lost_changes *changes, const struct ntk_trace *trace,
                           const struct ntk_trace_core *core, struct ntk_long_list *out_order);

#endif
