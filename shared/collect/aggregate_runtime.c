/* SPDX-License-Identifier: MIT */
/* aggregate_runtime - processes: first facts, one sample per period, and the end. */
#include "shared/collect/aggregate_state.h"
#include "shared/base/order.h"
#include "shared/metrics/snapshot_merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ntk_aggregate_free_unwatched(struct unwatched *unwatched)
{
    if (unwatched) {
        free(unwatched->total.entries);
        free(unwatched->device.entries);
        free(unwatched);
    }
}

void ntk_aggregate_free_model(struct model_state *model)
{
    free(model->total.entries);
    free(model->device.entries);
}

void ntk_aggregate_free_runtime(struct ntk_aggregate *aggregate, struct runtime_state *runtime)
{
    if (!runtime) {
        return;
    }
    if (aggregate->context_free && runtime->process.context) {
        aggregate->context_free(runtime->process.context);
    }
    for (size_t i = 0; i < NTK_SEGMENT_CORES; i++) {
        if (runtime->cores[i]) {
            free(runtime->cores[i]->total.entries);
            free(runtime->cores[i]->device.entries);
            ntk_aggregate_free_unwatched(runtime->cores[i]->unwatched);
            free(runtime->cores[i]);
        }
    }
    ntk_vec_each(struct model_state, model, &runtime->models) {
        ntk_aggregate_free_model(model);
    }
    ntk_vec_each(struct name_state, name, &runtime->names) {
        free(name->name);
    }
    ntk_vec_fini(&runtime->models);
    ntk_vec_fini(&runtime->names);
    ntk_vec_fini(&runtime->ranks);
    free(runtime->peaks);
    free(runtime->command);
    free(runtime->user);
    free(runtime->container_id);
    free(runtime->key);
    free(runtime);
}

static struct runtime_state *find_runtime(const struct ntk_aggregate *aggregate, const char *key)
{
    return ntk_map_get(&aggregate->by_key, key);
}

bool ntk_aggregate_knows(const struct ntk_aggregate *aggregate, const char *key)
{
    return find_runtime(aggregate, key) != NULL;
}

void ntk_aggregate_runtime_forgive(struct ntk_aggregate *aggregate, const char *key, uint64_t lost)
{
    struct runtime_state *runtime = find_runtime(aggregate, key);

    if (runtime) {
        runtime->events_lost_base += lost;
    }
}

static void take_identity(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                          const struct ntk_runtime_reading *reading, struct ntk_runtime_sample *out)
{
    struct ntk_snapshot *pending = aggregate->pending;
    const struct ntk_ring_process *process = reading->process;

    runtime->process.pid = process->pid;
    out->pid = process->pid;
    out->header_pid = process->own_pid;
    out->start_time = process->start_time;
    out->uid = process->uid;
    out->software = process->flags & NTK_PROCESS_SOFTWARE_CORE;
    out->hooks = out->software                           ? NTK_HOOKS_BUILT_IN
                 : process->flags & NTK_PROCESS_ATTACHED ? NTK_HOOKS_ATTACHED
                                                         : NTK_HOOKS_PRELOADED;
    out->cores_guessed = process->flags & NTK_PROCESS_CORES_GUESSED;
    out->executions_counted =
        process->flags & NTK_PROCESS_NO_EXECUTIONS ? NTK_EXECUTIONS_NONE : NTK_EXECUTIONS_ALL;
    out->ended = reading->ended;
    out->killed = reading->ended && !process->clean_exit;
    out->lnc = process->lnc == 2 ? 2 : 1;
    out->tag = process->tag[0] ? ntk_snapshot_text(pending, process->tag)
                               : ntk_snapshot_format(pending, "%u", process->pid);
    out->error = out->cpu_error = "";
    out->pod = (struct ntk_pod){ "", "", "" };
    out->runtime_version = ntk_snapshot_text(pending, process->runtime_version);
    out->framework_version = ntk_snapshot_text(pending, process->framework_version);
    out->instance_type = ntk_snapshot_text(pending, process->instance_type);
    out->command =
        ntk_snapshot_text(pending, runtime->command ? runtime->command : process->command);
    out->container_id = ntk_snapshot_text(pending, runtime->container_id);
    out->user = runtime->user ? ntk_snapshot_text(pending, runtime->user)
                              : ntk_snapshot_format(pending, "%u", process->uid);
}

