/* SPDX-License-Identifier: MIT */
/*
 * raw_clock for x86-64: the time stamp counter, if it is invariant and the kernel trusts it.
 */
#ifndef NTK_SHARED_ABI_RAW_CLOCK_X86_64_H
#define NTK_SHARED_ABI_RAW_CLOCK_X86_64_H

#include <cpuid.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

#include "shared/abi/segment_abi.h"

static inline uint64_t ntk_raw_clock_counter(void)
{
    return __rdtsc();
}

static inline uint32_t ntk_raw_clock_counter_kind(void)
{
    unsigned int eax = 0;
    unsigned int ebx = 0;
    unsigned int ecx = 0;
    unsigned int edx = 0;
    char source[16] = "";
    ssize_t bytes;
    int fd;

    if (__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) == 0 || (edx & (1u << 8)) == 0) {
        return NTK_CLOCK_MONOTONIC;
    }
    fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
              O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NTK_CLOCK_MONOTONIC;
    }
    bytes = read(fd, source, sizeof source - 1);
    close(fd);
    return bytes >= 3 && memcmp(source, "tsc", 3) == 0 && (source[3] == '\n' || source[3] == '\0')
               ? NTK_CLOCK_TSC
               : NTK_CLOCK_MONOTONIC;
}

/* Returns 0 if the frequency must be measured. */
static inline uint64_t ntk_raw_clock_counter_frequency(void)
{
    return 0;
}

#endif
