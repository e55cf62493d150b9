/* SPDX-License-Identifier: MIT */
/* The reasons why files were ignored: counted by code, and in order of their counts. */
#include "shared/ring/ring_registry_state.h"

#include <stdio.h>

#include "tests/support/unit.h"

static void ignore(struct ntk_ring_poll *poll, int code, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        char text[32];

        (void)snprintf(text, sizeof text, "file %u of code %d", i, -code);
        ntk_ring_ignore(poll, code, text);
    }
}

static void the_most_frequent_reason_is_first(void **state)
{
    struct ntk_ring_poll poll = { 0 };
    struct ntk_buf text = { 0 };

    (void)state;
    ignore(&poll, -1, 1);
    ignore(&poll, -2, 3);
    ignore(&poll, -3, 2);
    ignore(&poll, -1, 1);
    ntk_ring_sort_reasons(&poll);
    ntk_ring_poll_reasons(&poll, &text);
    assert_string_equal(ntk_buf_text_get(&text),
                        "file 0 of code 2 (and 2 more); file 0 of code 1 (and 1 more); "
                        "file 0 of code 3 (and 1 more)");
    assert_int_equal(poll.ignored, 7);
    ntk_buf_fini(&text);
}

static void codes_without_an_entry_count_as_the_last_one(void **state)
{
    struct ntk_ring_poll poll = { 0 };

    (void)state;
    for (int code = 1; code <= NTK_RING_REASONS; code++) {
        ignore(&poll, -code, 1);
    }
    ignore(&poll, -100, 3);
    ignore(&poll, -4, 1);
    ntk_ring_sort_reasons(&poll);
    assert_int_equal(poll.reasons[0].code, -NTK_RING_REASONS);
    assert_int_equal(poll.reasons[0].count, 4);
    assert_int_equal(poll.reasons[1].code, -4);
    assert_int_equal(poll.reasons[1].count, 2);
    for (size_t i = 2; i < NTK_RING_REASONS; i++) {
        assert_int_equal(poll.reasons[i].count, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_frequent_reason_is_first),
        cmocka_unit_test(codes_without_an_entry_count_as_the_last_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
