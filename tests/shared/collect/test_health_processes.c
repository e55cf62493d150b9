/* SPDX-License-Identifier: MIT */
/* The health of devices as the processes on their cores report it; clock and tree are chosen. */
#include <stdio.h>
#include <string.h>

#include "shared/collect/health.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND
#define BEGIN_NS (100 * SECOND)
#define EPOCH_NS (1700000000 * SECOND)

struct judge {
    struct ntk_health *health;
    struct ntk_health_time now;
};

static struct judge judge_open(void)
{
    static struct ntk_device_info info = { .index = 3, .core_count = 2 };
    const struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_SOFTWARE,
                                          .devices = &info,
                                          .device_count = 1,
                                          .cores_per_device = 2 };
    const struct ntk_device_reading reading = { .index = 3, .mem_ecc_uncorrected = { 0, true } };
    struct judge judge = { .health = ntk_health_create(), .now = { BEGIN_NS, EPOCH_NS } };

    assert_non_null(judge.health);
    ntk_health_tree(judge.health, &tree, true, judge.now);
    ntk_health_reading(judge.health, &reading, NTK_DEVICE_READ_HEALTH, false, true, judge.now);
    return judge;
}

static void judge_expect(struct judge *judge, const char *expected)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_device_sample *device = ntk_snapshot_alloc_devices(snapshot, 1);
    char text[256];

    assert_non_null(device);
    device->index = 3;
    ntk_health_fill(judge->health, snapshot, device);
    snprintf(text, sizeof text, "%s", ntk_health_verdict_names[device->verdict]);
    for (size_t i = 0; i < device->health_count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, " %s core %u status %u count %llu",
                 ntk_health_reasons[device->health[i].reason].name, device->health[i].core,
                 device->health[i].status, (unsigned long long)device->health[i].count);
    }
    assert_string_equal(text, expected);
    ntk_snapshot_destroy(snapshot);
}

static void work(struct judge *judge, double seconds, struct ntk_health_work done)
{
    judge->now.monotonic_ns += (uint64_t)(seconds * SECOND);
    judge->now.realtime_ns += (uint64_t)(seconds * SECOND);
    ntk_health_work(judge->health, 3, 1, &done, judge->now);
}

static void a_hardware_error_remains_until_its_core_completes_work(void **state)
{
    struct judge judge = judge_open();

    work(&judge, 1, (struct ntk_health_work){ .is_owned = true, .completed = 1000000 });
    judge_expect(&judge, "healthy");
    ntk_health_execution(judge.health, 3, 1, 1203, false, judge.now);
    ntk_health_execution(judge.health, 3, 1, 1203, true, judge.now);
    judge_expect(&judge, "unhealthy hardware_error core 7 status 1203 count 1");
    /* Errors that were reported individually are included in the counters. */
    work(&judge, 1,
         (struct ntk_health_work){ .is_owned = true, .completed = 5, .hardware_errors = 3 });
    judge_expect(&judge, "unhealthy hardware_error core 7 status 1203 count 3");
    ntk_health_execution(judge.health, 3, 1, 101, true, judge.now);
    work(&judge, 10, (struct ntk_health_work){ .is_owned = true, .completed = 5 });
    judge_expect(&judge, "unhealthy hardware_error core 7 status 1203 count 3");
    work(&judge, 30, (struct ntk_health_work){ .is_owned = true });
    judge_expect(&judge, "unhealthy hardware_error core 7 status 1203 count 3");
    work(&judge, 1, (struct ntk_health_work){ .is_owned = true, .completed = 1 });
    judge_expect(&judge, "healthy");
    ntk_health_destroy(judge.health);
}

/* Method: the counter of a core in the tree and its process see the same overflows. */
static void an_error_reported_by_driver_and_process_counts_once(void **state)
{
    struct judge judge = judge_open();
    struct ntk_device_reading reading = { .index = 3, .mem_ecc_uncorrected = { 0, true } };
    struct ntk_device_value *overflows = &reading.cores[1].status[NTK_STATUS_SW_NQ_OVERFLOW];

    for (uint64_t value = 0; value <= 2; value += 2) {
        *overflows = (struct ntk_device_value){ value, true };
        ntk_health_reading(judge.health, &reading, NTK_DEVICE_READ_FAULTS, false, true, judge.now);
    }
    judge_expect(&judge, "healthy notification_overflow core 7 status 0 count 2");
    for (int i = 0; i < 2; i++) {
        ntk_health_execution(judge.health, 3, 1, 1204, true, judge.now);
    }
    judge_expect(&judge, "healthy notification_overflow core 7 status 1204 count 2");
    ntk_health_execution(judge.health, 3, 1, 1204, true, judge.now); /* the counter comes later */
    judge_expect(&judge, "healthy notification_overflow core 7 status 1204 count 3");
    ntk_health_execution(judge.health, 3, 0, 1204, true, judge.now);
    judge_expect(&judge, "healthy notification_overflow core 6 status 1204 count 4");
    ntk_health_destroy(judge.health);
}

