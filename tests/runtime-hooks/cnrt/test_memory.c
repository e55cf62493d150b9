/* SPDX-License-Identifier: MIT */
/* Memory of devices and host, and copies, with the calls of the third generation. */
#include "neuware/g3/cnrt.h"

#include <string.h>

#include "tests/runtime-hooks/cnrt/cards.h"
#include "tests/support/unit.h"

#define BYTES 4096U

static void *device_make(size_t bytes)
{
    void *pointer = NULL;

    assert_int_equal(cnrtMalloc(&pointer, bytes), CNRT_RET_SUCCESS);
    return pointer;
}

static void copied_bytes_are_read_back_unchanged(void **state)
{
    char *device = device_make(BYTES);
    char *other = device_make(BYTES);
    char from[BYTES];
    char to[BYTES] = { 0 };

    for (size_t i = 0; i < BYTES; i++) {
        from[i] = (char)(i * 7);
    }
    assert_int_equal(cnrtMemcpy(device, from, BYTES, CNRT_MEM_TRANS_DIR_HOST2DEV), 0);
    assert_int_equal(cnrtMemcpy(other + 100, device + 50, 1000, CNRT_MEM_TRANS_DIR_DEV2DEV), 0);
    assert_int_equal(cnrtMemcpy(to, other + 100, 1000, CNRT_MEM_TRANS_DIR_DEV2HOST), 0);
    assert_memory_equal(to, from + 50, 1000);
    assert_int_equal(cnrtMemcpy(to, device, BYTES, CNRT_MEM_TRANS_DIR_NODIR), 0);
    assert_memory_equal(to, from, BYTES);
    assert_int_equal(cnrtMemset(device + 1, 0x5a, BYTES - 1), 0);
    assert_int_equal(cnrtMemcpy(to, device, BYTES, CNRT_MEM_TRANS_DIR_DEV2HOST), 0);
    assert_int_equal(to[0], from[0]);
    assert_int_equal(to[1], 0x5a);
    assert_int_equal(to[BYTES - 1], 0x5a);
    assert_int_equal(cnrtMemcpy(to, device, 0, CNRT_MEM_TRANS_DIR_DEV2HOST), 0);
}

static void an_invalid_copy_returns_its_error_code(void **state)
{
    char *device = device_make(BYTES);
    char host[BYTES];
    char other[BYTES];
    cnrtQueue_t queue = NULL;

    assert_int_equal(cnrtMemcpy(host, other, BYTES, CNRT_MEM_TRANS_DIR_HOST2DEV),
                     CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtMemcpy(device, device, BYTES, CNRT_MEM_TRANS_DIR_HOST2DEV),
                     CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtMemcpy(host, other, BYTES, CNRT_MEM_TRANS_DIR_DEV2HOST),
                     CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtMemcpy(device, device, BYTES, CNRT_MEM_TRANS_DIR_DEV2HOST),
                     CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtMemcpy(NULL, host, BYTES, CNRT_MEM_TRANS_DIR_HOST2DEV),
                     CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtMemcpy(device, NULL, BYTES, CNRT_MEM_TRANS_DIR_HOST2DEV),
                     CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtMemcpy(device + 1, host, BYTES, CNRT_MEM_TRANS_DIR_HOST2DEV),
                     CNRT_RET_ERR_MEMCPY);
    assert_int_equal(cnrtMemcpy(host, device, BYTES + 1, CNRT_MEM_TRANS_DIR_DEV2HOST),
                     CNRT_RET_ERR_MEMCPY);
    assert_int_equal(cnrtMemcpy(host, device, SIZE_MAX, CNRT_MEM_TRANS_DIR_DEV2HOST),
                     CNRT_RET_ERR_MEMCPY);
    assert_int_equal(cnrtMemcpy(device, host, BYTES, (cnrtMemTransDir_t)6), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtMemcpy(device, host, BYTES, (cnrtMemTransDir_t)-1), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtMemcpy(host, other, BYTES, CNRT_MEM_TRANS_DIR_HOST2HOST),
                     CNRT_RET_ERR_UNSUPPORTED);
    assert_int_equal(cnrtMemcpy(host, other, BYTES, CNRT_MEM_TRANS_DIR_NODIR),
                     CNRT_RET_ERR_UNSUPPORTED);
    assert_int_equal(cnrtMemset(host, 0, BYTES), CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtMemset(device, 0, BYTES + 1), CNRT_RET_ERR_MEMCPY);
    assert_int_equal(cnrtGetLastErr(), CNRT_RET_ERR_MEMCPY);

    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMemcpyAsync(device, host, BYTES + 1, queue, CNRT_MEM_TRANS_DIR_HOST2DEV),
                     CNRT_RET_ERR_MEMCPY);
    assert_int_equal(cnrtMemcpyAsync(device, host, BYTES, NULL, CNRT_MEM_TRANS_DIR_HOST2DEV),
                     CNRT_RET_ERR_QUEUE);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
}

