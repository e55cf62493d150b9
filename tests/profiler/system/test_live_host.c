/* SPDX-License-Identifier: MIT */
/*
 * Host threads and gaps in a recording. Method: a child process has the hooks and does nothing; the
 * activity of its threads is hand-written, so every span of the recording is known.
 */
#include "profiler/system/live_host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "profiler/system/live_trace.h"
#include "profiler/system/system_trace.h"
#include "runtime-hooks/hooks/hooks.h"
#include "shared/base/clock.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define MS UINT64_C(1000000)
#define BASE_NS (UINT64_C(1) << 40) /* the monotonic time of the first gap */

enum { LOADER = 100, HELPER = 101, BYSTANDER = 102, FIRST_CORE = 6, LOGICAL = 3 };

static int child_works(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = {
        .instance_type = "trn2.3xlarge", .lnc = 2, .device_count = 1, .cores_per_device = 8
    };

    (void)ctx;
    if (ntk_hooks_attach(&config, NULL, 0) < 0) {
        return 1;
    }
    ntk_hooks_core_claim(FIRST_CORE, LOGICAL, true);
    ntk_hooks_core_claim(FIRST_CORE + 1, LOGICAL, false);
    observed_send(child, 1);
    (void)observed_receive(child);
    ntk_hooks_detach();
    return 0;
}

static void add_slice(struct ntk_host_records *records, struct ntk_host_slice slice)
{
    slice.start_ns += BASE_NS;
    slice.end_ns += BASE_NS;
    slice.ready_ns += slice.ready_ns ? BASE_NS : 0;
    assert_int_equal(ntk_vec_push(&records->slices, &slice), 0);
}

static void add_thread(struct ntk_host_records *records, uint32_t tid)
{
    struct ntk_host_thread *thread = ntk_host_records_thread_add(records, LOADER, tid);

    thread->first_ns = BASE_NS;
    thread->last_ns = BASE_NS + 200 * MS;
}

/* Two gaps of a pair of cores, caused by the loader. In the first it reads for 60 ms, is ready for
 * 5 ms, and runs for 35 ms, in which it is sampled once. In the second it waits for a lock of the
 * helper. */
static void fill(struct ntk_host_records *records)
{
    const struct ntk_host_gap gaps[] = { { BASE_NS, BASE_NS + 100 * MS, FIRST_CORE, LOADER },
                                         { BASE_NS + 150 * MS, BASE_NS + 160 * MS, FIRST_CORE,
                                           LOADER } };
    const uint64_t mutex[3] = { 0, 128, 2 };
    uint32_t load;

    ntk_host_records_init(records);
    records->start_ns = BASE_NS;
    records->end_ns = BASE_NS + 200 * MS;
    for (uint32_t tid = LOADER; tid <= BYSTANDER; tid++) {
        add_thread(records, tid);
    }
    for (uint32_t core = 0; core < 2; core++) {
        for (size_t i = 0; i < 2; i++) {
            struct ntk_host_gap gap = gaps[i];
            gap.core += core;
            assert_int_equal(ntk_vec_push(&records->gaps, &gap), 0);
        }
    }
    load = ntk_host_stacks_push(&records->stacks, 0, "load_batch", "job", 0, NTK_HOST_NATIVE);
    add_slice(records, (struct ntk_host_slice){ .start_ns = 0,
                                                .end_ns = 65 * MS,
                                                .ready_ns = 60 * MS,
                                                .tid = LOADER,
                                                .syscall = SYS_read,
                                                .stack = load });
    struct ntk_host_slice lock = { .start_ns = 150 * MS,
                                   .end_ns = 160 * MS,
                                   .tid = LOADER,
                                   .waker = HELPER,
                                   .syscall = SYS_futex };
    memcpy(lock.argument, mutex, sizeof mutex);
    add_slice(records, lock);
    add_slice(records, (struct ntk_host_slice){ .start_ns = 0,
                                                .end_ns = 140 * MS,
                                                .tid = HELPER,
                                                .syscall = SYS_ppoll,
                                                .argument = { 0, 1 } });
    add_slice(records, (struct ntk_host_slice){ .start_ns = 0,
                                                .end_ns = 190 * MS,
                                                .tid = BYSTANDER,
                                                .syscall = SYS_ppoll,
                                                .argument = { 0, 1 } });
    const struct ntk_host_sample sample = {
        .time_ns = BASE_NS + 70 * MS, .tid = LOADER, .stack = load, .cause = NTK_HOST_RUNNING
    };
    assert_int_equal(ntk_vec_push(&records->samples, &sample), 0);
}

