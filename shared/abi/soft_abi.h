/* SPDX-License-Identifier: MIT */
/*
 * soft_abi - `soft.state.1`: the state that a driver would hold, for the software machine in one
 * hooks folder.
 *
 * A file of fixed size in the hooks folder, mapped read-write by every process that uses the
 * machine and by no other process; it survives processes, as a driver's counters do. It is sparse.
 * Process slots that were never taken are not touched through the mapping, because touching them
 * raises SIGBUS if the file system is full. A file that has been mapped is never cut: a new machine
 * gets a new file under the same name. The device tree (paths.h) is published from it.
 *
 * Locks are POSIX record locks on bytes of `soft.lock`, opened once per process:
 *   byte p in 0..127          write lock of the process that owns physical core p
 *   NTK_SOFT_LOCK_PUBLISHER   the process that publishes the tree
 *   NTK_SOFT_LOCK_SETUP       held while the state is created, rebuilt or removed
 *   NTK_SOFT_LOCK_YIELDS + p  the owner of core p returns it on request
 *   NTK_SOFT_LOCK_WANTED + p  shared lock of processes that choose their cores
 *   NTK_SOFT_LOCK_PROCESS + s the process of slot s; free lock + pid set = dead: a process that
 *                             sees this gives back what the slot holds, then clears pid
 *
 * Counters are changed with __atomic adds by any process (ntk_abi_add_shared). Counters with total,
 * present and peak follow the driver: total is the current sum (memory) or the sum since the start
 * (counts), present the last change, peak the highest total.
 *
 * docs/formats/soft-state.md has the layout as tables. Plain C11, C17, C++17.
 */
#ifndef NTK_SHARED_ABI_SOFT_ABI_H
#define NTK_SHARED_ABI_SOFT_ABI_H

#include "shared/abi/paths.h" /* NTK_SOFT_ABI_VERSION */
#include "shared/abi/segment_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_SOFT_MAGIC 0x314654534b544eull /* "NTKSTF1" and a NUL, little-endian */
#define NTK_SOFT_DEVICES 16u
#define NTK_SOFT_STACKS 4u
#define NTK_SOFT_PROCESSES 256u
#define NTK_SOFT_CATEGORIES 22u
#define NTK_SOFT_LOCK_SETUP 1025
#define NTK_SOFT_LOCK_YIELDS 1152
#define NTK_SOFT_LOCK_WANTED 1280
#define NTK_SOFT_LOCK_PROCESS 2048

static_assert(NTK_SOFT_CATEGORIES == NTK_MEMORY_CATEGORY_COUNT, "soft.state keeps every category");

struct ntk_soft_count {
    uint64_t total;
    uint64_t present;
};

struct ntk_soft_memory {
    uint64_t total;
    uint64_t present;
    uint64_t peak;
};

/* 4,096 bytes. Written under NTK_SOFT_LOCK_SETUP, magic last (release); generation grows with each
 * rebuild. */
struct ntk_soft_header {
    uint64_t magic;
    uint32_t abi_version;
    /* slots from this index on were never taken; changed under NTK_SOFT_LOCK_SETUP */
    uint32_t process_limit;
    uint64_t state_bytes; /* sizeof(struct ntk_soft_state) */
    uint64_t generation;
    char instance_type[64]; /* a name of machine.def */
    uint32_t device_count;
    uint32_t cores_per_device; /* physical cores per device */
    uint32_t sysfs_layout;     /* 0 old (driver 2.30.2.0), 1 new (2.31.0.0) */
    uint32_t notify_delay;     /* the value of info/notify_delay, as int32_t */
    uint64_t created_realtime_ns;
    uint64_t heartbeat; /* rounds of the publisher so far */
    uint64_t publisher_pid;
    uint32_t wake;   /* a futex: publishers wait here between their rounds */
    uint32_t faults; /* hardware faults so far; the tree shows each before the next round starts */
    uint8_t reserved[4096 - 144];
};
static_assert(sizeof(struct ntk_soft_header) == 4096, "soft.state 1");
static_assert(offsetof(struct ntk_soft_header, instance_type) == 32, "soft.state 1");
static_assert(offsetof(struct ntk_soft_header, device_count) == 96, "soft.state 1");
static_assert(offsetof(struct ntk_soft_header, created_realtime_ns) == 112, "soft.state 1");
static_assert(offsetof(struct ntk_soft_header, wake) == 136, "soft.state 1");

/* Bits of unhealthy_components, in the order of the tree. */
enum ntk_soft_unhealthy {
    NTK_SOFT_UNHEALTHY_HBM = 1,
    NTK_SOFT_UNHEALTHY_SRAM = 2,
    NTK_SOFT_UNHEALTHY_FIRMWARE_SERVICE_API = 4,
    NTK_SOFT_UNHEALTHY_FIRMWARE_SERVICE_PROCESSOR = 8,
    NTK_SOFT_UNHEALTHY_LINK_INTRASERVER = 16,
    NTK_SOFT_UNHEALTHY_LINK_HOST = 32,
    NTK_SOFT_UNHEALTHY_LINK_EFA = 64,
    NTK_SOFT_UNHEALTHY_LINK_INTERSERVER = 128,
    NTK_SOFT_UNHEALTHY_LINK_SWITCH = 256,
    NTK_SOFT_UNHEALTHY_AXI_FABRIC = 512
};

