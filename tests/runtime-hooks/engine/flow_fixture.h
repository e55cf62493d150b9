/* SPDX-License-Identifier: MIT */
/*
 * flow_fixture - programs written as listings, so that running them also tests the labels of the
 * assembler.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_ENGINE_FLOW_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_ENGINE_FLOW_FIXTURE_H

#include "tests/runtime-hooks/engine/engine_fixture.h"

#define CYCLES_64_PS 45714 /* at 1400 MHz */

/* The first bytes of the state buffer, by way of an output. */
#define STORE "dma_copy D=var2:int32[16] A=sbuf(0:1):int32[16]\n"

#define FLOW_TEST(name) cmocka_unit_test_setup_teardown(name, flow_setup, flow_teardown)

int flow_setup(void **state);
int flow_teardown(void **state);
const int32_t *flow_output(struct engine_fixture *f);
void flow_must_run(struct engine_fixture *f);

#endif
