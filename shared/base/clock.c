/* SPDX-License-Identifier: MIT */
/* clock - the two clocks of the tools, in nanoseconds. */
#include "shared/base/clock.h"

#include <stddef.h>
#include <time.h>

static uint64_t read_clock(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * NTK_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t ntk_clock_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t ntk_clock_realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

uint64_t ntk_clock_now_ns(const struct ntk_clock *clock)
{
    return clock ? clock->monotonic_ns(clock->ctx) : ntk_clock_monotonic_ns();
}

uint64_t ntk_clock_wall_ns(const struct ntk_clock *clock)
{
    return clock ? clock->realtime_ns(clock->ctx) : ntk_clock_realtime_ns();
}

static uint64_t system_monotonic_ns(void *ctx)
{
    (void)ctx;
    return ntk_clock_monotonic_ns();
}

static uint64_t system_realtime_ns(void *ctx)
{
    (void)ctx;
    return ntk_clock_realtime_ns();
}

const struct ntk_clock *ntk_clock_system_get(void)
{
    static const struct ntk_clock system_clock = { system_monotonic_ns, system_realtime_ns, NULL,
                                                   NULL };

    return &system_clock;
}
