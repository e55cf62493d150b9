/* SPDX-License-Identifier: MIT */
/*
 * Two cores of one logical core: barriers, exchanges, semaphores of the other core, and one
 * timeline. Times by hand from docs/cost-model.md for NC-v3: 1200 MHz, 64 cycles are 53333 ps; DMA
 * 1300 ns and 23 bytes per ns and engine, a tenth of it for short runs.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/engine/engine_fixture.h"
#include "tests/support/unit.h"

#define CYCLES_64_PS 53333ULL
#define DMA_LATENCY_PS 1300000ULL

struct pair {
    struct engine_fixture cores[2];
    struct ntk_engine_result results[2];
    struct ntk_err err;
};

/* Variable 1: input of 64 bytes, 2: output of 64 bytes; queue set 0 has one queue. */
static void pair_init(struct pair *p, unsigned generation)
{
    memset(p, 0, sizeof *p);
    for (int c = 0; c < 2; c++) {
        engine_fixture_init(&p->cores[c], generation);
        engine_fixture_queue(&p->cores[c], 1);
        engine_fixture_var(&p->cores[c], NTK_NEFF_VAR_INPUT, 64);
        engine_fixture_var(&p->cores[c], NTK_NEFF_VAR_OUTPUT, 64);
    }
}

static void pair_fini(struct pair *p)
{
    engine_fixture_fini(&p->cores[0]);
    engine_fixture_fini(&p->cores[1]);
}

static int set_up(void **state)
{
    struct pair *p = calloc(1, sizeof *p);

    assert_non_null(p);
    pair_init(p, 3);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    pair_fini(*state);
    free(*state);
    return 0;
}

static void assemble(struct pair *p, int core, enum ntk_isa_engine engine, const char *text)
{
    engine_fixture_assemble(&p->cores[core], engine, text);
}

static int pair_try(struct pair *p, const struct ntk_engine_trace *traces, uint64_t timeout_ns)
{
    struct ntk_engine_run_options options[2];
    struct ntk_engine_member members[2];

    for (int c = 0; c < 2; c++) {
        struct engine_fixture *f = &p->cores[c];

        if (!f->program && engine_fixture_make(f) < 0) {
            fail_msg("core %d: %s", c, f->err.text);
        }
        options[c] = (struct ntk_engine_run_options){ .bindings = f->bindings,
                                                      .binding_count = FIXTURE_VARS,
                                                      .timeout_ns = timeout_ns,
                                                      .trace = traces ? &traces[c] : NULL };
        members[c] = (struct ntk_engine_member){ f->core, f->program, &options[c] };
    }
    return ntk_engine_run_together(members, 2, p->results, &p->err);
}

static void must_run(struct pair *p)
{
    assert_int_equal(pair_try(p, NULL, 0), 0);
    for (int c = 0; c < 2; c++) {
        if (p->results[c].outcome != NTK_RUN_OK) {
            fail_msg("core %d: %s at slot %u", c, ntk_engine_outcome_name(p->results[c].outcome),
                     p->results[c].fault_slot);
        }
    }
}

static void clear(struct pair *p)
{
    engine_fixture_clear(&p->cores[0]);
    engine_fixture_clear(&p->cores[1]);
}

static int32_t *memory(struct pair *p, int core, uint32_t var)
{
    return engine_fixture_memory(&p->cores[core], var);
}

static void fill(struct pair *p)
{
    for (int c = 0; c < 2; c++) {
        for (int i = 0; i < 16; i++) {
            memory(p, c, 1)[i] = 1000 * (c + 1) + i;
            memory(p, c, 2)[i] = -1;
        }
    }
}

#define LOAD(offset) "dma_copy D=sbuf(0:1)+" #offset ":int32[16] A=var1:int32[16] done=s9+1\n"
#define STORE(offset) "dma_copy D=var2:int32[16] A=sbuf(0:1)+" #offset ":int32[16] wait=s10>=1\n"

/* --- barriers --------------------------------------------------------------------------------- */

