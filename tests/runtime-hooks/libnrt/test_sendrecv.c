/* SPDX-License-Identifier: MIT */
/*
 * Send and receive between cores of one process and of two. Messages are larger than the buffer
 * between the ends, so both must make progress.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "nrt/nrt_async_sendrecv.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/observed.h"
#include "tests/support/unit.h"

#define BYTES ((size_t)3 << 20)

static nrt_tensor_t *tensor_create(int nc, size_t bytes, uint8_t seed)
{
    uint8_t *values = malloc(bytes);
    nrt_tensor_t *tensor = NULL;

    for (size_t i = 0; i < bytes; i++) {
        values[i] = (uint8_t)(i * 7 + i / 251 + seed);
    }
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, nc, bytes, "t", &tensor),
                     NRT_SUCCESS);
    assert_int_equal(nrt_tensor_write(tensor, values, 0, bytes), NRT_SUCCESS);
    free(values);
    return tensor;
}

static void tensor_check(nrt_tensor_t *tensor, size_t bytes, uint8_t seed)
{
    uint8_t *values = malloc(bytes);

    assert_int_equal(nrt_tensor_read(tensor, values, 0, bytes), NRT_SUCCESS);
    for (size_t i = 0; i < bytes; i++) {
        if (values[i] != (uint8_t)(i * 7 + i / 251 + seed)) {
            fail_msg("byte %zu differs", i);
        }
    }
    free(values);
}

static void wait_connected(nrt_async_sendrecv_comm_t *comm)
{
    bool done = false;

    while (!done) {
        assert_int_equal(nrt_async_sendrecv_test_comm(comm, &done), NRT_SUCCESS);
        sched_yield();
    }
}

static NRT_STATUS wait_done(nrt_async_sendrecv_request_t *request, size_t *size)
{
    NRT_STATUS status = NRT_SUCCESS;
    bool done = false;

    while (!done && status == NRT_SUCCESS) {
        status = nrt_async_sendrecv_test_request(request, &done, size);
        sched_yield();
    }
    return status;
}

static void messages_between_cores_of_a_process_arrive_in_order(void **state)
{
    nrt_async_sendrecv_comm_t *to = NULL;
    nrt_async_sendrecv_comm_t *from = NULL;
    nrt_async_sendrecv_request_t *sent[2];
    nrt_async_sendrecv_request_t *received[2];
    bool done[4] = { false };
    size_t size[4] = { 0 };

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    nrt_tensor_t *source = tensor_create(0, BYTES, 1);
    nrt_tensor_t *target = tensor_create(1, BYTES, 2);
    assert_int_equal(nrt_async_sendrecv_connect("127.0.0.1", 1, 0, &to), NRT_INVALID);
    assert_int_equal(nrt_async_sendrecv_init(0), NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_init(1), NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_connect("127.0.0.1", 1, 0, &to), NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_test_comm(to, &done[0]), NRT_SUCCESS);
    assert_false(done[0]);
    assert_int_equal(nrt_async_sendrecv_send_tensor(source, 0, 1, to, &sent[0]), NRT_INVALID);
    assert_int_equal(nrt_async_sendrecv_accept("::1", 0, 1, &from), NRT_SUCCESS);
    wait_connected(to);
    wait_connected(from);
    assert_int_equal(nrt_async_sendrecv_send_tensor(source, 0, BYTES, to, &sent[0]), NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_send_tensor(source, 100, 50, to, &sent[1]), NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_recv_tensor(target, 0, BYTES, from, &received[0]),
                     NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_recv_tensor(target, 100, 70, from, &received[1]),
                     NRT_SUCCESS);
    while (!done[0] || !done[1] || !done[2] || !done[3]) {
        nrt_async_sendrecv_request_t *requests[] = { sent[0], sent[1], received[0], received[1] };

        for (int i = 0; i < 4; i++) {
            if (!done[i]) {
                assert_int_equal(nrt_async_sendrecv_test_request(requests[i], &done[i], &size[i]),
                                 NRT_SUCCESS);
            }
        }
        assert_true(done[2] || !done[3]);
    }
    assert_int_equal(size[0], BYTES);
    assert_int_equal(size[1], 50);
    assert_int_equal(size[2], BYTES);
    assert_int_equal(size[3], 50);
    tensor_check(target, BYTES, 1);
    assert_int_equal(nrt_async_sendrecv_test_request(sent[0], &done[0], NULL), NRT_INVALID_HANDLE);
    assert_int_equal(nrt_async_sendrecv_flush(1), NRT_SUCCESS);

    /* A message that does not fit is lost, and the next one arrives complete. */
    assert_int_equal(nrt_async_sendrecv_send_tensor(source, 0, 64, to, &sent[0]), NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_send_tensor(source, 0, 32, to, &sent[1]), NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_recv_tensor(target, 0, 63, from, &received[0]),
                     NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_recv_tensor(target, 0, 63, from, &received[1]),
                     NRT_SUCCESS);
    assert_int_equal(wait_done(received[0], &size[0]), NRT_FAILURE);
    assert_int_equal(wait_done(received[1], &size[0]), NRT_SUCCESS);
    assert_int_equal(size[0], 32);
    assert_int_equal(nrt_async_sendrecv_close(1), NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_test_comm(from, &done[0]), NRT_INVALID_HANDLE);
    assert_int_equal(nrt_async_sendrecv_close(1), NRT_INVALID);
    nrt_tensor_free(&source);
    nrt_tensor_free(&target);
    nrt_close();
    assert_int_equal(nrt_async_sendrecv_test_comm(to, &done[0]), NRT_CLOSED);
}

