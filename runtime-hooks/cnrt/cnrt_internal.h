/* SPDX-License-Identifier: MIT */
/*
 * cnrt_internal - private interface from libcnml.so to libcnrt.so: tasks on queues, and the device
 * memory that a pointer refers to.
 *
 * Monitors see a program as a model: a compiled operator or fusion. A task runs it once, on a
 * queue. Callbacks of a task run in a worker of libcnrt, not in the pushing thread; they must not
 * wait for queues. All functions return a cnrtRet_t from the table that all generations share
 * (neuware/common/cnrt_ret.h).
 *
 * Owner:   *_create and *_take return a reference, *_drop releases it and accepts NULL.
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
/* Returns 1 while the library is open, else 0. */
NTK_CNRT_API int ntk_cnrt_is_open(void);

/* Prints a line on stderr, after the name of the library; never exits. */
NTK_CNRT_API void ntk_cnrt_say(const char *library, const char *sentence);

/* --- memory of the devices -------------------------------------------------------------------- */

struct ntk_cnrt_memory;

/* Takes a reference to the allocation that contains the bytes from pointer on: the pointer stays
 * valid until the drop, even if the client frees it in the meantime. Device pointers are addresses
 * of this process: tasks access memory through them. *out_device (may be NULL) is the device's
 * ordinal. Returns CNRT_RET_ERR_INVALID_POINTER if it is not device memory; CNRT_RET_ERR_MEMCPY if
 * the range exceeds its allocation. */
NTK_CNRT_API int ntk_cnrt_memory_take(const void *pointer, uint64_t bytes, int *out_device,
                                      struct ntk_cnrt_memory **out_memory);
NTK_CNRT_API void ntk_cnrt_memory_drop(struct ntk_cnrt_memory *memory);
/* The number of bytes from pointer to the end of its allocation; 0 if it is not device memory. */
NTK_CNRT_API uint64_t ntk_cnrt_memory_bytes(const void *pointer);

/* --- programs --------------------------------------------------------------------------------- */

struct ntk_cnrt_program;

/* A program is a file that the machine's engines run (a NEFF, docs/formats/neff.md), or a
 * host function (struct ntk_cnrt_task). */
struct ntk_cnrt_program_options {
    const char *name;    /* name that monitors show; copied. A file contains a name */
    uint64_t code_bytes; /* instructions in host memory, sent to the device with every task */
    uint64_t
        /* ntk_cnrt_ticks() at the start of its compilation; 0: now; unused for a file */
        begin_ticks;
    const void *file; /* NULL for a function; copied */
    size_t file_bytes;
};
/* The clock of event records, in ticks. */
NTK_CNRT_API uint64_t ntk_cnrt_ticks(void);
/* Creates a program. A file is loaded to the thread's current device, and to other clusters and
 * devices when tasks use them; errors are found here and reported on stderr. */
NTK_CNRT_API int ntk_cnrt_program_create(const struct ntk_cnrt_program_options *options,
                                         struct ntk_cnrt_program **out_program);
/* Releases a program; running tasks keep it until they end. */
NTK_CNRT_API void ntk_cnrt_program_drop(struct ntk_cnrt_program *program);

/* --- tasks ------------------------------------------------------------------------------------ */

/* The work of a task, from which its time on the device is computed (docs/cost-model.md). */
struct ntk_cnrt_work {
    uint64_t flops;           /* 2 x multiply-accumulates of the matrix unit */
    uint64_t vector_elements; /* element operations of the vector unit */
    uint64_t read_bytes;      /* bytes read from device memory */
    uint64_t written_bytes;
};

struct ntk_cnrt_task {
    struct ntk_cnrt_program *program;
    /* For a file: device pointers of its inputs, then its outputs, in the file's order. The stated
     * sizes are checked, and the memory is held until the task has ended. `run` is ignored. The
     * array is read only during the call. */
    void *const *params;
    uint32_t param_count;
    /* number of cores of the device that it runs on at the same time; 0 means 1 */
    uint32_t core_count;
    uint64_t cluster_mask; /* bit c: may run on cluster c of the device; 0: on any */
    /* For a function: does the work. Returns a cnrtRet_t for the next synchronisation of the
     * queue. */
    int (*run)(void *ctx, struct ntk_cnrt_work *out_work);
    /* Called afterwards, or if the task will never run; may be NULL. */
    void (*destroy)(void *ctx);
    void *ctx;
};
/* Adds a task to a queue (cnrtQueue_t or cnrtStream_t) and returns at once. On an error, the caller
 * still owns ctx. Returns CNRT_RET_ERR_QUEUE if it is not a queue; CNRT_RET_ERR_INVALID for more
 * cores than the device has, an unknown cluster, or a wrong number of parameters; errors of
 * ntk_cnrt_memory_take(); CNRT_RET_ERR_INVALID_POINTER for memory on a device other than the
 * queue's. */
NTK_CNRT_API int ntk_cnrt_task_push(void *queue, const struct ntk_cnrt_task *task);
/* Returns CNRT_RET_SUCCESS if this is an open queue. *out_device (may be NULL) is the device's
 * ordinal. */
NTK_CNRT_API int ntk_cnrt_queue_check(void *queue, int *out_device);

#ifdef __cplusplus
}
#endif
#endif
