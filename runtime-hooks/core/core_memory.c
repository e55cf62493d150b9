/* SPDX-License-Identifier: MIT */
/*
 * core_memory - allocates and counts memory of stacks and the host in one place, so that
 * soft.state, the segment and the memory log always agree.
 */
#include "runtime-hooks/core/core_state.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime-hooks/core/core_trace.h"
#include "shared/base/units.h"

#define HOST_ALIGN 64U
#define GIVE_BACK_BYTES (64U << 10)

static const char *const category_names[] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, key, oom, ntff) name,
#include "shared/abi/memory.def"
#undef NTK_MEMORY
};

/* Zeroes freed memory of a stack; large ranges are returned to the system. */
static void stack_zero(char *address, uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)address + page - 1) & ~(uintptr_t)(page - 1);
    uintptr_t last = ((uintptr_t)address + bytes) & ~(uintptr_t)(page - 1);

    if (bytes < GIVE_BACK_BYTES || last <= first ||
        madvise((void *)first, last - first, MADV_DONTNEED) != 0) {
        memset(address, 0, bytes);
        return;
    }
    memset(address, 0, first - (uintptr_t)address);
    memset((void *)last, 0, (uintptr_t)address + bytes - last);
}

static struct core_stack *stack_find(struct ntk_core *core, uint32_t physical_core)
{
    uint32_t per_device = core->row->facts.cores_per_device;
    uint32_t device = physical_core / per_device;
    uint32_t index = physical_core % per_device / core->row->cores_per_stack;

    ntk_vec_each(struct core_stack *, stack, &core->stacks) {
        if ((*stack)->device == device && (*stack)->index == index) {
            return *stack;
        }
    }
    return NULL;
}

/* The name of a usage, such as "model constants": from the tables in lower case, or our name if
 * they have none. */
static const char *usage_name(enum ntk_memory_category category, char *text, size_t bytes)
{
    static const char *const names[] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, key, oom, ntff) oom,
#include "shared/abi/memory.def"
#undef NTK_MEMORY
    };
    size_t i = 0;

    if (!*names[category]) {
        return category_names[category];
    }
    for (; names[category][i] && i + 1 < bytes; i++) {
        text[i] = (char)tolower((unsigned char)names[category][i]);
    }
    text[i] = '\0';
    return text;
}

/* Reports a shortage: the memory log's reports, the table and the error. */
static int shortage(struct ntk_core *core, const struct core_memory_request *request,
                    const struct core_stack *stack, struct ntk_err *err)
{
    char wanted[NTK_UNITS_TEXT_BYTES];
    char limit[NTK_UNITS_TEXT_BYTES];
    char reserved[NTK_UNITS_TEXT_BYTES];
    char align[NTK_UNITS_TEXT_BYTES] = "none";
    char usage[32];
    char place[64];
    char cause[NTK_ERR_TEXT_BYTES];
    const struct core_text_facts facts = {
        .device = stack->device, .core = request->physical_core % core->row->facts.cores_per_device
    };

    if (request->align > 0) {
        (void)core_usage_bytes(align, sizeof align, request->align);
    }
    (void)snprintf(
        cause, sizeof cause, "Failed to allocate %s (alignment: %s, usage: %s) on %s",
        core_usage_bytes(wanted, sizeof wanted, request->bytes), align,
        usage_name(request->category, usage, sizeof usage),
        core_text_write(core->options.texts, NTK_CORE_TEXT_PLACE, &facts, place, sizeof place));
    core_shortage_tell(core, request->physical_core, cause);
    if (stack->reserved_bytes < stack->size) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                           "%s; this process can address only %s of the HBM stack's %s: raise its "
                           "limit (ulimit -v)",
                           cause, ntk_units_bytes(reserved, sizeof reserved, stack->reserved_bytes),
                           ntk_units_bytes(limit, sizeof limit, stack->size));
    }
    return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "%s; the HBM stack has %s in total", cause,
                       ntk_units_bytes(limit, sizeof limit, stack->size));
}

