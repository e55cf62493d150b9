/* SPDX-License-Identifier: MIT */
/* Instructions as lines of a listing, which read back to the same bytes. */

#include <errno.h>
#include <string.h>

#include "shared/formats/neff/isa.h"
#include "shared/formats/neff/isa_text.h"
#include "tests/shared/formats/neff/isa_fixture.h"
#include "tests/support/unit.h"

/* Method: programs of random valid instructions of every operation, printed and read back. */
static void a_listing_is_read_back_to_the_same_bytes(void **state)
{
    for (int engine = 0; engine < NTK_ISA_ENGINE_COUNT; engine++) {
        for (int round = 0; round < 100; round++) {
            struct ntk_buf code = { 0 };
            struct ntk_buf text = { 0 };
            struct ntk_buf again = { 0 };
            struct ntk_err err = { 0 };

            for (size_t row = 0; ntk_isa_op_info_at(row); row++) {
                const struct ntk_isa_op_info *info = ntk_isa_op_info_at(row);
                uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
                struct ntk_isa_instr instr;
                size_t slots;

                if (!info->implemented || !(info->engines >> engine & 1)) {
                    continue;
                }
                instr = any_instr(info);
                assert_int_equal(
                    ntk_isa_encode(&instr, (enum ntk_isa_engine)engine, bytes, &slots, NULL), 0);
                ntk_buf_add(&code, bytes, slots * NTK_ISA_SLOT_BYTES);
            }
            if (ntk_isa_text_print_program((const uint8_t *)code.bytes, code.bytes_count,
                                           (enum ntk_isa_engine)engine, NULL, NULL, &text,
                                           &err) != 0 ||
                ntk_isa_text_parse_program(text.bytes, text.bytes_count, 1,
                                           (enum ntk_isa_engine)engine, &again, &err) != 0) {
                fail_msg("%s", err.text);
            }
            assert_int_equal(again.bytes_count, code.bytes_count);
            assert_memory_equal(again.bytes, code.bytes, code.bytes_count);
            ntk_buf_fini(&code);
            ntk_buf_fini(&text);
            ntk_buf_fini(&again);
        }
    }
}

static void every_immediate_is_read_back_to_the_same_bits(void **state)
{
    static const uint32_t edges[] = { 0,          1,          0x80000000, 0xffffffff, 0x7f800000,
                                      0x7fc00001, 0x3f800000, 0x3dcccccd, 0x20800000, 0x5fffffff,
                                      0x00100000, 0xfff00000, 0x42f6e979 };

    for (int i = 0; i < 20000; i++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NOTIFY);
        struct ntk_isa_instr back;
        struct ntk_buf text = { 0 };

        instr.imm[0] =
            (size_t)i < sizeof edges / sizeof edges[0] ? edges[i] : pick(65536) << 16 | pick(65536);
        ntk_isa_text_print(&instr, &text);
        assert_int_equal(ntk_isa_text_parse(ntk_buf_text_get(&text), &back, NULL), 0);
        assert_int_equal(back.imm[0], instr.imm[0]);
        ntk_buf_fini(&text);
    }
}

static void an_invalid_listing_line_is_rejected_with_a_message(void **state)
{
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        { "frobnicate", "unknown operation 'frobnicate'" },
        { "nop imm0", "'imm0': expected KEY=VALUE" },
        { "nop imm0=1 imm0=2", "imm0 appears twice" },
        { "nop speed=1", "unknown field 'speed'" },
        { "nop imm0=99999999999",
          "'99999999999': expected a 32-bit integer or a number with a decimal point" },
        { "nop imm0=1x", "'1x': expected a 32-bit integer or a number with a decimal point" },
        { "nop wait=s5=1", "invalid wait 's5=1': expected s5>=1, s5==1 or e5>=1" },
        { "nop signal=s5", "invalid signal 's5': expected s5+1 or e5=1" },
        { "memset D=heap(0:1):float32[1]",
          "unknown space in 'heap(0:1):float32[1]': expected var, sbuf, psum or pattern" },
        { "memset D=sbuf(0:1):float99[1]", "unknown dtype 'float99'" },
        { "memset D=sbuf(0:1):float32[1,2,3,4,5]",
          "invalid dimensions in 'sbuf(0:1):float32[1,2,3,4,5]': expected [COUNT:STEP,...], at "
          "most 4" },
        { "register_move rd=r64", "rd: 'r64': expected a register r0 to r63" },
        { "register_alu ra=3", "ra: '3': expected a register r0 to r63" },
        { "compare_branch to=loop", "to: 'loop': expected a number, at most 4294967295" },
        { "tensor_tensor op0=plus", "unknown operator 'plus'" },
        { "dma_trigger group=4294967296",
          "group: '4294967296': expected a number, at most 4294967295" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ntk_isa_instr instr;
        struct ntk_err err = { 0 };

        assert_int_equal(ntk_isa_text_parse(cases[i].line, &instr, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].sentence);
    }
    {
        const char *text = "; a program\n\n    nop imm0=64\n  nop imm2=1 ; not used\n";
        struct ntk_buf code = { 0 };
        struct ntk_err err = { 0 };

        assert_int_equal(
            ntk_isa_text_parse_program(text, strlen(text), 11, NTK_ISA_ENGINE_PE, &code, &err),
            -EBADMSG);
        assert_string_equal(err.text, "line 14: nop: immediate 2 is set, but not used");
        ntk_buf_fini(&code);
    }
}

