/* SPDX-License-Identifier: MIT */
/*
 * run_fixture - runs on a core of NC-v2, and everything that a trace can show about them, in order.
 *
 * Times follow docs/cost-model.md: clocks 2800 (tensor), 1400 (activation, pool, sync), 1120 MHz
 * (vector); 17 bytes per ns and DMA engine; 1300 ns from trigger to first byte.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_ENGINE_RUN_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_ENGINE_RUN_FIXTURE_H

#include "tests/runtime-hooks/engine/engine_fixture.h"

#define CYCLE_64_AT_1400_PS 45714 /* 64 / 1.4 GHz */
#define CYCLE_64_AT_1120_PS 57143
#define DMA_LATENCY_PS 1300000

/* Everything that a trace can show, in order. */
struct run_record {
    char kind;
    uint32_t engine, number, value;
    uint64_t start_ps, end_ps, wait_ps, bytes;
};

#define RUN_RECORDS 4096
struct run_log {
    struct run_record records[RUN_RECORDS];
    size_t count;
};

#define RUN_TEST(name) cmocka_unit_test_setup_teardown(name, run_setup, run_teardown)

int run_setup(void **state);
int run_teardown(void **state);
struct ntk_engine_trace run_log_trace(struct run_log *log);
struct ntk_isa_instr run_nop(uint32_t cycles);
struct ntk_isa_instr run_memset(uint32_t elements);

#endif
