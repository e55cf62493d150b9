/* SPDX-License-Identifier: MIT */
/*
 * segment_abi - the shared-memory file of one observed process: header, counters, tables, rings.
 *
 * One process writes it, any number of readers map it read-only. All fields are little-endian as
 * the machine's; a reader bounds every offset, count and id before it uses it (shared/ring does).
 * docs/formats/segment.md has the same layout as tables.
 *
 * The file: header page, then the sections that header.section[] locates. Pages of some sections
 * (histograms, rings) are reserved only when used; readers touch these only where the writer
 * permits it: `histogram` of a core or model, `state` of a ring.
 *
 * Words that change while readers read are plain uint64_t/uint32_t here, so that the header works
 * in C11, C17 and C++17; they are only accessed through ntk_abi_load/_store below.
 *
 * Pairs: every store_release of runtime-hooks pairs with the load_acquire of shared/ring that reads
 * the same word.
 *
 * Grows by new sections and by reserved fields (written 0, ignored). A changed meaning is a new
 * NTK_SEGMENT_ABI_VERSION.
 */
#ifndef NTK_SHARED_ABI_SEGMENT_ABI_H
#define NTK_SHARED_ABI_SEGMENT_ABI_H

#include "shared/abi/event_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_SEGMENT_MAGIC 0x314745534b544eull /* "NTKSEG1" and a NUL, little-endian */
#ifndef NTK_SEGMENT_ABI_VERSION               /* overridden by tests of programs of two versions */
#define NTK_SEGMENT_ABI_VERSION 2u
#endif

/* Limits of the tables: a segment never grows. */
#define NTK_SEGMENT_CORES 128u
#define NTK_SEGMENT_MODELS 256u
#define NTK_SEGMENT_MEMORY_ROWS 4096u
#define NTK_SEGMENT_NAMES 4096u
#define NTK_SEGMENT_NAME_BYTES (256u * 1024u)
#define NTK_SEGMENT_THREADS 256u
#define NTK_SEGMENT_RINGS 256u
#define NTK_SEGMENT_COMMS 256u
#define NTK_SEGMENT_HISTOGRAM_PAIRS (NTK_SEGMENT_CORES + NTK_SEGMENT_MODELS)
#define NTK_RING_SLOTS 16384u
#define NTK_RING_SLOTS_MIN 1024u
#define NTK_RINGS_BYTES_DEFAULT (32u * 1024u * 1024u)
/* Maximum size of a valid segment; readers reject larger files. */
#define NTK_SEGMENT_BYTES_MAX (4ull << 30)

#define NTK_MODEL_ID_FIRST 10001u

/* Access to words that another process may access at the same time. GCC and clang builtins, because
 * _Atomic members would differ between C and C++. */
#define ntk_abi_load(pointer) __atomic_load_n((pointer), __ATOMIC_RELAXED)
#define ntk_abi_load_acquire(pointer) __atomic_load_n((pointer), __ATOMIC_ACQUIRE)
#define ntk_abi_store(pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELAXED)
#define ntk_abi_store_release(pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELEASE)
/* Adds to a counter that only the calling thread writes: a load and a store, no locked
 * instruction. */
#define ntk_abi_add_owned(pointer, amount)                                               \
    __atomic_store_n((pointer), __atomic_load_n((pointer), __ATOMIC_RELAXED) + (amount), \
                     __ATOMIC_RELEASE)
/* Adds to a counter that several threads write. */
#define ntk_abi_add_shared(pointer, amount) \
    __atomic_fetch_add((pointer), (amount), __ATOMIC_RELEASE)

