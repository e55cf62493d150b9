/* SPDX-License-Identifier: MIT */
/*
 * nrt_front - holds the state of the library between nrt_init() and nrt_close(), and its handles.
 *
 * Each public call that needs the runtime is between nrt_front_enter() and nrt_front_leave();
 * nrt_close() waits until all such calls have left. In the child of a fork the library is in the
 * state before nrt_init().
 *
 * Every file of this library includes the public headers through this one: it makes their functions
 * visible outside.
 *
 * Owner:   the caller of a _take function releases the tensor; the library owns the core.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_FRONT_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_FRONT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/core/core.h"
#include "runtime-hooks/core/core_handle.h"
#include "shared/base/vec.h"

#define NRT_CLOSE_RETURNS_STATUS 1
#pragma GCC visibility push(default)
#include "nrt/ndebug_stream.h"
#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_status.h"
#include "nrt/nrt_sys_trace.h"
#include "nrt/nrt_version.h"
#pragma GCC visibility pop

/* Vendor release that this library implements. */
#define NRT_FRONT_RUNTIME_VERSION "2.31.24.0"

/* Handles of callers: nrt_model_t, nrt_tensor_t and nrt_tensor_set_t point to these. */
struct nrt_model {
    struct ntk_core_handle handle;
    struct ntk_core_model *core;
};

struct nrt_tensor {
    struct ntk_core_handle handle;
    struct ntk_core_tensor *core;
};

struct nrt_set_entry {
    char *name;
    struct nrt_tensor *tensor; /* no reference held: may be freed before the set */
    uint64_t generation;       /* generation of the tensor when it was added */
};

struct nrt_set {
    struct ntk_core_handle handle;
    pthread_mutex_t lock;
    struct ntk_vec entries; /* elements are struct nrt_set_entry */
};

extern struct ntk_core_handle_pool nrt_front_models;
extern struct ntk_core_handle_pool nrt_front_tensors;
extern struct ntk_core_handle_pool nrt_front_sets;

/* NRT_SUCCESS: the runtime stays open until nrt_front_leave(). NRT_UNINITIALIZED or NRT_CLOSED: the
 * caller must not leave. */
NRT_STATUS nrt_front_enter(void);
void nrt_front_leave(void);
static inline void nrt_front_scope_end(const NRT_STATUS *entered)
{
    if (*entered == NRT_SUCCESS) {
        nrt_front_leave();
    }
}
/* Enters until the end of the function and defines `status`, or returns the reason why it cannot
 * enter. */
#define NRT_FRONT_SCOPE                                                                         \
    const NRT_STATUS entered __attribute__((cleanup(nrt_front_scope_end))) = nrt_front_enter(); \
    NRT_STATUS status = entered;                                                                \
    if (status != NRT_SUCCESS) {                                                                \
        return status;                                                                          \
    }
/* Implements nrt_load(), with the rank and the number of ranks that execute the model together, for
 * monitors; both are 0 if none. */
NRT_STATUS nrt_front_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                          uint32_t rank, uint32_t rank_count, nrt_model_t **model);
/* Returns the status for an invalid model handle: never valid, or freed. */
NRT_STATUS nrt_front_no_model(const nrt_model_t *model);
/* Returns the core. Called only between enter and leave. */
struct ntk_core *nrt_front_core_get(void);
/* Logs the message of err with the name of the public call; returns the status. */
NRT_STATUS nrt_front_fail(const char *function, int error, const struct ntk_err *err);
/* Logs a failed execution in the vendor's format: the cause, the model, the call. */
void nrt_front_execution_failed(const char *function, const struct nrt_model *model,
                                NRT_STATUS status, const struct ntk_err *err);

/* In nrt_sys_trace.c, called in the child of a fork: resets its lock. */
void nrt_sys_trace_forget(void);

/* Returns the tensor with that name and adds a reference; NULL if there is none or it was freed. */
struct nrt_tensor *nrt_front_set_take(struct nrt_set *set, const char *name);

#endif
