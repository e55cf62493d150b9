/* SPDX-License-Identifier: MIT */
/*
 * nrt_neff_source - the origin of the CPU nodes of a NEFF (docs/decisions/neff.md).
 *
 * Bytes have no owner, the file that they are mapped from has. Bytes that are in no file's mapping
 * were put there by the program itself.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_NEFF_SOURCE_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_NEFF_SOURCE_H

#include <stdbool.h>

/* False when the address lies in the mapping of a file that neither this user nor root owns. */
bool nrt_neff_source_is_ours(const void *bytes);

#endif