/* Fences of the sequence protocols. The thread sanitizer does not support fences. Without them its
 * build is still correct, because all words around them are atomic and the machines it runs on keep
 * the order of stores and loads. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NTK_ABI_NO_FENCES 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define NTK_ABI_NO_FENCES 1
#endif
#ifdef NTK_ABI_NO_FENCES
#define ntk_abi_fence_release() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define ntk_abi_fence_acquire() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#else
#define ntk_abi_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#define ntk_abi_fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

enum ntk_segment_section_id {
    NTK_SECTION_PROCESS = 0,    /* 1 x struct ntk_segment_process */
    NTK_SECTION_CORES = 1,      /* 128 x struct ntk_segment_core, by global physical core */
    NTK_SECTION_MODELS = 2,     /* 256 x struct ntk_segment_model */
    NTK_SECTION_MEMORY = 3,     /* 4,096 x struct ntk_segment_memory_row */
    NTK_SECTION_NAMES = 4,      /* 4,096 x struct ntk_segment_name; index = name id, 0 = no name */
    NTK_SECTION_NAME_BYTES = 5, /* 262,144 x char */
    /* 256 x struct ntk_segment_thread; entry 0 stands for all threads beyond the table */
    NTK_SECTION_THREADS = 6,
    NTK_SECTION_RINGS = 7, /* 256 x struct ntk_segment_ring: the ring directory */
    NTK_SECTION_SLOTS = 8, /* memory of the rings in the directory, in 64-byte units */
    NTK_SECTION_HISTOGRAMS =
        9,                    /* 384 x struct ntk_histogram_pair: 128 by core, 256 by model slot */
    NTK_SECTION_COMMS = 10,   /* 256 x struct ntk_segment_comm; missing in older files */
    NTK_SECTION_TRIGGER = 11, /* 1 x struct ntk_segment_trigger; missing in older files */
    NTK_SECTION_COUNT = 12,
    NTK_SECTION_LIMIT = 16
};

/*
 *   offset size field
 *        0    8 offset       from the start of the file, multiple of 64
 *        8    4 entry_bytes  at least the size this version knows; more is newer
 *       12    4 count
 */
struct ntk_segment_section {
    uint64_t offset;
    uint32_t entry_bytes;
    uint32_t count;
};
static_assert(sizeof(struct ntk_segment_section) == 16, "segment ABI 2");

/*
 *   offset size field
 *        0    8 magic           stored last (release): a file without it is not ready
 *        8    4 abi_version
 *       12    4 header_bytes    sizeof of this struct
 *       16    4 slot_bytes      64
 *       20    4 section_count
 *       24    8 segment_bytes   size of the file
 *       32  256 section[16]     by enum ntk_segment_section_id
 *      288   72  counts of what had no room, since process start (shared adds)
 *      360   16 cores_used      a bit per core, set when the core is first claimed
 *      512      end
 */
struct ntk_segment_header {
    uint64_t magic;
    uint32_t abi_version;
    uint32_t header_bytes;
    uint32_t slot_bytes;
    uint32_t section_count;
    uint64_t segment_bytes;
    struct ntk_segment_section section[NTK_SECTION_LIMIT];
    uint64_t events_without_ring; /* records dropped because no ring was available */
    uint64_t rings_refused;       /* number of failed attempts to get a ring */
    uint64_t rings_shrunk;        /* rings that are smaller than NTK_RING_SLOTS for lack of space */
    uint64_t histograms_refused;  /* histogram pairs for which there was no space */
    uint64_t models_refused;      /* models without a table entry, counted as model 0 */
    uint64_t memory_rows_refused; /* allocations counted in a less detailed row */
    uint64_t names_refused;       /* names recorded as name 0 */
    uint64_t threads_refused;     /* threads recorded as thread 0 */
    uint64_t comms_refused;       /* communicator ranks without an entry */
    /* One bit per core that has ever left state UNUSED; readers touch only these. Set before the
     * state. */
    uint64_t cores_used[NTK_SEGMENT_CORES / 64];
    uint64_t reserved[17];
};
static_assert(sizeof(struct ntk_segment_header) == 512, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_header, segment_bytes) == 24, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_header, section) == 32, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_header, events_without_ring) == 288, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_header, cores_used) == 360, "segment ABI 2");

enum ntk_clock_kind {
    NTK_CLOCK_MONOTONIC = 0, /* raw ticks are nanoseconds of CLOCK_MONOTONIC */
    NTK_CLOCK_TSC = 1,       /* x86-64 time stamp counter, invariant */
    NTK_CLOCK_CNTVCT = 2     /* AArch64 virtual counter */
};

/* The same time on three clocks, from the smallest bracket of several tries. Immutable. */
struct ntk_segment_clock {
    uint32_t kind; /* enum ntk_clock_kind */
    uint32_t reserved;
    uint64_t ticks_per_second;
    uint64_t raw_ticks;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
    uint64_t bracket_ticks; /* raw ticks between the two readings around the triple */
};
static_assert(sizeof(struct ntk_segment_clock) == 48, "segment ABI 2");

