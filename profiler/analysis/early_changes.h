/* SPDX-License-Identifier: MIT */
/*
 * early_changes - corrects changes that a capture records before the instruction that makes them
 * begins.
 *
 * The records of changes and of instructions have different clocks. In version 4 captures, a change
 * by an engine is recorded up to 40 ns before the start of its instruction. Every instruction that
 * began before the change is then the wrong maker.
 *
 * The maker follows from order alone: an engine makes its changes in the order of its program. If
 * the capture has as many changes of a semaphore by an engine as instructions of that engine that
 * make them, the k-th change is that of the k-th instruction. A change that is recorded at most
 * 100 ns before its instruction begins is taken to be at that start, and after the change before it
 * of the same semaphore. If any change of the semaphore by this engine is earlier than that, the
 * two lists do not belong together, and all records stay unchanged. Captures of other versions also
 * stay unchanged, because their changes come after the end of their instructions.
 *
 * Because times are corrected, and not compared with a tolerance, a cause is always earlier than
 * its effect, and every walk along causes ends.
 */
#ifndef NTK_PROFILER_ANALYSIS_EARLY_CHANGES_H
#define NTK_PROFILER_ANALYSIS_EARLY_CHANGES_H

#include "profiler/analysis/lost_changes.h"

#define NTK_EARLY_CHANGES_VERSION 4
#define NTK_EARLY_CHANGES_PS 100000

/* Convert the index of a core's change to its index in dependencies, and back: NTK_NO_CHANGE if
 * it was derived only from its maker. */
#define NTK_NO_CHANGE UINT32_MAX
uint32_t ntk_early_changes_index(const struct ntk_lost_changes *changes,
                                 const struct ntk_trace_core *core, uint32_t recorded);
uint32_t ntk_early_changes_recorded(const struct ntk_lost_changes *changes,
                                    const struct ntk_trace_core *core, uint32_t event);

/* Adds the corrected changes, and the indices of the changes that they replace. Returns 0 or -errno
 * of a list. */
int ntk_early_changes_add(const struct ntk_program *program, size_t core_index,
                          struct ntk_lost_changes *changes);

#endif
