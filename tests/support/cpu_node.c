/* SPDX-License-Identifier: MIT */
/*
 * The CPU nodes of test models: out = -in, out = a + b, and one that fails.
 */
#include "shared/formats/neff/neff_cpu.h"

ntk_neff_cpu_function test_negate;
ntk_neff_cpu_function test_add;
ntk_neff_cpu_function test_fail;

__attribute__((visibility("default"))) int test_negate(const struct ntk_neff_cpu_tensor *inputs,
                                                       uint32_t input_count,
                                                       const struct ntk_neff_cpu_tensor *outputs,
                                                       uint32_t output_count)
{
    const float *in = inputs[0].data;
    float *out = outputs[0].data;

    if (input_count != 1 || output_count != 1 || inputs[0].bytes_count != outputs[0].bytes_count) {
        return 1;
    }
    for (uint64_t i = 0; i < inputs[0].bytes_count / sizeof *in; i++) {
        out[i] = -in[i];
    }
    return 0;
}

__attribute__((visibility("default"))) int test_add(const struct ntk_neff_cpu_tensor *inputs,
                                                    uint32_t input_count,
                                                    const struct ntk_neff_cpu_tensor *outputs,
                                                    uint32_t output_count)
{
    if (input_count != 2 || output_count != 1 || inputs[0].bytes_count != outputs[0].bytes_count ||
        inputs[1].bytes_count != outputs[0].bytes_count) {
        return 1;
    }
    for (uint64_t i = 0; i < outputs[0].bytes_count / sizeof(float); i++) {
        ((float *)outputs[0].data)[i] =
            ((const float *)inputs[0].data)[i] + ((const float *)inputs[1].data)[i];
    }
    return 0;
}

__attribute__((visibility("default"))) int test_fail(const struct ntk_neff_cpu_tensor *inputs,
                                                     uint32_t input_count,
                                                     const struct ntk_neff_cpu_tensor *outputs,
                                                     uint32_t output_count)
{
    (void)inputs;
    (void)input_count;
    (void)outputs;
    (void)output_count;
    return 1;
}