#define NTK_TAG_BYTES 256
#define NTK_VERSION_TEXT_BYTES 64

/* A description of the process. Written before the magic; only `ended` changes afterwards, and in
 * an ATTACHED process CORES_GUESSED and NO_EXECUTIONS may be added to `flags`. Texts are
 * NUL-terminated or fill their field; readers must not rely on the NUL. */
struct ntk_segment_process {
    uint32_t pid; /* pid in the process's own namespace */
    uint32_t uid;
    uint64_t start_time;    /* field 22 of /proc/self/stat: clock ticks since boot */
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid, 0 unknown */
    uint32_t ended;         /* 1 after a regular exit (release) */
    uint32_t mode;          /* 1 counters, 2 counters and events */
    struct ntk_segment_clock clock;
    uint32_t lnc;              /* physical cores per logical core, 1 or 2 */
    uint32_t device_count;     /* devices of the machine; 0 unknown */
    uint32_t cores_per_device; /* physical cores per device; 0 unknown */
    uint32_t framework_type;   /* the vendor's nrt_framework_type_t */
    uint32_t flags;            /* enum ntk_process_flags */
    uint32_t reserved_0;
    char tag[NTK_TAG_BYTES]; /* NEURON_PROCESS_TAG */
    char framework_version[NTK_VERSION_TEXT_BYTES];
    char fal_version[NTK_VERSION_TEXT_BYTES];
    char runtime_version[NTK_VERSION_TEXT_BYTES];
    char instance_type[NTK_VERSION_TEXT_BYTES];
    char command[NTK_VERSION_TEXT_BYTES]; /* /proc/self/comm at attach */
    uint8_t reserved_1[344];
};
static_assert(sizeof(struct ntk_segment_process) == 1024, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_process, ended) == 24, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_process, clock) == 32, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_process, tag) == 104, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_process, framework_version) == 360, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_process, command) == 616, "segment ABI 2");

enum ntk_process_flags {
    /* runs on our software core; otherwise hooks around another runtime */
    NTK_PROCESS_SOFTWARE_CORE = 1,
    NTK_PROCESS_ESTIMATED = 2,   /* durations of opaque programs are estimates: no histograms */
    NTK_PROCESS_MODEL_FLOPS = 4, /* flag of a model: its effective_flops are counted */
    /* For processes around another runtime: its calls reveal less than our core. */
    NTK_PROCESS_ATTACHED = 8,       /* written by another program, not in the process */
    NTK_PROCESS_CORES_GUESSED = 16, /* its cores are not known for certain */
    NTK_PROCESS_NO_EXECUTIONS = 32, /* executions are too frequent to be traced: not counted */
    NTK_PROCESS_MEMORY_ESTIMATED =
        64, /* flag of a model: device_bytes is a difference measured around its load */
    NTK_PROCESS_RANK = 128 /* flag of a model: its executions are operations of a communicator */
};

enum ntk_core_state {
    NTK_CORE_UNUSED = 0,
    NTK_CORE_OWNED = 1,
    NTK_CORE_RELEASED = 2 /* released by its owner; the counters stay */
};

/*
 * One physical core. Line 0 is protected by its sequence word: odd while the owner changes it, so a
 * reader gets consistent busy, in-flight and since values (busy while running = busy + now -
 * since). The counters that follow, and their writers: shared/abi/core_counts.def.
 */
#define NTK_CORE_SLOTS_ONE
#define NTK_CORE_SLOTS_ENGINE [8]
#define NTK_CORE_SLOTS_OUTCOME [8]
#define NTK_CORE_SLOTS_ERROR_CLASS [8]
/* Number of words per kind of list. */
enum {
    NTK_CORE_WORDS = (0
#define NTK_CORE_BUSY(...)
#define NTK_CORE_COUNT(id, member, list, ...) +sizeof(uint64_t NTK_CORE_SLOTS_##list)
#define NTK_CORE_WORD(member, slots) +sizeof(uint64_t slots)
#include "shared/abi/core_counts.def"
                      ) /
                     sizeof(uint64_t)
};