static void invalid_arguments_of_send_and_receive_are_rejected(void **state)
{
    nrt_async_sendrecv_comm_t *comm = NULL;
    nrt_async_sendrecv_comm_t *other = NULL;
    nrt_async_sendrecv_comm_t *receiver = NULL;
    nrt_async_sendrecv_request_t *request = NULL;
    bool done;
    int limit = 0;

    setenv("NEURON_RT_VISIBLE_CORES", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    nrt_tensor_t *tensor = tensor_create(0, 64, 0);
    /* An absolute core number that is not ours. */
    assert_int_equal(nrt_async_sendrecv_init(0), NRT_INVALID);
    assert_int_equal(nrt_async_sendrecv_init(-1), NRT_INVALID);
    assert_int_equal(nrt_async_sendrecv_init(1), NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_flush(0), NRT_INVALID);
    assert_int_equal(nrt_async_sendrecv_connect(NULL, 0, 1, &comm), NRT_INVALID);
    assert_int_equal(nrt_async_sendrecv_connect("127.0.0.1", -1, 1, &comm), NRT_INVALID);
    assert_int_equal(nrt_async_sendrecv_connect("203.0.113.1", 0, 1, &comm), NRT_FAILURE);
    assert_int_equal(nrt_async_sendrecv_connect("no address", 0, 1, &comm), NRT_FAILURE);
    assert_int_equal(nrt_async_sendrecv_test_comm(NULL, &done), NRT_INVALID_HANDLE);
    assert_null(comm);
    assert_int_equal(nrt_async_sendrecv_connect("localhost", 1, 1, &comm), NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_connect("localhost", 1, 1, &other), NRT_FAILURE);
    assert_int_equal(nrt_async_sendrecv_accept("localhost", 1, 1, &receiver), NRT_SUCCESS);
    assert_int_equal(nrt_async_sendrecv_send_tensor(tensor, 60, 5, comm, &request), NRT_INVALID);
    assert_int_equal(nrt_async_sendrecv_send_tensor(NULL, 0, 5, comm, &request), NRT_INVALID);
    assert_int_equal(nrt_async_sendrecv_send_tensor(tensor, 0, 5, receiver, &request), NRT_INVALID);
    assert_int_equal(nrt_async_sendrecv_send_tensor(tensor, 0, 5, NULL, &request),
                     NRT_INVALID_HANDLE);
    assert_null(request);
    assert_int_equal(nrt_async_sendrecv_get_max_num_communicators_per_lnc(&limit), NRT_SUCCESS);
    for (int peer = 2; peer < limit; peer++) {
        assert_int_equal(nrt_async_sendrecv_connect("localhost", peer, 1, &other), NRT_SUCCESS);
    }
    assert_int_equal(nrt_async_sendrecv_connect("localhost", limit, 1, &other), NRT_RESOURCE);
    assert_int_equal(nrt_async_sendrecv_get_max_num_pending_request(&limit), NRT_SUCCESS);
    for (int i = 0; i < limit; i++) {
        assert_int_equal(nrt_async_sendrecv_recv_tensor(tensor, 0, 5, receiver, &request),
                         NRT_SUCCESS);
    }
    assert_int_equal(nrt_async_sendrecv_recv_tensor(tensor, 0, 5, receiver, &request),
                     NRT_RESOURCE);
    nrt_close(); /* while all of them are pending */
}

/* Core 1: sends back what it receives, with 1 added to every byte. */
static int echo(struct observed *parent, void *ctx)
{
    nrt_async_sendrecv_comm_t *to = NULL;
    nrt_async_sendrecv_comm_t *from = NULL;
    nrt_async_sendrecv_request_t *request = NULL;
    nrt_tensor_t *tensor = NULL;
    size_t size = 0;

    (void)ctx;
    setenv("NEURON_RT_VISIBLE_CORES", "1", 1);
    if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS ||
        nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, BYTES, "t", &tensor) != NRT_SUCCESS ||
        nrt_async_sendrecv_init(1) != NRT_SUCCESS ||
        nrt_async_sendrecv_accept("127.0.0.1", 0, 1, &from) != NRT_SUCCESS ||
        nrt_async_sendrecv_connect("127.0.0.1", 0, 1, &to) != NRT_SUCCESS) {
        return 3;
    }
    wait_connected(from);
    wait_connected(to);
    observed_send(parent, 1);
    if (nrt_async_sendrecv_recv_tensor(tensor, 0, BYTES, from, &request) != NRT_SUCCESS ||
        wait_done(request, &size) != NRT_SUCCESS || size != BYTES) {
        return 4;
    }
    uint8_t *bytes = nrt_tensor_get_va(tensor);
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i]++;
    }
    if (nrt_async_sendrecv_send_tensor(tensor, 0, BYTES, to, &request) != NRT_SUCCESS ||
        wait_done(request, &size) != NRT_SUCCESS) {
        return 5;
    }
    (void)observed_receive(parent);
    (void)nrt_async_sendrecv_close(1);
    nrt_close();
    return 0;
}

