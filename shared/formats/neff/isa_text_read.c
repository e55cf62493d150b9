/* SPDX-License-Identifier: MIT */
/* isa_text_read - reads one line of text as an instruction. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/formats/neff/isa_text_private.h"

#define BAD(...) ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, __VA_ARGS__)
#define NAME_BYTES_MAX 64

/* Reads a number at *at; false if there is none or it is above max. */
static bool take_number(const char **at, uint64_t max, uint64_t *out)
{
    char *end;

    if (!isdigit((unsigned char)**at)) {
        return false;
    }
    errno = 0;
    *out = strtoull(*at, &end, 0);
    *at = end;
    return errno == 0 && *out <= max;
}

static bool take_signed(const char **at, int64_t *out)
{
    bool is_negative = **at == '-';
    uint64_t value;

    *at += is_negative;
    if (!take_number(at, (uint64_t)INT32_MAX + is_negative, &value)) {
        return false;
    }
    *out = is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool take_char(const char **at, char c)
{
    if (**at != c) {
        return false;
    }
    (*at)++;
    return true;
}

static bool parse_place(const char **at, struct ntk_isa_operand *operand)
{
    uint64_t value;

    if (isdigit((unsigned char)**at)) {
        if (!take_number(at, UINT32_MAX - 1, &value)) {
            return false;
        }
        operand->var_id = (uint32_t)value;
    }
    if (take_char(at, '(')) {
        if (!take_number(at, UINT16_MAX, &value)) {
            return false;
        }
        operand->partition_start = (uint16_t)value;
        if (!take_char(at, ':') || !take_number(at, UINT16_MAX, &value)) {
            return false;
        }
        operand->partition_count = (uint16_t)value;
        value = 1;
        if (take_char(at, ':') && !take_number(at, UINT16_MAX, &value)) {
            return false;
        }
        operand->partition_step = (uint16_t)value;
        if (!take_char(at, ')')) {
            return false;
        }
    }
    if (take_char(at, '+') && !take_number(at, UINT64_MAX, &operand->offset)) {
        return false;
    }
    return take_char(at, ':');
}

static bool parse_dims(const char **at, struct ntk_isa_operand *operand)
{
    do {
        uint64_t count;
        int64_t step = 1;

        if (operand->dim_count == NTK_ISA_DIMS_MAX || !take_number(at, UINT32_MAX, &count) ||
            (take_char(at, ':') && !take_signed(at, &step))) {
            return false;
        }
        operand->dim[operand->dim_count++] = (struct ntk_isa_dim){ (int32_t)step, (uint32_t)count };
    } while (take_char(at, ','));
    return take_char(at, ']') && **at == '\0';
}

static int parse_operand(const char *text, struct ntk_isa_operand *operand, struct ntk_err *err)
{
    char dtype[NAME_BYTES_MAX];
    const char *at = text;
    size_t length;

    *operand = (struct ntk_isa_operand){ .var_id = NTK_ISA_NO_VAR };
    for (unsigned s = 1; s < NTK_ISA_SPACE_COUNT; s++) {
        if (ntk_str_starts_with(text, ntk_isa_text_spaces[s])) {
            operand->space = (enum ntk_isa_space)s;
            at = text + strlen(ntk_isa_text_spaces[s]);
        }
    }
    if (operand->space == NTK_ISA_SPACE_NONE) {
        return BAD("unknown space in '%s': expected var, sbuf, psum or pattern", text);
    }
    if (!parse_place(&at, operand)) {
        return BAD("invalid operand '%s': expected SPACE(FIRST:COUNT:STEP)+OFFSET:DTYPE[...]",
                   text);
    }
    length = strcspn(at, "[");
    if (length >= sizeof dtype || at[length] != '[') {
        return BAD("'%s' has no dimensions", text);
    }
    memcpy(dtype, at, length);
    dtype[length] = '\0';
    operand->dtype = ntk_dtype_find(dtype);
    if (operand->dtype == NTK_DTYPE_NONE) {
        return BAD("unknown dtype '%s'", dtype);
    }
    at += length + 1;
    if (!parse_dims(&at, operand)) {
        return BAD("invalid dimensions in '%s': expected [COUNT:STEP,...], at most %d", text,
                   NTK_ISA_DIMS_MAX);
    }
    return 0;
}

static int parse_alu(const char *text, enum ntk_isa_alu *out, struct ntk_err *err)
{
    for (unsigned i = 0; i < NTK_ISA_ALU_COUNT; i++) {
        if (strcmp(ntk_isa_alu_name(i), text) == 0) {
            *out = (enum ntk_isa_alu)i;
            return 0;
        }
    }
    return BAD("unknown operator '%s'", text);
}

static int parse_function(const char *text, enum ntk_isa_act *out, struct ntk_err *err)
{
    for (unsigned i = 0; i < NTK_ISA_ACT_COUNT; i++) {
        if (strcmp(ntk_isa_act_name(i), text) == 0) {
            *out = (enum ntk_isa_act)i;
            return 0;
        }
    }
    return BAD("unknown activation function '%s'", text);
}

static int parse_command(const char *text, enum ntk_isa_reduce_cmd *out, struct ntk_err *err)
{
    for (unsigned i = 0; i < NTK_ISA_TEXT_COMMAND_COUNT; i++) {
        if (strcmp(ntk_isa_text_commands[i], text) == 0) {
            *out = (enum ntk_isa_reduce_cmd)i;
            return 0;
        }
    }
    return BAD("unknown reduce command '%s'", text);
}

static int parse_dge(const char *text, uint8_t *out, struct ntk_err *err)
{
    for (unsigned i = 0; i < NTK_ISA_TEXT_DGE_COUNT; i++) {
        if (strcmp(ntk_isa_text_dge[i], text) == 0) {
            *out |= (uint8_t)(i << NTK_ISA_DGE_SHIFT);
            return 0;
        }
    }
    return BAD("unknown descriptor writer '%s': expected unknown, software, hardware or none",
               text);
}

static int parse_flags(const char *text, uint8_t *out, struct ntk_err *err)
{
    const char *at = text;

    do {
        size_t length = strcspn(at, ",");
        uint64_t bits = 0;

        for (int i = 0; i < NTK_ISA_TEXT_FLAG_COUNT; i++) {
            if (strlen(ntk_isa_text_flags[i].name) == length &&
                strncmp(ntk_isa_text_flags[i].name, at, length) == 0) {
                bits = ntk_isa_text_flags[i].bit;
            }
        }
        if (bits) {
            at += length;
        } else if (!take_number(&at, (unsigned)~NTK_ISA_OPF_DGE & UINT8_MAX, &bits) ||
                   (*at != ',' && *at != '\0')) {
            return BAD("unknown flags '%s'", text);
        }
        *out |= (uint8_t)bits;
    } while (take_char(&at, ','));
    return 0;
}

static int parse_immediate(const char *text, uint32_t *out, struct ntk_err *err)
{
    const char *at = text + (*text == '-');
    uint64_t value;
    double number;

    if (take_number(&at, UINT32_MAX, &value) && *at == '\0' &&
        (*text != '-' || value <= (uint64_t)INT32_MAX + 1)) {
        *out = *text == '-' ? (uint32_t) - (int64_t)value : (uint32_t)value;
        return 0;
    }
    if (strpbrk(text, ".eE") && !ntk_str_starts_with(text, "0x") &&
        ntk_str_parse_double(text, &number) == 0) {
        char *end;
        float nearest = strtof(text, &end);

        if (*end == '\0') {
            *out = ntk_isa_float_bits(nearest);
            return 0;
        }
    }
    return BAD("'%s': expected a 32-bit integer or a number with a decimal point", text);
}

static int parse_wait(const char *text, struct ntk_isa_instr *instr, struct ntk_err *err)
{
    const char *at = text;
    uint64_t number = 0;
    uint64_t value = 0;
    bool is_event = take_char(&at, 'e');
    bool is_equal;

    if ((!is_event && !take_char(&at, 's')) || !take_number(&at, UINT16_MAX - 1, &number)) {
        return BAD("invalid wait '%s': expected s5>=1, s5==1 or e5>=1", text);
    }
    is_equal = ntk_str_starts_with(at, "==");
    if (!is_equal && !ntk_str_starts_with(at, ">=")) {
        return BAD("invalid wait '%s': expected s5>=1, s5==1 or e5>=1", text);
    }
    at += 2;
    if (!take_number(&at, UINT16_MAX, &value)) {
        return BAD("invalid value in wait '%s': expected a 16-bit integer", text);
    }
    if (strcmp(at, "/take") == 0) {
        instr->flags |= NTK_ISA_FLAG_WAIT_CONSUME;
    } else if (*at != '\0') {
        return BAD("'%s' has an unknown suffix: only /take is allowed", text);
    }
    instr->flags |=
        (is_event ? NTK_ISA_FLAG_WAIT_EVENT : 0U) | (is_equal ? NTK_ISA_FLAG_WAIT_EQUAL : 0U);
    instr->wait_semaphore = (uint16_t)number;
    instr->wait_value = (uint16_t)value;
    return 0;
}

/* Parses "s5+1", or "e5=1" if an event is allowed. */
static int parse_signal(const char *text, bool may_be_event, uint16_t *out_number,
                        uint16_t *out_value, bool *out_is_event, struct ntk_err *err)
{
    const char *at = text;
    uint64_t number = 0;
    uint64_t value = 0;
    bool is_event = may_be_event && take_char(&at, 'e');

    if ((!is_event && !take_char(&at, 's')) || !take_number(&at, UINT16_MAX - 1, &number) ||
        !take_char(&at, is_event ? '=' : '+') || !take_number(&at, UINT16_MAX, &value) ||
        *at != '\0') {
        return BAD("invalid signal '%s': expected s5+1%s", text, may_be_event ? " or e5=1" : "");
    }
    *out_number = (uint16_t)number;
    *out_value = (uint16_t)value;
    *out_is_event = is_event;
    return 0;
}

static int parse_limited(const char *key, const char *text, uint64_t max, uint64_t *out,
                         struct ntk_err *err)
{
    const char *at = text;

    return take_number(&at, max, out) && *at == '\0'
               ? 0
               : BAD("%s: '%s': expected a number, at most %llu", key, text,
                     (unsigned long long)max);
}

static int parse_register(const char *key, const char *text, uint8_t *out, struct ntk_err *err)
{
    const char *at = text;
    uint64_t number = 0;

    if (!take_char(&at, 'r') || !take_number(&at, NTK_ISA_REGISTERS - 1, &number) || *at != '\0') {
        return BAD("%s: '%s': expected a register r0 to r%d", key, text, NTK_ISA_REGISTERS - 1);
    }
    *out = (uint8_t)(number + 1);
    return 0;
}

bool ntk_isa_text_is_label(const char *text, size_t length)
{
    if (length == 0 || length >= NTK_ISA_LABEL_BYTES_MAX || isdigit((unsigned char)*text)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && text[i] != '_') {
            return false;
        }
    }
    return true;
}

