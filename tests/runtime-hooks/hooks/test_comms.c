/* SPDX-License-Identifier: MIT */
/*
 * The process as a rank: its hooks write it, and another process reads it.
 * Method: a forked child attaches and calls; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <string.h>

#include "tests/runtime-hooks/hooks/hooks_fixture.h"
#include "tests/support/unit.h"

static struct ntk_ring_comm comms[NTK_SEGMENT_COMMS];

static size_t comms_read(struct hooks_fixture *f)
{
    return ntk_ring_segment_comms(hooks_fixture_segment(f), comms, NTK_SEGMENT_COMMS);
}

static const uint32_t group[] = { 0, 2, 4, 6 };
static const struct ntk_hooks_rank rank_4 = { .rendezvous = "10.0.0.1:46820",
                                              .world_rank = 4,
                                              .world_count = 8,
                                              .group = group,
                                              .group_count = 4 };

/* ---- operations that the host calls ---- */

static int child_gathers(struct observed *child, void *ctx)
{
    (void)ctx;
    observed_attach(0);
    ntk_hooks_comm comm = ntk_hooks_comm_join(&rank_4, 1);

    CHECK(comm != 0);
    for (int i = 0; i < 3; i++) {
        CHECK(ntk_hooks_collective_begin(comm, NTK_COLLECTIVE_ALL_GATHER, 10, 64) != 0);
        ntk_hooks_collective_end(comm, i == 2 ? 0 : 1000000, i == 2 ? 1200 : 0);
    }
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_collective_begin(comm, NTK_COLLECTIVE_BARRIER, 0, 0);
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_collective_end(comm, 0, 0);
    ntk_hooks_comm_leave(comm, true);
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_detach();
    return 0;
}

struct drained {
    struct ntk_slot slots[16];
    size_t count;
};

static void take(const struct ntk_ring_segment *segment, const struct ntk_slot *slots, size_t count,
                 void *ctx)
{
    struct drained *drained = ctx;

    (void)segment;
    for (size_t i = 0; i < count && drained->count < 16; i++) {
        if (slots[i].kind == NTK_EVENT_COLLECTIVE) {
            drained->slots[drained->count++] = slots[i];
        }
    }
}

static void operations_are_numbered_counted_and_recorded(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_gathers, NULL);
    struct drained drained = { .count = 0 };
    char text[64];

    (void)observed_receive(&child);
    assert_int_equal(comms_read(f), 1);
    const struct ntk_ring_comm *comm = &comms[0];
    assert_int_equal(comm->state, NTK_COMM_JOINED);
    assert_int_equal(comm->rank, 2);
    assert_int_equal(comm->rank_count, 4);
    assert_int_equal(comm->world_rank, 4);
    assert_int_equal(comm->world_count, 8);
    assert_int_equal(comm->core, 1);
    (void)ntk_ring_segment_text(hooks_fixture_segment(f), comm->name, text, sizeof text);
    assert_string_equal(text, "10.0.0.1:46820");
    (void)ntk_ring_segment_text(hooks_fixture_segment(f), comm->group, text, sizeof text);
    assert_string_equal(text, "0,2,4,6");
    assert_int_equal(comm->sequence, 3);
    assert_int_equal(comm->in_flight, 0);
    assert_int_equal(comm->count[NTK_COLLECTIVE_ALL_GATHER], 3);
    assert_int_equal(comm->errors, 1);
    assert_int_equal(comm->bytes_total, 128); /* of those that succeeded */
    assert_int_equal(comm->status, 1200);
    assert_true(comm->wait_ns > 0);

    (void)ntk_ring_segment_drain(hooks_fixture_segment(f), 0, take, &drained);
    assert_int_equal(drained.count, 3);
    assert_int_equal(drained.slots[2].flags, NTK_COLLECTIVE_ALL_GATHER | 10 << 8);
    assert_int_equal(drained.slots[2].word[2], 3);
    assert_int_equal(NTK_WORD_HI(drained.slots[2].word[1]), 1200);
    assert_int_equal(drained.slots[0].word[4], 1000000);

    observed_send(&child, 0);
    (void)observed_receive(&child);
    assert_int_equal(comms_read(f), 1);
    assert_int_equal(comm->sequence, 4);
    assert_int_equal(comm->in_flight, 1);
    assert_int_equal(comm->operation, NTK_COLLECTIVE_BARRIER);
    assert_int_equal(comm->tid, child.pid);
    uint64_t state_ns = comm->state_ns; /* it keeps growing */
    assert_int_equal(comms_read(f), 1);
    assert_true(comm->state_ns > state_ns);

    observed_send(&child, 0);
    (void)observed_receive(&child);
    assert_int_equal(comms_read(f), 1);
    assert_int_equal(comm->state, NTK_COMM_BROKEN);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* ---- executions of a model ---- */

