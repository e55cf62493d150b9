/* SPDX-License-Identifier: MIT */
/* The first generation: streams, events, and functions that are invoked on streams. */
#include "neuware/g1/cnrt.h"

#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/cnrt/cards.h"
#include "tests/runtime-hooks/cnrt/offline.h"
#include "tests/support/unit.h"

static void a_stream_reports_whether_it_is_busy(void **state)
{
    struct ntk_cnrt_program *program = cards_program("op");
    struct cards_task task = { .code = 0 };
    cnrtStream_t stream = NULL;
    cnrtStream_t waiting = NULL;
    struct cards_task quick = { .is_let_go = true };

    assert_int_equal(cnrtCreateStream(&stream), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtQueryStream(stream), CNRT_RET_SUCCESS);
    cards_push(stream, program, &task);
    assert_int_equal(cnrtQueryStream(stream), CNRT_RET_ERR_BUSY);
    task.is_let_go = true;
    assert_int_equal(cnrtSyncStream(stream), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtQueryStream(stream), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtDestroyStream(stream), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSyncStream(stream), CNRT_RET_ERR_STREAM);
    assert_string_equal(cnrtGetErrorStr(CNRT_RET_ERR_STREAM),
                        "CNRT_RET_ERR_STREAM: unknown stream");

    assert_int_equal(cnrtCreateStreamEx(&waiting, 17, CNRT_STREAM_SYNC), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtCreateStreamEx(&waiting, 0, (cnrtStreamAttr_t)2), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtCreateStreamEx(&waiting, CNRT_STREAM_PRIORITY_HIGH, CNRT_STREAM_SYNC),
                     CNRT_RET_SUCCESS);
    cards_push(waiting, program, &quick);
    /* Calls on this kind of stream return when everything is done. */
    assert_true(quick.is_destroyed);
    ntk_cnrt_program_drop(program);
}

