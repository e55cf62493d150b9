/* SPDX-License-Identifier: MIT */
/*
 * cnrt_internal - private interface from libcnml.so to libcnrt.so: tasks on queues, and the device
 * memory that a pointer refers to.
 *
 * Monitors see a program as a model: a compiled operator or fusion. A task runs it once, on a
 * queue. Callbacks of a task run in a worker of libcnrt, not in the pushing thread; they must not
 * wait for queues. All functions return a cnrtRet_t of the table that all generations share
 * (neuware/common/cnrt_ret.h).
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

/* Implements cnrtInit(0) and cnrtDestroy(); repeated opens are allowed and not counted. */
NTK_CNRT_API int ntk_cnrt_open(void);
NTK_CNRT_API void ntk_cnrt_close(void);
/* 1 while it is open, else 0. */
NTK_CNRT_API int ntk_cnrt_is_open(void);

/* Prints a line on stderr, after the name of the library; never ends the process. */
NTK_CNRT_API void ntk_cnrt_say(const char *library, const char *sentence);

/* --- memory of the devices -------------------------------------------------------------------- */

struct ntk_cnrt_memory;

/* Holds the allocation that contains the bytes from pointer on: the pointer is valid until the
 * drop, even if the client frees it meanwhile. Device pointers are addresses of this process: tasks
 * access memory through them. *out_device (may be NULL): ordinal. CNRT_RET_ERR_INVALID_POINTER: not
 * device memory; CNRT_RET_ERR_MEMCPY: the range exceeds its allocation. */
NTK_CNRT_API int ntk_cnrt_memory_take(const void *pointer, uint64_t bytes, int *out_device,
                                      struct ntk_cnrt_memory **out_memory);
NTK_CNRT_API void ntk_cnrt_memory_drop(struct ntk_cnrt_memory *memory);
/* Bytes from pointer to the end of its allocation, 0 if not device memory. */
NTK_CNRT_API uint64_t ntk_cnrt_memory_bytes(const void *pointer);

/* --- programs --------------------------------------------------------------------------------- */

struct ntk_cnrt_program;

/* A program is a file that the machine's engines run (a NEFF, docs/formats/neff.md), or a
 * host function (struct ntk_cnrt_task). */
struct ntk_cnrt_program_options {
    const char *name;    /* as monitors show it; copied. A file has its own */
    uint64_t code_bytes; /* instructions in host memory; sent to the device with every task */
    uint64_t
        begin_ticks;  /* ntk_cnrt_ticks() at the start of its compilation; 0: now. Not for a file */
    const void *file; /* NULL: a function; copied */
    size_t file_bytes;
};
/* The clock of records. */
NTK_CNRT_API uint64_t ntk_cnrt_ticks(void);
/* A file is loaded to the thread's current device, and to other clusters and devices when tasks use
 * them; errors are found here and reported on stderr. */
NTK_CNRT_API int ntk_cnrt_program_create(const struct ntk_cnrt_program_options *options,
                                         struct ntk_cnrt_program **out_program);
/* Running tasks keep it until they end. */
NTK_CNRT_API void ntk_cnrt_program_drop(struct ntk_cnrt_program *program);

/* --- tasks ------------------------------------------------------------------------------------ */

/* The work of a task, from which its time on the device is computed (docs/cost-model.md). */
struct ntk_cnrt_work {
    uint64_t flops;           /* 2 x multiply-accumulates of the matrix unit */
    uint64_t vector_elements; /* element operations of the vector unit */
    uint64_t read_bytes;      /* of device memory */
    uint64_t written_bytes;
};

struct ntk_cnrt_task {
    struct ntk_cnrt_program *program;
    /* For a file: device pointers of its inputs, then its outputs, in the file's order; the stated
     * sizes are checked, and they are held until the task has ended. run is not checked. The array
     * is only read by the call. */
    void *const *params;
    uint32_t param_count;
    uint32_t core_count;   /* cores of the device it runs on at once; 0 is 1 */
    uint64_t cluster_mask; /* bit c: it may run on cluster c of the device; 0: any */
    /* For a function: does the work. Returns a cnrtRet_t for the next synchronisation of the
     * queue. */
    int (*run)(void *ctx, struct ntk_cnrt_work *out_work);
    /* After it, or if it will never run; may be NULL. */
    void (*destroy)(void *ctx);
    void *ctx;
};
/* queue: a cnrtQueue_t or cnrtStream_t. Returns at once. On an error the caller still owns ctx.
 * CNRT_RET_ERR_QUEUE: not a queue. CNRT_RET_ERR_INVALID: more cores than the device has, unknown
 * cluster, or wrong number of parameters; errors of ntk_cnrt_memory_take();
 * CNRT_RET_ERR_INVALID_POINTER: memory of a different device than the queue's. */
NTK_CNRT_API int ntk_cnrt_task_push(void *queue, const struct ntk_cnrt_task *task);
/* CNRT_RET_SUCCESS if this is an open queue. *out_device (may be NULL): ordinal. */
NTK_CNRT_API int ntk_cnrt_queue_check(void *queue, int *out_device);

#ifdef __cplusplus
}
#endif
#endif