static void a_barrier_opens_when_both_have_come(void **state)
{
    struct pair *p = *state;

    /* Core 0 comes at once, core 1 after 1200 cycles of the base clock, a microsecond. */
    assemble(p, 0, NTK_ISA_ENGINE_SP, "core_barrier\n");
    assemble(p, 1, NTK_ISA_ENGINE_DVE, "nop imm0=1200\ncore_barrier\n");
    must_run(p);
    assert_int_equal(p->results[0].duration_ns, (1000000 + CYCLES_64_PS + 999) / 1000);
    /* The vector engine's 64 cycles last 66667 ps. */
    assert_int_equal(p->results[1].duration_ns, (1000000 + 66667 + 999) / 1000);
    assert_int_equal(p->results[0].busy_ns[NTK_ENGINE_SP], 0); /* waiting is not working */
}

/* Without a meeting the counts below could not be equal: whoever is faster would be rounds
 * ahead. */
static void barriers_keep_loops_in_step(void **state)
{
    struct pair *p = *state;

    for (int c = 0; c < 2; c++) {
        assemble(p, c, NTK_ISA_ENGINE_SP, "register_move rd=r1 imm0=10\n");
        assemble(p, c, NTK_ISA_ENGINE_SP,
                 c ? "core_barrier imm0=3\nnop imm0=12000\n"
                     "register_alu op0=subtract rd=r1 ra=r1 imm0=1\n"
                     "compare_branch op0=greater ra=r1 imm0=0 to=1\n"
                   : "core_barrier imm0=3\nnop imm0=12\n"
                     "register_alu op0=subtract rd=r1 ra=r1 imm0=1\n"
                     "compare_branch op0=greater ra=r1 imm0=0 to=1\n");
    }
    must_run(p);
    /* Nine rounds of the slow one (10 us and three instructions), then its last: the fast one
     * leaves the last barrier with it. */
    assert_int_equal(p->results[1].duration_ns,
                     (CYCLES_64_PS + 10 * (10000000 + 3 * CYCLES_64_PS) + 999) / 1000);
    assert_int_equal(
        p->results[0].duration_ns,
        (CYCLES_64_PS + 9 * (10000000 + 3 * CYCLES_64_PS) + 3 * CYCLES_64_PS + 10000 + 999) / 1000);
}

static void barriers_of_other_numbers_do_not_meet(void **state)
{
    struct pair *p = *state;

    assemble(p, 0, NTK_ISA_ENGINE_SP, "core_barrier imm0=1\n");
    assemble(p, 1, NTK_ISA_ENGINE_SP, "nop imm0=5\ncore_barrier imm0=2\n");
    assert_int_equal(pair_try(p, NULL, 0), 0);
    for (int c = 0; c < 2; c++) {
        assert_int_equal(p->results[c].outcome, NTK_RUN_DEADLOCK);
        assert_int_equal(p->results[c].fault_engine, NTK_ENGINE_SP);
        assert_int_equal(p->results[c].fault_slot, c);
    }
}

static void waits_for_a_core_that_is_done_are_in_vain(void **state)
{
    struct pair *p = *state;

    assemble(p, 0, NTK_ISA_ENGINE_SP, "nop\n");
    assemble(p, 1, NTK_ISA_ENGINE_ACT, "nop\ncore_barrier\n");
    assert_int_equal(pair_try(p, NULL, 0), 0);
    assert_int_equal(p->results[0].outcome, NTK_RUN_OK);
    assert_int_equal(p->results[1].outcome, NTK_RUN_DEADLOCK);
    assert_int_equal(p->results[1].fault_engine, NTK_ENGINE_ACT);
    assert_int_equal(p->results[1].engines_not_done, 1U << NTK_ENGINE_ACT);
}

static void a_barrier_of_a_core_that_is_alone_is_open(void **state)
{
    struct pair *p = *state;

    assemble(p, 0, NTK_ISA_ENGINE_SP, "core_barrier\n");
    assert_int_equal(engine_fixture_run(&p->cores[0], NULL, 0), NTK_RUN_OK);
}

