/* SPDX-License-Identifier: MIT */
/*
 * runtime - libnrt.so.1 opened at run time, with the calls that a capture needs. Only for profiler/capture.
 *
 * $NEURON_LIBNRT names the library, else it is the one beside this program (../lib), else the system's.
 *
 * Owner:   caller's storage. The library stays open until the process ends: it may have threads that end on
 *          their own.
 */
#ifndef NTK_PROFILER_CAPTURE_RUNTIME_H
#define NTK_PROFILER_CAPTURE_RUNTIME_H

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_sys_trace.h"
#include "shared/base/err.h"

/* One row per call: the table is the struct and the list of symbols. */
#define NTK_RUNTIME_CALLS(X)        \
    X(nrt_init)                     \
    X(nrt_close)                    \
    X(nrt_load)                     \
    X(nrt_unload)                   \
    X(nrt_get_model_tensor_info)    \
    X(nrt_free_model_tensor_info)   \
    X(nrt_allocate_tensor_set)      \
    X(nrt_destroy_tensor_set)       \
    X(nrt_add_tensor_to_tensor_set) \
    X(nrt_tensor_allocate)          \
    X(nrt_tensor_free)              \
    X(nrt_tensor_write)             \
    X(nrt_tensor_read)              \
    X(nrt_execute)                  \
    X(nrt_profile_start)            \
    X(nrt_profile_stop)             \
    X(nrt_get_status_as_str)

/* Not in every release; asked for when needed. */
#define NTK_RUNTIME_OPTIONAL_CALLS(X)                          \
    X(nrt_load_collectives)                                    \
    X(nrt_barrier)                                             \
    X(nrt_register_async_exec_callback)                        \
    X(nrt_tensor_allocate_slice)                               \
    X(nrt_sys_trace_config_allocate)                           \
    X(nrt_sys_trace_config_free)                               \
    X(nrt_sys_trace_config_set_capture_enabled_for_event_type) \
    X(nrt_sys_trace_get_event_types)                           \
    X(nrt_sys_trace_free_event_types)                          \
    X(nrt_sys_trace_start)                                     \
    X(nrt_sys_trace_stop)                                      \
    X(nrt_sys_trace_fetch_events)                              \
    X(nrt_sys_trace_buffer_free)

struct ntk_runtime {
#define MEMBER(name) __typeof__(name) *name;
    NTK_RUNTIME_CALLS(MEMBER)
    NTK_RUNTIME_OPTIONAL_CALLS(MEMBER)
#undef MEMBER
};

int ntk_runtime_open(struct ntk_runtime *out_runtime, struct ntk_err *err);
/* Fills err: "WHAT failed: STATUS (5)". -EIO. */
int ntk_runtime_fail(const struct ntk_runtime *runtime, struct ntk_err *err, NRT_STATUS status,
                     const char *what);
/* Fills err: the runtime has no such call. -ENOSYS. */
int ntk_runtime_lacks(struct ntk_err *err, const char *name);

#endif
