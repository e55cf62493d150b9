/* SPDX-License-Identifier: MIT */
/* Method: hand-written records with an answer that follows from the rule of docs/idle.md. */
#include "shared/hostwork/hostwork.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/support/unit.h"

#define MS UINT64_C(1000000)

enum { MAIN = 100, WORKER = 101, OTHER = 102, CORE = 3 };

static struct ntk_host_records records;
static struct ntk_host_result result;

/* One core, idle from 0 to 100 ms; three threads, observed all the time. */
static int begin(void **state)
{
    ntk_host_records_init(&records);
    records.end_ns = 200 * MS;
    ntk_vec_push(&records.gaps, &(struct ntk_host_gap){ 0, 100 * MS, CORE, MAIN });
    for (uint32_t tid = MAIN; tid <= OTHER; tid++) {
        ntk_vec_push(&records.threads,
                     &(struct ntk_host_thread){ .tid = tid, .pid = MAIN, .last_ns = 200 * MS });
    }
    return 0;
}

static int end(void **state)
{
    ntk_host_result_fini(&result);
    ntk_host_records_fini(&records);
    return 0;
}

static struct ntk_host_slice blocked(uint32_t tid, uint64_t from_ms, uint64_t to_ms, int call)
{
    return (struct ntk_host_slice){
        .start_ns = from_ms * MS, .end_ns = to_ms * MS, .tid = tid, .syscall = call
    };
}

static void add(struct ntk_host_slice slice)
{
    assert_int_equal(ntk_vec_push(&records.slices, &slice), 0);
}

static void sample(uint32_t tid, uint64_t at_ms, uint32_t stack, enum ntk_host_cause cause)
{
    struct ntk_host_sample one = {
        .time_ns = at_ms * MS, .tid = tid, .stack = stack, .cause = (uint8_t)cause
    };
    assert_int_equal(ntk_vec_push(&records.samples, &one), 0);
}

static uint32_t stack_of(const char *function)
{
    return ntk_host_stacks_push(&records.stacks, 0, function, "job", 0, NTK_HOST_NATIVE);
}

static void attribute(void)
{
    assert_int_equal(ntk_host_attribute(&records, 1, &result), 0);
}

static const struct ntk_host_row *row(size_t index)
{
    assert_true(index < result.rows.count);
    return ntk_vec_at(&result.rows, index);
}

static void assert_cause(enum ntk_host_cause cause, uint64_t ms, uint32_t gaps, uint64_t longest_ms)
{
    assert_int_equal(result.causes[cause].ns, ms * MS);
    assert_int_equal(result.causes[cause].gap_count, gaps);
    assert_int_equal(result.causes[cause].longest_ns, longest_ms * MS);
}

/* ---- one thread ---- */

static void idle_time_of_a_thread_without_slices_is_running_time(void **state)
{
    attribute();
    assert_int_equal(result.idle_ns, 100 * MS);
    assert_int_equal(result.held_ns, 200 * MS);
    assert_int_equal(result.gap_count, 1);
    assert_int_equal(result.longest_ns, 100 * MS);
    assert_cause(NTK_HOST_RUNNING, 100, 1, 100);
    assert_string_equal(row(0)->function, "");
}

static void idle_time_during_a_blocking_call_has_the_cause_of_the_call(void **state)
{
    struct ntk_host_slice slice = blocked(MAIN, 20, 90, SYS_read);

    slice.object = ntk_host_stacks_text(&records.stacks, "/data/shard-0");
    slice.stack = stack_of("load_batch");
    add(slice);
    attribute();
    assert_cause(NTK_HOST_READ, 70, 1, 70);
    assert_cause(NTK_HOST_RUNNING, 30, 1, 30);
    assert_string_equal(row(0)->function, "load_batch");
    assert_string_equal(row(0)->object, "/data/shard-0");
    assert_string_equal(row(0)->syscall, "read");
    assert_int_equal(row(0)->tid, MAIN);
}

