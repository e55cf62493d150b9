/* SPDX-License-Identifier: MIT */
/*
 * big_trace - the trace of a large capture (ntff_big.h), kept in files of the scratch folder, and
 * the memory that work on it takes.
 *
 * Fails the test on any error.
 */
#ifndef NTK_TESTS_BIG_TRACE_H
#define NTK_TESTS_BIG_TRACE_H

#include "profiler/trace/trace.h"
#include "tests/support/ntff_big.h"

#define MIB ((uint64_t)1 << 20)

struct big_trace {
    struct ntk_ntff *ntff;
    struct ntk_trace *trace;
};

/* Lists longer than list_bytes are in files. */
void big_trace_open(const char *path, size_t list_bytes, struct big_trace *out);
void big_trace_close(struct big_trace *opened);

/* The high-water mark in bytes of a separate process that does the work, which must succeed; the
 * work may exec a program. */
uint64_t big_trace_memory(void (*work)(void *ctx), void *ctx);
/* The same for two captures of those sizes (smaller ones with a sanitizer); work gets a struct
 * big_trace_file. Prints the memory used. */
struct big_trace_file {
    const char *path;
    const struct ntff_big *big;
};
void big_trace_memory_of_sizes(const uint64_t bytes[2], struct ntff_big big,
                               void (*work)(void *ctx), uint64_t out_used[2]);

/* The result of make while no file may exceed 128 KiB, as on a full disk. */
int big_trace_on_full_disk(int (*make)(void *ctx), void *ctx);

#endif
