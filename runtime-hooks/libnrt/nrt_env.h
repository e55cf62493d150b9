/* SPDX-License-Identifier: MIT */
/*
 * nrt_env - reads the NEURON_RT_* variables that have an effect here (docs/environment.md lists
 * all).
 *
 * Threads: any; reads the environment at each call.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_ENV_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_ENV_H

#include "runtime-hooks/core/core.h"

/* Returns all settings of this process from the environment. -EINVAL with a message that names the
 * variable. */
int nrt_env_options_get(const struct ntk_core_machine *machine,
                        struct ntk_core_options *out_options, struct ntk_err *err);
/* Returns the settings that are read again at each nrt_load(). */
int nrt_env_load_options_get(const struct ntk_core_machine *machine,
                             struct ntk_core_load_options *out_options, struct ntk_err *err);
/* Returns the capacity of a debug stream in events, a power of two. */
int nrt_env_debug_events_get(uint32_t *out_count, struct ntk_err *err);
struct nrt_env_async {
    uint32_t implicit_depth; /* 0: nrt_execute() returns after the execution */
    uint32_t compute_depth;
};
int nrt_env_async_get(struct nrt_env_async *out_async, struct ntk_err *err);
/* Returns the limits for a recording of the device. */
int nrt_env_profile_bounds_get(struct ntk_core_recorder_bounds *out_bounds, struct ntk_err *err);
/* Returns the status for which executions dump their inputs; 0 if none. */
uint64_t nrt_env_dump_status(void);
/* Returns true if the old numbers of nrt_dtype_t are used. */
bool nrt_env_legacy_dtype(void);

#endif
