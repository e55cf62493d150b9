/* SPDX-License-Identifier: MIT */
/*
 * bench_device - measures executions by the device's clock, from the runtime's system trace.
 *
 * Owner:   caller's storage; bench_device_fini() frees, also a zeroed struct.
 * Threads: one.
 */
#ifndef NTK_RUNTIME_HOOKS_BENCH_BENCH_DEVICE_H
#define NTK_RUNTIME_HOOKS_BENCH_BENCH_DEVICE_H

#include <stdint.h>

#include "runtime-hooks/nrt/nrt_library.h"
#include "shared/base/vec.h"

struct bench_device_time {
    uint32_t core; /* number within the process; the first one of several */
    uint64_t ns;
};

struct bench_device {
    /* elements are struct bench_device_time, in order of each core's executions */
    struct ntk_vec times;
};

/* Returns -ENOSYS if the library has no system trace. */
int bench_device_start(const struct ntk_nrt *nrt, uint64_t executions_max, struct ntk_err *err);
/* Stops the trace and keeps the newest executions_max executions of each core. */
int bench_device_stop(const struct ntk_nrt *nrt, struct bench_device *out_device,
                      struct ntk_err *err);
void bench_device_fini(struct bench_device *device);

#endif
