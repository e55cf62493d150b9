/* SPDX-License-Identifier: MIT */
/*
 * core_usage - the users of HBM in this process, as a table for the log
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

struct core_usage *core_usage_create(void); /* NULL if out of memory: no tables */
void core_usage_destroy(struct core_usage *usage);

/* What holds device memory. */
struct core_usage_holder {
    uint32_t core;  /* physical, global */
    uint32_t model; /* 0: the core itself */
    enum ntk_memory_category category;
};
/* model_name may be NULL if the model already has memory on that core. */
void core_usage_take(struct core_usage *usage, const struct core_usage_holder *holder,
                     uint64_t bytes, const char *model_name);
void core_usage_give_back(struct core_usage *usage, const struct core_usage_holder *holder,
                          uint64_t bytes);

#define CORE_USAGE_ALL UINT32_MAX

/* The machine's part in a table. */
struct core_usage_view {
    uint32_t device;
    uint32_t cores_per_device;
    uint32_t cores_per_stack;
    uint32_t stack;            /* in the device */
    uint32_t core;             /* in the device, or CORE_USAGE_ALL of the stack */
    uint64_t stack_bytes_used; /* by all processes */
    const char *const *texts;  /* by enum ntk_core_text; NULL: plain ones */
};
void core_usage_write(struct core_usage *usage, const struct core_usage_view *view, FILE *file);

/* "1.500GB": 1024-based with three decimals, as in the tables. Returns text. */
const char *core_usage_bytes(char *text, size_t text_bytes, uint64_t bytes);

#endif
