/* SPDX-License-Identifier: MIT */
/* isa_text - programs as listings with labels, and functions that printing and reading share. */
#include "shared/formats/neff/isa_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/isa_private.h"
#include "shared/formats/neff/isa_text_private.h"

#undef BAD
#define BAD(...) ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, __VA_ARGS__)

const char *const ntk_isa_text_roles[NTK_ISA_OPERAND_COUNT] = { "D", "A", "B", "C", "E", "F" };
const char *const ntk_isa_text_spaces[NTK_ISA_SPACE_COUNT] = { "none", "var", "sbuf", "psum",
                                                               "pattern" };
const char *const ntk_isa_text_commands[NTK_ISA_TEXT_COMMAND_COUNT] = { "idle", "reset", "reduce",
                                                                        "reset_reduce",
                                                                        "load_reduce" };
const char *const ntk_isa_text_dge[NTK_ISA_TEXT_DGE_COUNT] = { "unknown", "software", "hardware",
                                                               "none" };
const char *const ntk_isa_text_registers[3] = { "rd", "ra", "rb" };
const struct ntk_isa_text_flag ntk_isa_text_flags[NTK_ISA_TEXT_FLAG_COUNT] = {
    { NTK_ISA_OPF_ACCUMULATE, "accumulate" }, { NTK_ISA_OPF_REVERSE0, "reverse0" },
    { NTK_ISA_OPF_REVERSE1, "reverse1" },     { NTK_ISA_OPF_NEGATE, "negate" },
    { NTK_ISA_OPF_BOUNDS, "bounds" },         { NTK_ISA_OPF_OOB_SKIP, "skip" },
};

enum mark { MARK_HEAD = 1, MARK_LABEL = 2 };

/* Marks which slots are heads of instructions and which of these are targets; the last mark is the
 * end. */
static int marks_make(const uint8_t *code, size_t code_bytes, enum ntk_isa_engine engine,
                      uint8_t *marks, struct ntk_err *err)
{
    struct ntk_isa_instr instr;
    size_t slots = 0;

    for (size_t at = 0; at < code_bytes; at += slots * NTK_ISA_SLOT_BYTES) {
        int ret = ntk_isa_decode(code + at, code_bytes - at, engine, &instr, &slots, err);

        if (ret < 0) {
            ntk_err_prefix(err, "slot %zu", at / NTK_ISA_SLOT_BYTES);
            if (err) {
                err->offset = at;
            }
            return ret;
        }
        marks[at / NTK_ISA_SLOT_BYTES] |= MARK_HEAD;
        if (ntk_isa_jumps(instr.op) && instr.target <= code_bytes / NTK_ISA_SLOT_BYTES) {
            marks[instr.target] |= MARK_LABEL;
        }
    }
    marks[code_bytes / NTK_ISA_SLOT_BYTES] |= MARK_HEAD;
    return 0;
}

int ntk_isa_text_print_program(const uint8_t *code, size_t code_bytes, enum ntk_isa_engine engine,
                               ntk_isa_text_note *note, void *ctx, struct ntk_buf *out,
                               struct ntk_err *err)
{
    size_t end = code_bytes / NTK_ISA_SLOT_BYTES;
    uint8_t *marks = calloc(end + 1, 1);
    size_t slots = 0;
    int ret;

    if (!marks) {
        return ntk_err_no_memory(err);
    }
    ret = marks_make(code, code_bytes, engine, marks, err);
    for (size_t slot = 0; slot <= end && ret == 0; slot += slots) {
        struct ntk_isa_instr instr;
        size_t at = slot * NTK_ISA_SLOT_BYTES;

        if (marks[slot] == (MARK_HEAD | MARK_LABEL)) {
            ntk_buf_add_format(out, "L%zu:\n", slot);
        }
        if (slot == end) {
            break;
        }
        ret = ntk_isa_decode(code + at, code_bytes - at, engine, &instr, &slots, err);
        if (ret == 0) {
            ntk_buf_add_text(out, "    ");
            ntk_isa_text_print_labelled(&instr,
                                        ntk_isa_jumps(instr.op) && instr.target <= end &&
                                            marks[instr.target] == (MARK_HEAD | MARK_LABEL),
                                        out);
            ntk_buf_add_format(out, " ; %zu", slot);
            if (note) {
                note(&instr, slot, out, ctx);
            }
            ntk_buf_add_char(out, '\n');
        }
    }
    free(marks);
    if (ret == 0 && !ntk_buf_ok(out)) {
        ret = ntk_err_no_memory(err);
    }
    return ret;
}

/* A label definition, or a use of a label by an instruction. */
struct label {
    char name[NTK_ISA_LABEL_BYTES_MAX];
    uint32_t slot; /* slot of the label's target, or of the instruction that uses it */
    unsigned line;
};

struct assembler {
    enum ntk_isa_engine engine;
    uint32_t first_slot; /* number of slots that the binary already has */
    struct ntk_buf code;
    struct ntk_vec labels, wanted; /* elements are struct label */
};

static int label_add(struct ntk_vec *labels, const char *name, size_t length, size_t code_bytes,
                     unsigned line, struct ntk_err *err)
{
    struct label *label = ntk_vec_add(labels);

    if (!label) {
        return ntk_err_no_memory(err);
    }
    memcpy(label->name, name, length);
    label->slot = (uint32_t)(code_bytes / NTK_ISA_SLOT_BYTES);
    label->line = line;
    return 0;
}

