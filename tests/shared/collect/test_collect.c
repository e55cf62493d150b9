/* SPDX-License-Identifier: MIT */
/* Tests of the collector on real segments: children that use the hooks, told what to do through a
 * pipe. */
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/collect/collect.h"
#include "tests/support/emulated.h"
#include "tests/support/observed.h"
#include "tests/support/observed_mlp.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* ---- a process with hooks ---- */

enum command {
    COMMAND_EXECUTE, /* argument executions on core 3 */
    COMMAND_BEGIN,   /* an execution that goes on */
    COMMAND_ALLOC,   /* argument bytes of tensor memory */
    COMMAND_REFUSE,  /* one execution with NRT_STATUS 1002 */
    COMMAND_FAIL,    /* argument executions with NRT_STATUS 1003 */
    COMMAND_ECC,     /* argument ECC errors of each of two devices, corrected, and a reset of one */
    COMMAND_BURN,    /* argument milliseconds of CPU time */
    COMMAND_AGAIN,   /* detaches, and attaches again */
    COMMAND_TURN,    /* the model is started, and stopped with NRT_STATUS 1201 */
    COMMAND_DIE,     /* argument executions with NRT_STATUS 101: the core is dead */
    COMMAND_EXIT,
};

static void burn(uint32_t milliseconds)
{
    struct timespec now;
    uint64_t until_ns = 0;

    do {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        until_ns = until_ns ? until_ns : now_ns + milliseconds * UINT64_C(1000000);
        if (now_ns >= until_ns) {
            return;
        }
    } while (1);
}

static int run_child(struct observed *side, void *ctx)
{
    struct ntk_hooks_model_ref ref;
    uint64_t execution = 0;

    (void)ctx;
    if (observed_mlp_begin(&ref) < 0) {
        return 3;
    }
    for (;;) {
        uint64_t order;
        enum command command;
        uint32_t argument;

        observed_send(side, 0);
        order = observed_receive(side);
        command = (enum command)(order >> 32);
        argument = (uint32_t)order;
        if (command == COMMAND_EXIT) {
            break;
        }
        if (command == COMMAND_BEGIN) {
            ntk_hooks_exec_begin(ref, OBSERVED_MLP_CORE, 1);
        } else if (command == COMMAND_AGAIN) {
            ntk_hooks_detach();
            if (observed_mlp_begin(&ref) < 0) {
                return 3;
            }
        } else if (command == COMMAND_TURN) {
            ntk_hooks_model_started(ref, ntk_hooks_now(), 0);
            ntk_hooks_model_stopped(ref, ntk_hooks_now() - 1000, 1201);
        } else if (command == COMMAND_BURN) {
            burn(argument);
        } else if (command == COMMAND_REFUSE) {
            const struct ntk_hooks_exec exec = { .model = ref,
                                                 .call_start_ticks = ntk_hooks_now(),
                                                 .status = 1002,
                                                 .core = OBSERVED_MLP_CORE };

            ntk_hooks_exec_refused(&exec);
        } else if (command == COMMAND_ALLOC) {
            const struct ntk_hooks_memory memory = { .address = 0x1000,
                                                     .bytes = argument,
                                                     .core = OBSERVED_MLP_CORE,
                                                     .category = NTK_MEMORY_TENSORS,
                                                     .name = ntk_hooks_name("input0") };

            ntk_hooks_memory_alloc(&memory);
        }
        for (uint32_t i = 0; command == COMMAND_ECC && i < argument; i++) {
            struct ntk_hooks_error error = { .error_class = NTK_ERROR_CLASS_NONE,
                                             .error_code = NTK_ERROR_CODE_ECC_MEM_CORRECTED,
                                             .core = 3 };
            ntk_hooks_error(&error);
            error.core = 0;
            ntk_hooks_error(&error);
            error.error_code = NTK_ERROR_CODE_RESET;
            if (i + 1 == argument) {
                ntk_hooks_error(&error);
            }
        }
        bool executes =
            command == COMMAND_EXECUTE || command == COMMAND_FAIL || command == COMMAND_DIE;
        for (uint32_t i = 0; executes && i < argument; i++) {
            observed_mlp_execute(ref, ++execution,
                                 command == COMMAND_FAIL  ? 1003
                                 : command == COMMAND_DIE ? 101
                                                          : 0);
        }
    }
    ntk_hooks_detach();
    return 0;
}

