/* SPDX-License-Identifier: MIT */
/*
 * core_counters - counters of this process's cores and of the machine's devices, for a front with
 * callers that read counters. Independent of the hooks.
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_COUNTERS_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_COUNTERS_H

#include <stdint.h>

#include "runtime-hooks/core/core.h"
#include "runtime-hooks/engine/engine.h"
#include "shared/abi/soft_abi.h"

/* Executions since ntk_core_open(), over all physical cores of a logical core. Cycles are those of
 * the engine's clock in device time; time that is neither executing nor waiting is idle. */
struct ntk_core_counts {
    struct {
        uint64_t idle_cycles, wait_cycles, instruction_count;
    } engine[NTK_ENGINE_SEQUENCER_COUNT]; /* indexed by enum ntk_engine */
    /* for PE: cycles that its array waits, and number of its products */
    uint64_t matmul_wait_cycles, matmul_count;
    uint64_t macs;
    uint64_t time_in_use_ns; /* in host time, including running executions */
};
/* Returns -EINVAL for an unknown core. */
int ntk_core_counts_get(struct ntk_core *core, uint32_t nc, struct ntk_core_counts *out_counts);

/* Memory of this process on a core's device. */
struct ntk_core_device_memory {
    uint64_t host_bytes;                   /* host memory used for the device's cores */
    uint64_t stack_bytes[NTK_SOFT_STACKS]; /* by number of the stack in the device */
    uint32_t stack_count;
};
/* Returns -EINVAL for an unknown core. */
int ntk_core_device_memory_get(const struct ntk_core *core, uint32_t nc,
                               struct ntk_core_device_memory *out_memory);

/* Counters of a core's device that a driver would provide, since the machine was built. */
struct ntk_core_device_counts {
    uint64_t mem_ecc_corrected, mem_ecc_uncorrected, mem_ecc_repairable_uncorrected;
    uint64_t sram_ecc_corrected, sram_ecc_uncorrected;
};
/* Returns -EINVAL for an unknown core. */
int ntk_core_device_counts_get(const struct ntk_core *core, uint32_t nc,
                               struct ntk_core_device_counts *out_counts);

/* The current memory of a model, including all copies. Shared constants are accounted to the model
 * that loaded them. */
struct ntk_core_model_memory {
    uint64_t host_bytes, device_bytes;
};
void ntk_core_model_memory_get(const struct ntk_core_model *model,
                               struct ntk_core_model_memory *out_memory);

#endif
