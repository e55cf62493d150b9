/* SPDX-License-Identifier: MIT */
/* When reports are sent to Kubernetes, at times that the test sets. */
#include "exporters/kubernetes/kube_pace.h"

#include <errno.h>

#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define NOW (1000 * SECOND)
#define HEARTBEAT (300 * SECOND)

static uint64_t due(const struct ntk_kube_pace *pace)
{
    return ntk_kube_pace_due_ns(pace, HEARTBEAT, 0, false);
}

static void an_unreported_state_is_sent_at_the_earliest_allowed_time(void **state)
{
    struct ntk_kube_pace pace = { .is_wanted = true };

    assert_int_equal(due(&pace), 0);
    assert_int_equal(ntk_kube_pace_due_ns(&pace, HEARTBEAT, NOW, false), NOW);
    assert_false(ntk_kube_pace_begin(&pace, NOW, NOW - 1));
    assert_true(pace.is_wanted);
    assert_true(ntk_kube_pace_begin(&pace, NOW, NOW));
    assert_true(pace.is_sending);
    assert_false(pace.is_wanted);
}

static void changes_wait_for_the_minimum_gap_and_heartbeats_for_their_period(void **state)
{
    struct ntk_kube_pace pace = { .is_sending = true };

    ntk_kube_pace_end(&pace, 0, 0, NOW);
    assert_false(pace.is_sending);
    assert_int_equal(due(&pace), NOW + HEARTBEAT);
    pace.is_wanted = true;
    assert_int_equal(due(&pace), NOW + NTK_KUBERNETES_GAP_NS);
    assert_int_equal(ntk_kube_pace_due_ns(&pace, SECOND, 0, false), NOW + SECOND);
    /* At the exit of the agent. */
    assert_int_equal(ntk_kube_pace_due_ns(&pace, HEARTBEAT, 0, true), 0);
}

static void pauses_after_failures_grow_to_a_limit_or_follow_the_server(void **state)
{
    static const uint64_t pauses[] = { 2, 4, 8, 16, 32, 60, 60 };
    struct ntk_kube_pace pace = { 0 };

    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        ntk_kube_pace_end(&pace, -EIO, 0, NOW);
        assert_int_equal(due(&pace), NOW + pauses[i] * SECOND);
        assert_int_equal(ntk_kube_pace_due_ns(&pace, HEARTBEAT, 0, true), due(&pace));
    }
    ntk_kube_pace_end(&pace, -EIO, 600 * SECOND, NOW);
    assert_int_equal(due(&pace), NOW + 600 * SECOND);
    ntk_kube_pace_end(&pace, 0, 0, NOW);
    ntk_kube_pace_end(&pace, -EIO, SECOND, NOW);
    assert_int_equal(due(&pace), NOW + 2 * SECOND);
}

/* The program exits, which is not a failure. */
static void an_abandoned_request_does_not_count_as_a_failure(void **state)
{
    struct ntk_kube_pace pace = { .is_sending = true };

    ntk_kube_pace_end(&pace, -ECANCELED, 0, NOW);
    assert_false(pace.is_sending);
    assert_int_equal(due(&pace), NOW + HEARTBEAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unreported_state_is_sent_at_the_earliest_allowed_time),
        cmocka_unit_test(changes_wait_for_the_minimum_gap_and_heartbeats_for_their_period),
        cmocka_unit_test(pauses_after_failures_grow_to_a_limit_or_follow_the_server),
        cmocka_unit_test(an_abandoned_request_does_not_count_as_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
