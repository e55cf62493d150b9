/* SPDX-License-Identifier: MIT */
/* Any bytes as a baseline: rejected with a message, or read, written and read again with the same
 * result. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/baseline_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_baseline baseline;
    struct ntk_baseline again;
    struct ntk_buf first = { 0 };
    struct ntk_buf second = { 0 };
    struct ntk_err err = { 0 };

    if (ntk_baseline_read_bytes(data, size, "fuzz", &baseline, &err) < 0) {
        if (err.text[0] == '\0') {
            abort();
        }
        return 0;
    }
    if (ntk_baseline_write(&baseline, &first, &err) < 0 ||
        ntk_baseline_read_bytes(first.bytes, first.bytes_count, "written", &again, &err) < 0) {
        abort();
    }
    if (ntk_baseline_write(&again, &second, &err) < 0 || first.bytes_count != second.bytes_count ||
        memcmp(first.bytes, second.bytes, first.bytes_count) != 0) {
        abort();
    }
    ntk_buf_fini(&first);
    ntk_buf_fini(&second);
    ntk_baseline_fini(&again);
    ntk_baseline_fini(&baseline);
    return 0;
}
