/* SPDX-License-Identifier: MIT */
/* The snapshots that neuron-top keeps to walk back in time. */
#include "top/source/past.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)

static void add(struct ntk_top_past *past, uint64_t second, size_t bytes)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    snapshot->realtime_ns = second * SECOND;
    if (bytes > 0) {
        assert_non_null(ntk_snapshot_alloc(snapshot, bytes, 1));
    }
    ntk_top_past_add(past, snapshot);
    ntk_snapshot_destroy(snapshot);
}

static void a_history_step_ends_at_the_next_snapshot_or_after_a_minute(void **state)
{
    static struct ntk_top_past past;

    for (uint64_t second = 100; second < 300; second++) {
        add(&past, second, 0);
    }
    assert_int_equal(ntk_top_past_back(&past, 299 * SECOND, 1), 198);
    assert_int_equal(ntk_top_past_back(&past, 299 * SECOND, 60 * SECOND), 139);
    assert_int_equal(ntk_top_past_back(&past, 120 * SECOND, 60 * SECOND), 0);
    assert_int_equal(ntk_top_past_back(&past, 100 * SECOND, 1), 0);
    assert_int_equal(ntk_top_past_forward(&past, 100 * SECOND, 1), 1);
    assert_int_equal(ntk_top_past_forward(&past, 100 * SECOND, 60 * SECOND), 60);
    assert_int_equal(ntk_top_past_forward(&past, 280 * SECOND, 60 * SECOND), 199);
    /* a moment that is no longer kept */
    assert_int_equal(ntk_top_past_forward(&past, 50 * SECOND, 1), 0);
    ntk_top_past_fini(&past);
    assert_int_equal(past.bytes, 0);
}

static void the_oldest_snapshots_are_dropped_at_the_limit(void **state)
{
    static struct ntk_top_past past;

    for (uint64_t second = 0; second < NTK_TOP_PAST_MAX + 10; second++) {
        add(&past, second, 0);
    }
    assert_int_equal(past.count, NTK_TOP_PAST_MAX);
    assert_int_equal(ntk_top_past_get(&past, 0)->realtime_ns, 10 * SECOND);
    assert_int_equal(ntk_top_past_get(&past, past.count - 1)->realtime_ns,
                     (NTK_TOP_PAST_MAX + 9) * SECOND);
    assert_null(ntk_top_past_get(&past, past.count));
    add(&past, 1000, NTK_TOP_PAST_BYTES_MAX / 2);
    add(&past, 1001, NTK_TOP_PAST_BYTES_MAX / 2);
    assert_int_equal(past.count, 1);
    assert_int_equal(ntk_top_past_get(&past, 0)->realtime_ns, 1001 * SECOND);
    ntk_top_past_fini(&past);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_history_step_ends_at_the_next_snapshot_or_after_a_minute),
        cmocka_unit_test(the_oldest_snapshots_are_dropped_at_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
