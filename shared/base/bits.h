/* SPDX-License-Identifier: MIT */
/*
 * bits - sets of small numbers as bits of words: number n is bit n % 64 of word n / 64.
 *
 *   uint64_t cores[NTK_BITS_WORDS(CORES_MAX)] = { 0 };
 *
 * Threads: any, on separate sets. The caller checks that a number is inside the set.
 */
#ifndef NTK_SHARED_BASE_BITS_H
#define NTK_SHARED_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The words of a set of `count` numbers. */
#define NTK_BITS_WORDS(count) (((count) + 63) / 64)

static inline void ntk_bits_add(uint64_t *bits, size_t number)
{
    bits[number / 64] |= UINT64_C(1) << number % 64;
}

static inline void ntk_bits_remove(uint64_t *bits, size_t number)
{
    bits[number / 64] &= ~(UINT64_C(1) << number % 64);
}

static inline bool ntk_bits_has(const uint64_t *bits, size_t number)
{
    return bits[number / 64] >> number % 64 & 1;
}

static inline size_t ntk_bits_count(const uint64_t *bits, size_t words)
{
    size_t count = 0;

    for (size_t i = 0; i < words; i++) {
        count += (size_t)__builtin_popcountll(bits[i]);
    }
    return count;
}

#endif
