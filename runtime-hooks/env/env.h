/* SPDX-License-Identifier: MIT */
/*
 * env - variables of the environment as values, for every front.
 *
 * Threads: any; reads the environment at each call.
 */
#ifndef NTK_RUNTIME_HOOKS_ENV_ENV_H
#define NTK_RUNTIME_HOOKS_ENV_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"

/* NULL when unset or empty. */
const char *ntk_env_text(const char *name);
/* Leave *out_value alone when the variable is unset or empty. -EINVAL with the variable in the
 * sentence: it is not a number, or neither 0, 1, false nor true. */
int ntk_env_u64(const char *name, uint64_t *out_value, struct ntk_err *err);
int ntk_env_bool(const char *name, bool *out_value, struct ntk_err *err);

#endif
