/* SPDX-License-Identifier: MIT */
/*
 * vendor_slot_fixture - hardware slots made field by field, with the text that the original tool
 * shows for these fields (docs/formats/vendor-slots.md).
 */
#ifndef NTK_TESTS_SHARED_FORMATS_NEFF_VENDOR_SLOT_FIXTURE_H
#define NTK_TESTS_SHARED_FORMATS_NEFF_VENDOR_SLOT_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "shared/formats/neff/vendor_slot.h"

/* Element types, as fields encode them. */
enum { BF16 = 6, FP16, I32, U32, FP32 };

struct field {
    unsigned offset, bytes;
    uint64_t value;
};

struct row {
    const char *name;
    const char *text;
    struct field fields[24]; /* terminated by one with 0 bytes; byte 1 is set for all */
};

void make_slot(const struct row *row, uint8_t slot[NTK_VENDOR_SLOT_BYTES]);
/* NULL after the last. */
const struct row *row_at(size_t index);
const struct row *row_of(const char *name);

#endif
