/* SPDX-License-Identifier: MIT */
/*
 * Collective operations that are prepared and queued, in both forms of the explicit interface:
 * results, order, groups, rejections, ranks in two processes, and a rank that never comes.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nrt/nrt_async.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/observed.h"
#include "tests/support/unit.h"

#define ELEMENTS 3U
#define RANKS 2U

/* Number of the unit in the 3.0 form. */
#define XU_COLLECTIVES_3 2

static NRT_STATUS (*schedule_3)(nrt_cc_context_t **, int, NRT_STATUS *, nrta_seq_t *);
static NRT_STATUS (*prepare_3)(nrt_cc_comm_t *, nrt_tensor_list_t *, nrt_tensor_list_t *,
                               nrt_dtype_t, nrt_op_type_t, nrt_cc_op_type_t, nrt_cc_context_t **);
static NRT_STATUS (*watch_queue_3)(int, int, int, int);

static void find(void *to, const char *name)
{
    void *found = dlvsym(RTLD_DEFAULT, name, "NRT_3.0.0");

    assert_non_null(found);
    memcpy(to, &found, sizeof found);
}

static int setup(void **state)
{
    find(&schedule_3, "nrta_cc_schedule");
    find(&prepare_3, "nrta_cc_prepare");
    find(&watch_queue_3, "nrta_event_register_xu_completion");
    unsetenv("NEURON_RT_ROOT_COMM_ID");
    return runtime_setup(state);
}

static nrt_tensor_t *tensor_make(int core, const float *values, size_t count)
{
    nrt_tensor_t *tensor = NULL;

    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, core, count * sizeof(float),
                                         NULL, &tensor),
                     NRT_SUCCESS);
    if (values) {
        assert_int_equal(nrt_tensor_write(tensor, values, 0, count * sizeof(float)), NRT_SUCCESS);
    }
    return tensor;
}

static nrt_cc_comm_t world_of(uint32_t rank, uint32_t count)
{
    return (nrt_cc_comm_t){
        .rank = rank, .rank_n = count, .ctx_device_id = rank, .ctx_device_count = count, .vnc = rank
    };
}

/* One tensor in, one out. */
static NRT_STATUS prepare(nrt_cc_comm_t comm, nrt_tensor_t *from, nrt_tensor_t *to,
                          nrt_op_type_t op, nrt_cc_op_type_t cc_op, nrt_cc_context_t **out_context)
{
    nrt_tensor_list_t input = { &from, 1 };
    nrt_tensor_list_t output = { &to, 1 };

    return nrta_cc_prepare(&comm, &input, &output, NRT_DTYPE_FLOAT32, op, cc_op, out_context);
}

static void wait_complete(nrta_seq_t seq)
{
    bool is_completed = false;
    struct pollfd poll_fd = { .fd = -1, .events = POLLIN };

    assert_int_equal(nrta_get_completion_handle(seq, &poll_fd.fd), NRT_SUCCESS);
    assert_int_equal(poll(&poll_fd, 1, -1), 1);
    close(poll_fd.fd);
    assert_int_equal(nrta_is_completed(seq, &is_completed), NRT_SUCCESS);
    assert_true(is_completed);
}

static void check(nrt_tensor_t *tensor, const float *expected, size_t count)
{
    float got[16];

    assert_true(count <= sizeof got / sizeof *got);
    assert_int_equal(nrt_tensor_read(tensor, got, 0, count * sizeof *got), NRT_SUCCESS);
    for (size_t i = 0; i < count; i++) {
        if (got[i] != expected[i]) {
            fail_msg("element %zu is %g, not %g", i, (double)got[i], (double)expected[i]);
        }
    }
}

static const float mine[RANKS][2 * ELEMENTS] = { { 1, 2, 3, 10, 20, 30 }, { 4, 0, 6, 40, -1, 60 } };

/* Two ranks of one process, scheduled from one thread: the queues of two cores wait for each
 * other. */
