/* SPDX-License-Identifier: MIT */
/*
 * Queues of text that programs print: order, limits, threads.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_debug.h"
#include "tests/support/unit.h"

static int is_readable(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    return poll(&poll_fd, 1, 0) == 1;
}

static int push(uint32_t nc, uint32_t pipe, const char *text)
{
    struct ntk_engine_print_event event = { .pipe = pipe,
                                            .prefix = text,
                                            .dtype = "uint8",
                                            .shape = { strlen(text) },
                                            .data = text,
                                            .data_bytes = strlen(text) };

    return ntk_core_debug_push(nc, &event);
}

static void debug_events_are_received_in_order_per_core(void **state)
{
    struct ntk_core_debug_record *record = NULL;
    int fd = -1;
    int other = -1;

    assert_int_equal(push(3, 1, "no listener"), -ENOTCONN);
    assert_int_equal(ntk_core_debug_connect(3, 4, &fd), 0);
    assert_int_equal(ntk_core_debug_connect(3, 4, &other), -EBUSY);
    assert_int_equal(ntk_core_debug_connect(4, 4, &other), 0);
    assert_false(is_readable(fd));
    assert_int_equal(push(3, 1, "first"), 0);
    assert_int_equal(push(3, 2, "second"), 0);
    assert_true(is_readable(fd));
    assert_false(is_readable(other));

    assert_int_equal(ntk_core_debug_take(fd, &record), 0);
    assert_int_equal(record->nc, 3);
    assert_int_equal(record->pipe, 1);
    assert_string_equal(record->prefix, "first");
    assert_string_equal(record->dtype, "uint8");
    assert_int_equal(record->shape[0], 5);
    assert_int_equal(record->data_bytes, 5);
    assert_memory_equal(record->data, "first", 5);
    free(record);
    assert_int_equal(ntk_core_debug_take(fd, &record), 0);
    assert_string_equal(record->prefix, "second");
    free(record);
    assert_false(is_readable(fd));
    assert_int_equal(ntk_core_debug_take(fd, &record), -EAGAIN);
    assert_int_equal(ntk_core_debug_close(fd), 0);
    assert_int_equal(ntk_core_debug_close(fd), -EBADF);
    assert_int_equal(ntk_core_debug_take(fd, &record), -EBADF);
    ntk_core_debug_close_all();
    assert_int_equal(ntk_core_debug_take(other, &record), -EBADF);
}

static void a_full_debug_queue_drops_and_counts_new_events(void **state)
{
    struct ntk_core_debug_record *record = NULL;
    uint64_t lost = 0;
    int fd = -1;

    assert_int_equal(ntk_core_debug_connect(0, 2, &fd), 0);
    assert_int_equal(push(0, 0, "a"), 0);
    assert_int_equal(push(0, 0, "b"), 0);
    assert_int_equal(push(0, 0, "c"), -ENOSPC);
    assert_int_equal(ntk_core_debug_lost(fd, &lost), 0);
    assert_int_equal(lost, 1);
    assert_int_equal(ntk_core_debug_take(fd, &record), 0);
    assert_string_equal(record->prefix, "a");
    free(record);
    assert_int_equal(push(0, 0, "d"), 0); /* room again, across the end of the ring */
    assert_int_equal(ntk_core_debug_take(fd, &record), 0);
    assert_string_equal(record->prefix, "b");
    free(record);
    assert_int_equal(ntk_core_debug_take(fd, &record), 0);
    assert_string_equal(record->prefix, "d");
    free(record);
    assert_int_equal(push(0, 0, "left behind"), 0);
    /* Frees the rest: asan's leak check would detect it. */
    assert_int_equal(ntk_core_debug_close(fd), 0);
}

static void *pushes(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 500; i++) {
        assert_true(push(1, 0, "tensor") == 0);
    }
    return NULL;
}

static void debug_events_from_several_threads_are_all_received(void **state)
{
    pthread_t threads[3];
    int taken = 0;
    int fd = -1;

    assert_int_equal(ntk_core_debug_connect(1, 2048, &fd), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, pushes, NULL), 0);
    }
    while (taken < 1500) {
        struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
        struct ntk_core_debug_record *record = NULL;

        assert_int_equal(poll(&poll_fd, 1, -1), 1);
        if (ntk_core_debug_take(fd, &record) == 0) {
            taken++;
            free(record);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(ntk_core_debug_close(fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debug_events_are_received_in_order_per_core),
        cmocka_unit_test(a_full_debug_queue_drops_and_counts_new_events),
        cmocka_unit_test(debug_events_from_several_threads_are_all_received),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
