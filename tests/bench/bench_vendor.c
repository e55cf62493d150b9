/* SPDX-License-Identifier: MIT */
/*
 * A runtime with executions that only take ten microseconds, so that the cost of the
 * hooks around it shows. It has no version nodes, and only the calls that a process needs.
 */
#include <string.h>

#include "shared/abi/raw_clock.h"

#pragma GCC visibility push(default)
#include "nrt/nrt.h"
#include "nrt/nrt_version.h"
#pragma GCC visibility pop

#define CALL_NS 10000
#define WORKING_SET (64 * 1024) /* what an execution evicts from the nearest cache */

static char model;
static uint64_t call_ticks;
static uint32_t clock_kind;
static volatile unsigned char working_set[WORKING_SET];

NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version, const char *fal_version)
{
    (void)framework;
    (void)fw_version;
    (void)fal_version;
    clock_kind = ntk_raw_clock_kind();
    struct ntk_segment_clock first = ntk_raw_clock_bracket(clock_kind, 32);
    struct ntk_segment_clock last = first;
    while (last.monotonic_ns - first.monotonic_ns < 50000000) {
        last = ntk_raw_clock_bracket(clock_kind, 32);
    }
    call_ticks =
        (last.raw_ticks - first.raw_ticks) * CALL_NS / (last.monotonic_ns - first.monotonic_ns);
    return NRT_SUCCESS;
}

void nrt_close(void)
{
}

NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size)
{
    nrt_version_t version = { .rt_major = 2, .rt_detail = "bench" };

    memcpy(ver, &version, size < sizeof version ? size : sizeof version);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                    nrt_model_t **out_model)
{
    (void)neff_bytes;
    (void)size;
    (void)vnc;
    (void)vnc_count;
    *out_model = (nrt_model_t *)(void *)&model;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_execute(nrt_model_t *of, const nrt_tensor_set_t *input_set,
                       nrt_tensor_set_t *output_set)
{
    uint64_t start = ntk_raw_clock_now(clock_kind);

    (void)of;
    (void)input_set;
    (void)output_set;
    for (size_t i = 0; i < WORKING_SET; i += 64) {
        working_set[i]++;
    }
    while (ntk_raw_clock_now(clock_kind) - start < call_ticks) {
    }
    return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size)
{
    (void)tensor;
    (void)offset;
    (void)value;
    (void)size;
    return NRT_SUCCESS;
}