static struct observed child_start(void)
{
    struct observed child = observed_start(NULL, run_child, NULL);

    (void)observed_receive(&child);
    return child;
}

static void child_tell(struct observed *child, enum command command, uint32_t argument)
{
    observed_send(child, (uint64_t)command << 32 | argument);
    if (command != COMMAND_EXIT) {
        (void)observed_receive(child);
    }
}

static void child_end(struct observed *child, int signal_number)
{
    if (!signal_number) {
        child_tell(child, COMMAND_EXIT, 0);
    }
    assert_int_equal(observed_finish(child, signal_number),
                     signal_number ? 128 + signal_number : 0);
}

/* ---- the collector on a scratch folder ---- */

struct fixture {
    char *folder;
    char *no_sysfs;
    struct ntk_collector *collector;
    struct ntk_snapshot *snapshot;
    size_t allocs; /* events of all snapshots */
};

static void collector_open(struct fixture *f, struct ntk_collector_options options)
{
    struct ntk_err err = { 0 };

    options.hooks_dir = f->folder;
    options.driver_sysfs = f->no_sysfs;
    assert_int_equal(ntk_collector_create(&options, &f->collector, &err), 0);
}

static struct ntk_snapshot *poll_collector(struct fixture *f)
{
    struct ntk_err err = { 0 };

    ntk_snapshot_destroy(f->snapshot);
    f->snapshot = NULL;
    assert_int_equal(ntk_collector_poll(f->collector, &f->snapshot, &err), 0);
    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        f->allocs += f->snapshot->events[i].kind == NTK_EVENT_MEM_ALLOC;
    }
    return f->snapshot;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f) {
        return -1;
    }
    f->folder = test_scratch_create();
    f->no_sysfs = test_scratch_path(f->folder, "nothing");
    setenv("NEURON_HOOKS_DIR", f->folder, 1);
    setenv("NEURON_PROCESS_TAG", "bert", 1);
    unsetenv("NEURON_HOOKS");
    unsetenv("NEURON_HOOKS_MEMORY");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_snapshot_destroy(f->snapshot);
    ntk_collector_destroy(f->collector);
    free(f->no_sysfs);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static size_t files_in_folder(const struct fixture *f)
{
    char command[1024];
    unsigned long count = 0;
    FILE *list;

    snprintf(command, sizeof command, "ls '%s' | wc -l", f->folder);
    list = popen(command, "r");
    assert_non_null(list);
    assert_int_equal(fscanf(list, "%lu", &count), 1);
    pclose(list);
    return count;
}

/* ---- tests ---- */

static void executions_of_all_periods_add_up(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    const struct ntk_runtime_sample *runtime;
    uint64_t sum = 0;
    uint64_t latency = 0;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    for (uint32_t i = 0; i < 10; i++) {
        child_tell(&child, COMMAND_EXECUTE, i * 10);
        assert_true(ntk_collector_drain(f->collector) >= 0);
        runtime = &poll_collector(f)->runtimes[0];
        assert_int_equal(f->snapshot->runtime_count, 1);
        sum += runtime->outcome[NTK_OUTCOME_COMPLETED].period;
        latency += runtime->total_latency.count;
        assert_int_equal(runtime->models[0].executions.period, i * 10);
        assert_int_equal(runtime->cores[0].flops.period, i * 1000);
    }
    assert_int_equal(sum, 450);
    assert_int_equal(latency, 450);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 450);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 450);
    assert_int_equal(runtime->pid, child.pid);
    assert_string_equal(runtime->tag, "bert");
    assert_true(runtime->software);
    assert_int_equal(runtime->core_count, 1);
    assert_int_equal(runtime->cores[0].core, 3);
    if (!test_is_emulated()) { /* whose start time is not the one in /proc */
        assert_true(runtime->has & NTK_RUNTIME_HAS_RSS);
        assert_true(runtime->rss_bytes > 0);
        assert_string_not_equal(runtime->command, "");
        assert_string_not_equal(runtime->user, "");
    }
    assert_int_equal(f->snapshot->events_lost.total, 0);
    assert_true(f->snapshot->events_read.total >= 450);
    assert_int_equal(f->snapshot->core_count, 32);
    child_end(&child, 0);
}

