/* SPDX-License-Identifier: MIT */
/* make_model FILE [smallest]: a NEFF of tests/support/models.h for scripts. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/models.h"

int main(int argc, char **argv)
{
    struct test_model_options options = { 0 };
    size_t bytes = 0;

    if (argc < 2) {
        return 2;
    }
    uint8_t *neff = argc > 2 ? test_model_smallest(&bytes) : test_model_adder(&options, &bytes);
    FILE *file = fopen(argv[1], "wb");
    if (!file || fwrite(neff, 1, bytes, file) != bytes || fclose(file) != 0) {
        return 1;
    }
    free(neff);
    return 0;
}
