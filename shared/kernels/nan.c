/* SPDX-License-Identifier: MIT */
/* nan - computes y = x + log(-1), which is NaN. */
#include "shared/kernels/examples.h"
#include "shared/kernels/places.h"

enum { COLUMNS = 64 };

void ntk_example_nan(struct ntk_neff_build *build, const struct ntk_example_options *options)
{
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "nan");
    uint64_t shape[2] = { NTK_KIT_P, COLUMNS };
    uint64_t row = COLUMNS * 4;
    uint32_t x = ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    struct ntk_isa_operand input = ntk_isa_sbuf(0, NTK_KIT_P, COLUMNS, NTK_DTYPE_FLOAT32);
    struct ntk_isa_operand one = ntk_isa_sbuf(row, NTK_KIT_P, 1, NTK_DTYPE_FLOAT32);
    ntk_neff_token loaded =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, row, NTK_KIT_P), 0, row, NTK_AFTER_NONE);
    ntk_neff_token negative =
        ntk_kit_memset(kernel, NTK_ISA_ENGINE_DVE, one, -1.0F, NTK_AFTER_NONE);
    ntk_neff_token log = ntk_kit_activation(kernel, NTK_ISA_ACT_LOG, one, one, 1.0F, ntk_kit_none(),
                                            NTK_AFTER(negative));
    ntk_neff_token sum =
        ntk_kit_scalar(kernel, NTK_ISA_ALU_ADD, input, input, one, 0, NTK_AFTER(loaded, log));

    (void)options;
    ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, row, NTK_KIT_P), 0, row, NTK_AFTER(sum));
}
