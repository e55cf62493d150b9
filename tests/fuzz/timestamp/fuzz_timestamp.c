/* SPDX-License-Identifier: MIT */
/* Any text as a time: rejected with a message, or a time that fits into 64 bits of nanoseconds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/timestamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_err err = { 0 };
    uint64_t time_ns = 0;
    char *text = calloc(1, size + 1);

    if (!text) {
        abort();
    }
    if (size) {
        memcpy(text, data, size);
    }
    int ret = ntk_timestamp_parse(text, &time_ns, &err);
    if (ret < 0 ? err.text[0] == '\0' : time_ns > INT64_MAX) {
        abort();
    }
    free(text);
    return 0;
}
