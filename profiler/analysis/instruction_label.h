/* SPDX-License-Identifier: MIT */
/*
 * instruction_label - what an instruction is called in words: by what the compiler wrote, unless
 * one text of the middle end (Penguin) stands for a whole kernel; then by its source line, its name
 * in the back end (BIR), its operation.
 *
 * Layers that tell the instructions of a program apart come first: with several of them, the caller
 * names an instruction after its layer.
 *
 * A text stands for a kernel when its instructions are of several source lines, or, without lines,
 * when it has no loop variables and most instructions of the core.
 *
 * Owner:   ntk_labels_create() allocates, _destroy() frees; the program is borrowed.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_INSTRUCTION_LABEL_H
#define NTK_PROFILER_ANALYSIS_INSTRUCTION_LABEL_H

#include "profiler/analysis/program.h"

#define NTK_LABEL_BYTES 200

struct ntk_labels;

/* NULL if out of memory. For a core whose instructions have no names everything is by operation. */
struct ntk_labels *ntk_labels_create(const struct ntk_program *program, size_t core_index);
void ntk_labels_destroy(struct ntk_labels *labels);
/* Whether it is called after its layer. */
bool ntk_labels_is_layer(const struct ntk_labels *labels, const struct ntk_slot_fact *fact);
/* Whether its Penguin text does not mention it. */
bool ntk_labels_is_kernel(const struct ntk_labels *labels, const struct ntk_slot_fact *fact);

/* "attention.py:394"; "" where it is unknown. Returns buf. */
const char *ntk_label_line(const struct ntk_slot_fact *fact, char *buf, size_t buf_bytes);
/* "$50[i_kv]", "attention.py:394", "I-72-0"; "": its layer is better, or only its
 * operation is known. Returns buf. */
const char *ntk_label_get(const struct ntk_labels *labels, const struct ntk_slot_fact *fact,
                          char *buf, size_t buf_bytes);

#endif