static void a_thread_slice_counts_only_within_the_gap(void **state)
{
    records.end_ns = 400 * MS;
    ((struct ntk_host_thread *)ntk_vec_at(&records.threads, 0))->last_ns = 400 * MS;
    ntk_vec_push(&records.gaps, &(struct ntk_host_gap){ 300 * MS, 310 * MS, CORE, MAIN });
    add(blocked(MAIN, 90, 305, SYS_clock_nanosleep));
    attribute();
    assert_cause(NTK_HOST_SLEEP, 15, 2, 10);
    assert_cause(NTK_HOST_RUNNING, 95, 2, 90);
}

static void time_after_the_wakeup_is_a_wait_for_the_cpu(void **state)
{
    struct ntk_host_slice slice = blocked(MAIN, 0, 100, SYS_clock_nanosleep);

    slice.ready_ns = 60 * MS;
    add(slice);
    attribute();
    assert_cause(NTK_HOST_SLEEP, 60, 1, 60);
    assert_cause(NTK_HOST_CPU_WAIT, 40, 1, 40);
}

static void quota_and_preemption_are_different_causes(void **state)
{
    struct ntk_host_slice slice = blocked(MAIN, 0, 30, -1);

    slice.kind = NTK_HOST_QUOTA;
    add(slice);
    slice = blocked(MAIN, 40, 50, -1);
    slice.kind = NTK_HOST_PREEMPTED;
    add(slice);
    slice = blocked(MAIN, 60, 65, -1);
    slice.kind = NTK_HOST_FAULTING;
    add(slice);
    attribute();
    assert_cause(NTK_HOST_THROTTLED, 30, 1, 30);
    assert_cause(NTK_HOST_CPU_WAIT, 10, 1, 10);
    assert_cause(NTK_HOST_PAGE_FAULT, 5, 1, 5);
    assert_cause(NTK_HOST_RUNNING, 55, 1, 55);
}

static void running_time_is_divided_in_proportion_to_samples(void **state)
{
    uint32_t tokenize = stack_of("tokenize");
    uint32_t pad = stack_of("pad");

    for (uint64_t at = 5; at < 100; at += 10) {
        sample(MAIN, at, at < 70 ? tokenize : pad, NTK_HOST_RUNNING);
    }
    sample(MAIN, 150, pad, NTK_HOST_RUNNING); /* the core is busy */
    attribute();
    assert_cause(NTK_HOST_RUNNING, 100, 1, 100);
    assert_string_equal(row(0)->function, "tokenize");
    assert_int_equal(row(0)->share.ns, 70 * MS);
    assert_string_equal(row(1)->function, "pad");
    assert_int_equal(row(1)->share.ns, 30 * MS);
}

static void page_fault_samples_reduce_running_time(void **state)
{
    for (uint64_t at = 5; at < 100; at += 10) {
        sample(MAIN, at, 0, at < 40 ? NTK_HOST_PAGE_FAULT : NTK_HOST_RUNNING);
    }
    attribute();
    assert_int_equal(result.causes[NTK_HOST_PAGE_FAULT].ns, 40 * MS);
    assert_int_equal(result.causes[NTK_HOST_RUNNING].ns, 60 * MS);
}

/* ---- several threads ---- */

static struct ntk_host_slice waiting(uint32_t tid, uint64_t from_ms, uint64_t to_ms, uint32_t waker)
{
    struct ntk_host_slice slice = blocked(tid, from_ms, to_ms, SYS_futex);

    slice.argument[1] = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
    slice.waker = waker;
    return slice;
}

static void a_wait_for_another_thread_has_the_cause_of_that_thread(void **state)
{
    struct ntk_host_slice slice = blocked(WORKER, 10, 80, SYS_pread64);

    slice.stack = stack_of("worker_read");
    add(slice);
    add(waiting(MAIN, 0, 95, WORKER));
    attribute();
    assert_cause(NTK_HOST_READ, 70, 1, 70);
    assert_cause(NTK_HOST_RUNNING, 30, 1, 30);
    assert_int_equal(row(0)->tid, WORKER);
    assert_string_equal(row(0)->function, "worker_read");
    const struct ntk_host_piece *first = ntk_vec_at(&result.pieces, 0);
    assert_int_equal(first->tid, WORKER);
    assert_int_equal(first->chain, 1);
}

