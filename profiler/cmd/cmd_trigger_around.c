/* SPDX-License-Identifier: MIT */
#include "profiler/cmd/cmd_trigger_around.h"

#include <stdio.h>
#include <stdlib.h>

#include "profiler/cmd/cmd.h"
#include "profiler/output/hostwork_answer.h"
#include "profiler/system/live_host.h"
#include "profiler/system/live_trace.h"
#include "shared/hostwork/observe.h"

#define BEFORE_EVENTS 200000U /* maximum per core, from the events that the rings still have */
#define POLL_NS NTK_NS_PER_SECOND
#define EXPECTED_NS (10 * NTK_NS_PER_SECOND)

struct watched {
    uint32_t pid;
    struct ntk_host_observation *observation;
};

struct ntk_trigger_around {
    struct ntk_ring_registry *registry;
    uint64_t polled_ns;
    size_t count;
    /* all have stopped; done before the first answer, because naming functions takes time */
    bool has_stopped;
    struct watched of[];
};

/* Starts to observe a process; returns 0, or 1 with the message printed. */
static int watch(struct ntk_trigger_around *around, const struct ntk_trigger_target *target)
{
    struct watched *watched = &around->of[around->count];
    struct ntk_host_observe_options observe = { .segment = ntk_live_trace_segment(
                                                    around->registry, target->pid, &target->uid),
                                                .method = NTK_HOST_WANT_BEST,
                                                .duration_ns = EXPECTED_NS };
    struct ntk_err err = { 0 };

    if (!observe.segment) {
        return 0; /* the process has ended, as its target shows */
    }
    if (ntk_host_observation_begin(&observe, &watched->observation, &err) < 0) {
        return ntk_profile_fail(&err);
    }
    watched->pid = target->pid;
    around->count++;
    return 0;
}

struct ntk_trigger_around *ntk_trigger_around_begin(const struct ntk_trigger_target *targets,
                                                    size_t count, bool watches, int *out_code)
{
    struct ntk_trigger_around *around = calloc(1, sizeof *around + count * sizeof *around->of);
    struct ntk_err err = { 0 };

    if (!around || !watches) {
        return around;
    }
    if (ntk_ring_registry_open(&(struct ntk_ring_options){ .from = NTK_RING_FROM_NOW },
                               &around->registry, &err) < 0 ||
        ntk_ring_registry_poll(around->registry, NULL, &err) < 0) {
        *out_code = ntk_profile_fail(&err);
        return around;
    }
    around->polled_ns = ntk_clock_monotonic_ns();
    for (size_t i = 0; i < count; i++) {
        *out_code |= watch(around, &targets[i]);
    }
    return around;
}

void ntk_trigger_around_poll(struct ntk_trigger_around *around)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < around->count; i++) {
        (void)ntk_host_observation_poll(around->of[i].observation);
    }
    if (around->count > 0 && now_ns - around->polled_ns >= POLL_NS) {
        around->polled_ns = now_ns;
        (void)ntk_ring_registry_poll(around->registry, NULL, &err);
    }
}

/* Adds the observed activity, unless out of memory. Returns false if it is unknown. */
static bool watched_answer(struct ntk_trigger_around *around,
                           const struct ntk_trigger_target *target,
                           struct ntk_hostwork_answer *out_answer)
{
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < around->count && !around->has_stopped; i++) {
        ntk_host_observation_stop(around->of[i].observation);
    }
    around->has_stopped = true;
    for (size_t i = 0; i < around->count; i++) {
        struct watched *watched = &around->of[i];
        if (watched->pid != target->pid) {
            continue;
        }
        if (ntk_host_observation_end(watched->observation, &err) < 0) {
            (void)ntk_profile_fail(&err);
            return false;
        }
        *out_answer = (struct ntk_hostwork_answer){
            .pid = target->pid,
            .command = target->command,
            .reason = ntk_host_observation_reason(watched->observation),
            .records = ntk_host_observation_records(watched->observation),
            .result = ntk_host_observation_result(watched->observation),
        };
        return true;
    }
    return false;
}

char *ntk_trigger_around_save(struct ntk_trigger_around *around,
                              const struct ntk_trigger_target *target, const char *folder,
                              struct ntk_err *err)
{
    const struct ntk_live_trace_options live = { .pid = target->pid,
                                                 .has_owner = true,
                                                 .owner = target->uid,
                                                 .events_per_core = BEFORE_EVENTS,
                                                 .folder = folder,
                                                 .from_oldest = true };
    struct ntk_live_trace_result result = { 0 };
    struct ntk_hostwork_answer answer;
    struct ntk_live_trace *trace = NULL;
    bool is_watched = watched_answer(around, target, &answer);
    int ret = ntk_live_trace_begin(&live, &trace, err);

    if (ret == 0) {
        const struct ntk_live_host host = { answer.records, answer.result };
        ret = ntk_live_trace_end(trace, is_watched ? &host : NULL, &result, err);
    }
    ntk_live_trace_destroy(trace);
    if (ret >= 0 && is_watched) {
        (void)ntk_profile_hostwork_write(&answer, result.folder);
    }
    return ret < 0 ? NULL : result.folder;
}

void ntk_trigger_around_destroy(struct ntk_trigger_around *around)
{
    for (size_t i = 0; around && i < around->count; i++) {
        ntk_host_observation_destroy(around->of[i].observation);
    }
    ntk_ring_registry_close(around ? around->registry : NULL);
    free(around);
}