static void ranks_in_one_process_run_every_collective_operation(void **state)
{
    static const struct {
        nrt_cc_op_type_t cc_op;
        nrt_op_type_t op;
        size_t from, to; /* elements */
        float expected[RANKS][4 * ELEMENTS];
    } rows[] = {
        { NRT_CC_ALLGATHER,
          NRT_OP_INVALID,
          ELEMENTS,
          2 * ELEMENTS,
          { { 1, 2, 3, 4, 0, 6 }, { 1, 2, 3, 4, 0, 6 } } },
        { NRT_CC_ALLREDUCE, NRT_OP_ADD, ELEMENTS, ELEMENTS, { { 5, 2, 9 }, { 5, 2, 9 } } },
        { NRT_CC_ALLREDUCE, NRT_OP_MAX, ELEMENTS, ELEMENTS, { { 4, 2, 6 }, { 4, 2, 6 } } },
        { NRT_CC_ALLREDUCE, NRT_OP_MIN, ELEMENTS, ELEMENTS, { { 1, 0, 3 }, { 1, 0, 3 } } },
        { NRT_CC_REDUCESCATTER,
          NRT_OP_ADD,
          2 * ELEMENTS,
          ELEMENTS,
          { { 5, 2, 9 }, { 50, 19, 90 } } },
        { NRT_CC_REDUCESCATTER,
          NRT_OP_MIN,
          2 * ELEMENTS,
          ELEMENTS,
          { { 1, 0, 3 }, { 10, -1, 30 } } },
    };

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        nrt_cc_context_t *contexts[RANKS] = { NULL };
        nrt_tensor_t *from[RANKS], *to[RANKS];
        nrta_seq_t seq[RANKS];

        for (uint32_t rank = 0; rank < RANKS; rank++) {
            from[rank] = tensor_make((int)rank, mine[rank], rows[i].from);
            to[rank] = tensor_make((int)rank, NULL, rows[i].to);
            assert_int_equal(prepare(world_of(rank, RANKS), from[rank], to[rank], rows[i].op,
                                     rows[i].cc_op, &contexts[rank]),
                             NRT_SUCCESS);
        }
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            assert_int_equal(nrta_cc_schedule(&contexts[rank], 0, NULL, &seq[rank]), NRT_SUCCESS);
            assert_null(contexts[rank]);
            assert_int_equal(NRTA_SEQ_GET_SEQ_NUM(seq[rank]), i + 1);
        }
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            wait_complete(seq[rank]);
            check(to[rank], rows[i].expected[rank], rows[i].to);
            nrt_tensor_free(&from[rank]);
            nrt_tensor_free(&to[rank]);
        }
    }
}

/* Group 3, 1 of a world of four, in that order; lists of two tensors; tensors may be freed once
 * they are queued. */
static void a_group_processes_tensor_lists_in_the_order_of_its_ranks(void **state)
{
    static const float expected[] = { 4, 0, 6, 1, 2, 3 };
    static const float expected_2[] = { 40, -1, 60, 10, 20, 30 };
    uint32_t group[RANKS] = { 3, 1 };
    uint32_t world_rank[RANKS] = { 1, 3 };
    nrt_tensor_t *from[RANKS][2], *to[RANKS][2];
    nrta_seq_t seq[RANKS];

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    for (uint32_t i = 0; i < RANKS; i++) {
        nrt_cc_context_t *context = NULL;
        nrt_cc_comm_t comm = { .replica_group = group,
                               .rank = 1 - i,
                               .rank_n = RANKS,
                               .ctx_device_id = world_rank[i],
                               .ctx_device_count = 4,
                               .vnc = i };
        nrt_tensor_list_t input = { from[i], 2 };
        nrt_tensor_list_t output = { to[i], 2 };

        for (int k = 0; k < 2; k++) {
            from[i][k] = tensor_make((int)i, mine[i] + (size_t)k * ELEMENTS, ELEMENTS);
            to[i][k] = tensor_make((int)i, NULL, 2 * ELEMENTS);
        }
        assert_int_equal(nrta_cc_prepare(&comm, &input, &output, NRT_DTYPE_FLOAT32, NRT_OP_INVALID,
                                         NRT_CC_ALLGATHER, &context),
                         NRT_SUCCESS);
        assert_int_equal(nrta_cc_schedule(&context, 0, NULL, &seq[i]), NRT_SUCCESS);
        nrt_tensor_free(&from[i][0]);
        nrt_tensor_free(&from[i][1]);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        wait_complete(seq[i]);
        check(to[i][0], expected, 2 * ELEMENTS);
        check(to[i][1], expected_2, 2 * ELEMENTS);
        nrt_tensor_free(&to[i][0]);
        nrt_tensor_free(&to[i][1]);
    }
}

