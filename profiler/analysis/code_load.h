/* SPDX-License-Identifier: MIT */
/*
 * code_load - finds the transfer by which the runtime loads code before a program starts.
 *
 * At the start of an execution, one engine writes the number of descriptors to the tail of a ring,
 * then waits for an event that the last descriptor sets. No file identifies this ring. It is known
 * if exactly one ring moved exactly as many packets of at most 8 bytes between the write and the
 * change of the event.
 */
#ifndef NTK_PROFILER_ANALYSIS_CODE_LOAD_H
#define NTK_PROFILER_ANALYSIS_CODE_LOAD_H

#include "profiler/analysis/program.h"

struct ntk_code_load {
    uint32_t by;       /* instruction that started it */
    uint32_t event;    /* change that ended it, as index in the core */
    const char *queue; /* NULL if none was found */
};

void ntk_code_load_find(const struct ntk_program *program, size_t core_index,
                        struct ntk_code_load *out);

#endif
