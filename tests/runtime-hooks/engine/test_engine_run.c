/* SPDX-License-Identifier: MIT */
/*
 * The event loop: what starts when, what it costs, what it counts, how it ends. Times are computed
 * here from the figures of docs/cost-model.md for NC-v2: clocks 2800 (tensor), 1400 (activation,
 * pool, sync), 1120 MHz (vector); 17 bytes per ns and DMA engine; 1300 ns from trigger to first
 * byte.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "tests/runtime-hooks/engine/engine_fixture.h"
#include "tests/support/unit.h"

#define CYCLE_64_AT_1400_PS 45714 /* 64 / 1.4 GHz */
#define CYCLE_64_AT_1120_PS 57143
#define DMA_LATENCY_PS 1300000

static int set_up(void **state)
{
    struct engine_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    engine_fixture_init(f, 2);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    engine_fixture_fini(*state);
    free(*state);
    return 0;
}

/* Everything a trace can tell, in order. */
struct record {
    char kind;
    uint32_t engine, number, value;
    uint64_t start_ps, end_ps, wait_ps, bytes;
};

#define RECORDS 4096
struct log {
    struct record records[RECORDS];
    size_t count;
};

static struct record *log_add(struct log *log)
{
    assert_true(log->count < RECORDS);
    return &log->records[log->count++];
}

static void log_instruction(const struct ntk_engine_instruction_event *e, void *ctx)
{
    *log_add(ctx) = (struct record){ 'i',         e->engine, e->slot,    e->opcode,
                                     e->start_ps, e->end_ps, e->wait_ps, 0 };
}

static void log_dma(const struct ntk_engine_dma_event *e, void *ctx)
{
    *log_add(ctx) = (struct record){ 'd',         e->dma_engine, e->queue, e->group,
                                     e->start_ps, e->end_ps,     0,        e->write_bytes };
}

static void log_semaphore(const struct ntk_engine_semaphore_event *e, void *ctx)
{
    *log_add(ctx) = (struct record){
        e->is_event ? 'e' : 's', e->engine, e->number, e->value, e->time_ps, 0, 0, 0
    };
}

static struct ntk_engine_trace trace_into(struct log *log)
{
    log->count = 0;
    return (struct ntk_engine_trace){
        .instruction = log_instruction, .dma = log_dma, .semaphore = log_semaphore, .ctx = log
    };
}

static struct ntk_isa_instr nop(uint32_t cycles)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NOP);

    instr.imm[0] = cycles;
    return instr;
}

static struct ntk_isa_instr memset_of(uint32_t elements)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_MEMSET);

    instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 1, elements, NTK_DTYPE_FLOAT32);
    return instr;
}

/* --- time ------------------------------------------------------------------------------------- */

static void instructions_of_one_engine_follow_each_other(void **state)
{
    struct engine_fixture *f = *state;
    struct log log;
    struct ntk_engine_trace trace = trace_into(&log);
    struct ntk_isa_instr instr = memset_of(1120);

    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    instr = memset_of(10);
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
    assert_int_equal(log.count, 2);
    assert_int_equal(log.records[0].start_ps, 0);
    assert_int_equal(log.records[0].end_ps, 1000000);
    assert_int_equal(log.records[1].start_ps, 1000000);
    assert_int_equal(log.records[1].end_ps, 1000000 + CYCLE_64_AT_1120_PS);
    assert_int_equal(log.records[1].number, 2); /* one head, one operand before it */
    assert_int_equal(f->result.duration_ns, 1058);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_DVE], 1057);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_ACT], 0);
    assert_int_equal(f->result.instruction_count[NTK_ENGINE_DVE], 2);
}

static void engines_run_at_once_unless_semaphores_order_them(void **state)
{
    struct engine_fixture *f = *state;
    struct log log;
    struct ntk_engine_trace trace = trace_into(&log);
    struct ntk_isa_instr instr = nop(1400);

    instr.signal_semaphore = 8;
    instr.signal_value = 2;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &instr);
    instr = nop(700);
    engine_fixture_emit(f, NTK_ISA_ENGINE_PE, &instr); /* free of any order */
    instr = nop(140);
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
    assert_int_equal(log.records[3].kind, 's'); /* taken off by who waited */
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
    struct ntk_isa_instr instr = nop(140);

    instr.signal_semaphore = 9;
    instr.signal_value = 1;
    for (int i = 0; i < 3; i++) {
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &instr);
    }
    instr = nop(14);
    instr.wait_semaphore = 9;
    instr.wait_value = 2;
    instr.flags = NTK_ISA_FLAG_WAIT_EQUAL;
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &instr);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    instr.wait_value = 4; /* is never reached */
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &instr);
    assert_int_equal(engine_fixture_make(f), 0);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_DEADLOCK);
}

