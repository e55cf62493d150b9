/* SPDX-License-Identifier: MIT */
/*
 * vendor_accounts - finds the physical core of an allocation.
 *
 * Records have the logical core; each of its physical cores has an account with a separate total. A
 * record belongs to the account with the matching previous total.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/vendor_session.h"
#include "shared/base/order.h"

#define ACCOUNTS_MAX 4096U
#define PASS_MEMORIES 65536U

struct place {
    uint64_t number;
    size_t index;
};

NTK_ORDER(place_compare, struct place, NTK_UP(number) NTK_UP(index));

/* Returns the account's total before the record; false if not recorded. */
static bool before_of(const struct ntk_system_memory *memory, uint64_t now, uint64_t *out_before)
{
    uint64_t bytes = ntk_system_memory_failed(memory) ? 0 : memory->bytes;

    if (memory->is_free ? bytes > UINT64_MAX - now : bytes > now) {
        return false;
    }
    *out_before = memory->is_free ? now + bytes : now - bytes;
    return true;
}

static uint32_t account_find(struct ntk_system_trace *trace, const struct ntk_system_memory *memory,
                             uint64_t before)
{
    struct ntk_system_account *accounts = trace->accounts.items;
    size_t count = trace->accounts.count;

    for (size_t i = count; i-- > 0;) {
        if (accounts[i].nc == memory->nc && accounts[i].total_bytes == before) {
            return (uint32_t)i;
        }
    }
    if (count == ACCOUNTS_MAX) {
        return NTK_SYSTEM_NO_ACCOUNT;
    }
    struct ntk_system_account *added = ntk_vec_add(&trace->accounts);
    if (!added) {
        return NTK_SYSTEM_NO_ACCOUNT;
    }
    *added = (struct ntk_system_account){ .nc = memory->nc,
                                          .hbm = memory->hbm,
                                          .device = memory->device,
                                          .base_bytes = before,
                                          .total_bytes = before };
    return (uint32_t)count;
}

static void account_move(struct ntk_system_account *account, const struct ntk_system_memory *memory)
{
    uint64_t before = 0;
    size_t u = 0;

    account->total_bytes = memory->total_bytes;
    while (u < account->usage_count && strcmp(account->usages[u].usage, memory->usage) != 0) {
        u++;
    }
    if (u == account->usage_count) {
        if (u == NTK_SYSTEM_USAGES_MAX || !before_of(memory, memory->usage_bytes, &before)) {
            return;
        }
        account->usages[u].usage = memory->usage;
        account->usages[u].base_bytes = before;
        account->usage_count++;
    }
    account->usages[u].bytes = memory->usage_bytes;
}

/* Returns false if its account is unknown. */
static bool memory_assign(struct ntk_system_trace *trace, struct ntk_system_memory *memory)
{
    uint64_t before = 0;

    if (!memory->has_stopped || memory->is_host) {
        return true;
    }
    if (!memory->has_totals || memory->hbm == NTK_SYSTEM_NO_STACK ||
        memory->device == NTK_SYSTEM_NO_STACK || !before_of(memory, memory->total_bytes, &before)) {
        return false;
    }
    memory->account = account_find(trace, memory, before);
    if (memory->account == NTK_SYSTEM_NO_ACCOUNT) {
        return false;
    }
    account_move(ntk_vec_at(&trace->accounts, memory->account), memory);
    return true;
}

int ntk_vendor_session_accounts(struct ntk_system_trace *trace)
{
    struct ntk_system_memory *memories = trace->memories.items;
    size_t count = trace->memories.count;
    struct place *places = NULL;
    bool is_sorted = true;
    size_t unknown = 0;

    for (size_t i = 1; i < count && is_sorted; i++) {
        is_sorted = memories[i - 1].number <= memories[i].number;
    }
    if (!is_sorted) {
        places = malloc(count * sizeof *places);
        if (!places) {
            return -ENOMEM;
        }
        for (size_t i = 0; i < count; i++) {
            places[i] = (struct place){ memories[i].number, i };
        }
        qsort(places, count, sizeof *places, place_compare);
    }
    for (size_t i = 0; i < count; i++) {
        unknown += !memory_assign(trace, &memories[places ? places[i].index : i]);
        if (i % PASS_MEMORIES == PASS_MEMORIES - 1) {
            ntk_long_list_give_back(&trace->memories);
        }
    }
    free(places);
    if (unknown > 0) {
        ntk_vendor_session_note(trace, "Damage",
                                "%zu allocations and frees are missing from the device memory "
                                "totals: their memory or its total is unknown",
                                unknown);
    }
    return 0;
}
