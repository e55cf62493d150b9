/* SPDX-License-Identifier: MIT */
/* Method: a program with two instructions runs each of them once. The test compares their codes. */
#include "profiler/analysis/program.h"

#include <string.h>

#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define ACT NTK_ISA_ENGINE_ACT
#define DVE NTK_ISA_ENGINE_DVE
#define SP NTK_ISA_ENGINE_SP
#define NONE NTK_ISA_NO_SEMAPHORE

struct pair {
    struct hand_trace h;
    struct ntk_ntff_insertion inserted;
    struct ntk_program *program;
    const struct ntk_slot_code *codes[2];
};

static void begin(struct pair *p)
{
    *p = (struct pair){ 0 };
    hand_trace_begin(&p->h, 1, "trn2.3xlarge", 1000);
}

static void run(struct pair *p, unsigned engine, uint32_t slot, unsigned engine_of_other,
                uint32_t other)
{
    hand_trace_run(&p->h, 0, engine, slot, 100, 200);
    hand_trace_run(&p->h, 0, engine_of_other, other, 300, 400);
    hand_trace_end(&p->h);
    assert_int_equal(ntk_program_create(&p->h.trace, &p->program), 0);
    for (size_t i = 0; i < 2; i++) {
        p->codes[i] = ntk_program_fact(p->program, 0, &p->h.cores[0].instructions[i])->code;
        assert_ptr_equal(ntk_program_code(p->program, p->codes[i]->number), p->codes[i]);
    }
}

static void done(struct pair *p)
{
    ntk_program_destroy(p->program);
    hand_trace_fini(&p->h);
}

static struct ntk_isa_instr copy(uint32_t to)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

    instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(to, 128, 64, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC0] = ntk_isa_psum(0, 128, 64, NTK_DTYPE_FLOAT32);
    return instr;
}

static void equal_instructions_share_a_code(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    uint32_t first = hand_trace_nop(&p.h, 0, DVE, 9, 1, NONE);
    uint32_t second = hand_trace_nop(&p.h, 0, DVE, 9, 1, NONE);
    run(&p, DVE, second, DVE, first);
    assert_ptr_equal(p.codes[0], p.codes[1]);
    assert_int_equal(p.program->code_count, 1);
    assert_int_equal(p.codes[0]->slot, first);
    assert_int_equal(p.codes[0]->wait_number, 9);
    assert_int_equal(ntk_program_fact(p.program, 0, &p.h.cores[0].instructions[0])->compiler_pc,
                     second);
    done(&p);

    begin(&p);
    struct ntk_isa_instr instr = copy(0);
    first = hand_trace_open(&p.h, 0, DVE, &instr);
    second = hand_trace_open(&p.h, 0, DVE, &instr);
    run(&p, DVE, first, DVE, second);
    assert_ptr_equal(p.codes[0], p.codes[1]);
    done(&p);
}

static void other_bytes_have_another_code(void **state)
{
    struct pair p;

    (void)state;
    begin(&p); /* in the first slot */
    uint32_t first = hand_trace_nop(&p.h, 0, DVE, 9, 1, NONE);
    uint32_t second = hand_trace_nop(&p.h, 0, DVE, 9, 2, NONE);
    run(&p, DVE, first, DVE, second);
    assert_int_equal(p.codes[0]->wait_value, 1);
    assert_int_equal(p.codes[1]->wait_value, 2);
    done(&p);

    begin(&p); /* in the slot of an operand */
    struct ntk_isa_instr one = copy(0);
    struct ntk_isa_instr other = copy(4096);
    first = hand_trace_open(&p.h, 0, DVE, &one);
    second = hand_trace_open(&p.h, 0, DVE, &other);
    run(&p, DVE, first, DVE, second);
    assert_ptr_not_equal(p.codes[0], p.codes[1]);
    done(&p);
}

static void each_engine_has_its_own_codes(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    uint32_t first = hand_trace_nop(&p.h, 0, ACT, 9, 1, NONE);
    uint32_t second = hand_trace_nop(&p.h, 0, DVE, 9, 1, NONE);
    run(&p, ACT, first, DVE, second);
    assert_int_equal(p.codes[0]->engine, ACT);
    assert_int_equal(p.codes[1]->engine, DVE);
    done(&p);
}

static void code_of_the_runtime_is_separate(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    uint32_t first = hand_trace_nop(&p.h, 0, DVE, NONE, 0, NONE);
    uint32_t second = hand_trace_nop(&p.h, 0, DVE, NONE, 0, NONE);
    p.inserted = (struct ntk_ntff_insertion){ .engine = DVE, .slot = first, .count = 1 };
    p.h.subgraphs[0].insertions = &p.inserted;
    p.h.subgraphs[0].insertion_count = 1;
    run(&p, DVE, first, DVE, second);
    assert_true(p.codes[0]->is_runtime);
    assert_int_equal(p.codes[0]->layer, NTK_LAYER_RUNTIME);
    assert_false(p.codes[1]->is_runtime);
    assert_int_equal(p.codes[1]->layer, NTK_LAYER_NONE);
    done(&p);
}

static void each_transfer_has_its_own_code(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    struct ntk_isa_instr load = hand_trace_load(&p.h, 0, 4);
    uint32_t first = hand_trace_open(&p.h, 0, SP, &load);
    uint32_t second = hand_trace_open(&p.h, 0, SP, &load);
    run(&p, SP, first, SP, second);
    assert_true(p.codes[0]->is_transfer);
    assert_ptr_not_equal(p.codes[0], p.codes[1]);
    done(&p);
}

/* Method: as above, but the operand of the first is damaged, so it is not in the open encoding. */
static void damaged_instructions_do_not_share_a_code(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    struct ntk_isa_instr instr = copy(0);
    uint32_t first = hand_trace_open(&p.h, 0, DVE, &instr);
    uint32_t second = hand_trace_open(&p.h, 0, DVE, &instr);
    memset(p.h.code[0][DVE] + (size_t)(first + 1) * NTK_NTFF_SLOT_BYTES, 0xff, NTK_NTFF_SLOT_BYTES);
    run(&p, DVE, first, DVE, second);
    assert_false(p.codes[0]->is_open);
    assert_true(p.codes[1]->is_open);
    done(&p);
}

static void slots_that_did_not_run_have_an_empty_code(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    uint32_t first = hand_trace_nop(&p.h, 0, DVE, 9, 1, NONE);
    uint32_t idle = hand_trace_nop(&p.h, 0, DVE, 9, 2, NONE);
    run(&p, DVE, first, DVE, first);
    const struct ntk_slot_fact *fact = &p.program->facts[DVE][idle];
    assert_false(fact->has_run);
    assert_false(fact->code->is_open);
    assert_int_equal(fact->code->wait, NTK_WAIT_NONE);
    done(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_instructions_share_a_code),
        cmocka_unit_test(other_bytes_have_another_code),
        cmocka_unit_test(each_engine_has_its_own_codes),
        cmocka_unit_test(code_of_the_runtime_is_separate),
        cmocka_unit_test(each_transfer_has_its_own_code),
        cmocka_unit_test(damaged_instructions_do_not_share_a_code),
        cmocka_unit_test(slots_that_did_not_run_have_an_empty_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
