/* SPDX-License-Identifier: MIT */
/* Any bytes as a symbol file: rejected with a message, or divided into segments with operators that
 * are in order, each in one segment. */
#include <stdint.h>
#include <stdlib.h>

#include "runtime-hooks/mlugraph/mlu_fuse_symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct mlu_symbol_options options = { 0, NULL };
    struct mlu_symbol symbol;
    struct mlu_fuse_symbol fuse;
    struct ntk_vec segments;
    struct ntk_err err = { 0 };

    if (mlu_symbol_parse((const char *)data, size, &options, &symbol, &err) < 0) {
        if (err.text[0] == '\0') {
            abort();
        }
        return 0;
    }
    uint8_t *seen = calloc((size_t)symbol.operator_count + 1, 1);
    if (!seen || mlu_fuse_symbol_init(&symbol, &fuse, &err) < 0 ||
        mlu_segments_find(&fuse.graph, &segments, &err) < 0) {
        abort();
    }
    ntk_vec_each(struct mlu_segment, segment, &segments) {
        if (segment->op_count < 2) {
            abort();
        }
        for (uint32_t i = 0; i < segment->op_count; i++) {
            if (segment->ops[i] >= symbol.operator_count || seen[segment->ops[i]]++ ||
                (i > 0 && segment->ops[i] <= segment->ops[i - 1])) {
                abort();
            }
        }
    }
    free(seen);
    mlu_segments_fini(&segments);
    mlu_fuse_symbol_fini(&fuse);
    mlu_symbol_fini(&symbol);
    return 0;
}
