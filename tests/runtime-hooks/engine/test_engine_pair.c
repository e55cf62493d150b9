/* SPDX-License-Identifier: MIT */
/* How the two cores of a logical core meet: barriers, semaphores of the other core, exchanges. */
#include <errno.h>

#include "tests/runtime-hooks/engine/pair_fixture.h"
#include "tests/support/unit.h"

static void a_barrier_opens_when_both_cores_have_reached_it(void **state)
{
    struct pair *p = *state;

    /* Core 0 arrives at once, core 1 after 1200 cycles of the base clock, a microsecond. */
    pair_assemble(p, 0, NTK_ISA_ENGINE_SP, "core_barrier\n");
    pair_assemble(p, 1, NTK_ISA_ENGINE_DVE, "nop imm0=1200\ncore_barrier\n");
    pair_must_run(p);
    assert_int_equal(p->results[0].duration_ns, (1000000 + CYCLES_64_PS + 999) / 1000);
    /* The vector engine's 64 cycles last 66667 ps. */
    assert_int_equal(p->results[1].duration_ns, (1000000 + 66667 + 999) / 1000);
    assert_int_equal(p->results[0].busy_ns[NTK_ENGINE_SP], 0); /* waiting is not working */
}

/* Without barriers the counts below could not be equal: the faster engine would be rounds ahead. */
static void barriers_synchronise_loops_on_two_cores(void **state)
{
    struct pair *p = *state;

    for (int c = 0; c < 2; c++) {
        pair_assemble(p, c, NTK_ISA_ENGINE_SP, "register_move rd=r1 imm0=10\n");
        pair_assemble(p, c, NTK_ISA_ENGINE_SP,
                      c ? "core_barrier imm0=3\nnop imm0=12000\n"
                          "register_alu op0=subtract rd=r1 ra=r1 imm0=1\n"
                          "compare_branch op0=greater ra=r1 imm0=0 to=1\n"
                        : "core_barrier imm0=3\nnop imm0=12\n"
                          "register_alu op0=subtract rd=r1 ra=r1 imm0=1\n"
                          "compare_branch op0=greater ra=r1 imm0=0 to=1\n");
    }
    pair_must_run(p);
    /* Nine rounds of the slow engine (10 us and three instructions), then its last one: the fast
     * engine leaves the last barrier together with it. */
    assert_int_equal(p->results[1].duration_ns,
                     (CYCLES_64_PS + 10 * (10000000 + 3 * CYCLES_64_PS) + 999) / 1000);
    assert_int_equal(
        p->results[0].duration_ns,
        (CYCLES_64_PS + 9 * (10000000 + 3 * CYCLES_64_PS) + 3 * CYCLES_64_PS + 10000 + 999) / 1000);
}

static void barriers_with_different_numbers_do_not_match(void **state)
{
    struct pair *p = *state;

    pair_assemble(p, 0, NTK_ISA_ENGINE_SP, "core_barrier imm0=1\n");
    pair_assemble(p, 1, NTK_ISA_ENGINE_SP, "nop imm0=5\ncore_barrier imm0=2\n");
    assert_int_equal(pair_try(p, NULL, 0), 0);
    for (int c = 0; c < 2; c++) {
        assert_int_equal(p->results[c].outcome, NTK_RUN_DEADLOCK);
        assert_int_equal(p->results[c].fault_engine, NTK_ENGINE_SP);
        assert_int_equal(p->results[c].fault_slot, c);
    }
}

static void waiting_at_a_barrier_for_a_finished_core_is_a_deadlock(void **state)
{
    struct pair *p = *state;

    pair_assemble(p, 0, NTK_ISA_ENGINE_SP, "nop\n");
    pair_assemble(p, 1, NTK_ISA_ENGINE_ACT, "nop\ncore_barrier\n");
    assert_int_equal(pair_try(p, NULL, 0), 0);
    assert_int_equal(p->results[0].outcome, NTK_RUN_OK);
    assert_int_equal(p->results[1].outcome, NTK_RUN_DEADLOCK);
    assert_int_equal(p->results[1].fault_engine, NTK_ENGINE_ACT);
    assert_int_equal(p->results[1].engines_not_done, 1U << NTK_ENGINE_ACT);
}

static void a_barrier_on_a_single_core_does_not_wait(void **state)
{
    struct pair *p = *state;

    pair_assemble(p, 0, NTK_ISA_ENGINE_SP, "core_barrier\n");
    assert_int_equal(engine_fixture_run(&p->cores[0], NULL, 0), NTK_RUN_OK);
}

