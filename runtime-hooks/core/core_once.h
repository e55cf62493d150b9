/* SPDX-License-Identifier: MIT */
/*
 * core_once - one software machine per process, however many libraries of it brought a copy of this
 * code.
 *
 * Locks of files and the slot of a process are the process's, not a library's: a second copy would
 * take cores that the first has, and would drop all locks of both when it closes. No variable of
 * one copy is seen by the other, so the mark is one that the kernel lists for all of them: a page
 * without memory whose name is in /proc/self/maps. It ends with exec and is absent in the child
 * of a fork. Two copies that come at the same moment may both be refused, never both accepted;
 * where the kernel cannot list, no process is refused.
 *
 * Owner:   the mark is the claimant's, until ntk_core_once_release().
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_ONCE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_ONCE_H

#include "shared/base/err.h"

/* -EALREADY: the process has a machine. *out_mark may be NULL. */
int ntk_core_once_claim(void **out_mark, struct ntk_err *err);
/* NULL is fine. Not for the child of a fork, which has no mark. */
void ntk_core_once_release(void *mark);

#endif
