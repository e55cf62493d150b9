/* SPDX-License-Identifier: MIT */
/* Method: numbers in a known order, shuffled by a step that is coprime to their count. */
#include "profiler/analysis/median.h"
#include "tests/support/unit.h"

static uint64_t median_of(const uint64_t *numbers, size_t count)
{
    struct ntk_median median;
    uint64_t found = 77;

    ntk_median_init(&median);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ntk_median_add(&median, numbers[i]), 0);
    }
    assert_int_equal(ntk_median_get(&median, &found), 0);
    ntk_median_fini(&median);
    return found;
}

static void the_median_of_an_even_count_is_the_lower_middle_value(void **state)
{
    (void)state;
    assert_int_equal(median_of(NULL, 0), 0);
    assert_int_equal(median_of((const uint64_t[]){ 5 }, 1), 5);
    assert_int_equal(median_of((const uint64_t[]){ 9, 5 }, 2), 5);
    assert_int_equal(median_of((const uint64_t[]){ 9, 5, 5, 7 }, 4), 5);
    assert_true(median_of((const uint64_t[]){ UINT64_MAX, 1, UINT64_C(1) << 63 }, 3) == UINT64_C(1)
                                                                                            << 63);
}

static void data_beyond_the_memory_limit_is_written_to_a_file(void **state)
{
    enum { COUNT = 200001, STEP = 77773 }; /* three times what fits in memory */
    struct ntk_median median;
    uint64_t found = 0;

    (void)state;
    ntk_median_init(&median);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(ntk_median_add(&median, 3 * (i * STEP % COUNT)), 0);
    }
    assert_true(median.sorter.fd >= 0);
    assert_int_equal(ntk_median_get(&median, &found), 0);
    assert_int_equal(found, 3 * (COUNT / 2));
    ntk_median_fini(&median);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_of_an_even_count_is_the_lower_middle_value),
        cmocka_unit_test(data_beyond_the_memory_limit_is_written_to_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
