/* SPDX-License-Identifier: MIT */
/*
 * hostwork - what the host threads of a job did while its cores were idle: the records, and the
 * result that is computed from them.
 *
 * A sampler (sampler.h) fills struct ntk_host_records; the gaps come from the segment (gaps.h).
 * ntk_host_attribute() is a pure function from records to struct ntk_host_result. docs/idle.md
 * defines every figure. Times are nanoseconds of CLOCK_MONOTONIC, like execution times
 * (ntk_ring_segment_monotonic_ns()).
 *
 * Owner:   caller's storage, initialised by _init() or, where noted, zeroed; _fini() frees.
 * Threads: one at a time per struct.
 */
#ifndef NTK_SHARED_HOSTWORK_HOSTWORK_H
#define NTK_SHARED_HOSTWORK_HOSTWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/map.h"
#include "shared/base/vec.h"

/* Limits; items beyond are counted in ntk_host_records.lost. */
#define NTK_HOST_THREADS_MAX 16384u
#define NTK_HOST_SLICES_MAX (1u << 20)
#define NTK_HOST_SAMPLES_MAX (1u << 18)
#define NTK_HOST_GAPS_MAX (1u << 20)
#define NTK_HOST_FRAMES_MAX (1u << 20)
#define NTK_HOST_TEXTS_MAX (1u << 18) /* texts beyond are "" and counted */
#define NTK_HOST_DEPTH_MAX 256u       /* maximum frames of one stack */
#define NTK_HOST_CHAIN_MAX 8u         /* maximum threads that wait for one another */
#define NTK_HOST_COMM_BYTES 16

enum ntk_host_cause {
#define NTK_HOST_CAUSE(symbol, name, text) NTK_HOST_##symbol,
#include "shared/hostwork/causes.def"
    NTK_HOST_CAUSE_COUNT
};
const char *ntk_host_cause_name(enum ntk_host_cause cause);
const char *ntk_host_cause_text(enum ntk_host_cause cause);

/* ---- stacks: a tree of frames, so that a stack is one number ---- */

enum ntk_host_language { NTK_HOST_NATIVE, NTK_HOST_KERNEL, NTK_HOST_PYTHON };

struct ntk_host_frame {
    uint32_t parent;    /* 1 + index of the calling frame; 0: this is the outermost */
    const char *name;   /* clean UTF-8; "module+0x1234" for code without a symbol */
    const char *module; /* base name of the file; "" if unknown */
    uint32_t line;      /* line of Python code; 0 if unknown */
    enum ntk_host_language language;
};

/* A mapped code file that stacks have frames of. */
struct ntk_host_build_id {
    const char *module;
    const char *build_id; /* hexadecimal digits */
};

struct ntk_host_stacks {
    struct ntk_vec frames;    /* elements are struct ntk_host_frame; parents before children */
    struct ntk_map nodes;     /* keys are parent and frame */
    struct ntk_map texts;     /* each text once; frames and objects point to the keys */
    struct ntk_vec build_ids; /* elements are struct ntk_host_build_id, each module once */
    uint64_t refused;         /* number of frames beyond the limit */
};
/* A stack is 1 + the index of its innermost frame; 0 means none. Adds a frame called by `parent`;
 * returns the new stack, or `parent` if the table is full. */
uint32_t ntk_host_stacks_push(struct ntk_host_stacks *stacks, uint32_t parent, const char *name,
                              const char *module, uint32_t line, enum ntk_host_language language);
const struct ntk_host_frame *ntk_host_stacks_at(const struct ntk_host_stacks *stacks,
                                                uint32_t stack);
/* The innermost Python function, otherwise the innermost function of the program; for a running
 * thread, C library functions count, too. NULL if unknown. */
const struct ntk_host_frame *ntk_host_stacks_function(const struct ntk_host_stacks *stacks,
                                                      uint32_t stack, bool is_running);
/* A clean copy of the text, stored once; "" if out of memory. Lives as long as the stacks. */
const char *ntk_host_stacks_text(struct ntk_host_stacks *stacks, const char *text);

/* ---- records ---- */

struct ntk_host_gap {
    uint64_t start_ns, end_ns;
    uint32_t core;  /* global physical number */
    uint32_t tid;   /* thread that submits the execution after the gap; 0: unknown */
    bool is_unused; /* this core had no execution, but other cores did */
};

/* A span that the job marked, for the table by step. */
struct ntk_host_mark {
    uint64_t start_ns, end_ns;
    const char *name; /* one of the texts in stacks */
    uint64_t value;
};

/* A collective operation that a thread took part in. */
struct ntk_host_collective {
    uint64_t start_ns, end_ns;
    uint32_t tid;
    /* or may be asynchronous: the thread may have done something else in the meantime */
    bool is_asynchronous;
};

struct ntk_host_thread {
    uint32_t tid, pid;                  /* in the sampler's PID namespace */
    char name[NTK_HOST_COMM_BYTES + 1]; /* clean text */
    uint64_t first_ns, last_ns;         /* first and last observation */
};

enum ntk_host_slice_kind {
    NTK_HOST_BLOCKED,   /* blocked in a system call, or for an unknown reason */
    NTK_HOST_PREEMPTED, /* runnable */
    NTK_HOST_QUOTA,     /* runnable, but its cgroup's quota is used up */
    NTK_HOST_FAULTING,  /* waits for a memory page */
    NTK_HOST_HALTED     /* stopped or traced */
};

