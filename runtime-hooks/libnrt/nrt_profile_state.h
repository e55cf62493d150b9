/* SPDX-License-Identifier: MIT */
/*
 * nrt_profile_state - continuous profiling and sessions, at the end of the runtime.
 *
 * Threads: as nrt_inspect.h.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_PROFILE_STATE_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_PROFILE_STATE_H

/* At the begin of nrt_close(): what was not written is gone. */
void nrt_profile_closing(void);
/* In the child of a fork. */
void nrt_profile_forget(void);

#endif
