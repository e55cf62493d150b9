/* SPDX-License-Identifier: MIT */
/*
 * hooks_so - the hooks in a shared library, with exported functions like those of a runtime.
 */
#ifndef NTK_TESTS_BENCH_HOOKS_SO_H
#define NTK_TESTS_BENCH_HOOKS_SO_H

#include <stdint.h>

int bench_so_attach(void);
void bench_so_detach(void);
/* An empty call into the library: the cost of the call itself. */
void bench_so_nothing(uint64_t a, uint64_t b);
/* One record: a timestamp and 64 bytes. */
void bench_so_mark(uint64_t a, uint64_t b);
/* A program's own range with its name, as neuron/marks.h records it. */
void bench_so_range(const char *name, uint64_t value);
/* Begin and end of an execution in which six engines worked: counters, histograms, seven
 * records. */
void bench_so_execute(uint64_t id);
/* The same in two halves, one execution at a time. */
void bench_so_execute_begin(uint64_t id);
void bench_so_execute_end(void);

#endif