static void the_events_of_the_period_say_what_happened(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    const struct ntk_event_sample *load = NULL;
    const struct ntk_event_sample *alloc = NULL;
    const struct ntk_event_sample *start = NULL;
    const struct ntk_event_sample *stop = NULL;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    child_tell(&child, COMMAND_ALLOC, 12288);
    child_tell(&child, COMMAND_TURN, 0);
    poll_collector(f);
    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        const struct ntk_event_sample *event = &f->snapshot->events[i];

        start = event->kind == NTK_EVENT_MODEL_START ? event : start;
        stop = event->kind == NTK_EVENT_MODEL_STOP ? event : stop;
        load = event->kind == NTK_EVENT_MODEL_LOAD ? event : load;
        alloc = event->kind == NTK_EVENT_MEM_ALLOC ? event : alloc;
    }
    assert_non_null(load);
    assert_string_equal(load->name, "mlp");
    assert_int_equal(load->model_id, NTK_MODEL_ID_FIRST);
    assert_int_equal(load->bytes, 4096);
    assert_non_null(start);
    assert_string_equal(start->name, "mlp");
    assert_int_equal(start->value, 1); /* the first */
    assert_non_null(stop);
    assert_int_equal(stop->model_id, NTK_MODEL_ID_FIRST);
    assert_int_equal(stop->nrt_status, 1201);
    assert_true(stop->duration_ns > 0);
    assert_int_equal(f->snapshot->runtimes[0].models[0].starts.period, 1);
    assert_int_equal(f->snapshot->runtimes[0].models[0].stops.total, 1);
    assert_non_null(alloc);
    assert_string_equal(alloc->name, "input0");
    assert_int_equal(alloc->bytes, 12288);
    assert_int_equal(alloc->address, 0x1000);
    assert_int_equal(alloc->category, NTK_MEMORY_TENSORS);
    assert_int_equal(alloc->location, NTK_MEMORY_DEVICE);
    assert_int_equal(alloc->core, 3);
    assert_int_equal(alloc->pid, child.pid);
    assert_int_equal(alloc->tid, child.pid);
    assert_true(alloc->realtime_ns + 60 * NTK_NS_PER_SECOND > f->snapshot->realtime_ns);
    assert_true(alloc->realtime_ns < f->snapshot->realtime_ns + 60 * NTK_NS_PER_SECOND);
    {
        uint64_t device = 0;

        ntk_snapshot_memory_add(&f->snapshot->runtimes[0], 3, 0, NULL, NULL, &device);
        assert_int_equal(device, 12288);
    }
    poll_collector(f);
    assert_int_equal(f->snapshot->event_count, 0);
    child_end(&child, 0);
}

static size_t errors_listed(const struct fixture *f, uint64_t first_execution)
{
    size_t count = 0;

    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        const struct ntk_event_sample *event = &f->snapshot->events[i];

        if (event->kind == NTK_EVENT_ERROR) {
            assert_int_equal(event->execution_id, first_execution + count);
            assert_int_equal(event->error_class, NTK_ERROR_NUMERICAL);
            assert_int_equal(event->nrt_status, 1003);
            assert_int_equal(event->core, 3);
            assert_int_equal(event->model_id, NTK_MODEL_ID_FIRST);
            count++;
        }
    }
    return count;
}

static void of_executions_that_fail_the_newest_are_listed_and_the_rest_counted(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    child_tell(&child, COMMAND_EXECUTE, 7);
    child_tell(&child, COMMAND_FAIL, 3);
    poll_collector(f);
    assert_int_equal(errors_listed(f, 8), 3);
    child_tell(&child, COMMAND_FAIL, 1000);
    poll_collector(f);
    assert_int_equal(f->snapshot->events_unlisted, 1000 - (NTK_COLLECT_FAILURES_MAX - 2));
    assert_int_equal(errors_listed(f, 1011 - (NTK_COLLECT_FAILURES_MAX - 2)),
                     NTK_COLLECT_FAILURES_MAX - 2); /* a period passed */
    assert_int_equal(f->snapshot->runtimes[0].error_class[NTK_ERROR_NUMERICAL].period, 1000);
    child_tell(&child, COMMAND_FAIL, 1000);
    poll_collector(f);
    assert_int_equal(errors_listed(f, 2010), 1);
    assert_int_equal(f->snapshot->events_unlisted, 999);
    for (size_t i = 0; i < NTK_COLLECT_FAILURES_MAX; i++) {
        poll_collector(f);
        assert_int_equal(f->snapshot->event_count, 0);
    }
    child_tell(&child, COMMAND_FAIL, 1000);
    poll_collector(f);
    assert_int_equal(errors_listed(f, 3011 - NTK_COLLECT_FAILURES_MAX), NTK_COLLECT_FAILURES_MAX);
    child_end(&child, 0);
}