/* Rank 0 fills queue 0 first, rank 1 queue 2: order matters only within a queue. */
static void collective_queues_of_version_3_are_independent(void **state)
{
    static const int order[RANKS][2] = { { 0, 2 }, { 2, 0 } };
    static const float sum[] = { 5, 2, 9 };
    nrt_tensor_t *from[RANKS], *to[RANKS][2];
    NRT_STATUS status[RANKS][2];
    nrta_seq_t seq[RANKS][2];
    uint64_t events = 0;
    int fd = eventfd(0, EFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (int queue = 0; queue < 3; queue += 2) {
            assert_int_equal(watch_queue_3((int)rank, XU_COLLECTIVES_3, queue, fd), NRT_SUCCESS);
        }
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        from[rank] = tensor_make((int)rank, mine[rank], ELEMENTS);
        for (int i = 0; i < 2; i++) {
            nrt_cc_comm_t comm = world_of(rank, RANKS);
            nrt_cc_context_t *context = NULL;

            to[rank][i] = tensor_make((int)rank, NULL, ELEMENTS);
            nrt_tensor_list_t input = { &from[rank], 1 };
            nrt_tensor_list_t output = { &to[rank][i], 1 };
            status[rank][i] = NRT_FAILURE;
            assert_int_equal(prepare_3(&comm, &input, &output, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
                                       NRT_CC_ALLREDUCE, &context),
                             NRT_SUCCESS);
            assert_int_equal(schedule_3(&context, order[rank][i], &status[rank][i], &seq[rank][i]),
                             NRT_SUCCESS);
            assert_null(context);
        }
    }
    for (uint64_t seen = 0; seen < 4; seen += events) {
        assert_int_equal(read(fd, &events, sizeof events), sizeof events);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (int i = 0; i < 2; i++) {
            bool is_completed = false;

            assert_int_equal(nrta_is_completed(seq[rank][i], &is_completed), NRT_SUCCESS);
            assert_true(is_completed);
            assert_int_equal(status[rank][i], NRT_SUCCESS);
            check(to[rank][i], sum, ELEMENTS);
            nrt_tensor_free(&to[rank][i]);
        }
        nrt_tensor_free(&from[rank]);
    }
    close(fd);
}

