/* SPDX-License-Identifier: MIT */
/*
 * nrt_env_names - the known variables, and the variables with an effect here (nrt_env.def).
 *
 * Threads: any; reads the environment at each call.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_ENV_NAMES_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_ENV_NAMES_H

enum nrt_env_use {
    NRT_ENV_UNKNOWN,
    NRT_ENV_HONOURED,
    NRT_ENV_IGNORED,
};

enum nrt_env_use nrt_env_use_get(const char *name);
/* Logs one line for each set variable without effect: INFO for a known one, WARN for an unknown one
 * of the runtime's families, such as a misspelling. */
void nrt_env_tell(void);
/* Calls `line` for each variable that starts with NEURON_, as "name=value"; at most
 * NRT_ENV_LINES_MAX. */
#define NRT_ENV_LINES_MAX 256
void nrt_env_each(void (*line)(const char *assignment, void *ctx), void *ctx);

#endif
