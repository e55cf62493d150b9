/* SPDX-License-Identifier: MIT */
/* Instructions as bytes: they decode to what was encoded, and changed or truncated ones are
 * rejected. */

#include <errno.h>
#include <stdio.h>

#include "shared/formats/neff/isa.h"
#include "tests/shared/formats/neff/isa_fixture.h"
#include "tests/support/unit.h"

static void encoded_instructions_are_decoded_to_equal_instructions(void **state)
{
    for (size_t row = 0; ntk_isa_op_info_at(row); row++) {
        const struct ntk_isa_op_info *info = ntk_isa_op_info_at(row);

        for (int round = 0; info->implemented && round < 200; round++) {
            struct ntk_isa_instr instr = any_instr(info);
            struct ntk_isa_instr back;
            uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
            uint8_t again[NTK_ISA_INSTR_BYTES_MAX];
            struct ntk_err err = { 0 };
            size_t slots = 0;
            size_t slots_back = 0;

            if (ntk_isa_encode(&instr, first_engine(info), bytes, &slots, &err) != 0) {
                fail_msg("%s", err.text);
            }
            assert_int_equal(bytes[0], info->opcode);
            assert_int_equal(bytes[1], 0x10);
            assert_int_equal(bytes[2], slots - 1);
            if (ntk_isa_decode(bytes, slots * 64, first_engine(info), &back, &slots_back, &err) !=
                0) {
                fail_msg("%s", err.text);
            }
            assert_int_equal(slots_back, slots);
            assert_int_equal(back.op, instr.op);
            assert_int_equal(back.wait_semaphore, instr.wait_semaphore);
            assert_int_equal(back.wait_value, instr.wait_value);
            assert_int_equal(back.flags, instr.flags);
            assert_memory_equal(back.imm, instr.imm, sizeof back.imm);
            for (int r = 0; r < NTK_ISA_OPERAND_COUNT; r++) {
                assert_int_equal(back.operand[r].space, instr.operand[r].space);
                assert_int_equal(back.operand[r].offset, instr.operand[r].offset);
                assert_int_equal(back.operand[r].partition_start, instr.operand[r].partition_start);
                assert_memory_equal(back.operand[r].dim, instr.operand[r].dim,
                                    sizeof back.operand[r].dim);
            }
            assert_int_equal(ntk_isa_encode(&back, first_engine(info), again, &slots_back, &err),
                             0);
            assert_memory_equal(again, bytes, slots * 64);
        }
    }
}

/* Method: every byte of many instructions is changed; what is still accepted must encode to exactly
 * the changed bytes. */
static void a_changed_byte_is_rejected_or_decoded_to_another_instruction(void **state)
{
    for (size_t row = 0; ntk_isa_op_info_at(row); row++) {
        const struct ntk_isa_op_info *info = ntk_isa_op_info_at(row);
        struct ntk_isa_instr instr;
        uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
        size_t slots;

        if (!info->implemented) {
            continue;
        }
        instr = any_instr(info);
        assert_int_equal(ntk_isa_encode(&instr, first_engine(info), bytes, &slots, NULL), 0);
        for (size_t i = 0; i < slots * 64; i++) {
            uint8_t original = bytes[i];

            for (int change = 1; change < 256; change += 1 + (int)pick(16)) {
                struct ntk_isa_instr back;
                uint8_t again[NTK_ISA_INSTR_BYTES_MAX];
                size_t slots_back;

                bytes[i] = (uint8_t)(original ^ change);
                if (ntk_isa_decode(bytes, slots * 64, first_engine(info), &back, &slots_back,
                                   NULL) == 0) {
                    size_t slots_again;

                    assert_int_equal(
                        ntk_isa_encode(&back, first_engine(info), again, &slots_again, NULL), 0);
                    assert_memory_equal(again, bytes, slots_back * 64);
                }
            }
            bytes[i] = original;
        }
    }
}

static void a_program_truncated_inside_an_instruction_is_rejected(void **state)
{
    struct ntk_isa_instr instr = any_instr(ntk_isa_op_info_get(NTK_ISA_OP_NC_MATMUL));
    uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
    size_t slots;

    assert_int_equal(ntk_isa_encode(&instr, NTK_ISA_ENGINE_PE, bytes, &slots, NULL), 0);
    assert_int_equal(slots, 4);
    for (size_t cut = 0; cut < slots * 64; cut++) {
        struct ntk_isa_instr back;
        size_t back_slots;

        assert_int_equal(ntk_isa_decode(bytes, cut, NTK_ISA_ENGINE_PE, &back, &back_slots, NULL),
                         -EBADMSG);
    }
}

static void unimplemented_operations_are_reported_as_unsupported(void **state)
{
    for (size_t row = 0; ntk_isa_op_info_at(row); row++) {
        const struct ntk_isa_op_info *info = ntk_isa_op_info_at(row);
        struct ntk_isa_instr instr = ntk_isa_instr_make((enum ntk_isa_op)info->number);
        struct ntk_err err = { 0 };
        char expected[100];

        if (info->implemented) {
            continue;
        }
        snprintf(expected, sizeof expected, "%s: software cores do not support it", info->name);
        assert_int_equal(ntk_isa_check(&instr, first_engine(info), &err), -ENOTSUP);
        assert_string_equal(err.text, expected);
    }
}

static void an_operation_on_an_unsuitable_engine_is_rejected(void **state)
{
    struct ntk_isa_instr instr = any_instr(ntk_isa_op_info_get(NTK_ISA_OP_NC_MATMUL));
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_DVE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: not an operation of this engine");
}