static void a_context_is_kept_after_a_rejected_schedule_call(void **state)
{
    nrt_cc_comm_t alone = world_of(0, 1);
    nrt_cc_context_t *context = NULL;
    uint32_t twice[] = { 0, 0 };
    nrta_seq_t seq = 0;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    nrt_tensor_t *a = tensor_make(0, mine[0], ELEMENTS);
    nrt_tensor_t *b = tensor_make(0, NULL, ELEMENTS);
    nrt_tensor_t *large = tensor_make(0, NULL, 2 * ELEMENTS);
    nrt_tensor_t *elsewhere = tensor_make(1, NULL, ELEMENTS);
    nrt_tensor_t *gone = tensor_make(0, NULL, ELEMENTS);
    nrt_tensor_t *stale = gone;
    nrt_tensor_free(&gone);

#define REFUSED(comm, from, to, op, cc_op) \
    assert_int_equal(prepare(comm, from, to, op, cc_op, &context), NRT_INVALID)
    REFUSED(alone, a, b, NRT_OP_FMA, NRT_CC_ALLREDUCE);
    REFUSED(alone, a, b, NRT_OP_INVALID, NRT_CC_REDUCESCATTER);
    REFUSED(alone, a, b, NRT_OP_ADD, (nrt_cc_op_type_t)3);
    REFUSED(alone, a, large, NRT_OP_ADD, NRT_CC_ALLREDUCE);
    REFUSED(alone, a, large, NRT_OP_ADD, NRT_CC_ALLGATHER);
    REFUSED(alone, a, elsewhere, NRT_OP_ADD, NRT_CC_ALLREDUCE);
    REFUSED(alone, stale, b, NRT_OP_ADD, NRT_CC_ALLREDUCE);
    REFUSED(alone, NULL, b, NRT_OP_ADD, NRT_CC_ALLREDUCE);
    REFUSED(world_of(1, 1), a, b, NRT_OP_ADD, NRT_CC_ALLREDUCE);
    REFUSED(world_of(0, 0), a, b, NRT_OP_ADD, NRT_CC_ALLREDUCE);
    nrt_cc_comm_t bad = alone;
    bad.vnc = 2;
    REFUSED(bad, a, b, NRT_OP_ADD, NRT_CC_ALLREDUCE);
    bad = world_of(0, 2);
    bad.replica_group = twice;
    REFUSED(bad, a, b, NRT_OP_ADD, NRT_CC_ALLREDUCE);
    twice[1] = 1;
    bad.rank = 1; /* place 0 belongs to rank 0 */
    REFUSED(bad, a, b, NRT_OP_ADD, NRT_CC_ALLREDUCE);
    bad.ctx_device_count = 1; /* a group of ranks that do not exist */
    bad.rank = 0;
    REFUSED(bad, a, b, NRT_OP_ADD, NRT_CC_ALLREDUCE);
#undef REFUSED
    nrt_tensor_list_t one = { &a, 1 };
    nrt_tensor_list_t none = { &a, 0 };
    assert_int_equal(nrta_cc_prepare(&alone, &one, &none, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
                                     NRT_CC_ALLREDUCE, &context),
                     NRT_INVALID);
    assert_int_equal(nrta_cc_prepare(&alone, &one, NULL, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
                                     NRT_CC_ALLREDUCE, &context),
                     NRT_INVALID);
    assert_int_equal(nrta_cc_prepare(NULL, &one, &one, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
                                     NRT_CC_ALLREDUCE, &context),
                     NRT_INVALID);
    assert_int_equal(
        nrta_cc_prepare(&alone, &one, &one, NRT_DTYPE_FLOAT32, NRT_OP_ADD, NRT_CC_ALLREDUCE, NULL),
        NRT_INVALID);
    assert_int_equal(nrta_cc_prepare(&alone, &one, &one, NRT_DTYPE_INVALID, NRT_OP_ADD,
                                     NRT_CC_ALLREDUCE, &context),
                     NRT_INVALID);
    assert_null(context);

    assert_int_equal(nrta_cc_schedule(NULL, 0, NULL, NULL), NRT_INVALID);
    assert_int_equal(nrta_cc_schedule(&context, 0, NULL, NULL), NRT_INVALID);
    assert_int_equal(prepare(alone, a, b, NRT_OP_ADD, NRT_CC_ALLREDUCE, &context), NRT_SUCCESS);
    nrt_cc_context_t *copy = context;
    assert_int_equal(nrta_cc_schedule(&context, 3, NULL, NULL), NRT_INVALID);
    assert_int_equal(nrta_cc_schedule(&context, -1, NULL, NULL), NRT_INVALID);
    assert_ptr_equal(context, copy);
    assert_int_equal(nrta_cc_schedule(&context, 2, NULL, &seq), NRT_SUCCESS);
    wait_complete(seq);
    check(b, mine[0], ELEMENTS);
    assert_int_equal(nrta_cc_schedule(&copy, 2, NULL, NULL), NRT_INVALID); /* it has already run */

    /* A context that is never scheduled is freed with the runtime. */
    assert_int_equal(prepare(alone, a, b, NRT_OP_ADD, NRT_CC_ALLREDUCE, &context), NRT_SUCCESS);
    nrt_tensor_free(&a);
    nrt_tensor_free(&b);
    nrt_tensor_free(&large);
    nrt_tensor_free(&elsewhere);
    nrt_close();
    assert_int_equal(nrta_cc_schedule(&context, 0, NULL, NULL), NRT_CLOSED);
    assert_int_equal(nrta_cc_prepare(&alone, &one, &one, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
                                     NRT_CC_ALLREDUCE, &context),
                     NRT_CLOSED);
}

/* Rank 0 alone fills its queue; when rank 1 arrives, everything completes. */
static void a_full_queue_rejects_an_operation_and_keeps_the_context(void **state)
{
    nrt_cc_context_t *context = NULL;
    NRT_STATUS status = NRT_SUCCESS;
    nrta_seq_t seq = 0;
    int count = 0;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    nrt_tensor_t *from[RANKS], *to[RANKS];
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        from[rank] = tensor_make((int)rank, mine[rank], ELEMENTS);
        to[rank] = tensor_make((int)rank, NULL, ELEMENTS);
    }
    for (;; count++) {
        assert_int_equal(
            prepare(world_of(0, RANKS), from[0], to[0], NRT_OP_ADD, NRT_CC_ALLREDUCE, &context),
            NRT_SUCCESS);
        status = nrta_cc_schedule(&context, 0, NULL, NULL);
        if (status != NRT_SUCCESS) {
            break;
        }
    }
    assert_int_equal(status, NRT_QUEUE_FULL);
    assert_int_equal(count, 64);
    assert_non_null(context);
    for (int i = 0; i < count; i++) {
        nrt_cc_context_t *other = NULL;

        assert_int_equal(
            prepare(world_of(1, RANKS), from[1], to[1], NRT_OP_ADD, NRT_CC_ALLREDUCE, &other),
            NRT_SUCCESS);
        assert_int_equal(nrta_cc_schedule(&other, 0, NULL, &seq), NRT_SUCCESS);
    }
    wait_complete(seq);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        nrt_tensor_free(&from[rank]);
        nrt_tensor_free(&to[rank]);
    }
}

