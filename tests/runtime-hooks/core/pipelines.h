/* SPDX-License-Identifier: MIT */
/*
 * pipelines - a node of several subgraphs for tests of the code that runs them, and modified files.
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
 * pinned in its state buffer; x -> h1 -> h2 ... -> y. The last of three or more adds h1. Free with
 * free(). */
uint8_t *pipeline_make(uint32_t length, float addend, size_t *out_bytes);
/* The same subgraphs in several nodes, lengths[n] in node n. */
uint8_t *pipelines_make(const uint32_t *lengths, uint32_t node_count, float addend,
                        size_t *out_bytes);
/* The value of y for an x; length: of all nodes. */
float pipeline_expected(uint32_t length, float addend, float x);

/* A copy of the file that replaces every `from` by `to` in members with names that begin with
 * `member`; a NULL `from` replaces the whole member. The text must exist. Free with free(). */
uint8_t *neff_change(const uint8_t *neff, size_t bytes, const char *member, const char *from,
                     const char *to, size_t *out_bytes);

#endif
