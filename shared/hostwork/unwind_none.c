/* SPDX-License-Identifier: MIT */
/* unwind_none - replaces unwind.c without elfutils: no symbols, only frame pointers. */
#include "shared/hostwork/resolve.h"

struct ntk_host_unwinder *ntk_host_unwinder_create(const struct ntk_host_modules *modules)
{
    (void)modules;
    return NULL;
}

void ntk_host_unwinder_destroy(struct ntk_host_unwinder *unwinder)
{
    (void)unwinder;
}

size_t ntk_host_unwinder_unwind(struct ntk_host_unwinder *unwinder,
                                const struct ntk_host_raw_stack *stack, uint64_t *out_addresses,
                                size_t out_count)
{
    (void)unwinder;
    (void)stack;
    (void)out_addresses;
    (void)out_count;
    return 0;
}

const char *ntk_host_unwinder_symbol(struct ntk_host_unwinder *unwinder, uint64_t address)
{
    (void)unwinder;
    (void)address;
    return NULL;
}

bool ntk_host_unwinder_build_id(struct ntk_host_unwinder *unwinder, uint64_t address,
                                char out[NTK_HOST_BUILD_ID_BYTES])
{
    (void)unwinder;
    (void)address;
    (void)out;
    return false;
}
