/* SPDX-License-Identifier: MIT */
/* matmul_flops - sums over the MATMUL instructions that ran. */
#include "profiler/analysis/matmul_flops.h"

#include "profiler/analysis/open_slot.h"
#include "shared/formats/neff/vendor_slot.h"
#include "profiler/trace/executed.h"

bool ntk_matmul_flops_get(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                          const struct ntk_trace_instruction *instruction, uint64_t *out_flops,
                          bool *out_is_transpose)
{
    struct ntk_isa_instr open;

    if (ntk_open_slot_decode(core, instruction, &open)) {
        const struct ntk_isa_operand *stationary = &open.operand[NTK_ISA_SRC0];
        *out_flops = 2 * (uint64_t)stationary->partition_count *
                     ntk_isa_operand_partition_elements(stationary) *
                     ntk_isa_operand_partition_elements(&open.operand[NTK_ISA_DST]);
        *out_is_transpose = open.op == NTK_ISA_OP_NC_TRANSPOSE;
        return true;
    }
    if (!trace->has_chip || trace->chip.generation != NTK_VENDOR_SLOT_GENERATION) {
        return false;
    }
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);
    *out_flops =
        2 * (uint64_t)trace->chip.pe_rows * trace->chip.pe_columns * ntk_vendor_slot_moving(slot);
    *out_is_transpose = ntk_vendor_slot_is_transpose(slot);
    return true;
}

void ntk_analysis_matmul_flops(const struct ntk_trace *trace, struct ntk_matmul_flops *out_flops)
{
    struct ntk_matmul_flops result = { .is_known = !trace->is_cut.instructions };

    for (size_t c = 0; c < trace->core_count && result.is_known; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        struct ntk_executed executed = { .core = core };
        while (result.is_known && ntk_executed_next(&executed)) {
            uint64_t flops = 0;
            bool is_transpose = false;
            if (executed.instruction.opcode != NTK_NTFF_OPCODE_MATMUL) {
                continue;
            }
            result.is_known =
                ntk_matmul_flops_get(trace, core, &executed.instruction, &flops, &is_transpose);
            result.hardware_flops += executed.times * flops;
            result.transpose_flops += is_transpose ? executed.times * flops : 0;
        }
    }
    *out_flops = result;
}
