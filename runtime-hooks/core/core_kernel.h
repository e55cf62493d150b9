/* SPDX-License-Identifier: MIT */
/*
 * core_kernel - work of a front on the machine's cores: a host function replaces the program
 * of the engines.
 *
 * Monitors see a kernel as a model and each run of it as an execution. A run holds some consecutive
 * cores, and its device time follows from its amounts of work (docs/cost-model.md).
 *
 * Owner:   _create gives a reference, _hold one more, _drop ends it; runs need one of the caller.
 * Threads: any. A run waits for its cores: it comes from a thread that may.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_KERNEL_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_KERNEL_H

#include "runtime-hooks/core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_core_kernel;

struct ntk_core_kernel_options {
    const char *name;     /* NULL is "" */
    uint32_t nc;          /* its core while it is not running */
    uint64_t code_bytes;  /* instructions in host memory; sent to the device with every run */
    uint64_t begin_ticks; /* ntk_core_ticks() at the start of its creation, or 0: now */
};
/* -EINVAL no such core, -ENOMEM. */
int ntk_core_kernel_create(struct ntk_core *core, const struct ntk_core_kernel_options *options,
                           struct ntk_core_kernel **out_kernel, struct ntk_err *err);
void ntk_core_kernel_drop(struct ntk_core_kernel *kernel); /* NULL is fine */

struct ntk_core_kernel_work {
    uint64_t flops;                     /* of all tensor engines */
    uint64_t vector_elements;           /* element operations of all vector engines */
    uint64_t read_bytes, written_bytes; /* of device memory */
};

struct ntk_core_kernel_run {
    /* It runs on `width` consecutive cores starting at one of these: at the first that is free,
     * else it waits. */
    const uint32_t *first_ncs;
    uint32_t first_nc_count;
    uint32_t width;
    double share;         /* the used share of the cores' capacity: above 0, at most 1 */
    uint64_t asked_ticks; /* ntk_core_ticks() at the call, or 0: now */
    uint16_t queue;       /* like in struct ntk_core_queued */
    /* Computes while the cores are held; unset results are 0. Sets err unless it completes. */
    enum ntk_core_outcome (*compute)(void *ctx, struct ntk_core_kernel_work *out_work,
                                     struct ntk_err *err);
    void *ctx;
};
/* 0 and the outcome; -EINVAL for unknown cores. */
int ntk_core_kernel_run(struct ntk_core_kernel *kernel, const struct ntk_core_kernel_run *run,
                        enum ntk_core_outcome *out_outcome, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
