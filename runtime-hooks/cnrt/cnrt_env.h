/* SPDX-License-Identifier: MIT */
/* cnrt_env - reads the environment variables of cnrtInit() (docs/environment.md). */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_ENV_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_ENV_H

#include "runtime-hooks/core/core.h"

/* Texts belong to the environment. Returns -EINVAL with a message. */
int cnrt_env_options_get(struct ntk_core_options *options, struct ntk_err *err);

#endif
