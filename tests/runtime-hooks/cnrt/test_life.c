/* SPDX-License-Identifier: MIT */
/* Lifetime of the library in a process, its threads and its children; the second generation. */
#include "neuware/g2/cnrt.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime-hooks/cnrt/cards.h"
#include "tests/runtime-hooks/cnrt/offline.h"
#include "tests/support/unit.h"

static void calls_before_the_library_is_opened_fail(void **state)
{
    void *pointer = NULL;
    unsigned int count = 9;
    cnrtDev_t dev = 0;
    cnrtQueue_t queue = NULL;
    cnrtNotifier_t notifier = NULL;
    cnrtModel_t model = NULL;
    float us = 0;

    assert_int_equal(cnrtGetDeviceCount(&count), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 0), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtMalloc(&pointer, 16), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtFree(NULL), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtSyncDevice(), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtCreateNotifier(&notifier), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtNotifierDuration(notifier, notifier, &us), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtMemcpy(pointer, &us, 4, CNRT_MEM_TRANS_DIR_HOST2DEV), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtLoadModel(&model, "/nowhere"), CNRT_RET_ERR_INIT);
    assert_int_equal(count, 9);
    assert_int_equal(cnrtGetLastErr(), CNRT_RET_ERR_INIT);
    cnrtDestroy();
    assert_int_equal(cnrtInit(2), CNRT_RET_ERR_INVALID);
}

static void the_library_opens_and_closes_any_number_of_times(void **state)
{
    for (int i = 0; i < 3; i++) {
        unsigned int count = 0;
        void *pointer = NULL;
        cnrtQueue_t queue = NULL;

        assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
        assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
        assert_int_equal(cnrtGetDeviceCount(&count), CNRT_RET_SUCCESS);
        assert_int_equal(count, 4);
        assert_int_equal(cnrtMalloc(&pointer, 1 << 20), CNRT_RET_SUCCESS);
        assert_int_equal(cnrtMallocHost(&pointer, 1 << 20, CNRT_MEMTYPE_DEFAULT), 0);
        assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
        cnrtDestroy();
    }
}

static void only_visible_devices_are_available(void **state)
{
    unsigned int count = 0;
    cnrtDev_t dev = 0;
    cnrtDev_t now = 0;

    setenv("MLU_VISIBLE_DEVICES", "1,2", 1);
    assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetDeviceCount(&count), CNRT_RET_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 2), CNRT_RET_ERR_NODEV);
    assert_int_equal(cnrtGetDeviceHandle(&dev, -1), CNRT_RET_ERR_NODEV);
    assert_int_equal(cnrtGetDeviceHandle(NULL, 0), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 1), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetCurrentDevice(&now), CNRT_RET_SUCCESS);
    assert_true(now == dev);
    assert_int_equal(cnrtSetCurrentDevice(0), CNRT_RET_ERR_NODEV);
    assert_int_equal(cnrtSetCurrentDevice(dev + 1), CNRT_RET_ERR_NODEV);
    cnrtDestroy();
    static const char *const wrong[] = { "a", "0,2", "3-5", "2-1", "1,", "-1", "7" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("MLU_VISIBLE_DEVICES", wrong[i], 1);
        assert_int_equal(cnrtInit(0), CNRT_RET_ERR_INVALID);
    }
    setenv("MLU_VISIBLE_DEVICES", "0-3", 1);
    assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
    cnrtDestroy();
    setenv("NEURON_SOFT_INSTANCE", "trn1.2xlarge", 1);
    unsetenv("MLU_VISIBLE_DEVICES");
    assert_int_equal(cnrtInit(0), CNRT_RET_ERR_INVALID);
}

static void the_default_machine_has_one_card(void **state)
{
    unsigned int count = 0;

    unsetenv("NEURON_SOFT_INSTANCE");
    assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetDeviceCount(&count), CNRT_RET_SUCCESS);
    assert_int_equal(count, 1);
    cnrtDestroy();
}

