/* SPDX-License-Identifier: MIT */
/* Method: the table alone, with as many spans as may wait, which begin and never stop. */
#include "profiler/system/vendor_reading.h"
#include "tests/support/unit.h"

static bool put(struct vendor_waiting *waiting, uint64_t id)
{
    struct vendor_slot *slot = ntk_vendor_waiting_find(waiting, id);

    assert_non_null(slot);
    return ntk_vendor_waiting_put(waiting, slot, id, id);
}

static void spans_that_never_stop_take_a_bounded_table(void **state)
{
    struct vendor_waiting waiting = { 0 };
    struct vendor_slot *slot;
    uint64_t id = 0;

    (void)state;
    while (put(&waiting, ++id)) {
        assert_true(id <= NTK_VENDOR_WAITING_MAX);
    }
    assert_int_equal(id, NTK_VENDOR_WAITING_MAX + 1);
    assert_false(put(&waiting, id + 1));
    assert_int_equal(waiting.slot_count * sizeof *waiting.slots, 64 << 20);
    /* One that waits already is found, and its place is free after it. */
    assert_true(put(&waiting, 1));
    slot = ntk_vendor_waiting_find(&waiting, 7);
    assert_int_equal(slot->span, 8);
    ntk_vendor_waiting_remove(&waiting, slot);
    assert_true(put(&waiting, id));
    assert_int_equal(ntk_vendor_waiting_find(&waiting, id)->span, id + 1);
    assert_int_equal(ntk_vendor_waiting_find(&waiting, 7)->span, 0);
    ntk_vendor_waiting_fini(&waiting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_that_never_stop_take_a_bounded_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
