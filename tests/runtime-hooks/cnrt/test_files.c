/* SPDX-License-Identifier: MIT */
/* Programs in files: tasks that run them on any free cluster. */
#include "neuware/g3/cnrt.h"

#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/cnrt/cards.h"
#include "tests/support/models.h"
#include "tests/support/unit.h"

#define TASKS 12

struct adder {
    struct ntk_cnrt_program *program;
    float *x, *y; /* on the device */
};

static void adder_make(struct adder *adder)
{
    size_t bytes = 0;
    uint8_t *file = test_model_adder(&(struct test_model_options){ .rounds = 1 }, &bytes);
    const struct ntk_cnrt_program_options options = { .file = file,
                                                      .file_bytes = bytes,
                                                      .code_bytes = bytes };
    float x[TEST_MODEL_ELEMENTS];

    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        x[i] = (float)(i % 1000);
    }
    assert_int_equal(ntk_cnrt_program_create(&options, &adder->program), 0);
    free(file);
    assert_int_equal(cnrtMalloc((void **)&adder->x, TEST_MODEL_BYTES), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc((void **)&adder->y, 2 * TEST_MODEL_BYTES), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMemcpy(adder->x, x, sizeof x, CNRT_MEM_TRANS_DIR_HOST2DEV),
                     CNRT_RET_SUCCESS);
}

static void adder_check(const float *y)
{
    float result[TEST_MODEL_ELEMENTS];

    assert_int_equal(cnrtMemcpy(result, (void *)y, sizeof result, CNRT_MEM_TRANS_DIR_DEV2HOST),
                     CNRT_RET_SUCCESS);
    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        assert_true(result[i] == (float)(i % 1000) + (float)i);
    }
}

static int push(cnrtQueue_t queue, const struct adder *adder, void *x, void *y, uint64_t mask)
{
    void *const params[] = { x, y };
    const struct ntk_cnrt_task task = {
        .program = adder->program, .params = params, .param_count = 2, .cluster_mask = mask
    };

    return ntk_cnrt_task_push(queue, &task);
}

static void a_program_file_runs_on_every_cluster(void **state)
{
    struct adder adder;
    cnrtQueue_t queue = NULL;

    adder_make(&adder);
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    for (uint32_t cluster = 0; cluster < 4; cluster++) {
        assert_int_equal(cnrtMemset(adder.y, 0xff, 2 * TEST_MODEL_BYTES), CNRT_RET_SUCCESS);
        assert_int_equal(push(queue, &adder, adder.x, adder.y, UINT64_C(1) << cluster), 0);
        assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
        adder_check(adder.y);
    }
    ntk_cnrt_program_drop(adder.program);
}

