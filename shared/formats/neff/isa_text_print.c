/* SPDX-License-Identifier: MIT */
/* isa_text_print - prints one instruction as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/neff/isa_text_private.h"

/* Prints the shortest text that reads back to the same bits, with a decimal point, so that it is
 * not an integer. */
static void print_immediate(struct ntk_buf *out, uint32_t bits)
{
    float value = ntk_isa_bits_float(bits);
    unsigned exponent = bits >> 23 & 0xff;

    /* Small numbers are integers far more often than denormals, so only a value in the normal range
     * of floats is printed as a float. */
    if (exponent > 64 && exponent < 192) {
        for (int digits = 1; digits <= 9; digits++) {
            char text[32];

            snprintf(text, sizeof text, "%.*g", digits, (double)value);
            if (ntk_isa_float_bits(strtof(text, NULL)) == bits) {
                ntk_buf_add_text(out, text);
                if (!strpbrk(text, ".e")) {
                    ntk_buf_add_text(out, ".0");
                }
                return;
            }
        }
    }
    if (bits < 1U << 20) {
        ntk_buf_add_u64(out, bits);
    } else if (bits >= UINT32_MAX - (1U << 20)) {
        ntk_buf_add_i64(out, (int32_t)bits);
    } else {
        ntk_buf_add_format(out, "0x%08x", bits);
    }
}

static void print_operand(struct ntk_buf *out, const struct ntk_isa_operand *operand)
{
    unsigned space = (unsigned)operand->space;

    if (space < NTK_ISA_SPACE_COUNT) {
        ntk_buf_add_text(out, ntk_isa_text_spaces[space]);
    } else {
        ntk_buf_add_format(out, "space%u", space);
    }
    if (operand->var_id != NTK_ISA_NO_VAR) {
        ntk_buf_add_u64(out, operand->var_id);
    }
    if (operand->partition_start != 0 || operand->partition_count != 0 ||
        operand->partition_step != 0) {
        ntk_buf_add_format(out, "(%u:%u", operand->partition_start, operand->partition_count);
        if (operand->partition_step != 1) {
            ntk_buf_add_format(out, ":%u", operand->partition_step);
        }
        ntk_buf_add_char(out, ')');
    }
    if (operand->offset != 0) {
        ntk_buf_add_format(out, "+%llu", (unsigned long long)operand->offset);
    }
    ntk_buf_add_format(out, ":%s[", ntk_dtype_name((unsigned)operand->dtype));
    for (unsigned i = 0; i < operand->dim_count && i < NTK_ISA_DIMS_MAX; i++) {
        ntk_buf_add_format(out, i ? ",%u" : "%u", operand->dim[i].count);
        if (i > 0 || operand->dim[i].step != 1) {
            ntk_buf_add_format(out, ":%d", operand->dim[i].step);
        }
    }
    ntk_buf_add_char(out, ']');
}

static void print_alu(struct ntk_buf *out, const char *key, enum ntk_isa_alu alu)
{
    if (alu != NTK_ISA_ALU_NONE) {
        ntk_buf_add_format(out, " %s=%s", key, ntk_isa_alu_name((unsigned)alu));
    }
}

static void print_sync(struct ntk_buf *out, const struct ntk_isa_instr *instr)
{
    if (instr->wait_semaphore != NTK_ISA_NO_SEMAPHORE) {
        ntk_buf_add_format(out, " wait=%c%u%s%u%s",
                           instr->flags & NTK_ISA_FLAG_WAIT_EVENT ? 'e' : 's',
                           instr->wait_semaphore,
                           instr->flags & NTK_ISA_FLAG_WAIT_EQUAL ? "==" : ">=", instr->wait_value,
                           instr->flags & NTK_ISA_FLAG_WAIT_CONSUME ? "/take" : "");
    }
    if (instr->signal_semaphore != NTK_ISA_NO_SEMAPHORE) {
        bool is_event = (instr->flags & NTK_ISA_FLAG_SIGNAL_EVENT) != 0;

        ntk_buf_add_format(out, " signal=%c%u%c%u", is_event ? 'e' : 's', instr->signal_semaphore,
                           is_event ? '=' : '+', instr->signal_value);
    }
    if (instr->done_semaphore != NTK_ISA_NO_SEMAPHORE) {
        ntk_buf_add_format(out, " done=s%u+%u", instr->done_semaphore, instr->done_value);
    }
}

