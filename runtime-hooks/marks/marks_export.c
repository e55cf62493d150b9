/* SPDX-License-Identifier: MIT */
/* marks_export - exports the functions that neuron/marks.h searches for, in the runtimes of this
 * project. */
#include "neuron/marks.h"
#include "runtime-hooks/core/core_trace.h"
#include "runtime-hooks/hooks/hooks.h"

__attribute__((visibility("default"))) neuron_mark_now_function neuron_mark_now;
__attribute__((visibility("default"))) neuron_mark_write_function neuron_mark_write;
__attribute__((visibility("default"))) neuron_mark_trace_function neuron_mark_trace;

uint64_t neuron_mark_now(void)
{
    return ntk_hooks_mark_begin();
}

void neuron_mark_write(const char *name, uint64_t began, uint64_t value)
{
    ntk_hooks_mark_text(name, began, value);
    if (ntk_core_trace_is_on() && name) {
        uint64_t now = ntk_hooks_mark_begin();

        if (now != 0) {
            ntk_core_trace_mark(name, began && began < now ? ntk_hooks_ticks_to_ns(now - began) : 0,
                                value);
        }
    }
}

int neuron_mark_trace(const char *traceparent)
{
    return ntk_hooks_mark_trace(traceparent);
}