static void events_are_set_waited_for_and_cleared(void **state)
{
    struct engine_fixture *f = *state;
    struct log log;
    struct ntk_engine_trace trace = trace_into(&log);
    struct ntk_isa_instr sync = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE);
    struct ntk_isa_instr instr = nop(1400);

    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &instr);
    sync.imm[0] = NTK_ISA_SYNC_EVENT_SET;
    sync.imm[1] = 17;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &sync);
    instr = nop(14);
    instr.wait_semaphore = 17;
    instr.wait_value = 1;
    instr.flags = NTK_ISA_FLAG_WAIT_EVENT | NTK_ISA_FLAG_SIGNAL_EVENT;
    instr.signal_semaphore = 17;
    instr.signal_value = 0;
    engine_fixture_emit(f, NTK_ISA_ENGINE_POOL, &instr);
    instr = nop(14);
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
    struct log log;
    struct ntk_engine_trace trace = trace_into(&log);
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

static void a_transfer_is_split_over_queues_and_waits_for_its_engine(void **state)
{
    struct engine_fixture *f = *state;
    struct log log;
    struct ntk_engine_trace trace = trace_into(&log);
    uint32_t wide = engine_fixture_queue(f, 16);
    uint32_t narrow = engine_fixture_queue(f, 1);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 128 * 4096);
    uint64_t piece_ps = UINT64_C(128) * 4096 / 16 * 1000 / 17;
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    engine_fixture_load(f, wide, in, 0, 128, 4096);
    copy.queue = (uint16_t)narrow;
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(65536, 1, 4096, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(in, 0, 1, 0, 4096, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0].dim_count = 1;
    copy.operand[NTK_ISA_SRC0].dim[1] = (struct ntk_isa_dim){ 0 };
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
    for (unsigned q = 0; q < 16; q++) {
        const struct record *r = &log.records[1 + q];

        assert_int_equal(r->kind, 'd');
        assert_int_equal(r->engine, q);
        assert_int_equal(r->bytes, 128 * 4096 / 16);
        assert_int_equal(r->start_ps, CYCLE_64_AT_1400_PS + DMA_LATENCY_PS);
        assert_in_range(r->end_ps - r->start_ps, piece_ps, piece_ps + 1);
    }
    /* The second one is ready 64 cycles later and finds DMA engine 0 at work. */
    assert_int_equal(log.records[17].kind, 'i');
    assert_int_equal(log.records[18].kind, 'd');
    assert_int_equal(log.records[18].engine, 0);
    assert_int_equal(log.records[18].start_ps, log.records[1].end_ps);
    assert_int_equal(f->result.dma_transfer_count, 2);
    assert_int_equal(f->result.dma_bytes, 128 * 4096 + 4096);
    assert_int_equal(f->result.hbm_read_bytes, 128 * 4096 + 4096);
    assert_int_equal(f->result.hbm_write_bytes, 0);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_DMA],
                     (log.records[18].end_ps - log.records[1].start_ps) / 1000);
}

static void data_of_a_transfer_is_there_when_it_completes_not_before(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t queue = engine_fixture_queue(f, 16);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 4096);
    uint32_t early = engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 4096);
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

    memset(engine_fixture_memory(f, in), 0x5a, 4096);
    load.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 1, 4096, NTK_DTYPE_UINT8);
    load.operand[NTK_ISA_SRC0] = ntk_isa_var(in, 0, 1, 4096, 4096, NTK_DTYPE_UINT8);
    load.queue = (uint16_t)queue;
    load.signal_semaphore = 20; /* the instruction has ended, its data is under way */
    load.signal_value = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &load);
    copy.wait_semaphore = 20;
    copy.wait_value = 1;
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(8192, 1, 4096, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 1, 4096, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &copy);
    copy = nop(1400 * 10);
    engine_fixture_step(f, NTK_ISA_ENGINE_SP, copy); /* 10 us, then all has arrived */
    engine_fixture_store(f, queue, early, 8192, 1, 4096);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_int_equal(*(uint8_t *)engine_fixture_memory(f, early), 0);
}

