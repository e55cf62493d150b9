/* SPDX-License-Identifier: MIT */
/* Descriptors that become readable when items are complete. */
#include "runtime-hooks/core/core_queue.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/runtime-hooks/core/queue_fixture.h"
#include "tests/support/unit.h"

static bool is_readable(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    return poll(&poll_fd, 1, 0) == 1;
}

static void wait_readable(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    assert_int_equal(poll(&poll_fd, 1, -1), 1);
}

static void a_queue_watch_continues_after_the_caller_closes_its_descriptor(void **state)
{
    struct queue_fixture *f = *state;
    uint64_t value = 0;
    int pipe_fds[2];

    int fd = eventfd(0, EFD_NONBLOCK);
    int all_fd = eventfd(0, EFD_NONBLOCK);
    int taken_back_fd = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(ntk_core_queue_watch_all(f->first, all_fd), 0);
    assert_int_equal(item_submit_new(f->first, &f->start, NULL), 0);
    assert_int_equal(item_submit_new(f->first, &f->start, NULL), 0);
    assert_int_equal(ntk_core_queue_watch(f->first, 3, fd), -EINVAL);
    assert_int_equal(ntk_core_queue_watch(f->first, 1, pipe_fds[1]), -EINVAL);
    assert_int_equal(ntk_core_queue_watch(f->first, 1, 1000000), -EINVAL);
    assert_int_equal(ntk_core_queue_watch(f->first, 2, taken_back_fd), 0);
    assert_int_equal(ntk_core_queue_watch(f->first, 2, -1), 0);
    assert_int_equal(ntk_core_queue_watch(f->first, 2, fd), 0);
    int closed_fd = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(ntk_core_queue_watch(f->first, 1, closed_fd), 0);
    /* The number of a descriptor that the caller closed may belong to another file by then. */
    assert_int_equal(dup2(pipe_fds[1], closed_fd), closed_fd);
    assert_false(is_readable(fd));
    sem_post(&f->start);
    wait_readable(all_fd);
    assert_false(is_readable(fd));
    assert_false(is_readable(pipe_fds[0]));
    sem_post(&f->start);
    wait_readable(fd);
    assert_int_equal(ntk_core_queue_sync(f->first), 0);
    assert_false(is_readable(pipe_fds[0]));
    assert_false(is_readable(taken_back_fd));
    assert_int_equal(eventfd_read(all_fd, &value), 0);
    assert_int_equal(value, 2);
    assert_int_equal(ntk_core_queue_watch_all(f->first, -1), 0);
    assert_int_equal(item_submit_new(f->first, NULL, NULL), 0);
    assert_int_equal(ntk_core_queue_sync(f->first), 0);
    assert_false(is_readable(all_fd));
    /* Already complete: readable at once. */
    assert_int_equal(ntk_core_queue_watch(f->first, 1, all_fd), 0);
    assert_true(is_readable(all_fd));
    close(fd);
    close(all_fd);
    close(taken_back_fd);
    close(closed_fd);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        QUEUE_TEST(a_queue_watch_continues_after_the_caller_closes_its_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
