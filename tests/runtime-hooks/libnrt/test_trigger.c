/* SPDX-License-Identifier: MIT */
/* How long a recording on request waits for its executions, by a clock of the test. Method: the
 * thread that answers, on a core without libnrt around it; the test sends requests through its
 * segment. */
#include "runtime-hooks/libnrt/nrt_trigger.h"

#include <errno.h>
#include <linux/futex.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/abi/segment_abi.h"
#include "shared/base/clock.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

#define TIMEOUT_NS (3 * NTK_NS_PER_SECOND)

static _Atomic uint64_t now_ns;
static atomic_uint reads;

static uint64_t clock_read(void *ctx)
{
    (void)ctx;
    uint64_t ns = atomic_load(&now_ns);

    atomic_fetch_add(&reads, 1);
    return ns;
}

static const struct ntk_clock test_clock = { .monotonic_ns = clock_read };

static int is_read(void *ctx)
{
    const unsigned *count = ctx;

    return atomic_load(&reads) >= *count;
}

/* Of any two reads from now on, the second started after this call. */
static void wait_for_a_look(void)
{
    unsigned count = atomic_load(&reads) + 2;

    assert_true(test_wait_until(is_read, &count));
}

static int is_listening(void *ctx)
{
    const struct ntk_segment_trigger *trigger = ctx;

    return (int)__atomic_load_n(&trigger->listening, __ATOMIC_ACQUIRE);
}

static int is_answered(void *ctx)
{
    const struct ntk_segment_trigger *trigger = ctx;

    return __atomic_load_n(&trigger->answered, __ATOMIC_ACQUIRE) == trigger->asked;
}

static struct ntk_segment_trigger *recording_start(struct core_fixture *f)
{
    struct ntk_segment_trigger *trigger = ntk_core_trigger_get();

    assert_non_null(trigger);
    atomic_store(&now_ns, 3600 * NTK_NS_PER_SECOND);
    nrt_trigger_start(f->core, &test_clock);
    assert_true(test_wait_until(is_listening, trigger));
    trigger->command = NTK_TRIGGER_RECORD;
    trigger->pid = (uint32_t)getpid();
    trigger->first_execution = 1;
    trigger->execution_count = 1;
    trigger->bytes_max = 0;
    trigger->timeout_ns = TIMEOUT_NS;
    (void)snprintf(trigger->folder, sizeof trigger->folder, "%s", f->folder);
    (void)__atomic_add_fetch(&trigger->asked, 1, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, &trigger->asked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    wait_for_a_look();
    return trigger;
}

static void a_recording_without_executions_ends_at_its_timeout(void **state)
{
    struct ntk_segment_trigger *trigger = recording_start(*state);

    atomic_fetch_add(&now_ns, TIMEOUT_NS - 1);
    wait_for_a_look();
    assert_false(is_answered(trigger));
    atomic_fetch_add(&now_ns, 1);
    assert_true(test_wait_until(is_answered, trigger));
    assert_int_equal(trigger->status, -ENODATA);
    assert_string_equal(trigger->text,
                        "no execution numbered 1 or higher before the timeout; the last one was 0");
    assert_int_equal(trigger->file_count, 0);
    nrt_trigger_stop();
}

static void a_recording_ends_after_the_requested_executions(void **state)
{
    struct core_fixture *f = *state;
    struct core_adder adder;

    core_adder_init(f, &adder, NULL, NULL);
    struct ntk_segment_trigger *trigger = recording_start(f);
    assert_false(is_answered(trigger));
    assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
    assert_true(test_wait_until(is_answered, trigger));
    assert_int_equal(trigger->status, 0);
    assert_string_equal(trigger->text, "");
    assert_int_equal(trigger->file_count, 1);
    assert_int_equal(trigger->recorded_first, 1);
    assert_int_equal(trigger->recorded_last, 1);
    nrt_trigger_stop();
    core_adder_fini(&adder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, core_fixture_setup, core_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_recording_without_executions_ends_at_its_timeout),
        TEST(a_recording_ends_after_the_requested_executions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