static void calls_that_need_a_device_fail_on_the_fake_device(void **state)
{
    unsigned int count = 9;
    cnrtDev_t dev = 0;
    void *pointer = NULL;

    assert_int_equal(cnrtInit(1), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetDeviceCount(&count), CNRT_RET_SUCCESS);
    assert_int_equal(count, 0);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 0), CNRT_RET_ERR_NODEV);
    assert_int_equal(cnrtGetDeviceHandle(&dev, -1), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&pointer, 16), CNRT_RET_WARNING_FAKE_DEVICE);
    cnrtDestroy();
    assert_int_equal(cnrtMalloc(&pointer, 16), CNRT_RET_ERR_INIT);
}

struct on_thread {
    int ordinal;
    char *device;
    cnrtRet_t last_error;
};

static void *thread_of_its_own(void *ctx)
{
    struct on_thread *mine = ctx;
    char bytes[1000];
    char back[1000];
    cnrtDev_t dev = 0;
    cnrtQueue_t queue = NULL;

    memset(bytes, mine->ordinal + 1, sizeof bytes);
    if (cnrtGetDeviceHandle(&dev, mine->ordinal) || cnrtSetCurrentDevice(dev) ||
        cnrtCreateQueue(&queue)) {
        return (void *)1;
    }
    for (int i = 0; i < 200; i++) {
        if (cnrtMalloc((void **)&mine->device, sizeof bytes) ||
            cnrtMemcpy(mine->device, bytes, sizeof bytes, CNRT_MEM_TRANS_DIR_HOST2DEV) ||
            cnrtMemcpy(back, mine->device, sizeof back, CNRT_MEM_TRANS_DIR_DEV2HOST) ||
            memcmp(back, bytes, sizeof back) != 0 || cnrtFree(mine->device) ||
            cnrtSyncQueue(queue)) {
            return (void *)1;
        }
    }
    (void)cnrtFree(bytes + mine->ordinal % 2);
    if (mine->ordinal % 2) {
        (void)cnrtSyncQueue(NULL);
    }
    mine->last_error = cnrtGetLastErr();
    return NULL;
}

static void each_thread_has_a_separate_device_and_error(void **state)
{
    struct on_thread threads[4];
    pthread_t ids[4];

    assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
    memset(threads, 0, sizeof threads);
    for (int i = 0; i < 4; i++) {
        threads[i].ordinal = i;
        assert_int_equal(pthread_create(&ids[i], NULL, thread_of_its_own, &threads[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *result = NULL;

        assert_int_equal(pthread_join(ids[i], &result), 0);
        assert_null(result);
        assert_int_equal(threads[i].last_error,
                         i % 2 ? CNRT_RET_ERR_QUEUE : CNRT_RET_ERR_INVALID_POINTER);
    }
}

/* Method: threads that use objects which another thread destroys; they may only get error codes. */
static void *uses_what_goes(void *ctx)
{
    cnrtQueue_t *queues = ctx;
    cnrtNotifier_t notifier = NULL;

    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 16; i++) {
            cnrtQueue_t queue = __atomic_load_n(&queues[i], __ATOMIC_RELAXED);

            (void)cnrtSyncQueue(queue);
            if (cnrtCreateNotifier(&notifier) == CNRT_RET_SUCCESS) {
                (void)cnrtPlaceNotifier(notifier, queue);
                (void)cnrtDestroyNotifier(&notifier);
            }
        }
    }
    return NULL;
}

static void objects_destroyed_by_another_thread_return_an_error_code(void **state)
{
    cnrtQueue_t queues[16] = { NULL };
    pthread_t ids[2];

    assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&ids[i], NULL, uses_what_goes, queues), 0);
    }
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 16; i++) {
            cnrtQueue_t queue = NULL;

            assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
            __atomic_store_n(&queues[i], queue, __ATOMIC_RELAXED);
            assert_int_equal(cnrtDestroyQueue(queue), CNRT_RET_SUCCESS);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(ids[i], NULL), 0);
    }
}

