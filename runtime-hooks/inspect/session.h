/* SPDX-License-Identifier: MIT */
/*
 * session - records a core from a start to a stop, and keeps recordings until they are written or
 * dropped.
 *
 * Threads: any, between ntk_core_open() and ntk_core_close(). ntk_inspect_closing() drops kept
 *          sessions.
 */
#ifndef NTK_RUNTIME_HOOKS_INSPECT_SESSION_H
#define NTK_RUNTIME_HOOKS_INSPECT_SESSION_H

#include "runtime-hooks/core/core.h"

#define NTK_SESSIONS_MAX 64U /* maximum number of kept sessions */

/* -EALREADY: the core already has a session; -EINVAL: unknown core. */
int ntk_session_start(struct ntk_core *core, uint32_t nc,
                      const struct ntk_core_recorder_bounds *bounds, struct ntk_err *err);
/* -ENOENT: the core has no session; -ENOMEM: too many sessions are kept, and this one continues. */
int ntk_session_stop(struct ntk_core *core, uint32_t nc, uint64_t *out_id, struct ntk_err *err);
/* Writes a session, like ntk_core_recording_save(); may be called repeatedly. -ENOENT: unknown
 * id. */
int ntk_session_save(uint64_t id, const char *path, struct ntk_err *err);
/* Drops kept sessions with that id (0: any) on that core (NTK_CORE_ANY: any). Returns their
 * number. */
size_t ntk_session_drop(uint64_t id, uint32_t nc);

/* For inspect.c, in the child of a fork: forgets all sessions. */
void ntk_session_forget(void);

#endif
