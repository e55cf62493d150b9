/* SPDX-License-Identifier: MIT */
/*
 * A running process, recorded from outside. Method: a child process has the hooks and calls them a
 * known number of times once the recording has started, then exits; the folder must contain exactly
 * that.
 */
#include "profiler/system/live_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/system_trace.h"
#include "runtime-hooks/hooks/hooks.h"
#include "shared/formats/ntrace/ntrace_comm.h"
#include "tests/support/clock.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define RUNS 500U
#define FAILURES 5U /* every hundredth */
#define DEVICE_NS 1000U
#define QUEUES 3U /* no queue, one in the middle, nearly the last number */
#define AN_HOUR UINT64_C(3600000000000)

enum { FIRST_CORE = 6, CORES = 2, LOGICAL = 3 }; /* logical core 3, LNC 2 */

static void execute(struct ntk_hooks_model_ref model, uint64_t id)
{
    struct ntk_hooks_exec_core cores[CORES] = { 0 };
    struct ntk_hooks_exec exec = { .model = model,
                                   .execution_id = id,
                                   .call_start_ticks = ntk_hooks_now(),
                                   .device_ns = DEVICE_NS,
                                   .status = id % (RUNS / FAILURES) == 0 ? 1003 : 0,
                                   .core = FIRST_CORE,
                                   .core_count = CORES,
                                   .queue = (uint16_t)(id % QUEUES * (NTK_EXEC_QUEUES / 2)),
                                   .per_core = cores };

    for (unsigned i = 0; i < CORES; i++) {
        cores[i].engine_busy_device_ns[0] = cores[i].engine_busy_device_ns[2] = DEVICE_NS / 2;
        cores[i].engine_instructions[0] = 1;
    }
    exec.core_start_ticks = ntk_hooks_exec_begin(model, FIRST_CORE, CORES);
    ntk_hooks_exec_end(&exec);
}

/* ctx: NULL, or the value of NEURON_HOOKS. */
static int child_works(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = {
        .instance_type = "trn2.3xlarge", .lnc = 2, .device_count = 1, .cores_per_device = 8
    };
    struct ntk_hooks_model model = {
        .id = 10001, .name = "/m/step.neff", .core = FIRST_CORE, .core_count = CORES
    };
    struct ntk_hooks_model_ref ref;
    struct ntk_hooks_memory memory = {
        .address = 64, .bytes = 4096, .core = FIRST_CORE, .category = NTK_MEMORY_TENSORS
    };

    if (ctx) {
        setenv("NEURON_HOOKS", ctx, 1);
    }
    if (ntk_hooks_attach(&config, NULL, 0) < 0) {
        return 1;
    }
    for (int i = 0; i < CORES; i++) {
        ntk_hooks_core_claim((uint16_t)(FIRST_CORE + i), LOGICAL, i == 0);
    }
    ntk_hooks_model_begin(&model, &ref);
    ntk_hooks_model_loaded(ref, ntk_hooks_now(), 0, 4096);
    execute(ref, RUNS + 1); /* before the recording, so not in it */
    observed_send(child, 1);
    if (observed_receive(child) == 0) {
        return 0;
    }
    memory.name = ntk_hooks_name("weights");
    ntk_hooks_row row = ntk_hooks_memory_alloc(&memory);
    ntk_hooks_transfer(&(struct ntk_hooks_transfer){ .start_ticks = ntk_hooks_now(),
                                                     .bytes = 4096,
                                                     .name = memory.name,
                                                     .core = FIRST_CORE,
                                                     .direction = NTK_TRANSFER_HOST_TO_DEVICE });
    ntk_hooks_model_started(ref, ntk_hooks_now(), 0);
    uint64_t mark = ntk_hooks_mark_begin();
    for (uint64_t id = 1; id <= RUNS; id++) {
        execute(ref, id);
    }
    ntk_hooks_mark_text("all of them", mark, RUNS);
    ntk_hooks_mark_text("epoch", 0, 7);
    ntk_hooks_comm comm = ntk_hooks_comm_join(
        &(struct ntk_hooks_rank){ .rendezvous = "there", .world_rank = 1, .world_count = 3 },
        FIRST_CORE);
    (void)ntk_hooks_collective_begin(comm, NTK_COLLECTIVE_BARRIER, 0, 0);
    ntk_hooks_collective_end(comm, 0, 0);
    (void)ntk_hooks_collective_begin(comm, NTK_COLLECTIVE_ALL_REDUCE, 10, 640);
    ntk_hooks_collective_end(comm, 0, 0);
    ntk_hooks_model_stopped(ref, ntk_hooks_now(), 0);
    ntk_hooks_memory_free(&memory, row);
    ntk_hooks_detach();
    return 0;
}

/* The first call sends the child its start signal. */
static bool begin_work(double share, void *ctx)
{
    struct observed *child = ctx;

    assert_true(share >= 0 && share <= 1);
    if (child->out >= 0 && child->pid > 0) {
        observed_send(child, 1);
        child->pid = -child->pid;
    }
    return true;
}

