/* SPDX-License-Identifier: MIT */
/*
 * exercise_segment - asks a segment everything that shared/ring can answer and aborts when an
 * answer is out of its bounds; and a sound segment to spoil.
 */
#ifndef NTK_TESTS_SUPPORT_EXERCISE_SEGMENT_H
#define NTK_TESTS_SUPPORT_EXERCISE_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

struct ntk_ring_segment;

/* Returns a number that depends on all answers, so that nothing is optimised away. */
uint64_t exercise_segment(struct ntk_ring_segment *segment);

/* A copy of a segment with cores, models, memory, names, threads and events, as its writer left it,
 * in an anonymous file: the descriptor, and its bytes mapped for writing. The calling process must
 * not be attached. Aborts when it cannot. */
int exercise_make_segment(uint8_t **out_bytes, size_t *out_count);

#endif
