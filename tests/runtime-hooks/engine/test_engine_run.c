/* SPDX-License-Identifier: MIT */
/* A whole run: the same result every time and in every thread, slow cores, prints, estimates. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/engine/run_fixture.h"
#include "tests/support/unit.h"

/* Loads, matmuls, vector work and stores on all engines, with waits between them. */
static void mixed_program(struct engine_fixture *f)
{
    uint32_t queue = engine_fixture_queue(f, 16);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 128 * 2048);
    uint32_t out = engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 128 * 2048);
    float *values = engine_fixture_memory(f, in);

    for (int i = 0; i < 128 * 512; i++) {
        values[i] = (float)(i % 97) / 97.0F - 0.5F;
    }
    for (int round = 0; round < 6; round++) {
        struct ntk_isa_instr matmul = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
        struct ntk_isa_instr act = ntk_isa_instr_make(NTK_ISA_OP_ACTIVATION);
        struct ntk_isa_instr free_running = run_memset(777);

        engine_fixture_load(f, queue, in, 0, 128, 2048);
        matmul.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, 512, NTK_DTYPE_FLOAT32);
        matmul.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_FLOAT32);
        matmul.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(0, 128, 512, NTK_DTYPE_FLOAT32);
        engine_fixture_step(f, NTK_ISA_ENGINE_PE, matmul);
        act.operand[NTK_ISA_DST] = ntk_isa_sbuf(8192, 128, 512, NTK_DTYPE_FLOAT32);
        act.operand[NTK_ISA_SRC0] = ntk_isa_psum(0, 128, 512, NTK_DTYPE_FLOAT32);
        act.act = NTK_ISA_ACT_RELU;
        act.imm[0] = ntk_isa_float_bits(1.0F);
        engine_fixture_step(f, NTK_ISA_ENGINE_ACT, act);
        free_running.operand[NTK_ISA_DST].offset = 32768;
        engine_fixture_emit(f, NTK_ISA_ENGINE_POOL, &free_running);
        engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &free_running);
        engine_fixture_store(f, queue, out, 8192, 128, 2048);
    }
}

static void the_timeline_is_the_same_in_twenty_runs(void **state)
{
    struct engine_fixture *f = *state;
    struct run_log *first = calloc(2, sizeof *first);
    struct run_log *again = first + 1;
    struct ntk_engine_result result;

    mixed_program(f);
    {
        struct ntk_engine_trace trace = run_log_trace(first);

        assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
        result = f->result;
        assert_true(first->count > 100);
    }
    for (int i = 0; i < 20; i++) {
        struct ntk_engine_trace trace = run_log_trace(again);

        assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
        assert_int_equal(again->count, first->count);
        assert_memory_equal(again->records, first->records,
                            first->count * sizeof first->records[0]);
        assert_memory_equal(&f->result, &result, sizeof result);
    }
    free(first);
}

struct job {
    struct engine_fixture *f;
    struct ntk_engine_binding bindings[FIXTURE_VARS];
    struct run_log log;
    struct ntk_engine_result result;
    int ret;
};

static void *run_job(void *arg)
{
    struct job *job = arg;
    struct ntk_engine_core *core = NULL;
    struct ntk_engine_trace trace = run_log_trace(&job->log);
    struct ntk_engine_run_options options = { .bindings = job->bindings,
                                              .binding_count = FIXTURE_VARS,
                                              .trace = &trace };

    job->ret = ntk_engine_core_create(2, &core, NULL);
    for (int i = 0; i < 3 && job->ret == 0; i++) {
        job->log.count = 0;
        job->ret = ntk_engine_run(core, job->f->program, &options, &job->result, NULL);
    }
    ntk_engine_core_destroy(core);
    return NULL;
}