/* The expected output of a two-pass assembler, counted by hand: a memset has two slots. */
static void branch_labels_refer_to_instruction_slots(void **state)
{
    static const char text[] = "start: register_move rd=r1 imm0=3\n"
                               "loop:\n"
                               "    memset D=sbuf(0:1):float32[4]\n"
                               "    register_alu rd=r1 ra=r1 op0=subtract imm0=1\n"
                               "    compare_branch ra=r1 op0=greater imm0=0 to=loop ; back\n"
                               "    compare_branch to=end\n"
                               "    call to=f\n"
                               "f:  function name=1\n"
                               "end:\n";
    static const char listing[] = "    register_move imm0=3 rd=r1 ; 0\n"
                                  "L1:\n"
                                  "    memset D=sbuf(0:1):float32[4] ; 1\n"
                                  "    register_alu op0=subtract imm0=1 rd=r1 ra=r1 ; 3\n"
                                  "    compare_branch op0=greater ra=r1 to=L1 ; 4\n"
                                  "    compare_branch to=L8 ; 5\n"
                                  "    call to=L7 ; 6\n"
                                  "L7:\n"
                                  "    function name=1 ; 7\n"
                                  "L8:\n";
    struct ntk_buf code = { 0 };
    struct ntk_buf printed = { 0 };
    struct ntk_err err = { 0 };

    if (ntk_isa_text_parse_program(text, strlen(text), 1, NTK_ISA_ENGINE_DVE, &code, &err) != 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(code.bytes_count, 8 * NTK_ISA_SLOT_BYTES);
    assert_int_equal(code.bytes[4 * NTK_ISA_SLOT_BYTES + 36], 1);
    assert_int_equal(code.bytes[5 * NTK_ISA_SLOT_BYTES + 36], 8);
    assert_int_equal(code.bytes[6 * NTK_ISA_SLOT_BYTES + 36], 7);
    assert_int_equal(ntk_isa_text_print_program((const uint8_t *)code.bytes, code.bytes_count,
                                                NTK_ISA_ENGINE_DVE, NULL, NULL, &printed, &err),
                     0);
    assert_string_equal(ntk_buf_text_get(&printed), listing);
    ntk_buf_fini(&code);
    ntk_buf_fini(&printed);
}

static void invalid_labels_are_rejected(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "nop\ncompare_branch to=x\n", "line 2: unknown label 'x'" },
        { "x: nop\ny: nop\nx: nop\n", "line 3: duplicate label 'x' (first in line 1)" },
        { "1x: nop\n", "line 1: invalid label '1x': expected letters, digits and underscores" },
        { ": nop\n", "line 1: invalid label '': expected letters, digits and underscores" },
        { "x: nop to=x\n", "line 1: label 'x' on an instruction that does not jump" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ntk_buf code = { 0 };
        struct ntk_err err = { 0 };

        assert_int_equal(ntk_isa_text_parse_program(cases[i].text, strlen(cases[i].text), 1,
                                                    NTK_ISA_ENGINE_SP, &code, &err),
                         -EINVAL);
        assert_string_equal(err.text, cases[i].sentence);
        assert_int_equal(code.bytes_count, 0);
        ntk_buf_fini(&code);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listing_is_read_back_to_the_same_bytes),
        cmocka_unit_test(every_immediate_is_read_back_to_the_same_bits),
        cmocka_unit_test(an_invalid_listing_line_is_rejected_with_a_message),
        cmocka_unit_test(branch_labels_refer_to_instruction_slots),
        cmocka_unit_test(invalid_labels_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