static void a_missing_rank_is_reported_as_a_request_error(void **state)
{
    nrta_error_tracker_t *tracker = NULL;
    const nrta_error_t *errors = NULL;
    nrt_cc_context_t *context = NULL;
    nrta_seq_t seq = 0;
    size_t count = 0;

    setenv("NEURON_RT_EXEC_TIMEOUT", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    nrt_tensor_t *from = tensor_make(0, mine[0], ELEMENTS);
    nrt_tensor_t *to = tensor_make(0, NULL, ELEMENTS);
    assert_int_equal(nrta_error_tracker_create(0, &tracker), NRT_SUCCESS);
    assert_int_equal(prepare(world_of(0, RANKS), from, to, NRT_OP_ADD, NRT_CC_ALLREDUCE, &context),
                     NRT_SUCCESS);
    assert_int_equal(nrta_cc_schedule(&context, 0, tracker, &seq), NRT_SUCCESS);
    wait_complete(seq);
    assert_int_equal(nrta_error_tracker_get_list(tracker, &errors, &count), NRT_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(errors[0].seq_id, seq);
    assert_int_equal(errors[0].error_code, NRT_TIMEOUT);
    nrta_error_tracker_destroy(tracker);
    nrt_tensor_free(&from);
    nrt_tensor_free(&to);
    unsetenv("NEURON_RT_EXEC_TIMEOUT");
}

/* Rank ctx on its own core: sums as many times as requested, sends the first element. */
static int rank_run(struct observed *parent, void *ctx)
{
    uint32_t rank = *(const char *)ctx == '1' ? 1 : 0;

    setenv("NEURON_RT_VISIBLE_CORES", ctx, 1);
    setenv("NEURON_RT_ROOT_COMM_ID", "10.0.0.1:46820", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    nrt_cc_comm_t comm = world_of(rank, RANKS);
    comm.vnc = 0;
    nrt_tensor_t *from = tensor_make(0, mine[rank], ELEMENTS);
    nrt_tensor_t *to = tensor_make(0, NULL, ELEMENTS);
    while (observed_receive(parent) != 0) {
        nrt_cc_context_t *context = NULL;
        nrta_seq_t seq = 0;
        float first = 0;

        assert_int_equal(prepare(comm, from, to, NRT_OP_ADD, NRT_CC_ALLREDUCE, &context),
                         NRT_SUCCESS);
        assert_int_equal(nrta_cc_schedule(&context, 1, NULL, &seq), NRT_SUCCESS);
        wait_complete(seq);
        assert_int_equal(nrt_tensor_read(to, &first, 0, sizeof first), NRT_SUCCESS);
        observed_send(parent, (uint64_t)first);
    }
    nrt_tensor_free(&from);
    nrt_tensor_free(&to);
    nrt_close();
    return 0;
}

static void ranks_in_two_processes_run_collective_operations(void **state)
{
    static char names[RANKS][2] = { "0", "1" };
    const struct runtime *runtime = *state;
    struct observed ranks[RANKS];

    for (uint32_t i = 0; i < RANKS; i++) {
        ranks[i] = observed_start(runtime->folder, rank_run, names[i]);
    }
    for (int round = 0; round < 3; round++) {
        observed_send(&ranks[0], 1);
        observed_send(&ranks[1], 1);
        assert_int_equal(observed_receive(&ranks[0]), 5);
        assert_int_equal(observed_receive(&ranks[1]), 5);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        observed_send(&ranks[i], 0);
        assert_int_equal(observed_finish(&ranks[i], 0), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, runtime_teardown)
        TEST(ranks_in_one_process_run_every_collective_operation),
        TEST(a_group_processes_tensor_lists_in_the_order_of_its_ranks),
        TEST(collective_queues_of_version_3_are_independent),
        TEST(a_context_is_kept_after_a_rejected_schedule_call),
        TEST(a_full_queue_rejects_an_operation_and_keeps_the_context),
        TEST(a_missing_rank_is_reported_as_a_request_error),
        TEST(ranks_in_two_processes_run_collective_operations),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