static void threads_that_share_a_program_receive_equal_timelines_and_results(void **state)
{
    struct engine_fixture *f = *state;
    enum { THREADS = 4 };
    struct job *jobs = calloc(THREADS, sizeof *jobs);
    pthread_t threads[THREADS];

    mixed_program(f);
    assert_int_equal(engine_fixture_make(f), 0);
    for (int t = 0; t < THREADS; t++) {
        jobs[t].f = f;
        memcpy(jobs[t].bindings, f->bindings, sizeof f->bindings);
        jobs[t].bindings[2].bytes = calloc(1, f->bindings[2].size);
        assert_int_equal(pthread_create(&threads[t], NULL, run_job, &jobs[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(jobs[t].ret, 0);
        assert_int_equal(jobs[t].result.outcome, NTK_RUN_OK);
        assert_memory_equal(&jobs[t].result, &jobs[0].result, sizeof jobs[0].result);
        assert_int_equal(jobs[t].log.count, jobs[0].log.count);
        assert_memory_equal(jobs[t].log.records, jobs[0].log.records,
                            jobs[0].log.count * sizeof jobs[0].log.records[0]);
        assert_memory_equal(jobs[t].bindings[2].bytes, jobs[0].bindings[2].bytes,
                            f->bindings[2].size);
    }
    for (int t = 0; t < THREADS; t++) {
        free(jobs[t].bindings[2].bytes);
    }
    free(jobs);
}

static void the_memory_of_a_reset_core_is_zero(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t queue = engine_fixture_queue(f, 1);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 512);
    uint32_t out = engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 512);

    memset(engine_fixture_memory(f, in), 0x77, 512);
    engine_fixture_load(f, queue, in, 0, 4, 128);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    engine_fixture_clear(f);
    engine_fixture_store(f, queue, out, 0, 4, 128);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_memory_equal(engine_fixture_memory(f, in), engine_fixture_memory(f, out), 512);
    assert_int_equal(ntk_engine_core_reset(f->core), 0);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    memset(engine_fixture_memory(f, in), 0, 512);
    assert_memory_equal(engine_fixture_memory(f, in), engine_fixture_memory(f, out), 512);
}

/* A run with engines, or transfers with device memory, that are slower by these factors. */
static struct ntk_engine_result slow_run(struct engine_fixture *f, double compute, double hbm)
{
    struct ntk_engine_run_options options = { .bindings = f->bindings,
                                              .binding_count = FIXTURE_VARS,
                                              .compute_factor = compute,
                                              .hbm_factor = hbm };
    struct ntk_engine_result result;

    assert_int_equal(ntk_engine_run(f->core, f->program, &options, &result, &f->err), 0);
    assert_int_equal(result.outcome, NTK_RUN_OK);
    return result;
}

static void slowdown_factors_change_only_the_durations(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t queue = engine_fixture_queue(f, 1);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 128 * 4096);
    uint32_t out = engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 128 * 4096);
    struct ntk_isa_instr square = ntk_isa_instr_make(NTK_ISA_OP_RECIPROCAL);

    for (size_t i = 0; i < 128 * 1024; i++) {
        ((float *)engine_fixture_memory(f, in))[i] = (float)(i + 1);
    }
    engine_fixture_load(f, queue, in, 0, 128, 4096);
    square.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 128, 1024, NTK_DTYPE_FLOAT32);
    square.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 1024, NTK_DTYPE_FLOAT32);
    engine_fixture_step(f, NTK_ISA_ENGINE_DVE, square);
    engine_fixture_store(f, queue, out, 0, 128, 4096);
    assert_int_equal(engine_fixture_make(f), 0);

    struct ntk_engine_result usual = slow_run(f, 0, 1);
    struct ntk_engine_result core = slow_run(f, 3, 0);
    struct ntk_engine_result hbm = slow_run(f, 1, 2.5);
    uint64_t vector_ns = usual.busy_ns[NTK_ENGINE_DVE];
    uint64_t dma_ns = usual.busy_ns[NTK_ENGINE_DMA];

    assert_true(vector_ns > 1000 && dma_ns > 1000);
    assert_in_range(core.busy_ns[NTK_ENGINE_DVE], 3 * vector_ns - 3, 3 * vector_ns + 3);
    assert_int_equal(core.busy_ns[NTK_ENGINE_DMA], dma_ns);
    assert_true(core.duration_ns >= usual.duration_ns + 2 * vector_ns - 10);
    assert_int_equal(hbm.busy_ns[NTK_ENGINE_DVE], vector_ns);
    assert_in_range(hbm.busy_ns[NTK_ENGINE_DMA], 2.3 * (double)dma_ns, 2.5 * (double)dma_ns + 3);
    assert_true(hbm.duration_ns > usual.duration_ns + dma_ns);
    assert_true(((float *)engine_fixture_memory(f, out))[7] == 1.0F / 8.0F);
}

struct printed {
    struct ntk_engine_print_event event;
    char prefix[32], dtype[16];
    int32_t values[3 * 8];
    int count;
};

static void print_keep(const struct ntk_engine_print_event *event, void *ctx)
{
    struct printed *printed = ctx;

    assert_int_equal(event->data_bytes, sizeof printed->values);
    printed->event = *event;
    (void)snprintf(printed->prefix, sizeof printed->prefix, "%s", event->prefix);
    (void)snprintf(printed->dtype, sizeof printed->dtype, "%s", event->dtype);
    memcpy(printed->values, event->data, sizeof printed->values);
    printed->count++;
}

