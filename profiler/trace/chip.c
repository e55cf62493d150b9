/* SPDX-License-Identifier: MIT */
/* chip - converts rows of shared/abi/machine.def to the form for profiles. */
#include "profiler/trace/chip.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PARTITIONS 128 /* partitions of the state buffer and of PSUM */

enum generation {
#define NTK_CORE_GENERATION(symbol, ...) GENERATION_##symbol,
#include "shared/abi/machine.def"
    GENERATION_COUNT
};

static const struct {
    uint32_t rows, columns, pe_mhz, vector_mhz, scalar_mhz, gpsimd_mhz, base_mhz;
    double hbm_bytes_per_second, dma_bytes_per_us;
    uint64_t sbuf_bytes, psum_bytes;
    uint32_t dma_engines;
} generations[GENERATION_COUNT] = {
#define NTK_CORE_GENERATION(symbol, arch, rows, columns, pe, dve, act, pool, base, sbuf, psum, \
                            stack_bytes_per_second, dma_engines, dma_rate)                     \
    { rows,     columns, pe,   dve,        act, pool, base, (double)(stack_bytes_per_second),  \
      dma_rate, sbuf,    psum, dma_engines },
#include "shared/abi/machine.def"
};

enum family {
#define NTK_FAMILY(symbol, ...) FAMILY_##symbol,
#include "shared/abi/machine.def"
    FAMILY_COUNT
};

static const struct {
    enum generation generation;
    uint32_t device_cores;
    uint64_t stack_bytes;
    uint32_t stack_cores;
} families[FAMILY_COUNT] = {
#define NTK_FAMILY(symbol, generation, cores, stacks, stack_bytes, stack_cores, ...) \
    { GENERATION_##generation, cores, stack_bytes, stack_cores },
#include "shared/abi/machine.def"
};

static const struct {
    const char *instance_type;
    enum family family;
} machines[] = {
#define NTK_MACHINE(instance_type, family, ...) { instance_type, FAMILY_##family },
#include "shared/abi/machine.def"
};

bool ntk_chip_find(const char *instance_type, struct ntk_chip *out_chip)
{
    size_t prefix = strcspn(instance_type, ".");

    for (size_t i = 0; prefix && i < sizeof machines / sizeof *machines; i++) {
        if (strcspn(machines[i].instance_type, ".") != prefix ||
            strncmp(machines[i].instance_type, instance_type, prefix) != 0) {
            continue;
        }
        enum generation g = families[machines[i].family].generation;
        *out_chip = (struct ntk_chip){
            .generation = (unsigned)g + 1,
            .pe_rows = generations[g].rows,
            .pe_columns = generations[g].columns,
            .pe_mhz = generations[g].pe_mhz,
            .vector_mhz = generations[g].vector_mhz,
            .scalar_mhz = generations[g].scalar_mhz,
            .gpsimd_mhz = generations[g].gpsimd_mhz,
            .base_mhz = generations[g].base_mhz,
            .hbm_bytes_per_second = generations[g].hbm_bytes_per_second,
            .core_flops_per_second =
                2.0 * generations[g].rows * generations[g].columns * generations[g].pe_mhz * 1e6,
            .device_cores = families[machines[i].family].device_cores,
            .hbm_stack_bytes = families[machines[i].family].stack_bytes,
            .sbuf_partition_bytes = generations[g].sbuf_bytes / PARTITIONS,
            .psum_partition_bytes = generations[g].psum_bytes / PARTITIONS,
            .dma_bytes_per_second = generations[g].dma_bytes_per_us * 1e6,
            .core_dma_engines = generations[g].dma_engines,
            .stack_cores = families[machines[i].family].stack_cores,
        };
        return true;
    }
    return false;
}

void ntk_chip_set_device(struct ntk_chip *chip)
{
    if (chip->generation == GENERATION_V2 + 1 || chip->generation == GENERATION_V3 + 1) {
        chip->dma_bytes_per_second = NTK_CHIP_DEVICE_DMA_BYTES_PER_SECOND;
    }
}
