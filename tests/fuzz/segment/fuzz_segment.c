/* SPDX-License-Identifier: MIT */
/*
 * A valid segment with patches: the input is a sequence of (offset u32, value u64) of 12 bytes
 * each; offsets wrap into the part of the file that readers read. Then every function of the reader
 * is called.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/ring/ring_segment.h"
#include "tests/support/exercise_segment.h"

#define PATCHES 64
#define PATCH_BYTES 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *segment_bytes;
    static size_t segment_count;
    static uint64_t reach;
    static int fd = -1;
    struct ntk_ring_segment *segment = NULL;
    struct {
        uint64_t at;
        uint64_t good;
    } undo[PATCHES];
    size_t patches = size / PATCH_BYTES;
    size_t i;
    int copy;

    if (fd < 0) {
        fd = exercise_make_segment(&segment_bytes, &segment_count);
        /* Up to the tables and the histograms of the first cores. */
        reach = ((struct ntk_segment_header *)(void *)segment_bytes)
                    ->section[NTK_SECTION_HISTOGRAMS]
                    .offset +
                3 * sizeof(struct ntk_histogram_pair);
    }
    if (patches > PATCHES) {
        patches = PATCHES;
    }
    for (i = 0; i < patches; i++) {
        uint32_t offset;
        uint64_t value;

        memcpy(&offset, data + i * PATCH_BYTES, sizeof offset);
        memcpy(&value, data + i * PATCH_BYTES + sizeof offset, sizeof value);
        undo[i].at = offset % reach / 4 * 4;
        memcpy(&undo[i].good, segment_bytes + undo[i].at, sizeof value);
        memcpy(segment_bytes + undo[i].at, &value, sizeof value);
    }
    copy = dup(fd);
    if (ntk_ring_segment_open(copy, "segment", NTK_RING_FROM_OLDEST, &segment, NULL) == 0) {
        (void)exercise_segment(segment);
        ntk_ring_segment_close(segment);
    } else {
        close(copy);
    }
    while (i-- > 0) {
        memcpy(segment_bytes + undo[i].at, &undo[i].good, sizeof undo[i].good);
    }
    return 0;
}
