/* SPDX-License-Identifier: MIT */
/* marks - marks of the program about its own work. */
#include <string.h>

#include "runtime-hooks/hooks/hooks_state.h"

#define NAME_BYTES 256

void ntk_hooks_mark(uint32_t name, uint64_t start_ticks, uint16_t core, uint64_t value_0,
                    uint64_t value_1)
{
    uint64_t now;

    if (hooks_unlikely((ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) == 0)) {
        return;
    }
    now = ntk_hooks_now();
    if (start_ticks == 0) {
        start_ticks = now;
    }
    hooks_record(NTK_SLOT_META(NTK_EVENT_MARK, 0, core, 0), start_ticks,
                 hooks_span_ticks(start_ticks, now), name, value_0, value_1, 0);
}

uint64_t ntk_hooks_mark_begin(void)
{
    return (ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) != 0 ? ntk_hooks_now() : 0;
}

void ntk_hooks_mark_text(const char *name, uint64_t start_ticks, uint64_t value)
{
    char cut[NAME_BYTES + 1];

    if ((ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) == 0 || name == NULL) {
        return;
    }
    if (strnlen(name, sizeof cut) == sizeof cut) {
        memcpy(cut, name, NAME_BYTES);
        cut[NAME_BYTES] = '\0';
        name = cut;
    }
    ntk_hooks_mark(ntk_hooks_name(name), start_ticks, NTK_NO_CORE, value, 0);
}