struct ntk_segment_core {
    /* Line 0: protected by seq. */
    uint64_t seq;
    uint64_t busy_ns;     /* busy time of executions up to `since_ticks` */
    uint64_t in_flight;   /* executions on the core now */
    uint64_t since_ticks; /* raw clock of the last change of this line */
    uint32_t state;       /* enum ntk_core_state, stored with release */
    uint32_t
        histogram; /* 1: the core's histogram pair may be touched (first core of a logical one) */
    uint32_t logical; /* global logical core by the owner's LNC */
    uint32_t reserved_0;
    uint64_t current_model; /* model id of the execution on the core, 0 none; a hint */
    /* Raw clock of the first execution that failed with a hardware error or timed out since the
     * last completed one; 0 none. Not protected by seq. */
    uint64_t failing_since_ticks;
    /* Lines 1 and further: counters since process start. */
#define NTK_CORE_BUSY(...)
#define NTK_CORE_COUNT(id, member, list, ...) uint64_t member NTK_CORE_SLOTS_##list;
#define NTK_CORE_WORD(member, slots) uint64_t member slots;
#include "shared/abi/core_counts.def"
    uint64_t reserved_2[120u - NTK_CORE_WORDS];
};
static_assert(sizeof(struct ntk_segment_core) == 1024, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_core, state) == 32, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_core, outcome) == 64, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_core, error_class) == 128, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_core, status) == 192, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_core, flops) == 448, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_core, engine_busy_ns) == 496, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_core, device_ns) == 624, "segment ABI 2");

/*
 * Log-linear latency histogram: 64 sub-buckets per octave, relative error <= 0.8 %, 1 ns to 1,100 s
 * (longer values count in the last bucket).
 */
#define NTK_HISTOGRAM_BUCKETS 2240u
#define NTK_HISTOGRAM_SUB_BITS 6u
/* Eight buckets fill a cache line, which has one bit in a mask of words. */
#define NTK_HISTOGRAM_LINE_BUCKETS 8u
#define NTK_HISTOGRAM_LINES (NTK_HISTOGRAM_BUCKETS / NTK_HISTOGRAM_LINE_BUCKETS)
#define NTK_HISTOGRAM_LINE_WORDS ((NTK_HISTOGRAM_LINES + 63u) / 64u)

static inline uint32_t ntk_histogram_bucket(uint64_t ns)
{
    unsigned int top;
    uint32_t bucket;

    if (ns < (1u << NTK_HISTOGRAM_SUB_BITS)) {
        return (uint32_t)ns;
    }
    top = 63u - (unsigned int)__builtin_clzll(ns);
    bucket =
        ((top - (NTK_HISTOGRAM_SUB_BITS - 1u)) << NTK_HISTOGRAM_SUB_BITS) +
        (uint32_t)((ns >> (top - NTK_HISTOGRAM_SUB_BITS)) & ((1u << NTK_HISTOGRAM_SUB_BITS) - 1u));
    return bucket < NTK_HISTOGRAM_BUCKETS ? bucket : NTK_HISTOGRAM_BUCKETS - 1u;
}

/* The lower edge of a bucket. Its upper edge is the lower edge of bucket + 1. */
static inline uint64_t ntk_histogram_bucket_low(uint32_t bucket)
{
    uint32_t octave = bucket >> NTK_HISTOGRAM_SUB_BITS;

    if (octave == 0) {
        return bucket;
    }
    return (uint64_t)((1u << NTK_HISTOGRAM_SUB_BITS) +
                      (bucket & ((1u << NTK_HISTOGRAM_SUB_BITS) - 1u)))
           << (octave - 1u);
}

/* The middle of a bucket, which percentiles report. */
static inline double ntk_histogram_bucket_middle(uint32_t bucket)
{
    uint64_t low = ntk_histogram_bucket_low(bucket);

    return (double)low + ((double)(ntk_histogram_bucket_low(bucket + 1u) - 1u - low)) / 2.0;
}

#define NTK_HISTOGRAM_OWNER_CORE(core) (1ull << 32 | (uint64_t)(core))
#define NTK_HISTOGRAM_OWNER_MODEL(model_id) (2ull << 32 | (uint64_t)(model_id))

/* The histograms of a physical core (index: the core) or of a model (index: 128 + slot in the model
 * table). */
