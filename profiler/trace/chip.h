/* SPDX-License-Identifier: MIT */
/*
 * chip - the constants of a core generation, by instance type.
 *
 * Owner: plain data. Threads: any.
 */
#ifndef NTK_PROFILER_TRACE_CHIP_H
#define NTK_PROFILER_TRACE_CHIP_H

#include <stdbool.h>
#include <stdint.h>

struct ntk_chip {
    unsigned generation; /* 1 to 4: NC-v1 to NC-v4 */
    uint32_t pe_rows, pe_columns, pe_mhz;
    uint32_t vector_mhz, scalar_mhz, gpsimd_mhz;
    uint32_t base_mhz;            /* unit of cycle counts */
    double hbm_bytes_per_second;  /* of one memory stack */
    double core_flops_per_second; /* peak of one physical core */
    double dma_bytes_per_second;  /* of one DMA engine */
    uint32_t core_dma_engines;    /* DMA engines of one physical core */
    uint32_t stack_cores;         /* physical cores that share one memory stack */
    uint32_t device_cores;        /* physical cores of a device */
    uint64_t hbm_stack_bytes;     /* of one memory stack */
    uint64_t sbuf_partition_bytes, psum_partition_bytes;
};

/* False for an instance type of an unknown family; "trn2.any" belongs to the family of trn2. */
bool ntk_chip_find(const char *instance_type, struct ntk_chip *out_chip);

#endif