static void print_flow(struct ntk_buf *out, const struct ntk_isa_instr *instr, bool has_label)
{
    const uint8_t registers[] = { instr->reg_to, instr->reg_a, instr->reg_b };

    for (size_t r = 0; r < sizeof registers; r++) {
        if (registers[r] != 0) {
            ntk_buf_add_format(out, " %s=r%u", ntk_isa_text_registers[r], registers[r] - 1U);
        }
    }
    if (has_label) {
        ntk_buf_add_format(out, " to=L%u", instr->target);
    } else if (instr->target != 0) {
        ntk_buf_add_format(out, " to=%u", instr->target);
    }
}

void ntk_isa_text_print_labelled(const struct ntk_isa_instr *instr, bool has_label,
                                 struct ntk_buf *out)
{
    const struct ntk_isa_op_info *info = ntk_isa_op_info_get((unsigned)instr->op);

    if (info) {
        ntk_buf_add_text(out, info->name);
    } else {
        ntk_buf_add_format(out, "op%u", (unsigned)instr->op);
    }
    for (int role = 0; role < NTK_ISA_OPERAND_COUNT; role++) {
        if (instr->operand[role].space != NTK_ISA_SPACE_NONE) {
            ntk_buf_add_format(out, " %s=", ntk_isa_text_roles[role]);
            print_operand(out, &instr->operand[role]);
        }
    }
    print_alu(out, "op0", instr->op0);
    print_alu(out, "op1", instr->op1);
    print_alu(out, "reduce", instr->reduce_op);
    if (instr->reduce_cmd != NTK_ISA_REDUCE_IDLE) {
        ntk_buf_add_format(out, " command=%s",
                           (unsigned)instr->reduce_cmd < NTK_ISA_TEXT_COMMAND_COUNT
                               ? ntk_isa_text_commands[instr->reduce_cmd]
                               : "?");
    }
    if (instr->act != NTK_ISA_ACT_COPY) {
        ntk_buf_add_format(out, " function=%s", ntk_isa_act_name((unsigned)instr->act));
    }
    if (instr->axis_count != 0) {
        ntk_buf_add_format(out, " axes=%u", instr->axis_count);
    }
    if (ntk_isa_dge_get(instr) != NTK_ISA_DGE_UNKNOWN) {
        ntk_buf_add_format(out, " dge=%s", ntk_isa_text_dge[ntk_isa_dge_get(instr)]);
    }
    if (instr->op_flags & ~(unsigned)NTK_ISA_OPF_DGE) {
        unsigned rest = instr->op_flags & ~(unsigned)NTK_ISA_OPF_DGE;
        const char *separator = " flags=";

        for (int i = 0; i < NTK_ISA_TEXT_FLAG_COUNT; i++) {
            if (rest & ntk_isa_text_flags[i].bit) {
                ntk_buf_add_format(out, "%s%s", separator, ntk_isa_text_flags[i].name);
                separator = ",";
                rest &= ~(unsigned)ntk_isa_text_flags[i].bit;
            }
        }
        if (rest) {
            ntk_buf_add_format(out, "%s0x%02x", separator, rest);
        }
    }
    for (int i = 0; i < 4; i++) {
        if (instr->imm[i] != 0) {
            ntk_buf_add_format(out, " imm%d=", i);
            print_immediate(out, instr->imm[i]);
        }
    }
    print_flow(out, instr, has_label);
    if (instr->queue != 0) {
        ntk_buf_add_format(out, " queue=%u", instr->queue);
    }
    if (instr->group_id != 0) {
        ntk_buf_add_format(out, " group=%u", instr->group_id);
    }
    print_sync(out, instr);
    if (instr->name_id != 0) {
        ntk_buf_add_format(out, " name=%u", instr->name_id);
    }
}

void ntk_isa_text_print(const struct ntk_isa_instr *instr, struct ntk_buf *out)
{
    ntk_isa_text_print_labelled(instr, false, out);
}