int core_memory_reserve(struct ntk_core *core, uint32_t physical_core, uint64_t bytes,
                        uint64_t align, struct core_allocation *out_allocation)
{
    struct core_stack *stack = stack_find(core, physical_core);
    uint64_t offset = 0;
    int ret = -ENOMEM;

    if (!stack) {
        return -EINVAL;
    }
    if (ntk_core_soft_stack_reserve(core->soft, stack->device, stack->index, bytes, stack->size)) {
        pthread_mutex_lock(&stack->lock);
        ret = ntk_core_heap_take(&stack->heap, bytes, align, &offset);
        pthread_mutex_unlock(&stack->lock);
        if (ret < 0) {
            ntk_core_soft_stack_release(core->soft, stack->device, stack->index, bytes);
        }
    }
    if (ret == 0) {
        *out_allocation = (struct core_allocation){
            .address = stack->bytes + offset, .bytes = bytes, .offset = offset, .stack = stack
        };
    }
    return ret;
}

void core_memory_unreserve(struct ntk_core *core, struct core_allocation *allocation)
{
    struct core_stack *stack = allocation->stack;

    /* Ranges without data (rings, microcode) were never touched, so freeing one costs only one
     * madvise(). */
    stack_zero(allocation->address, allocation->bytes);
    pthread_mutex_lock(&stack->lock);
    ntk_core_heap_give_back(&stack->heap, allocation->offset, allocation->bytes);
    pthread_mutex_unlock(&stack->lock);
    ntk_core_soft_stack_release(core->soft, stack->device, stack->index, allocation->bytes);
    *allocation = (struct core_allocation){ 0 };
}

bool core_memory_is_local(struct ntk_core *core, const struct core_allocation *allocation,
                          uint32_t physical_core)
{
    return allocation->stack && allocation->stack == stack_find(core, physical_core);
}

static int device_take(struct ntk_core *core, const struct core_memory_request *request,
                       struct core_allocation *allocation, struct ntk_err *err)
{
    int ret = core_memory_reserve(core, request->physical_core, request->bytes, request->align,
                                  allocation);

    if (ret == -EINVAL) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "core %u does not belong to this process", request->physical_core);
    }
    return ret < 0 ? shortage(core, request, stack_find(core, request->physical_core), err) : 0;
}

static int host_take(const struct core_memory_request *request, struct core_allocation *allocation,
                     struct ntk_err *err)
{
    char wanted[NTK_UNITS_TEXT_BYTES];
    void *address = NULL;

    if (request->bytes > SIZE_MAX / 2 ||
        posix_memalign(&address, HOST_ALIGN, request->bytes) != 0) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                           "Failed to allocate %s (usage: %s) on the host",
                           ntk_units_bytes(wanted, sizeof wanted, request->bytes),
                           category_names[request->category]);
    }
    memset(address, 0, request->bytes);
    allocation->address = address;
    return 0;
}

/* Counts the memory in the segment, soft.state and the memory log. */
static void count_in(struct ntk_core *core, const struct core_memory_request *request,
                     struct core_allocation *allocation)
{
    struct core_stack *stack = allocation->stack;

    if (stack) {
        struct core_usage_holder holder = { request->physical_core, request->model.id,
                                            request->category };

        core_usage_take(core->usage, &holder, request->bytes, request->model_name);
    }
    allocation->hook = (struct ntk_hooks_memory){
        .address = stack ? stack->index * stack->size + allocation->offset
                         : (uint64_t)(uintptr_t)allocation->address,
        .bytes = request->bytes,
        .core = (uint16_t)request->physical_core,
        .category = (uint8_t)request->category,
        .name = ntk_hooks_name(request->name),
        .model = request->model,
    };
    if (request->physical_core != NTK_NO_CORE) {
        ntk_core_soft_memory_add(core->soft, request->physical_core, request->category,
                                 request->bytes);
    }
    core_counters_memory(core->counters, request->model.id, request->category, request->bytes,
                         false);
    allocation->row = ntk_hooks_memory_alloc(&allocation->hook);
    core_memlog_add(core->memlog, false, stack ? stack->device : 0, stack ? stack->index : 0,
                    allocation, request->name);
}

/* Reports changes of a stack's memory to the trace of the logical core that uses it. */
static void trace_memory(const struct ntk_core *core, enum ntk_core_trace_kind kind,
                         const struct core_allocation *allocation)
{
    uint32_t physical = allocation->hook.core;
    struct ntk_core_trace_data data = { .bytes = allocation->bytes,
                                        .name = category_names[allocation->hook.category] };

    if (allocation->stack && physical != NTK_NO_CORE) {
        data.stack = (uint16_t)allocation->stack->index;
        ntk_core_trace_point(kind, (physical - core->ncs[0].first_physical) / core->lnc, &data);
    }
}

