/* SPDX-License-Identifier: MIT */
/*
 * Executions: outcomes, error classes, histograms, cores in use, and the cost of a record.
 *
 * Method: a forked child attaches in a private folder and calls; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tests/runtime-hooks/hooks/hooks_fixture.h"
#include "tests/support/emulated.h"
#include "tests/support/unit.h"

static const uint32_t all_statuses[] = { 0,    1,    2,    3,    4,    5,    6,    7,
                                         101,  1002, 1003, 1004, 1005, 1006, 1200, 1201,
                                         1202, 1203, 1204, 1205, 1206, 4242 };
#define STATUS_COUNT (sizeof all_statuses / sizeof all_statuses[0])

static int child_executes_every_status(struct observed *child, void *ctx)
{
    struct ntk_hooks_model_ref model;
    size_t i;

    (void)ctx;
    observed_attach(0);
    ntk_hooks_core_claim(1, 1, 1);
    model = observed_load(10001, 1);
    for (i = 0; i < STATUS_COUNT; i++) {
        enum ntk_outcome outcome = ntk_outcome_of_status(all_statuses[i]);

        if (outcome == NTK_OUTCOME_INCORRECT_INPUT || outcome == NTK_OUTCOME_FAILED_TO_QUEUE) {
            struct ntk_hooks_exec exec = { .model = model,
                                           .execution_id = i,
                                           .call_start_ticks = ntk_hooks_now(),
                                           .status = all_statuses[i],
                                           .core = 1 };

            ntk_hooks_exec_refused(&exec);
        } else {
            observed_execute(model, 1, all_statuses[i], i);
        }
    }
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static int child_executes_an_estimated_model(struct observed *child, void *ctx)
{
    struct ntk_hooks_model model = { .id = 10001,
                                     .name = "opaque",
                                     .neff_path = "",
                                     .core = 1,
                                     .core_count = 1,
                                     .flags = NTK_PROCESS_ESTIMATED };
    struct ntk_hooks_model_ref ref;

    (void)ctx;
    observed_attach(0);
    ntk_hooks_core_claim(1, 1, 1);
    ntk_hooks_model_begin(&model, &ref);
    ntk_hooks_model_loaded(ref, ntk_hooks_now(), 0, 1000);
    observed_execute(ref, 1, 0, 1);
    observed_execute(observed_load(10002, 1), 1, 0, 2);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void estimated_executions_are_excluded_from_histograms(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_executes_an_estimated_model, NULL);
    static struct ntk_ring_histogram histogram;
    struct ntk_ring_model models[2];
    struct ntk_ring_core core;

    (void)observed_receive(&child);
    struct ntk_ring_segment *segment = hooks_fixture_segment(f);
    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_int_equal(core.counters.outcome[NTK_OUTCOME_COMPLETED], 2);
    histogram.total.lines[4] = 1ull << 23; /* left by a read of another segment */
    histogram.total.bucket[NTK_HISTOGRAM_BUCKETS - 1] = 7;
    assert_int_equal(ntk_ring_segment_core_histogram(segment, 1, &histogram), 0);
    assert_int_equal(sum(histogram.total.bucket, NTK_HISTOGRAM_BUCKETS), 1);
    assert_int_equal(sum(histogram.device.bucket, NTK_HISTOGRAM_BUCKETS), 1);
    assert_int_equal(ntk_ring_segment_models(segment, models, 2), 2);
    for (size_t i = 0; i < 2; i++) {
        bool is_estimated = models[i].id == 10001;
        assert_int_equal(models[i].executions, 1);
        assert_int_equal(ntk_ring_segment_model_histogram(segment, &models[i], &histogram),
                         is_estimated ? -ENOENT : 0);
    }
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void every_execution_has_one_outcome_and_at_most_one_error_class(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_executes_every_status, NULL);
    struct ntk_ring_segment *segment;
    static struct ntk_ring_histogram histogram;
    struct ntk_ring_model model;
    struct ntk_ring_core core;
    struct seen seen = { 0 };
    uint64_t outcome[NTK_OUTCOME_COUNT] = { 0 };
    uint64_t class[NTK_ERROR_CLASS_COUNT] = { 0 };
    uint64_t on_core;
    size_t i;

    (void)observed_receive(&child);
    segment = hooks_fixture_segment(f);
    for (i = 0; i < STATUS_COUNT; i++) {
        outcome[ntk_outcome_of_status(all_statuses[i])]++;
        if (ntk_error_class_of_status(all_statuses[i]) != NTK_ERROR_CLASS_NONE) {
            class[ntk_error_class_of_status(all_statuses[i])]++;
        }
    }
    on_core =
        STATUS_COUNT - outcome[NTK_OUTCOME_INCORRECT_INPUT] - outcome[NTK_OUTCOME_FAILED_TO_QUEUE];

    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_int_equal(core.core, 1);
    assert_true(core.owned);
    assert_int_equal(core.in_flight, 0);
    assert_memory_equal(core.counters.outcome, outcome, sizeof outcome);
    assert_memory_equal(core.counters.error_class, class, sizeof class);
    assert_int_equal(sum(core.counters.status, NTK_STATUS_COUNT), STATUS_COUNT);
    assert_int_equal(core.counters.status[NTK_STATUS_HW_DMA_ABORT], 1);
    assert_true(core.failing_since_ns > 0);
    assert_int_equal(core.counters.status[NTK_STATUS_INVALID], 2);
    assert_int_equal(core.counters.flops, 1000 * on_core);
    assert_int_equal(core.counters.effective_flops, 900 * on_core);
    assert_int_equal(core.counters.engine_busy_ns[NTK_ENGINE_ACT], 50 * on_core);
    assert_int_equal(core.counters.engine_instructions[NTK_ENGINE_PE], 7 * on_core);
    assert_int_equal(core.counters.dma_descriptors, 4 * on_core);
    assert_int_equal(core.counters.dma_bytes, 96 * on_core);
    assert_int_equal(core.counters.tensor_engine_ns[2], 2 * on_core);
    assert_int_equal(core.counters.model_load_count, 1);

    assert_int_equal(ntk_ring_segment_core_histogram(segment, 1, &histogram), 0);
    assert_int_equal(sum(histogram.total.bucket, NTK_HISTOGRAM_BUCKETS), on_core);
    assert_int_equal(sum(histogram.device.bucket, NTK_HISTOGRAM_BUCKETS), on_core);
    /* the lines in use have all counts, and not all lines are in use */
    uint64_t in_lines = 0;
    for (uint32_t line = 0;
         (line = ntk_ring_line_next(histogram.total.lines, line)) < NTK_HISTOGRAM_LINES; line++) {
        in_lines += sum(&histogram.total.bucket[line * NTK_HISTOGRAM_LINE_BUCKETS],
                        NTK_HISTOGRAM_LINE_BUCKETS);
        i++;
    }
    assert_int_equal(in_lines, on_core);
    assert_in_range(i - STATUS_COUNT, 1, 2 * on_core);
    assert_true(histogram.total.sum_ns >= histogram.device.sum_ns);
    assert_int_equal(ntk_ring_segment_core_histogram(segment, 0, &histogram), -ENOENT);

    assert_int_equal(ntk_ring_segment_models(segment, &model, 1), 1);
    assert_int_equal(model.id, 10001);
    assert_string_equal(model.name, "mlp");
    assert_string_equal(model.neff_path, "/models/mlp.neff");
    assert_int_equal(model.state, NTK_MODEL_LOADED);
    assert_int_equal(model.executions, on_core);
    assert_int_equal(model.errors, STATUS_COUNT - 1);
    assert_int_equal(model.effective_flops, 900 * on_core);
    assert_int_equal(model.running, 0);
    assert_int_equal(ntk_ring_segment_model_histogram(segment, &model, &histogram), 0);
    assert_int_equal(sum(histogram.total.bucket, NTK_HISTOGRAM_BUCKETS), on_core);

    (void)ntk_ring_segment_drain(segment, 0, seen_add, &seen);
    assert_int_equal(seen.by_kind[NTK_EVENT_EXEC], STATUS_COUNT);
    assert_int_equal(seen.by_kind[NTK_EVENT_ENGINE], 3 * on_core);
    assert_int_equal(seen.by_kind[NTK_EVENT_MODEL_LOAD], 1);
    assert_int_equal(NTK_WORD_HI(seen.last[NTK_EVENT_EXEC].word[1]), 4242);
    assert_int_equal(seen.last[NTK_EVENT_EXEC].core, 1);
    assert_int_equal(seen.bad, 0);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_runs_long(struct observed *child, void *ctx)
{
    struct ntk_hooks_model_ref model;

    (void)ctx;
    observed_attach(0);
    ntk_hooks_core_claim(0, 0, 1);
    model = observed_load(10001, 0);
    (void)ntk_hooks_exec_begin(model, 0, 1);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void a_core_is_busy_while_its_execution_runs(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_runs_long, NULL);
    struct ntk_ring_segment *segment;
    struct ntk_ring_core first;
    struct ntk_ring_core second;
    struct ntk_ring_model model;
    uint64_t begin;

    (void)observed_receive(&child);
    segment = hooks_fixture_segment(f);
    assert_int_equal(ntk_ring_segment_cores(segment, &first, 1), 1);
    begin = ntk_hooks_now(); /* detached here, so in nanoseconds */
    while (ntk_hooks_now() < begin + 3000000) {
    }
    assert_int_equal(ntk_ring_segment_cores(segment, &second, 1), 1);

    assert_int_equal(second.in_flight, 1);
    assert_int_equal(second.current_model, 10001);
    assert_int_equal(second.counters.busy_ns, 0);
    assert_true(second.busy_ns >= first.busy_ns + 2900000);
    assert_int_equal(ntk_ring_segment_models(segment, &model, 1), 1);
    assert_int_equal(model.running, 1);
    assert_int_equal(observed_finish(&child, SIGKILL), 128 + SIGKILL);

    /* A dead process: its counts stay and do not grow. */
    assert_int_equal(ntk_ring_registry_poll(f->registry, NULL, NULL), 0);
    assert_int_equal(ntk_ring_segment_cores(segment, &first, 1), 1);
    assert_int_equal(ntk_ring_segment_cores(segment, &second, 1), 1);
    assert_int_equal(first.busy_ns, second.busy_ns);
    assert_false(first.owned);
}