/* A time when a thread was off the CPU. Outside of slices, the thread runs. */
struct ntk_host_slice {
    uint64_t start_ns, end_ns;
    uint64_t ready_ns; /* time at which it became runnable; 0: only at its end */
    uint32_t tid;
    uint32_t waker;     /* thread of the job that woke it; 0: none */
    int32_t syscall;    /* number of the system call; -1: none */
    uint32_t stack;     /* 0: none */
    const char *object; /* file of its descriptor, one of the texts in stacks; NULL: none */
    uint64_t argument[3];
    uint8_t kind;           /* enum ntk_host_slice_kind */
    uint8_t is_ready_quota; /* the time since ready_ns is CPU throttling */
    uint8_t is_gil;         /* the lock that it waits for is a Python interpreter's */
    uint8_t reserved[5];
};

/* The cause of the slice up to the time when the thread was ready again. */
enum ntk_host_cause ntk_host_slice_cause(const struct ntk_host_slice *slice);

/* A thread that was seen on a CPU. */
struct ntk_host_sample {
    uint64_t time_ns;
    uint32_t tid;
    uint32_t stack;
    uint8_t cause; /* RUNNING, PAGE_FAULT or GARBAGE */
    /* the cause does not depend on samples of the interpreter, which are of another moment */
    uint8_t is_exact;
    uint8_t reserved[6];
};

enum ntk_host_method { NTK_HOST_METHOD_PROC, NTK_HOST_METHOD_BPF };

struct ntk_host_records {
    uint64_t start_ns, end_ns; /* start and end of the observation */
    enum ntk_host_method method;
    struct ntk_vec gaps;         /* elements are struct ntk_host_gap */
    struct ntk_vec marks;        /* elements are struct ntk_host_mark */
    struct ntk_vec collectives;  /* elements are struct ntk_host_collective, in any order */
    struct ntk_vec threads;      /* elements are struct ntk_host_thread */
    struct ntk_map thread_index; /* maps a tid to 1 + index, for ntk_host_records_thread_add() */
    struct ntk_vec slices;       /* elements are struct ntk_host_slice, in any order */
    struct ntk_vec samples;      /* elements are struct ntk_host_sample, in any order */
    struct ntk_host_stacks stacks;
    uint64_t events;     /* events that the sampler read */
    uint64_t lost;       /* events for which there was no room */
    uint64_t unknown_ns; /* time for which executions were lost, which is neither idle nor held */
    uint64_t stacks_skipped; /* stacks not copied because there were too many per second */
};
void ntk_host_records_init(struct ntk_host_records *records);
void ntk_host_records_fini(struct ntk_host_records *records);
/* The entry of a thread, added if it is new; NULL without room, which counts as lost. */
struct ntk_host_thread *ntk_host_records_thread_add(struct ntk_host_records *records, uint32_t pid,
                                                    uint32_t tid);
/* The entry of a thread that was added before; NULL if there is none. */
struct ntk_host_thread *ntk_host_records_thread(const struct ntk_host_records *records,
                                                uint32_t tid);

/* ---- the result ---- */

/* A part of a gap with one cause; in a timeline, one row per thread. */
struct ntk_host_piece {
    uint64_t start_ns, end_ns;
    uint32_t gap;    /* index in records.gaps, which are sorted by core and start */
    uint32_t tid;    /* the thread at the end of the chain of waits; 0: unknown */
    uint32_t holder; /* thread that holds the lock that tid waits for; 0: unknown */
    uint32_t stack;
    const char *object;
    int32_t syscall; /* -1: none */
    uint8_t cause;   /* enum ntk_host_cause */
    uint8_t chain;   /* number of threads between the submitter and tid */
};

struct ntk_host_share {
    uint64_t ns;
    uint32_t gap_count;  /* number of gaps that contain this cause */
    uint64_t longest_ns; /* longest part in one gap */
};

struct ntk_host_row {
    struct ntk_host_share share;
    enum ntk_host_cause cause;
    uint32_t tid, holder;
    const char *function; /* "" if unknown */
    const char *module;   /* module of the function; "" if unknown */
    const char *object;   /* NULL if none */
    const char *syscall;  /* name of the system call; NULL if none */
    uint32_t stack;       /* stack of its first piece */
};

/* A stack and its time, for flame graphs. */
struct ntk_host_flame {
    uint32_t stack, tid;
    enum ntk_host_cause cause;
    uint64_t ns;
};

struct ntk_host_step {
    const struct ntk_host_mark *mark; /* one of the marks in the records */
    uint64_t idle_ns;
    uint32_t gap_count;
    uint64_t longest_ns;
    uint64_t cause_ns[NTK_HOST_CAUSE_COUNT];
};

struct ntk_host_result {
    uint64_t idle_ns; /* idle time, summed over cores */
    uint64_t held_ns; /* number of cores × time that the process held them */
    uint32_t core_count, gap_count;
    uint64_t longest_ns; /* longest gap */
    struct ntk_host_share causes[NTK_HOST_CAUSE_COUNT];
    struct ntk_vec rows;   /* elements are struct ntk_host_row, largest first */
    struct ntk_vec flames; /* elements are struct ntk_host_flame, largest first */
    struct ntk_vec steps;  /* elements are struct ntk_host_step, in time order */
    struct ntk_vec pieces; /* elements are struct ntk_host_piece, sorted by gap and start */
};
/* Computes the result. Sorts the vectors in the records; the result borrows their texts. core_count
 * is the number of held cores. Returns 0 or -ENOMEM. */
int ntk_host_attribute(struct ntk_host_records *records, uint32_t core_count,
                       struct ntk_host_result *out_result);
void ntk_host_result_fini(struct ntk_host_result *result);
/* Sorts causes by time, largest first; returns the number of causes with any time. */
size_t ntk_host_result_order(const struct ntk_host_result *result,
                             enum ntk_host_cause out_causes[NTK_HOST_CAUSE_COUNT]);

#endif
