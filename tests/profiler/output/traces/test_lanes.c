/* SPDX-License-Identifier: MIT */
/* Method: spans sorted by start, compared with a search over all lines from the first. */
#include "profiler/output/traces/lanes.h"

#include "tests/support/unit.h"

#define LINES 64

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

static void a_span_is_placed_on_the_first_free_line(void **state)
{
    struct ntk_lanes lanes = { 0 };
    int64_t ends_ns[LINES];
    size_t count = 0;
    uint32_t random = 1;
    int64_t start_ns = -100;

    (void)state;
    for (size_t i = 0; i < 5000; i++) {
        start_ns += next_random(&random) % 4;
        int64_t end_ns = start_ns + (next_random(&random) % 8 ? 3 : 300);
        size_t at = 0;

        while (at < count && ends_ns[at] > start_ns) {
            at++;
        }
        assert_true(at < LINES);
        count += at == count;
        ends_ns[at] = end_ns;
        struct ntk_lane *lane = ntk_lanes_take(&lanes, start_ns, end_ns);
        assert_non_null(lane);
        assert_int_equal(lane - lanes.items, at);
        assert_int_equal(lane->end_ns, end_ns);
        assert_true(lane->id == 0 || lane->id == at + 1);
        lane->id = at + 1;
    }
    assert_true(count > 16);
    assert_int_equal(lanes.count, count);
    ntk_lanes_fini(&lanes);
}

/* Any span of a file may overlap all others. */
static void overlapping_spans_may_each_need_a_separate_line(void **state)
{
    struct ntk_lanes lanes = { 0 };

    (void)state;
    for (int64_t i = 0; i < 200000; i++) {
        struct ntk_lane *lane = ntk_lanes_take(&lanes, i, INT64_MAX);
        assert_non_null(lane);
        assert_int_equal(lane->id, 0);
        lane->id = (uint64_t)i + 1;
    }
    assert_int_equal(lanes.count, 200000);
    assert_int_equal(ntk_lanes_take(&lanes, INT64_MAX, INT64_MAX)->id, 1);
    ntk_lanes_fini(&lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_is_placed_on_the_first_free_line),
        cmocka_unit_test(overlapping_spans_may_each_need_a_separate_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
