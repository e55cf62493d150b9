/* SPDX-License-Identifier: MIT */
/* The stored health of devices, which the next agent continues: a database of hand-made seconds. */
#include <stdlib.h>

#include "shared/store/store_reader.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define T0 (UINT64_C(1700000040) * SECOND)

/* A second in which device 0 has the verdict; unhealthy for two reasons, the second one since i. */
static struct ntk_snapshot *second(uint64_t i, const char *boot_id, uint32_t verdict)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_device_sample *device = &snapshot->devices[0];

    snapshot->realtime_ns = T0 + i * SECOND;
    snapshot->period_ns = SECOND;
    snapshot->boot_id = boot_id;
    device->verdict = verdict;
    device->verdict_since_ns = snapshot->realtime_ns;
    device->health_count = verdict == NTK_HEALTH_HEALTHY ? 0 : device->health_count;
    for (size_t k = 0; k < device->health_count; k++) {
        device->health[k].since_ns = snapshot->realtime_ns;
    }
    if (device->health_count > 0) { /* found a moment after the failed execution */
        device->health[0].reason = NTK_HEALTH_REASON_HBM_REPAIRABLE;
        device->health[0].since_ns += SECOND / 1000;
    }
    return snapshot;
}

struct row {
    const char *boot_id;
    uint32_t verdict;
};

/* Stores seconds 1, 2 ..., each by another agent, and reads the stored health of device 0. */
static bool read_back(const struct row *rows, size_t count, const char *boot_id,
                      struct ntk_health_stored *out)
{
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "x.db");
    struct ntk_store_reader *reader = NULL;
    bool is_stored;

    for (size_t i = 0; i < count; i++) {
        struct ntk_store *store = NULL;

        assert_int_equal(ntk_store_open(path, &options, &store, NULL), 0);
        test_store_put(store, second(i + 1, rows[i].boot_id, rows[i].verdict));
        assert_int_equal(ntk_store_close(store, NULL), 0);
    }
    assert_int_equal(ntk_store_reader_open(path, &reader, NULL), 0);
    is_stored = ntk_store_reader_health_get(boot_id, 0, out, reader);
    assert_false(
        ntk_store_reader_health_get(boot_id, 99, &(struct ntk_health_stored){ 0 }, reader));
    ntk_store_reader_close(reader);
    test_scratch_destroy(folder);
    free(path);
    return is_stored;
}

static void a_verdict_start_is_found_across_agent_runs(void **state)
{
    static const struct row rows[] = {
        { "first", NTK_HEALTH_UNHEALTHY },
        { "first", NTK_HEALTH_HEALTHY },
        { "first", NTK_HEALTH_UNHEALTHY },
        { "first", NTK_HEALTH_UNHEALTHY },
    };
    struct ntk_health_stored stored;

    (void)state;
    assert_true(read_back(rows, 4, "first", &stored));
    assert_int_equal(stored.verdict, NTK_HEALTH_UNHEALTHY);
    assert_int_equal(stored.since_ns, T0 + 3 * SECOND);
    assert_int_equal(stored.reasons[NTK_HEALTH_REASON_HARDWARE_ERROR].since_ns, T0 + 4 * SECOND);
    assert_true(stored.reasons[NTK_HEALTH_REASON_HARDWARE_ERROR].has_core);
    assert_int_equal(stored.reasons[NTK_HEALTH_REASON_HARDWARE_ERROR].core, 1);
    assert_int_equal(stored.reasons[NTK_HEALTH_REASON_HEARTBEAT_STILL].since_ns, 0);
    assert_true(read_back(rows, 2, "first", &stored));
    assert_int_equal(stored.verdict, NTK_HEALTH_HEALTHY);
    assert_int_equal(stored.since_ns, T0 + 2 * SECOND);
}

static void a_verdict_from_an_earlier_boot_is_ignored(void **state)
{
    static const struct row rows[] = {
        { "first", NTK_HEALTH_UNHEALTHY },
        { "second", NTK_HEALTH_UNHEALTHY },
    };
    struct ntk_health_stored stored;

    (void)state;
    assert_false(read_back(rows, 1, "second", &stored));
    assert_true(read_back(rows, 2, "second", &stored));
    assert_int_equal(stored.since_ns, T0 + 2 * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_start_is_found_across_agent_runs),
        cmocka_unit_test(a_verdict_from_an_earlier_boot_is_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