struct ntk_histogram_pair {
    /* 0 while unused or being cleared, else NTK_HISTOGRAM_OWNER_*; stored with release */
    uint64_t owner;
    uint64_t total_sum_ns;
    uint64_t device_sum_ns;
    /* Lines of `total` or `device` with counts: readers touch only these. A bit is set before the
     * first count. */
    uint64_t lines[NTK_HISTOGRAM_LINE_WORDS];
    uint64_t total[NTK_HISTOGRAM_BUCKETS];  /* duration of the call as seen by the runtime */
    uint64_t device[NTK_HISTOGRAM_BUCKETS]; /* time from start to end on the core, in host time */
};
static_assert(sizeof(struct ntk_histogram_pair) == 64 + 2 * 17920, "segment ABI 2");
static_assert(sizeof(struct ntk_histogram_pair) % 64 == 0, "segment ABI 2");
static_assert(offsetof(struct ntk_histogram_pair, lines) == 24, "segment ABI 2");

enum ntk_model_state {
    NTK_MODEL_FREE = 0,
    NTK_MODEL_LOADING = 1,
    NTK_MODEL_LOADED = 2,
    NTK_MODEL_UNLOADED = 3 /* the entry stays until the slot is reused */
};

#define NTK_MODEL_NAME_BYTES 256
#define NTK_MODEL_PATH_BYTES 512

/* A model of the process. seq is odd while the slot is filled with a new model; the fields from id
 * to path change only then. */
struct ntk_segment_model {
    uint64_t seq;
    uint32_t id;         /* from 10001, never reused; 0 = slot never used */
    uint32_t state;      /* enum ntk_model_state, stored with release */
    uint8_t uuid[16];    /* uuid of the NEFF */
    uint16_t core;       /* first physical core */
    uint16_t core_count; /* physical cores */
    uint32_t histogram;  /* 1: the slot's histogram pair may be touched */
    uint64_t load_realtime_ns;
    uint64_t load_ns;      /* duration of the load */
    uint64_t device_bytes; /* device memory at the end of the load */
    /* Line 1. */
    uint64_t running;         /* executions in flight; shared adds */
    uint64_t executions;      /* executions that reached a core; shared adds */
    uint64_t errors;          /* executions that reached a core but did not complete; shared adds */
    uint64_t flags;           /* enum ntk_process_flags that apply to this model */
    uint64_t effective_flops; /* operations of all its cores, without transposes; shared adds */
    /* times that its cores were cleared for another of its nodes; shared adds */
    uint64_t node_switches;
    /* Calls that start and stop the model, in runtimes that have such calls; shared adds. */
    uint64_t starts, stops;
    char name[NTK_MODEL_NAME_BYTES];
    char neff_path[NTK_MODEL_PATH_BYTES];
    uint8_t reserved_1[128];
};
static_assert(sizeof(struct ntk_segment_model) == 1024, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_model, uuid) == 16, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_model, core) == 32, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_model, running) == 64, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_model, effective_flops) == 96, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_model, node_switches) == 104, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_model, starts) == 112, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_model, name) == 128, "segment ABI 2");

/* The key of a memory row: bit 63 set, location in bit 56, category in bits 48-55, core in bits
 * 32-47, model in the low half. */
#define NTK_MEMORY_KEY(location, core, model_id, category)                               \
    (1ull << 63 | (uint64_t)((location)&1u) << 56 | (uint64_t)((category)&0xffu) << 48 | \
     (uint64_t)((core)&0xffffu) << 32 | (uint64_t)(uint32_t)(model_id))
#define NTK_MEMORY_KEY_LOCATION(key) ((uint32_t)((key) >> 56) & 1u)
#define NTK_MEMORY_KEY_CATEGORY(key) ((uint32_t)((key) >> 48) & 0xffu)
#define NTK_MEMORY_KEY_CORE(key) ((uint32_t)((key) >> 32) & 0xffffu)
#define NTK_MEMORY_KEY_MODEL(key) ((uint32_t)(key))

/* Memory of one combination of location, core, model and category. A reader uses a row only if key
 * is the same before and after reading. A free may take current below 0 for a moment: treat a value
 * above 2^63 as 0. */