static struct ntk_live_trace_result record(struct observed *child, uint64_t events_per_core)
{
    struct ntk_live_trace_result result = { 0 };
    struct ntk_err err = { 0 };
    char *folder = test_scratch_path(test_scratch_folder, "out");
    int ret =
        ntk_live_trace_record(&(struct ntk_live_trace_options){ .pid = (uint32_t)child->pid,
                                                                .duration_ns = AN_HOUR,
                                                                .events_per_core = events_per_core,
                                                                .folder = folder,
                                                                .continues = begin_work,
                                                                .ctx = child },
                              &result, &err);

    child->pid = abs(child->pid);
    assert_string_equal(err.text, "");
    assert_int_equal(ret, 0);
    assert_int_equal(observed_finish(child, 0), 0);
    free(folder);
    return result;
}

static void a_live_recording_contains_exactly_the_process_activity(void **state)
{
    struct observed child = observed_start(test_scratch_folder, child_works, NULL);
    struct ntk_system_trace *trace = NULL;
    struct ntk_err err = { 0 };
    size_t count[7] = { 0 };
    uint64_t clock_ns = 0;

    assert_int_equal(observed_receive(&child), 1);
    struct ntk_live_trace_result result = record(&child, 1000000);

    assert_true(result.has_ended);
    assert_true(result.recorded_ns < AN_HOUR);
    assert_int_equal(result.executions, RUNS);
    assert_int_equal(result.lost, 0);
    assert_int_equal(ntk_system_trace_open(result.folder, &trace, &err), 0);
    assert_int_equal(trace->warnings.count, 0);
    assert_int_equal(trace->lost, 0);
    assert_int_equal(trace->partial_count, 0);
    assert_int_equal(trace->info->lnc, 2);
    assert_int_equal(trace->info->first_core, LOGICAL);
    assert_int_equal(trace->info->core_count, 1);
    assert_string_equal(trace->info->instance_type, "trn2.3xlarge");
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        assert_int_equal(span->nc, 0);
        assert_int_equal(span->worker, LOGICAL);
        assert_true(span->start_ns >= trace->begin_ns && span->end_ns <= trace->end_ns);
        if (strcmp(span->type, "nrt_execute") == 0) {
            count[0]++;
            assert_string_equal(span->name, "step.neff");
            assert_int_equal(span->exec_id, count[0]);
            assert_int_equal(span->queue, count[0] % QUEUES * (NTK_EXEC_QUEUES / 2));
        } else if (strcmp(span->type, "nc_exec_running") == 0) {
            /* Two physical cores at the same device time. */
            assert_int_equal(span->device_core, FIRST_CORE + count[1] % CORES);
            assert_int_equal(span->device_start_ns, clock_ns);
            assert_int_equal(span->device_end_ns, clock_ns + DEVICE_NS);
            clock_ns += ++count[1] % CORES == 0 ? DEVICE_NS : 0;
            assert_int_equal(span->end_ns - span->start_ns, DEVICE_NS);
            /* The device has a clock of the test, so a run may be beyond its call: then it is in
             * the mark, or overlaps with the call and is in nothing. */
            assert_true(span->parent == NTK_SYSTEM_NO_PARENT ||
                        strcmp(trace->spans[span->parent].type, "nrt_execute") == 0 ||
                        strcmp(trace->spans[span->parent].type, "mark") == 0);
        } else if (strcmp(span->type, "nrt_error") == 0) {
            count[2]++;
            assert_int_equal(span->exec_id % (RUNS / FAILURES), 0);
        } else if (strcmp(span->type, "model_start") == 0 ||
                   strcmp(span->type, "model_stop") == 0) {
            assert_string_equal(span->name, "step.neff");
            assert_int_equal(strcmp(span->type, "model_stop") == 0, count[4]++);
            assert_int_equal(count[0], count[4] == 1 ? 0 : RUNS);
        } else if (strcmp(span->type, "mark") == 0) {
            bool is_moment = strcmp(span->name, "epoch") == 0;

            count[5]++;
            assert_int_equal(span->is_instant, is_moment);
            assert_string_equal(ntk_system_span_label(span), is_moment ? "epoch" : "all of them");
            assert_int_equal(span->bytes, is_moment ? 7 : RUNS);
        } else if (ntk_system_span_is_collective(span)) {
            struct ntk_ntrace_comm comm;

            count[6]++;
            assert_int_equal(ntk_ntrace_comm_read(span->name, &comm), 0);
            assert_int_equal(comm.rank, 1);
            assert_int_equal(comm.rank_count, 3);
            assert_int_equal(span->exec_id, count[6]);
            assert_string_equal(span->type, count[6] == 1 ? "cc_exec_barrier" : "cc_running");
            assert_int_equal(span->bytes, count[6] == 1 ? 0 : 640);
        } else {
            count[3]++;
            assert_string_equal(span->name, "weights");
            assert_int_equal(span->bytes, 4096);
        }
    }
    assert_int_equal(count[0], RUNS);
    assert_int_equal(count[1], RUNS * CORES);
    assert_int_equal(count[2], FAILURES);
    assert_int_equal(count[3], 3); /* allocated, written, freed */
    assert_int_equal(count[4], 2);
    assert_int_equal(count[5], 2);
    assert_int_equal(count[6], 2);
    assert_false(trace->info->software_cores); /* the job has only the hooks */
    assert_true(trace->info->boot_id[0] && trace->info->host_name[0]);
    ntk_system_trace_close(trace);
    free(result.folder);
}

