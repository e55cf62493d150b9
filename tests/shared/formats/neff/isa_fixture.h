/* SPDX-License-Identifier: MIT */
/*
 * isa_fixture - random instructions of every operation, by a small generator of our own, so that
 * runs are the same everywhere.
 */
#ifndef NTK_TESTS_SHARED_FORMATS_NEFF_ISA_FIXTURE_H
#define NTK_TESTS_SHARED_FORMATS_NEFF_ISA_FIXTURE_H

#include <stdint.h>

#include "shared/formats/neff/isa.h"

uint32_t pick(uint32_t below);
struct ntk_isa_operand any_tile(enum ntk_isa_space space, unsigned partitions, uint32_t elements,
                                enum ntk_dtype dtype);
/* A valid instruction of the operation, with random fields where it has any. */
struct ntk_isa_instr any_instr(const struct ntk_isa_op_info *info);
enum ntk_isa_engine first_engine(const struct ntk_isa_op_info *info);

#endif
