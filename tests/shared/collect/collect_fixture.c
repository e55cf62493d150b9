/* SPDX-License-Identifier: MIT */
/*
 * collect_fixture - a collector on a scratch folder, and children with hooks that take commands.
 */
#include "tests/shared/collect/collect_fixture.h"

#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/observed_mlp.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

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

#define TRACEPARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"

static void set_trace(uint32_t which)
{
    (void)ntk_hooks_mark_trace(which == TRACE_NONE      ? NULL
                               : which == TRACE_SAMPLED ? TRACEPARENT "1"
                                                        : TRACEPARENT "0");
}

struct tracing {
    struct ntk_hooks_model_ref ref;
    uint64_t execution;
};

static void *trace_and_execute(void *ctx)
{
    struct tracing *tracing = ctx;

    tracing->execution++;
    if (tracing->execution % 2 == 1) {
        set_trace(TRACE_SAMPLED);
    }
    observed_mlp_execute(tracing->ref, tracing->execution, 0);
    return NULL;
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
        if (command == COMMAND_TRACE) {
            set_trace(argument);
        }
        for (uint32_t i = 0; command == COMMAND_MARKS && i < argument; i++) {
            ntk_hooks_mark_text("mark", 0, i);
        }
        for (uint32_t i = 0; command == COMMAND_TRACE_THREADS && i < argument; i++) {
            struct tracing tracing = { ref, execution++ };
            pthread_t thread;

            if (pthread_create(&thread, NULL, trace_and_execute, &tracing) != 0) {
                return 3;
            }
            pthread_join(thread, NULL);
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

struct observed child_start(void)
{
    struct observed child = observed_start(NULL, run_child, NULL);

    (void)observed_receive(&child);
    return child;
}

void child_tell(struct observed *child, enum command command, uint32_t argument)
{
    observed_send(child, (uint64_t)command << 32 | argument);
    if (command != COMMAND_EXIT) {
        (void)observed_receive(child);
    }
}

void child_end(struct observed *child, int signal_number)
{
    if (!signal_number) {
        child_tell(child, COMMAND_EXIT, 0);
    }
    assert_int_equal(observed_finish(child, signal_number),
                     signal_number ? 128 + signal_number : 0);
}

void collector_open(struct fixture *f, struct ntk_collector_options options)
{
    struct ntk_err err = { 0 };

    options.hooks_dir = f->folder;
    options.driver_sysfs = f->no_sysfs;
    assert_int_equal(ntk_collector_create(&options, &f->collector, &err), 0);
}

struct ntk_snapshot *poll_collector(struct fixture *f)
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

int collect_setup(void **state)
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

int collect_teardown(void **state)
{
    struct fixture *f = *state;

    ntk_snapshot_destroy(f->snapshot);
    ntk_collector_destroy(f->collector);
    free(f->no_sysfs);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

size_t files_in_folder(const struct fixture *f)
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

int drained_until_ended(void *ctx)
{
    struct fixture *f = ctx;
    int found = 0;

    poll_collector(f);
    for (size_t i = 0; i < f->snapshot->runtime_count; i++) {
        found = found || f->snapshot->runtimes[i].ended;
    }
    return found;
}
