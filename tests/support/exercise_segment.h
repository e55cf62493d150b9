/* SPDX-License-Identifier: MIT */
/*
 * exercise_segment - calls everything that shared/ring offers for a segment, and aborts if an
 * answer is out of bounds; and a valid segment for tests to damage.
 */
#ifndef NTK_TESTS_SUPPORT_EXERCISE_SEGMENT_H
#define NTK_TESTS_SUPPORT_EXERCISE_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

struct ntk_ring_segment;

/* Returns a number that depends on all answers, so that no call is optimised away. */
uint64_t exercise_segment(struct ntk_ring_segment *segment);

/* A copy of a segment with cores, models, memory, names, threads and events, as its writer left it,
 * in an anonymous file. Returns the descriptor, and its bytes mapped for writing. The calling
 * process must not be attached. Aborts on failure. */
int exercise_make_segment(uint8_t **out_bytes, size_t *out_count);

#endif
