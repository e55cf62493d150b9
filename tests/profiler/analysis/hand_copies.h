/* SPDX-License-Identifier: MIT */
/*
 * hand_copies - hand-made hardware slots that copy between places of on-chip memory, and random
 * programs of them.
 */
#ifndef NTK_TESTS_PROFILER_ANALYSIS_HAND_COPIES_H
#define NTK_TESTS_PROFILER_ANALYSIS_HAND_COPIES_H

#include "tests/support/hand_trace.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define PSUM 0x2000000U
#define COPY 0x46 /* opcodes */
#define MEMSET 0x49

enum { BFLOAT16 = 6, FP32 = 10 }; /* element types */

/* Little-endian. */
void put(uint8_t *slot, unsigned offset, unsigned bytes, uint64_t value);
/* COPY of this number of elements, or MEMSET, which has no source. */
void make_copy(uint8_t slot[64], uint8_t opcode, uint32_t to, uint32_t from, unsigned count,
               unsigned dtype);
void run(struct hand_trace *h, unsigned engine, const uint8_t slot[64], int64_t start_ns,
         int64_t end_ns);
/* A COPY of FP32 by the vector engine. */
void copy(struct hand_trace *h, uint32_t to, uint32_t from, unsigned count, int64_t start_ns,
          int64_t end_ns);
/* Programs that cannot be decoded: one with an instruction of this opcode on a known machine, and
 * two on unknown machines. */
#define UNKNOWN_PROGRAMS 3
void begin_unknown(struct hand_trace *h, int program, uint8_t opcode);

/* ---- random programs, byte by byte ---- */

#define BYTES 512 /* of memory in use */
#define TIMES 1200
#define RUNS 300

struct execution {
    int64_t start, end;
    unsigned to, from, count; /* bytes */
};

/* Begins a trace of RUNS copies among the first BYTES; at most gap_max ns from one start to the
 * next. */
void begin_random(struct hand_trace *h, unsigned *seed, int gap_max, struct execution all[RUNS]);
bool writes(const struct execution *execution, unsigned byte);
/* The definition, implemented literally: when what execution w wrote to a byte is no longer
 * used. */
int64_t end_of(const struct execution all[RUNS], size_t w, unsigned byte);

#endif