static void a_dma_group_signals_the_other_core_on_completion(void **state)
{
    struct pair *p = *state;
    struct engine_fixture *f = &p->cores[0];
    static uint16_t remote[] = { 12, 13 };
    struct ntk_neff_transfer *t = engine_fixture_group(f, NTK_ISA_ENGINE_SP, 0, 7, 0xffff);

    f->groups[NTK_ISA_ENGINE_SP][0].remote_semaphores = remote;
    f->groups[NTK_ISA_ENGINE_SP][0].remote_semaphore_count = 2;
    t->from->var = 1;
    t->to.var = 2;
    t->from->dtype = t->to.dtype = NTK_DTYPE_UINT8;
    t->from->dim_count = t->to.dim_count = 1;
    t->from->steps[0] = t->to.steps[0] = 1;
    t->from->sizes[0] = t->to.sizes[0] = 64;
    pair_assemble(p, 0, NTK_ISA_ENGINE_SP, "dma_trigger group=7\n");
    pair_assemble(p, 1, NTK_ISA_ENGINE_SP, "nop wait=s12>=1\n");
    pair_assemble(p, 1, NTK_ISA_ENGINE_POOL, "nop wait=s13>=1\n");
    pair_fill(p);
    pair_must_run(p);
    assert_memory_equal(pair_memory(p, 0, 2), pair_memory(p, 0, 1), 64);
    /* The trigger, the latency of the first byte, 64 bytes at a tenth of 23 bytes per ns. */
    assert_int_equal(p->results[0].duration_ns,
                     (CYCLES_64_PS + DMA_LATENCY_PS + 27826 + 999) / 1000);
    assert_int_equal(p->results[1].duration_ns, p->results[0].duration_ns);
    /* A core alone does not pass. */
    pair_clear(p);
    pair_assemble(p, 0, NTK_ISA_ENGINE_SP, "nop wait=s12>=1\n");
    assert_int_equal(pair_try(p, NULL, 0), 0);
    assert_int_equal(p->results[0].outcome, NTK_RUN_DEADLOCK);
}

static void a_program_for_a_core_pair_is_rejected_on_a_single_core(void **state)
{
    struct pair *p = *state;
    struct engine_fixture *f = &p->cores[0];
    struct ntk_engine_run_options options = { .bindings = f->bindings,
                                              .binding_count = FIXTURE_VARS };
    struct ntk_engine_program_info info;

    pair_assemble(p, 0, NTK_ISA_ENGINE_SP,
                  "sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16]\n");
    assert_int_equal(engine_fixture_make(f), 0);
    ntk_engine_program_info_get(f->program, &info);
    assert_true(info.needs_partner);
    assert_int_equal(ntk_engine_run(f->core, f->program, &options, &f->result, &f->err), -EINVAL);
    assert_string_equal(f->err.text,
                        "the program requires a pair of cores, but runs on a single core");
}

static void pair_instructions_require_cores_of_the_third_generation(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "core_barrier\n",
          "SP slot 0: core_barrier requires cores that run together, which NCv2 does not have" },
        { "sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16]\n",
          "SP slot 0: sendrecv requires cores that run together, which NCv2 does not have" },
    };
    struct pair *p = *state;
    struct engine_fixture *f = &p->cores[0];
    static uint16_t remote[] = { 12 };

    pair_fini(p);
    pair_init(p, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        engine_fixture_clear(f);
        pair_assemble(p, 0, NTK_ISA_ENGINE_SP, cases[i].text);
        assert_int_equal(engine_fixture_make(f), -EBADMSG);
        assert_string_equal(f->err.text, cases[i].sentence);
    }
    engine_fixture_clear(f);
    engine_fixture_group(f, NTK_ISA_ENGINE_SP, 0, 7, 0xffff);
    f->groups[NTK_ISA_ENGINE_SP][0].remote_semaphores = remote;
    f->groups[NTK_ISA_ENGINE_SP][0].remote_semaphore_count = 1;
    pair_assemble(p, 0, NTK_ISA_ENGINE_SP, "dma_trigger group=7\n");
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text,
                        "SP slot 0: DMA group 7 signals another core, which NCv2 does not support");
}

static void two_cores_exchange_tiles(void **state)
{
    struct pair *p = *state;

    for (int c = 0; c < 2; c++) {
        pair_assemble(p, c, NTK_ISA_ENGINE_SP,
                      LOAD(0) "sendrecv D=sbuf(0:1)+128:int32[16] A=sbuf(0:1):int32[16] wait=s9>=1 "
                              "done=s10+1\n" STORE(128));
    }
    pair_fill(p);
    pair_must_run(p);
    assert_memory_equal(pair_memory(p, 0, 2), pair_memory(p, 1, 1), 64);
    assert_memory_equal(pair_memory(p, 1, 2), pair_memory(p, 0, 1), 64);
    for (int c = 0; c < 2; c++) {
        assert_int_equal(p->results[c].dma_transfer_count, 3);
        assert_int_equal(p->results[c].dma_bytes, 3 * 64);
        assert_int_equal(p->results[c].hbm_read_bytes, 64);
        assert_int_equal(p->results[c].hbm_write_bytes, 64);
    }
}