static void events_measure_the_duration_of_a_task(void **state)
{
    struct ntk_cnrt_program *program = cards_program("op");
    struct cards_task task = { .code = 0 };
    cnrtStream_t stream = NULL;
    cnrtStream_t other = NULL;
    cnrtEvent_t start = NULL;
    cnrtEvent_t end = NULL;
    float us = 0;

    assert_int_equal(cnrtCreateStream(&stream), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateStream(&other), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateEvent(&start), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateEvent(&end), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtEventElapsedTime(start, end, &us), CNRT_RET_ERR_EVENT);
    assert_int_equal(cnrtPlaceEvent(start, stream), CNRT_RET_SUCCESS);
    cards_push(stream, program, &task);
    assert_int_equal(cnrtPlaceEvent(end, stream), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtStreamWaitEvent(end, other, 0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtQueryStream(other), CNRT_RET_ERR_BUSY);
    assert_int_equal(cnrtQueryEvent(end), CNRT_RET_ERR_BUSY);
    /* This status code has no name in this API generation. */
    assert_int_equal((int)cnrtEventElapsedTime(start, end, &us), 632006);
    task.is_let_go = true;
    assert_int_equal(cnrtWaitEvent(end), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSyncStream(other), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtEventElapsedTime(start, end, &us), CNRT_RET_SUCCESS);
    assert_true(us > 0);
    assert_int_equal(cnrtDestroyEvent(start), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtDestroyEvent(start), CNRT_RET_ERR_EVENT);
    ntk_cnrt_program_drop(program);
}

static void a_device_has_at_most_1024_streams(void **state)
{
    static cnrtStream_t streams[1024];
    cnrtStream_t more = NULL;
    cnrtCap_t cap = { 0 };
    cnrtDev_t dev = 0;

    assert_int_equal(cnrtGetCurrentDevice(&dev), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetDeviceCapability(&cap, dev), CNRT_RET_SUCCESS);
    assert_int_equal(cap.core_num, 16);
    assert_int_equal(cap.max_stream_num, 1024);
    for (size_t i = 0; i < 1024; i++) {
        assert_int_equal(cnrtCreateStream(&streams[i]), CNRT_RET_SUCCESS);
    }
    assert_int_equal(cnrtCreateStream(&more), CNRT_RET_ERR_NORES);
    assert_int_equal(cnrtCreateStream(NULL), CNRT_RET_ERR_INVALID);
}

static void device_properties_are_reported(void **state)
{
    cnrtHardwareVersion_t version = { 0 };
    unsigned long mib = 0;
    cnrtCap_t cap;

    assert_int_equal(cnrtGetDeviceMemorySize(&mib), CNRT_RET_SUCCESS);
    assert_int_equal(mib, 16384);
    assert_int_equal(cnrtGetDeviceMemorySize(NULL), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtGetHardwareVersion(&version), CNRT_RET_SUCCESS);
    assert_int_equal(version.core_version, CNRT_UNKNOWN); /* a later card */
    assert_int_equal(cnrtGetDeviceCapability(&cap, 12345), CNRT_RET_ERR_NODEV);
}

static void a_function_is_invoked_on_a_stream(void **state)
{
    static float x[TEST_MODEL_ELEMENTS];
    static float y[TEST_MODEL_ELEMENTS];
    struct cards *cards = *state;
    char *path = offline_write(cards->folder, "adder.mlu");
    cnrtDim3_t dim = { 1, 1, 1 };
    cnrtModel_t model = NULL;
    cnrtFunction_t function = NULL;
    cnrtStream_t stream = NULL;
    cnrtDataDescArray_t inputs = NULL;
    cnrtDataDescArray_t outputs = NULL;
    int input_count = 0;
    int output_count = 0;
    void *params[2] = { NULL, NULL };

    assert_int_equal(cnrtLoadModel(&model, path), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateFunction(&function), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInitFunctionMemory(function, CNRT_FUNC_TYPE_BLOCK), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtExtractFunction(&function, model, "subnet0"), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInitFunctionMemory(function, CNRT_FUNC_TYPE_UNION4), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInitFunctionMemory(function, CNRT_FUNC_TYPE_UNION8),
                     CNRT_RET_ERR_INVALID); /* 32 cores, but there are 16 */
    assert_int_equal(cnrtGetInputDataDesc(&inputs, &input_count, function), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetOutputDataDesc(&outputs, &output_count, function), CNRT_RET_SUCCESS);
    assert_int_equal(input_count, 1);
    assert_int_equal(output_count, 1);
    assert_int_equal(inputs[0].direction, 0);
    assert_int_equal(outputs[0].direction, 1);
    assert_int_equal(cnrtCreateStream(&stream), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&params[0], sizeof x), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMallocBatch(&params[1], sizeof y, 2), CNRT_RET_SUCCESS);
    offline_input(x);
    assert_int_equal(cnrtMemcpy(params[0], x, sizeof x, CNRT_MEM_TRANS_DIR_HOST2DEV), 0);
    assert_int_equal(cnrtInvokeFunction(function, dim, params, (cnrtFunctionType_t)8, stream, NULL),
                     CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtInvokeFunction(function, dim, params, CNRT_FUNC_TYPE_BLOCK, stream, NULL),
                     CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSyncStream(stream), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMemcpy(y, params[1], sizeof y, CNRT_MEM_TRANS_DIR_DEV2HOST), 0);
    offline_check(y);
    free(path);
}

static void invalid_directions_memory_types_and_batches_are_rejected(void **state)
{
    void *device = NULL;
    void *host = NULL;
    char bytes[16];

    assert_int_equal(cnrtMalloc(&device, 16), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMemcpy(device, bytes, 16, (cnrtMemTransDir_t)4), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtMallocHost(&host, 16, CNRT_MEMTYPE_DEV), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMallocHost(&host, 16, (cnrtMemType_t)7), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtMallocBatch(&device, 10, 0), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtMallocBatch(&device, SIZE_MAX - 200, 2), CNRT_RET_ERR_NOMEM);
    assert_int_equal(cnrtMallocBatch(&device, SIZE_MAX, 2), CNRT_RET_ERR_NOMEM);
}

int main(void)
{
#define CARDS(test) cmocka_unit_test_setup_teardown(test, cards_setup_open, cards_teardown)
    const struct CMUnitTest tests[] = {
        CARDS(a_stream_reports_whether_it_is_busy),
        CARDS(events_measure_the_duration_of_a_task),
        CARDS(a_device_has_at_most_1024_streams),
        CARDS(device_properties_are_reported),
        CARDS(a_function_is_invoked_on_a_stream),
        CARDS(invalid_directions_memory_types_and_batches_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
