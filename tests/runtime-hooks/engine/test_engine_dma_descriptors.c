/* SPDX-License-Identifier: MIT */
/* Descriptors of DMA: pointers, tables, writers, and what queue sets signal and swap. */
#include <errno.h>
#include <string.h>

#include "tests/runtime-hooks/engine/dma_model.h"
#include "tests/support/unit.h"

static void dma_instructions_and_descriptors_follow_pointers(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct ntk_neff_transfer *t;
    uint64_t address;

    memset(engine_fixture_memory(f, X), 7, VAR_BYTES);
    copy.operand[NTK_ISA_DST] = ntk_isa_var(Y, 100, 1, 0, 50, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(POINTER, 4000, 1, 0, 50, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &copy);
    t = engine_fixture_group(f, NTK_ISA_ENGINE_SP, QUEUE, 0, 0xffff);
    t->to = (struct ntk_neff_pattern){
        .var = Y, .dtype = NTK_DTYPE_UINT8, .dim_count = 1, .steps = { 1 }, .sizes = { 8 }
    };
    t->from[0] = t->to;
    t->from[0].var = POINTER;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    memcpy(&address, engine_fixture_memory(f, Y), 8);
    assert_true(address == f->bindings[X].device_address);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(((uint8_t *)engine_fixture_memory(f, Y))[100 + i], 7);
    }

    t->from[0].offset = 1; /* past the address */
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    t->from[0].offset = 0;
    t->from[0].var = X;
    t->to.var = POINTER;
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text,
                        "SP slot 0: DMA group 0, transfer 0: to: pointer 6 is not writable");
    engine_fixture_clear(f);
    copy.operand[NTK_ISA_SRC0].offset = VAR_BYTES - 49; /* outside of its target */
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    copy.operand[NTK_ISA_SRC0].offset = 0;
    engine_fixture_clear(f);
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &copy);
    f->vars[POINTER].referenced_var_id = POINTER; /* a cycle */
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(
        f->err.text, "Activation slot 0: source 0: pointer 6 refers to an object without memory");
}

static void a_pointer_table_requires_an_index_and_contains_only_variables(void **state)
{
    static uint32_t bad_list[] = { X, TABLE };
    struct engine_fixture *f = *state;
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 1, 50, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(TABLE, 0, 1, 0, 50, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text,
                        "SP slot 0: source 0: table 5 can only be accessed with an index");

    engine_fixture_clear(f);
    copy.op = NTK_ISA_OP_DMA_INDIRECT_COPY;
    copy.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(64, 1, 1, NTK_DTYPE_INT32);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), 0);
    f->vars[TABLE].list = bad_list;
    f->vars[TABLE].list_count = 2;
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    f->vars[TABLE].list_count = 0;
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text, "SP slot 0: source 0: table 5 is empty");
    f->vars[TABLE].list_count = 1;
    copy.imm[0] = 4;
    engine_fixture_clear(f);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
}

static int make_with(struct engine_fixture *f, enum ntk_isa_engine engine, enum ntk_isa_dge dge,
                     uint16_t queue)
{
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    copy.queue = queue;
    copy.op_flags = (uint8_t)((unsigned)dge << NTK_ISA_DGE_SHIFT);
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 100, 4, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(X, 0, 100, 4, 4, NTK_DTYPE_UINT8);
    engine_fixture_clear(f);
    engine_fixture_emit(f, engine, &copy);
    return engine_fixture_make(f);
}

static void descriptor_generation_requires_a_suitable_engine_and_queue(void **state)
{
    struct engine_fixture *f = *state;

    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        enum ntk_isa_engine engine = (enum ntk_isa_engine)e;

        assert_int_equal(make_with(f, engine, NTK_ISA_DGE_UNKNOWN, QUEUE), 0);
        assert_int_equal(make_with(f, engine, NTK_ISA_DGE_NONE, QUEUE), 0);
        assert_int_equal(make_with(f, engine, NTK_ISA_DGE_HARDWARE, DYNAMIC), 0);
        assert_int_equal(make_with(f, engine, NTK_ISA_DGE_HARDWARE, QUEUE), -EBADMSG);
        assert_int_equal(make_with(f, engine, NTK_ISA_DGE_SOFTWARE, DYNAMIC),
                         engine == NTK_ISA_ENGINE_POOL ? 0 : -EBADMSG);
    }
    assert_int_equal(make_with(f, NTK_ISA_ENGINE_SP, NTK_ISA_DGE_HARDWARE, DYNAMIC), 0);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_SP], 53); /* 64 cycles of 1.2 GHz */
    assert_int_equal(make_with(f, NTK_ISA_ENGINE_POOL, NTK_ISA_DGE_SOFTWARE, DYNAMIC), 0);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_POOL], 83); /* one of 100 rows per cycle */
    f->generation = 2;
    assert_int_equal(make_with(f, NTK_ISA_ENGINE_SP, NTK_ISA_DGE_HARDWARE, DYNAMIC), -EBADMSG);
    assert_string_equal(f->err.text, "SP slot 0: NCv2 has no hardware that writes descriptors");
    assert_int_equal(make_with(f, NTK_ISA_ENGINE_POOL, NTK_ISA_DGE_SOFTWARE, DYNAMIC), 0);
}

