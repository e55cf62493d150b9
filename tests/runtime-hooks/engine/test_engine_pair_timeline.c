/* SPDX-License-Identifier: MIT */
/* A single timeline of two cores, however many threads run them; ends and faults of one core. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/engine/pair_fixture.h"
#include "tests/support/unit.h"

static void an_endless_loop_on_one_core_ends_the_pair_at_the_limit(void **state)
{
    struct pair *p = *state;

    pair_assemble(p, 0, NTK_ISA_ENGINE_SP, "core_barrier\n");
    pair_assemble(p, 1, NTK_ISA_ENGINE_SP, "l: compare_branch to=l\n");
    assert_int_equal(pair_try(p, NULL, 3600000000000ULL), 0);
    for (int c = 0; c < 2; c++) {
        assert_int_equal(p->results[c].outcome, NTK_RUN_TIMEOUT);
        assert_int_equal(p->results[c].duration_ns, 3600000000000ULL);
    }
    assert_int_equal(p->results[0].busy_ns[NTK_ENGINE_SP], 0);
    assert_true(p->results[1].busy_ns[NTK_ENGINE_SP] > 3599000000000ULL);
}

static void a_fault_on_one_core_ends_both_cores(void **state)
{
    struct pair *p = *state;

    pair_memory(p, 0, 1)[0] = 99; /* an index */
    pair_assemble(
        p, 0, NTK_ISA_ENGINE_SP,
        LOAD(0) "dma_indirect_copy D=sbuf(0:1)+64:int32[1] A=var1:int32[1] B=sbuf(0:1):int32[1] "
                "imm0=4 imm1=15 flags=bounds wait=s9>=1\n");
    pair_assemble(p, 1, NTK_ISA_ENGINE_SP, "nop imm0=1000000000\n");
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

/* A program with every kind of meeting: loops of barriers and exchanges on two engines of each
 * core. */
static void busy_pair(struct pair *p)
{
    for (int c = 0; c < 2; c++) {
        pair_assemble(p, c, NTK_ISA_ENGINE_SP,
                      "    register_move rd=r1 imm0=20\n"
                      "l:  sendrecv D=sbuf(0:1)+128:int32[16] A=sbuf(0:1):int32[16] done=s10+1\n"
                      "    core_barrier imm0=1\n"
                      "    nop wait=s10>=1/take signal=s11+1\n"
                      "    register_alu op0=subtract rd=r1 ra=r1 imm0=1\n"
                      "    compare_branch op0=greater ra=r1 imm0=0 to=l\n");
        pair_assemble(p, c, NTK_ISA_ENGINE_DVE,
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
    struct pair *pair; /* the pair with the running programs */
    struct tape tape;
    uint64_t durations_ns[2];
    bool failed;
};

/* Runs on separate cores while other threads run the same programs. */
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

static void a_core_pair_has_the_same_timeline_in_every_run(void **state)
{
    struct pair *p = *state;
    struct job *jobs = calloc(21, sizeof *jobs);

    assert_non_null(jobs);
    busy_pair(p);
    pair_must_run(p);
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

/* Independent cores take the same time as each alone. */
static void cores_without_synchronisation_do_not_slow_each_other(void **state)
{
    struct pair *p = *state;
    uint64_t alone[2];

    pair_fill(p);
    pair_assemble(p, 0, NTK_ISA_ENGINE_SP, LOAD(0) "nop wait=s9>=1 signal=s10+1\n" STORE(0));
    pair_assemble(p, 1, NTK_ISA_ENGINE_POOL, "nop imm0=77\nmemset D=sbuf(0:128):float32[500]\n");
    for (int c = 0; c < 2; c++) {
        assert_int_equal(engine_fixture_run(&p->cores[c], NULL, 0), NTK_RUN_OK);
        alone[c] = p->cores[c].result.duration_ns;
    }
    pair_must_run(p);
    for (int c = 0; c < 2; c++) {
        assert_int_equal(p->results[c].duration_ns, alone[c]);
        assert_int_equal(p->results[c].busy_ns[NTK_ENGINE_POOL],
                         p->cores[c].result.busy_ns[NTK_ENGINE_POOL]);
        assert_int_equal(p->results[c].dma_bytes, p->cores[c].result.dma_bytes);
    }
}

/* Damages every byte of a meeting on one core: rejected, or both cores end within the limit. */
static void pair_programs_with_corrupted_bytes_end_or_are_rejected(void **state)
{
    struct pair *p = *state;
    size_t refused = 0;
    size_t ran = 0;

    for (int c = 0; c < 2; c++) {
        pair_assemble(p, c, NTK_ISA_ENGINE_SP,
                      "sendrecv D=sbuf(0:2)+128:int16[2,4] A=sbuf(4:2):int16[8] done=s10+1\n"
                      "core_barrier imm0=1 wait=s10>=1\n");
    }
    pair_must_run(p);
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
    const struct CMUnitTest tests[] = {
        PAIR_TEST(an_endless_loop_on_one_core_ends_the_pair_at_the_limit),
        PAIR_TEST(a_fault_on_one_core_ends_both_cores),
        PAIR_TEST(a_core_pair_has_the_same_timeline_in_every_run),
        PAIR_TEST(cores_without_synchronisation_do_not_slow_each_other),
        PAIR_TEST(pair_programs_with_corrupted_bytes_end_or_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
