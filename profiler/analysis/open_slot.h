/* SPDX-License-Identifier: MIT */
/*
 * open_slot - decodes instructions of a capture in the open encoding (docs/isa.md).
 *
 * The decoder rejects bytes that the encoder never writes, so a vendor's instruction is not
 * mistaken for one in the open encoding.
 */
#ifndef NTK_PROFILER_ANALYSIS_OPEN_SLOT_H
#define NTK_PROFILER_ANALYSIS_OPEN_SLOT_H

#include "profiler/trace/trace.h"
#include "shared/formats/neff/isa.h"

/* Returns false if the instruction is not in the open encoding. */
bool ntk_open_slot_decode(const struct ntk_trace_core *core,
                          const struct ntk_trace_instruction *instruction,
                          struct ntk_isa_instr *out_instr);

/* Returns true if an instruction in the open encoding has operands, without decoding it. */
bool ntk_open_slot_has_operands(const struct ntk_trace_core *core,
                                const struct ntk_trace_instruction *instruction);

#endif
