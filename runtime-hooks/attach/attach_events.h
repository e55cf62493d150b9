/* SPDX-License-Identifier: MIT */
/*
 * attach_events - events that the BPF program (attach.bpf.c) sends to the writer (attach_writer.c).
 *
 * Events are in a BPF ring buffer. Counts are exact even if it is full: executions are added up in
 * the map `missed`, tensors are in the map `tensors`; only records are lost, and counted. Times are
 * nanoseconds of CLOCK_MONOTONIC. Both sides are compiled together, so the layout may change.
 *
 * Only fixed-width types of the C library are used, for both sides.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_EVENTS_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_EVENTS_H

#include <stddef.h>
#include <stdint.h>

enum ntk_attach_kind {
    NTK_ATTACH_INIT = 1,
    NTK_ATTACH_CLOSE = 2,
    NTK_ATTACH_LOAD = 3, /* the record is a struct ntk_attach_load */
    NTK_ATTACH_UNLOAD = 4,
    NTK_ATTACH_EXEC_BEGIN = 5,
    NTK_ATTACH_EXEC_END = 6,
    NTK_ATTACH_ALLOC = 7, /* the record is a struct ntk_attach_alloc */
    NTK_ATTACH_SLICE = 8,
    NTK_ATTACH_FREE = 9,
    NTK_ATTACH_ASYNC = 10 /* an execution for which no call reports the end */
};

#define NTK_ATTACH_COMM_BYTES 16
#define NTK_ATTACH_NAME_BYTES 64
#define NTK_ATTACH_NEFF_BYTES 1024

/*
 *   offset size field
 *        0    8 start_ns  when the call began
 *        8    8 end_ns    when it returned; 0 while it runs
 *       16    4 kind      enum ntk_attach_kind
 *       20    4 tid       as the first PID namespace numbers it
 *       24    4 status    status of a call that returned
 *       28    4 vnc       the process's own number of a core; -1 if none
 *       32    8 handle    the model or tensor, a pointer of the process
 *       40    8 value     by kind: LOAD bytes of the NEFF; EXEC_END runs in a row;
 *                         ALLOC, SLICE and FREE id of the tensor
 *       48   16 comm      name of the thread
 */
struct ntk_attach_event {
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t kind;
    uint32_t tid;
    int32_t status;
    int32_t vnc;
    uint64_t handle;
    uint64_t value;
    char comm[NTK_ATTACH_COMM_BYTES];
};
_Static_assert(sizeof(struct ntk_attach_event) == 64, "both sides agree");
_Static_assert(offsetof(struct ntk_attach_event, handle) == 32, "both sides agree");

struct ntk_attach_load {
    struct ntk_attach_event event;
    uint64_t neff_address;
    uint32_t has_neff; /* whether the first bytes of the NEFF could be read */
    uint32_t reserved;
    uint8_t neff[NTK_ATTACH_NEFF_BYTES];
};
_Static_assert(sizeof(struct ntk_attach_load) == 64 + 16 + 1024, "both sides agree");

/* A living tensor: entry of the map `tensors`, by its handle. */
struct ntk_attach_tensor {
    uint64_t id;      /* id of this tensor, because handles are reused */
    uint64_t storage; /* id of the tensor that owns the memory: the same id, except for slices */
    uint64_t bytes;   /* bytes of the storage */
    uint32_t placement;
    int32_t vnc;
};
_Static_assert(sizeof(struct ntk_attach_tensor) == 32, "both sides agree");

struct ntk_attach_alloc {
    struct ntk_attach_event event;
    struct ntk_attach_tensor tensor;
    char name[NTK_ATTACH_NAME_BYTES];
};
_Static_assert(sizeof(struct ntk_attach_alloc) == 64 + 32 + 64, "both sides agree");

/* A running call: entry of the map `calls`, by its thread. */
struct ntk_attach_call {
    uint64_t start_ns;
    uint64_t stack; /* the caller's stack pointer, because only a thread's outermost call counts */
    uint64_t handle;
    uint64_t argument[3];
    uint32_t kind;
    uint32_t function; /* distinguishes two exports of the same kind */
    int32_t vnc;
    uint32_t reserved;
};
_Static_assert(sizeof(struct ntk_attach_call) == 64, "both sides agree");

/* Executions without room in the ring: entry of the map `missed`. Each execution of a call counts
 * for an equal part of it. */
struct ntk_attach_missed_key {
    uint64_t handle;
    int32_t status;
    uint32_t bucket; /* index from ntk_histogram_bucket() */
};
struct ntk_attach_missed {
    uint64_t count;
    uint64_t sum_ns;
};

/* Counts since the probes were set: the only entry of the map `counts`. */
struct ntk_attach_counts {
    uint64_t exec_count;  /* completed calls that execute a model */
    uint64_t exec_ns;     /* total time of these calls */
    uint64_t events_lost; /* records without room in the ring */
    uint64_t memory_lost; /* the part of events_lost that is about tensors */
    uint64_t other_lost;  /* the part of events_lost that is about models and nrt_init */
    /* the part of events_lost that is executions, counted in the map `missed` */
    uint64_t exec_missed;
    uint64_t uncounted;   /* calls without room in the maps, including their inner calls */
    uint64_t memory_hits; /* calls about tensors */
};
_Static_assert(sizeof(struct ntk_attach_counts) == 64, "both sides agree");

#endif
