/* SPDX-License-Identifier: MIT */
/*
 * Properties of queue sets and groups in a file, other than transfers: pinned groups that are moved
 * when the model starts, and the queue of a group.
 */
#include <errno.h>
#include <string.h>

#include "tests/runtime-hooks/engine/engine_fixture.h"
#include "tests/support/unit.h"

enum { PARTITIONS = 16, ROW = 256, BYTES = PARTITIONS * ROW, SBUF_AT = 512 };

#define LATENCY_NS 1300

static struct engine_fixture fixture;

static int setup_v1(void **state)
{
    memset(&fixture, 0, sizeof fixture);
    engine_fixture_init(&fixture, 1);
    *state = &fixture;
    return 0;
}

static int setup_v2(void **state)
{
    memset(&fixture, 0, sizeof fixture);
    engine_fixture_init(&fixture, 2);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    engine_fixture_fini(*state);
    return 0;
}

/* A group that moves a variable to the state buffer. */
static struct ntk_neff_dma_group *group_add(struct engine_fixture *f, uint32_t queue, uint32_t id,
                                            uint32_t var)
{
    struct ntk_neff_transfer *t =
        engine_fixture_group(f, NTK_ISA_ENGINE_SP, queue, id, NTK_ISA_NO_SEMAPHORE);

    t->from[0] = (struct ntk_neff_pattern){ .var = var,
                                            .dtype = NTK_DTYPE_UINT8,
                                            .dim_count = 2,
                                            .steps = { 1, ROW },
                                            .sizes = { ROW, PARTITIONS } };
    t->to = t->from[0];
    t->to.var = 0;
    t->to.offset = SBUF_AT;
    t->to.steps[1] = NTK_NEFF_SBUF_PARTITION_STEP;
    return &f->groups[NTK_ISA_ENGINE_SP][f->subgraph.engines[NTK_ISA_ENGINE_SP].group_count - 1];
}

struct pinned {
    uint32_t queue, constant, y;
};

/* A pinned constant, and a program that writes it to y. */
static struct pinned pinned_make(struct engine_fixture *f)
{
    struct pinned p = { .queue = engine_fixture_queue(f, 1) };
    uint32_t queue = engine_fixture_queue(f, 1);

    f->queue_sets[p.queue].pinned = true;
    f->queue_sets[p.queue].name = "qPinned0";
    p.constant = engine_fixture_var(f, NTK_NEFF_VAR_FILE, BYTES);
    p.y = engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, BYTES);
    (void)group_add(f, p.queue, 0, p.constant);
    engine_fixture_store(f, queue, p.y, SBUF_AT, PARTITIONS, ROW);
    return p;
}

static void run(struct engine_fixture *f, bool is_start)
{
    const struct ntk_engine_run_options options = { .bindings = f->bindings,
                                                    .binding_count = FIXTURE_VARS,
                                                    .is_start = is_start };

    assert_int_equal(ntk_engine_run(f->core, f->program, &options, &f->result, &f->err), 0);
    assert_int_equal(f->result.outcome, NTK_RUN_OK);
}

static size_t count_of(const void *memory, uint8_t value)
{
    size_t count = 0;

    for (size_t i = 0; i < BYTES; i++) {
        count += ((const uint8_t *)memory)[i] == value;
    }
    return count;
}

static void pinned_groups_are_transferred_only_when_the_model_starts(void **state)
{
    struct engine_fixture *f = *state;
    struct pinned p = pinned_make(f);

    memset(engine_fixture_memory(f, p.constant), 7, BYTES);
    if (engine_fixture_make(f) < 0) {
        fail_msg("%s", f->err.text);
    }
    run(f, true);
    assert_int_equal(count_of(engine_fixture_memory(f, p.y), 7), BYTES);
    assert_int_equal(f->result.dma_transfer_count, 2);
    assert_int_equal(f->result.hbm_read_bytes, BYTES);
    uint64_t first_ns = f->result.duration_ns;

    memset(engine_fixture_memory(f, p.constant), 9, BYTES);
    memset(engine_fixture_memory(f, p.y), 0, BYTES);
    run(f, false);
    assert_int_equal(count_of(engine_fixture_memory(f, p.y), 7), BYTES);
    assert_int_equal(f->result.dma_transfer_count, 1);
    assert_int_equal(f->result.hbm_read_bytes, 0);
    /* The program waits until the data has arrived: its latency and 4 KiB at a tenth of 17 B/ns. */
    assert_int_equal(first_ns - f->result.duration_ns, LATENCY_NS + BYTES * 10 / 17);

    run(f, true);
    assert_int_equal(count_of(engine_fixture_memory(f, p.y), 9), BYTES);
}

