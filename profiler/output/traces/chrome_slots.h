/* SPDX-License-Identifier: MIT */
/*
 * chrome_slots - writes the arguments of instruction events in JSON: the text of a program's slot,
 * which all its events repeat.
 *
 * Most slots of an unrolled program run once: their text is written directly to the file. From the
 * second time on it is stored. Texts that slots share are quoted once.
 *
 * Owner: _create() allocates, _destroy() frees; the export is borrowed. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_CHROME_SLOTS_H
#define NTK_PROFILER_OUTPUT_TRACES_CHROME_SLOTS_H

#include "profiler/output/export.h"
#include "shared/base/buf.h"

struct ntk_chrome_slots;

/* Returns NULL if out of memory. */
struct ntk_chrome_slots *ntk_chrome_slots_create(const struct ntk_export *export,
                                                 size_t core_index);
void ntk_chrome_slots_destroy(struct ntk_chrome_slots *slots);

/* Appends ,"operands":"..." and the other texts that exist; if out of memory, out fails.
 */
void ntk_chrome_slots_add(struct ntk_chrome_slots *slots,
                          const struct ntk_trace_instruction *instruction, struct ntk_buf *out);

#endif
