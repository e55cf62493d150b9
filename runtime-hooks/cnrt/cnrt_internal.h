/* SPDX-License-Identifier: MIT */
/*
 * cnrt_internal - what libcnml.so asks of libcnrt.so beyond the public calls: tasks on queues, and
 * the device memory behind a pointer.
 *
 * A program is what monitors see as a model: an operator or a fusion that was compiled. A task runs
 * it once, on a queue. The callbacks of a task are called in a worker of libcnrt, not in the thread
 * that pushed it; they may not wait for queues. All functions return a cnrtRet_t of the table that
 * all generations share (neuware/common/cnrt_ret.h).
 *
 * Owner:   *_create and *_take give a reference, *_drop ends it; NULL is fine there.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_INTERNAL_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CNRT_API __attribute__((visibility("default")))

/* --- life ------------------------------------------------------------------------------------- */

/* What cnrtInit(0) and cnrtDestroy() do; open more than once is fine and not counted. */
NTK_CNRT_API int ntk_cnrt_open(void);
NTK_CNRT_API void ntk_cnrt_close(void);
/* 1 while it is open, else 0. */
NTK_CNRT_API int ntk_cnrt_is_open(void);

/* A line on stderr, after the name of the library; it ends the process in no case. */
NTK_CNRT_API void ntk_cnrt_say(const char *library, const char *sentence);

/* --- memory of the devices -------------------------------------------------------------------- */

struct ntk_cnrt_memory;

/* A hold on the allocation in which bytes from pointer on lie: the pointer stays valid until the
 * drop, even if the client frees it meanwhile. Device pointers are addresses of this process: a
 * task reads and writes through them. *out_device (may be NULL): ordinal.
 * CNRT_RET_ERR_INVALID_POINTER: no device memory; CNRT_RET_ERR_MEMCPY: the range leaves its
 * allocation. */
NTK_CNRT_API int ntk_cnrt_memory_take(const void *pointer, uint64_t bytes, int *out_device,
                                      struct ntk_cnrt_memory **out_memory);
NTK_CNRT_API void ntk_cnrt_memory_drop(struct ntk_cnrt_memory *memory);
/* Bytes from pointer to the end of its allocation, 0 when it is not device memory. */
NTK_CNRT_API uint64_t ntk_cnrt_memory_bytes(const void *pointer);

/* --- programs --------------------------------------------------------------------------------- */

struct ntk_cnrt_program;

/* A program is a file that the engines of the machine run (a NEFF, docs/formats/neff.md), or a
 * function of the host (struct ntk_cnrt_task). */
struct ntk_cnrt_program_options {
    const char *name;    /* as monitors show it; copied. For a file it is the file's own */
    uint64_t code_bytes; /* instructions in host memory; go to the device with every task */
    uint64_t
        begin_ticks;  /* ntk_cnrt_ticks() of when it began to be compiled; 0: now. Not of a file */
    const void *file; /* NULL: a function; copied */
    size_t file_bytes;
};
/* The clock of records. */
NTK_CNRT_API uint64_t ntk_cnrt_ticks(void);
/* A file is loaded to the current device of the thread, and to other clusters and devices when
 * tasks come there: what is wrong with it is found here, and reported on stderr. */
NTK_CNRT_API int ntk_cnrt_program_create(const struct ntk_cnrt_program_options *options,
                                         struct ntk_cnrt_program **out_program);
/* Tasks that are under way keep it until they end. */
NTK_CNRT_API void ntk_cnrt_program_drop(struct ntk_cnrt_program *program);

/* --- tasks ------------------------------------------------------------------------------------ */

/* What a task did, the input of its time on the device (docs/cost-model.md). */
struct ntk_cnrt_work {
    uint64_t flops;           /* 2 x multiply-accumulates of the matrix unit */
    uint64_t vector_elements; /* element operations of the vector unit */
    uint64_t read_bytes;      /* of device memory */
    uint64_t written_bytes;
};

struct ntk_cnrt_task {
    struct ntk_cnrt_program *program;
    /* For a file: device pointers of its inputs, then its outputs, in the file's order; what it
     * states as their sizes is checked, and they are held until the task has ended. run is not
     * checked. The array is only read by the call. */
    void *const *params;
    uint32_t param_count;
    uint32_t core_count;   /* cores of the device it runs on at once; 0 is 1 */
    uint64_t cluster_mask; /* bit c: it may run on cluster c of the device; 0: on any */
    /* For a function: does the work. A cnrtRet_t, which the next synchronisation of the queue
     * returns. */
    int (*run)(void *ctx, struct ntk_cnrt_work *out_work);
    /* After it, or when it will never run; may be NULL. */
    void (*destroy)(void *ctx);
    void *ctx;
};
/* queue: a cnrtQueue_t or cnrtStream_t. Returns at once. On an error ctx is still the caller's.
 * CNRT_RET_ERR_QUEUE: no queue. CNRT_RET_ERR_INVALID: more cores than a device has, no such
 * cluster, or another number of parameters than the file has; those of ntk_cnrt_memory_take();
 * CNRT_RET_ERR_INVALID_POINTER: memory of another device than the queue's. */
NTK_CNRT_API int ntk_cnrt_task_push(void *queue, const struct ntk_cnrt_task *task);
/* CNRT_RET_SUCCESS when this is an open queue. *out_device (may be NULL): ordinal. */
NTK_CNRT_API int ntk_cnrt_queue_check(void *queue, int *out_device);

#ifdef __cplusplus
}
#endif
#endif
