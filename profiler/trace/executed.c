/* SPDX-License-Identifier: MIT */
/* executed - visits the counts of slots. */
#include "profiler/trace/executed.h"

static bool next_instruction(struct ntk_executed *executed)
{
    const struct ntk_trace_core *core = executed->core;

    if (!ntk_trace_scan_step(core->is_mapped.instructions, core->instructions,
                             core->instructions + executed->next,
                             core->instructions + core->instruction_count)) {
        return false;
    }
    const struct ntk_trace_instruction *from = &core->instructions[executed->next++];
    executed->instruction = (struct ntk_trace_instruction){ .engine = from->engine,
                                                            .slot = from->slot,
                                                            .opcode = from->opcode };
    executed->times = 1;
    return true;
}

bool ntk_executed_next(struct ntk_executed *executed)
{
    const struct ntk_trace_core *core = executed->core;

    if (!core->has_slot_counts) {
        return core->instruction_count && next_instruction(executed);
    }
    for (; executed->engine < NTK_NTFF_ENGINE_COUNT; executed->engine++, executed->next = 0) {
        const struct ntk_ntff_buffer *buffer = core->ntff->engine_buffers[executed->engine];
        size_t slots = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
        while (executed->next < slots) {
            size_t slot = executed->next++;
            uint64_t times = core->slot_counts[executed->engine][slot];
            if (times) {
                executed->instruction =
                    (struct ntk_trace_instruction){ .engine = (uint8_t)executed->engine,
                                                    .slot = (uint32_t)slot,
                                                    .opcode =
                                                        buffer->code[slot * NTK_NTFF_SLOT_BYTES] };
                executed->times = times;
                return true;
            }
        }
    }
    return false;
}
