/* SPDX-License-Identifier: MIT */
/*
 * neff_facts - reads facts about a NEFF in memory that are visible before it is unpacked.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_NEFF_FACTS_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_NEFF_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "shared/abi/segment_abi.h"

struct interpose_neff_facts {
    uint8_t uuid[16];
    char name[NTK_MODEL_NAME_BYTES];
    char path[NTK_MODEL_PATH_BYTES]; /* path of the file mapped at the address, else "" */
};

/* A text is empty if unknown. */
void interpose_neff_facts_get(const void *bytes, size_t size,
                              struct interpose_neff_facts *out_facts);

#endif
