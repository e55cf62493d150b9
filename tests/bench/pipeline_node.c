/* SPDX-License-Identifier: MIT */
/*
 * CPU nodes that copy their tensor after a fixed delay: 1 ms before the core, 2 ms after it.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "shared/formats/neff/neff_cpu.h"

#define EXPORTED __attribute__((visibility("default")))

ntk_neff_cpu_function bench_before, bench_after;

static int copy_after(long ms, const struct ntk_neff_cpu_tensor *from,
                      const struct ntk_neff_cpu_tensor *to)
{
    struct timespec left = { .tv_nsec = ms * 1000000 };

    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    memcpy(to->data, from->data, to->bytes_count);
    return 0;
}

EXPORTED int bench_before(const struct ntk_neff_cpu_tensor *inputs, uint32_t input_count,
                          const struct ntk_neff_cpu_tensor *outputs, uint32_t output_count)
{
    return input_count == 1 && output_count == 1 ? copy_after(1, inputs, outputs) : 1;
}

EXPORTED int bench_after(const struct ntk_neff_cpu_tensor *inputs, uint32_t input_count,
                         const struct ntk_neff_cpu_tensor *outputs, uint32_t output_count)
{
    return input_count == 1 && output_count == 1 ? copy_after(2, inputs, outputs) : 1;
}