static void groups_start_by_id_and_add_the_number_of_queues(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t queue = engine_fixture_queue(f, 4);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 1024);
    uint32_t out = engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 1024);
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct ntk_isa_instr wait = nop(14);

    for (uint32_t half = 0; half < 2; half++) { /* two groups of one id */
        struct ntk_neff_transfer *t = engine_fixture_group(f, NTK_ISA_ENGINE_ACT, queue, 5, 30);
        struct ntk_neff_pattern *from = t->from;

        from->var = in;
        from->dtype = t->to.dtype = NTK_DTYPE_UINT8;
        from->offset = t->to.offset = (uint64_t)512 * half;
        from->dim_count = t->to.dim_count = 1;
        from->steps[0] = t->to.steps[0] = 1;
        from->sizes[0] = t->to.sizes[0] = 512;
        t->to.var = out;
    }
    for (int i = 0; i < 1024; i++) {
        ((uint8_t *)engine_fixture_memory(f, in))[i] = (uint8_t)(i * 7);
    }
    trigger.queue = (uint16_t)queue;
    trigger.group_id = 5;
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &trigger);
    wait.wait_semaphore = 30;
    wait.wait_value = 8; /* two groups of four queues */
    wait.flags = NTK_ISA_FLAG_WAIT_EQUAL;
    engine_fixture_emit(f, NTK_ISA_ENGINE_PE, &wait);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_memory_equal(engine_fixture_memory(f, in), engine_fixture_memory(f, out), 1024);
    assert_int_equal(f->result.hbm_read_bytes, 1024);
    assert_int_equal(f->result.hbm_write_bytes, 1024);

    trigger.group_id = 6;
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &trigger);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text, "Activation slot 1: queue set 0 has no DMA group 6");
    assert_int_equal(f->err.offset, 64);
}

static void descriptors_reach_the_state_buffer_by_partition_and_offset(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t queue = engine_fixture_queue(f, 16);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 100 * 64);
    uint32_t out = engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 100 * 64);
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct ntk_isa_instr wait = nop(14);
    struct ntk_neff_transfer *t = engine_fixture_group(f, NTK_ISA_ENGINE_SP, queue, 1, 40);
    uint8_t *bytes = engine_fixture_memory(f, in);

    for (int i = 0; i < 6400; i++) {
        bytes[i] = (uint8_t)(i * 31 + i / 256);
    }
    t->from->var = in;
    t->from->dtype = t->to.dtype = NTK_DTYPE_UINT8;
    t->from->dim_count = 1;
    t->from->steps[0] = 1;
    t->from->sizes[0] = 6400;
    t->to.var = 0;
    t->to.offset = 20 * NTK_NEFF_SBUF_PARTITION_STEP + 196608 - 64; /* the end of partition 20 */
    t->to.dim_count = 2;
    t->to.steps[0] = 1;
    t->to.steps[1] = (int64_t)NTK_NEFF_SBUF_PARTITION_STEP;
    t->to.sizes[0] = 64;
    t->to.sizes[1] = 100;
    trigger.queue = (uint16_t)queue;
    trigger.group_id = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
    wait.wait_semaphore = 40;
    wait.wait_value = 16;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &wait);
    {
        struct ntk_isa_instr store = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

        store.queue = (uint16_t)queue;
        store.operand[NTK_ISA_DST] = ntk_isa_var(out, 0, 100, 64, 64, NTK_DTYPE_UINT8);
        store.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(196608 - 64, 100, 64, NTK_DTYPE_UINT8);
        store.operand[NTK_ISA_SRC0].partition_start = 20;
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &store);
    }
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_memory_equal(engine_fixture_memory(f, out), bytes, 6400);

    t->to.sizes[1] = 109; /* one partition too many */
    t->from->sizes[0] = 64 * 109;
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    t->to.sizes[1] = 100;
    t->to.offset++; /* one byte too far */
    t->from->sizes[0] = 6400;
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text, "SP slot 0: DMA group 1, transfer 0: to: leaves the state "
                                     "buffer or one of its partitions");
}

