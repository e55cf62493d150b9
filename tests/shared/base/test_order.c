/* SPDX-License-Identifier: MIT */
#include "shared/base/order.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/support/unit.h"

struct item {
    unsigned core;
    uint64_t start;
    double share;
    const char *name;
};

static int by_length(const char *a, const char *b)
{
    return (int)strlen(a) - (int)strlen(b);
}

NTK_ORDER(by_core, struct item, NTK_UP(core) NTK_DOWN(start));
NTK_ORDER(by_share_and_name, struct item, NTK_DOWN(share) NTK_TEXT(name));
NTK_ORDER(by_length_and_core, struct item, NTK_BY(by_length, name) NTK_THEN(by_core));
NTK_ORDER_POINTERS(pointers_by_start, struct item, NTK_UP(start));
NTK_ORDER_NUMBERS(smallest_first, uint64_t);

static void the_first_different_struct_member_determines_the_order(void **state)
{
    struct item items[] = { { 2, 5, 0, "" }, { 1, 5, 0, "" }, { 2, 9, 0, "" }, { 1, 9, 0, "" } };

    (void)state;
    qsort(items, 4, sizeof *items, by_core);
    assert_true(items[0].core == 1 && items[0].start == 9);
    assert_true(items[1].core == 1 && items[1].start == 5);
    assert_true(items[2].core == 2 && items[2].start == 9);
    assert_true(items[3].core == 2 && items[3].start == 5);
}

static void equal_array_elements_compare_as_zero(void **state)
{
    const struct item a = { 1, 2, 0.5, "a" };
    const struct item b = { 1, 2, 0.5, "a" };

    (void)state;
    assert_int_equal(by_core(&a, &b), 0);
    assert_int_equal(by_share_and_name(&a, &b), 0);
}

static void strings_are_compared_by_their_bytes(void **state)
{
    const struct item a = { 0, 0, 0.5, "a" };
    const struct item b = { 0, 0, 0.5, "b" };
    const struct item largest = { 0, 0, 0.7, "c" };

    (void)state;
    assert_true(by_share_and_name(&a, &b) < 0);
    assert_true(by_share_and_name(&b, &a) > 0);
    assert_true(by_share_and_name(&largest, &a) < 0);
}

static void an_order_may_combine_a_key_comparison_and_another_order(void **state)
{
    const struct item near = { 1, 0, 0, "zz" };
    const struct item far = { 2, 0, 0, "aa" };
    const struct item longest = { 0, 0, 0, "aaa" };

    (void)state;
    assert_true(by_length_and_core(&near, &far) < 0);
    assert_true(by_length_and_core(&longest, &near) > 0);
}

static void numbers_and_pointers_are_sorted(void **state)
{
    uint64_t numbers[] = { 3, UINT64_MAX, 0, 2 };
    const struct item first = { 0, 1, 0, "" };
    const struct item second = { 0, UINT64_MAX, 0, "" };
    const struct item *pointers[] = { &second, &first };

    (void)state;
    qsort(numbers, 4, sizeof *numbers, smallest_first);
    assert_true(numbers[0] == 0 && numbers[1] == 2 && numbers[2] == 3 && numbers[3] == UINT64_MAX);
    qsort(pointers, 2, sizeof *pointers, pointers_by_start);
    assert_ptr_equal(pointers[0], &first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_different_struct_member_determines_the_order),
        cmocka_unit_test(equal_array_elements_compare_as_zero),
        cmocka_unit_test(strings_are_compared_by_their_bytes),
        cmocka_unit_test(an_order_may_combine_a_key_comparison_and_another_order),
        cmocka_unit_test(numbers_and_pointers_are_sorted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
