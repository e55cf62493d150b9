/* SPDX-License-Identifier: MIT */
/*
 * hand_positions - hand-made source positions for the slots of a hand_trace.
 *
 * hand_positions() gives slot s of every engine and core the line first_line + s of one file; a
 * test adds anything else itself (a kernel tree, slots without a line). Freed by
 * ntk_neff_positions_destroy(), also as part of a struct ntk_program.
 */
#ifndef NTK_TESTS_HAND_POSITIONS_H
#define NTK_TESTS_HAND_POSITIONS_H

#include "shared/formats/neff/neff_positions.h"

struct ntk_neff_positions *hand_positions(const char *file, size_t core_count, uint32_t slot_count,
                                          uint32_t first_line);
/* Appends a row to a list of the kernel tree, which may be empty. */
void hand_positions_push(struct ntk_vec *rows, size_t bytes, const void *row);
#define HAND_POSITIONS_PUSH(rows, type, ...) \
    hand_positions_push(rows, sizeof(type), &(type){ __VA_ARGS__ })

#endif
