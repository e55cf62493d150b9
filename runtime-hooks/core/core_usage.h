/* SPDX-License-Identifier: MIT */
/*
 * core_usage - records the users of HBM in this process, and writes them as a table for the log
 * (docs/formats/memory-log.md).
 *
 * Owner:   core_usage_create() allocates, core_usage_destroy() frees.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_USAGE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_USAGE_H

#include <stdint.h>
#include <stdio.h>

#include "shared/abi/segment_abi.h"

struct core_usage;

struct core_usage *core_usage_create(void); /* NULL if out of memory: then without tables */
void core_usage_destroy(struct core_usage *usage);

/* A user of device memory. */
struct core_usage_holder {
    uint32_t core;  /* global physical number */
    uint32_t model; /* 0: the core itself */
    enum ntk_memory_category category;
};
/* Adds memory; model_name may be NULL if the model already has memory on that core. */
void core_usage_take(struct core_usage *usage, const struct core_usage_holder *holder,
                     uint64_t bytes, const char *model_name);
void core_usage_give_back(struct core_usage *usage, const struct core_usage_holder *holder,
                          uint64_t bytes);

#define CORE_USAGE_ALL UINT32_MAX

/* The part of the machine that a table shows. */
struct core_usage_view {
    uint32_t device;
    uint32_t cores_per_device;
    uint32_t cores_per_stack;
    uint32_t stack;            /* number in the device */
    uint32_t core;             /* core in the device, or CORE_USAGE_ALL cores of the stack */
    uint64_t stack_bytes_used; /* bytes that all processes use */
    const char *const *texts;  /* indexed by enum ntk_core_text; NULL: plain texts */
};
void core_usage_write(struct core_usage *usage, const struct core_usage_view *view, FILE *file);

/* Formats as in the tables, 1024-based with three decimals: "1.500GB". Returns text. */
const char *core_usage_bytes(char *text, size_t text_bytes, uint64_t bytes);

#endif
