/* SPDX-License-Identifier: MIT */
/* What starts when: instructions of one engine, several engines in parallel, semaphores and
 * events. */
#include "tests/runtime-hooks/engine/run_fixture.h"
#include "tests/support/unit.h"

static void instructions_on_one_engine_run_in_order(void **state)
{
    struct engine_fixture *f = *state;
    struct run_log log;
    struct ntk_engine_trace trace = run_log_trace(&log);
    struct ntk_isa_instr instr = run_memset(1120);

    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    instr = run_memset(10);
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
    assert_int_equal(log.count, 2);
    assert_int_equal(log.records[0].start_ps, 0);
    assert_int_equal(log.records[0].end_ps, 1000000);
    assert_int_equal(log.records[1].start_ps, 1000000);
    assert_int_equal(log.records[1].end_ps, 1000000 + CYCLE_64_AT_1120_PS);
    assert_int_equal(log.records[1].number, 2); /* one slot for the head, one operand before it */
    assert_int_equal(f->result.duration_ns, 1058);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_DVE], 1057);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_ACT], 0);
    assert_int_equal(f->result.instruction_count[NTK_ENGINE_DVE], 2);
}

static void engines_run_concurrently_unless_semaphores_order_them(void **state)
{
    struct engine_fixture *f = *state;
    struct run_log log;
    struct ntk_engine_trace trace = run_log_trace(&log);
    struct ntk_isa_instr instr = run_nop(1400);

    instr.signal_semaphore = 8;
    instr.signal_value = 2;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &instr);
    instr = run_nop(700);
    engine_fixture_emit(f, NTK_ISA_ENGINE_PE, &instr); /* not ordered after anything */
    instr = run_nop(140);
    instr.wait_semaphore = 8;
    instr.wait_value = 2;
    instr.flags = NTK_ISA_FLAG_WAIT_CONSUME;
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &instr);
    assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
    assert_int_equal(log.count, 5);
    assert_int_equal(log.records[0].engine, NTK_ENGINE_PE);
    assert_int_equal(log.records[0].end_ps, 500000);
    assert_int_equal(log.records[1].engine, NTK_ENGINE_SP);
    assert_int_equal(log.records[1].end_ps, 1000000);
    assert_int_equal(log.records[2].kind, 's');
    assert_int_equal(log.records[2].value, 2);
    assert_int_equal(log.records[2].start_ps, 1000000);
    assert_int_equal(log.records[3].kind, 's'); /* subtracted by the waiting instruction */
    assert_int_equal(log.records[3].value, 0);
    assert_int_equal(log.records[3].engine, NTK_ENGINE_ACT);
    assert_int_equal(log.records[4].engine, NTK_ENGINE_ACT);
    assert_int_equal(log.records[4].start_ps, 1000000);
    assert_int_equal(log.records[4].wait_ps, 1000000);
    assert_int_equal(log.records[4].end_ps, 1100000);
}

static void a_wait_for_equal_passes_only_at_that_value(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = run_nop(140);

    instr.signal_semaphore = 9;
    instr.signal_value = 1;
    for (int i = 0; i < 3; i++) {
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &instr);
    }
    instr = run_nop(14);
    instr.wait_semaphore = 9;
    instr.wait_value = 2;
    instr.flags = NTK_ISA_FLAG_WAIT_EQUAL;
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &instr);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    instr.wait_value = 4; /* never reached */
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &instr);
    assert_int_equal(engine_fixture_make(f), 0);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_DEADLOCK);
}

