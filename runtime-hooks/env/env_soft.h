/* SPDX-License-Identifier: MIT */
/*
 * env_soft - the NEURON_SOFT_* variables as options of the core (docs/environment.md): they control
 * the behaviour of software NeuronCores with any front.
 *
 * Owner:   texts belong to the environment.
 * Threads: any; reads the environment at each call.
 */
#ifndef NTK_RUNTIME_HOOKS_ENV_ENV_SOFT_H
#define NTK_RUNTIME_HOOKS_ENV_ENV_SOFT_H

#include "runtime-hooks/core/core.h"

/* Reads NEURON_SOFT_INSTANCE and NEURON_SOFT_SYSFS. Returns -EINVAL for an invalid value. */
int ntk_env_soft_machine_get(struct ntk_core_machine_options *out_machine, struct ntk_err *err);
/* Reads these variables, NEURON_SOFT_FAULT and NEURON_SOFT_PACE, and sets the texts of the vendor's
 * runtime; other options stay unchanged. Returns -EINVAL for an invalid value. */
int ntk_env_soft_options_get(struct ntk_core_options *options, struct ntk_err *err);
/* Reads NEURON_SOFT_OPAQUE and NEURON_SOFT_NEFF_FEATURES, and sets the advice in messages about
 * rejected files; other options stay unchanged. Returns -EINVAL for an invalid value. */
int ntk_env_soft_load_options_get(struct ntk_core_load_options *options, struct ntk_err *err);

/* NEURON_SOFT_CPU_NODES: which NEFFs may contain code that runs on the host. */
enum ntk_env_cpu_nodes {
    NTK_ENV_CPU_NODES_NONE,
    NTK_ENV_CPU_NODES_OWN, /* only files of this user and of root; the default */
    NTK_ENV_CPU_NODES_ALL,
};
enum ntk_env_cpu_nodes ntk_env_soft_cpu_nodes(void);

#endif