struct ntk_segment_memory_row {
    uint64_t key; /* 0 while free; stored with release */
    uint64_t current_bytes;
    uint64_t peak_bytes;
    uint64_t alloc_count;
    uint64_t free_count;
    uint64_t last_bytes; /* size of the last allocation or release */
    uint64_t reserved[2];
};
static_assert(sizeof(struct ntk_segment_memory_row) == 64, "segment ABI 2");

/* Names are added, never changed: bytes_plus_one is stored last (release), 0 = no such name. */
struct ntk_segment_name {
    uint32_t offset; /* into NTK_SECTION_NAME_BYTES */
    uint32_t bytes_plus_one;
};
static_assert(sizeof(struct ntk_segment_name) == 8, "segment ABI 2");

enum ntk_thread_state { NTK_THREAD_FREE = 0, NTK_THREAD_ALIVE = 1, NTK_THREAD_ENDED = 2 };

/* The entry of a thread. A record with start_ticks before first_ticks belongs to an earlier thread
 * of this entry. */
struct ntk_segment_thread {
    uint64_t seq; /* odd while the entry is given to a new thread */
    uint64_t first_ticks;
    uint32_t tid;   /* kernel thread id as the process sees it */
    uint32_t state; /* enum ntk_thread_state, stored with release */
    uint32_t ring;  /* index of its ring, or 0xffffffff */
    uint32_t reserved_0;
    char name[16];
    uint64_t reserved_1[2];
};
static_assert(sizeof(struct ntk_segment_thread) == 64, "segment ABI 2");

enum ntk_comm_state {
    NTK_COMM_FREE = 0,
    NTK_COMM_JOINED = 1,
    NTK_COMM_LEFT = 2,  /* the entry stays until the slot is needed */
    NTK_COMM_BROKEN = 3 /* left because a rank was missing; the entry stays, too */
};

/*
 * The process as one rank of a communicator: its identity, the current or last operation, and the
 * progress of both. All of it changes under seq, which is odd during a change; only one thread at a
 * time writes. An operation has the same sequence number on every rank.
 */
struct ntk_segment_comm {
    /* Line 0: identity. */
    uint64_t seq;
    uint64_t key; /* not 0; the same for all ranks of the communicator, on any host */
    uint64_t join_realtime_ns;
    uint32_t state; /* enum ntk_comm_state */
    uint32_t rank;  /* rank number in the communicator */
    uint32_t rank_count;
    uint32_t world_rank;
    uint32_t world_count;
    /* the operations are executions of this model; 0: the host calls the operations */
    uint32_t model;
    uint32_t name; /* place where the ranks meet; an id of the names table */
    /* world ranks in order, such as "0,4,8": an id of the names table; 0: all ranks */
    uint32_t group;
    uint16_t core; /* first physical core, NTK_NO_CORE unknown */
    uint16_t reserved_0;
    uint32_t reserved_1;
    /* Line 1: the current operation, or the last one. */
    uint64_t sequence; /* operations entered; the number of the current one, from 1 */
    uint64_t enter_ticks;
    uint64_t leave_ticks; /* 0: the rank is still in the operation */
    uint64_t bytes;       /* bytes that this rank contributes */
    uint32_t operation;   /* enum ntk_collective */
    uint32_t dtype;       /* a number of shared/formats/neff/dtype.def, 0 none */
    uint32_t status;      /* status of the last finished operation */
    uint32_t tid;         /* kernel thread id of the entering thread, as the process sees it; 0
                           * unknown */
    /* operations started but not finished; the fields above describe the oldest of them */
    uint64_t in_flight;
    uint64_t reserved_2;
    /* Line 2: finished operations. */
    uint64_t count[8]; /* indexed by enum ntk_collective */
    /* Line 3. */
    uint64_t errors;
    uint64_t bytes_total;
    uint64_t time_ns; /* total time in operations */
    uint64_t wait_ns; /* part of that time spent waiting for the last rank to arrive; 0: unknown */
    uint64_t longest_ns; /* duration of the longest successful operation */
    uint64_t reserved_3[3];
};
static_assert(sizeof(struct ntk_segment_comm) == 256, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_comm, state) == 24, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_comm, core) == 56, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_comm, sequence) == 64, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_comm, operation) == 96, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_comm, count) == 128, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_comm, errors) == 192, "segment ABI 2");

