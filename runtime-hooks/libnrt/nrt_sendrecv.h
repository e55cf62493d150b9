/* SPDX-License-Identifier: MIT */
/*
 * nrt_sendrecv - what is to be done about communicators and their requests when the runtime ends.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_SENDRECV_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_SENDRECV_H

/* With the gate held for writing. */
void nrt_sendrecv_close_all(void);
void nrt_sendrecv_forget_after_fork(void);

#endif
