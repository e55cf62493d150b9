/* SPDX-License-Identifier: MIT */
/* Endless loops: detected, ended at the limit, and counted. */
#include "tests/runtime-hooks/engine/flow_fixture.h"
#include "tests/support/unit.h"

/* The limit is two hours of device time: simulating it would take longer than the test may. */
#define HOURS_NS 7200000000000ULL

static void a_loop_without_state_changes_times_out_at_the_limit(void **state)
{
    static const char *const loops[] = {
        "l: compare_branch to=l\n",
        "l: nop imm0=100\nregister_alu op0=bitwise_and rd=r1 ra=r1 imm0=1\ncompare_branch to=l\n",
        /* A period of 255 rounds. */
        "l: register_alu op0=add rd=r1 ra=r1 imm0=1\n"
        "register_alu op0=bitwise_and rd=r1 ra=r1 imm0=255\n"
        "compare_branch op0=not_equal ra=r1 imm0=256 to=l\n",
        "l: memset D=sbuf(0:1):float32[64]\ncompare_branch to=l\n",
        "l: dma_copy D=sbuf(0:1):int32[16] A=var1:int32[16] done=s9+1\nnop wait=s9>=1/take\n"
        "compare_branch to=l\n",
    };

    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        struct engine_fixture *f = *state;

        engine_fixture_clear(f);
        engine_fixture_assemble(f, NTK_ISA_ENGINE_POOL, loops[i]);
        assert_int_equal(engine_fixture_run(f, NULL, HOURS_NS), NTK_RUN_TIMEOUT);
        assert_int_equal(f->result.duration_ns, HOURS_NS);
        assert_int_equal(f->result.fault_engine, NTK_ENGINE_POOL);
        /* The engine was busy all the time; in the last loop it mostly waits for transfers, which
         * mostly wait for their first byte for 1300 ns. */
        assert_true(f->result.busy_ns[NTK_ENGINE_POOL] >
                    (i < 4 ? HOURS_NS / 10 * 9 : HOURS_NS / 20));
        assert_true(f->result.busy_ns[NTK_ENGINE_DMA] > 0 ? i == 4 : i < 4);
        assert_true(f->result.busy_ns[NTK_ENGINE_POOL] <= HOURS_NS);
        assert_true(f->result.busy_ns[NTK_ENGINE_DMA] <= HOURS_NS);
    }
}

/* It reads the same memory each time, which never changes. With a writer the loop is simulated. */
static void an_endless_polling_loop_times_out_at_the_limit(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "l: register_load rd=r1 A=sbuf(0:1):int32[1]\n"
                            "compare_branch op0=equal ra=r1 imm0=0 to=l\n");
    assert_int_equal(engine_fixture_run(f, NULL, HOURS_NS), NTK_RUN_TIMEOUT);
    assert_int_equal(f->result.duration_ns, HOURS_NS);
    assert_true(f->result.busy_ns[NTK_ENGINE_SP] > HOURS_NS / 10 * 9);
    /* The loop itself counts in memory, up to the value it waits for; its registers are the same
     * each time. */
    engine_fixture_clear(f);
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "l: register_load rd=r1 A=sbuf(0:1)+64:int32[1]\n"
                            "register_alu op0=add rd=r1 ra=r1 imm0=1\n"
                            "register_store ra=r1 D=sbuf(0:1)+64:int32[1]\n"
                            "register_alu op0=less rd=r2 ra=r1 imm0=5000\n"
                            "register_move rd=r1 imm0=0\n"
                            "compare_branch op0=not_equal ra=r2 imm0=0 to=l\n");
    assert_int_equal(engine_fixture_run(f, NULL, HOURS_NS), NTK_RUN_OK);
    assert_int_equal(f->result.instruction_count[NTK_ENGINE_SP], 6 * 5000);
}

/* By hand: a branch takes 64 cycles at 1.4 GHz, for one hour. */
static void endless_loops_count_instructions_until_the_timeout(void **state)
{
    struct engine_fixture *f = *state;
    uint64_t expected = 3600000000000000ULL / CYCLES_64_PS;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP, "l: compare_branch to=l\n");
    assert_int_equal(engine_fixture_run(f, NULL, 3600000000000ULL), NTK_RUN_TIMEOUT);
    assert_true(f->result.instruction_count[NTK_ENGINE_SP] >= expected - 1000);
    assert_true(f->result.instruction_count[NTK_ENGINE_SP] <= expected);
}

static void two_engines_that_signal_each_other_endlessly_time_out(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "l: nop imm0=7 wait=s9>=1/take signal=s10+1\n"
                            "compare_branch to=l\n");
    engine_fixture_assemble(f, NTK_ISA_ENGINE_DVE,
                            "nop signal=s9+1\nl: nop imm0=31 wait=s10>=1/take signal=s9+1\n"
                            "compare_branch to=l\n");
    assert_int_equal(engine_fixture_run(f, NULL, HOURS_NS), NTK_RUN_TIMEOUT);
    assert_int_equal(f->result.engines_not_done, 1U << NTK_ENGINE_SP | 1U << NTK_ENGINE_DVE);
}

/* The loop alone is endless, but another engine ends it, so it must not be treated as endless. */
static void a_polling_loop_ends_when_another_engine_writes_the_value(void **state)
{
    struct engine_fixture *f = *state;

    /* SP polls the state buffer; the pool engine writes there after a millisecond. */
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "l: register_load rd=r1 A=sbuf(0:1):int32[1]\n"
                            "compare_branch op0=equal ra=r1 imm0=0 to=l\n" STORE);
    engine_fixture_assemble(f, NTK_ISA_ENGINE_POOL,
                            "nop imm0=1400000\nmemset D=sbuf(0:1):int32[16] imm0=1\n");
    assert_int_equal(engine_fixture_run(f, NULL, HOURS_NS), NTK_RUN_OK);
    assert_int_equal(flow_output(f)[0], 1);
    assert_true(f->result.duration_ns > 1000000 && f->result.duration_ns < 1010000);
}

/* A counter that wraps around is a loop of 2^32 different rounds: the limit ends it. */
static void an_endless_counting_loop_times_out_at_the_limit(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "l: register_alu op0=add rd=r1 ra=r1 imm0=1\n"
                            "compare_branch to=l\n");
    assert_int_equal(engine_fixture_run(f, NULL, 50000000), NTK_RUN_TIMEOUT);
    assert_int_equal(f->result.duration_ns, 50000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(a_loop_without_state_changes_times_out_at_the_limit),
        FLOW_TEST(an_endless_polling_loop_times_out_at_the_limit),
        FLOW_TEST(endless_loops_count_instructions_until_the_timeout),
        FLOW_TEST(two_engines_that_signal_each_other_endlessly_time_out),
        FLOW_TEST(a_polling_loop_ends_when_another_engine_writes_the_value),
        FLOW_TEST(an_endless_counting_loop_times_out_at_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