static void invalid_handles_are_rejected_with_their_error_code(void **state)
{
    char somewhere[64] = { 0 };
    void *const wrong[] = { NULL, somewhere, (void *)8, (void *)UINTPTR_MAX };
    cnrtQueue_t queue = NULL;
    cnrtFunction_t function = NULL;
    cnrtDim3_t dim = { 1, 1, 1 };
    int count = 0;
    float us = 0;

    assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    for (size_t i = 0; i < 4; i++) {
        cnrtNotifier_t notifier = wrong[i];
        cnrtFunction_t copy = NULL;

        assert_int_equal(cnrtDestroyQueue(wrong[i]), CNRT_RET_ERR_QUEUE);
        assert_int_equal(cnrtSyncQueue(wrong[i]), CNRT_RET_ERR_QUEUE);
        assert_int_equal(cnrtPlaceNotifier(wrong[i], queue), CNRT_RET_ERR_NOTIFIER);
        assert_int_equal(cnrtDestroyNotifier(&notifier), CNRT_RET_ERR_NOTIFIER);
        assert_int_equal(cnrtNotifierDuration(wrong[i], wrong[i], &us), CNRT_RET_ERR_NOTIFIER);
        assert_int_equal(cnrtUnloadModel(wrong[i]), CNRT_RET_ERR_INVALID);
        assert_int_equal(cnrtGetFunctionNumber(wrong[i], &count), CNRT_RET_ERR_INVALID);
        assert_int_equal(cnrtExtractFunction(&function, wrong[i], "subnet0"), CNRT_RET_ERR_INVALID);
        assert_int_equal(cnrtDestroyFunction(wrong[i]), CNRT_RET_ERR_INVALID);
        assert_int_equal(cnrtCopyFunction(&copy, wrong[i]), CNRT_RET_ERR_INVALID);
        assert_int_equal(
            cnrtInvokeFunction_V2(wrong[i], dim, NULL, CNRT_FUNC_TYPE_BLOCK, queue, NULL),
            CNRT_RET_ERR_INVALID);
    }
    assert_int_equal(cnrtDestroyNotifier(NULL), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtCreateNotifier(NULL), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtDestroyQueue((cnrtQueue_t)((char *)queue + 8)), CNRT_RET_ERR_QUEUE);
}

static void a_function_runs_through_the_v2_interface(void **state)
{
    static float x[TEST_MODEL_ELEMENTS];
    static float y[TEST_MODEL_ELEMENTS];
    size_t bytes = 0;
    char *offline = offline_make(&bytes);
    cnrtDim3_t dim = { 1, 1, 1 };
    cnrtModel_t model = NULL;
    cnrtFunction_t function = NULL;
    cnrtQueue_t queue = NULL;
    cnrtDataDescArray_t descs = NULL;
    void *params[2] = { NULL, NULL };
    int count = 0;
    unsigned int affinity = 2;
    cnrtInvokeFuncParam_t param = { .affinity = &affinity, .end = CNRT_PARAM_END };
    cnrtInitFuncParam_t init = { .end = CNRT_PARAM_END };

    assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtLoadModelFromMem(&model, offline), CNRT_RET_SUCCESS);
    free(offline);
    assert_int_equal(cnrtExtractFunction(&function, model, "again"), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInitFunctionMemory_V2(function, &init), CNRT_RET_SUCCESS);
    init.end = NULL;
    assert_int_equal(cnrtInitFunctionMemory_V2(function, &init), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtGetInputDataDesc(&descs, &count, function), CNRT_RET_SUCCESS);
    assert_int_equal(count, 1);
    assert_non_null(descs[0]);
    assert_int_equal(cnrtGetOutputDataDesc(&descs, &count, function), CNRT_RET_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&params[0], sizeof x), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&params[1], sizeof y), CNRT_RET_SUCCESS);
    offline_input(x);
    assert_int_equal(cnrtMemcpy(params[0], x, sizeof x, CNRT_MEM_TRANS_DIR_NODIR), 0);
    assert_int_equal(
        cnrtInvokeFunction_V2(function, dim, params, CNRT_FUNC_TYPE_UNION1, queue, &param), 0);
    assert_int_equal(
        cnrtInvokeFunction_V2(function, dim, params, (cnrtFunctionType_t)2, queue, NULL),
        CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMemcpy(y, params[1], sizeof y, CNRT_MEM_TRANS_DIR_DEV2HOST), 0);
    offline_check(y);
    assert_int_equal(cnrtMemcpy(params[0], params[1], 16, CNRT_MEM_TRANS_DIR_DEV2DEV),
                     CNRT_RET_ERR_UNSUPPORTED);
    assert_int_equal(cnrtDestroyFunction(function), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtUnloadModel(model), CNRT_RET_SUCCESS);
}

