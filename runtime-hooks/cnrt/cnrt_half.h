/* SPDX-License-Identifier: MIT */
/* cnrt_half - converts IEEE binary16 to floats and back, rounded to nearest, ties to even. Threads:
 * any. */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_HALF_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint16_t cnrt_half_from_float(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000U;
    uint32_t magnitude = bits & 0x7fffffffU;

    if (magnitude > 0x7f800000U) { /* a NaN stays a quiet NaN */
        return (uint16_t)(sign | 0x7e00U | (magnitude >> 13 & 0x3ffU));
    }
    if (magnitude >= 0x477ff000U) { /* 65520 and more overflow */
        return (uint16_t)(sign | 0x7c00U);
    }
    if (magnitude < 0x38800000U) { /* below 2^-14, the smallest normal number */
        float scaled;

        /* Adding 2^-1 moves the last digit to 2^-24, the smallest subnormal. */
        memcpy(&scaled, &magnitude, sizeof scaled);
        scaled += 0.5F;
        memcpy(&bits, &scaled, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000U));
    }
    uint32_t odd = magnitude >> 13 & 1U;
    return (uint16_t)(sign | ((magnitude + 0xfffU + odd - 0x38000000U) >> 13));
}

static inline float cnrt_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000U) << 16;
    uint32_t exponent = half >> 10 & 0x1fU;
    uint32_t fraction = half & 0x3ffU;
    uint32_t bits;
    float value;

    if (exponent == 0) {
        value = (float)fraction * 0x1p-24F;
        memcpy(&bits, &value, sizeof bits);
        bits |= sign;
    } else if (exponent == 0x1fU) {
        bits = sign | 0x7f800000U | fraction << 13;
    } else {
        bits = sign | (exponent + 112U) << 23 | fraction << 13;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
