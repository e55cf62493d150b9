/* SPDX-License-Identifier: MIT */
/*
 * engine_flow - what a sequencer calculates on its registers.
 *
 * Private to the engine and its tests. Threads: a pure function.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_ENGINE_FLOW_H
#define NTK_RUNTIME_HOOKS_CORE_ENGINE_FLOW_H

#include <stdint.h>

#include "shared/formats/neff/isa.h"

/* 32-bit two's complement, wrapping; comparisons are signed and give 1 or 0. op is one that ntk_isa_check()
 * takes for register_alu or compare_branch. */
int32_t ntk_engine_register_alu(enum ntk_isa_alu op, int32_t a, int32_t b);

#endif
