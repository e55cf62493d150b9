/* SPDX-License-Identifier: MIT */
/*
 * hand_trace - a hand-made trace, so that every answer is known by construction.
 *
 *   struct hand_trace h;
 *   hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);              // one core, 1000 ns
 *   uint32_t slot = hand_trace_open(&h, 0, NTK_ISA_ENGINE_PE, &instr);
 *   hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, slot, 100, 200);    // ns
 *   hand_trace_end(&h);                                          // sorted: h.trace may be read
 *   hand_trace_fini(&h);
 *
 * Times are ns since the start of the execution. Lists have limits, which assertions check.
 */
#ifndef NTK_TESTS_HAND_TRACE_H
#define NTK_TESTS_HAND_TRACE_H

#include "profiler/trace/trace.h"
#include "shared/formats/neff/isa.h"
#include "shared/formats/neff/neff.h"

#define HAND_TRACE_CORES 2
#define HAND_TRACE_SLOTS 256
#define HAND_TRACE_ITEMS 2048

struct hand_trace {
    struct ntk_trace trace;
    struct ntk_ntff ntff;
    struct ntk_neff neff; /* with hand_trace_name() */
    struct ntk_neff_subgraph neff_subgraphs[HAND_TRACE_CORES];
    struct ntk_ntff_subgraph subgraphs[HAND_TRACE_CORES];
    struct ntk_trace_core cores[HAND_TRACE_CORES];
    struct ntk_ntff_buffer buffers[HAND_TRACE_CORES][NTK_NTFF_ENGINE_COUNT];
    const char *names[HAND_TRACE_CORES][NTK_NTFF_ENGINE_COUNT][32];
    struct ntk_neff_queue_set queue_sets[HAND_TRACE_CORES][8];
    uint8_t *code[HAND_TRACE_CORES][NTK_NTFF_ENGINE_COUNT];
};

/* total_ns 0: the length of the execution is unknown. */
void hand_trace_begin(struct hand_trace *h, size_t core_count, const char *instance_type,
                      int64_t total_ns);
/* Appends an instruction to the program of an engine; returns its slot. */
uint32_t hand_trace_open(struct hand_trace *h, size_t core, unsigned engine,
                         const struct ntk_isa_instr *instr);
uint32_t hand_trace_slot(struct hand_trace *h, size_t core, unsigned engine,
                         const uint8_t bytes[NTK_NTFF_SLOT_BYTES]);
/* An instruction of the open encoding that waits and signals; NTK_ISA_NO_SEMAPHORE: neither. */
uint32_t hand_trace_nop(struct hand_trace *h, size_t core, unsigned engine, unsigned wait,
                        unsigned wait_value, unsigned signal);
void hand_trace_run(struct hand_trace *h, size_t core, unsigned engine, uint32_t slot,
                    int64_t start_ns, int64_t end_ns);
/* The semaphore number gets the value, from an engine or NTK_NTFF_ENGINE_AXI. */
void hand_trace_change(struct hand_trace *h, size_t core, unsigned source, unsigned number,
                       uint32_t value, int64_t at_ns);
void hand_trace_packet(struct hand_trace *h, size_t core, unsigned engine, unsigned queue,
                       enum ntk_trace_dma_class dma_class, uint32_t bytes, int64_t start_ns,
                       int64_t end_ns);
/* Gives an instruction this name in the NEFF; returns its name_id. From then on the trace has a
 * NEFF. */
uint32_t hand_trace_name(struct hand_trace *h, size_t core, unsigned engine, const char *name);
/* Adds a queue set with transfers that change the semaphore to the NEFF; returns its index. */
uint32_t hand_trace_queue(struct hand_trace *h, size_t core, const char *name, unsigned semaphore);
/* For hand_trace_open() on SP: a load of 128 rows from variable 1 by a queue set qSPIO0, which it
 * creates; the data has arrived when semaphore 20 is 1. */
struct ntk_isa_instr hand_trace_load(struct hand_trace *h, size_t core, uint32_t columns);
void hand_trace_end(struct hand_trace *h);
void hand_trace_fini(struct hand_trace *h);

#endif