static int parse_word(const char *key, const char *text, struct ntk_isa_instr *instr,
                      struct ntk_err *err)
{
    uint64_t number = 0;
    bool is_event = false;
    int ret;

    for (int role = 0; role < NTK_ISA_OPERAND_COUNT; role++) {
        if (strcmp(key, ntk_isa_text_roles[role]) == 0) {
            return parse_operand(text, &instr->operand[role], err);
        }
    }
    if (strcmp(key, ntk_isa_text_registers[0]) == 0) {
        return parse_register(key, text, &instr->reg_to, err);
    }
    if (strcmp(key, ntk_isa_text_registers[1]) == 0) {
        return parse_register(key, text, &instr->reg_a, err);
    }
    if (strcmp(key, ntk_isa_text_registers[2]) == 0) {
        return parse_register(key, text, &instr->reg_b, err);
    }
    if (strcmp(key, "op0") == 0) {
        return parse_alu(text, &instr->op0, err);
    }
    if (strcmp(key, "op1") == 0) {
        return parse_alu(text, &instr->op1, err);
    }
    if (strcmp(key, "reduce") == 0) {
        return parse_alu(text, &instr->reduce_op, err);
    }
    if (strcmp(key, "command") == 0) {
        return parse_command(text, &instr->reduce_cmd, err);
    }
    if (strcmp(key, "function") == 0) {
        return parse_function(text, &instr->act, err);
    }
    if (strcmp(key, "flags") == 0) {
        return parse_flags(text, &instr->op_flags, err);
    }
    if (strcmp(key, "dge") == 0) {
        return parse_dge(text, &instr->op_flags, err);
    }
    if (strncmp(key, "imm", 3) == 0 && key[3] >= '0' && key[3] <= '3' && key[4] == '\0') {
        return parse_immediate(text, &instr->imm[key[3] - '0'], err);
    }
    if (strcmp(key, "wait") == 0) {
        return parse_wait(text, instr, err);
    }
    if (strcmp(key, "signal") == 0) {
        ret = parse_signal(text, true, &instr->signal_semaphore, &instr->signal_value, &is_event,
                           err);
        instr->flags |= is_event ? NTK_ISA_FLAG_SIGNAL_EVENT : 0U;
        return ret;
    }
    if (strcmp(key, "done") == 0) {
        return parse_signal(text, false, &instr->done_semaphore, &instr->done_value, &is_event,
                            err);
    }
    if (strcmp(key, "axes") == 0) {
        ret = parse_limited(key, text, UINT8_MAX, &number, err);
        instr->axis_count = (uint8_t)number;
        return ret;
    }
    if (strcmp(key, "queue") == 0) {
        ret = parse_limited(key, text, UINT16_MAX, &number, err);
        instr->queue = (uint16_t)number;
        return ret;
    }
    if (strcmp(key, "group") == 0) {
        ret = parse_limited(key, text, UINT32_MAX, &number, err);
        instr->group_id = (uint32_t)number;
        return ret;
    }
    if (strcmp(key, "to") == 0) {
        ret = parse_limited(key, text, UINT32_MAX, &number, err);
        instr->target = (uint32_t)number;
        return ret;
    }
    if (strcmp(key, "name") == 0) {
        ret = parse_limited(key, text, UINT32_MAX, &number, err);
        instr->name_id = (uint32_t)number;
        return ret;
    }
    return BAD("unknown field '%s'", key);
}