static void device_print_sends_the_tensor_to_its_listener(void **state)
{
    static const char *names[] = { "x of layer 3" };
    struct engine_fixture *f = *state;
    struct ntk_isa_instr iota = ntk_isa_instr_make(NTK_ISA_OP_IOTA);
    struct ntk_isa_instr print = ntk_isa_instr_make(NTK_ISA_OP_DEVICE_PRINT);
    struct printed printed = { .count = 0 };
    const struct ntk_engine_printer printer = { print_keep, &printed };

    iota.operand[NTK_ISA_DST] = ntk_isa_sbuf(64, 3, 16, NTK_DTYPE_INT32);
    iota.operand[NTK_ISA_SRC0] = (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_PATTERN,
                                                           .dtype = NTK_DTYPE_INT32,
                                                           .var_id = NTK_ISA_NO_VAR,
                                                           .dim_count = 1,
                                                           .dim = { { 1, 16 } } };
    iota.imm[1] = 100;
    /* Every second element, as 2 rows of 4. */
    print.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(64, 3, 4, NTK_DTYPE_INT32);
    print.operand[NTK_ISA_SRC0].dim_count = 2;
    print.operand[NTK_ISA_SRC0].dim[0].step = 2;
    print.operand[NTK_ISA_SRC0].dim[1] = (struct ntk_isa_dim){ 8, 2 };
    print.imm[0] = 7;
    print.name_id = 1;
    f->subgraph.engines[NTK_ISA_ENGINE_POOL].names = names;
    f->subgraph.engines[NTK_ISA_ENGINE_POOL].name_count = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_POOL, &iota);
    engine_fixture_emit(f, NTK_ISA_ENGINE_POOL, &print);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK); /* without a listener */

    f->printer = &printer;
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    f->printer = NULL;
    assert_int_equal(printed.count, 1);
    assert_int_equal(printed.event.pipe, 7);
    assert_string_equal(printed.prefix, "x of layer 3");
    assert_string_equal(printed.dtype, "int32");
    assert_int_equal(printed.event.shape[0], 3);
    assert_int_equal(printed.event.shape[1], 2);
    assert_int_equal(printed.event.shape[2], 4);
    assert_int_equal(printed.event.shape[3], 0);
    for (int i = 0; i < 24; i++) {
        assert_int_equal(printed.values[i], i / 8 * 100 + i % 8 * 2);
    }
}

/* By hand, for NC-v2: ten slots of 64 cycles at 1400 MHz take 457143 ps; 64 KiB in runs of 512
 * bytes over 16 engines of 17 B/ns at efficiency 0.16 take 1505883 ps after 1300000. */
static void an_opaque_program_takes_its_estimated_time_and_outputs_zeros(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t queue = engine_fixture_queue(f, 16);
    uint32_t y = engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 65536);
    struct ntk_neff_transfer *transfer = engine_fixture_group(f, NTK_ISA_ENGINE_SP, queue, 0, 9);
    uint8_t *memory = engine_fixture_memory(f, y);

    transfer->to = (struct ntk_neff_pattern){ .var = y,
                                              .dtype = NTK_DTYPE_UINT8,
                                              .dim_count = 2,
                                              .steps = { 1, 512 },
                                              .sizes = { 512, 128 } };
    transfer->from[0] = (struct ntk_neff_pattern){
        .dtype = NTK_DTYPE_UINT8, .dim_count = 2, .steps = { 1, 262144 }, .sizes = { 512, 128 }
    };
    memset(f->code[NTK_ISA_ENGINE_PE], 0x5a, 640);
    f->subgraph.engines[NTK_ISA_ENGINE_PE].code = f->code[NTK_ISA_ENGINE_PE];
    f->subgraph.engines[NTK_ISA_ENGINE_PE].code_bytes = 640;
    f->subgraph.engines[NTK_ISA_ENGINE_PE].is_empty = false;
    f->subgraph.engines[NTK_ISA_ENGINE_PE].nsx_version = 0;
    assert_int_equal(engine_fixture_make(f), -ENOTSUP);

    memset(memory, 7, 65536);
    assert_int_equal(
        ntk_engine_program_create_opaque(f->generation, &f->subgraph, &f->program, &f->err), 0);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_int_equal(f->result.duration_ns, (457143 + 1300000 + 1505883 + 999) / 1000);
    assert_int_equal(f->result.instruction_count[NTK_ISA_ENGINE_PE], 0);
    for (size_t i = 0; i < 65536; i++) {
        assert_int_equal(memory[i], 0);
    }
    assert_int_equal(engine_fixture_run(f, NULL, 2000), NTK_RUN_TIMEOUT);
    assert_int_equal(f->result.duration_ns, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(the_timeline_is_the_same_in_twenty_runs),
        RUN_TEST(threads_that_share_a_program_receive_equal_timelines_and_results),
        RUN_TEST(the_memory_of_a_reset_core_is_zero),
        RUN_TEST(slowdown_factors_change_only_the_durations),
        RUN_TEST(device_print_sends_the_tensor_to_its_listener),
        RUN_TEST(an_opaque_program_takes_its_estimated_time_and_outputs_zeros),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
