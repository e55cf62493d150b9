/* SPDX-License-Identifier: MIT */
/* Any bytes as an offline model: rejected, or every function is in bounds and can be written. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/mlumodel/mlumodel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int is_so)
{
    if (!is_so) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_mlumodel model = { 0 };
    struct ntk_buf buf = { 0 };
    int ret = ntk_mlumodel_read(data, size, &model, NULL);
    volatile uint8_t sum = 0;

    check(ret == 0 || ret == -EBADMSG || ret == -ENOTSUP || ret == -ENOMEM);
    check(ret == 0 || !model.functions);
    for (uint32_t i = 0; i < model.function_count; i++) {
        const struct ntk_mlumodel_function *function = &model.functions[i];
        const uint8_t *program = function->program;

        check(strlen(function->symbol) > 0 && function->parallelism > 0);
        check(ntk_mlumodel_find(&model, function->symbol) == function);
        sum = (uint8_t)(sum + program[0] + program[function->program_bytes - 1]);
    }
    if (ret == 0 && model.function_count < 16) {
        check(ntk_mlumodel_write(model.functions, model.function_count, &buf, NULL) == 0);
        ntk_buf_fini(&buf);
    }
    ntk_mlumodel_fini(&model);
    return 0;
}