/* --- semaphores of the other core ------------------------------------------------------------- */

static void a_group_signals_the_other_core_when_it_is_complete(void **state)
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
    assemble(p, 0, NTK_ISA_ENGINE_SP, "dma_trigger group=7\n");
    assemble(p, 1, NTK_ISA_ENGINE_SP, "nop wait=s12>=1\n");
    assemble(p, 1, NTK_ISA_ENGINE_POOL, "nop wait=s13>=1\n");
    fill(p);
    must_run(p);
    assert_memory_equal(memory(p, 0, 2), memory(p, 0, 1), 64);
    /* The trigger, the way of the first byte, 64 bytes at a tenth of 23 bytes per ns. */
    assert_int_equal(p->results[0].duration_ns,
                     (CYCLES_64_PS + DMA_LATENCY_PS + 27826 + 999) / 1000);
    assert_int_equal(p->results[1].duration_ns, p->results[0].duration_ns);
    /* And nothing of it on its own. */
    clear(p);
    assemble(p, 0, NTK_ISA_ENGINE_SP, "nop wait=s12>=1\n");
    assert_int_equal(pair_try(p, NULL, 0), 0);
    assert_int_equal(p->results[0].outcome, NTK_RUN_DEADLOCK);
}

static void a_program_for_a_pair_is_not_run_alone(void **state)
{
    struct pair *p = *state;
    struct engine_fixture *f = &p->cores[0];
    struct ntk_engine_run_options options = { .bindings = f->bindings,
                                              .binding_count = FIXTURE_VARS };
    struct ntk_engine_program_info info;

    assemble(p, 0, NTK_ISA_ENGINE_SP, "sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16]\n");
    assert_int_equal(engine_fixture_make(f), 0);
    ntk_engine_program_info_get(f->program, &info);
    assert_true(info.needs_partner);
    assert_int_equal(ntk_engine_run(f->core, f->program, &options, &f->result, &f->err), -EINVAL);
    assert_string_equal(f->err.text, "a program for one core of two on a core that is alone");
}

static void cores_before_the_third_generation_know_no_partner(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "core_barrier\n",
          "SP slot 0: core_barrier: cores that run together, which NCv2 has not" },
        { "sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16]\n",
          "SP slot 0: sendrecv: cores that run together, which NCv2 has not" },
    };
    struct pair *p = *state;
    struct engine_fixture *f = &p->cores[0];
    static uint16_t remote[] = { 12 };

    pair_fini(p);
    pair_init(p, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        engine_fixture_clear(f);
        assemble(p, 0, NTK_ISA_ENGINE_SP, cases[i].text);
        assert_int_equal(engine_fixture_make(f), -EBADMSG);
        assert_string_equal(f->err.text, cases[i].sentence);
    }
    engine_fixture_clear(f);
    engine_fixture_group(f, NTK_ISA_ENGINE_SP, 0, 7, 0xffff);
    f->groups[NTK_ISA_ENGINE_SP][0].remote_semaphores = remote;
    f->groups[NTK_ISA_ENGINE_SP][0].remote_semaphore_count = 1;
    assemble(p, 0, NTK_ISA_ENGINE_SP, "dma_trigger group=7\n");
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text,
                        "SP slot 0: DMA group 7 signals another core, which NCv2 cannot");
}

/* --- exchanges -------------------------------------------------------------------------------- */

static void tiles_are_exchanged(void **state)
{
    struct pair *p = *state;

    for (int c = 0; c < 2; c++) {
        assemble(p, c, NTK_ISA_ENGINE_SP,
                 LOAD(0) "sendrecv D=sbuf(0:1)+128:int32[16] A=sbuf(0:1):int32[16] wait=s9>=1 "
                         "done=s10+1\n" STORE(128));
    }
    fill(p);
    must_run(p);
    assert_memory_equal(memory(p, 0, 2), memory(p, 1, 1), 64);
    assert_memory_equal(memory(p, 1, 2), memory(p, 0, 1), 64);
    for (int c = 0; c < 2; c++) {
        assert_int_equal(p->results[c].dma_transfer_count, 3);
        assert_int_equal(p->results[c].dma_bytes, 3 * 64);
        assert_int_equal(p->results[c].hbm_read_bytes, 64);
        assert_int_equal(p->results[c].hbm_write_bytes, 64);
    }
}