int ntk_isa_text_parse_labelled(const char *line, struct ntk_isa_instr *out_instr, char *label,
                                struct ntk_err *err)
{
    char copy[NTK_ISA_LINE_BYTES_MAX];
    char seen[32][12]; /* keys seen so far */
    size_t seen_count = 0;
    const struct ntk_isa_op_info *info;
    struct ntk_isa_instr instr;
    char *rest = NULL;
    char *word;

    if (!ntk_str_copy(copy, sizeof copy, line)) {
        return BAD("line longer than %d bytes", NTK_ISA_LINE_BYTES_MAX - 1);
    }
    word = strtok_r(copy, " \t\r\n", &rest);
    if (!word) {
        return BAD("missing instruction");
    }
    info = ntk_isa_op_info_find(word);
    if (!info) {
        return BAD("unknown operation '%s'", word);
    }
    instr = ntk_isa_instr_make((enum ntk_isa_op)info->number);
    while ((word = strtok_r(NULL, " \t\r\n", &rest))) {
        char *text = strchr(word, '=');
        int ret;

        if (!text) {
            return BAD("'%s': expected KEY=VALUE", word);
        }
        *text++ = '\0';
        for (size_t i = 0; i < seen_count; i++) {
            if (strcmp(seen[i], word) == 0) {
                return BAD("%s appears twice", word);
            }
        }
        if (seen_count < sizeof seen / sizeof seen[0]) {
            ntk_str_copy(seen[seen_count++], sizeof seen[0], word);
        }
        if (label && strcmp(word, "to") == 0 && ntk_isa_text_is_label(text, strlen(text))) {
            ntk_str_copy(label, NTK_ISA_LABEL_BYTES_MAX, text);
            continue;
        }
        ret = parse_word(word, text, &instr, err);
        if (ret < 0) {
            return ret;
        }
    }
    *out_instr = instr;
    return 0;
}

int ntk_isa_text_parse(const char *line, struct ntk_isa_instr *out_instr, struct ntk_err *err)
{
    return ntk_isa_text_parse_labelled(line, out_instr, NULL, err);
}
