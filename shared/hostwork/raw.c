/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/raw.h"

#include <stdlib.h>
#include <string.h>

uint32_t ntk_host_raw_add(struct ntk_host_raw *raw, uint32_t pid,
                          const struct ntk_host_bpf_stack *stack)
{
    uint32_t kernel =
        stack->kernel_count < NTK_HOST_BPF_KERNEL ? stack->kernel_count : NTK_HOST_BPF_KERNEL;
    uint32_t user = stack->user_count < NTK_HOST_BPF_USER ? stack->user_count : NTK_HOST_BPF_USER;
    uint32_t bytes =
        stack->bytes_count < NTK_HOST_BPF_STACK ? stack->bytes_count : NTK_HOST_BPF_STACK;
    size_t size = sizeof(struct ntk_host_raw_stack) + (kernel + user) * sizeof(uint64_t) + bytes;
    struct ntk_host_raw_stack *copy =
        raw->bytes + size <= NTK_HOST_RAW_BYTES_MAX ? malloc(size) : NULL;

    if (raw->stacks.item_bytes == 0) {
        ntk_vec_init(&raw->stacks, sizeof copy);
    }
    if (!copy || ntk_vec_push(&raw->stacks, &copy) < 0) {
        free(copy);
        raw->skipped++;
        return 0;
    }
    copy->pid = pid;
    copy->kernel_count = kernel;
    copy->user_count = user;
    copy->bytes_count = bytes;
    memcpy(copy->registers, stack->registers, sizeof copy->registers);
    memcpy(copy->words, stack->kernel, kernel * sizeof(uint64_t));
    memcpy(copy->words + kernel, stack->user, user * sizeof(uint64_t));
    memcpy(copy->words + kernel + user, stack->bytes, bytes);
    raw->bytes += size;
    return (uint32_t)raw->stacks.count;
}

void ntk_host_raw_fini(struct ntk_host_raw *raw)
{
    ntk_vec_each(struct ntk_host_raw_stack *, stack, &raw->stacks) {
        free(*stack);
    }
    ntk_vec_fini(&raw->stacks);
    *raw = (struct ntk_host_raw){ 0 };
}
