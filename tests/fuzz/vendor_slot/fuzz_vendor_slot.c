/* SPDX-License-Identifier: MIT */
/* fuzz_vendor_slot - any bytes as a set of activation functions, or as slots of hardware: each has
 * a text, byte counts within what its fields can express, and ranges that are not empty. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/formats/neff/vendor_names.h"
#include "shared/formats/neff/vendor_slot.h"

#define TEXT_BYTES_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const char *name, char *buf, size_t buf_bytes)
{
    (void)name;
    buf[0] = buf_bytes > 1 ? 'q' : '\0';
    buf[buf_bytes > 1] = '\0';
}

static void read_slot(const uint8_t *slot, const struct ntk_vendor_names *names)
{
    struct ntk_buf text = { 0 };
    struct ntk_vendor_work work;

    ntk_vendor_slot_print(slot, names, &text);
    if (!ntk_buf_ok(&text) || text.bytes_count == 0 || text.bytes_count > TEXT_BYTES_MAX) {
        abort();
    }
    ntk_vendor_slot_print_function(slot, names, &text);
    for (int version = NTK_METRICS_2_32; version <= NTK_METRICS_2_28; version++) {
        struct ntk_vendor_flops flops;
        ntk_vendor_slot_work(slot, (enum ntk_metrics_version)version, &work);
        if (!work.is_known &&
            (work.sbuf_read_bytes || work.hbm_read_bytes || work.psum_write_bytes)) {
            abort(); /* unknown work is not counted */
        }
        if (work.is_known && work.may_use_psum) {
            abort();
        }
        if (ntk_vendor_slot_flops(slot, (enum ntk_metrics_version)version, &flops) !=
            (slot[0] == NTK_VENDOR_OPCODE_MATMUL)) {
            abort();
        }
    }
    ntk_buf_fini(&text);

    bool is_counted =
        /* For this opcode it is known that nothing is counted. */
        slot[0] != NTK_VENDOR_OPCODE_TENSOR_TENSOR;
    for (int as_reported = 0; as_reported < 2; as_reported++) {
        struct ntk_vendor_range ranges[NTK_VENDOR_RANGES_MAX];
        int count = ntk_vendor_slot_ranges(slot, as_reported, ranges);
        if (count > NTK_VENDOR_RANGES_MAX || (work.is_known && is_counted && count < 0)) {
            abort();
        }
        for (int r = 0; r < count; r++) {
            if (ranges[r].low >= ranges[r].high) {
                abort();
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_vendor_names names;

    if (ntk_vendor_names_init(&names, NULL, NULL, show) < 0) {
        return 0;
    }
    if (size > 0 && data[0] == '{') {
        (void)ntk_vendor_names_add_set(&names, data, size);
    }
    for (size_t at = 0; size - at >= NTK_VENDOR_SLOT_BYTES; at += NTK_VENDOR_SLOT_BYTES) {
        read_slot(data + at, at % (2 * NTK_VENDOR_SLOT_BYTES) ? NULL : &names);
    }
    ntk_vendor_names_fini(&names);
    return 0;
}
