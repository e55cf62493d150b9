/* SPDX-License-Identifier: MIT */
/*
 * incomplete - kinds of records that a capture lacks, so that answers made from them are partial.
 *
 * Threads: any; no state.
 */
#ifndef NTK_PROFILER_ANALYSIS_INCOMPLETE_H
#define NTK_PROFILER_ANALYSIS_INCOMPLETE_H

#include "profiler/analysis/program.h"
#include "shared/base/buf.h"

enum ntk_lack { /* bits */
                NTK_LACK_INSTRUCTIONS = 1,
                NTK_LACK_EVENTS = 2, /* semaphore and event changes */
                NTK_LACK_PACKETS = 4,
                NTK_LACK_ANY = 7,
};

/* Truncated, missing although the program waits or moves data, or some were dropped (dropped.h). A
 * partial execution may have none. */
unsigned ntk_program_lacks(const struct ntk_program *program);
/* Truncated, missing, or more than NTK_DROPPED_RATIO of the records were dropped: results that need
 * them are wrong. Dropped changes of semaphores do not count, because the recorded ones stay
 * true. */
unsigned ntk_program_lacks_most(const struct ntk_program *program);
#define NTK_DROPPED_RATIO 0.01

/* "instruction records are truncated, DMA records are missing", for the bits in lacks; returns
 * their number. */
unsigned ntk_incomplete_text(const struct ntk_program *program, unsigned lacks,
                             struct ntk_buf *out);

#endif
