/* SPDX-License-Identifier: MIT */
/*
 * ntff_program - the NEFF of each subgraph: a capture of a core has the programs of all models that
 * ran there.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_FORMATS_NTFF_PROGRAM_H
#define NTK_SHARED_FORMATS_NTFF_PROGRAM_H

#include "shared/formats/ntff/ntff.h"

/* Returns the UUID of the NEFF to which a subgraph belongs (NTK_NTFF_UUID_BYTES, borrowed from
 * ntff); NULL if the capture does not record it for each subgraph. */
const uint8_t *ntk_ntff_subgraph_uuid(const struct ntk_ntff *ntff, size_t subgraph);

#endif
