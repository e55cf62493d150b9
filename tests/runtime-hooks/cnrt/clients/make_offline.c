/* SPDX-License-Identifier: MIT */
/* Writes an offline model: "subnet0" adds once, "slow" adds many times, so that it takes a
 * while. */
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/fs.h"
#include "shared/formats/mlumodel/mlumodel.h"
#include "tests/support/models.h"

int main(int argc, char **argv)
{
    size_t bytes[2] = { 0 };
    uint8_t *fast = test_model_adder(&(struct test_model_options){ .rounds = 1 }, &bytes[0]);
    uint8_t *slow = test_model_adder(
        &(struct test_model_options){ .name = "slow_adder", .rounds = 20000 }, &bytes[1]);
    const struct ntk_mlumodel_function functions[] = {
        { .symbol = "subnet0", .program = fast, .program_bytes = bytes[0], .parallelism = 1 },
        { .symbol = "slow", .program = slow, .program_bytes = bytes[1], .parallelism = 1 },
    };
    struct ntk_buf buf = { 0 };
    struct ntk_err err = { 0 };

    if (argc != 2 || ntk_mlumodel_write(functions, 2, &buf, &err) < 0 ||
        ntk_fs_write(argv[1], buf.bytes, buf.bytes_count, &err) < 0) {
        (void)fprintf(stderr, "make_offline: %s\n", argc != 2 ? "make_offline FILE" : err.text);
        return 1;
    }
    ntk_buf_fini(&buf);
    free(fast);
    free(slow);
    return 0;
}