static void execute(struct ntk_hooks_model_ref model, uint32_t status)
{
    struct ntk_hooks_exec exec = {
        .model = model, .call_start_ticks = ntk_hooks_now(), .status = status, .core_count = 1
    };

    exec.core_start_ticks = ntk_hooks_exec_begin(model, 0, 1);
    ntk_hooks_exec_end(&exec);
}

static int child_executes(struct observed *child, void *ctx)
{
    const struct ntk_hooks_rank rank = { .rendezvous = "a", .world_rank = 1, .world_count = 2 };
    const struct ntk_hooks_model model = {
        .id = 10001, .name = "m", .uuid = { 9 }, .core_count = 1, .rank = &rank
    };
    struct ntk_hooks_model_ref ref;
    struct ntk_hooks_exec never = { .core_count = 1 };

    (void)ctx;
    observed_attach(0);
    ntk_hooks_model_begin(&model, &ref);
    ntk_hooks_model_loaded(ref, ntk_hooks_now(), 0, 0);
    for (int i = 0; i < 5; i++) {
        execute(ref, 0);
    }
    (void)ntk_hooks_exec_begin(ref, 0, 1);
    never.model = ref;
    ntk_hooks_exec_cancel(&never); /* as if it had never been */
    (void)ntk_hooks_exec_begin(ref, 0, 1);
    (void)ntk_hooks_exec_begin(ref, 0, 1); /* two in a queue: the first is the current one */
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_exec_end(&never);
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_model_unloaded(ref, ntk_hooks_now(), 0);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void executions_of_a_multi_rank_model_count_as_operations(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_executes, NULL);
    const struct ntk_ring_comm *comm = &comms[0];

    (void)observed_receive(&child);
    assert_int_equal(comms_read(f), 1);
    assert_int_equal(comm->model, 10001);
    assert_int_equal(comm->rank, 1);
    assert_int_equal(comm->operation, NTK_COLLECTIVE_PROGRAM);
    assert_int_equal(comm->count[NTK_COLLECTIVE_PROGRAM], 5);
    assert_int_equal(comm->in_flight, 2);
    assert_int_equal(comm->sequence, 6); /* 7 waits after it */

    observed_send(&child, 0);
    (void)observed_receive(&child);
    assert_int_equal(comms_read(f), 1);
    assert_int_equal(comm->in_flight, 1);
    assert_int_equal(comm->sequence, 7);

    observed_send(&child, 0);
    (void)observed_receive(&child);
    assert_int_equal(comms_read(f), 1);
    assert_int_equal(comm->state, NTK_COMM_LEFT);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* ---- two with one key, and detaching ---- */

static int child_joins_twice(struct observed *child, void *ctx)
{
    const struct ntk_hooks_rank other = { .rendezvous = "a", .world_rank = 1, .world_count = 2 };
    const struct ntk_hooks_rank rank = { .rendezvous = "a", .world_rank = 0, .world_count = 2 };

    (void)ctx;
    observed_attach(0);
    ntk_hooks_comm first = ntk_hooks_comm_join(&rank, 0);
    /* Two ranks of the same communicator in one process. */
    CHECK(ntk_hooks_comm_join(&other, 1) != 0);
    CHECK(ntk_hooks_comm_join(&rank, 0) != 0);
    ntk_hooks_comm_leave(first, false);
    CHECK(ntk_hooks_comm_join(&rank, 0) != 0);
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_detach();
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void concurrent_communicators_of_a_rank_have_different_keys(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_joins_twice, NULL);

    (void)observed_receive(&child);
    assert_int_equal(comms_read(f), 4);
    assert_int_equal(comms[0].state_ns, 0); /* it has not joined any operation */
    assert_int_equal(comms[1].key, comms[0].key);
    assert_int_not_equal(comms[2].key, comms[0].key);
    assert_int_equal(comms[3].key, comms[0].key); /* the first one was left, so this joins again */
    observed_send(&child, 0);
    (void)observed_receive(&child);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void ranks_of_a_cleanly_detached_process_are_marked_as_left(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_joins_twice, NULL);
    struct ntk_ring_segment *segment;

    (void)observed_receive(&child);
    segment = hooks_fixture_segment(f); /* held by the test */
    observed_send(&child, 0);
    (void)observed_receive(&child);
    assert_int_equal(ntk_ring_segment_comms(segment, comms, NTK_SEGMENT_COMMS), 4);
    for (int i = 0; i < 4; i++) {
        struct ntk_ring_comm one;

        assert_int_equal(comms[i].state, NTK_COMM_LEFT);
        assert_true(ntk_ring_segment_comm(segment, comms[i].slot, &one));
        assert_int_equal(one.slot, comms[i].slot);
        assert_true(one.key == comms[i].key && one.rank == comms[i].rank);
    }
    assert_false(ntk_ring_segment_comm(segment, 4, &comms[4]));
    assert_false(ntk_ring_segment_comm(segment, UINT32_MAX, &comms[4]));
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* ---- bounds ---- */

static int child_joins_many(struct observed *child, void *ctx)
{
    const struct ntk_hooks_rank rank = { .world_count = 1 };
    ntk_hooks_comm first = 0;

    (void)ctx;
    observed_attach(0);
    for (uint32_t i = 0; i < NTK_SEGMENT_COMMS; i++) {
        ntk_hooks_comm comm = ntk_hooks_comm_join(&rank, NTK_NO_CORE);

        CHECK(comm != 0);
        first = first != 0 ? first : comm;
    }
    CHECK(ntk_hooks_comm_join(&rank, NTK_NO_CORE) == 0);
    CHECK(ntk_hooks_collective_begin(0, NTK_COLLECTIVE_BARRIER, 0, 0) == 0);
    ntk_hooks_collective_end(0, 0, 0);
    ntk_hooks_comm_leave(first, false);
    CHECK(ntk_hooks_comm_join(&rank, NTK_NO_CORE) == first); /* its slot is reused */
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void a_full_communicator_table_is_counted_and_its_rows_are_reused(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_joins_many, NULL);
    struct ntk_ring_refusals refusals;

    (void)observed_receive(&child);
    assert_int_equal(comms_read(f), NTK_SEGMENT_COMMS);
    ntk_ring_segment_refusals(hooks_fixture_segment(f), &refusals);
    assert_int_equal(refusals.comms, 1);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* ---- hooks that are off ---- */

static void communicator_calls_without_a_segment_have_no_effect(void **state)
{
    (void)state;
    assert_int_equal(ntk_hooks_comm_join(&rank_4, 0), 0);
    assert_int_equal(ntk_hooks_collective_begin(1, NTK_COLLECTIVE_BARRIER, 0, 0), 0);
    ntk_hooks_collective_end(1, 0, 0);
    ntk_hooks_comm_leave(1, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOKS_TEST(operations_are_numbered_counted_and_recorded),
        HOOKS_TEST(executions_of_a_multi_rank_model_count_as_operations),
        HOOKS_TEST(concurrent_communicators_of_a_rank_have_different_keys),
        HOOKS_TEST(ranks_of_a_cleanly_detached_process_are_marked_as_left),
        HOOKS_TEST(a_full_communicator_table_is_counted_and_its_rows_are_reused),
        cmocka_unit_test(communicator_calls_without_a_segment_have_no_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
