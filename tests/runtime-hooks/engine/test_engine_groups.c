/* SPDX-License-Identifier: MIT */
/* Groups of transfers in the event loop: queues, arrival of data, descriptors, indices. */
#include <errno.h>
#include <string.h>

#include "tests/runtime-hooks/engine/run_fixture.h"
#include "tests/support/unit.h"

static void a_transfer_is_split_over_queues_and_waits_for_a_busy_dma_engine(void **state)
{
    struct engine_fixture *f = *state;
    struct run_log log;
    struct ntk_engine_trace trace = run_log_trace(&log);
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
        const struct run_record *r = &log.records[1 + q];

        assert_int_equal(r->kind, 'd');
        assert_int_equal(r->engine, q);
        assert_int_equal(r->bytes, 128 * 4096 / 16);
        assert_int_equal(r->start_ps, CYCLE_64_AT_1400_PS + DMA_LATENCY_PS);
        assert_in_range(r->end_ps - r->start_ps, piece_ps, piece_ps + 1);
    }
    /* The second one is ready 64 cycles later, when DMA engine 0 is busy. */
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

static void transfer_data_is_visible_only_after_completion(void **state)
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
    load.signal_semaphore = 20; /* the instruction has ended, its data is in flight */
    load.signal_value = 1;
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &load);
    copy.wait_semaphore = 20;
    copy.wait_value = 1;
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(8192, 1, 4096, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 1, 4096, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_DVE, &copy);
    copy = run_nop(1400 * 10);
    engine_fixture_step(f, NTK_ISA_ENGINE_SP, copy); /* after 10 us everything has arrived */
    engine_fixture_store(f, queue, early, 8192, 1, 4096);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_int_equal(*(uint8_t *)engine_fixture_memory(f, early), 0);
}

static void dma_groups_are_started_by_id_and_signal_the_queue_count(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t queue = engine_fixture_queue(f, 4);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 1024);
    uint32_t out = engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 1024);
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct ntk_isa_instr wait = run_nop(14);

    for (uint32_t half = 0; half < 2; half++) { /* two groups with the same id */
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

static void descriptors_address_the_state_buffer_by_partition_and_offset(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t queue = engine_fixture_queue(f, 16);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 100 * 64);
    uint32_t out = engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 100 * 64);
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct ntk_isa_instr wait = run_nop(14);
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

    t->to.sizes[1] = 109; /* one partition beyond the limit */
    t->from->sizes[0] = 64 * 109;
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    t->to.sizes[1] = 100;
    t->to.offset++; /* one byte too far */
    t->from->sizes[0] = 6400;
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text, "SP slot 0: DMA group 1, transfer 0: to: exceeds the state "
                                     "buffer or one of its partitions");
}

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
    /* Wrong bounds: the row would exceed the variable. */
    assert_int_equal(gather(f, (int32_t[]){ 1, 10, 2, 3 },
                            NTK_ISA_OPF_BOUNDS | NTK_ISA_OPF_OOB_SKIP, 1000, rows),
                     NTK_RUN_OUT_OF_BOUNDS);
    assert_int_equal(gather(f, (int32_t[]){ 1, INT32_MIN, 2, 3 }, 0, 0, rows),
                     NTK_RUN_OUT_OF_BOUNDS);
    assert_int_equal(gather(f, (int32_t[]){ 1, INT32_MAX, 2, 3 }, 0, 0, rows),
                     NTK_RUN_OUT_OF_BOUNDS);
}

static void first_generation_dma_only_copies_bytes(void **state)
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
            assert_string_equal(
                f->err.text,
                "SP slot 0: DMA group 0 does more than copy, which NC-v1 does not support");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(a_transfer_is_split_over_queues_and_waits_for_a_busy_dma_engine),
        RUN_TEST(transfer_data_is_visible_only_after_completion),
        RUN_TEST(dma_groups_are_started_by_id_and_signal_the_queue_count),
        RUN_TEST(descriptors_address_the_state_buffer_by_partition_and_offset),
        RUN_TEST(an_indirect_copy_gathers_rows_and_stops_or_skips_out_of_bounds),
        RUN_TEST(first_generation_dma_only_copies_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
