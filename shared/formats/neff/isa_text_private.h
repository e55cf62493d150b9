/* SPDX-License-Identifier: MIT */
/*
 * isa_text_private - the words of a listing, which its printer and its reader share.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_ISA_TEXT_PRIVATE_H
#define NTK_SHARED_FORMATS_NEFF_ISA_TEXT_PRIVATE_H

#include "shared/formats/neff/isa_text.h"

enum {
    NTK_ISA_TEXT_COMMAND_COUNT = NTK_ISA_REDUCE_LOAD_REDUCE + 1,
    NTK_ISA_TEXT_FLAG_COUNT = 6,
    NTK_ISA_TEXT_DGE_COUNT = NTK_ISA_DGE_NONE + 1,
};

struct ntk_isa_text_flag {
    uint8_t bit;
    const char *name;
};

extern const char *const ntk_isa_text_roles[NTK_ISA_OPERAND_COUNT];
extern const char *const ntk_isa_text_spaces[NTK_ISA_SPACE_COUNT];
extern const char *const ntk_isa_text_commands[NTK_ISA_TEXT_COMMAND_COUNT];
extern const char *const ntk_isa_text_dge[NTK_ISA_TEXT_DGE_COUNT];
extern const struct ntk_isa_text_flag ntk_isa_text_flags[NTK_ISA_TEXT_FLAG_COUNT];

#endif
