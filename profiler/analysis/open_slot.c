/* SPDX-License-Identifier: MIT */
/* open_slot - passes the bytes of an executed instruction to the decoder of the open encoding. */
#include "profiler/analysis/open_slot.h"

#define OPERAND_SLOTS 2 /* byte with the number of following slots, one per operand */

bool ntk_open_slot_decode(const struct ntk_trace_core *core,
                          const struct ntk_trace_instruction *instruction,
                          struct ntk_isa_instr *out_instr)
{
    const struct ntk_ntff_buffer *buffer = core->ntff->engine_buffers[instruction->engine];
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);
    size_t slots;

    if (!slot) {
        return false;
    }
    size_t left = (size_t)(buffer->code_bytes - (uint64_t)(slot - buffer->code));
    return ntk_isa_decode(slot, left, (enum ntk_isa_engine)instruction->engine, out_instr, &slots,
                          NULL) == 0;
}

bool ntk_open_slot_has_operands(const struct ntk_trace_core *core,
                                const struct ntk_trace_instruction *instruction)
{
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);

    return slot && slot[OPERAND_SLOTS] != 0;
}
