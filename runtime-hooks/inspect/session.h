/* SPDX-License-Identifier: MIT */
/*
 * session - recordings of a core from a start to a stop, kept until they are written or dropped.
 *
 * Threads: any, between ntk_core_open() and ntk_core_close(). Waiting items are dropped by
 *          ntk_inspect_closing().
 */
#ifndef NTK_RUNTIME_HOOKS_INSPECT_SESSION_H
#define NTK_RUNTIME_HOOKS_INSPECT_SESSION_H

#include "runtime-hooks/core/core.h"

#define NTK_SESSIONS_MAX 64U /* that wait */

/* -EALREADY: the core has one; -EINVAL: unknown core. */
int ntk_session_start(struct ntk_core *core, uint32_t nc,
                      const struct ntk_core_recorder_bounds *bounds, struct ntk_err *err);
/* -ENOENT: the core has none; -ENOMEM: too many are kept, it continues. */
int ntk_session_stop(struct ntk_core *core, uint32_t nc, uint64_t *out_id, struct ntk_err *err);
/* Like ntk_core_recording_save(); may be called repeatedly. -ENOENT: unknown id. */
int ntk_session_save(uint64_t id, const char *path, struct ntk_err *err);
/* Drops kept ones with that id (0: any) on that core (NTK_CORE_ANY: any). Returns their number. */
size_t ntk_session_drop(uint64_t id, uint32_t nc);

/* For inspect.c, in the child of a fork. */
void ntk_session_forget(void);

#endif
