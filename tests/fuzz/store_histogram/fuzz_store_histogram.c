/* SPDX-License-Identifier: MIT */
/* Any bytes as a histogram of the database: rejected without side effects, or written again as
 * read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/store/store_histogram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ntk_histogram_dense empty;
    static struct ntk_histogram_dense dense;
    static struct ntk_histogram_dense again;
    struct ntk_buf blob = { 0 };

    dense = empty;
    again = empty;
    if (ntk_store_histogram_decode(data, size, &dense) < 0) {
        if (memcmp(&dense, &empty, sizeof dense) != 0) {
            abort();
        }
        return 0;
    }
    ntk_store_histogram_encode_dense(&dense, &blob);
    if (!ntk_buf_ok(&blob) ||
        ntk_store_histogram_decode(blob.bytes, blob.bytes_count, &again) < 0 ||
        memcmp(&dense, &again, sizeof dense) != 0) {
        abort();
    }
    ntk_buf_fini(&blob);
    return 0;
}
