/* SPDX-License-Identifier: MIT */
/*
 * marks - the functions that neuron/marks.h searches for, with another runtime. If that is a
 * runtime of this project, with its own hooks, the runtime keeps the marks.
 */
#include "neuron/marks.h"

#include "runtime-hooks/interpose/marker.h"
#include "runtime-hooks/interpose/observe.h"

#define MARKS_NODE INTERPOSE_MARKER_NODE

static neuron_mark_now_function *own_now;
static neuron_mark_write_function *own_write;
static neuron_mark_trace_function *own_trace; /* NULL for an older runtime */

void interpose_marks_pass_on(void)
{
    Dl_info about;
    void *handle;
    void *now;
    void *write;
    void *trace;
    neuron_mark_now_function *now_function;
    neuron_mark_write_function *write_function;
    neuron_mark_trace_function *trace_function;

    if (!dladdr((void *)(uintptr_t)REAL(nrt_init), &about) || !about.dli_fname) {
        return;
    }
    /* the library stays open, like the runtime */
    handle = dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    now = handle ? dlvsym(handle, "neuron_mark_now", MARKS_NODE) : NULL;
    write = handle ? dlvsym(handle, "neuron_mark_write", MARKS_NODE) : NULL;
    trace = handle ? dlvsym(handle, "neuron_mark_trace", MARKS_NODE) : NULL;
    if (now && write) {
        memcpy(&now_function, &now, sizeof now);
        memcpy(&trace_function, &trace, sizeof trace);
        __atomic_store_n(&own_trace, trace_function, __ATOMIC_RELAXED);
        memcpy(&write_function, &write, sizeof write);
        __atomic_store_n(&own_now, now_function, __ATOMIC_RELAXED);
        __atomic_store_n(&own_write, write_function, __ATOMIC_RELEASE);
    }
}

__attribute__((visibility("default"))) neuron_mark_now_function neuron_mark_now;
__attribute__((visibility("default"))) neuron_mark_write_function neuron_mark_write;
__attribute__((visibility("default"))) neuron_mark_trace_function neuron_mark_trace;

uint64_t neuron_mark_now(void)
{
    return __atomic_load_n(&own_write, __ATOMIC_ACQUIRE)
               ? __atomic_load_n(&own_now, __ATOMIC_RELAXED)()
               : ntk_hooks_mark_begin();
}

void neuron_mark_write(const char *name, uint64_t began, uint64_t value)
{
    neuron_mark_write_function *write = __atomic_load_n(&own_write, __ATOMIC_ACQUIRE);

    if (write) {
        write(name, began, value);
    } else {
        ntk_hooks_mark_text(name, began, value);
    }
}

int neuron_mark_trace(const char *traceparent)
{
    if (__atomic_load_n(&own_write, __ATOMIC_ACQUIRE)) {
        neuron_mark_trace_function *trace = __atomic_load_n(&own_trace, __ATOMIC_RELAXED);
        return trace ? trace(traceparent) : 0;
    }
    return ntk_hooks_mark_trace(traceparent);
}