/* In the child: the parent's objects are closed, and the child may open its own once the parent has
 * closed. */
static int child(cnrtQueue_t queue, void *device)
{
    char byte = 0;
    cnrtQueue_t fresh = NULL;

    if (cnrtSyncQueue(queue) != CNRT_RET_ERR_INIT || cnrtFree(device) != CNRT_RET_ERR_INIT) {
        return 1;
    }
#ifdef __SANITIZE_THREAD__ /* it does not support threads started in a forked child */
    return 0;
#endif
    setenv("MLU_VISIBLE_DEVICES", "3", 1);
    if (cnrtInit(0) != CNRT_RET_SUCCESS) {
        return 2;
    }
    if (cnrtSyncQueue(queue) != CNRT_RET_ERR_QUEUE ||
        cnrtMemcpy(&byte, device, 1, CNRT_MEM_TRANS_DIR_DEV2HOST) != CNRT_RET_ERR_INVALID_POINTER ||
        cnrtCreateQueue(&fresh) != CNRT_RET_SUCCESS) {
        return 3;
    }
    cnrtDestroy();
    return 0;
}

static void a_forked_child_must_initialise_the_library_again(void **state)
{
    cnrtQueue_t queue = NULL;
    void *device = NULL;
    char byte = 5;
    int status = 0;

    setenv("MLU_VISIBLE_DEVICES", "0-1", 1);
    assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&device, 16), CNRT_RET_SUCCESS);
    struct ntk_cnrt_program *program = cards_program("op");
    /* Static: tsan forgets the order of events across a fork, and on the stack it would report a
     * race. */
    static struct cards_task task = { .is_let_go = true };
    cards_push(queue, program, &task);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(child(queue, device));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMemcpy(device, &byte, 1, CNRT_MEM_TRANS_DIR_HOST2DEV), CNRT_RET_SUCCESS);
    ntk_cnrt_program_drop(program);
    unsetenv("MLU_VISIBLE_DEVICES");
}

static void devices_used_by_another_process_are_busy(void **state)
{
    int status = 0;
    int ready[2];
    char byte = 0;

    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int code = cnrtInit(0);

        (void)!write(ready[1], &byte, 1);
        (void)pause();
        _exit(code != 0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(cnrtInit(0), CNRT_RET_ERR_BUSY);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

int main(void)
{
#define CARDS(test) cmocka_unit_test_setup_teardown(test, cards_setup, cards_teardown)
    const struct CMUnitTest tests[] = {
        CARDS(calls_before_the_library_is_opened_fail),
        CARDS(the_library_opens_and_closes_any_number_of_times),
        CARDS(only_visible_devices_are_available),
        CARDS(the_default_machine_has_one_card),
        CARDS(calls_that_need_a_device_fail_on_the_fake_device),
        CARDS(each_thread_has_a_separate_device_and_error),
        CARDS(objects_destroyed_by_another_thread_return_an_error_code),
        CARDS(invalid_handles_are_rejected_with_their_error_code),
        CARDS(a_function_runs_through_the_v2_interface),
        CARDS(a_forked_child_must_initialise_the_library_again),
        CARDS(devices_used_by_another_process_are_busy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