static struct ntk_system_trace *record(const struct ntk_live_host *host)
{
    struct observed child = observed_start(test_scratch_folder, child_works, NULL);
    struct ntk_live_trace_options options = { .events_per_core = 1000,
                                              .folder = test_scratch_folder };
    struct ntk_live_trace_result result = { 0 };
    struct ntk_live_trace *live = NULL;
    struct ntk_system_trace *trace = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(observed_receive(&child), 1);
    options.pid = (uint32_t)child.pid;
    assert_int_equal(ntk_live_trace_begin(&options, &live, &err), 0);
    assert_true(ntk_live_trace_step(live));
    assert_int_equal(ntk_live_trace_end(live, host, &result, &err), 0);
    ntk_live_trace_destroy(live);
    observed_send(&child, 1);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(result.lost, 0);
    assert_int_equal(ntk_system_trace_open(result.folder, &trace, &err), 0);
    assert_int_equal(trace->warnings.count, 0);
    assert_int_equal(trace->partial_count, 0);
    free(result.folder);
    return trace;
}

static void a_recording_contains_core_gaps_and_the_threads_that_cause_them(void **state)
{
    static const struct {
        uint32_t thread; /* 0: the core */
        const char *type, *name;
        uint64_t start_ms, end_ms;
    } rows[] = {
        { LOADER, "thread_read", "load_batch", 0, 60 },
        { HELPER, "thread_poll", "", 0, 140 },
        { 0, "nc_idle", "read", 0, 100 },
        { LOADER, "thread_cpu_pressure", "", 60, 65 },
        { LOADER, "thread_running", "load_batch", 65, 100 },
        { LOADER, "thread_lock", "", 150, 160 },
        { HELPER, "thread_running", "", 150, 160 },
        { 0, "nc_idle", "lock", 150, 160 },
    };
    struct ntk_host_records records;
    struct ntk_host_result result;

    fill(&records);
    assert_int_equal(ntk_host_attribute(&records, 2, &result), 0);
    struct ntk_live_host host = { &records, &result };
    struct ntk_system_trace *trace = record(&host);

    /* The distance between both clocks is the same for all spans. */
    assert_int_equal(trace->span_count, sizeof rows / sizeof *rows);
    uint64_t zero_ns = trace->spans[0].start_ns;
    uint64_t away_ns = ntk_clock_realtime_ns() - ntk_clock_monotonic_ns() + BASE_NS;
    assert_true(zero_ns - away_ns < MS || away_ns - zero_ns < MS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ntk_system_span *found = NULL;

        for (size_t s = 0; s < trace->span_count; s++) {
            const struct ntk_system_span *span = &trace->spans[s];
            if (span->thread_id == rows[i].thread && strcmp(span->type, rows[i].type) == 0 &&
                span->start_ns == zero_ns + rows[i].start_ms * MS) {
                found = span;
            }
        }
        if (!found) {
            fail_msg("no %s of thread %u at %llu ms", rows[i].type, rows[i].thread,
                     (unsigned long long)rows[i].start_ms);
        }
        assert_string_equal(found->name, rows[i].name);
        assert_int_equal(found->end_ns - found->start_ns, (rows[i].end_ms - rows[i].start_ms) * MS);
        assert_int_equal(found->nc, 0);
        assert_int_equal(ntk_system_type_is_hardware(found->type), rows[i].thread == 0);
        assert_int_equal(ntk_system_type_is_thread_state(found->type), rows[i].thread != 0);
    }
    ntk_system_trace_close(trace);
    ntk_host_result_fini(&result);
    ntk_host_records_fini(&records);
}

static void a_recording_without_observation_has_no_states(void **state)
{
    struct ntk_system_trace *trace = record(NULL);

    assert_int_equal(trace->span_count, 0);
    ntk_system_trace_close(trace);
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
        cmocka_unit_test(a_recording_contains_core_gaps_and_the_threads_that_cause_them),
        cmocka_unit_test(a_recording_without_observation_has_no_states),
    };

    return cmocka_run_group_tests(tests, set_up, test_scratch_tear_down);
}
