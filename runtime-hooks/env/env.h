/* SPDX-License-Identifier: MIT */
/*
 * env - environment variables as values, for every front.
 *
 * Threads: any; reads the environment at each call.
 */
#ifndef NTK_RUNTIME_HOOKS_ENV_ENV_H
#define NTK_RUNTIME_HOOKS_ENV_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"

/* The value of the variable; NULL if unset or empty. */
const char *ntk_env_text(const char *name);
/* Read a variable and leave *out_value unchanged if it is unset or empty. Return -EINVAL with a
 * message that names the variable if it is not a number, or not one of 0, 1, false and true. */
int ntk_env_u64(const char *name, uint64_t *out_value, struct ntk_err *err);
int ntk_env_bool(const char *name, bool *out_value, struct ntk_err *err);

#endif
