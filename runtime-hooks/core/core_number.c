/* SPDX-License-Identifier: MIT */
/* core_number - assigns numbers to executions, and tracks for waiting threads which have ended. */
#include "runtime-hooks/core/core_state.h"

uint64_t core_execution_begin(struct ntk_core *core)
{
    return atomic_fetch_add_explicit(&core->execution_id, 1, memory_order_relaxed) + 1;
}

void core_execution_end(struct ntk_core *core, uint64_t id)
{
    uint64_t count = atomic_load_explicit(&core->watched.count, memory_order_acquire);

    if (count > 0 &&
        id - atomic_load_explicit(&core->watched.first, memory_order_relaxed) < count) {
        (void)atomic_fetch_add_explicit(&core->watched.ended, 1, memory_order_release);
    }
}

uint64_t ntk_core_execution_last(const struct ntk_core *core)
{
    return atomic_load_explicit(&core->execution_id, memory_order_relaxed);
}

void ntk_core_executions_watch(struct ntk_core *core, uint64_t first, uint64_t count)
{
    atomic_store_explicit(&core->watched.count, 0, memory_order_relaxed);
    atomic_store_explicit(&core->watched.first, first, memory_order_relaxed);
    atomic_store_explicit(&core->watched.ended, 0, memory_order_relaxed);
    atomic_store_explicit(&core->watched.count, count, memory_order_release);
}

uint64_t ntk_core_executions_ended(const struct ntk_core *core)
{
    return atomic_load_explicit(&core->watched.ended, memory_order_acquire);
}