NTK_ORDER(label_by_name, struct label, NTK_TEXT(name));

static int assemble_line(struct assembler *assembler, char *line, unsigned number,
                         struct ntk_err *err)
{
    uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
    char label[NTK_ISA_LABEL_BYTES_MAX] = "";
    struct ntk_isa_instr instr;
    size_t slots;
    size_t length;
    int ret = 0;

    line[strcspn(line, ";")] = '\0';
    line += strspn(line, " \t\r");
    length = strcspn(line, " \t\r:");
    if (line[length] == ':') {
        if (!ntk_isa_text_is_label(line, length)) {
            return BAD("invalid label '%.*s': expected letters, digits and underscores",
                       (int)length, line);
        }
        ret = label_add(&assembler->labels, line, length, assembler->code.bytes_count, number, err);
        line += length + 1;
    }
    if (ret < 0 || line[strspn(line, " \t\r")] == '\0') {
        return ret;
    }
    ret = ntk_isa_text_parse_labelled(line, &instr, label, err);
    if (ret == 0 && label[0] != '\0' && !ntk_isa_jumps(instr.op)) {
        ret = BAD("label '%s' on an instruction that does not jump", label);
    }
    if (ret == 0) {
        ret = ntk_isa_encode(&instr, assembler->engine, bytes, &slots, err);
    }
    if (ret == 0 && label[0] != '\0') {
        ret = label_add(&assembler->wanted, label, strlen(label), assembler->code.bytes_count,
                        number, err);
    }
    if (ret == 0) {
        ntk_buf_add(&assembler->code, bytes, slots * NTK_ISA_SLOT_BYTES);
    }
    return ret;
}

/* After the last line: writes the labels' slots into the instructions that use them. */
static int labels_resolve(struct assembler *assembler, struct ntk_err *err)
{
    struct label *labels = assembler->labels.items;
    size_t count = assembler->labels.count;

    if (count > 1) {
        qsort(labels, count, sizeof *labels, label_by_name);
    }
    for (size_t i = 1; i < count; i++) {
        if (strcmp(labels[i - 1].name, labels[i].name) == 0) {
            return BAD("line %u: duplicate label '%s' (first in line %u)",
                       labels[i].line > labels[i - 1].line ? labels[i].line : labels[i - 1].line,
                       labels[i].name,
                       labels[i].line > labels[i - 1].line ? labels[i - 1].line : labels[i].line);
        }
    }
    ntk_vec_each(struct label, wanted, &assembler->wanted) {
        const struct label *found =
            count ? bsearch(wanted, labels, count, sizeof *labels, label_by_name) : NULL;
        uint8_t *head =
            (uint8_t *)assembler->code.bytes + (size_t)wanted->slot * NTK_ISA_SLOT_BYTES;
        struct ntk_isa_instr instr;
        size_t slots;
        int ret;

        if (!found) {
            return BAD("line %u: unknown label '%s'", wanted->line, wanted->name);
        }
        ret = ntk_isa_decode(head, NTK_ISA_SLOT_BYTES, assembler->engine, &instr, &slots, err);
        instr.target = assembler->first_slot + found->slot;
        if (ret == 0) {
            ret = ntk_isa_encode(&instr, assembler->engine, head, &slots, err);
        }
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

int ntk_isa_text_parse_program(const char *text, size_t text_bytes, unsigned first_line,
                               enum ntk_isa_engine engine, struct ntk_buf *out, struct ntk_err *err)
{
    struct assembler assembler = { .engine = engine,
                                   .first_slot =
                                       (uint32_t)(out->bytes_count / NTK_ISA_SLOT_BYTES) };
    char line[NTK_ISA_LINE_BYTES_MAX];
    size_t at = 0;
    int ret = 0;

    ntk_vec_init(&assembler.labels, sizeof(struct label));
    ntk_vec_init(&assembler.wanted, sizeof(struct label));
    for (unsigned number = first_line; at < text_bytes && ret == 0; number++) {
        const char *end = memchr(text + at, '\n', text_bytes - at);
        size_t length = end ? (size_t)(end - (text + at)) : text_bytes - at;

        if (length >= sizeof line) {
            ret = BAD("line %u: more than %d bytes", number, NTK_ISA_LINE_BYTES_MAX - 1);
            break;
        }
        memcpy(line, text + at, length);
        line[length] = '\0';
        ret = assemble_line(&assembler, line, number, err);
        if (ret < 0) {
            ntk_err_prefix(err, "line %u", number);
        }
        at += length + (end != NULL);
    }
    if (ret == 0 && !ntk_buf_ok(&assembler.code)) {
        ret = ntk_err_no_memory(err);
    }
    if (ret == 0) {
        ret = labels_resolve(&assembler, err);
    }
    if (ret == 0) {
        ntk_buf_add(out, assembler.code.bytes, assembler.code.bytes_count);
        if (!ntk_buf_ok(out)) {
            ret = ntk_err_no_memory(err);
        }
    }
    ntk_buf_fini(&assembler.code);
    ntk_vec_fini(&assembler.labels);
    ntk_vec_fini(&assembler.wanted);
    return ret;
}
