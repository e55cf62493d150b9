/* SPDX-License-Identifier: MIT */
/* Unknown times of verdicts and reasons. */
#include "shared/metrics/health.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/unit.h"

static void start_times_from_the_first_polls_become_unknown(void **state)
{
    struct ntk_health_sample reasons[] = { { .since_ns = 99 }, { .since_ns = 100 } };
    struct ntk_device_sample devices[] = {
        { .verdict_since_ns = 200, .health = reasons, .health_count = 2 },
        { .verdict_since_ns = 201 },
    };
    struct ntk_snapshot snapshot = { .devices = devices, .device_count = 2 };

    (void)state;
    ntk_health_forget_since(&snapshot, 100, 200);
    assert_int_equal(reasons[0].since_ns, 99);
    assert_int_equal(reasons[1].since_ns, 0);
    assert_int_equal(devices[0].verdict_since_ns, 0);
    assert_int_equal(devices[1].verdict_since_ns, 201);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_times_from_the_first_polls_become_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
