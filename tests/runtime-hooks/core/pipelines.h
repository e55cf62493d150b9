/* SPDX-License-Identifier: MIT */
/*
 * pipelines - a node of several subgraphs for tests of what runs them, and files that are no longer
 * what their builder made.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_CORE_PIPELINES_H
#define NTK_TESTS_RUNTIME_HOOKS_CORE_PIPELINES_H

#include <stddef.h>
#include <stdint.h>

#define PIPELINE_ROWS 128
#define PIPELINE_COLUMNS 64
#define PIPELINE_ELEMENTS (PIPELINE_ROWS * PIPELINE_COLUMNS)
#define PIPELINE_BYTES (PIPELINE_ELEMENTS * sizeof(float))

/* Node "pipe" of float32 tensors: subgraph s multiplies by s + 2 and adds `addend` + s, which is
 * pinned in its state buffer; x -> h1 -> h2 ... -> y. The last of three or more adds h1. Freed with
 * free(). */
uint8_t *pipeline_make(uint32_t length, float addend, size_t *out_bytes);
/* The same subgraphs in several nodes, so many in each. */
uint8_t *pipelines_make(const uint32_t *lengths, uint32_t node_count, float addend,
                        size_t *out_bytes);
/* What y is for an x; length: of all nodes. */
float pipeline_expected(uint32_t length, float addend, float x);

/* A copy of the file in which every `from` in members whose name begins with `member` is `to`; a
 * NULL `from` is the whole member. The text must be there. Freed with free(). */
uint8_t *neff_change(const uint8_t *neff, size_t bytes, const char *member, const char *from,
                     const char *to, size_t *out_bytes);

#endif