static void a_chain_of_waits_is_followed_to_its_end(void **state)
{
    add(waiting(MAIN, 0, 100, WORKER));
    add(waiting(WORKER, 0, 100, OTHER));
    add(blocked(OTHER, 0, 100, SYS_recvfrom));
    attribute();
    assert_cause(NTK_HOST_NETWORK, 100, 1, 100);
    assert_int_equal(row(0)->tid, OTHER);
}

static void a_cycle_of_waiting_threads_ends_the_chain(void **state)
{
    add(waiting(MAIN, 0, 100, WORKER));
    add(waiting(WORKER, 0, 100, MAIN));
    attribute();
    assert_cause(NTK_HOST_WAIT, 100, 1, 100);
}

static void a_lock_wait_records_its_holder_and_ends_the_chain(void **state)
{
    struct ntk_host_slice slice = blocked(MAIN, 10, 90, SYS_futex);

    slice.argument[1] = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
    slice.argument[2] = 2;
    slice.waker = WORKER;
    add(slice);
    add(blocked(WORKER, 0, 100, SYS_clock_nanosleep));
    attribute();
    assert_cause(NTK_HOST_LOCK, 80, 1, 80);
    assert_int_equal(row(0)->holder, WORKER);
    assert_int_equal(row(0)->tid, MAIN);
    assert_int_equal(result.causes[NTK_HOST_SLEEP].ns, 0);
}

static void the_interpreter_lock_is_a_separate_cause(void **state)
{
    struct ntk_host_slice slice = waiting(MAIN, 0, 100, WORKER);

    slice.is_gil = 1;
    add(slice);
    attribute();
    assert_cause(NTK_HOST_GIL, 100, 1, 100);
    assert_int_equal(row(0)->holder, WORKER);
}

/* ---- collective operations ---- */

static void take_part(uint64_t from_ms, uint64_t to_ms, bool is_asynchronous)
{
    struct ntk_host_collective collective = { from_ms * MS, to_ms * MS, MAIN, is_asynchronous };

    assert_int_equal(ntk_vec_push(&records.collectives, &collective), 0);
}

static void a_wait_in_a_collective_operation_is_a_wait_for_other_ranks(void **state)
{
    take_part(10, 60, false);
    take_part(70, 90, false);
    add(waiting(MAIN, 0, 50, WORKER));
    add(blocked(MAIN, 65, 100, SYS_clock_nanosleep));
    add(blocked(WORKER, 0, 100, SYS_read));
    attribute();
    assert_cause(NTK_HOST_COLLECTIVE, 60, 1, 60);
    assert_cause(NTK_HOST_READ, 10, 1, 10);
    assert_cause(NTK_HOST_SLEEP, 15, 1, 15);
    assert_cause(NTK_HOST_RUNNING, 15, 1, 15);
}

static void a_lock_wait_in_a_collective_operation_remains_a_lock_wait(void **state)
{
    struct ntk_host_slice slice = waiting(MAIN, 0, 100, 0);

    take_part(0, 100, false);
    slice.is_gil = 1;
    add(slice);
    attribute();
    assert_cause(NTK_HOST_GIL, 100, 1, 100);
}

/* Another operation of the thread may be what it waits for. */
static void an_asynchronous_collective_requires_a_stack_in_the_runtime(void **state)
{
    struct ntk_host_slice slice = waiting(MAIN, 0, 40, 0);

    take_part(0, 100, true);
    slice.stack = stack_of("queue_get");
    add(slice);
    slice = waiting(MAIN, 40, 100, 0);
    slice.stack = ntk_host_stacks_push(&records.stacks, stack_of("train"), "wait", "libnrt.so.2.30",
                                       0, NTK_HOST_NATIVE);
    add(slice);
    attribute();
    assert_cause(NTK_HOST_WAIT, 40, 1, 40);
    assert_cause(NTK_HOST_COLLECTIVE, 60, 1, 60);
}

static void a_waker_from_another_job_ends_the_chain(void **state)
{
    struct ntk_host_slice slice = blocked(MAIN, 0, 100, SYS_read);

    slice.waker = 4711;
    add(slice);
    attribute();
    assert_cause(NTK_HOST_READ, 100, 1, 100);
}

/* ---- unknown states, and invalid records ---- */

