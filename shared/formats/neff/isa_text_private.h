/* SPDX-License-Identifier: MIT */
/*
 * isa_text_private - the keywords of a listing, shared by its printer and its reader.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_ISA_TEXT_PRIVATE_H
#define NTK_SHARED_FORMATS_NEFF_ISA_TEXT_PRIVATE_H

#include "shared/formats/neff/isa_text.h"

enum {
    NTK_ISA_TEXT_COMMAND_COUNT = NTK_ISA_REDUCE_LOAD_REDUCE + 1,
    NTK_ISA_TEXT_FLAG_COUNT = 6,
    NTK_ISA_TEXT_DGE_COUNT = NTK_ISA_DGE_NONE + 1,
};

#define NTK_ISA_LABEL_BYTES_MAX 64

struct ntk_isa_text_flag {
    uint8_t bit;
    const char *name;
};

extern const char *const ntk_isa_text_roles[NTK_ISA_OPERAND_COUNT];
extern const char *const ntk_isa_text_spaces[NTK_ISA_SPACE_COUNT];
extern const char *const ntk_isa_text_commands[NTK_ISA_TEXT_COMMAND_COUNT];
extern const char *const ntk_isa_text_dge[NTK_ISA_TEXT_DGE_COUNT];
extern const struct ntk_isa_text_flag ntk_isa_text_flags[NTK_ISA_TEXT_FLAG_COUNT];

extern const char *const ntk_isa_text_registers[3];

/* has_label: print the target as its label in the program's listing. */
void ntk_isa_text_print_labelled(const struct ntk_isa_instr *instr, bool has_label,
                                 struct ntk_buf *out);
/* label receives a label target (NTK_ISA_LABEL_BYTES_MAX); NULL where labels are not allowed. */
int ntk_isa_text_parse_labelled(const char *line, struct ntk_isa_instr *out_instr, char *label,
                                struct ntk_err *err);
/* Returns true if the text consists of letters, digits and underscores and does not begin with a
 * digit, because a label is not a number. */
bool ntk_isa_text_is_label(const char *text, size_t length);

#endif
