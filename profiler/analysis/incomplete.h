/* SPDX-License-Identifier: MIT */
/*
 * incomplete - finds kinds of records that a capture lacks, so that results based on them are
 * partial.
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

/* Returns kinds of records that are truncated, missing although the program waits or moves data, or
 * partly dropped (dropped.h). A partial execution may have none. */
unsigned ntk_program_lacks(const struct ntk_program *program);
/* Returns kinds of records that are truncated, missing, or with more than NTK_DROPPED_RATIO
 * dropped: results that need them are wrong. Dropped changes of semaphores do not count, because
 * the recorded changes are still true. */
unsigned ntk_program_lacks_most(const struct ntk_program *program);
#define NTK_DROPPED_RATIO 0.01

/* Writes a text for the bits in lacks, such as "instruction records are truncated, DMA records are
 * missing"; returns the number of kinds. */
unsigned ntk_incomplete_text(const struct ntk_program *program, unsigned lacks,
                             struct ntk_buf *out);

#endif
