/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/cnrt/offline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/formats/mlumodel/mlumodel.h"
#include "tests/support/unit.h"

char *offline_make(size_t *out_bytes)
{
    size_t bytes = 0;
    uint8_t *neff = test_model_adder(&(struct test_model_options){ .rounds = 1 }, &bytes);
    struct ntk_mlumodel_function functions[2] = {
        { .symbol = "subnet0", .program = neff, .program_bytes = bytes, .parallelism = 1 },
        { .symbol = "again", .program = neff, .program_bytes = bytes, .parallelism = 4 },
    };
    struct ntk_buf buf = { 0 };

    assert_int_equal(ntk_mlumodel_write(functions, 2, &buf, NULL), 0);
    free(neff);
    return ntk_buf_take(&buf, out_bytes);
}

char *offline_write(const char *folder, const char *name)
{
    size_t bytes = 0;
    char *model = offline_make(&bytes);
    size_t path_bytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(path_bytes);

    assert_non_null(path);
    (void)snprintf(path, path_bytes, "%s/%s", folder, name);
    assert_int_equal(ntk_fs_write(path, model, bytes, NULL), 0);
    free(model);
    return path;
}

void offline_input(float *x)
{
    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        x[i] = (float)(i % 777);
    }
}

void offline_check(const float *y)
{
    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        assert_true(y[i] == (float)(i % 777) + (float)i);
    }
}
