/* SPDX-License-Identifier: MIT */
/* Any bytes as a parameter file: rejected with a message, or arrays that can be read to their last
 * element, which is a number if the type has numbers. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "runtime-hooks/mlugraph/mlu_params.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mlu_params params;
    struct ntk_err err = { 0 };

    if (mlu_params_parse(data, size, &params, &err) < 0) {
        if (err.text[0] == '\0') {
            abort();
        }
        return 0;
    }
    ntk_map_each(entry, &params.arrays) {
        const struct mlu_array *array = entry->value;

        if (array->count != mlu_shape_count(&array->shape)) {
            abort();
        }
        if (array->count > 0 && !mlu_dtype_is_float(array->dtype) &&
            isnan(mlu_array_get(array, 0) + mlu_array_get(array, array->count - 1))) {
            abort();
        }
    }
    mlu_params_fini(&params);
    return 0;
}
