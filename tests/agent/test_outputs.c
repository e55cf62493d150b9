/* SPDX-License-Identifier: MIT */
/* Tests of several exporters at the end of an agent. */
#include "agent/outputs.h"

#include <errno.h>
#include <string.h>

#include "shared/base/log.h"
#include "tests/support/unit.h"

struct peer {
    const struct peer *other; /* it is done once this one was asked */
    unsigned asked;
    bool never;
    int last;
};

static int drain(void *state, bool in_haste, struct ntk_err *err)
{
    struct peer *peer = state;

    peer->asked++;
    if (peer->never || (peer->other && peer->other->asked == 0)) {
        return in_haste ? ntk_err_set(err, -EINTR, NTK_ERR_NO_OFFSET, "lost") : 0;
    }
    return peer->last ? ntk_err_set(err, peer->last, NTK_ERR_NO_OFFSET, "refused") : 1;
}

static const struct ntk_exporter exporter = { .name = "peer", .drain = drain };
static const struct ntk_exporter page = { .name = "page" };

static unsigned patience;

static bool is_out_of_patience(void *ctx)
{
    return ++*(unsigned *)ctx > 100;
}

static struct ntk_outputs make_outputs(struct peer *first, struct peer *second)
{
    return (struct ntk_outputs){ .rows = { { &exporter, first, false },
                                           { &page, NULL, false },
                                           { &exporter, second, false } },
                                 .count = 3 };
}

/* Method: the first is done only when the second was asked, too. */
static void exporters_are_waited_for_at_once(void **state)
{
    struct peer second = { 0 };
    struct peer first = { .other = &second };
    struct ntk_outputs outputs = make_outputs(&first, &second);
    struct ntk_err err = { 0 };

    patience = 0;
    assert_int_equal(ntk_outputs_drain(&outputs, is_out_of_patience, &patience, &err), 0);
    assert_true(patience <= 3);
    assert_int_equal(second.asked, 1);
}

static void haste_ends_those_that_are_left_and_the_first_failure_is_told(void **state)
{
    struct peer first = { .never = true };
    struct peer second = { .last = -ECONNREFUSED };
    struct ntk_outputs outputs = make_outputs(&first, &second);
    struct ntk_err err = { 0 };

    patience = 90;
    ntk_log_set_level(NTK_LOG_ERROR);
    assert_int_equal(ntk_outputs_drain(&outputs, is_out_of_patience, &patience, &err),
                     -ECONNREFUSED);
    assert_string_equal(err.text, "refused");
    assert_int_equal(second.asked, 1);
    assert_int_equal(first.asked, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exporters_are_waited_for_at_once),
        cmocka_unit_test(haste_ends_those_that_are_left_and_the_first_failure_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