static void pinned_groups_of_an_engine_without_instructions_are_transferred(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t pinned = engine_fixture_queue(f, 1);
    uint32_t constant = engine_fixture_var(f, NTK_NEFF_VAR_FILE, BYTES);

    f->queue_sets[pinned].pinned = true;
    (void)group_add(f, pinned, 0, constant);
    assert_int_equal(engine_fixture_make(f), 0);
    run(f, true);
    assert_int_equal(f->result.dma_bytes, BYTES);
    run(f, false);
    assert_int_equal(f->result.dma_bytes, 0);
}

static void queues_that_cannot_be_pinned_are_rejected(void **state)
{
    static const char *const sentences[] = {
        "group 0 of pinned queue set 'qPinned0': it cannot signal a semaphore or event: it runs "
        "before the program",
        "group 0 of pinned queue set 'qPinned0': it cannot signal a semaphore or event: it runs "
        "before the program",
        "group 0 of pinned queue set 'qPinned0': it must write to the state buffer, but writes to "
        "y",
        "group 0 of pinned queue set 'qPinned0': it must read a constant, but reads y",
        ("SP slot 3: queue set 'qPinned0' is pinned: its groups move only when the model starts"),
        "group 0 of pinned queue set 'qPinned0': DMA group 0 does more than copy, which NC-v1 does "
        "not support",
        "queue set 'qPinned0' is pinned: only NC-v1 supports that",
    };
    struct engine_fixture *f = *state;

    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
        struct pinned p = pinned_make(f);
        struct ntk_neff_dma_group *group = &f->groups[NTK_ISA_ENGINE_SP][0];

        f->vars[p.y].name = "y";
        group->semaphore = i == 0 ? 9 : NTK_NEFF_NONE;
        group->event = i == 1 ? 9 : NTK_NEFF_NONE;
        if (i == 2) {
            group->transfers[0].to = group->transfers[0].from[0];
            group->transfers[0].to.var = p.y;
        }
        group->transfers[0].from[0].var = i == 3 ? p.y : p.constant;
        trigger.queue = (uint16_t)p.queue;
        if (i == 4) {
            engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
        }
        group->transfers[0].op = i == 5 ? NTK_NEFF_TRANSFER_ADD : NTK_NEFF_TRANSFER_COPY;
        f->generation = i == 6 ? 2 : 1;
        assert_int_equal(engine_fixture_make(f), -EBADMSG);
        assert_string_equal(f->err.text, sentences[i]);
        engine_fixture_fini(f);
        memset(f, 0, sizeof *f);
        engine_fixture_init(f, 1);
    }
}

static void queue_note(const struct ntk_engine_dma_event *event, void *ctx)
{
    *(uint32_t *)ctx = event->queue;
}

/* Method: small groups that fit into one piece; checks their queue. */
static void the_first_group_of_a_section_uses_the_first_queue(void **state)
{
    struct engine_fixture *f = *state;
    uint32_t queue = engine_fixture_queue(f, 8);
    uint32_t in = engine_fixture_var(f, NTK_NEFF_VAR_INPUT, BYTES);
    uint32_t last = UINT32_MAX;
    const struct ntk_engine_trace trace = { .dma = queue_note, .ctx = &last };
    struct ntk_neff_dma_group *group = group_add(f, queue, 13, in);
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);

    group->transfers[0].to.sizes[1] = group->transfers[0].from[0].sizes[1] = 1;
    trigger.queue = (uint16_t)queue;
    trigger.group_id = 13;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
    assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
    assert_int_equal(last, 13 % 8);
    group->section_start = true;
    assert_int_equal(engine_fixture_make(f), 0);
    assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
    assert_int_equal(last, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pinned_groups_are_transferred_only_when_the_model_starts,
                                        setup_v1, teardown),
        cmocka_unit_test_setup_teardown(
            pinned_groups_of_an_engine_without_instructions_are_transferred, setup_v1, teardown),
        cmocka_unit_test_setup_teardown(queues_that_cannot_be_pinned_are_rejected, setup_v1,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_first_group_of_a_section_uses_the_first_queue, setup_v2,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