int ntk_aggregate_runtime(struct ntk_aggregate *aggregate,
                          const struct ntk_runtime_reading *reading)
{
    struct runtime_state *runtime = find_runtime(aggregate, reading->key);
    struct ntk_runtime_sample *out;
    int ret;

    if (!runtime) {
        return -ENOENT;
    }
    if (runtime->sampled) {
        return 0; /* one sample per period; an ended process gets no more samples */
    }
    ntk_aggregate_see_held(aggregate, runtime, reading);
    if (!ntk_aggregate_take_row(aggregate, runtime, reading->process) && !reading->ended) {
        runtime->waits = true; /* its baselines stay unchanged, so no count is lost */
        return 0;
    }
    out = &runtime->sample;
    memset(out, 0, sizeof *out);
    take_identity(aggregate, runtime, reading, out);
    out->first = !runtime->emitted;
    runtime->sampled = true;
    runtime->ended = reading->ended;
    ret = ntk_aggregate_take_cores(aggregate, runtime, reading, out);
    if (ret == 0) {
        ret = ntk_aggregate_take_models(aggregate, runtime, reading, out);
    }
    if (ret == 0) {
        ret = ntk_aggregate_take_ranks(aggregate, runtime, reading, out);
    }
    if (ret == 0) {
        ret = ntk_aggregate_take_memory(aggregate, runtime, reading, out);
    }
    out->events_read.total =
        ntk_aggregate_difference(reading->events_read, runtime->events_read_base);
    out->events_read.period =
        ntk_aggregate_difference(out->events_read.total, runtime->events_read);
    out->events_lost.total =
        ntk_aggregate_difference(reading->events_lost, runtime->events_lost_base);
    out->events_lost.period =
        ntk_aggregate_difference(out->events_lost.total, runtime->events_lost);
    runtime->events_read = out->events_read.total;
    runtime->events_lost = out->events_lost.total;
    for (int i = 0; i < NTK_UNWRITTEN_COUNT; i++) {
        aggregate->pending->events_unwritten[i].period +=
            ntk_aggregate_difference(reading->events_unwritten[i], runtime->events_unwritten[i]);
        runtime->events_unwritten[i] = reading->events_unwritten[i];
    }
    return ret;
}

static struct runtime_state *runtime_at(const struct ntk_aggregate *aggregate, size_t index)
{
    return *(struct runtime_state **)ntk_vec_at(&aggregate->runtimes, index);
}

size_t ntk_aggregate_process_count(const struct ntk_aggregate *aggregate)
{
    return aggregate->runtimes.count;
}

struct ntk_aggregate_process *ntk_aggregate_process_get(struct ntk_aggregate *aggregate,
                                                        size_t index)
{
    struct runtime_state *runtime = runtime_at(aggregate, index);

    runtime->process.ended = runtime->ended;
    return &runtime->process;
}

void ntk_aggregate_on_process_gone(struct ntk_aggregate *aggregate, void (*context_free)(void *))
{
    aggregate->context_free = context_free;
}

void ntk_aggregate_process_usage(struct ntk_aggregate *aggregate, size_t index, uint64_t user_ticks,
                                 uint64_t system_ticks, uint64_t rss_pages)
{
    struct runtime_state *runtime = runtime_at(aggregate, index);
    struct ntk_runtime_sample *out = &runtime->sample;
    bool had_base = runtime->has_usage_base;
    uint64_t user = ntk_aggregate_advance(user_ticks, runtime->user_base);
    uint64_t system = ntk_aggregate_advance(system_ticks, runtime->system_base);

    runtime->has_usage_base = true;
    runtime->user_base = user_ticks;
    runtime->system_base = system_ticks;
    if (!runtime->sampled) {
        return;
    }
    out->has |= NTK_RUNTIME_HAS_RSS;
    out->rss_bytes = rss_pages * aggregate->options.page_bytes;
    if (had_base) { /* otherwise the usage of this period is unknown, not zero */
        /* Stored in ticks for now; finish() knows the length of the period. */
        out->has |= NTK_RUNTIME_HAS_CPU;
        out->vcpu_user = (double)user;
        out->vcpu_system = (double)system;
    }
}

void ntk_aggregate_forget_usage(struct ntk_aggregate *aggregate)
{
    ntk_vec_each(struct runtime_state *, runtime, &aggregate->runtimes) {
        (*runtime)->has_usage_base = false;
    }
}

void ntk_aggregate_process_no_usage(struct ntk_aggregate *aggregate, size_t index,
                                    const char *error)
{
    struct runtime_state *runtime = runtime_at(aggregate, index);

    if (runtime->sampled) {
        runtime->sample.cpu_error = ntk_snapshot_text(aggregate->pending, error);
    }
}

void ntk_aggregate_process_exited(struct ntk_aggregate *aggregate, size_t index,
                                  struct ntk_exit how)
{
    runtime_at(aggregate, index)->sample.exit = how;
}

void ntk_aggregate_process_describe(struct ntk_aggregate *aggregate, size_t index,
                                    const char *command, const char *user, const char *container_id)
{
    struct runtime_state *runtime = runtime_at(aggregate, index);

    runtime->process.described = true;
    if (command) {
        ntk_aggregate_replace_text(&runtime->command, command);
    }
    if (user) {
        ntk_aggregate_replace_text(&runtime->user, user);
        if (runtime->sampled) { /* may be the only sample of an exited process */
            runtime->sample.user = ntk_snapshot_text(aggregate->pending, user);
        }
    }
    if (container_id) {
        ntk_aggregate_replace_text(&runtime->container_id, container_id);
    }
}

