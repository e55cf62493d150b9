/* SPDX-License-Identifier: MIT */
/* Tests of the growing array and of the map. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <stdio.h>

#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "tests/support/unit.h"

static void vec_keeps_order_over_growth_and_removal(void **state)
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

static void map_finds_replaces_and_removes_among_many(void **state)
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

static void map_numbers_and_texts_do_not_meet(void **state)
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
        cmocka_unit_test(vec_keeps_order_over_growth_and_removal),
        cmocka_unit_test(map_finds_replaces_and_removes_among_many),
        cmocka_unit_test(map_numbers_and_texts_do_not_meet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
