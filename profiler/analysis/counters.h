/* SPDX-License-Identifier: MIT */
/*
 * counters - the utilization of the chip over time: memory on the chip, the tensor engine, device
 * memory, and DMA.
 *
 *   SBUF, PSUM     bytes of a partition with a value still needed, as in chip_memory.h
 *   MFU            operations of a MATMUL, spread evenly over it, as a share of the core's
 *                  peak: as mfu_inst_estimated_percent counts them, without transposes
 *   HBM            bytes of device memory that transfers read or write, spread evenly over the time
 *                  from the first packet of each to the last
 *   Pending DMA    transfers that began and have packets left, as in pending.h
 *
 * A counter has no points if the capture has only a part of it: SBUF and PSUM if chip_access.h
 * lacks ranges of an instruction, MFU if the work of a MATMUL or the chip is unknown, HBM if a
 * transfer lacks its packets or bytes. It also has none if nothing happened. Missing records of a
 * truncated capture count as unknown. Over time, MFU and HBM add up to the values of the summary.
 *
 * Points are those of steps.h. Pure: transfers to points; -errno of a sorter or a list, -ENOMEM, or
 * the result of put.
 *
 * Owner: the caller's storage, nothing to free; it borrows the transfers. Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_COUNTERS_H
#define NTK_PROFILER_ANALYSIS_COUNTERS_H

#include "profiler/analysis/chip_access.h"
#include "profiler/analysis/transfers.h"

enum ntk_counter {
    NTK_COUNTER_SBUF,
    NTK_COUNTER_PSUM,
    NTK_COUNTER_PSUM_BANK, /* the first of them */
    NTK_COUNTER_MFU = NTK_COUNTER_PSUM_BANK + NTK_CHIP_BANKS,
    NTK_COUNTER_HBM_READ,
    NTK_COUNTER_HBM_WRITE,
    NTK_COUNTER_PENDING,
    NTK_COUNTER_COUNT
};

struct ntk_counter_info {
    const char *name;
    const char *unit; /* "B", "%", "B/s", "transfers" */
    const char *help;
    bool is_whole; /* values are whole numbers */
};

/* counter < NTK_COUNTER_COUNT */
const struct ntk_counter_info *ntk_counter_info_get(enum ntk_counter counter);
static inline bool ntk_counter_is_bank(enum ntk_counter counter)
{
    return counter >= NTK_COUNTER_PSUM_BANK && counter < NTK_COUNTER_PSUM_BANK + NTK_CHIP_BANKS;
}

struct ntk_counters {
    const struct ntk_transfers *transfers;
    bool hbm_is_known; /* bytes of all transfers of all cores */
};

void ntk_counters_init(struct ntk_counters *counters, const struct ntk_transfers *transfers);

/* The value from then on. A negative result stops and is returned. */
typedef int ntk_counter_put(void *ctx, enum ntk_counter counter, int64_t time_ps, double value);

/* Counter by counter, each in time order. */
int ntk_analysis_counters(const struct ntk_counters *counters, size_t core, ntk_counter_put *put,
                          void *ctx);

#endif