/* Method: a second collector begins while executions fail; both show the same moment. */
static void all_readers_see_since_when_a_core_fails(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    uint64_t since_ns;
    uint64_t before_ns;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    child_tell(&child, COMMAND_EXECUTE, 1);
    child_tell(&child, COMMAND_FAIL, 1); /* wrong numbers kill no core */
    poll_collector(f);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].failing_since_ns, 0);
    before_ns = f->snapshot->realtime_ns;
    child_tell(&child, COMMAND_DIE, 1);
    poll_collector(f);
    since_ns = f->snapshot->runtimes[0].cores[0].failing_since_ns;
    assert_true(since_ns + NTK_NS_PER_MS > before_ns);
    assert_true(since_ns < f->snapshot->realtime_ns + NTK_NS_PER_MS);
    child_tell(&child, COMMAND_DIE, 5);
    ntk_collector_destroy(f->collector);
    collector_open(f, (struct ntk_collector_options){ .reap = true });
    poll_collector(f);
    uint64_t again_ns = f->snapshot->runtimes[0].cores[0].failing_since_ns;
    assert_true(again_ns + NTK_NS_PER_MS > since_ns && again_ns < since_ns + NTK_NS_PER_MS);
    child_tell(&child, COMMAND_EXECUTE, 1);
    poll_collector(f);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].failing_since_ns, 0);
    child_end(&child, 0);
}

static size_t codes_listed(const struct fixture *f, uint16_t core, uint32_t code)
{
    size_t count = 0;

    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        const struct ntk_event_sample *event = &f->snapshot->events[i];
        count += event->core == core && event->error_code == code;
    }
    return count;
}

/* A memory that corrects a bit at each execution must not fill the lists; a rare thing beside it is
 * seen. */
static void errors_of_the_hardware_are_listed_in_bounds_and_the_rest_counted(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    child_tell(&child, COMMAND_ECC, 100);
    poll_collector(f);
    assert_int_equal(codes_listed(f, 3, NTK_ERROR_CODE_ECC_MEM_CORRECTED),
                     NTK_COLLECT_FAILURES_MAX);
    assert_int_equal(codes_listed(f, 0, NTK_ERROR_CODE_ECC_MEM_CORRECTED),
                     NTK_COLLECT_FAILURES_MAX);
    assert_int_equal(codes_listed(f, 0, NTK_ERROR_CODE_RESET), 1);
    assert_int_equal(f->snapshot->events_unlisted, 2 * (100 - NTK_COLLECT_FAILURES_MAX));
    child_tell(&child, COMMAND_ECC, 100);
    poll_collector(f);
    assert_int_equal(codes_listed(f, 3, NTK_ERROR_CODE_ECC_MEM_CORRECTED), 1); /* a period passed */
    assert_int_equal(codes_listed(f, 0, NTK_ERROR_CODE_RESET), 1);
    assert_int_equal(f->snapshot->events_unlisted, 2 * 99);
    child_end(&child, 0);
}

static int drained_until_ended(void *ctx)
{
    struct fixture *f = ctx;
    int found = 0;

    poll_collector(f);
    for (size_t i = 0; i < f->snapshot->runtime_count; i++) {
        found = found || f->snapshot->runtimes[i].ended;
    }
    return found;
}

/* Method: an execution begins and the process is killed in it; its file goes only when the
 * collector has told the end. */
