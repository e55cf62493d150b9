/* SPDX-License-Identifier: MIT */
/* Any lines as a page of metrics, twice: requests within their bounds, or a sentence; what was on the first
 * page and is not on the second ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/remote_write/remote_write_encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int emit(struct ntk_buf *request, uint64_t sample_count, void *ctx, struct ntk_err *err)
{
    uint64_t *sum = ctx;

    (void)err;
    if (request->bytes_count == 0 || sample_count == 0 || sample_count > NTK_REMOTE_WRITE_SAMPLES) {
        abort();
    }
    *sum += sample_count;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_remote_write *state = ntk_remote_write_create("job", "host");
    struct ntk_buf page = { 0 };
    struct ntk_err err = { 0 };
    uint64_t first = 0;
    uint64_t second = 0;
    uint64_t third = 0;

    if (size && memchr(data, '\0', size)) {
        ntk_remote_write_destroy(state);
        return 0; /* pages are text */
    }
    ntk_buf_add(&page, data, size);
    ntk_buf_add_char(&page, '\n');
    if (!state || !ntk_buf_ok(&page)) {
        abort();
    }
    int ret = ntk_remote_write_encode(state, page.bytes, page.bytes_count, 1, emit, &first, &err);
    if (ret < 0 && err.text[0] == '\0') {
        abort(); /* a refusal has a sentence */
    }
    if (ret == 0 &&
        (ntk_remote_write_encode(state, "", 0, 2, emit, &second, &err) < 0 || second > first ||
         (first > 0) != (second > 0) ||
         ntk_remote_write_encode(state, "", 0, 3, emit, &third, &err) < 0 || third > 0)) {
        abort();
    }
    ntk_buf_fini(&page);
    ntk_remote_write_destroy(state);
    return 0;
}
