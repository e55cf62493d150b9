/* SPDX-License-Identifier: MIT */
/*
 * raw_clock - the cheapest steady clock of the machine, for event records.
 *
 * Writers choose a kind once (ntk_raw_clock_kind) and store it in the segment; readers use the same
 * kind. Architecture-specific code is in raw_clock_<architecture>.h.
 */
#ifndef NTK_SHARED_ABI_RAW_CLOCK_H
#define NTK_SHARED_ABI_RAW_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "shared/abi/segment_abi.h"

#if defined(__x86_64__)
#include "shared/abi/raw_clock_x86_64.h"
#elif defined(__aarch64__)
#include "shared/abi/raw_clock_aarch64.h"
#else
static inline uint64_t ntk_raw_clock_counter(void)
{
    return 0;
}
static inline uint32_t ntk_raw_clock_counter_kind(void)
{
    return NTK_CLOCK_MONOTONIC;
}
static inline uint64_t ntk_raw_clock_counter_frequency(void)
{
    return 0;
}
#endif

#ifdef __cplusplus
extern "C" {
#endif

static inline uint64_t ntk_raw_clock_system_ns(clockid_t clock)
{
    struct timespec now = { 0, 0 };

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The best clock kind on this machine. It reads files, so call it once per process. */
static inline uint32_t ntk_raw_clock_kind(void)
{
    return ntk_raw_clock_counter_kind();
}

static inline uint64_t ntk_raw_clock_now(uint32_t kind)
{
    if (__builtin_expect(kind != NTK_CLOCK_MONOTONIC, 1)) {
        return ntk_raw_clock_counter();
    }
    return ntk_raw_clock_system_ns(CLOCK_MONOTONIC);
}

/* Reads all three clocks at the same time, from the tightest of `tries` brackets. ticks_per_second
 * stays 0. */
static inline struct ntk_segment_clock ntk_raw_clock_bracket(uint32_t kind, int tries)
{
    struct ntk_segment_clock best = { 0, 0, 0, 0, 0, 0, UINT64_MAX };
    int i;

    best.kind = kind;
    for (i = 0; i < tries; i++) {
        uint64_t before = ntk_raw_clock_now(kind);
        uint64_t monotonic_ns = ntk_raw_clock_system_ns(CLOCK_MONOTONIC);
        uint64_t middle = ntk_raw_clock_now(kind);
        uint64_t realtime_ns = ntk_raw_clock_system_ns(CLOCK_REALTIME);
        uint64_t after = ntk_raw_clock_now(kind);

        if (after - before < best.bracket_ticks) {
            best.bracket_ticks = after - before;
            best.raw_ticks = middle;
            best.monotonic_ns = monotonic_ns;
            best.realtime_ns = realtime_ns;
        }
    }
    if (kind == NTK_CLOCK_MONOTONIC) {
        best.monotonic_ns = best.raw_ticks;
    }
    return best;
}

#ifdef __cplusplus
}
#endif
#endif