static void a_core_may_receive_into_what_it_sends(void **state)
{
    struct pair *p = *state;

    for (int c = 0; c < 2; c++) {
        assemble(p, c, NTK_ISA_ENGINE_SP,
                 LOAD(0) "sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16] wait=s9>=1 "
                         "done=s10+1\n" STORE(0));
    }
    fill(p);
    must_run(p);
    assert_memory_equal(memory(p, 0, 2), memory(p, 1, 1), 64);
    assert_memory_equal(memory(p, 1, 2), memory(p, 0, 1), 64);
}

/* Other layouts and dtypes on the two sides; the first of one core meets the first of the other on
 * its pipe, whatever the other pipe does. */
static void exchanges_meet_by_pipe_and_convert(void **state)
{
    struct pair *p = *state;

    assemble(p, 0, NTK_ISA_ENGINE_SP,
             LOAD(0) "sendrecv D=sbuf(0:1)+256:int32[8] A=sbuf(0:1):int32[8] imm0=1 wait=s9>=1\n"
                     "sendrecv D=sbuf(0:1)+288:int32[8] A=sbuf(0:1)+32:int32[8] imm0=2 "
                     "done=s10+1\n" STORE(256));
    assemble(p, 1, NTK_ISA_ENGINE_DVE,
             LOAD(0) "tensor_cast D=sbuf(0:1)+512:float32[16] A=sbuf(0:1):int32[16] wait=s9>=1\n"
                     "sendrecv D=sbuf(0:1)+1056:float32[8] A=sbuf(0:1)+544:float32[8] imm0=2\n"
                     "sendrecv D=sbuf(0:1)+1024:float32[8] A=sbuf(0:1)+512:float32[8] imm0=1 "
                     "done=s11+1\n"
                     "tensor_cast D=sbuf(0:1)+256:int32[16] A=sbuf(0:1)+1024:float32[16] "
                     "wait=s11>=1 signal=s10+1\n" STORE(256));
    fill(p);
    must_run(p);
    assert_memory_equal(memory(p, 0, 2), memory(p, 1, 1), 64);
    assert_memory_equal(memory(p, 1, 2), memory(p, 0, 1), 64);
}

static void an_exchange_nobody_answers_is_a_deadlock(void **state)
{
    struct pair *p = *state;

    assemble(p, 0, NTK_ISA_ENGINE_SP, "sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16]\n");
    assert_int_equal(pair_try(p, NULL, 0), 0);
    assert_int_equal(p->results[0].outcome, NTK_RUN_DEADLOCK);
    assert_int_equal(p->results[0].fault_engine, NTK_ENGINE_DMA);
    assert_int_equal(p->results[1].outcome, NTK_RUN_OK);
}

static void tiles_that_do_not_fit_end_the_execution(void **state)
{
    struct pair *p = *state;

    assemble(p, 0, NTK_ISA_ENGINE_SP, "sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16]\n");
    assemble(p, 1, NTK_ISA_ENGINE_SP, "sendrecv D=sbuf(0:1):int32[8] A=sbuf(0:1):int32[8]\n");
    assert_int_equal(pair_try(p, NULL, 0), 0);
    assert_true(p->results[0].outcome == NTK_RUN_OUT_OF_BOUNDS ||
                p->results[1].outcome == NTK_RUN_OUT_OF_BOUNDS);
}

/* Offers that nobody takes pile up only to a bound. */
static void a_flood_of_exchanges_ends(void **state)
{
    struct pair *p = *state;

    assemble(p, 0, NTK_ISA_ENGINE_SP,
             "l: sendrecv D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16]\ncompare_branch to=l\n");
    assert_int_equal(pair_try(p, NULL, 600000000000ULL), 0);
    assert_int_equal(p->results[0].outcome, NTK_RUN_NO_MEMORY);
}

