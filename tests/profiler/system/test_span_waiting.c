/* SPDX-License-Identifier: MIT */
/* Method: only the table, with the maximum number of waiting spans, which start and never stop;
 * then with ids that a known hash would put into one slot. */
#include "profiler/system/span_reading.h"
#include "tests/support/unit.h"

static bool put(struct span_waiting *waiting, uint64_t id)
{
    struct span_slot *slot = ntk_span_waiting_find(waiting, id);

    assert_non_null(slot);
    return ntk_span_waiting_put(waiting, slot, id, id);
}

static void the_table_of_unfinished_spans_is_limited(void **state)
{
    struct span_waiting waiting = { 0 };
    struct span_slot *slot;
    uint64_t id = 0;

    (void)state;
    while (put(&waiting, ++id)) {
        assert_true(id <= NTK_SPAN_WAITING_MAX);
    }
    assert_int_equal(id, NTK_SPAN_WAITING_MAX + 1);
    assert_false(put(&waiting, id + 1));
    assert_int_equal(waiting.slot_count * sizeof *waiting.slots, 64 << 20);
    /* An id that is already waiting is found, and its slot is free afterwards. */
    assert_true(put(&waiting, 1));
    slot = ntk_span_waiting_find(&waiting, 7);
    assert_int_equal(slot->span, 8);
    ntk_span_waiting_remove(&waiting, slot);
    assert_true(put(&waiting, id));
    assert_int_equal(ntk_span_waiting_find(&waiting, id)->span, id + 1);
    assert_int_equal(ntk_span_waiting_find(&waiting, 7)->span, 0);
    ntk_span_waiting_fini(&waiting);
}

/* The longest run of occupied slots in the table, which limits the length of a search. */
static size_t longest_run(const struct span_waiting *waiting)
{
    size_t longest = 0;
    size_t run = 0;

    for (size_t i = 0; i < 2 * waiting->slot_count && run < waiting->slot_count; i++) {
        run = waiting->slots[i % waiting->slot_count].span ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Multiples of the inverse of a common factor; numbers of rings; numbers that differ only in the
 * top bits. */
static void ids_of_a_hostile_file_do_not_collide(void **state)
{
    static const struct {
        uint64_t factor;
        unsigned shift;
    } ids[] = {
        { UINT64_C(0xf1de83e19937733d), 0 },  /* of 0x9e3779b97f4a7c15 */
        { UINT64_C(0xf1de83e19937733d), 42 }, /* the bits above those of the slot */
        { 1, 0 },
        { 1, 42 },
        { UINT64_C(1) << 32 | 1, 0 },
    };

    (void)state;
    for (size_t k = 0; k < sizeof ids / sizeof *ids; k++) {
        struct span_waiting waiting = { 0 };

        for (uint64_t i = 1; i <= 500000; i++) {
            assert_true(put(&waiting, (i << ids[k].shift) * ids[k].factor));
        }
        assert_int_equal(waiting.count, 500000);
        assert_in_range(longest_run(&waiting), 1, 1000);
        for (uint64_t i = 1; i <= 500000; i += 3) {
            struct span_slot *slot =
                ntk_span_waiting_find(&waiting, (i << ids[k].shift) * ids[k].factor);

            assert_true(slot->span != 0);
            ntk_span_waiting_remove(&waiting, slot);
        }
        assert_in_range(longest_run(&waiting), 1, 1000);
        ntk_span_waiting_fini(&waiting);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_unfinished_spans_is_limited),
        cmocka_unit_test(ids_of_a_hostile_file_do_not_collide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
