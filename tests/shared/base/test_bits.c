/* SPDX-License-Identifier: MIT */
/* test_bits - sets of numbers: each number is in the set alone, also at the edges of words. */
#include "shared/base/bits.h"

#include "tests/support/unit.h"

static void a_number_is_in_the_set_between_add_and_remove(void **state)
{
    static const size_t numbers[] = { 0, 1, 31, 32, 63, 64, 127, 128, 129 };
    uint64_t bits[NTK_BITS_WORDS(130)] = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ntk_bits_add(bits, numbers[i]);
        ntk_bits_add(bits, numbers[i]);
        for (size_t number = 0; number < 130; number++) {
            assert_int_equal(ntk_bits_has(bits, number), number == numbers[i]);
        }
        assert_int_equal(ntk_bits_count(bits, NTK_BITS_WORDS(130)), 1);
        ntk_bits_remove(bits, numbers[i]);
        assert_int_equal(ntk_bits_count(bits, NTK_BITS_WORDS(130)), 0);
    }
}

static void removing_a_number_keeps_the_others(void **state)
{
    uint64_t bits[NTK_BITS_WORDS(200)] = { 0 };

    (void)state;
    for (size_t number = 0; number < 200; number++) {
        ntk_bits_add(bits, number);
    }
    ntk_bits_remove(bits, 64);
    ntk_bits_remove(bits, 64);
    assert_int_equal(ntk_bits_count(bits, NTK_BITS_WORDS(200)), 199);
    assert_true(ntk_bits_has(bits, 63));
    assert_false(ntk_bits_has(bits, 64));
    assert_true(ntk_bits_has(bits, 65));
}

static void a_set_has_a_word_for_every_64_numbers(void **state)
{
    (void)state;
    assert_int_equal(NTK_BITS_WORDS(1), 1);
    assert_int_equal(NTK_BITS_WORDS(64), 1);
    assert_int_equal(NTK_BITS_WORDS(65), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_in_the_set_between_add_and_remove),
        cmocka_unit_test(removing_a_number_keeps_the_others),
        cmocka_unit_test(a_set_has_a_word_for_every_64_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
