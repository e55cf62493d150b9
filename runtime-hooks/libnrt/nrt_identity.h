/* SPDX-License-Identifier: MIT */
/*
 * nrt_identity - lets programs distinguish this runtime from the vendor's.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_IDENTITY_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_IDENTITY_H

#include <stdbool.h>

/* rt_detail of nrt_get_version(), shorter than RT_VERSION_DETAIL_LEN. It is alone in its object
 * file, so that a test can link the rest as another runtime. */
extern const char nrt_identity_detail[];
/* True if nrt_init() warns on a machine with a Neuron driver. */
extern const bool nrt_identity_is_software;
/* Exported marker for runtime-hooks/nrt/nrt_search.c, which does not load the file. */
__attribute__((visibility("default"))) extern const char neuron_soft_runtime[];

#endif