static void a_core_may_receive_into_the_tile_that_it_sends(void **state)
{
    struct pair *p = *state;

    for (int c = 0; c < 2; c++) {
        pair_assemble(p, c, NTK_ISA_ENGINE_SP,
                      LOAD(0) "sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16] wait=s9>=1 "
                              "done=s10+1\n" STORE(0));
    }
    pair_fill(p);
    pair_must_run(p);
    assert_memory_equal(pair_memory(p, 0, 2), pair_memory(p, 1, 1), 64);
    assert_memory_equal(pair_memory(p, 1, 2), pair_memory(p, 0, 1), 64);
}

/* Different layouts and dtypes on both sides. On each pipe, the first exchange of one core meets
 * the first of the other, independent of the other pipe. */
static void exchanges_are_matched_by_pipe_and_convert_types(void **state)
{
    struct pair *p = *state;

    pair_assemble(
        p, 0, NTK_ISA_ENGINE_SP,
        LOAD(0) "sendrecv D=sbuf(0:1)+256:int32[8] A=sbuf(0:1):int32[8] imm0=1 wait=s9>=1\n"
                "sendrecv D=sbuf(0:1)+288:int32[8] A=sbuf(0:1)+32:int32[8] imm0=2 "
                "done=s10+1\n" STORE(256));
    pair_assemble(
        p, 1, NTK_ISA_ENGINE_DVE,
        LOAD(0) "tensor_cast D=sbuf(0:1)+512:float32[16] A=sbuf(0:1):int32[16] wait=s9>=1\n"
                "sendrecv D=sbuf(0:1)+1056:float32[8] A=sbuf(0:1)+544:float32[8] imm0=2\n"
                "sendrecv D=sbuf(0:1)+1024:float32[8] A=sbuf(0:1)+512:float32[8] imm0=1 "
                "done=s11+1\n"
                "tensor_cast D=sbuf(0:1)+256:int32[16] A=sbuf(0:1)+1024:float32[16] "
                "wait=s11>=1 signal=s10+1\n" STORE(256));
    pair_fill(p);
    pair_must_run(p);
    assert_memory_equal(pair_memory(p, 0, 2), pair_memory(p, 1, 1), 64);
    assert_memory_equal(pair_memory(p, 1, 2), pair_memory(p, 0, 1), 64);
}

static void an_exchange_without_a_partner_is_a_deadlock(void **state)
{
    struct pair *p = *state;

    pair_assemble(p, 0, NTK_ISA_ENGINE_SP,
                  "sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16]\n");
    assert_int_equal(pair_try(p, NULL, 0), 0);
    assert_int_equal(p->results[0].outcome, NTK_RUN_DEADLOCK);
    assert_int_equal(p->results[0].fault_engine, NTK_ENGINE_DMA);
    assert_int_equal(p->results[1].outcome, NTK_RUN_OK);
}

static void exchanged_tiles_of_different_sizes_fail_the_execution(void **state)
{
    struct pair *p = *state;

    pair_assemble(p, 0, NTK_ISA_ENGINE_SP,
                  "sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16]\n");
    pair_assemble(p, 1, NTK_ISA_ENGINE_SP, "sendrecv D=sbuf(0:1):int32[8] A=sbuf(0:1):int32[8]\n");
    assert_int_equal(pair_try(p, NULL, 0), 0);
    assert_true(p->results[0].outcome == NTK_RUN_OUT_OF_BOUNDS ||
                p->results[1].outcome == NTK_RUN_OUT_OF_BOUNDS);
}

/* Offers that are not accepted pile up only to a limit. */
static void pending_exchanges_are_limited(void **state)
{
    struct pair *p = *state;

    pair_assemble(p, 0, NTK_ISA_ENGINE_SP,
                  "l: sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16]\ncompare_branch to=l\n");
    assert_int_equal(pair_try(p, NULL, 600000000000ULL), 0);
    assert_int_equal(p->results[0].outcome, NTK_RUN_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAIR_TEST(a_barrier_opens_when_both_cores_have_reached_it),
        PAIR_TEST(barriers_synchronise_loops_on_two_cores),
        PAIR_TEST(barriers_with_different_numbers_do_not_match),
        PAIR_TEST(waiting_at_a_barrier_for_a_finished_core_is_a_deadlock),
        PAIR_TEST(a_barrier_on_a_single_core_does_not_wait),
        PAIR_TEST(a_dma_group_signals_the_other_core_on_completion),
        PAIR_TEST(a_program_for_a_core_pair_is_rejected_on_a_single_core),
        PAIR_TEST(pair_instructions_require_cores_of_the_third_generation),
        PAIR_TEST(two_cores_exchange_tiles),
        PAIR_TEST(a_core_may_receive_into_the_tile_that_it_sends),
        PAIR_TEST(exchanges_are_matched_by_pipe_and_convert_types),
        PAIR_TEST(an_exchange_without_a_partner_is_a_deadlock),
        PAIR_TEST(exchanged_tiles_of_different_sizes_fail_the_execution),
        PAIR_TEST(pending_exchanges_are_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
