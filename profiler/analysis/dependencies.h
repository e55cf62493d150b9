/* SPDX-License-Identifier: MIT */
/*
 * dependencies - what released each instruction: the change of a semaphore or event, and the
 * instruction or transfer that made it
 *
 * The change that ends a wait is the last one before the instruction starts that made the condition
 * true. It names its engine, or DMA; the instruction of that engine is the one which signals this
 * semaphore and ends nearest; the transfer is the one whose instruction names the semaphore: when a
 * semaphore has m changes for each transfer, change j is of transfer j div m, else of the last one
 * begun before it.
 *
 * Owner:   ntk_analysis_dependencies() allocates, _fini frees. Threads: immutable.
 */
#ifndef NTK_PROFILER_ANALYSIS_DEPENDENCIES_H
#define NTK_PROFILER_ANALYSIS_DEPENDENCIES_H

#include "profiler/analysis/program.h"
#include "profiler/trace/long_list.h"

#define NTK_NO_INDEX UINT32_MAX

struct ntk_release {
    uint32_t previous; /* instruction before it on its engine; NTK_NO_INDEX: the first */
    uint32_t
        event; /* the change that let it go; NTK_NO_INDEX: it waits for none, or none is found */
    uint32_t
        by; /* instruction that made the change or began the transfer; NTK_NO_INDEX: not known */
    bool by_transfer; /* the change is of DMA */
};

struct ntk_core_dependencies {
    const struct ntk_release *releases;   /* one per instruction, in the order of the core's */
    struct ntk_long_list list;            /* that they are in: struct ntk_release */
    uint32_t last[NTK_NTFF_ENGINE_COUNT]; /* last instruction of each engine */
};

struct ntk_dependencies {
    size_t core_count;
    struct ntk_core_dependencies *cores;
};

/* What was checked of the core's lists and releases: as ntk_trace_give_back(). */
void ntk_dependencies_give_back(const struct ntk_trace_core *core,
                                const struct ntk_core_dependencies *dependencies);

/* 0 or -errno of a long list. */
int ntk_analysis_dependencies(const struct ntk_program *program,
                              struct ntk_dependencies *out_dependencies);
void ntk_dependencies_fini(struct ntk_dependencies *dependencies);

#endif