/* Method: one error in a counter of the device, which has no core, and in one of a core. */
static void a_device_error_names_the_core_with_the_same_error(void **state)
{
    struct judge judge = judge_open();
    struct ntk_device_reading reading = { .index = 3, .mem_ecc_uncorrected = { 0, true } };

    for (uint64_t value = 0; value <= 1; value++) {
        reading.mem_ecc_uncorrected.value = value;
        reading.cores[1].status[NTK_STATUS_HW_HBM_UE] = (struct ntk_device_value){ value, true };
        ntk_health_reading(judge.health, &reading, NTK_DEVICE_READ_FAULTS | NTK_DEVICE_READ_HEALTH,
                           false, true, judge.now);
    }
    judge_expect(&judge, "unhealthy hbm_uncorrectable core 7 status 0 count 1");
    ntk_health_destroy(judge.health);
}

static void faults_of_a_process_clear_30_s_after_its_exit(void **state)
{
    struct judge judge = judge_open();

    work(&judge, 1, (struct ntk_health_work){ .is_owned = true, .timeouts = 2 });
    judge_expect(&judge, "unhealthy execution_timeout core 7 status 5 count 2");
    work(&judge, 500, (struct ntk_health_work){ .is_owned = true });
    judge_expect(&judge, "unhealthy execution_timeout core 7 status 5 count 2");
    work(&judge, 29, (struct ntk_health_work){ 0 });
    judge_expect(&judge, "unhealthy execution_timeout core 7 status 5 count 2");
    work(&judge, 2, (struct ntk_health_work){ 0 });
    judge_expect(&judge, "healthy");
    ntk_health_destroy(judge.health);
}

/* Any process can write a segment, so its claims must not cause a machine to be replaced. */
static void errors_claimed_by_a_process_recommend_at_most_a_restart(void **state)
{
    for (uint32_t status = 1; status < 2000; status++) {
        struct judge judge = judge_open();
        struct ntk_snapshot *snapshot = ntk_snapshot_create();
        struct ntk_device_sample *device = ntk_snapshot_alloc_devices(snapshot, 1);

        assert_non_null(device);
        device->index = 3;
        ntk_health_execution(judge.health, 3, 0, status, true, judge.now);
        ntk_health_execution(judge.health, 3, 4000000000U, status, true, judge.now);
        ntk_health_execution(judge.health, 4000000000U, 0, status, true, judge.now);
        ntk_health_fill(judge.health, snapshot, device);
        assert_true(ntk_health_action_of(device) <= NTK_HEALTH_ACTION_RESTART_WORKLOAD);
        ntk_snapshot_destroy(snapshot);
        ntk_health_destroy(judge.health);
    }
}

static void health_reason_names_are_valid_label_values(void **state)
{
    for (int i = 0; i < NTK_HEALTH_REASON_COUNT; i++) {
        const struct ntk_health_reason_row *row = &ntk_health_reasons[i];

        assert_int_equal(strspn(row->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(row->name));
        assert_int_equal(ntk_health_reason_of(row->name), i);
        /* Every fault has an action that resolves it. */
        assert_true(row->verdict != NTK_HEALTH_UNHEALTHY || row->action > NTK_HEALTH_ACTION_NONE);
    }
    assert_int_equal(ntk_health_reason_of("warp_core"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hardware_error_remains_until_its_core_completes_work),
        cmocka_unit_test(an_error_reported_by_driver_and_process_counts_once),
        cmocka_unit_test(a_device_error_names_the_core_with_the_same_error),
        cmocka_unit_test(faults_of_a_process_clear_30_s_after_its_exit),
        cmocka_unit_test(errors_claimed_by_a_process_recommend_at_most_a_restart),
        cmocka_unit_test(health_reason_names_are_valid_label_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
