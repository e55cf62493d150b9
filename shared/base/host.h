/* SPDX-License-Identifier: MIT */
/*
 * host - identity and boot time of this machine: processes with the same boot id share its clock,
 * in any container.
 *
 * Owner: the caller's buffers, always NUL-ended. Threads: any.
 */
#ifndef NTK_SHARED_BASE_HOST_H
#define NTK_SHARED_BASE_HOST_H

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_HOST_TEXT_BYTES 65

struct ntk_host {
    char boot_id[NTK_HOST_TEXT_BYTES]; /* "" if unknown */
    char name[NTK_HOST_TEXT_BYTES];    /* node name as this process sees it; "" if unknown */
};

void ntk_host_get(struct ntk_host *out_host);

#ifdef __cplusplus
}
#endif
#endif
