/* SPDX-License-Identifier: MIT */
/*
 * nrt_neff_source - the origin of the CPU nodes of a NEFF (docs/decisions/neff.md).
 *
 * Bytes have no owner, but the file they are mapped from does. Bytes outside of file mappings were
 * written by the program itself.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_NEFF_SOURCE_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_NEFF_SOURCE_H

#include <stdbool.h>

/* False if the address is in the mapping of a file owned by neither this user nor root. */
bool nrt_neff_source_is_ours(const void *bytes);

#endif
