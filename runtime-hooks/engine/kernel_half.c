/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/kernel_half.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

enum { LANES = 8 };

/* Returns true if the CPU supports the instructions. The AVX2 check includes whether the system
 * saves the registers. */
static bool ask(void)
{
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;

    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static bool has_instructions(void)
{
    /* 0 unknown, 1 yes, 2 no; a race is harmless, because all threads get the same answer */
    static int known;
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);

    if (answer == 0) {
        answer = ask() ? 1 : 2;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == 1;
}

__attribute__((target("avx2,f16c"))) static size_t widen(const uint16_t *from, size_t count,
                                                         float *to)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        __m128i half = _mm_loadu_si128((const __m128i *)(const void *)(from + i));

        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
    }
    return i;
}

/* Narrows lanes; those with a NaN are left to other code, which writes float16's own NaN. */
__attribute__((target("avx2,f16c"))) static size_t narrow(const float *from, size_t count,
                                                          uint16_t *to)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        __m256 value = _mm256_loadu_ps(from + i);

        if (_mm256_movemask_ps(_mm256_cmp_ps(value, value, _CMP_UNORD_Q)) != 0) {
            break;
        }
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    return i;
}

size_t ntk_half_widen(const void *from, size_t count, float *to)
{
    return count >= LANES && has_instructions() ? widen(from, count, to) : 0;
}

size_t ntk_half_narrow(const float *from, size_t count, void *to)
{
    return count >= LANES && has_instructions() ? narrow(from, count, to) : 0;
}
#else
size_t ntk_half_widen(const void *from, size_t count, float *to)
{
    (void)from;
    (void)count;
    (void)to;
    return 0;
}

size_t ntk_half_narrow(const float *from, size_t count, void *to)
{
    (void)from;
    (void)count;
    (void)to;
    return 0;
}
#endif