static int count_events(const NtkNtracePb__Trace *piece, void *ctx)
{
    *(size_t *)ctx += piece->cores[0]->n_tracking_id;
    return 0;
}

static void events_beyond_the_limit_count_as_lost(void **state)
{
    struct observed child = observed_start(test_scratch_folder, child_works, NULL);
    struct ntk_system_trace *trace = NULL;
    struct ntk_err err = { 0 };
    size_t events = 0;

    assert_int_equal(observed_receive(&child), 1);
    struct ntk_live_trace_result result = record(&child, 50);

    assert_int_equal(result.executions, RUNS);
    assert_int_equal(ntk_system_trace_open(result.folder, &trace, &err), 0);
    char *path = test_scratch_path(result.folder, "ntrace.pb");
    assert_int_equal(ntk_ntrace_each(path, count_events, &events, &err), 0);
    free(path);
    /* Start and end of a call and of the run on each core; failures, memory, start and end of a
     * transfer, three events of marks, start and end of two collectives. */
    assert_int_equal(events + trace->lost, RUNS * 2 * (1 + CORES) + FAILURES + 15);
    assert_int_equal(trace->lost, result.lost);
    assert_true(events > 0 && result.lost > 0);
    ntk_system_trace_close(trace);
    free(result.folder);
}

static void a_process_that_cannot_be_recorded_is_reported_with_the_reason(void **state)
{
    char counters[] = "counters";
    struct observed child = observed_start(test_scratch_folder, child_works, counters);
    struct ntk_live_trace_options options = { .duration_ns = AN_HOUR,
                                              .events_per_core = 1,
                                              .folder = test_scratch_folder };
    struct ntk_live_trace_result result = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(observed_receive(&child), 1);
    options.pid = (uint32_t)child.pid;
    assert_int_equal(ntk_live_trace_record(&options, &result, &err), -ENODATA);
    assert_non_null(strstr(err.text, "NEURON_HOOKS=counters"));
    options.pid = 1;
    assert_int_equal(ntk_live_trace_record(&options, &result, &err), -ENOENT);
    assert_string_equal(err.text,
                        "process 1 has no readable hooks: its runtime has not started, or "
                        "its hooks are disabled or not loaded");
    assert_null(result.folder);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

struct ending {
    uint64_t duration_ms;
    double ends_at; /* share of the caller's time at which it ends; 2: never */
    uint64_t recorded_ms;
};

static bool is_before(double share, void *ctx)
{
    return share < ((const struct ending *)ctx)->ends_at;
}

/* Method: a process that does nothing, and a clock on which every wait ends at once. Rings are
 * drained every 5 ms. */
static void a_live_recording_ends_after_its_duration(void **state)
{
    static const struct ending rows[] = {
        { 0, 2, 0 },       { 1, 2, 5 },       { 3600000, 0, 0 }, { 995, 2, 995 },
        { 1000, 2, 1000 }, { 1001, 2, 1005 }, { 1000, 1, 1000 }, { 1000, 0.5, 500 },
    };
    struct observed child = observed_start(test_scratch_folder, child_works, NULL);

    (void)state;
    assert_int_equal(observed_receive(&child), 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_live_trace_result result = { 0 };
        struct ntk_err err = { 0 };
        struct ending row = rows[i];
        struct test_clock clock;

        test_clock_init(&clock);
        clock.passes_waits = true;
        const struct ntk_live_trace_options options = { .pid = (uint32_t)child.pid,
                                                        .duration_ns =
                                                            row.duration_ms * NTK_NS_PER_MS,
                                                        .clock = &clock.clock,
                                                        .events_per_core = 1000,
                                                        .folder = test_scratch_folder,
                                                        .continues = is_before,
                                                        .ctx = &row };
        assert_int_equal(ntk_live_trace_record(&options, &result, &err), 0);
        assert_int_equal(result.recorded_ns, row.recorded_ms * NTK_NS_PER_MS);
        assert_false(result.has_ended);
        free(result.folder);
        test_clock_fini(&clock);
    }
    observed_send(&child, 1);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static int set_up(void **state)
{
    int ret = test_scratch_set_up(state);

    setenv("NEURON_HOOKS_DIR", test_scratch_folder, 1);
    unsetenv("NEURON_HOOKS");
    return ret;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_live_recording_contains_exactly_the_process_activity),
        cmocka_unit_test(events_beyond_the_limit_count_as_lost),
        cmocka_unit_test(a_live_recording_ends_after_its_duration),
        cmocka_unit_test(a_process_that_cannot_be_recorded_is_reported_with_the_reason),
    };

    return cmocka_run_group_tests(tests, set_up, test_scratch_tear_down);
}
