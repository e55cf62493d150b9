/* SPDX-License-Identifier: MIT */
/*
 * core_kernel - a front's work on the machine's cores: a host function replaces the engines'
 * program.
 *
 * Monitors see a kernel as a model and each run of it as an execution. A run holds some consecutive
 * cores, and its device time follows from its amounts of work (docs/cost-model.md).
 *
 * Owner:   _create returns a reference, _hold adds one, _drop releases one; the caller must hold
 *          one during a run.
 * Threads: any. A run blocks its thread until its cores are free.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_KERNEL_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_KERNEL_H

#include "runtime-hooks/core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_core_kernel;

struct ntk_core_kernel_options {
    const char *name; /* NULL means "" */
    uint32_t nc;      /* core that it belongs to while it is not running */
    /* bytes of instructions in host memory, sent to the device with every run */
    uint64_t code_bytes;
    uint64_t begin_ticks; /* ntk_core_ticks() at the start of its creation; 0: now */
};
/* Returns -EINVAL for an unknown core, or -ENOMEM. */
int ntk_core_kernel_create(struct ntk_core *core, const struct ntk_core_kernel_options *options,
                           struct ntk_core_kernel **out_kernel, struct ntk_err *err);
void ntk_core_kernel_drop(struct ntk_core_kernel *kernel); /* accepts NULL */

struct ntk_core_kernel_work {
    uint64_t flops;                     /* operations of all tensor engines */
    uint64_t vector_elements;           /* element operations of all vector engines */
    uint64_t read_bytes, written_bytes; /* in device memory */
};

struct ntk_core_kernel_run {
    /* The run needs `width` consecutive cores that start at one of these. It takes the first that
     * are free, or else waits. */
    const uint32_t *first_ncs;
    uint32_t first_nc_count;
    uint32_t width;
    double share;         /* used share of the cores' capacity: above 0, at most 1 */
    uint64_t asked_ticks; /* ntk_core_ticks() at the call; 0: now */
    uint16_t queue;       /* same as in struct ntk_core_queued */
    /* Does the computation while the cores are held; results that it does not set are 0. Sets err
     * unless it completes. */
    enum ntk_core_outcome (*compute)(void *ctx, struct ntk_core_kernel_work *out_work,
                                     struct ntk_err *err);
    void *ctx;
};
/* Returns 0 and the outcome, or -EINVAL for unknown cores. */
int ntk_core_kernel_run(struct ntk_core_kernel *kernel, const struct ntk_core_kernel_run *run,
                        enum ntk_core_outcome *out_outcome, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
