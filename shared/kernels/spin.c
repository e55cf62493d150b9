/* SPDX-License-Identifier: MIT */
/* spin - spends cycles: the tensor engine for the whole time, the other engines for a half, a
 * quarter and so on. */
#include "shared/kernels/examples.h"
#include "shared/kernels/places.h"

enum { COLUMNS = 1 };

void ntk_example_spin(struct ntk_neff_build *build, const struct ntk_example_options *options)
{
    static const enum ntk_isa_engine engines[] = { NTK_ISA_ENGINE_PE, NTK_ISA_ENGINE_ACT,
                                                   NTK_ISA_ENGINE_DVE, NTK_ISA_ENGINE_POOL };
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "spin");
    uint64_t shape[2] = { NTK_KIT_P, COLUMNS };
    uint32_t x = ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    ntk_neff_token loaded =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, 4, NTK_KIT_P), 0, 4, NTK_AFTER_NONE);
    ntk_neff_token spun = 0;

    for (int i = 0; i < 4; i++) {
        struct ntk_isa_instr nop = ntk_isa_instr_make(NTK_ISA_OP_NOP);
        uint64_t cycles = options->size * 1000000 >> i;
        ntk_neff_token token;

        nop.imm[0] = (uint32_t)cycles;
        nop.imm[1] = (uint32_t)(cycles >> 32);
        token = ntk_neff_kernel_emit(kernel, engines[i], &nop, NTK_AFTER_NONE);
        spun = i == 0 ? token : spun;
    }
    ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, 4, NTK_KIT_P), 0, 4,
                          NTK_AFTER(loaded, spun));
}
