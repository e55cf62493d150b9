/* SPDX-License-Identifier: MIT */
/*
 * chip - returns the constants of a core generation, by instance type.
 *
 * Owner: plain data. Threads: any.
 */
#ifndef NTK_PROFILER_TRACE_CHIP_H
#define NTK_PROFILER_TRACE_CHIP_H

#include <stdbool.h>
#include <stdint.h>

/* Rate of one DMA engine of a Trainium1 or Trainium2 device: a sixteenth of the rate that the
 * vendor's profiler states for a Trainium2 core. In captures of both, packets reach up to 26.8
 * GB/s. The guides publish a lower rate (ntk_chip.dma_bytes_per_second), which software cores use
 * exactly. */
#define NTK_CHIP_DEVICE_DMA_BYTES_PER_SECOND (435e9 / 16)

struct ntk_chip {
    unsigned generation; /* 1 to 4 for NC-v1 to NC-v4 */
    uint32_t pe_rows, pe_columns, pe_mhz;
    uint32_t vector_mhz, scalar_mhz, gpsimd_mhz;
    uint32_t base_mhz;            /* unit of cycle counts */
    double hbm_bytes_per_second;  /* rate of one memory stack */
    double core_flops_per_second; /* peak of one physical core */
    double dma_bytes_per_second;  /* rate of one DMA engine, as published */
    uint32_t core_dma_engines;    /* number of DMA engines per physical core */
    uint32_t stack_cores;         /* number of physical cores that share a memory stack */
    uint32_t device_cores;        /* number of physical cores per device */
    uint64_t hbm_stack_bytes;     /* size of one memory stack */
    uint64_t sbuf_partition_bytes, psum_partition_bytes;
};

/* Returns false for an instance type of an unknown family; "trn2.any" belongs to the family of
 * trn2. */
bool ntk_chip_find(const char *instance_type, struct ntk_chip *out_chip);
/* Replaces published rates with rates of devices, where these are known. */
void ntk_chip_set_device(struct ntk_chip *chip);

#endif
