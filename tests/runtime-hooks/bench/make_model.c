/* SPDX-License-Identifier: MIT */
/* make_model FILE [smallest | LIBRARY.so]: writes a NEFF of tests/support/models.h for scripts; the
 * library is that of a CPU node. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/models.h"

#define LIBRARY_BYTES_MAX (4u << 20)

int main(int argc, char **argv)
{
    struct test_model_options options = { 0 };
    size_t bytes = 0;

    if (argc < 2) {
        return 2;
    }
    bool is_smallest = argc > 2 && strcmp(argv[2], "smallest") == 0;
    FILE *file = argc > 2 && !is_smallest ? fopen(argv[2], "rb") : NULL;
    uint8_t *library = malloc(LIBRARY_BYTES_MAX);
    if (file && library) {
        options.cpu_after = 1;
        options.cpu_library = library;
        options.cpu_library_bytes = fread(library, 1, LIBRARY_BYTES_MAX, file);
        (void)fclose(file);
    }
    uint8_t *neff = is_smallest ? test_model_smallest(&bytes) : test_model_adder(&options, &bytes);
    free(library);
    file = fopen(argv[1], "wb");
    if (!file || fwrite(neff, 1, bytes, file) != bytes || fclose(file) != 0) {
        return 1;
    }
    free(neff);
    return 0;
}
