/* SPDX-License-Identifier: MIT */
/*
 * counters - computes the utilization of the chip over time: memory on the chip, the tensor engine,
 * device memory, and DMA.
 *
 *   SBUF, PSUM     bytes of a partition with a value still needed, as in chip_memory.h
 *   MFU            operations of a MATMUL, as a share of the core's peak: as
 *                  mfu_inst_estimated_percent counts them, without transposes
 *   HBM            bytes of device memory that transfers read or write
 *   Pending DMA    transfers that began and have packets left, as in pending.h
 *
 * Records of a pipeline overlap. Work belongs to the time in which the engine can do it, so a
 * counter does not add up overlapping records:
 *
 *   MFU            The operations of a MATMUL are spread evenly from its start to the start of the
 *                  next one, at the latest to its end. What the engine cannot do in this time at
 *                  its peak moves later, and delays the next MATMUL. So MFU is at most 100 %.
 *   HBM            The bytes of a packet are spread evenly from its start to its end, without the
 *                  time before the end of the previous packet of its DMA engine.
 *
 * A counter has no points if the capture has only a part of it: SBUF and PSUM if chip_access.h
 * lacks ranges of an instruction, MFU if the work of a MATMUL or the chip is unknown, HBM if a
 * transfer lacks its packets or bytes. It also has none if nothing happened. Missing records of a
 * truncated capture count as unknown. Over time, MFU and HBM add up to the values of the summary.
 *
 * Points are computed by steps.h. Errors: -errno of a sorter or a list, -ENOMEM, or the result of
 * put.
 *
 * Owner:   the caller provides the storage, which needs no freeing; the transfers are borrowed.
 * Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_COUNTERS_H
#define NTK_PROFILER_ANALYSIS_COUNTERS_H

#include "profiler/analysis/chip_access.h"
#include "profiler/analysis/transfers.h"

enum ntk_counter {
    NTK_COUNTER_SBUF,
    NTK_COUNTER_PSUM,
    NTK_COUNTER_PSUM_BANK, /* the first bank */
    NTK_COUNTER_MFU = NTK_COUNTER_PSUM_BANK + NTK_CHIP_BANKS,
    NTK_COUNTER_HBM_READ,
    NTK_COUNTER_HBM_WRITE,
    NTK_COUNTER_PENDING,
    NTK_COUNTER_COUNT
};

struct ntk_counter_info {
    const char *name;
    const char *unit; /* such as "B", "%", "B/s" or "transfers" */
    const char *help;
    bool is_whole; /* values are whole numbers */
};

/* counter must be below NTK_COUNTER_COUNT. */
const struct ntk_counter_info *ntk_counter_info_get(enum ntk_counter counter);
static inline bool ntk_counter_is_bank(enum ntk_counter counter)
{
    return counter >= NTK_COUNTER_PSUM_BANK && counter < NTK_COUNTER_PSUM_BANK + NTK_CHIP_BANKS;
}

struct ntk_counters {
    const struct ntk_transfers *transfers;
    bool hbm_is_known; /* true if the bytes of all transfers of all cores are known */
};

void ntk_counters_init(struct ntk_counters *counters, const struct ntk_transfers *transfers);

/* Receives the value from this time on. A negative result stops the analysis and is returned. */
typedef int ntk_counter_put(void *ctx, enum ntk_counter counter, int64_t time_ps, double value);

/* Reports one counter after the other, each in order of time. */
int ntk_analysis_counters(const struct ntk_counters *counters, size_t core, ntk_counter_put *put,
                          void *ctx);

#endif