/* Method: one waiter per semaphore of the set, for two instructions each. */
static void instructions_without_a_semaphore_signal_their_queue_set(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_neff_queue_set *set = &f->queue_sets[DYNAMIC];
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    struct ntk_isa_instr wait = ntk_isa_instr_make(NTK_ISA_OP_NOP);

    set->semaphore_count = 16;
    for (int q = 0; q < 16; q++) {
        set->semaphores[q] = (uint16_t)(24 + q);
    }
    copy.queue = DYNAMIC;
    copy.op_flags = NTK_ISA_DGE_HARDWARE << NTK_ISA_DGE_SHIFT;
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 100, 4, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(X, 0, 100, 4, 4, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    for (int q = 0; q < 16; q++) {
        wait.wait_semaphore = (uint16_t)(24 + q);
        wait.wait_value = 2;
        wait.flags = NTK_ISA_FLAG_WAIT_EQUAL;
        engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &wait);
    }
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_true(f->result.duration_ns > 1300);

    copy.op_flags = NTK_ISA_DGE_NONE << NTK_ISA_DGE_SHIFT; /* not dynamic: signals nothing */
    engine_fixture_clear(f);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &wait);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_DEADLOCK);
}

struct starts {
    uint64_t first_ps[8], end_ps[8];
    uint32_t count;
};

static void on_dma(const struct ntk_engine_dma_event *event, void *ctx)
{
    struct starts *starts = ctx;

    starts->first_ps[starts->count] = event->start_ps;
    starts->end_ps[starts->count++] = event->end_ps;
}

static void an_idle_queue_set_swaps_the_rings_of_its_instances(void **state)
{
    static const char *names[] = { "ring0", "ring1" };
    struct engine_fixture *f = *state;
    struct starts starts = { .count = 0 };
    struct ntk_engine_trace trace = { .dma = on_dma, .ctx = &starts };
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    uint8_t *x = engine_fixture_memory(f, X);
    const uint8_t *y = engine_fixture_memory(f, Y);
    static const uint32_t order[] = { 1, 1, 2, 1 };

    f->queue_sets[QUEUE].queue_count = 2; /* two transfers could run in parallel */
    f->queue_sets[QUEUE].instances = names;
    f->queue_sets[QUEUE].instance_count = 2;
    for (int i = 0; i < VAR_BYTES; i++) {
        x[i] = (uint8_t)(i / 8);
    }
    /* Group 0 of each instance copies its own eight bytes. */
    for (uint32_t i = 0; i < 2; i++) {
        struct ntk_neff_transfer *t = engine_fixture_group(f, NTK_ISA_ENGINE_SP, QUEUE, 0, 0xffff);

        f->groups[NTK_ISA_ENGINE_SP][i].instance = names[i];
        t->to = (struct ntk_neff_pattern){
            .var = Y, .dtype = NTK_DTYPE_UINT8, .dim_count = 1, .steps = { 1 }, .sizes = { 8 }
        };
        t->to.offset = i * 8;
        t->from[0] = t->to;
        t->from[0].var = X;
        t->from[0].offset = 80 + i * 8;
    }
    for (int i = 0; i < 4; i++) {
        trigger.imm[0] = order[i];
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
    }
    assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
    assert_int_equal(starts.count, 4);
    assert_true(starts.first_ps[1] < starts.end_ps[0] + 1300000); /* same ring: starts at once */
    assert_true(starts.first_ps[2] >= starts.end_ps[1] + 1300000);
    assert_true(starts.first_ps[3] >= starts.end_ps[2] + 1300000);
    assert_int_equal(y[0], 10);
    assert_int_equal(y[8], 11);

    memset(engine_fixture_memory(f, Y), 0, 16); /* only the named instance */
    engine_fixture_clear(f);
    f->subgraph.engines[NTK_ISA_ENGINE_SP].group_count = 2;
    trigger.imm[0] = 2;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_int_equal(y[0], 0);
    assert_int_equal(y[8], 11);

    engine_fixture_clear(f);
    f->subgraph.engines[NTK_ISA_ENGINE_SP].group_count = 2;
    trigger.imm[0] = 3;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text, "SP slot 0: instance 3 of queue set 0 has no DMA group 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DMA_TEST(dma_instructions_and_descriptors_follow_pointers),
        DMA_TEST(a_pointer_table_requires_an_index_and_contains_only_variables),
        DMA_TEST(descriptor_generation_requires_a_suitable_engine_and_queue),
        DMA_TEST(instructions_without_a_semaphore_signal_their_queue_set),
        DMA_TEST(an_idle_queue_set_swaps_the_rings_of_its_instances),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