static void events_are_set_waited_for_and_cleared(void **state)
{
    struct engine_fixture *f = *state;
    struct run_log log;
    struct ntk_engine_trace trace = run_log_trace(&log);
    struct ntk_isa_instr sync = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE);
    struct ntk_isa_instr instr = run_nop(1400);

    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &instr);
    sync.imm[0] = NTK_ISA_SYNC_EVENT_SET;
    sync.imm[1] = 17;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &sync);
    instr = run_nop(14);
    instr.wait_semaphore = 17;
    instr.wait_value = 1;
    instr.flags = NTK_ISA_FLAG_WAIT_EVENT | NTK_ISA_FLAG_SIGNAL_EVENT;
    instr.signal_semaphore = 17;
    instr.signal_value = 0;
    engine_fixture_emit(f, NTK_ISA_ENGINE_POOL, &instr);
    instr = run_nop(14);
    instr.wait_semaphore = 17; /* clear at the start of the run: passes at once */
    instr.flags = NTK_ISA_FLAG_WAIT_EVENT;
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
    assert_int_equal(log.records[0].engine, NTK_ENGINE_DVE);
    assert_int_equal(log.records[0].start_ps, 0);
    assert_int_equal(log.records[3].kind, 'e');
    assert_int_equal(log.records[3].value, 1);
    assert_int_equal(log.records[4].engine, NTK_ENGINE_POOL);
    assert_int_equal(log.records[4].start_ps, 1000000 + CYCLE_64_AT_1400_PS);
    assert_int_equal(log.records[5].kind, 'e');
    assert_int_equal(log.records[5].value, 0);
}

static void event_semaphore_adds_subtracts_and_writes(void **state)
{
    struct engine_fixture *f = *state;
    struct run_log log;
    struct ntk_engine_trace trace = run_log_trace(&log);
    struct ntk_isa_instr sync = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE);
    const uint32_t steps[][3] = { { NTK_ISA_SYNC_SEMAPHORE_WRITE, 500, 500 },
                                  { NTK_ISA_SYNC_SEMAPHORE_ADD, 7, 507 },
                                  { NTK_ISA_SYNC_SEMAPHORE_SUB, 8, 499 },
                                  { NTK_ISA_SYNC_SEMAPHORE_SUB, 1000, 0 },
                                  { NTK_ISA_SYNC_SEMAPHORE_WRITE, UINT32_MAX, UINT32_MAX },
                                  { NTK_ISA_SYNC_SEMAPHORE_ADD, 1, UINT32_MAX } };

    for (size_t i = 0; i < 6; i++) {
        sync.imm[0] = steps[i][0];
        sync.imm[1] = 255;
        sync.imm[2] = steps[i][1];
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &sync);
    }
    assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(log.records[2 * i + 1].kind, 's');
        assert_int_equal(log.records[2 * i + 1].value, steps[i][2]);
    }
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_SP], 0); /* waiting is not working */
}

static void range_clear_clears_only_semaphores_in_the_range(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr set = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE);
    struct ntk_isa_instr clear = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE_RANGE_CLEAR);

    set.imm[0] = NTK_ISA_SYNC_SEMAPHORE_WRITE;
    set.imm[2] = 5;
    for (uint32_t s = 20; s < 26; s++) {
        set.imm[1] = s;
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &set);
    }
    clear.imm[0] = 21;
    clear.imm[1] = 4;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &clear);
    for (uint32_t s = 20; s < 26; s++) { /* each waits for exactly the expected value */
        struct ntk_isa_instr wait = ntk_isa_instr_make(NTK_ISA_OP_DRAIN);

        wait.wait_semaphore = (uint16_t)s;
        wait.wait_value = s == 20 || s == 25 ? 5 : 0;
        wait.flags = NTK_ISA_FLAG_WAIT_EQUAL;
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &wait);
    }
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(instructions_on_one_engine_run_in_order),
        RUN_TEST(engines_run_concurrently_unless_semaphores_order_them),
        RUN_TEST(a_wait_for_equal_passes_only_at_that_value),
        RUN_TEST(events_are_set_waited_for_and_cleared),
        RUN_TEST(event_semaphore_adds_subtracts_and_writes),
        RUN_TEST(range_clear_clears_only_semaphores_in_the_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
