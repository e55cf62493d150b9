/* SPDX-License-Identifier: MIT */
/* deadlock - makes the vector engine wait for a semaphore that no engine ever signals. */
#include "shared/kernels/examples.h"
#include "shared/kernels/places.h"

enum { COLUMNS = 64 };

void ntk_example_deadlock(struct ntk_neff_build *build, const struct ntk_example_options *options)
{
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "deadlock");
    uint64_t shape[2] = { NTK_KIT_P, COLUMNS };
    uint64_t row = COLUMNS * 4;
    uint32_t x = ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    struct ntk_isa_instr wait = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE);
    ntk_neff_token loaded =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, row, NTK_KIT_P), 0, row, NTK_AFTER_NONE);
    ntk_neff_token never;

    (void)options;
    wait.wait_semaphore = ntk_neff_kernel_semaphore(kernel);
    wait.wait_value = 1;
    never = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &wait, NTK_AFTER(loaded));
    ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, row, NTK_KIT_P), 0, row, NTK_AFTER(never));
}
