/* SPDX-License-Identifier: MIT */
/* The growing array and the map. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <stdio.h>

#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "tests/support/unit.h"

static void a_vector_keeps_its_order_during_growth_and_removal(void **state)
{
    struct ntk_vec vec = NTK_VEC_INIT(int);

    ntk_vec_each(int, none, &vec) {
        fail_msg("an empty vec has no element %p", (void *)none);
    }
    for (int i = 0; i < 100; i++) {
        assert_int_equal(ntk_vec_push(&vec, &i), 0);
    }
    ntk_vec_remove(&vec, 50);
    assert_int_equal(*(int *)ntk_vec_at(&vec, 50), 51);
    assert_int_equal(vec.count, 99);
    assert_null(ntk_vec_add_many(&vec, SIZE_MAX / 8));
    assert_int_equal(vec.count, 99);
    ntk_vec_fini(&vec);
}

static void map_entries_are_found_replaced_and_removed(void **state)
{
    struct ntk_map map = { 0 };
    int values[1000];
    char key[32];

    assert_null(ntk_map_get(&map, "absent"));
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        assert_int_equal(ntk_map_put(&map, key, &values[i]), 0);
    }
    assert_ptr_equal(ntk_map_get(&map, "key 500"), &values[500]);
    ntk_map_put(&map, "key 500", &values[1]);
    assert_ptr_equal(ntk_map_get(&map, "key 500"), &values[1]);
    assert_ptr_equal(ntk_map_remove(&map, "key 0"), &values[0]);
    assert_null(ntk_map_get(&map, "key 0"));
    assert_ptr_equal(ntk_map_get(&map, "key 999"), &values[999]);
    assert_int_equal(map.count, 999);
    assert_string_equal(map.entries[0].key, "key 1");
    ntk_map_fini(&map);
}

/* The longest run of occupied slots in the table, which limits the length of a search. */
static size_t longest_run(const struct ntk_map *map)
{
    size_t longest = 0;
    size_t run = 0;

    for (size_t i = 0; i < 2 * map->slot_count && run < map->slot_count; i++) {
        run = map->slots[i % map->slot_count] ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Numbers that a constant factor would hash to one slot: multiples of its inverse. */
static void hostile_map_keys_do_not_collide(void **state)
{
    static const uint64_t inverse = UINT64_C(0xf1de83e19937733d); /* of 0x9e3779b97f4a7c15 */
    struct ntk_map map = { 0 };
    char text[16] = "";

    (void)state;
    assert_true(inverse * UINT64_C(0x9e3779b97f4a7c15) == 1);
    for (uint64_t i = 1; i <= 200000; i++) {
        assert_int_equal(ntk_map_put_number(&map, i * inverse, &map), 0);
    }
    assert_in_range(longest_run(&map), 1, 1000);
    assert_ptr_equal(ntk_map_get_number(&map, 77 * inverse), &map);
    ntk_map_fini(&map);
    /* Texts that differ only in the last byte, or only in length. */
    for (unsigned i = 0; i < 20000; i++) {
        (void)snprintf(text, sizeof text, "%08x%c", i / 64, (char)(' ' + i % 64));
        assert_int_equal(ntk_map_put(&map, text, &map), 0);
    }
    assert_int_equal(map.count, 20000);
    assert_in_range(longest_run(&map), 1, 1000);
    ntk_map_fini(&map);
}

static void number_and_string_keys_of_a_map_are_distinct(void **state)
{
    struct ntk_map map = { 0 };
    int a;
    int b;

    ntk_map_put_number(&map, 7, &a);
    ntk_map_put(&map, "7", &b);
    assert_ptr_equal(ntk_map_get_number(&map, 7), &a);
    assert_ptr_equal(ntk_map_get(&map, "7"), &b);
    assert_ptr_equal(ntk_map_remove_number(&map, 7), &a);
    assert_null(ntk_map_get_number(&map, 7));
    ntk_map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vector_keeps_its_order_during_growth_and_removal),
        cmocka_unit_test(map_entries_are_found_replaced_and_removed),
        cmocka_unit_test(hostile_map_keys_do_not_collide),
        cmocka_unit_test(number_and_string_keys_of_a_map_are_distinct),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