/* From now on any system call except exit kills the process. (Strict mode would also forbid the
 * time stamp counter.) */
static void forbid_system_calls(void)
{
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = { 4, instructions };

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static int child_may_not_call_the_system(struct observed *child, void *ctx)
{
    struct ntk_hooks_memory memory = { .bytes = 64, .category = NTK_MEMORY_TENSORS };
    struct ntk_hooks_model_ref model;
    struct rusage before;
    struct rusage after;
    ntk_hooks_row row;
    uint64_t i;

    (void)ctx;
    observed_attach(0);
    ntk_hooks_core_claim(0, 0, 1);
    model = observed_load(10001, 0);
    memory.name = ntk_hooks_name("x");
    row = ntk_hooks_memory_alloc(&memory);
    observed_execute(model, 0, 0, 0);
    CHECK(getrusage(RUSAGE_SELF, &before) == 0);
    for (i = 0; i < 20000; i++) {
        observed_execute(model, 0, 0, i);
    }
    CHECK(getrusage(RUSAGE_SELF, &after) == 0);
    observed_send(child, (uint64_t)(after.ru_minflt - before.ru_minflt));
    forbid_system_calls();
    for (i = 0; i < 50000; i++) {
        observed_execute(model, 0, i % 10 ? 0 : 1003, i);
        ntk_hooks_memory_free(&memory, row);
        row = ntk_hooks_memory_alloc(&memory);
    }
    syscall(SYS_exit, 0);
    return 1;
}

static void records_need_no_system_call_and_no_page_fault_after_attach(void **state)
{
    const char *sanitizer = getenv("NTK_SANITIZE");
    struct hooks_fixture *f = *state;
    struct observed child;

    if ((sanitizer != NULL && sanitizer[0] != '\0') || getenv("NTK_UNDER_VALGRIND") != NULL ||
        test_is_emulated()) {
        skip(); /* the sanitizer makes its own system calls */
    }
    child = observed_start(f->folder, child_may_not_call_the_system, NULL);
    assert_true(observed_receive(&child) < 20); /* out of 80,000 records */
    assert_int_equal(observed_finish(&child, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOKS_TEST(estimated_executions_are_excluded_from_histograms),
        HOOKS_TEST(every_execution_has_one_outcome_and_at_most_one_error_class),
        HOOKS_TEST(a_core_is_busy_while_its_execution_runs),
        HOOKS_TEST(records_need_no_system_call_and_no_page_fault_after_attach),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