/* --- indirect --------------------------------------------------------------------------------- */

static enum ntk_engine_outcome gather(struct engine_fixture *f, const int32_t *indices,
                                      uint8_t flags, uint32_t max, float *out_rows)
{
    uint32_t queue = 0;
    uint32_t table = 1;
    uint32_t index = 2;
    uint32_t out = 3;
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_INDIRECT_COPY);
    enum ntk_engine_outcome outcome;

    engine_fixture_clear(f);
    for (int i = 0; i < 40; i++) {
        ((float *)engine_fixture_memory(f, table))[i] = (float)i;
    }
    memset(engine_fixture_memory(f, out), 0, 4 * 16);
    memcpy(engine_fixture_memory(f, index), indices, 16);
    engine_fixture_load(f, queue, index, 0, 4, 4);
    engine_fixture_load(f, queue, out, 4096, 4, 16); /* zeros */
    copy.queue = (uint16_t)queue;
    copy.op_flags = flags;
    copy.imm[0] = 16;
    copy.imm[1] = max;
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(4096, 4, 4, NTK_DTYPE_FLOAT32);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(table, 0, 1, 4, 4, NTK_DTYPE_FLOAT32);
    copy.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(0, 4, 1, NTK_DTYPE_INT32);
    engine_fixture_step(f, NTK_ISA_ENGINE_SP, copy);
    engine_fixture_store(f, queue, out, 4096, 4, 16);
    outcome = engine_fixture_run(f, NULL, 0);
    memcpy(out_rows, engine_fixture_memory(f, out), 64);
    return outcome;
}

static void an_indirect_copy_gathers_rows_and_stops_or_skips_out_of_bounds(void **state)
{
    struct engine_fixture *f = *state;
    float rows[16];

    engine_fixture_queue(f, 16);
    engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 160);
    engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 16);
    engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 64);
    assert_int_equal(gather(f, (int32_t[]){ 9, 0, 3, 3 }, NTK_ISA_OPF_BOUNDS, 9, rows), NTK_RUN_OK);
    for (int i = 0; i < 16; i++) {
        const int expected[] = { 9, 0, 3, 3 };
        int value = expected[i / 4] * 4 + i % 4;

        assert_true(rows[i] == (float)value);
    }
    assert_int_equal(gather(f, (int32_t[]){ 9, 10, 3, 3 }, NTK_ISA_OPF_BOUNDS, 9, rows),
                     NTK_RUN_OUT_OF_BOUNDS);
    assert_int_equal(f->result.fault_engine, NTK_ENGINE_DMA);
    assert_int_equal(
        gather(f, (int32_t[]){ 1, -1, 2, 100 }, NTK_ISA_OPF_BOUNDS | NTK_ISA_OPF_OOB_SKIP, 9, rows),
        NTK_RUN_OK);
    assert_true(rows[0] == 4 && rows[4] == 0 && rows[7] == 0 && rows[8] == 8 && rows[12] == 0);
    /* Bounds that lie: the row would leave the variable. */
    assert_int_equal(gather(f, (int32_t[]){ 1, 10, 2, 3 },
                            NTK_ISA_OPF_BOUNDS | NTK_ISA_OPF_OOB_SKIP, 1000, rows),
                     NTK_RUN_OUT_OF_BOUNDS);
    assert_int_equal(gather(f, (int32_t[]){ 1, INT32_MIN, 2, 3 }, 0, 0, rows),
                     NTK_RUN_OUT_OF_BOUNDS);
    assert_int_equal(gather(f, (int32_t[]){ 1, INT32_MAX, 2, 3 }, 0, 0, rows),
                     NTK_RUN_OUT_OF_BOUNDS);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void a_program_that_can_never_go_on_is_found_at_once(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = nop(100);

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

/* Method: ACT waits for DVE, which waits for a semaphore of its own that nobody signals. */
static void a_deadlock_names_the_engine_that_the_others_wait_for(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = nop(100);

    instr.wait_semaphore = 50;
    instr.wait_value = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &instr);
    instr = nop(100);
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    instr.wait_semaphore = 51;
    instr.wait_value = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    instr = nop(100);
    instr.signal_semaphore = 50;
    instr.signal_value = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_DEADLOCK);
    assert_int_equal(f->result.engines_not_done, 1 << NTK_ENGINE_ACT | 1 << NTK_ENGINE_DVE);
    assert_int_equal(f->result.fault_engine, NTK_ENGINE_DVE);
    assert_int_equal(f->result.fault_slot, 1);
}

