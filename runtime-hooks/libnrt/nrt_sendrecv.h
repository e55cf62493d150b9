/* SPDX-License-Identifier: MIT */
/*
 * nrt_sendrecv - frees communicators and their requests when the runtime closes.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_SENDRECV_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_SENDRECV_H

/* The caller holds the gate locked for writing. */
void nrt_sendrecv_close_all(void);
void nrt_sendrecv_forget_after_fork(void);

#endif
