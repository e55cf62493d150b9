/* SPDX-License-Identifier: MIT */
/* Method: one thread holds the lock while another one, which was cancelled, waits for it. */
#include "runtime-hooks/hooks/core_lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/support/asleep.h"
#include "tests/support/unit.h"

static struct hooks_core_lock lock;
static atomic_int waiting_tid;
static atomic_int was_taken;

static void *wait_while_cancelled(void *ctx)
{
    (void)ctx;
    pthread_cancel(pthread_self());
    atomic_store(&waiting_tid, (int)gettid());
    if (hooks_core_lock_take(&lock)) {
        atomic_store(&was_taken, 1);
        hooks_core_lock_drop(&lock);
    }
    pthread_testcancel();
    return NULL;
}

static void a_thread_waiting_for_the_core_lock_is_cancelled_after_counting(void **state)
{
    pthread_t thread;
    void *result = NULL;

    (void)state;
    assert_true(hooks_core_lock_take(&lock));
    assert_int_equal(pthread_create(&thread, NULL, wait_while_cancelled, NULL), 0);
    test_wait_asleep(&waiting_tid);
    hooks_core_lock_drop(&lock);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_true(atomic_load(&was_taken));
    assert_true(hooks_core_lock_take(&lock));
    hooks_core_lock_drop(&lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_waiting_for_the_core_lock_is_cancelled_after_counting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
