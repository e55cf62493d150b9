/* SPDX-License-Identifier: MIT */
/* Verdicts that an earlier collector stored, with hand-made readings of one device. */
#include "shared/collect/health.h"
#include "tests/support/unit.h"

#define NOW_NS (1700000000 * NTK_NS_PER_SECOND)
#define HOUR_NS (3600 * NTK_NS_PER_SECOND)

/* A new judge reads a device with this number of memory errors, continues what was stored, and
 * reads the device again later. */
static void judge(uint64_t errors, const struct ntk_health_stored *stored,
                  struct ntk_snapshot *snapshot, struct ntk_device_sample *out)
{
    static struct ntk_device_info info = { .index = 3, .core_count = 2 };
    const struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                          .devices = &info,
                                          .device_count = 1,
                                          .cores_per_device = 2 };
    const struct ntk_device_reading reading = { .index = 3,
                                                .mem_ecc_uncorrected = { errors, true } };
    struct ntk_health_time now = { NTK_NS_PER_SECOND, NOW_NS };
    struct ntk_health *health = ntk_health_create();

    assert_non_null(health);
    ntk_health_tree(health, &tree, true, now);
    ntk_health_reading(health, &reading, NTK_DEVICE_READ_HEALTH, false, false, now);
    ntk_health_continue(health, 3, stored);
    now.monotonic_ns += NTK_NS_PER_SECOND;
    now.realtime_ns += NTK_NS_PER_SECOND;
    ntk_health_reading(health, &reading, NTK_DEVICE_READ_HEALTH, false, false, now);
    *out = (struct ntk_device_sample){ .index = 3 };
    ntk_health_fill(health, snapshot, out);
    ntk_health_destroy(health);
}

static void an_unchanged_verdict_keeps_its_stored_start_time(void **state)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_health_stored stored = { .verdict = NTK_HEALTH_UNHEALTHY,
                                        .since_ns = NOW_NS - HOUR_NS };
    struct ntk_device_sample device;

    (void)state;
    stored.reasons[NTK_HEALTH_REASON_HBM_UNCORRECTABLE].since_ns = NOW_NS - HOUR_NS / 2;
    stored.reasons[NTK_HEALTH_REASON_HBM_UNCORRECTABLE].has_core = true;
    stored.reasons[NTK_HEALTH_REASON_HBM_UNCORRECTABLE].core = 7;
    judge(1, &stored, snapshot, &device);
    assert_int_equal(device.verdict, NTK_HEALTH_UNHEALTHY);
    assert_int_equal(device.verdict_since_ns, NOW_NS - HOUR_NS);
    assert_int_equal(device.health_count, 1);
    assert_int_equal(device.health[0].since_ns, NOW_NS - HOUR_NS / 2);
    assert_int_equal(device.health[0].core, 7);
    assert_int_equal(device.health[0].cores, 1u << 1);
    ntk_snapshot_destroy(snapshot);
}

static void a_stored_verdict_that_differs_or_is_in_the_future_is_ignored(void **state)
{
    const struct ntk_health_stored rows[] = {
        { .verdict = NTK_HEALTH_UNHEALTHY, .since_ns = NOW_NS - HOUR_NS },
        { .verdict = NTK_HEALTH_HEALTHY,
          .since_ns = NOW_NS + HOUR_NS }, /* the clock was set back */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_snapshot *snapshot = ntk_snapshot_create();
        struct ntk_device_sample device;

        judge(0, &rows[i], snapshot, &device);
        assert_int_equal(device.verdict, NTK_HEALTH_HEALTHY);
        assert_int_equal(device.verdict_since_ns, NOW_NS);
        ntk_snapshot_destroy(snapshot);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unchanged_verdict_keeps_its_stored_start_time),
        cmocka_unit_test(a_stored_verdict_that_differs_or_is_in_the_future_is_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
