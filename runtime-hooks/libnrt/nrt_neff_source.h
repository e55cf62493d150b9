/* SPDX-License-Identifier: MIT */
/*
 * nrt_neff_source - checks the origin of CPU nodes in a NEFF (docs/decisions/neff.md).
 *
 * Bytes have no owner, but the mapped file has one. Bytes outside file mappings were written by the
 * program itself.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_NEFF_SOURCE_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_NEFF_SOURCE_H

#include <stdbool.h>

/* Returns false if the address is in the mapping of a file owned by neither this user nor root. */
bool nrt_neff_source_is_ours(const void *bytes);

#endif
