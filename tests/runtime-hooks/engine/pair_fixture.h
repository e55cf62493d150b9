/* SPDX-License-Identifier: MIT */
/*
 * pair_fixture - two cores of one logical core. Times are computed by hand from docs/cost-model.md
 * for NC-v3: 1200 MHz, 64 cycles are 53333 ps; DMA starts after 1300 ns and moves 23 bytes per ns
 * and engine, a tenth of that in short runs.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_ENGINE_PAIR_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_ENGINE_PAIR_FIXTURE_H

#include "tests/runtime-hooks/engine/engine_fixture.h"

#define CYCLES_64_PS 53333ULL
#define DMA_LATENCY_PS 1300000ULL

struct pair {
    struct engine_fixture cores[2];
    struct ntk_engine_result results[2];
    struct ntk_err err;
};

#define LOAD(offset) "dma_copy D=sbuf(0:1)+" #offset ":int32[16] A=var1:int32[16] done=s9+1\n"
#define STORE(offset) "dma_copy D=var2:int32[16] A=sbuf(0:1)+" #offset ":int32[16] wait=s10>=1\n"

#define PAIR_TEST(name) cmocka_unit_test_setup_teardown(name, pair_setup, pair_teardown)

/* Variable 1: input of 64 bytes, 2: output of 64 bytes; queue set 0 has one queue. */
void pair_init(struct pair *p, unsigned generation);
void pair_fini(struct pair *p);
int pair_setup(void **state);
int pair_teardown(void **state);
void pair_assemble(struct pair *p, int core, enum ntk_isa_engine engine, const char *text);
int pair_try(struct pair *p, const struct ntk_engine_trace *traces, uint64_t timeout_ns);
void pair_must_run(struct pair *p);
void pair_clear(struct pair *p);
int32_t *pair_memory(struct pair *p, int core, uint32_t var);
void pair_fill(struct pair *p);

#endif
