/* SPDX-License-Identifier: MIT */
/*
 * raw - stacks copied from threads, before resolve.h turns them into frames.
 *
 * Owner: caller's storage, zeroed before the first use; _fini() frees. Threads: one.
 */
#ifndef NTK_SHARED_HOSTWORK_RAW_H
#define NTK_SHARED_HOSTWORK_RAW_H

#include <stddef.h>
#include <stdint.h>

#include "shared/base/vec.h"
#include "shared/hostwork/bpf_events.h"

/* Maximum size of the copied stacks of one observation; later stacks are skipped and counted. */
#define NTK_HOST_RAW_BYTES_MAX (UINT64_C(96) << 20)

struct ntk_host_raw_stack {
    uint32_t pid;
    uint32_t kernel_count, user_count;
    uint32_t bytes_count;
    uint64_t registers[NTK_HOST_BPF_REGISTERS];
    uint64_t words[]; /* kernel frames, user frames, then bytes of the stack */
};

struct ntk_host_raw {
    struct ntk_vec stacks; /* elements are struct ntk_host_raw_stack * */
    uint64_t bytes;
    uint64_t skipped;
};

/* Adds a stack. Returns 1 + its index, or 0 without room, which is counted. */
uint32_t ntk_host_raw_add(struct ntk_host_raw *raw, uint32_t pid,
                          const struct ntk_host_bpf_stack *stack);
static inline const uint8_t *ntk_host_raw_bytes(const struct ntk_host_raw_stack *stack)
{
    return (const uint8_t *)(stack->words + stack->kernel_count + stack->user_count);
}
void ntk_host_raw_fini(struct ntk_host_raw *raw);

#endif