static void processes_exchange_tensors_and_detect_a_dead_peer(void **state)
{
    const struct runtime *runtime = *state;
    nrt_async_sendrecv_request_t *request = NULL;

    for (int is_killed = 0; is_killed < 2; is_killed++) {
        struct observed other = observed_start(runtime->folder, echo, NULL);
        nrt_async_sendrecv_comm_t *to = NULL;
        nrt_async_sendrecv_comm_t *from = NULL;
        size_t size = 0;

        setenv("NEURON_RT_VISIBLE_CORES", "0", 1);
        assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
        nrt_tensor_t *tensor = tensor_create(0, BYTES, 3);
        assert_int_equal(nrt_async_sendrecv_init(0), NRT_SUCCESS);
        assert_int_equal(nrt_async_sendrecv_connect("127.0.0.1", 1, 0, &to), NRT_SUCCESS);
        assert_int_equal(nrt_async_sendrecv_accept("127.0.0.1", 1, 0, &from), NRT_SUCCESS);
        wait_connected(to);
        wait_connected(from);
        assert_int_equal(observed_receive(&other), 1);
        if (is_killed) {
            assert_int_equal(observed_finish(&other, SIGKILL), 128 + SIGKILL);
            assert_int_equal(nrt_async_sendrecv_recv_tensor(tensor, 0, BYTES, from, &request),
                             NRT_SUCCESS);
            assert_int_equal(wait_done(request, &size), NRT_FAILURE);
            assert_int_equal(nrt_async_sendrecv_send_tensor(tensor, 0, BYTES, to, &request),
                             NRT_SUCCESS);
            assert_int_equal(wait_done(request, &size), NRT_FAILURE);
        } else {
            assert_int_equal(nrt_async_sendrecv_send_tensor(tensor, 0, BYTES, to, &request),
                             NRT_SUCCESS);
            assert_int_equal(wait_done(request, &size), NRT_SUCCESS);
            assert_int_equal(nrt_async_sendrecv_recv_tensor(tensor, 0, BYTES, from, &request),
                             NRT_SUCCESS);
            assert_int_equal(wait_done(request, &size), NRT_SUCCESS);
            assert_int_equal(size, BYTES);
            tensor_check(tensor, BYTES, 4);
            observed_send(&other, 1);
            assert_int_equal(observed_finish(&other, 0), 0);
        }
        nrt_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(messages_between_cores_of_a_process_arrive_in_order),
        TEST(invalid_arguments_of_send_and_receive_are_rejected),
        TEST(processes_exchange_tensors_and_detect_a_dead_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
