/* SPDX-License-Identifier: MIT */
/*
 * dropped - estimates the number of records that the capture lost between its first and its last.
 *
 * The numbers are lower bounds, each from records that must exist according to the program and the
 * other records:
 *
 *   instructions  An instruction that is not a branch is followed by the next slot of the program.
 *                 A slot with fewer records than the one before it lost the difference.
 *   changes       Each instruction that changes a semaphore leaves one change with its engine. If
 *                 there are fewer of them, the difference was lost. An increment that adds more
 *                 than 1 to the value of the change before it follows changes without a record.
 *                 For each semaphore, the larger number counts. Counted for a vendor's program and
 *                 the runtime's code around it: software cores drop nothing, and record an
 *                 increment by 16 as one change.
 *   bytes         The packets of a queue that move fewer bytes than its transfers lost the
 *                 difference. Counted for queues with transfers that copy or cast.
 *
 * A part of an execution has 0 of all; without counts of slots, instructions are 0.
 *
 * Errors:  -ENOMEM.
 * Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_DROPPED_H
#define NTK_PROFILER_ANALYSIS_DROPPED_H

#include "profiler/analysis/program.h"

int ntk_analysis_dropped(const struct ntk_program *program, struct ntk_dropped *out_dropped);

/* Returns the share of lost records among all records. */
static inline double ntk_lost_ratio(const struct ntk_lost *lost)
{
    return lost->lost ? (double)lost->lost / ((double)lost->lost + (double)lost->there) : 0;
}

#endif