int core_memory_take(struct ntk_core *core, const struct core_memory_request *request,
                     struct core_allocation *out_allocation, struct ntk_err *err)
{
    struct core_allocation allocation = { .bytes = request->bytes };
    bool on_host = ntk_memory_location_of(request->category) == NTK_MEMORY_HOST;
    int ret = on_host ? host_take(request, &allocation, err)
                      : device_take(core, request, &allocation, err);

    if (ret < 0) {
        return ret;
    }
    core_memory_adopt(core, request, &allocation);
    *out_allocation = allocation;
    return 0;
}

void core_memory_adopt(struct ntk_core *core, const struct core_memory_request *request,
                       struct core_allocation *allocation)
{
    count_in(core, request, allocation);
    if (ntk_core_trace_is_on()) {
        trace_memory(core, NTK_CORE_TRACE_MEMORY_ALLOC, allocation);
    }
}

void core_memory_count(struct ntk_core *core, const struct core_memory_request *request,
                       void *address, struct core_allocation *out_allocation)
{
    *out_allocation = (struct core_allocation){ .address = address,
                                                .bytes = request->bytes,
                                                .counted_only = true };
    count_in(core, request, out_allocation);
}

void core_memory_disown(struct ntk_core *core, struct core_allocation *allocation)
{
    struct core_stack *stack = allocation->stack;

    if (ntk_core_trace_is_on()) {
        trace_memory(core, NTK_CORE_TRACE_MEMORY_FREE, allocation);
    }
    core_memlog_add(core->memlog, true, stack ? stack->device : 0, stack ? stack->index : 0,
                    allocation, NULL);
    ntk_hooks_memory_free(&allocation->hook, allocation->row);
    core_counters_memory(core->counters, allocation->hook.model.id,
                         (enum ntk_memory_category)allocation->hook.category, allocation->bytes,
                         true);
    if (allocation->hook.core != NTK_NO_CORE) {
        ntk_core_soft_memory_remove(core->soft, allocation->hook.core, allocation->hook.category,
                                    allocation->bytes);
    }
    if (stack) {
        struct core_usage_holder holder = { allocation->hook.core, allocation->hook.model.id,
                                            (enum ntk_memory_category)allocation->hook.category };

        core_usage_give_back(core->usage, &holder, allocation->bytes);
    }
}

void core_memory_release(struct ntk_core *core, struct core_allocation *allocation)
{
    if (!allocation->address) {
        return;
    }
    core_memory_disown(core, allocation);
    if (allocation->stack) {
        core_memory_unreserve(core, allocation);
    } else if (!allocation->counted_only) {
        free(allocation->address);
    }
    *allocation = (struct core_allocation){ 0 };
}

int ntk_core_memory_get(const struct ntk_core *core, uint32_t nc,
                        struct ntk_core_memory *out_memory)
{
    if (nc >= core->core_count) {
        return -EINVAL;
    }
    const struct core_stack *stack = core->ncs[nc].stack;
    out_memory->used_bytes =
        ntk_abi_load(&core->soft->state->device[stack->device].hbm_bytes_used[stack->index]);
    out_memory->limit_bytes = stack->size;
    return 0;
}

bool ntk_core_memory_holds(const struct ntk_core *core, const void *address, uint64_t bytes)
{
    uintptr_t start = (uintptr_t)address;

    ntk_vec_each(struct core_stack *, stack, &core->stacks) {
        uintptr_t base = (uintptr_t)(*stack)->bytes;

        if (start >= base && start - base <= (*stack)->reserved_bytes &&
            bytes <= (*stack)->reserved_bytes - (start - base)) {
            return true;
        }
    }
    return false;
}

int ntk_core_stack_map(const struct ntk_core *core, uint32_t device, uint32_t stack,
                       void **out_address, uint64_t *out_bytes)
{
    if (device >= core->row->facts.device_count) {
        return -EINVAL;
    }
    if (stack >= core->row->facts.stacks_per_device) {
        return -ENOENT;
    }
    ntk_vec_each(struct core_stack *, candidate, &core->stacks) {
        if ((*candidate)->device == device && (*candidate)->index == stack) {
            *out_address = (*candidate)->bytes;
            *out_bytes = (*candidate)->reserved_bytes;
            return 0;
        }
    }
    return -EINVAL;
}
