/* SPDX-License-Identifier: MIT */
/* Several exporters when the agent exits. */
#include "agent/outputs/outputs.h"

#include <errno.h>
#include <string.h>

#include "shared/base/log.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"

struct peer {
    const struct peer *other; /* this peer is done once the other was asked */
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

static struct test_clock clock_of_outputs;

static int set_up(void **state)
{
    test_clock_init(&clock_of_outputs);
    clock_of_outputs.passes_waits = true;
    return 0;
}

static int tear_down(void **state)
{
    test_clock_fini(&clock_of_outputs);
    return 0;
}

static struct ntk_outputs make_outputs(struct peer *first, struct peer *second)
{
    return (struct ntk_outputs){ .clock = &clock_of_outputs.clock,
                                 .rows = { { &exporter, first, false },
                                           { &page, NULL, false },
                                           { &exporter, second, false } },
                                 .count = 3 };
}

/* Method: the first exporter finishes only after the second was also asked to drain. */
static void exporters_are_drained_concurrently(void **state)
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

static void draining_stops_at_the_timeout_and_returns_the_first_error(void **state)
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

static bool is_never_in_haste(void *ctx)
{
    (void)ctx;
    return false;
}

static void draining_waits_for_all_exporters_until_the_limit(void **state)
{
    struct peer first = { .never = true };
    struct peer second = { .last = -ECONNREFUSED };
    struct ntk_outputs outputs = make_outputs(&first, &second);
    struct ntk_err err = { 0 };
    uint64_t begin_ns = test_clock_now_ns(&clock_of_outputs);

    ntk_log_set_level(NTK_LOG_ERROR);
    assert_int_equal(ntk_outputs_drain(&outputs, is_never_in_haste, NULL, &err), -ECONNREFUSED);
    assert_int_equal(test_clock_now_ns(&clock_of_outputs) - begin_ns, NTK_OUTPUTS_DRAIN_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(exporters_are_drained_concurrently),
        CASE(draining_stops_at_the_timeout_and_returns_the_first_error),
        CASE(draining_waits_for_all_exporters_until_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
