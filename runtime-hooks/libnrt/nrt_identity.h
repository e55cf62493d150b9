/* SPDX-License-Identifier: MIT */
/*
 * nrt_identity - the text by which programs tell this runtime from the vendor's.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_IDENTITY_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_IDENTITY_H

/* rt_detail of nrt_get_version(), shorter than RT_VERSION_DETAIL_LEN. It is the only thing in its
 * object file, so that a test links the rest as another runtime. */
extern const char nrt_identity_detail[];

#endif