static void numbers_names_and_opcodes_of_operations_are_unique(void **state)
{
    for (size_t i = 0; ntk_isa_op_info_at(i); i++) {
        const struct ntk_isa_op_info *a = ntk_isa_op_info_at(i);

        assert_ptr_equal(ntk_isa_op_info_get(a->number), a);
        assert_ptr_equal(ntk_isa_op_info_find(a->name), a);
        assert_true(a->opcode != 0);
        assert_int_equal(a->required & a->optional, 0);
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(ntk_isa_op_info_at(k)->number, a->number);
            /* dma_copy has no number in its head, so its opcode must be unique. */
            assert_false(a->opcode == 0xb8 && ntk_isa_op_info_at(k)->opcode == 0xb8);
        }
    }
    assert_null(ntk_isa_op_info_get(0));
    assert_null(ntk_isa_op_info_get(255));
    assert_null(ntk_isa_op_info_get(100000));
    assert_null(ntk_isa_op_info_find("no_such_operation"));
}

static void opcode_bytes_match_the_publicly_known_values(void **state)
{
    static const struct {
        enum ntk_isa_op op;
        uint8_t opcode;
    } expected[] = {
        { NTK_ISA_OP_LOAD_STATIONARY, 0x01 },
        { NTK_ISA_OP_NC_MATMUL, 0x02 },
        { NTK_ISA_OP_ACTIVATION, 0x21 },
        { NTK_ISA_OP_ACT_TABLE_LOAD, 0x23 },
        { NTK_ISA_OP_TENSOR_REDUCE, 0x42 },
        { NTK_ISA_OP_TENSOR_SCALAR, 0x43 },
        { NTK_ISA_OP_TENSOR_COPY, 0x46 },
        { NTK_ISA_OP_TENSOR_CAST, 0x47 },
        { NTK_ISA_OP_RECIPROCAL, 0x48 },
        { NTK_ISA_OP_EVENT_SEMAPHORE, 0xa0 },
        { NTK_ISA_OP_DRAIN, 0xa2 },
        { NTK_ISA_OP_NOP, 0xa4 },
        { NTK_ISA_OP_WRITE, 0xa5 },
        { NTK_ISA_OP_NOTIFY, 0xa6 },
        { NTK_ISA_OP_COMPARE_BRANCH, 0xa9 },
        { NTK_ISA_OP_REGISTER_LOAD, 0xaa },
        { NTK_ISA_OP_SET_ORDERING_MODE, 0xb1 },
        { NTK_ISA_OP_EVENT_SEMAPHORE_RANGE_CLEAR, 0xb0 },
        { NTK_ISA_OP_DMA_COPY, 0xb8 },
    };

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(ntk_isa_op_info_get(expected[i].op)->opcode, expected[i].opcode);
    }
}

static void an_encoded_matmul_contains_its_column_count(void **state)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NC_TRANSPOSE);
    uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
    size_t slots;

    instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 100, 32, NTK_DTYPE_BFLOAT16);
    instr.operand[NTK_ISA_DST] = ntk_isa_psum(0, 32, 100, NTK_DTYPE_BFLOAT16);
    assert_int_equal(ntk_isa_encode(&instr, NTK_ISA_ENGINE_PE, bytes, &slots, NULL), 0);
    assert_int_equal(bytes[0], 0x02);
    assert_int_equal(bytes[26] | bytes[27] << 8, 100);
    assert_int_equal(bytes[28], 1);
    assert_int_equal(bytes[30], 1);
    assert_int_equal(bytes[34], 1);
}

/* Method: each row changes one field of a valid matrix product. */
static void an_invalid_instruction_is_rejected_with_the_reason(void **state)
{
    struct ntk_isa_instr sound = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
    struct ntk_isa_instr instr;
    struct ntk_err err = { 0 };

    sound.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_BFLOAT16);
    sound.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(1024, 128, 512, NTK_DTYPE_BFLOAT16);
    sound.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, 512, NTK_DTYPE_FLOAT32);
    assert_int_equal(ntk_isa_check(&sound, NTK_ISA_ENGINE_PE, &err), 0);

    instr = sound;
    instr.operand[NTK_ISA_DST].offset = 4;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: the destination crosses a PSUM bank");

    instr = sound;
    instr.operand[NTK_ISA_SRC1].space = NTK_ISA_SPACE_NONE;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: missing source 1");

    instr = sound;
    instr.operand[NTK_ISA_SRC0].partition_start = 1;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: source 0 has invalid partitions 1 + 128 * 1");

    instr = sound;
    instr.operand[NTK_ISA_SRC0].offset = 262144 - 128;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);

    instr = sound;
    instr.operand[NTK_ISA_SRC1].dim[0].count = 513;
    instr.operand[NTK_ISA_DST].dim[0].count = 513;
    instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_BFLOAT16;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: the numbers of columns of source 1 (513) and of the "
                                  "destination (513) must be equal and at most 512");

    instr = sound;
    instr.act = NTK_ISA_ACT_RELU;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: an unused field is set");

    instr = sound;
    instr.wait_semaphore = 256;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: wait uses invalid semaphore 256");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoded_instructions_are_decoded_to_equal_instructions),
        cmocka_unit_test(a_changed_byte_is_rejected_or_decoded_to_another_instruction),
        cmocka_unit_test(a_program_truncated_inside_an_instruction_is_rejected),
        cmocka_unit_test(unimplemented_operations_are_reported_as_unsupported),
        cmocka_unit_test(an_operation_on_an_unsuitable_engine_is_rejected),
        cmocka_unit_test(numbers_names_and_opcodes_of_operations_are_unique),
        cmocka_unit_test(opcode_bytes_match_the_publicly_known_values),
        cmocka_unit_test(an_encoded_matmul_contains_its_column_count),
        cmocka_unit_test(an_invalid_instruction_is_rejected_with_the_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