/* --- one timeline ----------------------------------------------------------------------------- */

static void a_core_that_loops_for_ever_ends_the_pair_at_the_limit(void **state)
{
    struct pair *p = *state;

    assemble(p, 0, NTK_ISA_ENGINE_SP, "core_barrier\n");
    assemble(p, 1, NTK_ISA_ENGINE_SP, "l: compare_branch to=l\n");
    assert_int_equal(pair_try(p, NULL, 3600000000000ULL), 0);
    for (int c = 0; c < 2; c++) {
        assert_int_equal(p->results[c].outcome, NTK_RUN_TIMEOUT);
        assert_int_equal(p->results[c].duration_ns, 3600000000000ULL);
    }
    assert_int_equal(p->results[0].busy_ns[NTK_ENGINE_SP], 0);
    assert_true(p->results[1].busy_ns[NTK_ENGINE_SP] > 3599000000000ULL);
}

static void a_fault_of_one_core_ends_the_other_too(void **state)
{
    struct pair *p = *state;

    memory(p, 0, 1)[0] = 99; /* an index */
    assemble(
        p, 0, NTK_ISA_ENGINE_SP,
        LOAD(0) "dma_indirect_copy D=sbuf(0:1)+64:int32[1] A=var1:int32[1] B=sbuf(0:1):int32[1] "
                "imm0=4 imm1=15 flags=bounds wait=s9>=1\n");
    assemble(p, 1, NTK_ISA_ENGINE_SP, "nop imm0=1000000000\n");
    assert_int_equal(pair_try(p, NULL, 0), 0);
    assert_int_equal(p->results[0].outcome, NTK_RUN_OUT_OF_BOUNDS);
    assert_int_equal(p->results[1].outcome, NTK_RUN_OK);
    assert_int_equal(p->results[1].engines_not_done, 1U << NTK_ENGINE_SP);
    assert_true(p->results[1].duration_ns < 100000);
}

struct mark {
    uint64_t start_ps, end_ps;
    uint32_t core, engine, slot;
    char kind;
};

struct tape {
    struct mark marks[2000];
    size_t count;
};

struct track {
    struct tape *tape;
    uint32_t core;
};

static void mark(const struct track *track, char kind, uint32_t engine, uint32_t slot,
                 uint64_t start_ps, uint64_t end_ps)
{
    struct tape *tape = track->tape;

    assert_true(tape->count < sizeof tape->marks / sizeof tape->marks[0]);
    tape->marks[tape->count].kind = kind;
    tape->marks[tape->count].core = track->core;
    tape->marks[tape->count].engine = engine;
    tape->marks[tape->count].slot = slot;
    tape->marks[tape->count].start_ps = start_ps;
    tape->marks[tape->count++].end_ps = end_ps;
}

static void on_instruction(const struct ntk_engine_instruction_event *e, void *ctx)
{
    mark(ctx, 'i', e->engine, e->slot, e->start_ps, e->end_ps);
}

static void on_dma(const struct ntk_engine_dma_event *e, void *ctx)
{
    mark(ctx, 'd', e->dma_engine, e->queue, e->start_ps, e->end_ps);
}

static void on_semaphore(const struct ntk_engine_semaphore_event *e, void *ctx)
{
    mark(ctx, 's', e->number, e->value, e->time_ps, 0);
}

/* A program with everything that meets: loops of barriers and exchanges on two engines of each
 * core. */
