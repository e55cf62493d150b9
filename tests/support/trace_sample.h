/* SPDX-License-Identifier: MIT */
/*
 * trace_sample - a generated trace of any size: no file, no NEFF, every time and name known.
 *
 * One core (number 2) of a trn2.48xlarge. With n instructions, n packets and n changes per 10:
 *   Tensor   instruction i: MATMUL, from i * 1000 ns for 800 ns; every tenth an EVENT_SEMAPHORE
 *   Vector   instruction i: TENSOR_REDUCE, from i * 1000 ns for 250 ns
 *   queue qSyncDynamicHW on engines 32 to 47: packet i on engine 32 + i % 16, from i * 1000 ns
 *     for 2000 ns, 2048 bytes
 *   semaphore 7 counts 1 to 4 and over again, change i at i * 1000 ns, by Tensor
 * Instructions and packets alternate, so times above belong to the i-th of the same row.
 */
#ifndef NTK_TESTS_TRACE_SAMPLE_H
#define NTK_TESTS_TRACE_SAMPLE_H

#include "profiler/trace/trace.h"

#define TRACE_SAMPLE_SLOTS 1000 /* of each program, executed repeatedly */

struct trace_sample {
    struct ntk_ntff ntff;
    struct ntk_ntff_subgraph subgraph;
    struct ntk_ntff_queue queues[NTK_NTFF_DMA_ENGINES];
    struct ntk_ntff_buffer buffers[2];
    uint8_t code[2][TRACE_SAMPLE_SLOTS * NTK_NTFF_SLOT_BYTES];
    struct ntk_trace_core core;
    struct ntk_trace trace;
};

/* count of each of the four rows. Aborts without memory. */
struct trace_sample *trace_sample_create(size_t count);
void trace_sample_destroy(struct trace_sample *sample);

#endif
