/* SPDX-License-Identifier: MIT */
/*
 * lost_changes - derives changes of semaphores that the capture lost from their makers.
 *
 * When many semaphores change at once, hardware delays changes by up to 20 us, and drops the
 * records of some. Instruction and packet records have separate buffers, so the maker of a
 * change is still recorded: the k-th instruction that increments a semaphore sets it to k, and so
 * does the k-th end of a transfer on a ring. The time of a lost change is
 *
 *   - at the start of an instruction that needed it, if the engine of that one was free before;
 *   - otherwise with a delay between those of the recorded changes before and after it;
 *   - in any case after its maker and the change before it, and before the change after it and each
 *     instruction that needed it or a later one.
 *
 * A semaphore stays unchanged if this would be a guess: it is changed by means other than an
 * increment by 1 and a write of 0, a record has a value that its makers cannot have set, or is
 * earlier than its maker, its core lost instructions or packets, or the trace is a part of the
 * execution.
 *
 * Errors:  -errno of a long list.
 * Owner:   the caller provides the storage; ntk_lost_changes_fini() frees the content, and accepts
 *          a zeroed struct.
 */
#ifndef NTK_PROFILER_ANALYSIS_LOST_CHANGES_H
#define NTK_PROFILER_ANALYSIS_LOST_CHANGES_H

#include "profiler/analysis/program.h"
#include "profiler/trace/long_list.h"

struct ntk_transfers;

struct ntk_lost_changes {
    size_t count;
    const struct ntk_trace_event *events; /* in order of time */
    struct ntk_long_list list;            /* storage of events */
    /* elements are uint32_t: indices of the core's changes that are replaced by those in events, in
     * order */
    struct ntk_long_list replaced;
    /* By number: true if the instruction that made the change to value k is the k-th that changes
     * the semaphore, independent of the delay. */
    bool is_counted[256];
};

/* Finds changes in one core that were lost (dropped.h) or recorded too early (early_changes.h). */
int ntk_lost_changes_find(const struct ntk_program *program, size_t core_index,
                          const struct ntk_transfers *transfers,
                          struct ntk_lost_changes *out_changes);
void ntk_lost_changes_fini(struct ntk_lost_changes *changes);

/* Lists the numbers of all changes in order of time, as uint32_t: changes of the core count from
 * 0, derived changes continue after those. Empty without derived changes. Returns 0 or -errno; the
 * caller frees the list. */
int ntk_lost_changes_order(const struct ntk_lost_changes *changes, const struct ntk_trace *trace,
                           const struct ntk_trace_core *core, struct ntk_long_list *out_order);

#endif
