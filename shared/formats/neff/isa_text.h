/* SPDX-License-Identifier: MIT */
/*
 * isa_text - converts instructions to text that people can read and write, and back.
 *
 * One instruction is one line: the operation's name, then words of the form key=value in any order;
 * omitted keys have their neutral value. A program consists of these lines, labels and comments.
 * Printing omits nothing, so printed text gives the same bytes again. docs/isa.md, "Listings", is
 * the authority on the syntax.
 *
 * Owner: the caller owns the buffer. Threads: any.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_ISA_TEXT_H
#define NTK_SHARED_FORMATS_NEFF_ISA_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/formats/neff/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_ISA_LINE_BYTES_MAX 4096 /* maximum length of an input line */

/* Appends the instruction without a newline. The instruction may be invalid: numbers without a name
 * are printed as numbers. */
void ntk_isa_text_print(const struct ntk_isa_instr *instr, struct ntk_buf *out);
/* Reads one instruction (no label, no comment). Returns -EINVAL with a message. Does not check the
 * result; ntk_isa_encode() does. */
int ntk_isa_text_parse(const char *line, struct ntk_isa_instr *out_instr, struct ntk_err *err);

/* A callback that appends a comment after the instruction at a slot when a program is printed; it
 * may append nothing. */
typedef void ntk_isa_text_note(const struct ntk_isa_instr *instr, size_t slot, struct ntk_buf *out,
                               void *ctx);

/* Appends a whole binary, one instruction per line with its slot as a comment. Returns -EBADMSG if
 * it is not in our encoding; err->offset is the byte. note may be NULL. */
int ntk_isa_text_print_program(const uint8_t *code, size_t code_bytes, enum ntk_isa_engine engine,
                               ntk_isa_text_note *note, void *ctx, struct ntk_buf *out,
                               struct ntk_err *err);
/* Assembles text up to its end and appends the binary. Labels count slots from the start of out.
 * first_line is the number of the text's first line, for messages. Returns -EINVAL, -EBADMSG or
 * -ENOMEM. */
int ntk_isa_text_parse_program(const char *text, size_t text_bytes, unsigned first_line,
                               enum ntk_isa_engine engine, struct ntk_buf *out,
                               struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