/* Method: each of two engines waits for the other: the first is named. */
static void of_engines_that_wait_for_each_other_the_first_is_named(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = nop(100);

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

static void a_run_ends_at_its_limit_of_device_time(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = nop(1400000);

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

static void five_seconds_of_device_time_cost_nothing_on_the_host(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = nop(0);

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
    /* Bytes of zeros only are empty too. */
    f->subgraph.engines[0].code_bytes = 128;
    assert_int_equal(engine_fixture_make(f), 0);
    ntk_engine_program_info_get(f->program, &info);
    assert_true(info.is_empty);
    assert_int_equal(info.slot_count[0], 2);
}

static void memory_that_does_not_fit_the_program_is_bad_input(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t queue = engine_fixture_queue(f, 16);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 4096);
    uint32_t unused = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 4096);

    engine_fixture_load(f, queue, in, 0, 1, 4096);
    f->bindings[unused].size = 0; /* the program does not care */
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    f->bindings[in].size = 4095;
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_BAD_INPUT);
    assert_string_equal(f->err.text, "variable 1 has 4095 bytes, the program needs 4096");
    f->bindings[in].size = 4096;
    free(f->bindings[in].bytes);
    f->bindings[in].bytes = NULL;
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_BAD_INPUT);
}

static void a_vendors_binary_and_a_later_encoding_are_refused(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = nop(1);

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
    struct ntk_isa_instr instr = memset_of(1);
    struct ntk_engine_run_options options = { .bindings = f->bindings, .binding_count = 1 };

    instr.operand[NTK_ISA_DST].offset = 200 * 1024; /* beyond 192 KiB, within 224 KiB */
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &instr);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    f->generation = 3;
    assert_int_equal(engine_fixture_make(f), 0);
    assert_int_equal(ntk_engine_run(f->core, f->program, &options, &f->result, &f->err), -EINVAL);
}

/* --- determinism ------------------------------------------------------------------------------ */

/* Loads, matmuls, vector work and stores on all engines with waits between them. */
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
        struct ntk_isa_instr free_running = memset_of(777);

        engine_fixture_load(f, queue, in, 0, 128, 2048);
        matmul.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, 512, NTK_DTYPE_FLOAT32);
        matmul.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_FLOAT32);
        matmul.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(0, 128, 512, NTK_DTYPE_FLOAT32);
        engine_fixture_step(f, NTK_ISA_ENGINE_PE, matmul);
        act.operand[NTK_ISA_DST] = ntk_isa_sbuf(8192, 128, 512, NTK_DTYPE_FLOAT32);
        act.operand[NTK_ISA_SRC0] = ntk_isa_psum(0, 128, 512, NTK_DTYPE_FLOAT32);
        act.act = NTK_ISA_ACT_GELU;
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
    struct log *first = calloc(2, sizeof *first);
    struct log *again = first + 1;
    struct ntk_engine_result result;

    mixed_program(f);
    {
        struct ntk_engine_trace trace = trace_into(first);

        assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
        result = f->result;
        assert_true(first->count > 100);
    }
    for (int i = 0; i < 20; i++) {
        struct ntk_engine_trace trace = trace_into(again);

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
    struct log log;
    struct ntk_engine_result result;
    int ret;
};

static void *run_job(void *arg)
{
    struct job *job = arg;
    struct ntk_engine_core *core = NULL;
    struct ntk_engine_trace trace = trace_into(&job->log);
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

static void threads_that_share_a_program_see_one_timeline_and_one_result(void **state)
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

static void a_reset_core_is_zero_again(void **state)
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

/* Of a run whose engines, or whose transfers with device memory, take so many times as long. */
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

static void a_slow_core_is_slow_where_it_is_and_computes_the_same(void **state)
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

static void a_range_of_semaphores_is_cleared_and_no_more(void **state)
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
    for (uint32_t s = 20; s < 26; s++) { /* each waits for exactly what must be there */
        struct ntk_isa_instr wait = ntk_isa_instr_make(NTK_ISA_OP_DRAIN);

        wait.wait_semaphore = (uint16_t)s;
        wait.wait_value = s == 20 || s == 25 ? 5 : 0;
        wait.flags = NTK_ISA_FLAG_WAIT_EQUAL;
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &wait);
    }
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
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