static void busy_pair(struct pair *p)
{
    for (int c = 0; c < 2; c++) {
        assemble(p, c, NTK_ISA_ENGINE_SP,
                 "    register_move rd=r1 imm0=20\n"
                 "l:  sendrecv D=sbuf(0:1)+128:int32[16] A=sbuf(0:1):int32[16] done=s10+1\n"
                 "    core_barrier imm0=1\n"
                 "    nop wait=s10>=1/take signal=s11+1\n"
                 "    register_alu op0=subtract rd=r1 ra=r1 imm0=1\n"
                 "    compare_branch op0=greater ra=r1 imm0=0 to=l\n");
        assemble(p, c, NTK_ISA_ENGINE_DVE,
                 c ? "register_move rd=r1 imm0=20\nl: tensor_copy D=sbuf(0:1):int32[16] "
                     "A=sbuf(0:1)+128:int32[16] wait=s11>=1/take\n"
                     "register_alu op0=subtract rd=r1 ra=r1 imm0=1\nnop imm0=77\n"
                     "compare_branch op0=greater ra=r1 imm0=0 to=l\n"
                   : "register_move rd=r1 imm0=20\nl: tensor_scalar D=sbuf(0:1):int32[16] "
                     "A=sbuf(0:1)+128:int32[16] op0=add imm0=1.0 wait=s11>=1/take\n"
                     "register_alu op0=subtract rd=r1 ra=r1 imm0=1\n"
                     "compare_branch op0=greater ra=r1 imm0=0 to=l\n");
    }
}

struct job {
    struct pair *pair; /* whose programs are run */
    struct tape tape;
    uint64_t durations_ns[2];
    bool failed;
};

/* On cores of its own, beside others that run the same programs. */
static void *job_run(void *arg)
{
    struct job *job = arg;
    struct track tracks[2] = { { &job->tape, 0 }, { &job->tape, 1 } };
    struct ntk_engine_run_options options[2];
    struct ntk_engine_member members[2];
    struct ntk_engine_result results[2];
    struct ntk_engine_trace traces[2];
    uint8_t bytes[2][2][64] = { 0 };
    struct ntk_engine_binding bindings[2][3];

    for (int c = 0; c < 2; c++) {
        struct engine_fixture *f = &job->pair->cores[c];
        struct ntk_engine_core *core = NULL;

        job->failed = ntk_engine_core_create(3, &core, NULL) < 0 || job->failed;
        for (int v = 1; v < 3; v++) {
            bindings[c][v] = (struct ntk_engine_binding){ bytes[c][v - 1], 64, 0 };
        }
        traces[c] = (struct ntk_engine_trace){ .instruction = on_instruction,
                                               .dma = on_dma,
                                               .semaphore = on_semaphore,
                                               .ctx = &tracks[c] };
        options[c] = (struct ntk_engine_run_options){ .bindings = bindings[c],
                                                      .binding_count = 3,
                                                      .trace = &traces[c] };
        members[c] = (struct ntk_engine_member){ core, f->program, &options[c] };
    }
    job->failed = job->failed || ntk_engine_run_together(members, 2, results, NULL) < 0 ||
                  results[0].outcome != NTK_RUN_OK || results[1].outcome != NTK_RUN_OK;
    for (int c = 0; c < 2; c++) {
        job->durations_ns[c] = results[c].duration_ns;
        ntk_engine_core_destroy(members[c].core);
    }
    return NULL;
}

static void a_pair_has_one_timeline_in_twenty_runs_on_any_number_of_threads(void **state)
{
    struct pair *p = *state;
    struct job *jobs = calloc(21, sizeof *jobs);

    assert_non_null(jobs);
    busy_pair(p);
    must_run(p);
    jobs[20].pair = p;
    job_run(&jobs[20]);
    assert_false(jobs[20].failed);
    assert_true(jobs[20].tape.count > 300);
    for (size_t first = 0, threads = 1; first < 20; first += threads, threads++) {
        pthread_t ids[20];
        size_t end = first + threads < 20 ? first + threads : 20;

        for (size_t i = first; i < end; i++) {
            jobs[i].pair = p;
            assert_int_equal(pthread_create(&ids[i], NULL, job_run, &jobs[i]), 0);
        }
        for (size_t i = first; i < end; i++) {
            pthread_join(ids[i], NULL);
            assert_false(jobs[i].failed);
            assert_int_equal(jobs[i].tape.count, jobs[20].tape.count);
            assert_memory_equal(&jobs[i].tape, &jobs[20].tape, sizeof jobs[i].tape);
            assert_memory_equal(jobs[i].durations_ns, jobs[20].durations_ns,
                                sizeof jobs[i].durations_ns);
        }
    }
    free(jobs);
}

