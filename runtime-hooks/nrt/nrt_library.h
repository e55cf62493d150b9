/* SPDX-License-Identifier: MIT */
/*
 * nrt_library - opens libnrt.so.1 at run time, from this project or the vendor, with the calls that
 * programs of this project use.
 *
 * The library is $NEURON_LIBNRT if set, else the library found by the loader, else the vendor's
 * library in /opt/aws/neuron/lib, else the software runtime. The software runtime is never chosen
 * on a machine with a Neuron driver, because results of software cores must not be taken for
 * results of hardware. Programs print ntk_nrt_format() of the library.
 *
 * Owner:   the caller provides the storage. The library stays open until the process exits, because
 *          it may have threads.
 * Threads: read-only after opening.
 */
#ifndef NTK_RUNTIME_HOOKS_NRT_NRT_LIBRARY_H
#define NTK_RUNTIME_HOOKS_NRT_NRT_LIBRARY_H

#define NRT_ASYNC_3 1 /* the form of duplicated names that dlsym() finds */
#include "nrt/nrt.h"
#include "nrt/nrt_async.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_sys_trace.h"
#include "nrt/nrt_version.h"
#include "runtime-hooks/nrt/nrt_search.h"
#include "shared/base/err.h"

/* Lists the calls, one row each, for the struct and for the list of symbols. */
#define NTK_NRT_CALLS(X)            \
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
    X(nrt_profile_stop)

/* Lists calls that are missing in some releases; callers check for NULL. */
#define NTK_NRT_OPTIONAL_CALLS(X)                              \
    X(nrt_get_status_as_str)                                   \
    X(nrt_get_version)                                         \
    X(nrt_get_total_nc_count)                                  \
    X(nrt_get_total_vnc_count)                                 \
    X(nrt_tensor_copy)                                         \
    X(nrt_all_gather)                                          \
    X(nrta_cc_prepare)                                         \
    X(nrta_cc_schedule)                                        \
    X(nrta_is_completed)                                       \
    X(nrt_load_collectives)                                    \
    X(nrt_barrier)                                             \
    X(nrt_get_model_vnc_count)                                 \
    X(nrt_register_async_exec_callback)                        \
    X(nrt_tensor_allocate_slice)                               \
    X(nrt_sys_trace_config_allocate)                           \
    X(nrt_sys_trace_config_free)                               \
    X(nrt_sys_trace_config_set_capture_enabled_for_event_type) \
    X(nrt_sys_trace_config_set_max_events_per_nc)              \
    X(nrt_sys_trace_get_event_types)                           \
    X(nrt_sys_trace_free_event_types)                          \
    X(nrt_sys_trace_start)                                     \
    X(nrt_sys_trace_stop)                                      \
    X(nrt_sys_trace_fetch_events)                              \
    X(nrt_sys_trace_buffer_free)

#define NTK_NRT_TEXT_BYTES (PATH_MAX + 16)

struct ntk_nrt {
#define MEMBER(name) __typeof__(name) *name;
    NTK_NRT_CALLS(MEMBER)
    NTK_NRT_OPTIONAL_CALLS(MEMBER)
#undef MEMBER
    char path[PATH_MAX]; /* file of the runtime; with preloaded hooks, of the wrapped runtime */
    bool is_software;
};

/* -ELIBACC with the loader's reason if no library can be opened; -ENOSYS if a call is missing. */
int ntk_nrt_open(struct ntk_nrt *out_nrt, struct ntk_err *err);
/* Like ntk_nrt_open(), for a caller that already knows if the machine has a Neuron driver. */
int ntk_nrt_open_on(bool has_driver, struct ntk_nrt *out_nrt, struct ntk_err *err);
/* Formats a text such as "/opt/aws/neuron/lib/libnrt.so.1", followed by " (software)" if
 * applicable. Returns buf. */
const char *ntk_nrt_format(const struct ntk_nrt *nrt, char *buf, size_t buf_bytes);
/* Returns the name of a status, or "NRT_STATUS 5" if the library has no names; static or per
 * thread. */
const char *ntk_nrt_status_name(const struct ntk_nrt *nrt, NRT_STATUS status);
/* Fills err with "WHAT failed: STATUS (5)". Returns -EIO. */
int ntk_nrt_fail(const struct ntk_nrt *nrt, struct ntk_err *err, NRT_STATUS status,
                 const char *what);
/* Fills err with the name of a call that the library lacks. Returns -ENOSYS. */
int ntk_nrt_lacks(struct ntk_err *err, const char *name);

#endif
