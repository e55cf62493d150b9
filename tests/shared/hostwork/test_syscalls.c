/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/syscalls.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "tests/support/unit.h"

static void system_calls_have_a_name_and_a_cause(void **state)
{
    static const uint64_t none[3] = { 0 };

    assert_string_equal(ntk_host_syscall_name(SYS_read), "read");
    assert_int_equal(ntk_host_syscall_cause(SYS_read, none), NTK_HOST_READ);
    assert_true(ntk_host_syscall_has_descriptor(SYS_read));
    assert_int_equal(ntk_host_syscall_cause(SYS_wait4, none), NTK_HOST_CHILD);
    assert_false(ntk_host_syscall_has_descriptor(SYS_wait4));
}

static void an_unknown_system_call_has_no_name_and_the_cause_other(void **state)
{
    static const uint64_t none[3] = { 0 };

    assert_null(ntk_host_syscall_name(100000));
    assert_null(ntk_host_syscall_name(-1));
    assert_int_equal(ntk_host_syscall_cause(100000, none), NTK_HOST_OTHER);
    assert_false(ntk_host_syscall_has_descriptor(-7));
}

/* Arguments passed by glibc: pthread_mutex_lock waits while the word is 2, pthread_cond_wait by
 * bitset. */
static void mutex_waits_have_cause_lock_and_condition_waits_cause_wait(void **state)
{
    const uint64_t mutex[3] = { 0x1000, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2 };
    const uint64_t inherits[3] = { 0x1000, FUTEX_LOCK_PI, 0 };
    const uint64_t condition[3] = { 0x1000, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 2 };
    const uint64_t other[3] = { 0x1000, FUTEX_WAIT, 0 };

    assert_int_equal(ntk_host_syscall_cause(SYS_futex, mutex), NTK_HOST_LOCK);
    assert_int_equal(ntk_host_syscall_cause(SYS_futex, inherits), NTK_HOST_LOCK);
    assert_int_equal(ntk_host_syscall_cause(SYS_futex, condition), NTK_HOST_WAIT);
    assert_int_equal(ntk_host_syscall_cause(SYS_futex, other), NTK_HOST_WAIT);
}

/* CPython before 3.11 sleeps with select() without files. */
static void a_poll_without_descriptors_is_a_sleep(void **state)
{
    const uint64_t none[3] = { 0, 0, 0 };
    const uint64_t three[3] = { 3, 3, 0 };

    assert_int_equal(ntk_host_syscall_cause(SYS_pselect6, none), NTK_HOST_SLEEP);
    assert_int_equal(ntk_host_syscall_cause(SYS_ppoll, none), NTK_HOST_SLEEP);
    assert_int_equal(ntk_host_syscall_cause(SYS_pselect6, three), NTK_HOST_POLL);
    assert_int_equal(ntk_host_syscall_cause(SYS_ppoll, three), NTK_HOST_POLL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(system_calls_have_a_name_and_a_cause),
        cmocka_unit_test(an_unknown_system_call_has_no_name_and_the_cause_other),
        cmocka_unit_test(mutex_waits_have_cause_lock_and_condition_waits_cause_wait),
        cmocka_unit_test(a_poll_without_descriptors_is_a_sleep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