/*
 * Requests from other processes: the only part of a segment that other processes also write. Only
 * the owner of the file may write it, so only the owner can ask. An asking process takes the part
 * by putting its pid into `asker` (compare and exchange with 0, or with the pid of a process that
 * is gone), fills line 1 and the fields after it, adds one to `asked` (release) and wakes the
 * waiter there. The process answers by setting `answered` to that number after line 2 and `text`
 * (release), and wakes the waiter for it.
 */
#define NTK_TRIGGER_FOLDER_BYTES 512
#define NTK_TRIGGER_TEXT_BYTES 256
#define NTK_TRIGGER_EXECUTIONS_MAX 100000 /* maximum per request */
#define NTK_TRIGGER_FILES_MAX (NTK_TRIGGER_FOLDER_BYTES / 4)
#define NTK_TRIGGER_HOLD_SECONDS 60 /* time that the asking process has to open the files */
enum ntk_trigger_command {
    NTK_TRIGGER_LOOK = 1,   /* answer with the number of the latest execution that began */
    NTK_TRIGGER_RECORD = 2, /* record executions, answer when all of them are in files */
    NTK_TRIGGER_CANCEL = 3  /* end a recording now; the answer is that of the recording */
};
struct ntk_segment_trigger {
    /* Line 0: handshake. */
    uint32_t asked;     /* a futex */
    uint32_t answered;  /* a futex */
    uint32_t asker;     /* pid, as the process sees it; 0: free */
    uint32_t listening; /* 1 while a thread of the process answers requests */
    uint8_t reserved_0[48];
    /* Line 1: the request, written by the asking process. */
    uint32_t command; /* enum ntk_trigger_command */
    /* The asking process's view of this process's pid, for file names. */
    uint32_t pid;
    uint64_t first_execution; /* number of the first execution to record */
    uint64_t execution_count; /* number of executions to record */
    uint64_t bytes_max;       /* bound on the total size of all files; 0: no bound */
    /* Timeout, after which the asking process stops waiting, even if this process is alive; 0:
     * none. */
    uint64_t timeout_ns;
    uint8_t reserved_2[24];
    /* Line 2: the answer, written by the process. */
    int32_t status; /* 0; 1: files lack records; -errno. If it is not 0, text has a message. */
    uint32_t file_count;
    uint64_t execution; /* number of the latest execution that began */
    uint64_t file_bytes;
    uint64_t recorded_first; /* numbers of the first and last execution in the files; 0: none */
    uint64_t recorded_last;
    uint32_t saving; /* 1 while files are written: an answer will come, which may take long */
    uint8_t reserved_3[20];
    union {
        /* destination from the asking process: an absolute path, NUL-ended, or "" */
        char folder[NTK_TRIGGER_FOLDER_BYTES];
        /* Filled by the process if folder is "": core << 24 | descriptor of each file. These files
         * have no name. They stay open until the next request, at most NTK_TRIGGER_HOLD_SECONDS. */
        uint32_t files[NTK_TRIGGER_FILES_MAX];
    };
    char text[NTK_TRIGGER_TEXT_BYTES]; /* message from the process */
};
static_assert(sizeof(struct ntk_segment_trigger) == 960, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_trigger, command) == 64, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_trigger, status) == 128, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_trigger, folder) == 192, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_trigger, files) == 192, "segment ABI 2");

enum ntk_ring_state { NTK_RING_UNUSED = 0, NTK_RING_READY = 1 };

/* A ring in two cache lines: one for its constants, one for the writer. */
struct ntk_segment_ring {
    uint32_t state;    /* enum ntk_ring_state, stored with release after offset and capacity */
    uint32_t capacity; /* slots, a power of two */
    uint64_t offset;   /* from the start of the file, a multiple of 64 */
    uint64_t reserved_0[6];
    uint64_t head;    /* records published so far; never wraps; stored with release */
    uint64_t dropped; /* records lost in signal handlers on threads of this ring */
    uint32_t thread;  /* thread table index of the current owner, 0 if unknown */
    uint32_t claimed; /* 1 while a thread owns it */
    uint64_t reserved_1[5];
};
static_assert(sizeof(struct ntk_segment_ring) == 128, "segment ABI 2");
static_assert(offsetof(struct ntk_segment_ring, head) == 64, "segment ABI 2");

#ifdef __cplusplus
}
#endif
#endif
