/* SPDX-License-Identifier: MIT */
/*
 * memory_use_name - returns the name of a use of device memory in outputs, the same for all writers
 * of traces (docs/formats/memory-uses.md).
 *
 * Owner: texts are constants, or the word that was passed. Threads: any.
 */
#ifndef NTK_PROFILER_SYSTEM_MEMORY_USE_NAME_H
#define NTK_PROFILER_SYSTEM_MEMORY_USE_NAME_H

/* Types in the schema; others are unknown. */
enum ntk_hbm_type {
#define NTK_MEMORY_USE(symbol, name, vendor, ours, meaning) NTK_HBM_##symbol,
#include "profiler/system/memory_use.def"
    NTK_HBM_TYPE_COUNT
};

/* Translates a word in traces of this project or the vendor; returns the word itself if unknown. */
const char *ntk_memory_use_name(const char *word);
/* Returns the type of a name from the function above. */
enum ntk_hbm_type ntk_memory_use_type(const char *name);

#endif