NTK_ORDER(compare_runtimes, struct ntk_runtime_sample, NTK_UP(start_time) NTK_UP(pid));

/* Adds one entry for a process that closed and reinitialized; the entry is alive if the process
 * is. */
static size_t add_runtime(struct ntk_snapshot *snapshot, size_t count,
                          const struct ntk_runtime_sample *sample)
{
    struct ntk_runtime_sample *runtimes = snapshot->runtimes;

    for (size_t i = 0; i < count; i++) {
        if (ntk_runtime_is_same(&runtimes[i], sample) && (runtimes[i].ended || sample->ended)) {
            struct ntk_runtime_sample older = sample->ended ? *sample : runtimes[i];
            struct ntk_runtime_sample newer = sample->ended ? runtimes[i] : *sample;

            if (sample->ended && runtimes[i].ended) { /* in the order in which they ended */
                older = runtimes[i];
                newer = *sample;
            }
            ntk_snapshot_merge_runtime(snapshot, &runtimes[i], &older, &newer);
            return count;
        }
    }
    runtimes[count] = *sample;
    return count + 1;
}

void ntk_aggregate_build_runtimes(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    size_t cpus = aggregate->system_cpus.count > 0 ? aggregate->system_cpus.count : 1;
    double period_ticks = (double)snapshot->period_ns * aggregate->options.ticks_per_second / 1e9;
    size_t count = 0;
    size_t at = 0;

    ntk_vec_each(struct runtime_state *, runtime, &aggregate->runtimes) {
        count += (*runtime)->sampled;
    }
    ntk_snapshot_alloc_runtimes(snapshot, count);
    ntk_vec_each(struct runtime_state *, runtime, &aggregate->runtimes) {
        struct ntk_runtime_sample *sample = &(*runtime)->sample;

        if (!(*runtime)->sampled || at >= snapshot->runtime_count) {
            continue;
        }
        (*runtime)->emitted = true;
        ntk_aggregate_tell_runtime(aggregate, *runtime);
        for (size_t i = 0; i < sample->core_count; i++) {
            struct core_state *state = (*runtime)->cores[sample->cores[i].core];
            uint64_t window_ns = state ? state->window_ns : 0;
            const struct ntk_core_sample *unwatched = sample->cores[i].unwatched;
            uint64_t unwatched_ns = unwatched ? unwatched->busy_ns.period : 0;

            sample->cores[i].utilization =
                ntk_aggregate_share(sample->cores[i].busy_ns.period - unwatched_ns,
                                    window_ns > 0 ? window_ns : snapshot->period_ns);
        }
        if (sample->has & NTK_RUNTIME_HAS_CPU) {
            double whole = period_ticks * (double)cpus;

            sample->vcpu_user = whole > 0 ? sample->vcpu_user / whole : 0;
            sample->vcpu_system = whole > 0 ? sample->vcpu_system / whole : 0;
        }
        for (size_t k = 0; k < NTK_OUTCOME_COUNT; k++) {
            snapshot->outcome[k].period += sample->outcome[k].period;
        }
        for (size_t k = 0; k < NTK_ERROR_CLASS_COUNT; k++) {
            snapshot->error_class[k].period += sample->error_class[k].period;
        }
        snapshot->events_read.period += sample->events_read.period;
        snapshot->events_lost.period += sample->events_lost.period;
        at = (*runtime)->has_row ? add_runtime(snapshot, at, sample)
                                 : ntk_aggregate_share_row(aggregate, snapshot, at, sample);
    }
    snapshot->runtime_count = at < snapshot->runtime_count ? at : snapshot->runtime_count;
    if (at > 0) {
        qsort(snapshot->runtimes, at, sizeof *snapshot->runtimes, compare_runtimes);
    }
    for (size_t k = 0; k < NTK_OUTCOME_COUNT; k++) {
        aggregate->outcome_total[k] += snapshot->outcome[k].period;
        snapshot->outcome[k].total = aggregate->outcome_total[k];
    }
    for (size_t k = 0; k < NTK_ERROR_CLASS_COUNT; k++) {
        aggregate->error_total[k] += snapshot->error_class[k].period;
        snapshot->error_class[k].total = aggregate->error_total[k];
    }
    aggregate->events_read_total += snapshot->events_read.period;
    aggregate->events_lost_total += snapshot->events_lost.period;
    snapshot->events_read.total = aggregate->events_read_total;
    snapshot->events_lost.total = aggregate->events_lost_total;
    for (int i = 0; i < NTK_UNWRITTEN_COUNT; i++) {
        aggregate->events_unwritten_total[i] += snapshot->events_unwritten[i].period;
        snapshot->events_unwritten[i].total = aggregate->events_unwritten_total[i];
    }
}
