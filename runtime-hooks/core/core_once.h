/* SPDX-License-Identifier: MIT */
/*
 * core_once - ensures one software machine per process, even if several libraries contain a copy of
 * this code.
 *
 * File locks and the slot of a process belong to the process, not to a library: a second copy would
 * take the first one's cores, and would drop all locks of both when it closes. Copies do not share
 * variables, so the mark is one that the kernel lists for all of them: a page without memory that
 * has its name in /proc/self/maps. It disappears at exec and in the child of a fork. If two copies
 * start at the same time, both may be rejected, but never both accepted. If the kernel cannot list
 * mappings, none is rejected.
 *
 * Owner:   the claimant owns the mark, until ntk_core_once_release().
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_ONCE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_ONCE_H

#include "shared/base/err.h"

/* Returns -EALREADY if the process has a machine. out_mark may be NULL. */
int ntk_core_once_claim(void **out_mark, struct ntk_err *err);
/* Accepts NULL. Not for the child of a fork, which has no mark. */
void ntk_core_once_release(void *mark);

#endif
