/* SPDX-License-Identifier: MIT */
/* When the daemon tries again to open its devices. Method: a daemon without devices; its attempts
 * all fail, and a clock on which every wait ends at once; a signal arrives in one of the waits. */
#include "runtime-hooks/rtd/rtd_startup.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "runtime-hooks/rtd/rtd_end.h"
#include "shared/base/log.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"

static unsigned waits;
static unsigned signalled_in; /* the wait in which the signal arrives, from 1; 0: none */

static void pass(void *ctx, uint64_t now_ns)
{
    (void)now_ns;
    if (++waits == signalled_in) {
        assert_int_equal(kill(getpid(), *(const int *)ctx), 0);
    }
}

/* Returns how long it took until it gave up. */
static uint64_t startup(int number)
{
    const struct ntk_core_machine machine = { .cores_per_device = 4 };
    const struct rtd_devices devices = { .count = 0 };
    struct ntk_core_options options = { 0 };
    struct ntk_err why = { 0 };
    struct test_clock clock;

    test_clock_init(&clock);
    clock.passes_waits = true;
    clock.passed = pass;
    clock.ctx = &number;
    waits = 0;
    uint64_t begin_ns = test_clock_now_ns(&clock);
    assert_null(rtd_startup(&options, &machine, &devices, &clock.clock, &why));
    assert_int_equal(why.code, -ENODEV);
    uint64_t took_ns = test_clock_now_ns(&clock) - begin_ns;
    test_clock_fini(&clock);
    return took_ns;
}

/* The signal is still pending for the thread that waits for it; takes it. */
static int signal_take(void)
{
    static const struct timespec at_once = { 0 };
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    return sigtimedwait(&signals, NULL, &at_once);
}

static void startup_is_attempted_three_times_half_a_second_apart(void **state)
{
    (void)state;
    signalled_in = 0;
    assert_int_equal(startup(0), (RTD_STARTUP_ATTEMPTS - 1) * RTD_STARTUP_PAUSE_NS);
    assert_int_equal(waits, RTD_STARTUP_ATTEMPTS - 1);
    assert_int_equal(signal_take(), -1);
}

static void a_signal_ends_the_startup_attempts(void **state)
{
    static const int numbers[] = { SIGTERM, SIGINT };

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        signalled_in = 0; /* it arrived before the first wait */
        assert_int_equal(kill(getpid(), numbers[i]), 0);
        assert_int_equal(startup(0), 0);
        assert_int_equal(signal_take(), numbers[i]);
        signalled_in = 1;
        assert_int_equal(startup(numbers[i]), RTD_STARTUP_PAUSE_NS);
        assert_int_equal(waits, 1);
        assert_int_equal(signal_take(), numbers[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(startup_is_attempted_three_times_half_a_second_apart),
        cmocka_unit_test(a_signal_ends_the_startup_attempts),
    };

    rtd_end_block_signals();
    ntk_log_set_level(NTK_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
