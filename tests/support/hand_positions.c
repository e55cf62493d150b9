/* SPDX-License-Identifier: MIT */
#include "tests/support/hand_positions.h"

#include <stdlib.h>

#include "tests/support/unit.h"

void hand_positions_push(struct ntk_vec *rows, size_t bytes, const void *row)
{
    if (!rows->item_bytes) {
        ntk_vec_init(rows, bytes);
    }
    assert_int_equal(ntk_vec_push(rows, row), 0);
}

struct ntk_neff_positions *hand_positions(const char *file, size_t core_count, uint32_t slot_count,
                                          uint32_t first_line)
{
    struct ntk_neff_positions *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->core_count = core_count;
    p->cores = calloc(core_count, sizeof *p->cores);
    p->line_count = 1;
    assert_non_null(p->cores);
    assert_int_equal(ntk_map_put(&p->files, file, p), 0);
    for (size_t c = 0; c < core_count; c++) {
        for (unsigned e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
            p->cores[c].slots[e] = calloc(slot_count, sizeof *p->cores[c].slots[e]);
            p->cores[c].slot_counts[e] = slot_count;
            assert_non_null(p->cores[c].slots[e]);
            for (uint32_t s = 0; s < slot_count; s++) {
                p->cores[c].slots[e][s] = (struct ntk_neff_position){ 1, first_line + s, 0 };
            }
        }
    }
    return p;
}