static void idle_time_without_a_known_submitter_has_an_unknown_cause(void **state)
{
    ((struct ntk_host_gap *)ntk_vec_at(&records.gaps, 0))->tid = 0;
    attribute();
    assert_cause(NTK_HOST_UNKNOWN, 100, 1, 100);
}

static void idle_time_of_an_unused_core_is_reported_as_unused(void **state)
{
    ((struct ntk_host_gap *)ntk_vec_at(&records.gaps, 0))->is_unused = true;
    attribute();
    assert_cause(NTK_HOST_UNUSED, 100, 1, 100);
}

/* It lost its CPU there, but did not wait for the file. */
static void preemption_during_a_call_does_not_report_its_file(void **state)
{
    struct ntk_host_slice slice = blocked(MAIN, 0, 100, SYS_read);

    slice.kind = NTK_HOST_PREEMPTED;
    slice.object = ntk_host_stacks_text(&records.stacks, "/data/a");
    add(slice);
    attribute();
    assert_cause(NTK_HOST_CPU_WAIT, 100, 1, 100);
    assert_null(row(0)->object);
    assert_null(row(0)->syscall);
}

static void a_gap_without_a_submitter_is_assigned_to_the_last_submitter(void **state)
{
    ntk_vec_push(&records.gaps, &(struct ntk_host_gap){ 150 * MS, 200 * MS, CORE, 0 });
    attribute();
    assert_cause(NTK_HOST_RUNNING, 150, 2, 100);
}

static void time_before_a_thread_existed_is_unknown(void **state)
{
    ((struct ntk_host_thread *)ntk_vec_at(&records.threads, 0))->first_ns = 30 * MS;
    attribute();
    assert_cause(NTK_HOST_UNKNOWN, 30, 1, 30);
    assert_cause(NTK_HOST_RUNNING, 70, 1, 70);
}

static void overlapping_slices_and_reversed_times_count_once(void **state)
{
    add(blocked(MAIN, 0, 60, SYS_read));
    add(blocked(MAIN, 40, 100, SYS_write));
    add(blocked(MAIN, 90, 80, SYS_read));
    attribute();
    assert_cause(NTK_HOST_READ, 60, 1, 60);
    assert_cause(NTK_HOST_WRITE, 40, 1, 40);
    assert_int_equal(result.idle_ns, 100 * MS);
}

static void idle_causes_sum_to_the_idle_time(void **state)
{
    uint64_t sum_ns = 0;

    for (unsigned i = 0; i < 50; i++) {
        struct ntk_host_slice slice = waiting(MAIN + i % 3, i * 2, i * 2 + 5, MAIN + (i + 1) % 3);
        slice.ready_ns = (i * 2 + 3) * MS;
        add(slice);
        sample(MAIN + i % 3, i * 2, stack_of("f"), NTK_HOST_RUNNING);
    }
    attribute();
    for (int c = 0; c < NTK_HOST_CAUSE_COUNT; c++) {
        sum_ns += result.causes[c].ns;
    }
    assert_int_equal(sum_ns, result.idle_ns);
}

static void each_training_step_has_separate_idle_sums(void **state)
{
    const char *step = ntk_host_stacks_text(&records.stacks, "step");

    ntk_vec_push(&records.marks, &(struct ntk_host_mark){ 0, 40 * MS, step, 7 });
    ntk_vec_push(&records.marks, &(struct ntk_host_mark){ 40 * MS, 120 * MS, step, 8 });
    ntk_vec_push(&records.marks,
                 &(struct ntk_host_mark){ 10 * MS, 20 * MS,
                                          ntk_host_stacks_text(&records.stacks, "forward"), 8 });
    add(blocked(MAIN, 30, 70, SYS_read));
    attribute();
    assert_int_equal(result.steps.count, 2);
    const struct ntk_host_step *steps_read = ntk_vec_at(&result.steps, 0);
    assert_int_equal(steps_read[0].mark->value, 7);
    assert_int_equal(steps_read[0].idle_ns, 40 * MS);
    assert_int_equal(steps_read[0].cause_ns[NTK_HOST_READ], 10 * MS);
    assert_int_equal(steps_read[1].idle_ns, 60 * MS);
    assert_int_equal(steps_read[1].cause_ns[NTK_HOST_READ], 30 * MS);
    assert_int_equal(steps_read[1].gap_count, 1);
}

