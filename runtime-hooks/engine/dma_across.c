/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/dma_across.h"

#include <string.h>

enum { SIDE = 8 };

static inline void by_elements(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
                               uint64_t rows, uint64_t columns)
{
    for (uint64_t i = 0; i < rows; i++) {
        for (uint64_t k = 0; k < columns; k++) {
            memcpy(to + (int64_t)i * to_step + k * 2, from + i * 2 + (int64_t)k * from_step, 2);
        }
    }
}

#ifdef __SSE2__
#include <emmintrin.h>

static inline void square(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step)
{
    __m128i a[SIDE];
    __m128i b[SIDE];

    for (int k = 0; k < SIDE; k++) {
        a[k] = _mm_loadu_si128((const __m128i *)(const void *)(from + k * from_step));
    }
    for (int k = 0; k < 4; k++) { /* pairs of rows: 0 and 4, 1 and 5, ... */
        b[2 * k] = _mm_unpacklo_epi16(a[k], a[k + 4]);
        b[2 * k + 1] = _mm_unpackhi_epi16(a[k], a[k + 4]);
    }
    for (int k = 0; k < 4; k++) {
        a[2 * k] = _mm_unpacklo_epi16(b[k], b[k + 4]);
        a[2 * k + 1] = _mm_unpackhi_epi16(b[k], b[k + 4]);
    }
    for (int k = 0; k < 4; k++) {
        b[2 * k] = _mm_unpacklo_epi16(a[k], a[k + 4]);
        b[2 * k + 1] = _mm_unpackhi_epi16(a[k], a[k + 4]);
    }
    for (int i = 0; i < SIDE; i++) {
        _mm_storeu_si128((__m128i *)(void *)(to + i * to_step), b[i]);
    }
}
#else
static inline void square(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step)
{
    by_elements(to, to_step, from, from_step, SIDE, SIDE);
}
#endif

void ntk_dma_across(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
                    uint64_t rows, uint64_t columns)
{
    uint64_t whole_rows = rows / SIDE * SIDE;
    uint64_t whole_columns = columns / SIDE * SIDE;

    for (uint64_t i = 0; i < whole_rows; i += SIDE) {
        for (uint64_t k = 0; k < whole_columns; k += SIDE) {
            square(to + (int64_t)i * to_step + k * 2, to_step,
                   from + i * 2 + (int64_t)k * from_step, from_step);
        }
    }
    by_elements(to + whole_columns * 2, to_step, from + (int64_t)whole_columns * from_step,
                from_step, whole_rows, columns - whole_columns);
    by_elements(to + (int64_t)whole_rows * to_step, to_step, from + whole_rows * 2, from_step,
                rows - whole_rows, columns);
}