static void freed_memory_is_rejected(void **state)
{
    char *device = device_make(BYTES);
    void *array[3] = { device_make(1), device_make(2), NULL };
    void *host = NULL;
    char bytes[BYTES] = { 0 };
    void *pointer = (void *)1;

    assert_int_equal(cnrtFree(device + 1), CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtFree(bytes), CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtFree(NULL), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtFree(device), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtFree(device), CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtMemcpy(device, bytes, 1, CNRT_MEM_TRANS_DIR_HOST2DEV),
                     CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtFreeArray(array, 3), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtFreeArray(array, 3), CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtFreeArray(NULL, 1), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtMalloc(&pointer, 0), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtMalloc(NULL, 1), CNRT_RET_ERR_INVALID);
    assert_ptr_equal(pointer, (void *)1);

    assert_int_equal(cnrtMallocHost(&host, BYTES, CNRT_MEMTYPE_LOCKED), CNRT_RET_SUCCESS);
    memset(host, 3, BYTES);
    assert_int_equal(cnrtFree(host), CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtFreeHost((char *)host + 1), CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtFreeHost(host), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtFreeHost(host), CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtFreeHost(NULL), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMallocHost(&host, BYTES, (cnrtMemType_t)3), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtMallocHost(&host, 0, CNRT_MEMTYPE_DEFAULT), CNRT_RET_ERR_INVALID);
}

static void a_full_device_does_not_affect_another_device(void **state)
{
    const size_t gib = (size_t)1 << 30;
    void *pointers[20];
    void *more = NULL;
    size_t count = 0;
    cnrtDev_t dev = 0;

    assert_int_equal(cnrtMalloc(&more, SIZE_MAX), CNRT_RET_ERR_NOMEM);
    assert_int_equal(cnrtMalloc(&more, 17 * gib), CNRT_RET_ERR_NOMEM);
    while (count < 20 && cnrtMalloc(&pointers[count], gib) == CNRT_RET_SUCCESS) {
        count++;
    }
    assert_int_equal(count, 15); /* the remaining memory is smaller */
    assert_int_equal(cnrtGetLastErr(), CNRT_RET_ERR_NOMEM);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 1), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&more, gib), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&more, gib), CNRT_RET_ERR_NOMEM);
    assert_int_equal(cnrtFree(pointers[3]), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&pointers[3], gib), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtFreeArray(pointers, (int)count), CNRT_RET_SUCCESS);
}

static void many_allocations_are_distinguished(void **state)
{
    enum { COUNT = 2000 };
    static char *pointers[COUNT];
    char value = 0;

    for (int i = 0; i < COUNT; i++) {
        pointers[i] = device_make(1 + (size_t)i % 200);
        assert_int_equal(cnrtMemset(pointers[i], i, 1), CNRT_RET_SUCCESS);
    }
    for (int i = 0; i < COUNT; i += 2) {
        assert_int_equal(cnrtFree(pointers[i]), CNRT_RET_SUCCESS);
    }
    for (int i = 1; i < COUNT; i += 2) {
        assert_int_equal(cnrtMemcpy(&value, pointers[i], 1, CNRT_MEM_TRANS_DIR_DEV2HOST), 0);
        assert_int_equal(value, (char)i);
        assert_int_equal(cnrtMemset(pointers[i], 0, 2 + (size_t)i % 200), CNRT_RET_ERR_MEMCPY);
    }
}

static void copies_in_a_queue_run_in_order(void **state)
{
    char *device = device_make(BYTES);
    char first[BYTES];
    char second[BYTES];
    char seen[2][BYTES];
    cnrtQueue_t queue = NULL;

    memset(first, 1, BYTES);
    memset(second, 2, BYTES);
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    for (int round = 0; round < 100; round++) {
        memset(seen, 0, sizeof seen);
        assert_int_equal(cnrtMemcpyAsync(device, first, BYTES, queue, CNRT_MEM_TRANS_DIR_HOST2DEV),
                         0);
        assert_int_equal(
            cnrtMemcpyAsync(seen[0], device, BYTES, queue, CNRT_MEM_TRANS_DIR_DEV2HOST), 0);
        assert_int_equal(cnrtMemcpyAsync(device, second, BYTES, queue, CNRT_MEM_TRANS_DIR_HOST2DEV),
                         0);
        assert_int_equal(
            cnrtMemcpyAsync(seen[1], device, BYTES, queue, CNRT_MEM_TRANS_DIR_DEV2HOST), 0);
        assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
        assert_memory_equal(seen[0], first, BYTES);
        assert_memory_equal(seen[1], second, BYTES);
    }
}

static void selecting_a_device_resets_the_memory_channel(void **state)
{
    cnrtChannelType_t channel = CNRT_CHANNEL_TYPE_3;
    cnrtDev_t dev = 0;

    assert_int_equal(cnrtGetCurrentChannel(&channel), CNRT_RET_SUCCESS);
    assert_int_equal(channel, CNRT_CHANNEL_TYPE_NONE);
    assert_int_equal(cnrtSetCurrentChannel(CNRT_CHANNEL_TYPE_2), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetCurrentChannel(&channel), CNRT_RET_SUCCESS);
    assert_int_equal(channel, CNRT_CHANNEL_TYPE_2);
    assert_int_equal(cnrtFree(device_make(10)), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentChannel((cnrtChannelType_t)4), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtGetCurrentChannel(NULL), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtGetCurrentDevice(&dev), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetCurrentChannel(&channel), CNRT_RET_SUCCESS);
    assert_int_equal(channel, CNRT_CHANNEL_TYPE_NONE);
}

int main(void)
{
#define CARDS(test) cmocka_unit_test_setup_teardown(test, cards_setup_open, cards_teardown)
    const struct CMUnitTest tests[] = {
        CARDS(copied_bytes_are_read_back_unchanged),
        CARDS(an_invalid_copy_returns_its_error_code),
        CARDS(freed_memory_is_rejected),
        CARDS(a_full_device_does_not_affect_another_device),
        CARDS(many_allocations_are_distinguished),
        CARDS(copies_in_a_queue_run_in_order),
        CARDS(selecting_a_device_resets_the_memory_channel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
