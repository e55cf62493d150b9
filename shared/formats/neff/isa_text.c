/* SPDX-License-Identifier: MIT */
/* Programs as listings, and the words that printing and reading share. */
#include "shared/formats/neff/isa_text.h"

#include <errno.h>
#include <string.h>

#include "shared/formats/neff/isa_text_private.h"

#define BAD(...) ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, __VA_ARGS__)

const char *const ntk_isa_text_roles[NTK_ISA_OPERAND_COUNT] = { "D", "A", "B", "C", "E", "F" };
const char *const ntk_isa_text_spaces[NTK_ISA_SPACE_COUNT] = { "none", "var", "sbuf", "psum",
                                                               "pattern" };
const char *const ntk_isa_text_commands[NTK_ISA_TEXT_COMMAND_COUNT] = { "idle", "reset", "reduce",
                                                                        "reset_reduce",
                                                                        "load_reduce" };
const char *const ntk_isa_text_dge[NTK_ISA_TEXT_DGE_COUNT] = { "unknown", "software", "hardware",
                                                               "none" };
const struct ntk_isa_text_flag ntk_isa_text_flags[NTK_ISA_TEXT_FLAG_COUNT] = {
    { NTK_ISA_OPF_ACCUMULATE, "accumulate" }, { NTK_ISA_OPF_REVERSE0, "reverse0" },
    { NTK_ISA_OPF_REVERSE1, "reverse1" },     { NTK_ISA_OPF_NEGATE, "negate" },
    { NTK_ISA_OPF_BOUNDS, "bounds" },         { NTK_ISA_OPF_OOB_SKIP, "skip" },
};

int ntk_isa_text_print_program(const uint8_t *code, size_t code_bytes, enum ntk_isa_engine engine,
                               ntk_isa_text_note *note, void *ctx, struct ntk_buf *out,
                               struct ntk_err *err)
{
    size_t at = 0;

    while (at < code_bytes) {
        struct ntk_isa_instr instr;
        size_t slots = 0;
        int ret = ntk_isa_decode(code + at, code_bytes - at, engine, &instr, &slots, err);

        if (ret < 0) {
            ntk_err_prefix(err, "slot %zu", at / NTK_ISA_SLOT_BYTES);
            if (err) {
                err->offset = at;
            }
            return ret;
        }
        ntk_buf_add_text(out, "    ");
        ntk_isa_text_print(&instr, out);
        ntk_buf_add_format(out, " ; %zu", at / NTK_ISA_SLOT_BYTES);
        if (note) {
            note(&instr, out, ctx);
        }
        ntk_buf_add_char(out, '\n');
        at += slots * NTK_ISA_SLOT_BYTES;
    }
    return ntk_buf_ok(out) ? 0 : ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
}

static int assemble_line(char *line, enum ntk_isa_engine engine, struct ntk_buf *out,
                         struct ntk_err *err)
{
    uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
    struct ntk_isa_instr instr;
    size_t slots;
    int ret;

    line[strcspn(line, ";")] = '\0';
    if (line[strspn(line, " \t\r")] == '\0') {
        return 0;
    }
    ret = ntk_isa_text_parse(line, &instr, err);
    if (ret == 0) {
        ret = ntk_isa_encode(&instr, engine, bytes, &slots, err);
    }
    if (ret == 0) {
        ntk_buf_add(out, bytes, slots * NTK_ISA_SLOT_BYTES);
    }
    return ret;
}

int ntk_isa_text_parse_program(const char *text, size_t text_bytes, unsigned first_line,
                               enum ntk_isa_engine engine, struct ntk_buf *out, struct ntk_err *err)
{
    char line[NTK_ISA_LINE_BYTES_MAX];
    size_t at = 0;

    for (unsigned number = first_line; at < text_bytes; number++) {
        const char *end = memchr(text + at, '\n', text_bytes - at);
        size_t length = end ? (size_t)(end - (text + at)) : text_bytes - at;
        int ret;

        if (length >= sizeof line) {
            return BAD("line %u: more than %d bytes", number, NTK_ISA_LINE_BYTES_MAX - 1);
        }
        memcpy(line, text + at, length);
        line[length] = '\0';
        ret = assemble_line(line, engine, out, err);
        if (ret < 0) {
            ntk_err_prefix(err, "line %u", number);
            return ret;
        }
        at += length + (end != NULL);
    }
    return ntk_buf_ok(out) ? 0 : ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
}
