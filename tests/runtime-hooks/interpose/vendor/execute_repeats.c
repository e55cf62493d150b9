/* SPDX-License-Identifier: MIT */
/* nrt_execute() of a runtime that calls its own exports through its PLT. */
#pragma GCC visibility push(default)
#include "nrt/nrt.h"
#pragma GCC visibility pop

NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                       nrt_tensor_set_t *output_set)
{
    return nrt_execute_repeat(model, input_set, output_set, 1);
}
