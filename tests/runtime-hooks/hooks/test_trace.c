/* SPDX-License-Identifier: MIT */
/*
 * The traceparent of a thread: which texts are one, and its records.
 * Method: texts against the parser; a forked child attaches and calls, the parent reads its
 * segment.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/hooks/hooks.h"
#include "tests/runtime-hooks/hooks/hooks_fixture.h"
#include "tests/support/unit.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"
#define GOOD "00-" TRACE "-" SPAN "-01"

static void only_the_standard_traceparent_form_is_accepted(void **state)
{
    static const struct {
        const char *text;
        int is_valid;
    } rows[] = {
        { GOOD, 1 },
        { "00-" TRACE "-" SPAN "-00", 1 },
        { "00-" TRACE "-" SPAN "-ff", 1 },
        /* a later version may continue, but only after a separator */
        { "01-" TRACE "-" SPAN "-01", 1 },
        { "cc-" TRACE "-" SPAN "-01-what-comes", 1 },
        { "cc-" TRACE "-" SPAN "-01-", 1 },
        { "cc-" TRACE "-" SPAN "-01.what", 0 },
        { "cc-" TRACE "-" SPAN "-012", 0 },
        { GOOD "-more", 0 },
        { GOOD "-", 0 },
        { GOOD " ", 0 },
        { " " GOOD, 0 },
        { "ff-" TRACE "-" SPAN "-01", 0 },
        { "00-00000000000000000000000000000000-" SPAN "-01", 0 },
        { "00-" TRACE "-0000000000000000-01", 0 },
        { "00-00000000000000000000000000000001-0000000000000001-01", 1 },
        { "00-80000000000000000000000000000000-8000000000000000-01", 1 },
        { "00-0AF7651916cd43dd8448eb211c80319c-" SPAN "-01", 0 },
        { "00-" TRACE "-B7ad6b7169203331-01", 0 },
        { "00-" TRACE "-" SPAN "-0A", 0 },
        { "0A-" TRACE "-" SPAN "-01", 0 },
        { "00-" TRACE "-" SPAN "-0", 0 },
        { "00-" TRACE "-" SPAN "-", 0 },
        { "00-" TRACE "-" SPAN, 0 },
        { "00-" TRACE, 0 },
        { "00-", 0 },
        { "00", 0 },
        { "", 0 },
        { "0-" TRACE "-" SPAN "-011", 0 },
        { "00_" TRACE "-" SPAN "-01", 0 },
        { "00-" TRACE "_" SPAN "-01", 0 },
        { "00-" TRACE "-" SPAN "_01", 0 },
        { "00-" TRACE "0-b7ad6b716920333-01", 0 },
        { "00-0x"
          "f7651916cd43dd8448eb211c80319c-" SPAN "-01",
          0 },
        { "00-+af7651916cd43dd8448eb211c80319c-" SPAN "-01", 0 },
        { "00-" TRACE "-" SPAN "-0\n", 0 },
        { "00-\xc3\xa4"
          "f7651916cd43dd8448eb211c80319c-" SPAN "-01",
          0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* On the heap, so that a checker sees each byte that is read beyond the end. */
        char *text = strdup(rows[i].text);
        struct ntk_hooks_trace trace;

        assert_non_null(text);
        if (ntk_hooks_trace_parse(text, &trace) != rows[i].is_valid) {
            fail_msg("'%s' is %sa traceparent", text, rows[i].is_valid ? "not " : "");
        }
        free(text);
    }
}

static void a_truncated_traceparent_is_invalid(void **state)
{
    (void)state;
    for (size_t length = 0; length < strlen(GOOD); length++) {
        char *text = strndup(GOOD, length);
        struct ntk_hooks_trace trace;

        assert_non_null(text);
        assert_int_equal(ntk_hooks_trace_parse(text, &trace), 0);
        free(text);
    }
}

static void parts_of_a_traceparent_are_big_endian_numbers(void **state)
{
    struct ntk_hooks_trace trace;

    (void)state;
    assert_int_equal(ntk_hooks_trace_parse(GOOD, &trace), 1);
    assert_true(trace.trace_high == 0x0af7651916cd43ddu && trace.trace_low == 0x8448eb211c80319cu);
    assert_true(trace.span == 0xb7ad6b7169203331u && trace.flags == 1);
}

static int child_belongs_to_a_trace(struct observed *child, void *ctx)
{
    (void)ctx;
    CHECK(ntk_hooks_mark_trace(GOOD) == 0); /* no hooks yet */
    observed_attach(0);
    CHECK(ntk_hooks_mark_trace(GOOD) == 1);
    observed_send(child, 0);
    (void)observed_receive(child);
    CHECK(ntk_hooks_mark_trace("00-" TRACE "-" SPAN "-1") == 0);
    observed_send(child, 0);
    (void)observed_receive(child);
    CHECK(ntk_hooks_mark_trace(GOOD) == 1);
    CHECK(ntk_hooks_mark_trace(NULL) == 1);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void the_start_and_end_of_a_trace_are_recorded(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_belongs_to_a_trace, NULL);
    struct ntk_ring_segment *segment;
    const struct ntk_slot *slot;
    struct seen seen = { 0 };

    (void)observed_receive(&child);
    segment = hooks_fixture_segment(f);
    (void)ntk_ring_segment_drain(segment, 0, seen_add, &seen);
    assert_int_equal(seen.by_kind[NTK_EVENT_TRACE_PARENT], 1);
    slot = &seen.last[NTK_EVENT_TRACE_PARENT];
    assert_int_equal(slot->core, NTK_NO_CORE);
    assert_int_not_equal(slot->thread, 0);
    assert_int_equal(slot->word[0], 0);
    assert_int_equal(slot->word[1], 1);
    assert_true(slot->word[2] == 0x0af7651916cd43ddu && slot->word[3] == 0x8448eb211c80319cu &&
                slot->word[4] == 0xb7ad6b7169203331u);
    /* An invalid one ends the trace: later records belong to neither. */
    observed_send(&child, 0);
    (void)observed_receive(&child);
    (void)ntk_ring_segment_drain(segment, 0, seen_add, &seen);
    assert_int_equal(seen.by_kind[NTK_EVENT_TRACE_PARENT], 2);
    assert_true(slot->word[1] == 0 && slot->word[2] == 0 && slot->word[3] == 0 &&
                slot->word[4] == 0);
    observed_send(&child, 0);
    (void)observed_receive(&child);
    (void)ntk_ring_segment_drain(segment, 0, seen_add, &seen);
    assert_int_equal(seen.by_kind[NTK_EVENT_TRACE_PARENT], 4);
    assert_true(slot->word[2] == 0 && slot->word[3] == 0);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_standard_traceparent_form_is_accepted),
        cmocka_unit_test(a_truncated_traceparent_is_invalid),
        cmocka_unit_test(parts_of_a_traceparent_are_big_endian_numbers),
        cmocka_unit_test_setup_teardown(the_start_and_end_of_a_trace_are_recorded,
                                        hooks_fixture_setup, hooks_fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