static void a_killed_process_is_ended_once_with_its_last_counts_and_events(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    const struct ntk_runtime_sample *runtime;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    poll_collector(f);
    assert_int_equal(files_in_folder(f), 1);
    child_tell(&child, COMMAND_EXECUTE, 17);
    child_tell(&child, COMMAND_ALLOC, 4096);
    child_tell(&child, COMMAND_BEGIN, 0);
    child_end(&child, SIGKILL);

    /* the last counts are in the snapshot that says `ended`, wherever the drains fall */
    assert_true(test_wait_until(drained_until_ended, f));
    runtime = &f->snapshot->runtimes[0];
    assert_true(runtime->ended);
    assert_true(runtime->killed);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 17);
    assert_int_equal(runtime->in_flight, 0);
    assert_int_equal(runtime->memory_count, 0);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 17);
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 17);
    assert_int_equal(f->allocs, 1); /* once, in one of the snapshots */
    poll_collector(f);
    assert_int_equal(files_in_folder(f), 0);
}

static void a_clean_end_is_told_by_a_collector_that_only_watches(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    collector_open(f, (struct ntk_collector_options){ 0 });
    child = child_start();
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 1);
    child_tell(&child, COMMAND_EXECUTE, 5);
    child_end(&child, 0);
    assert_true(test_wait_until(drained_until_ended, f));
    assert_int_equal(f->snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].total, 5);
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
}

/* Method: the execution never ends in this test; every period must be busy from end to end. */
static void a_running_execution_shows_a_busy_core(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    child_tell(&child, COMMAND_BEGIN, 0);
    poll_collector(f);
    for (int i = 0; i < 5; i++) {
        poll_collector(f);
        assert_int_equal(f->snapshot->runtimes[0].in_flight, 1);
        /* two clocks and the time between the readings of a short period: not exactly 1 */
        assert_true(f->snapshot->cores[3].busy_ns.period > 0);
        assert_true(f->snapshot->cores[3].utilization > 0.5);
        assert_true(f->snapshot->cores[3].utilization <= 1);
    }
    child_end(&child, SIGKILL);
}

static void an_older_process_counts_from_now_and_outcomes_keep_their_kind(void **state)
{
    struct fixture *f = *state;
    struct observed child = child_start();
    const struct ntk_runtime_sample *runtime;

    child_tell(&child, COMMAND_EXECUTE, 100);
    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child_tell(&child, COMMAND_EXECUTE, 3);
    child_tell(&child, COMMAND_REFUSE, 0);
    runtime = &poll_collector(f)->runtimes[0];
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 3);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 103);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_INCORRECT_INPUT].period, 1);
    assert_int_equal(ntk_snapshot_outcome_sum(runtime->outcome), 4);
    assert_int_equal(runtime->total_latency.count, 3);
    child_end(&child, 0);
}

/* Method: one report is all that --once gives, so its baselines must lie at the start of its
 * period. */
static void the_first_period_has_the_cpu_time_of_an_older_process(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    const struct ntk_runtime_sample *runtime;

    if (test_is_emulated()) {
        skip(); /* whose start time is not the one in /proc */
    }
    child = child_start();
    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child_tell(&child, COMMAND_BURN, 100);
    runtime = &poll_collector(f)->runtimes[0];
    assert_true(runtime->has & NTK_RUNTIME_HAS_CPU);
    assert_true(runtime->cpu_user + runtime->cpu_system > 0);
    child_end(&child, 0);
}

/* Method: two collectors, as the agent and neuron-top, one of them only watching. */
static void two_collectors_see_the_same_counts(void **state)
{
    struct fixture *f = *state;
    struct fixture other = *f;
    struct observed child;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    collector_open(&other, (struct ntk_collector_options){ .no_events = true });
    child = child_start();
    child_tell(&child, COMMAND_EXECUTE, 9);
    poll_collector(f);
    poll_collector(&other);
    assert_int_equal(f->snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, 9);
    assert_int_equal(other.snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, 9);
    assert_int_equal(other.snapshot->event_count, 0);
    ntk_snapshot_destroy(other.snapshot);
    ntk_collector_destroy(other.collector);
    child_end(&child, 0);
}

/* Method: a process older than the collector whose ring went round before; then it goes round
 * again. */
