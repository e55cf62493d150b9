/* SPDX-License-Identifier: MIT */
/* Errors in an instruction, and which elements its operands reach. */

#include <errno.h>
#include <string.h>

#include "shared/formats/neff/isa.h"
#include "shared/formats/neff/isa_text.h"
#include "tests/shared/formats/neff/isa_fixture.h"
#include "tests/support/unit.h"

static void operand_extents_include_negative_and_zero_steps(void **state)
{
    struct ntk_isa_operand operand = ntk_isa_sbuf(100, 1, 4, NTK_DTYPE_FLOAT32);
    int64_t low;
    int64_t high;

    ntk_isa_operand_extent(&operand, &low, &high);
    assert_int_equal(low, 100);
    assert_int_equal(high, 116);
    operand.dim[0].step = -1;
    ntk_isa_operand_extent(&operand, &low, &high);
    assert_int_equal(low, 88);
    assert_int_equal(high, 104);
    operand.dim[0].step = 0;
    ntk_isa_operand_extent(&operand, &low, &high);
    assert_int_equal(low, 100);
    assert_int_equal(high, 104);
    assert_int_equal(ntk_isa_operand_elements(&operand), 4);
}

/* Method: one field of a valid instruction is changed. */
static void selections_and_related_operations_are_checked(void **state)
{
    struct ntk_err err = { 0 };
    struct ntk_isa_instr instr;

#define REFUSED(number, engine, change, sentence)                                         \
    do {                                                                                  \
        instr = any_instr(ntk_isa_op_info_get(number));                                   \
        change;                                                                           \
        memset(&err, 0, sizeof err);                                                      \
        assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_##engine, &err), -EBADMSG); \
        assert_string_equal(err.text, sentence);                                          \
    } while (0)
    REFUSED(NTK_ISA_OP_TENSOR_TENSOR_SCAN, DVE, instr.op0 = NTK_ISA_ALU_BITWISE_AND,
            "tensor_tensor_scan: requires two arithmetic operators");
    REFUSED(NTK_ISA_OP_TENSOR_PARTITION_REDUCE, POOL, instr.op0 = NTK_ISA_ALU_POWER,
            "tensor_partition_reduce: cannot reduce with power");
    REFUSED(NTK_ISA_OP_AFFINE_SELECT, POOL, instr.op0 = NTK_ISA_ALU_ADD,
            "affine_select: add is not a comparison");
    REFUSED(NTK_ISA_OP_LOCAL_GATHER, POOL, instr.imm[1] = 200,
            "local_gather: 200 indices of 2 elements each do not fit the operands");
    REFUSED(NTK_ISA_OP_NC_N_GATHER, POOL, instr.operand[NTK_ISA_SRC1].dtype = NTK_DTYPE_FLOAT32,
            "nc_n_gather: source 1 must contain 16-bit or 32-bit indices in as many partitions as "
            "the destination has");
    REFUSED(NTK_ISA_OP_NC_STREAM_SHUFFLE, DVE, instr.operand[NTK_ISA_SRC1].dim[0].count = 31,
            "nc_stream_shuffle: source 1 must have 32 elements of uint8 in one partition");
    REFUSED(NTK_ISA_OP_BN_STATS, DVE, instr.operand[NTK_ISA_DST].dim[0].count = 5,
            "bn_stats: the shapes or dtypes of the operands are inconsistent");
    REFUSED(NTK_ISA_OP_RNG, DVE, instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_FLOAT32,
            "rng: the destination must contain integers of up to 32 bits");
    REFUSED(NTK_ISA_OP_RAND_GET_STATE, POOL, instr.operand[NTK_ISA_DST].dim[0].count = 7,
            "rand_get_state: a state must have 6 elements of uint32 per partition");
    REFUSED(NTK_ISA_OP_SELECT_REDUCE, DVE,
            instr.operand[NTK_ISA_DST2] = (struct ntk_isa_operand){ .var_id = NTK_ISA_NO_VAR };
            instr.reduce_op = NTK_ISA_ALU_ADD,
            "select_reduce: the reduction has no second destination");
#undef REFUSED
}

/* One valid instruction, then one fault in it. */
static void control_flow_instructions_are_checked(void **state)
{
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        { "register_move imm0=1", "register_move: missing register" },
        { "register_move rd=r1 ra=r2 imm0=1",
          "register_move: the value is both a register and a number" },
        { "register_alu rd=r1 op0=add imm0=1", "register_alu: missing register" },
        { "register_alu rd=r1 ra=r1 imm0=1",
          "register_alu: operator none is not supported for registers" },
        { "register_alu rd=r1 ra=r1 op0=power imm0=1",
          "register_alu: operator power is not supported for registers" },
        { "register_alu rd=r1 ra=r1 rb=r2 op0=add imm0=1",
          "register_alu: the second value is both a register and a number" },
        { "register_alu rd=r1 ra=r1 op0=invert imm0=1",
          "register_alu: invert requires exactly one value" },
        { "compare_branch ra=r1 to=1", "compare_branch: values are set, but no comparison" },
        { "compare_branch ra=r1 op0=add to=1", "compare_branch: add is not a comparison" },
        { "compare_branch op0=less imm0=4 to=1", "compare_branch: missing register" },
        { "register_load rd=r1 A=sbuf(0:1):int32[2]",
          "register_load: expected one element, found 2" },
        { "register_load rd=r1 A=sbuf(0:1):int64[1]",
          "register_load: a register cannot hold int64" },
        { "register_load rd=r1 A=var3:int32[1]",
          "register_load: source 0 is a variable, which only DMA can access" },
        { "register_store D=sbuf(0:1):int32[1]", "register_store: missing register" },
        { "function", "function: the function has no name" },
        { "core_barrier imm0=16", "core_barrier: invalid barrier 16: there are only 16" },
        { "sendrecv D=sbuf(0:1):int32[1] A=sbuf(0:1):int32[1] imm0=16",
          "sendrecv: invalid pipe 16: there are only 16" },
        { "sendrecv D=sbuf(0:1):int32[1] A=sbuf(0:1):int32[2]",
          "sendrecv: the sent and received tiles differ in shape or dtype" },
        { "sendrecv D=sbuf(0:1):int32[1] A=var1:int32[1]",
          "sendrecv: only SBUF tiles can be exchanged" },
        { "nop rd=r1", "nop: an unused field is set" },
        { "dma_trigger to=3", "dma_trigger: an unused field is set" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ntk_isa_instr instr;
        struct ntk_err err = { 0 };

        if (ntk_isa_text_parse(cases[i].line, &instr, &err) != 0) {
            fail_msg("%s", err.text);
        }
        assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_SP, &err), -EBADMSG);
        assert_string_equal(err.text, cases[i].sentence);
    }
}

static void dtypes_have_names_and_sizes(void **state)
{
    assert_int_equal(ntk_dtype_find("bfloat16"), 6);
    assert_int_equal(ntk_dtype_find("float32"), 0xa);
    assert_int_equal(ntk_dtype_find("complex"), 0);
    assert_int_equal(ntk_dtype_bytes(NTK_DTYPE_INT64), 8);
    assert_int_equal(ntk_dtype_bytes(0), 0);
    assert_int_equal(ntk_dtype_bytes(99), 0);
    assert_string_equal(ntk_dtype_name(NTK_DTYPE_FLOAT8E4), "float8e4");
    assert_string_equal(ntk_dtype_name(77), "?");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(operand_extents_include_negative_and_zero_steps),
        cmocka_unit_test(selections_and_related_operations_are_checked),
        cmocka_unit_test(control_flow_instructions_are_checked),
        cmocka_unit_test(dtypes_have_names_and_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
