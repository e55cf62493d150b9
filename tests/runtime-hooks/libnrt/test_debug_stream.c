/* SPDX-License-Identifier: MIT */
/*
 * The debug stream: text that a model prints is returned by the public calls.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "nrt/ndebug_stream.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/unit.h"

static int is_readable(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    return poll(&poll_fd, 1, 0) == 1;
}

static void debug_stream_calls_return_the_documented_statuses(void **state)
{
    ndebug_stream_event_header_t header;
    void *payload = NULL;
    int fd = -1;
    int second = -1;

    assert_int_equal(nrt_debug_client_connect(0, &fd), NRT_UNINITIALIZED);
    assert_int_equal(nrt_debug_client_read_one_event(0, &header, &payload), NRT_UNINITIALIZED);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_debug_client_connect(-1, &fd), NRT_INVALID);
    assert_int_equal(nrt_debug_client_connect(2, &fd), NRT_INVALID);
    assert_int_equal(nrt_debug_client_connect(0, NULL), NRT_INVALID);
    assert_int_equal(nrt_debug_client_read_one_event(0, &header, &payload), NRT_INVALID);
    setenv("NEURON_RT_DEBUG_STREAM_BUFFER_SIZE", "3", 1);
    assert_int_equal(nrt_debug_client_connect(1, &fd), NRT_INVALID);
    unsetenv("NEURON_RT_DEBUG_STREAM_BUFFER_SIZE");
    assert_int_equal(nrt_debug_client_connect(1, &fd), NRT_SUCCESS);
    assert_int_equal(nrt_debug_client_connect(1, &second), NRT_INVALID);
    assert_false(is_readable(fd));
    assert_int_equal(nrt_debug_client_read_one_event(fd, &header, &payload), NRT_QUEUE_EMPTY);
    assert_int_equal(nrt_debug_client_read_one_event(fd, NULL, &payload), NRT_INVALID);
    nrt_debug_client_connect_close(fd);
    nrt_debug_client_connect_close(fd);
    nrt_debug_client_connect_close(0); /* not one of ours: stays open */
    assert_int_equal(nrt_debug_client_read_one_event(fd, &header, &payload), NRT_INVALID);
    assert_int_equal(nrt_debug_client_connect(1, &fd), NRT_SUCCESS);
    nrt_close();
    assert_int_equal(nrt_debug_client_read_one_event(fd, &header, &payload), NRT_CLOSED);
    assert_null(payload);
}

static void printed_output_of_a_model_is_sent_to_the_client_of_its_core(void **state)
{
    struct test_model_options options = { .prints = 1 };
    ndebug_stream_payload_debug_tensor_read_t *payload = NULL;
    ndebug_stream_event_header_t header;
    struct loaded loaded;
    size_t bytes = 0;
    uint8_t *neff = test_model_adder(&options, &bytes);
    int fd[2] = { -1, -1 };

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 1);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    for (int core = 0; core < 2; core++) {
        assert_int_equal(nrt_debug_client_connect(core, &fd[core]), NRT_SUCCESS);
    }
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    assert_false(is_readable(fd[0]));
    assert_true(is_readable(fd[1]));
    assert_int_equal(nrt_debug_client_read_one_event(fd[1], &header, (void **)&payload),
                     NRT_SUCCESS);
    assert_int_equal(header.type, NDEBUG_STREAM_EVENT_TYPE_DEBUG_TENSOR_READ);
    assert_int_equal(payload->logical_nc_id, 1);
    assert_int_equal(payload->pipe, TEST_MODEL_PIPE);
    assert_string_equal(payload->tensor_dtype, "float32");
    assert_int_equal(payload->tensor_shape[0], TEST_MODEL_ROWS);
    assert_int_equal(payload->tensor_shape[1], TEST_MODEL_COLUMNS);
    assert_int_equal(payload->tensor_shape[2], 0);
    assert_int_equal(payload->tensor_data_size, TEST_MODEL_BYTES);
    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) { /* the inputs are zero */
        float value = 0;

        memcpy(&value, payload->tensor_data + i * sizeof value, sizeof value);
        assert_true(value == (float)i);
    }
    free(payload);
    assert_int_equal(nrt_debug_client_read_one_event(fd[1], &header, (void **)&payload),
                     NRT_QUEUE_EMPTY);
    nrt_debug_client_connect_close(fd[0]);
    nrt_debug_client_connect_close(fd[1]);
    loaded_fini(&loaded);
    nrt_close();
    free(neff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(debug_stream_calls_return_the_documented_statuses,
                                        runtime_setup, runtime_teardown),
        cmocka_unit_test_setup_teardown(printed_output_of_a_model_is_sent_to_the_client_of_its_core,
                                        runtime_setup, runtime_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
