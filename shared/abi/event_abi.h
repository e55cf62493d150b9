/* SPDX-License-Identifier: MIT */
/*
 * event_abi - the record of the event rings: one cache line, the same for every kind.
 *
 * A record is an event of the observed process. Rings overwrite their oldest records, so records
 * explain, and exact totals are in the counters of segment_abi.h.
 *
 *   offset size field
 *        0    8 seq          index + 1; 0 while the slot is being written
 *        8    8 start_ticks  raw clock at the start, see the clock block of the segment
 *       16    2 kind         enum ntk_event_kind
 *       18    2 flags        by kind
 *       20    2 core         global physical core, NTK_NO_CORE for none
 *       22    2 thread       index into the thread table; 0 for threads beyond the table
 *       24   40 word[5]      by kind; word 0 is the duration in ticks where the kind is a span
 *
 * Grows by new kinds; unused words are written 0 and ignored. A changed meaning is a new version.
 * Plain C11 (also C17, C++17); uses the C library only.
 */
#ifndef NTK_SHARED_ABI_EVENT_ABI_H
#define NTK_SHARED_ABI_EVENT_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A 64-bit word that aliases fields of other types. Words that another process changes are copied
 * through it. */
typedef uint64_t ntk_abi_word __attribute__((__may_alias__));

#define NTK_NO_CORE 0xffffu
#define NTK_SLOT_WORDS 5
#define NTK_SLOT_BYTES 64

struct ntk_slot {
    uint64_t seq;
    uint64_t start_ticks;
    uint16_t kind;
    uint16_t flags;
    uint16_t core;
    uint16_t thread;
    uint64_t word[NTK_SLOT_WORDS];
};

static_assert(sizeof(struct ntk_slot) == NTK_SLOT_BYTES, "event ABI 1: a slot is one cache line");
static_assert(offsetof(struct ntk_slot, start_ticks) == 8, "event ABI 1");
static_assert(offsetof(struct ntk_slot, kind) == 16, "event ABI 1");
static_assert(offsetof(struct ntk_slot, flags) == 18, "event ABI 1");
static_assert(offsetof(struct ntk_slot, core) == 20, "event ABI 1");
static_assert(offsetof(struct ntk_slot, thread) == 22, "event ABI 1");
static_assert(offsetof(struct ntk_slot, word) == 24, "event ABI 1");

/*
 * Kinds and their words. "lo" and "hi" are the 32-bit halves of a word (NTK_WORD_LO/_HI). Ticks are
 * raw clock ticks, including those in word 0; device ns are nanoseconds of device time (the two
 * clocks are never mixed).
 *
 * kind           word 0    word 1               word 2         word 3           word 4
 * EXEC           duration  model lo, status hi  execution id   on-core ticks    device ns
 * ENGINE         busy      model lo, engine hi  execution id   busy device ns   instructions or
 *                                                                               descriptors
 * TRANSFER       duration  model lo,            bytes          device address   offset in the
 *                          tensor name hi                                       tensor
 * MEM_ALLOC      0         model lo,            address        bytes            category lo,
 *                          tensor name hi                                       location hi
 * MEM_FREE       0         as MEM_ALLOC
 * MODEL_LOAD     duration  model lo, status hi  device bytes   model name lo,   physical cores
 *                                                              neff path name
 *                                                              hi
 * MODEL_UNLOAD   duration  model lo, status hi  executions     model name lo    physical cores
 * ERROR          0         model lo, status hi  execution id   error class lo,  value
 *                                                              error code hi
 * PROFILE_START  0         model lo, status hi  session        file name name   0
 *                                                              lo
 * PROFILE_STOP   duration  as PROFILE_START                                     bytes written
 * MARK           duration  name lo              value          value            0
 * MODEL_START    duration  model lo, status hi  starts so far  model name lo    physical cores
 * MODEL_STOP     duration  model lo, status hi  executions     model name lo    physical cores
 * COLLECTIVE     duration  communicator lo,     sequence       bytes            waiting ticks
 *                          status hi
 * TRACE_PARENT   0         trace flags lo       trace id,      trace id, last   parent span id
 *                                               first 8 bytes  8 bytes
 *
 * status: the result, a number of shared/abi/result.def. EXEC, flags: NTK_EXEC_FLAGS(); the queue
 * is the number of the caller's queue that it waited in, 0 where it waited in none or in one
 * without a number. start is the call, on-core ticks (host time) belong to device_latency; the
 * ENGINE records of an execution start when its core started. An execution that continues on other
 * cores has a record on each, with its id.
 * MODEL_START, MODEL_STOP: recorded only by runtimes with calls to start and stop models between
 * load and unload; the span of a stop is the wait for executions in progress.
 * TRACE_PARENT: the trace that later records of this thread belong to, as big-endian numbers; a
 * trace id of 0 ends it.
 * COLLECTIVE, flags: enum ntk_collective, element type << 8. Communicator: the index of its entry.
 * TRANSFER, flags: enum ntk_transfer. MEM_*: core, category and location as in the memory table.
 */
