/* SPDX-License-Identifier: MIT */
/* matmul_flops - adds up the MATMUL instructions that ran. */
#include "profiler/analysis/matmul_flops.h"

#include "profiler/analysis/open_slot.h"
#include "profiler/trace/executed.h"
#include "shared/formats/neff/vendor_slot.h"

/* on NC-v3 and later, two FP8 products take the time of one 16-bit product */
#define FP8_FAST_GENERATION 3

/* Returns the adjusted operations per four of that element type; 0 if unknown. */
static unsigned quarters_of(enum ntk_dtype dtype, const struct ntk_trace *trace)
{
    switch (dtype) {
    case NTK_DTYPE_FLOAT32:
        return 16;
    case NTK_DTYPE_FLOAT32R:
    case NTK_DTYPE_BFLOAT16:
    case NTK_DTYPE_FLOAT16:
        return 4;
    case NTK_DTYPE_FLOAT8E3:
    case NTK_DTYPE_FLOAT8E4:
    case NTK_DTYPE_FLOAT8E5:
        return trace->has_chip && trace->chip.generation >= FP8_FAST_GENERATION ? 2 : 4;
    case NTK_DTYPE_UINT8:
        return 2;
    default:
        return 0;
    }
}

static void get_open(const struct ntk_trace *trace, const struct ntk_isa_instr *open,
                     struct ntk_matmul *out)
{
    const struct ntk_isa_operand *stationary = &open->operand[NTK_ISA_SRC0];
    unsigned quarters = quarters_of(stationary->dtype, trace);

    out->elements = (uint64_t)stationary->partition_count *
                    ntk_isa_operand_partition_elements(stationary) *
                    ntk_isa_operand_partition_elements(&open->operand[NTK_ISA_DST]);
    out->is_transpose = open->op == NTK_ISA_OP_NC_TRANSPOSE;
    out->flops = 2 * out->elements;
    out->useful_flops = out->flops;
    out->dtype = (uint8_t)stationary->dtype;
    out->has_adjusted = quarters != 0;
    out->adjusted_flops = out->flops * quarters / 4;
}

bool ntk_matmul_get(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                    const struct ntk_trace_instruction *instruction, struct ntk_matmul *out_matmul)
{
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);
    struct ntk_vendor_flops vendor;
    struct ntk_isa_instr open;

    if (ntk_open_slot_decode(core, instruction, &open)) {
        get_open(trace, &open, out_matmul);
        return true;
    }
    if (!slot || !trace->has_chip || !ntk_vendor_slot_has_layout(trace->chip.generation) ||
        !ntk_vendor_slot_flops(slot, trace->metrics, &vendor)) {
        return false;
    }
    *out_matmul = (struct ntk_matmul){ .is_transpose = ntk_vendor_slot_is_transpose(slot),
                                       .elements = vendor.elements,
                                       .flops = vendor.flops,
                                       .useful_flops = vendor.useful_flops,
                                       .dtype = vendor.dtype,
                                       .has_adjusted = vendor.has_adjusted,
                                       .adjusted_flops = vendor.adjusted_flops };
    return true;
}

void ntk_analysis_matmul_flops(const struct ntk_trace *trace, struct ntk_matmul_flops *out_flops)
{
    struct ntk_matmul_flops sum = { .is_known = !trace->is_cut.instructions, .has_adjusted = true };

    for (size_t c = 0; c < trace->core_count && sum.is_known; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        struct ntk_executed executed = { .core = core };
        while (sum.is_known && ntk_executed_next(&executed)) {
            struct ntk_matmul one = { 0 };
            uint64_t transposes;
            if (executed.instruction.opcode != NTK_NTFF_OPCODE_MATMUL) {
                continue;
            }
            sum.is_known = ntk_matmul_get(trace, core, &executed.instruction, &one);
            sum.has_adjusted = sum.has_adjusted && one.has_adjusted;
            transposes = one.is_transpose ? executed.times : 0;
            sum.hardware_flops += executed.times * one.flops;
            sum.transpose_flops += transposes * one.flops;
            sum.adjusted_hardware_flops += executed.times * one.adjusted_flops;
            sum.adjusted_transpose_flops += transposes * one.adjusted_flops;
        }
    }
    *out_flops = sum;
}