static void a_printed_tensor_reaches_whoever_asked_for_it(void **state)
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
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK); /* nobody listens */

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

static void the_first_generation_copies_bytes_and_nothing_else(void **state)
{
    struct engine_fixture *f = *state;

    for (int change = 0; change < 6; change++) {
        struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
        struct ntk_neff_transfer *t;
        struct ntk_neff_dma_group *group;
        uint32_t x;

        engine_fixture_fini(f);
        memset(f, 0, sizeof *f);
        engine_fixture_init(f, 1);
        trigger.queue = (uint16_t)engine_fixture_queue(f, 1);
        x = engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 64);
        t = engine_fixture_group(f, NTK_ISA_ENGINE_SP, trigger.queue, 0, 9);
        group = &f->groups[NTK_ISA_ENGINE_SP][0];
        t->to = (struct ntk_neff_pattern){
            .var = x, .dtype = NTK_DTYPE_UINT8, .dim_count = 1, .steps = { 1 }, .sizes = { 64 }
        };
        t->from[0] = t->to;
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
        t->op = change == 1 ? NTK_NEFF_TRANSFER_ADD : NTK_NEFF_TRANSFER_COPY;
        t->to.dtype = t->from[0].dtype = change == 2 ? NTK_DTYPE_INT8 : NTK_DTYPE_UINT8;
        group->instance = change == 3 ? "swapped" : NULL;
        group->function_start = change == 4 ? "f" : "";
        group->section_start = change == 5;
        if (change == 0) {
            if (engine_fixture_make(f) != 0) {
                fail_msg("%s", f->err.text);
            }
        } else {
            assert_int_equal(engine_fixture_make(f), -EBADMSG);
            assert_string_equal(f->err.text,
                                "SP slot 0: DMA group 0 does more than copy, which NC-v1 cannot");
        }
    }
}

/* By hand, for NC-v2: ten slots of 64 cycles at 1400 MHz are 457143 ps; 64 KiB in runs of 512 bytes
 * over 16 engines of 17 B/ns at efficiency 0.16 take 1505883 ps after 1300000. */
static void an_opaque_program_takes_its_estimate_and_zeroes_its_outputs(void **state)
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(instructions_of_one_engine_follow_each_other),
        TEST(engines_run_at_once_unless_semaphores_order_them),
        TEST(a_wait_for_equal_passes_only_at_that_value),
        TEST(a_range_of_semaphores_is_cleared_and_no_more),
        TEST(a_printed_tensor_reaches_whoever_asked_for_it),
        TEST(the_first_generation_copies_bytes_and_nothing_else),
        TEST(an_opaque_program_takes_its_estimate_and_zeroes_its_outputs),
        TEST(events_are_set_waited_for_and_cleared),
        TEST(event_semaphore_adds_subtracts_and_writes),
        TEST(a_transfer_is_split_over_queues_and_waits_for_its_engine),
        TEST(data_of_a_transfer_is_there_when_it_completes_not_before),
        TEST(groups_start_by_id_and_add_the_number_of_queues),
        TEST(descriptors_reach_the_state_buffer_by_partition_and_offset),
        TEST(an_indirect_copy_gathers_rows_and_stops_or_skips_out_of_bounds),
        TEST(a_program_that_can_never_go_on_is_found_at_once),
        TEST(a_deadlock_names_the_engine_that_the_others_wait_for),
        TEST(of_engines_that_wait_for_each_other_the_first_is_named),
        TEST(a_run_ends_at_its_limit_of_device_time),
        TEST(five_seconds_of_device_time_cost_nothing_on_the_host),
        TEST(an_empty_program_takes_no_time),
        TEST(memory_that_does_not_fit_the_program_is_bad_input),
        TEST(a_vendors_binary_and_a_later_encoding_are_refused),
        TEST(a_core_runs_only_programs_of_its_generation),
        TEST(the_timeline_is_the_same_in_twenty_runs),
        TEST(threads_that_share_a_program_see_one_timeline_and_one_result),
        TEST(a_reset_core_is_zero_again),
        TEST(a_slow_core_is_slow_where_it_is_and_computes_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
