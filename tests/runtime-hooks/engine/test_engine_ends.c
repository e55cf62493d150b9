/* SPDX-License-Identifier: MIT */
/* How a run ends: deadlocks, time limits, rejected programs. */
#include <errno.h>
#include <stdlib.h>

#include "tests/runtime-hooks/engine/run_fixture.h"
#include "tests/support/unit.h"

static void a_deadlocked_program_is_detected_at_once(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = run_nop(100);

    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &instr);
    instr.wait_semaphore = 50;
    instr.wait_value = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &instr);
    instr.wait_semaphore = 51;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &instr);
    assert_int_equal(engine_fixture_run(f, NULL, 600000000000), NTK_RUN_DEADLOCK);
    assert_int_equal(f->result.engines_not_done, 1 << NTK_ENGINE_ACT | 1 << NTK_ENGINE_SP);
    assert_int_equal(f->result.fault_engine, NTK_ENGINE_ACT);
    assert_int_equal(f->result.fault_slot, 1);
    assert_int_equal(f->result.duration_ns, 72); /* 100 cycles at 1.4 GHz, then nothing */
}

/* Method: ACT waits for DVE, which waits for its own semaphore that is never signalled. */
static void a_deadlock_is_reported_on_the_engine_that_others_wait_for(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = run_nop(100);

    instr.wait_semaphore = 50;
    instr.wait_value = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &instr);
    instr = run_nop(100);
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    instr.wait_semaphore = 51;
    instr.wait_value = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    instr = run_nop(100);
    instr.signal_semaphore = 50;
    instr.signal_value = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_DEADLOCK);
    assert_int_equal(f->result.engines_not_done, 1 << NTK_ENGINE_ACT | 1 << NTK_ENGINE_DVE);
    assert_int_equal(f->result.fault_engine, NTK_ENGINE_DVE);
    assert_int_equal(f->result.fault_slot, 1);
}

/* Method: two engines wait for each other: the first is named. */
static void a_deadlock_cycle_is_reported_on_its_first_engine(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = run_nop(100);

    instr.wait_semaphore = 50;
    instr.wait_value = 1;
    instr.signal_semaphore = 51;
    instr.signal_value = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_POOL, &instr);
    instr.wait_semaphore = 51;
    instr.signal_semaphore = 50;
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_DEADLOCK);
    assert_int_equal(f->result.fault_engine, NTK_ENGINE_POOL);
}

static void a_run_times_out_at_its_device_time_limit(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = run_nop(1400000);

    for (int i = 0; i < 10; i++) {
        engine_fixture_emit(f, NTK_ISA_ENGINE_PE, &instr);
    }
    assert_int_equal(engine_fixture_run(f, NULL, 10000000), NTK_RUN_OK);
    assert_int_equal(f->result.duration_ns, 10000000);
    assert_int_equal(engine_fixture_run(f, NULL, 9999999), NTK_RUN_TIMEOUT);
    assert_int_equal(f->result.duration_ns, 9999999);
    assert_int_equal(f->result.engines_not_done, 1 << NTK_ENGINE_PE);
    assert_int_equal(f->result.instruction_count[NTK_ENGINE_PE], 10);
}

static void a_nop_of_five_seconds_takes_exactly_five_seconds_of_device_time(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = run_nop(0);

    instr.imm[0] = (uint32_t)UINT64_C(7000000000);
    instr.imm[1] = (uint32_t)(UINT64_C(7000000000) >> 32);
    engine_fixture_emit(f, NTK_ISA_ENGINE_PE, &instr);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_int_equal(f->result.duration_ns, 5000000000);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_PE], 5000000000);
}

static void an_empty_program_takes_no_time(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_engine_program_info info;

    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_int_equal(f->result.duration_ns, 0);
    ntk_engine_program_info_get(f->program, &info);
    assert_true(info.is_empty);
    assert_int_equal(info.variable_count, 1);
    /* Code of only zero bytes is empty, too. */
    f->subgraph.engines[0].code_bytes = 128;
    assert_int_equal(engine_fixture_make(f), 0);
    ntk_engine_program_info_get(f->program, &info);
    assert_true(info.is_empty);
    assert_int_equal(info.slot_count[0], 2);
}

static void variables_with_too_little_memory_are_rejected(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t queue = engine_fixture_queue(f, 16);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 4096);
    uint32_t unused = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 4096);

    engine_fixture_load(f, queue, in, 0, 1, 4096);
    f->bindings[unused].size = 0; /* the program does not use it */
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    f->bindings[in].size = 4095;
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_BAD_INPUT);
    assert_string_equal(f->err.text, "variable 1 has 4095 bytes, but the program requires 4096");
    f->bindings[in].size = 4096;
    free(f->bindings[in].bytes);
    f->bindings[in].bytes = NULL;
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_BAD_INPUT);
}

static void vendor_binaries_and_later_encodings_are_rejected(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = run_nop(1);

    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    f->subgraph.engines[NTK_ISA_ENGINE_DVE].nsx_version = 0;
    assert_int_equal(engine_fixture_make(f), -ENOTSUP);
    f->subgraph.engines[NTK_ISA_ENGINE_DVE].nsx_version = 2;
    assert_int_equal(engine_fixture_make(f), -ENOTSUP);
    f->subgraph.engines[NTK_ISA_ENGINE_DVE].nsx_version = 1;
    f->code[NTK_ISA_ENGINE_DVE][0] = 0x99;
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_null(f->program);
}

static void a_core_runs_only_programs_of_its_generation(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = run_memset(1);
    struct ntk_engine_run_options options = { .bindings = f->bindings, .binding_count = 1 };

    instr.operand[NTK_ISA_DST].offset = 200 * 1024; /* beyond 192 KiB, within 224 KiB */
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    f->generation = 3;
    assert_int_equal(engine_fixture_make(f), 0);
    assert_int_equal(ntk_engine_run(f->core, f->program, &options, &f->result, &f->err), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(a_deadlocked_program_is_detected_at_once),
        RUN_TEST(a_deadlock_is_reported_on_the_engine_that_others_wait_for),
        RUN_TEST(a_deadlock_cycle_is_reported_on_its_first_engine),
        RUN_TEST(a_run_times_out_at_its_device_time_limit),
        RUN_TEST(a_nop_of_five_seconds_takes_exactly_five_seconds_of_device_time),
        RUN_TEST(an_empty_program_takes_no_time),
        RUN_TEST(variables_with_too_little_memory_are_rejected),
        RUN_TEST(vendor_binaries_and_later_encodings_are_rejected),
        RUN_TEST(a_core_runs_only_programs_of_its_generation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
