/* SPDX-License-Identifier: MIT */
/* engine_kernels - calls the kernel of a compute instruction: binds tiles to memory and fields to
 * arguments. */
#include "runtime-hooks/engine/engine_core.h"
#include "runtime-hooks/engine/engine_program.h"
#include "runtime-hooks/engine/kernel_matmul.h"

static void compute_tiles(struct ntk_engine_core *core, const struct ntk_engine_compute *compute,
                          struct ntk_tile tiles[NTK_ISA_OPERAND_COUNT])
{
    uint64_t used = 0;

    for (int r = 0; r < NTK_ISA_OPERAND_COUNT; r++) {
        const struct ntk_engine_tile *operand = &compute->operand[r];

        tiles[r].base = NULL;
        if (!operand->is_present) {
            continue;
        }
        tiles[r] = operand->tile;
        tiles[r].noise = core->rounding;
        tiles[r].base =
            (operand->region == NTK_ENGINE_REGION_SBUF ? core->sbuf : core->psum) + operand->offset;
        if (compute->bounce_mask >> r & 1) {
            struct ntk_tile copy = tiles[r];

            copy.base = core->bounce + used;
            copy.dim_count = 1;
            copy.count[0] = copy.elements;
            copy.step[0] = (ptrdiff_t)ntk_dtype_bytes(copy.dtype);
            copy.pitch = (ptrdiff_t)copy.elements * copy.step[0];
            copy.is_dense = true;
            ntk_tile_copy(&copy, &tiles[r], &core->scratch);
            used += ((uint64_t)copy.partitions * (uint64_t)copy.pitch + 63) / 64 * 64;
            tiles[r] = copy;
        }
    }
}

static struct ntk_tile_scalar scalar_make(const struct ntk_tile *column, uint32_t bits)
{
    return (struct ntk_tile_scalar){ *column, ntk_isa_bits_float(bits), (int32_t)bits };
}

/* Prints a tile, which was copied, so it is dense. */
static void print(const struct ntk_engine_printer *printer, const struct ntk_engine_compute *work,
                  const struct ntk_tile *tile)
{
    const struct ntk_isa_operand *operand = &work->instr.operand[NTK_ISA_SRC0];
    struct ntk_engine_print_event event = {
        .pipe = work->instr.imm[0],
        .prefix = work->prefix,
        .dtype = ntk_dtype_name(operand->dtype),
        .shape = { operand->partition_count },
        .data = tile->base,
        .data_bytes = ntk_isa_operand_elements(operand) * ntk_dtype_bytes(operand->dtype),
    };

    for (unsigned d = 0; d < operand->dim_count; d++) {
        event.shape[1 + d] = operand->dim[operand->dim_count - 1 - d].count;
    }
    printer->print(&event, printer->ctx);
}

/* Computes a product. Without source 0, it uses the tile of load_stationary. */
static bool matmul(struct ntk_engine_core *core, const struct ntk_engine_compute *work,
                   const struct ntk_tile tiles[NTK_ISA_OPERAND_COUNT])
{
    const struct ntk_isa_instr *instr = &work->instr;
    const struct ntk_tile *moving = &tiles[NTK_ISA_SRC1];
    const struct ntk_tile loaded = { .base = (uint8_t *)core->latches.stationary,
                                     .pitch = NTK_ISA_STATIONARY_MAX * sizeof(float),
                                     .dtype = NTK_DTYPE_FLOAT32,
                                     .partitions = moving->partitions,
                                     .elements = tiles[NTK_ISA_DST].partitions,
                                     .dim_count = 1,
                                     .count = { tiles[NTK_ISA_DST].partitions },
                                     .step = { sizeof(float) },
                                     .is_dense = true };
    bool is_loaded = !tiles[NTK_ISA_SRC0].base;
    const struct ntk_tile *stationary = is_loaded ? &loaded : &tiles[NTK_ISA_SRC0];
    const float *stationary_packed =
        is_loaded ? NULL
                  : ntk_tile_packs_get(core->packs, NTK_PRODUCT_STATIONARY, stationary,
                                       instr->operand[NTK_ISA_SRC0].offset);
    const float *moving_packed = ntk_tile_packs_get(core->packs, NTK_PRODUCT_MOVING, moving,
                                                    instr->operand[NTK_ISA_SRC1].offset);
    unsigned chain = (instr->op_flags & NTK_ISA_OPF_ACCUMULATE ? NTK_TILE_CHAIN_ADDS : 0) |
                     (work->chain_continues ? NTK_TILE_CHAIN_CONTINUES : 0);

    return ntk_tile_matmul(&tiles[NTK_ISA_DST], stationary, stationary_packed, moving,
                           moving_packed, chain, &core->scratch);
}

/* Reports which part of the state buffer a destination overwrites. */
static void tell_packs(struct ntk_engine_core *core, const struct ntk_isa_operand *to)
{
    int64_t low;
    int64_t high;

    if (core->packs && to->space == NTK_ISA_SPACE_SBUF) {
        ntk_isa_operand_extent(to, &low, &high);
        ntk_tile_packs_written(core->packs, low, high);
    }
}