static void events_that_are_wanted_later_begin_with_those_still_there(void **state)
{
    struct fixture *f = *state;
    struct observed child = child_start();
    size_t allocations = 0;

    child_tell(&child, COMMAND_EXECUTE, 20000);
    child_tell(&child, COMMAND_ALLOC, 4096);
    collector_open(f, (struct ntk_collector_options){ .no_events = true });
    poll_collector(f);
    assert_int_equal(f->snapshot->event_count, 0);
    ntk_collector_read_events(f->collector);
    ntk_collector_read_events(f->collector); /* once is enough */
    child_tell(&child, COMMAND_ALLOC, 8192);
    poll_collector(f);
    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        allocations += f->snapshot->events[i].kind == NTK_EVENT_MEM_ALLOC;
    }
    assert_int_equal(allocations, 2);
    assert_true(f->snapshot->events_read.period > 1000);
    assert_int_equal(f->snapshot->events_lost.total, 0); /* nobody wanted them */
    child_tell(&child, COMMAND_EXECUTE, 40000);
    poll_collector(f);
    assert_true(f->snapshot->events_lost.period > 10000);
    child_end(&child, 0);
}

static void an_empty_machine_has_a_host_and_nothing_else(void **state)
{
    struct fixture *f = *state;

    collector_open(f, (struct ntk_collector_options){ 0 });
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
    assert_int_equal(f->snapshot->device_count, 0);
    assert_string_not_equal(f->snapshot->hardware.error, "");
    assert_true(f->snapshot->system.has & NTK_SYSTEM_HAS_CPU);
    assert_true(f->snapshot->system.has & NTK_SYSTEM_HAS_MEMORY);
    assert_true(f->snapshot->system.memory_total_bytes > 0);
    assert_string_not_equal(f->snapshot->host_name, "");
    assert_string_equal(ntk_collector_note(f->collector), "");
}

static void a_file_that_is_no_segment_is_named_in_the_note(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->folder, "123-456");
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    for (int i = 0; i < 5000; i++) {
        fputs("nonsense", file);
    }
    fclose(file);
    chmod(path, 0600);
    collector_open(f, (struct ntk_collector_options){ 0 });
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
    assert_non_null(strstr(ntk_collector_note(f->collector), "123-456"));
    free(path);
}

static void set_refused(const char *path, size_t offset, uint64_t count)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &count, sizeof count, (off_t)offset), sizeof count);
    close(fd);
}

/* Method: the writer's count of what a table of it had no room for is put into the file. */
static void a_segment_that_is_full_is_named_in_the_note(void **state)
{
    static const struct {
        size_t offset;
        const char *what;
    } rows[] = {
        { offsetof(struct ntk_segment_header, models_refused), "models or kinds of memory than" },
        { offsetof(struct ntk_segment_header, memory_rows_refused),
          "models or kinds of memory than" },
        { offsetof(struct ntk_segment_header, names_refused), "names than" },
        { offsetof(struct ntk_segment_header, threads_refused), "threads than" },
        { offsetof(struct ntk_segment_header, histograms_refused), "latencies than" },
    };
    struct fixture *f = *state;
    struct observed child = child_start();
    char expected[96];
    glob_t found;

    child_tell(&child, COMMAND_ALLOC, 4096);
    collector_open(f, (struct ntk_collector_options){ 0 });
    poll_collector(f);
    assert_string_equal(ntk_collector_note(f->collector), "");

    char *pattern = test_scratch_path(f->folder, "[0-9]*");
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set_refused(found.gl_pathv[0], rows[i].offset, 7);
        poll_collector(f);
        assert_int_equal(f->snapshot->runtime_count, 1);
        snprintf(expected, sizeof expected, "application %d has more %s",
                 (int)f->snapshot->runtimes[0].pid, rows[i].what);
        assert_int_equal(strncmp(ntk_collector_note(f->collector), expected, strlen(expected)), 0);
        set_refused(found.gl_pathv[0], rows[i].offset, 0);
    }
    set_refused(found.gl_pathv[0], rows[0].offset, 7);
    globfree(&found);
    free(pattern);
    child_end(&child, 0);
    poll_collector(f);
    poll_collector(f);
    assert_string_equal(ntk_collector_note(f->collector), "");
}

/* Method: forty processes one after the other, half of them killed; all that each did is told,
 * whatever period it falls into. */
