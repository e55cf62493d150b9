/* SPDX-License-Identifier: MIT */
/*
 * instruction_label - selects the readable name of an instruction: the compiler's text, unless one
 * text of the middle end (Penguin) covers a whole kernel; then its source line, its name in the
 * back end (BIR), or its operation.
 *
 * Layers have priority: if a program has several, the caller names an instruction after its layer.
 *
 * A text covers a kernel if its instructions have several source lines or, without lines, if it has
 * no loop variables and most instructions of the core.
 *
 * Owner:   ntk_labels_create() allocates, _destroy() frees; the program is borrowed.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_INSTRUCTION_LABEL_H
#define NTK_PROFILER_ANALYSIS_INSTRUCTION_LABEL_H

#include "profiler/analysis/program.h"

#define NTK_LABEL_BYTES 200

struct ntk_labels;

/* Returns NULL if out of memory. On a core without instruction names, operations are used. */
struct ntk_labels *ntk_labels_create(const struct ntk_program *program, size_t core_index);
void ntk_labels_destroy(struct ntk_labels *labels);
/* Returns true if the instruction is named after its layer. */
bool ntk_labels_is_layer(const struct ntk_labels *labels, const struct ntk_slot_fact *fact);
/* Returns true if its Penguin text covers a whole kernel and so does not identify it. */
bool ntk_labels_is_kernel(const struct ntk_labels *labels, const struct ntk_slot_fact *fact);

/* Writes a line such as "attention.py:394"; "" if unknown. Returns buf. */
const char *ntk_label_line(const struct ntk_slot_fact *fact, char *buf, size_t buf_bytes);
/* Writes a name such as "$50[i_kv]", "attention.py:394" or "I-72-0"; "" if its layer is better or
 * only its operation is known. Returns buf. */
const char *ntk_label_get(const struct ntk_labels *labels, const struct ntk_slot_fact *fact,
                          char *buf, size_t buf_bytes);

#endif