/* Cores that have nothing to do with each other take the time that each takes alone. */
static void cores_that_do_not_meet_do_not_slow_each_other(void **state)
{
    struct pair *p = *state;
    uint64_t alone[2];

    fill(p);
    assemble(p, 0, NTK_ISA_ENGINE_SP, LOAD(0) "nop wait=s9>=1 signal=s10+1\n" STORE(0));
    assemble(p, 1, NTK_ISA_ENGINE_POOL, "nop imm0=77\nmemset D=sbuf(0:128):float32[500]\n");
    for (int c = 0; c < 2; c++) {
        assert_int_equal(engine_fixture_run(&p->cores[c], NULL, 0), NTK_RUN_OK);
        alone[c] = p->cores[c].result.duration_ns;
    }
    must_run(p);
    for (int c = 0; c < 2; c++) {
        assert_int_equal(p->results[c].duration_ns, alone[c]);
        assert_int_equal(p->results[c].busy_ns[NTK_ENGINE_POOL],
                         p->cores[c].result.busy_ns[NTK_ENGINE_POOL]);
        assert_int_equal(p->results[c].dma_bytes, p->cores[c].result.dma_bytes);
    }
}

/* Every byte of what meets is spoilt, on one core: refused, or some end within the limit on
 * both. */
static void spoilt_partners_end_or_are_refused(void **state)
{
    struct pair *p = *state;
    size_t refused = 0;
    size_t ran = 0;

    for (int c = 0; c < 2; c++) {
        assemble(p, c, NTK_ISA_ENGINE_SP,
                 "sendrecv D=sbuf(0:2)+128:int16[2,4] A=sbuf(4:2):int16[8] done=s10+1\n"
                 "core_barrier imm0=1 wait=s10>=1\n");
    }
    must_run(p);
    for (size_t at = 0; at < p->cores[0].subgraph.engines[NTK_ISA_ENGINE_SP].code_bytes; at++) {
        uint8_t keep = p->cores[0].code[NTK_ISA_ENGINE_SP][at];

        for (unsigned spoil = 0; spoil < 256; spoil += 3) {
            p->cores[0].code[NTK_ISA_ENGINE_SP][at] = (uint8_t)spoil;
            if (engine_fixture_make(&p->cores[0]) < 0) {
                assert_true(strlen(p->cores[0].err.text) > 0);
                refused++;
            } else {
                assert_int_equal(pair_try(p, NULL, 10000000), 0);
                ran++;
            }
        }
        p->cores[0].code[NTK_ISA_ENGINE_SP][at] = keep;
    }
    assert_true(refused > 10000 && ran > 500);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_barrier_opens_when_both_have_come),
        TEST(barriers_keep_loops_in_step),
        TEST(barriers_of_other_numbers_do_not_meet),
        TEST(waits_for_a_core_that_is_done_are_in_vain),
        TEST(a_barrier_of_a_core_that_is_alone_is_open),
        TEST(a_group_signals_the_other_core_when_it_is_complete),
        TEST(a_program_for_a_pair_is_not_run_alone),
        TEST(cores_before_the_third_generation_know_no_partner),
        TEST(tiles_are_exchanged),
        TEST(a_core_may_receive_into_what_it_sends),
        TEST(exchanges_meet_by_pipe_and_convert),
        TEST(an_exchange_nobody_answers_is_a_deadlock),
        TEST(tiles_that_do_not_fit_end_the_execution),
        TEST(a_flood_of_exchanges_ends),
        TEST(a_core_that_loops_for_ever_ends_the_pair_at_the_limit),
        TEST(a_fault_of_one_core_ends_the_other_too),
        TEST(a_pair_has_one_timeline_in_twenty_runs_on_any_number_of_threads),
        TEST(cores_that_do_not_meet_do_not_slow_each_other),
        TEST(spoilt_partners_end_or_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