enum ntk_event_kind {
    NTK_EVENT_NONE = 0,
    NTK_EVENT_EXEC = 1,
    NTK_EVENT_ENGINE = 2,
    NTK_EVENT_TRANSFER = 3,
    NTK_EVENT_MEM_ALLOC = 4,
    NTK_EVENT_MEM_FREE = 5,
    NTK_EVENT_MODEL_LOAD = 6,
    NTK_EVENT_MODEL_UNLOAD = 7,
    NTK_EVENT_ERROR = 8,
    NTK_EVENT_PROFILE_START = 9,
    NTK_EVENT_PROFILE_STOP = 10,
    NTK_EVENT_MARK = 11,
    NTK_EVENT_MODEL_START = 12,
    NTK_EVENT_MODEL_STOP = 13,
    NTK_EVENT_COLLECTIVE = 14,
    NTK_EVENT_TRACE_PARENT = 15,
    NTK_EVENT_KIND_COUNT
};

#define NTK_EXEC_FLAGS(outcome, queue) \
    ((uint16_t)((unsigned)(outcome) | (unsigned)(queue) << 4)) /* enum ntk_outcome */
#define NTK_EXEC_OUTCOME(flags) ((flags)&0xFU)
#define NTK_EXEC_QUEUE(flags) ((unsigned)(flags) >> 4)
#define NTK_EXEC_QUEUES 4095 /* largest queue number */

enum ntk_transfer {
    NTK_TRANSFER_HOST_TO_DEVICE = 0,
    NTK_TRANSFER_DEVICE_TO_HOST = 1,
    NTK_TRANSFER_DEVICE_TO_DEVICE = 2,
    NTK_TRANSFER_HOST_TO_HOST = 3,
    NTK_TRANSFER_COUNT
};

/* One outcome per execution, in the order of the report's execution_summary. */
enum ntk_outcome {
#define NTK_OUTCOME(id, symbol, name, text) NTK_OUTCOME_##symbol = id,
#include "shared/abi/core_counts.def"
    NTK_OUTCOME_COUNT
};

/* Same order as in the report's error_summary. */
enum ntk_error_class {
#define NTK_ERROR_CLASS(id, symbol, name) NTK_ERROR_##symbol = id,
#include "shared/abi/core_counts.def"
    NTK_ERROR_CLASS_COUNT,
    NTK_ERROR_CLASS_NONE = 0xff
};

/* The cause of an ERROR record that does not come from an execution's status. */
enum ntk_error_code {
    NTK_ERROR_CODE_STATUS = 0, /* see the record's status */
    NTK_ERROR_CODE_ECC_MEM_CORRECTED = 1,
    NTK_ERROR_CODE_ECC_MEM_UNCORRECTED = 2,
    NTK_ERROR_CODE_ECC_MEM_REPAIRABLE = 3,
    NTK_ERROR_CODE_ECC_SRAM_CORRECTED = 4,
    NTK_ERROR_CODE_ECC_SRAM_UNCORRECTED = 5,
    NTK_ERROR_CODE_RESET = 6,
    NTK_ERROR_CODE_COUNT
};

enum ntk_collective {
#define NTK_COLLECTIVE(id, symbol, name) NTK_COLLECTIVE_##symbol = id,
#include "shared/abi/collective.def"
    NTK_COLLECTIVE_COUNT
};
static_assert(NTK_COLLECTIVE_COUNT == 5, "collective.def numbers its rows without gaps");