static void a_kernel_argument_may_point_inside_an_allocation(void **state)
{
    struct adder adder;
    cnrtQueue_t queue = NULL;
    char *inside;

    adder_make(&adder);
    inside = (char *)adder.y + TEST_MODEL_BYTES;
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    assert_int_equal(push(queue, &adder, adder.x, inside, 0), 0);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    adder_check((float *)(void *)inside);
    assert_int_equal(push(queue, &adder, adder.x, inside + 64, 0), CNRT_RET_ERR_MEMCPY);
    assert_int_equal(push(queue, &adder, adder.x, &inside, 0), CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(push(queue, &adder, NULL, adder.y, 0), CNRT_RET_ERR_INVALID_POINTER);
    ntk_cnrt_program_drop(adder.program);
}

static void freed_memory_is_kept_until_its_tasks_have_finished(void **state)
{
    struct adder adder;
    cnrtQueue_t queue = NULL;
    struct ntk_cnrt_program *hold = cards_program("hold");
    struct cards_task held = { .code = 0 };

    adder_make(&adder);
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    cards_push(queue, hold, &held);
    assert_int_equal(push(queue, &adder, adder.x, adder.y, 0), 0);
    assert_int_equal(cnrtFree(adder.x), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtFree(adder.x), CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(push(queue, &adder, adder.x, adder.y, 0), CNRT_RET_ERR_INVALID_POINTER);
    ntk_cnrt_program_drop(adder.program); /* the task holds the program, too */
    held.is_let_go = true;
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    adder_check(adder.y);
    ntk_cnrt_program_drop(hold);
}

static void an_operator_on_a_different_device_uses_that_devices_memory(void **state)
{
    struct adder adder;
    cnrtQueue_t queue = NULL;
    cnrtDev_t dev = 0;
    void *x = NULL;
    void *y = NULL;

    adder_make(&adder);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 2), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    assert_int_equal(push(queue, &adder, adder.x, adder.y, 0), CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtMalloc(&x, TEST_MODEL_BYTES), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&y, TEST_MODEL_BYTES), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMemcpy(x, adder.x, TEST_MODEL_BYTES, CNRT_MEM_TRANS_DIR_DEV2DEV),
                     CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtMemcpy(x, adder.x, TEST_MODEL_BYTES, CNRT_MEM_TRANS_DIR_PEER2PEER),
                     CNRT_RET_SUCCESS);
    assert_int_equal(push(queue, &adder, x, y, 0), 0);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    adder_check(y);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    ntk_cnrt_program_drop(adder.program);
}

static void tasks_of_many_queues_share_the_clusters(void **state)
{
    struct adder adder;
    cnrtQueue_t queues[TASKS];
    void *outputs[TASKS];

    adder_make(&adder);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(cnrtCreateQueue(&queues[i]), CNRT_RET_SUCCESS);
        assert_int_equal(cnrtMalloc(&outputs[i], TEST_MODEL_BYTES), CNRT_RET_SUCCESS);
        assert_int_equal(push(queues[i], &adder, adder.x, outputs[i], 0), 0);
    }
    assert_int_equal(cnrtSyncDevice(), CNRT_RET_SUCCESS);
    for (size_t i = 0; i < TASKS; i++) {
        adder_check(outputs[i]);
    }
    ntk_cnrt_program_drop(adder.program);
}

static void a_file_that_is_not_a_program_is_rejected(void **state)
{
    const struct ntk_cnrt_program_options options = { .file = "no program", .file_bytes = 10 };
    struct ntk_cnrt_program *program = NULL;

    assert_int_not_equal(ntk_cnrt_program_create(&options, &program), 0);
    assert_null(program);
}

static void a_core_fault_is_reported_by_the_next_synchronisation(void **state)
{
    struct adder adder;
    cnrtQueue_t queue = NULL;

    cnrtDestroy();
    setenv("NEURON_SOFT_FAULT", "sram-ue:at=1,core=0", 1);
    assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
    unsetenv("NEURON_SOFT_FAULT");
    adder_make(&adder);
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    assert_int_equal(push(queue, &adder, adder.x, adder.y, 1), 0);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_ERR_ONCHIP_CORE);
    assert_int_equal(push(queue, &adder, adder.x, adder.y, 1), 0);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_ERR_BROKEN);
    assert_int_equal(push(queue, &adder, adder.x, adder.y, 2), 0);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    ntk_cnrt_program_drop(adder.program);
}

int main(void)
{
#define CARDS(test) cmocka_unit_test_setup_teardown(test, cards_setup_open, cards_teardown)
    const struct CMUnitTest tests[] = {
        CARDS(a_program_file_runs_on_every_cluster),
        CARDS(a_kernel_argument_may_point_inside_an_allocation),
        CARDS(freed_memory_is_kept_until_its_tasks_have_finished),
        CARDS(an_operator_on_a_different_device_uses_that_devices_memory),
        CARDS(tasks_of_many_queues_share_the_clusters),
        CARDS(a_file_that_is_not_a_program_is_rejected),
        CARDS(a_core_fault_is_reported_by_the_next_synchronisation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
