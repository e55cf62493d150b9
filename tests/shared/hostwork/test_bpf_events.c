/* SPDX-License-Identifier: MIT */
/* Method: a wait with members that all differ, and the event that both sides make from it. */
#include "shared/hostwork/bpf_events.h"

#include <string.h>

#include "tests/support/unit.h"

static void a_wait_event_has_all_recorded_fields(void **state)
{
    const struct ntk_host_bpf_waiting wait = { .start_ns = 1,
                                               .ready_ns = 2,
                                               .argument = { 3, 4, 5 },
                                               .pid = 6,
                                               .waker = 7,
                                               .syscall = 8,
                                               .waker_syscall = 9,
                                               .slice_kind = 10,
                                               .is_ready_quota = 1,
                                               .has_stack = 1,
                                               .holder = 11,
                                               .comm = "loader" };
    const struct ntk_host_bpf_event expected = { .start_ns = 1,
                                                 .end_ns = 20,
                                                 .ready_ns = 2,
                                                 .argument = { 3, 4, 5 },
                                                 .kind = NTK_HOST_BPF_SLICE,
                                                 .pid = 6,
                                                 .tid = 21,
                                                 .waker = 7,
                                                 .syscall = 8,
                                                 .waker_syscall = 9,
                                                 .slice_kind = 10,
                                                 .is_ready_quota = 1,
                                                 .holder = 11,
                                                 .comm = "loader" };
    struct ntk_host_bpf_event event;

    (void)state;
    memset(&event, 0xff, sizeof event);
    ntk_host_bpf_event_of_wait(&event, &wait, 21, 20);
    assert_memory_equal(&event, &expected, sizeof event);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_wait_event_has_all_recorded_fields) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
