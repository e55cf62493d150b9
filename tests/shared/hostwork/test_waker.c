/* SPDX-License-Identifier: MIT */
#include <sys/syscall.h>

#include "shared/hostwork/sampler.h"
#include "tests/support/unit.h"

static void a_futex_wait_is_ended_by_a_futex_call_or_an_exit(void **state)
{
    assert_true(ntk_host_is_waker(SYS_futex, SYS_futex));
    assert_true(ntk_host_is_waker(SYS_futex, SYS_exit));
    assert_false(ntk_host_is_waker(SYS_futex, SYS_write));
}

static void a_blocked_read_is_ended_by_a_write(void **state)
{
    assert_true(ntk_host_is_waker(SYS_read, SYS_write));
    assert_true(ntk_host_is_waker(SYS_recvfrom, SYS_sendto));
    assert_true(ntk_host_is_waker(SYS_ppoll, SYS_write));
    assert_true(ntk_host_is_waker(SYS_wait4, SYS_exit_group));
    assert_false(ntk_host_is_waker(SYS_wait4, SYS_write));
}

/* An interrupt runs in the context of the current thread, which is unrelated. */
static void an_interrupt_does_not_count_as_a_waker(void **state)
{
    assert_false(ntk_host_is_waker(SYS_read, -1));
    assert_false(ntk_host_is_waker(SYS_clock_nanosleep, SYS_futex));
    assert_false(ntk_host_is_waker(-1, SYS_futex));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_futex_wait_is_ended_by_a_futex_call_or_an_exit),
        cmocka_unit_test(a_blocked_read_is_ended_by_a_write),
        cmocka_unit_test(an_interrupt_does_not_count_as_a_waker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
