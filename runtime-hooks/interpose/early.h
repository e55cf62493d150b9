/* SPDX-License-Identifier: MIT */
/* early - what may be done before the constructors of a process run. */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_EARLY_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_EARLY_H

#include <stdbool.h>

/* Whether a look at the runtime's file calls the C library alone. Another library may have put
 * itself before it, a sanitizer's above all, and is not ready yet. */
bool interpose_early_is_safe(void);
/* A variable of the environment, also while getenv() finds nothing. */
const char *interpose_early_getenv(const char *name);

#endif
