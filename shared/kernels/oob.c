/* SPDX-License-Identifier: MIT */
/* oob - gathers 128 rows of a table by constant indices; the last one is outside the table. */
#include "shared/kernels/examples.h"
#include "shared/kernels/places.h"

enum { ROWS = 128, COLUMNS = 64 };

void ntk_example_oob(struct ntk_neff_build *build, const struct ntk_example_options *options)
{
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "oob");
    uint64_t shape[2] = { ROWS, COLUMNS };
    uint64_t row = COLUMNS * 4;
    int32_t indices[NTK_KIT_P];
    uint32_t table = ntk_neff_kernel_input(kernel, "table", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t gathered = ntk_neff_kernel_output(kernel, "gathered", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t index;
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    uint32_t dynamic = ntk_neff_kernel_queue(kernel, "qPoolDynamic", NTK_ISA_ENGINE_POOL,
                                             NTK_NEFF_QUEUE_DYNAMIC, 16);
    struct ntk_isa_instr gather = ntk_isa_instr_make(NTK_ISA_OP_DMA_INDIRECT_COPY);
    ntk_neff_token loaded;
    ntk_neff_token moved;

    (void)options;
    for (int i = 0; i < NTK_KIT_P; i++) {
        indices[i] = i;
    }
    indices[NTK_KIT_P - 1] = ROWS;
    index = ntk_neff_kernel_constant(kernel, "index", NTK_DTYPE_INT32, 2,
                                     (uint64_t[]){ NTK_KIT_P, 1 }, indices);
    loaded = ntk_neff_kernel_load(kernel, queue, NTK_ROWS(index, 0, 4, NTK_KIT_P), row, 4,
                                  NTK_AFTER_NONE);
    gather.queue = (uint16_t)dynamic;
    gather.op_flags = NTK_ISA_OPF_BOUNDS;
    gather.imm[0] = (uint32_t)row;
    gather.imm[1] = ROWS - 1;
    gather.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, NTK_KIT_P, COLUMNS, NTK_DTYPE_FLOAT32);
    gather.operand[NTK_ISA_SRC0] = ntk_isa_var(table, 0, 1, 0, COLUMNS, NTK_DTYPE_FLOAT32);
    gather.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(row, NTK_KIT_P, 1, NTK_DTYPE_INT32);
    moved = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_POOL, &gather, NTK_AFTER(loaded));
    ntk_neff_kernel_store(kernel, queue, NTK_ROWS(gathered, 0, row, NTK_KIT_P), 0, row,
                          NTK_AFTER(moved));
}