/* One device: 1,024 bytes. */
struct ntk_soft_device {
    uint64_t mem_ecc_corrected;
    uint64_t mem_ecc_uncorrected;
    uint64_t mem_ecc_repairable_uncorrected;
    uint64_t sram_ecc_corrected;
    uint64_t sram_ecc_uncorrected;
    uint64_t unhealthy_components;            /* enum ntk_soft_unhealthy */
    uint64_t reset_state;                     /* 0 running, 1 ready, 2 invalid */
    uint64_t reset_count;                     /* resets done */
    uint64_t hbm_bytes_used[NTK_SOFT_STACKS]; /* per stack; reserved with compare-exchange */
    /* Power: busy share of the engines in the last full minute, in 1/100 percent. */
    uint64_t power_status; /* 0 VALID, 1 NO_DATA, 2 INVALID */
    uint64_t power_time_s; /* Unix seconds of the last aggregation */
    uint64_t power_min;
    uint64_t power_max;
    uint64_t power_avg;
    uint64_t reserved_0[7];
    struct ntk_soft_memory host_memory[NTK_SOFT_CATEGORIES]; /* host categories only */
    uint64_t reserved_1[38];
};
static_assert(sizeof(struct ntk_soft_device) == 1024, "soft.state 1");
static_assert(offsetof(struct ntk_soft_device, hbm_bytes_used) == 64, "soft.state 1");
static_assert(offsetof(struct ntk_soft_device, power_status) == 96, "soft.state 1");
static_assert(offsetof(struct ntk_soft_device, host_memory) == 192, "soft.state 1");

/* One physical core: 2,048 bytes. */
struct ntk_soft_core {
    uint64_t owner_pid; /* a hint; the lock is authoritative */
    /* Time at which that process took the core, in nanoseconds since 1970; 0: unknown. */
    uint64_t owner_since_ns;
    uint64_t reserved_0[6];
    struct ntk_soft_count status[32]; /* enum ntk_status_counter */
    struct ntk_soft_count model_load_count;
    struct ntk_soft_count inference_count;
    struct ntk_soft_count flop_count;
    struct ntk_soft_count nc_time_in_use_ns; /* nanoseconds; the tree shows microseconds */
    struct ntk_soft_count reset_req_count;
    struct ntk_soft_count reset_fail_count;
    struct ntk_soft_memory host_memory_total;
    struct ntk_soft_memory device_memory_total;
    /* Categories of device memory. Host categories are counted in the device. */
    struct ntk_soft_memory memory[NTK_SOFT_CATEGORIES];
    /* Cycles of each row group of the tensor engine. */
    uint64_t pe_matmul_cycles;
    uint64_t pe_weights_cycles;
    uint64_t pe_idle_cycles;
    uint64_t engine_busy_ns; /* sum over all engines, for power */
    uint64_t reserved_1[96];
};
static_assert(sizeof(struct ntk_soft_core) == 2048, "soft.state 1");
static_assert(offsetof(struct ntk_soft_core, status) == 64, "soft.state 1");
static_assert(offsetof(struct ntk_soft_core, model_load_count) == 576, "soft.state 1");
static_assert(offsetof(struct ntk_soft_core, host_memory_total) == 672, "soft.state 1");
static_assert(offsetof(struct ntk_soft_core, memory) == 720, "soft.state 1");
static_assert(offsetof(struct ntk_soft_core, pe_matmul_cycles) == 1248, "soft.state 1");

/* Resources of one process, so that they can be returned when it dies. Host memory counts on the
 * first physical core of a logical core. */
struct ntk_soft_process {
    uint64_t pid; /* 0 while free; stored with release */
    uint64_t start_time;
    uint64_t reserved[6];
    uint64_t bytes[NTK_SEGMENT_CORES][NTK_SOFT_CATEGORIES];
};
static_assert(sizeof(struct ntk_soft_process) == 64 + 128 * 22 * 8, "soft.state 1");

/* The layout of the whole file. Map sizeof this type; the file is sparse. */
struct ntk_soft_state {
    struct ntk_soft_header header;
    struct ntk_soft_device device[NTK_SOFT_DEVICES];
    struct ntk_soft_core core[NTK_SEGMENT_CORES];
    struct ntk_soft_process process[NTK_SOFT_PROCESSES];
};
static_assert(offsetof(struct ntk_soft_state, device) == 4096, "soft.state 1");
static_assert(offsetof(struct ntk_soft_state, core) == 20480, "soft.state 1");
static_assert(offsetof(struct ntk_soft_state, process) == 282624, "soft.state 1");

#ifdef __cplusplus
}
#endif
#endif