/* Counters by result, in the order of shared/abi/status.def. */
enum ntk_status_counter {
#define NTK_STATUS(id, symbol, folder, datastore_id) NTK_STATUS_##symbol = id,
#include "shared/abi/status.def"
#undef NTK_STATUS
    NTK_STATUS_COUNT
};
static_assert(NTK_STATUS_COUNT == 24, "status.def numbers its rows without gaps");

enum ntk_engine {
#define NTK_ENGINE(id, symbol, neff_file, short_name, label, profiler_name, nki_engine) \
    NTK_ENGINE_##symbol = id,
#include "shared/abi/engine.def"
#undef NTK_ENGINE
    NTK_ENGINE_COUNT
};
static_assert(NTK_ENGINE_COUNT == 6, "engine.def numbers its rows without gaps");

enum ntk_memory_location { NTK_MEMORY_HOST = 0, NTK_MEMORY_DEVICE = 1 };

enum ntk_memory_category {
#define NTK_MEMORY(id, symbol, name, location, sysfs, report_key, oom_row, ntff_type) \
    NTK_MEMORY_##symbol = id,
#include "shared/abi/memory.def"
#undef NTK_MEMORY
    NTK_MEMORY_CATEGORY_COUNT
};
static_assert(NTK_MEMORY_CATEGORY_COUNT == 22, "memory.def numbers its rows without gaps");

/* Relies on the host categories coming last in the enum. */
static inline enum ntk_memory_location ntk_memory_location_of(enum ntk_memory_category category)
{
    return category >= NTK_MEMORY_HOST_APPLICATION ? NTK_MEMORY_HOST : NTK_MEMORY_DEVICE;
}
#define NTK_MEMORY(id, symbol, name, location, sysfs, report_key, oom_row, ntff_type) \
    static_assert((NTK_MEMORY_##location == NTK_MEMORY_HOST) ==                       \
                      ((id) >= NTK_MEMORY_HOST_APPLICATION),                          \
                  "memory.def has the host's categories last");
#include "shared/abi/memory.def"
#undef NTK_MEMORY

/* Packs kind, flags, core and thread of a slot into the one word that writers store and readers
 * load. */
#define NTK_SLOT_META(kind, flags, core, thread)                      \
    ((uint64_t)(uint16_t)(kind) | (uint64_t)(uint16_t)(flags) << 16 | \
     (uint64_t)(uint16_t)(core) << 32 | (uint64_t)(uint16_t)(thread) << 48)
#define ntk_slot_meta(slot) ((ntk_abi_word *)(void *)&(slot)->kind)

#define NTK_WORD(lo, hi) ((uint64_t)(uint32_t)(lo) | (uint64_t)(uint32_t)(hi) << 32)
#define NTK_WORD_LO(word) ((uint32_t)(word))
#define NTK_WORD_HI(word) ((uint32_t)((word) >> 32))

/* The outcome that result.def lists for this status. */
static inline enum ntk_outcome ntk_outcome_of_status(uint32_t status)
{
    switch (status) {
#define NTK_RESULT(symbol, status, outcome, error_class, counter) \
    case status:                                                  \
        return NTK_OUTCOME_##outcome;
#include "shared/abi/result.def"
#undef NTK_RESULT
    default:
        return NTK_OUTCOME_COMPLETED_WITH_ERR;
    }
}

/* NTK_ERROR_CLASS_NONE if the status is not a counted error. */
static inline enum ntk_error_class ntk_error_class_of_status(uint32_t status)
{
    switch (status) {
#define NTK_RESULT(symbol, status, outcome, error_class, counter) \
    case status:                                                  \
        return NTK_ERROR_##error_class;
#include "shared/abi/result.def"
#undef NTK_RESULT
    default:
        return NTK_ERROR_GENERIC;
    }
}

static inline enum ntk_status_counter ntk_status_counter_of_status(uint32_t status)
{
    switch (status) {
#define NTK_RESULT(symbol, status, outcome, error_class, counter) \
    case status:                                                  \
        return NTK_STATUS_##counter;
#include "shared/abi/result.def"
#undef NTK_RESULT
    default:
        return NTK_STATUS_GENERIC;
    }
}

#ifdef __cplusplus
}
#endif
#endif
