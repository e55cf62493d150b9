/* SPDX-License-Identifier: MIT */
/*
 * example_cpu_node - the shared object in the example two-node-cpu; uses only neff_cpu.h.
 */
#include <math.h>
#include <stdint.h>

#include "shared/formats/neff/neff_cpu.h"

enum { FLOAT32 = 0xa };

__attribute__((visibility("default"))) int
example_row_softmax(const struct ntk_neff_cpu_tensor *inputs, uint32_t input_count,
                    const struct ntk_neff_cpu_tensor *outputs, uint32_t output_count);

int example_row_softmax(const struct ntk_neff_cpu_tensor *inputs, uint32_t input_count,
                        const struct ntk_neff_cpu_tensor *outputs, uint32_t output_count)
{
    const float *in;
    float *out;
    uint64_t rows;
    uint64_t columns;

    if (input_count != 1 || output_count != 1 || inputs[0].dtype != FLOAT32 ||
        inputs[0].dim_count != 2 || outputs[0].bytes_count != inputs[0].bytes_count) {
        return 1;
    }
    in = inputs[0].data;
    out = outputs[0].data;
    rows = inputs[0].dims[0];
    columns = inputs[0].dims[1];
    for (uint64_t r = 0; r < rows; r++, in += columns, out += columns) {
        float greatest = in[0];
        float sum = 0;

        for (uint64_t c = 1; c < columns; c++) {
            greatest = in[c] > greatest ? in[c] : greatest;
        }
        for (uint64_t c = 0; c < columns; c++) {
            out[c] = expf(in[c] - greatest);
            sum += out[c];
        }
        for (uint64_t c = 0; c < columns; c++) {
            out[c] /= sum;
        }
    }
    return 0;
}