bool ntk_engine_compute(struct ntk_engine_core *core, uint32_t engine,
                        const struct ntk_engine_compute *work,
                        const struct ntk_engine_printer *printer)
{
    const struct ntk_isa_instr *instr = &work->instr;
    const struct ntk_tile_scratch *scratch = &core->scratch;
    struct ntk_tile tiles[NTK_ISA_OPERAND_COUNT];
    const struct ntk_tile *to = &tiles[NTK_ISA_DST];
    const struct ntk_tile *a = &tiles[NTK_ISA_SRC0];
    const struct ntk_tile *b = &tiles[NTK_ISA_SRC1];
    const struct ntk_tile *c = &tiles[NTK_ISA_SRC2];
    struct ntk_tile_reduce reduce;
    struct ntk_tile_stage first;
    struct ntk_tile_stage second;

    compute_tiles(core, work, tiles);
    tell_packs(core, &instr->operand[NTK_ISA_DST]);
    tell_packs(core, &instr->operand[NTK_ISA_DST2]);
    reduce.column = tiles[NTK_ISA_DST2];
    reduce.op = instr->reduce_op;
    reduce.from_old = instr->reduce_cmd == NTK_ISA_REDUCE_REDUCE;
    first.op = instr->op0;
    first.reverse = (instr->op_flags & NTK_ISA_OPF_REVERSE0) != 0;
    second.op = instr->op1;
    second.reverse = (instr->op_flags & NTK_ISA_OPF_REVERSE1) != 0;

    switch (instr->op) {
    case NTK_ISA_OP_NC_MATMUL:
        return matmul(core, work, tiles);
    case NTK_ISA_OP_LOAD_STATIONARY:
        ntk_tile_load_stationary(a, core->latches.stationary);
        return false;
    case NTK_ISA_OP_NC_MATMUL_MX:
        return ntk_tile_matmul_mx(to, a, c, b, &tiles[NTK_ISA_SRC3],
                                  (instr->op_flags & NTK_ISA_OPF_ACCUMULATE) != 0, scratch);
    case NTK_ISA_OP_QUANTIZE_MX:
        return ntk_tile_quantize_mx(to, &tiles[NTK_ISA_DST2], a, scratch);
    case NTK_ISA_OP_ACTIVATE2:
        first.scalar = scalar_make(b, instr->imm[0]);
        second.scalar = scalar_make(c, instr->imm[1]);
        return ntk_tile_activate2(to, a, instr->act, ntk_isa_bits_float(instr->imm[2]), &first,
                                  &second, &reduce, scratch);
    case NTK_ISA_OP_DVE_TRANSPOSE:
    case NTK_ISA_OP_NC_TRANSPOSE:
        return ntk_tile_transpose(to, a, scratch);
    case NTK_ISA_OP_ACTIVATION:
    case NTK_ISA_OP_ACTIVATION_REDUCE: {
        struct ntk_tile_scalar scale = scalar_make(c, instr->imm[0]);
        struct ntk_tile_scalar bias = scalar_make(b, instr->imm[1]);

        return ntk_tile_activation(to, a, instr->act, &scale, &bias,
                                   ntk_isa_bits_float(instr->imm[2]), &reduce, scratch);
    }
    case NTK_ISA_OP_TENSOR_TENSOR:
        return ntk_tile_tensor_tensor(to, instr->op0, a, b, scratch);
    case NTK_ISA_OP_TENSOR_SCALAR:
        first.scalar = scalar_make(b, instr->imm[0]);
        second.scalar = scalar_make(c, instr->imm[1]);
        return ntk_tile_tensor_scalar(to, a, &first, &second, NULL, scratch);
    case NTK_ISA_OP_TENSOR_SCALAR_REDUCE:
        first.scalar = scalar_make(b, instr->imm[0]);
        return ntk_tile_tensor_scalar(to, a, &first, NULL, &reduce, scratch);
    case NTK_ISA_OP_SCALAR_TENSOR_TENSOR:
        first.scalar = scalar_make(c, instr->imm[0]);
        return ntk_tile_scalar_tensor_tensor(to, a, &first, second.op, second.reverse, b, scratch);
    case NTK_ISA_OP_TENSOR_REDUCE:
        return ntk_tile_tensor_reduce(to, a, instr->op0, a->elements / to->elements,
                                      (instr->op_flags & NTK_ISA_OPF_NEGATE) != 0, scratch);
    case NTK_ISA_OP_TENSOR_COPY:
    case NTK_ISA_OP_TENSOR_CAST:
        return ntk_tile_copy(to, a, scratch);
    case NTK_ISA_OP_MEMSET:
        return ntk_tile_memset(to, ntk_isa_bits_float(instr->imm[0]), ntk_isa_imm_u64(instr),
                               scratch);
    case NTK_ISA_OP_RECIPROCAL:
        return ntk_tile_reciprocal(to, a, scratch);
    case NTK_ISA_OP_IOTA: {
        const struct ntk_isa_operand *pattern = &instr->operand[NTK_ISA_SRC0];
        uint32_t counts[NTK_ISA_DIMS_MAX];
        int32_t steps[NTK_ISA_DIMS_MAX];

        for (unsigned d = 0; d < pattern->dim_count; d++) {
            counts[d] = pattern->dim[d].count;
            steps[d] = pattern->dim[d].step;
        }
        return ntk_tile_iota(to, (int32_t)instr->imm[0], (int32_t)instr->imm[1], counts, steps,
                             pattern->dim_count, scratch);
    }
    case NTK_ISA_OP_MAX8:
        return ntk_tile_max8(to, a, scratch);
    case NTK_ISA_OP_DEVICE_PRINT:
        if (printer) {
            print(printer, work, a);
        }
        return false;
    default:
        return ntk_select_run(instr, tiles, core->rng[engine], &core->latches, scratch);
    }
}