static void idle_causes_are_sorted_by_time(void **state)
{
    enum ntk_host_cause order[NTK_HOST_CAUSE_COUNT];

    add(blocked(MAIN, 0, 60, SYS_read));
    add(blocked(MAIN, 60, 70, SYS_write));
    attribute();
    assert_int_equal(ntk_host_result_order(&result, order), 3);
    assert_int_equal(order[0], NTK_HOST_READ);
    assert_int_equal(order[1], NTK_HOST_RUNNING);
    assert_int_equal(order[2], NTK_HOST_WRITE);
}

static void a_call_is_assigned_to_its_caller_outside_the_c_library(void **state)
{
    uint32_t stack = stack_of("load");
    struct ntk_host_slice slice = blocked(MAIN, 0, 100, SYS_read);

    stack = ntk_host_stacks_push(&records.stacks, stack, "read", "libc.so.6", 0, NTK_HOST_NATIVE);
    slice.stack =
        ntk_host_stacks_push(&records.stacks, stack, "vfs_read", "[kernel]", 0, NTK_HOST_KERNEL);
    add(slice);
    attribute();
    assert_string_equal(row(0)->function, "load");
}

static void python_functions_are_preferred_over_native_ones(void **state)
{
    uint32_t stack =
        ntk_host_stacks_push(&records.stacks, 0, "collate", "loader.py", 12, NTK_HOST_PYTHON);

    stack = ntk_host_stacks_push(&records.stacks, stack, "memcpy", "libx.so", 0, NTK_HOST_NATIVE);
    sample(MAIN, 50, stack, NTK_HOST_RUNNING);
    attribute();
    assert_string_equal(row(0)->function, "collate");
    assert_string_equal(row(0)->module, "loader.py");
}

static void control_bytes_in_untrusted_text_are_replaced(void **state)
{
    const char *text = ntk_host_stacks_text(&records.stacks, "a\x1b[2Jb\xff");

    assert_null(strchr(text, '\x1b'));
    assert_ptr_equal(text, ntk_host_stacks_text(&records.stacks, "a\x1b[2Jb\xff"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(idle_time_of_a_thread_without_slices_is_running_time),
        TEST(idle_time_during_a_blocking_call_has_the_cause_of_the_call),
        TEST(a_thread_slice_counts_only_within_the_gap),
        TEST(time_after_the_wakeup_is_a_wait_for_the_cpu),
        TEST(quota_and_preemption_are_different_causes),
        TEST(running_time_is_divided_in_proportion_to_samples),
        TEST(page_fault_samples_reduce_running_time),
        TEST(a_wait_for_another_thread_has_the_cause_of_that_thread),
        TEST(a_chain_of_waits_is_followed_to_its_end),
        TEST(a_cycle_of_waiting_threads_ends_the_chain),
        TEST(a_lock_wait_records_its_holder_and_ends_the_chain),
        TEST(the_interpreter_lock_is_a_separate_cause),
        TEST(a_waker_from_another_job_ends_the_chain),
        TEST(a_wait_in_a_collective_operation_is_a_wait_for_other_ranks),
        TEST(a_lock_wait_in_a_collective_operation_remains_a_lock_wait),
        TEST(an_asynchronous_collective_requires_a_stack_in_the_runtime),
        TEST(idle_time_without_a_known_submitter_has_an_unknown_cause),
        TEST(idle_time_of_an_unused_core_is_reported_as_unused),
        TEST(preemption_during_a_call_does_not_report_its_file),
        TEST(a_gap_without_a_submitter_is_assigned_to_the_last_submitter),
        TEST(time_before_a_thread_existed_is_unknown),
        TEST(overlapping_slices_and_reversed_times_count_once),
        TEST(idle_causes_sum_to_the_idle_time),
        TEST(each_training_step_has_separate_idle_sums),
        TEST(idle_causes_are_sorted_by_time),
        TEST(a_call_is_assigned_to_its_caller_outside_the_c_library),
        TEST(python_functions_are_preferred_over_native_ones),
        TEST(control_bytes_in_untrusted_text_are_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
