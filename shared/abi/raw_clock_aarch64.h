/* SPDX-License-Identifier: MIT */
/*
 * raw_clock for AArch64: the virtual counter, which is invariant and readable by user programs.
 */
#ifndef NTK_SHARED_ABI_RAW_CLOCK_AARCH64_H
#define NTK_SHARED_ABI_RAW_CLOCK_AARCH64_H

#include <stdint.h>

#include "shared/abi/segment_abi.h"

static inline uint64_t ntk_raw_clock_counter(void)
{
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

static inline uint32_t ntk_raw_clock_counter_kind(void)
{
    return NTK_CLOCK_CNTVCT;
}

/* Returns 0 if the frequency must be measured. */
static inline uint64_t ntk_raw_clock_counter_frequency(void)
{
    uint64_t frequency;

    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency;
}

#endif