static void processes_that_come_and_go_lose_no_count(void **state)
{
    struct fixture *f = *state;
    uint64_t expected = 0;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    for (uint32_t i = 0; i < 40; i++) {
        struct observed child = child_start();

        ntk_collector_drain(f->collector);
        poll_collector(f); /* has seen it */
        child_tell(&child, COMMAND_EXECUTE, i);
        expected += i;
        child_end(&child, i % 2 ? SIGKILL : 0);
        assert_true(test_wait_until(drained_until_ended, f));
        assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, expected);
    }
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
    poll_collector(f);
    assert_int_equal(files_in_folder(f), 0);
}

static void a_process_between_two_looks_loses_no_count(void **state)
{
    struct fixture *f = *state;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    struct observed child = child_start();
    child_tell(&child, COMMAND_EXECUTE, 3);
    child_end(&child, 0);
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 1);
    assert_true(f->snapshot->runtimes[0].ended);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 3);
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
}

/* Of the snapshots of one process: in each it is there once. */
static uint64_t completed_of_period(struct fixture *f)
{
    const struct ntk_snapshot *snapshot = poll_collector(f);

    assert_true(snapshot->runtime_count <= 1);
    return snapshot->runtime_count == 0
               ? 0
               : snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period;
}

static void a_process_that_closes_and_begins_again_loses_no_count(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    uint64_t sum = 0;

    for (int reaps = 0; reaps < 2; reaps++) {
        collector_open(f, (struct ntk_collector_options){ .reap = reaps });
        child = child_start();
        child_tell(&child, COMMAND_EXECUTE, 5);
        sum = completed_of_period(f);
        child_tell(&child, COMMAND_EXECUTE, 1);
        child_tell(&child, COMMAND_AGAIN, 0);
        child_tell(&child, COMMAND_EXECUTE, 6);
        sum += completed_of_period(f);
        assert_false(f->snapshot->runtimes[0].ended);
        assert_int_equal(f->snapshot->runtimes[0].models[0].executions.period, 7);
        assert_int_equal(f->snapshot->runtimes[0].total_latency.count, 7);
        child_tell(&child, COMMAND_AGAIN, 0);
        sum += completed_of_period(f);
        child_tell(&child, COMMAND_EXECUTE, 4);
        sum += completed_of_period(f);
        assert_int_equal(sum, 16);
        child_end(&child, SIGKILL);
        assert_true(test_wait_until(drained_until_ended, f));
        ntk_collector_destroy(f->collector);
        f->collector = NULL;
    }
    /* Many times between two looks, of which only one that cleans up is told. */
    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    for (uint32_t i = 1; i <= 5; i++) {
        child_tell(&child, COMMAND_EXECUTE, i);
        child_tell(&child, COMMAND_AGAIN, 0);
    }
    sum = completed_of_period(f);
    child_tell(&child, COMMAND_EXECUTE, 6);
    assert_int_equal(sum + completed_of_period(f), 21);
    child_end(&child, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(executions_of_all_periods_add_up),
        TEST(the_events_of_the_period_say_what_happened),
        TEST(all_readers_see_since_when_a_core_fails),
        TEST(of_executions_that_fail_the_newest_are_listed_and_the_rest_counted),
        TEST(errors_of_the_hardware_are_listed_in_bounds_and_the_rest_counted),
        TEST(a_killed_process_is_ended_once_with_its_last_counts_and_events),
        TEST(a_clean_end_is_told_by_a_collector_that_only_watches),
        TEST(a_running_execution_shows_a_busy_core),
        TEST(an_older_process_counts_from_now_and_outcomes_keep_their_kind),
        TEST(the_first_period_has_the_cpu_time_of_an_older_process),
        TEST(two_collectors_see_the_same_counts),
        TEST(events_that_are_wanted_later_begin_with_those_still_there),
        TEST(an_empty_machine_has_a_host_and_nothing_else),
        TEST(a_file_that_is_no_segment_is_named_in_the_note),
        TEST(a_segment_that_is_full_is_named_in_the_note),
        TEST(processes_that_come_and_go_lose_no_count),
        TEST(a_process_between_two_looks_loses_no_count),
        TEST(a_process_that_closes_and_begins_again_loses_no_count),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
