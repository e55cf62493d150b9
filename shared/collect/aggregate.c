/* SPDX-License-Identifier: MIT */
#include "shared/collect/aggregate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/map.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"
#include "shared/collect/aggregate_state.h"
#include "shared/metrics/spans.h"

int ntk_aggregate_replace_text(char **to, const char *from)
{
    char *copy = strdup(from);

    if (!copy) {
        return -ENOMEM;
    }
    free(*to);
    *to = copy;
    return 0;
}

/* ---- life ---- */

int ntk_aggregate_create(const struct ntk_aggregate_options *options, struct ntk_aggregate **out)
{
    struct ntk_aggregate *aggregate = calloc(1, sizeof *aggregate);

    if (!aggregate) {
        return -ENOMEM;
    }
    aggregate->pending = ntk_snapshot_create();
    aggregate->health = ntk_health_create();
    if (!aggregate->pending || !aggregate->health) {
        ntk_snapshot_destroy(aggregate->pending);
        ntk_health_destroy(aggregate->health);
        free(aggregate);
        return -ENOMEM;
    }
    aggregate->options = *options;
    if (aggregate->options.events_max == 0) {
        aggregate->options.events_max = NTK_COLLECT_EVENTS_MAX;
    }
    aggregate->last_monotonic_ns = options->begin_monotonic_ns;
    ntk_vec_init(&aggregate->runtimes, sizeof(struct runtime_state *));
    ntk_vec_init(&aggregate->events, sizeof(struct ntk_event_sample));
    ntk_vec_init(&aggregate->spans, sizeof(struct ntk_span));
    ntk_vec_init(&aggregate->lost_ranks, sizeof(struct lost_rank_state));
    ntk_vec_init(&aggregate->system_cpus, sizeof(struct ntk_cpu_reading));
    ntk_vec_init(&aggregate->system_base, sizeof(struct ntk_cpu_reading));
    *out = aggregate;
    return 0;
}

void ntk_aggregate_set_now(struct ntk_aggregate *aggregate, struct ntk_health_time now)
{
    aggregate->moment = now;
}

struct ntk_health_time ntk_aggregate_now(const struct ntk_aggregate *aggregate)
{
    return aggregate->moment;
}

void ntk_aggregate_start_period(struct ntk_aggregate *aggregate, uint64_t monotonic_ns)
{
    aggregate->last_monotonic_ns = monotonic_ns;
}

void ntk_aggregate_destroy(struct ntk_aggregate *aggregate)
{
    if (!aggregate) {
        return;
    }
    ntk_vec_each(struct runtime_state *, runtime, &aggregate->runtimes) {
        ntk_aggregate_free_runtime(aggregate, *runtime);
    }
    ntk_map_each(entry, &aggregate->tags) {
        struct tag_state *tag = entry->value;

        free(tag->tag);
        free(tag);
    }
    ntk_map_fini(&aggregate->tags);
    ntk_map_fini(&aggregate->by_key);
    ntk_aggregate_free_users(aggregate);
    ntk_health_destroy(aggregate->health);
    ntk_vec_fini(&aggregate->runtimes);
    ntk_vec_fini(&aggregate->events);
    ntk_vec_fini(&aggregate->spans);
    ntk_map_fini(&aggregate->spans_taken);
    ntk_aggregate_free_lost_ranks(aggregate);
    ntk_vec_fini(&aggregate->system_cpus);
    ntk_vec_fini(&aggregate->system_base);
    ntk_snapshot_destroy(aggregate->pending);
    free(aggregate->boot_id);
    free(aggregate->host_name);
    free(aggregate);
}

void ntk_aggregate_set_host(struct ntk_aggregate *aggregate, const char *boot_id,
                            const char *host_name)
{
    ntk_aggregate_replace_text(&aggregate->boot_id, boot_id);
    ntk_aggregate_replace_text(&aggregate->host_name, host_name);
}

/* ---- events ---- */

void ntk_aggregate_set_lists_events(struct ntk_aggregate *aggregate, bool lists_events)
{
    aggregate->lists_events = lists_events;
}

void ntk_aggregate_set_reads_latency(struct ntk_aggregate *aggregate, bool reads_latency,
                                     bool reads_model_latency)
{
    aggregate->no_latency = !reads_latency;
    aggregate->no_model_latency = !reads_model_latency;
}

const char *ntk_aggregate_event_text(struct ntk_aggregate *aggregate, const char *text)
{
    return ntk_snapshot_text(aggregate->pending, text);
}

NTK_ORDER(compare_events, struct ntk_event_sample, NTK_UP(realtime_ns));

static void build_events(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    struct ntk_event_sample *events;

    ntk_aggregate_drop_rowless_events(aggregate);
    ntk_aggregate_keep_events(aggregate);
    events = ntk_snapshot_alloc_events(snapshot, aggregate->events.count);
    if (events) {
        memcpy(events, aggregate->events.items, aggregate->events.count * sizeof *events);
        qsort(events, snapshot->event_count, sizeof *events, compare_events);
    }
    snapshot->lists_events = aggregate->lists_events;
    snapshot->events_unlisted = aggregate->events_unlisted;
    aggregate->events_unlisted = 0;
    ntk_vec_clear(&aggregate->events);
    aggregate->events_generation++;
}

/* ---- the end of the period ---- */

#define TAG_KEY_BYTES (NTK_TAG_BYTES + 64)

/* The key includes the user, because the same tag of two users counts as two. */
static void make_tag_key(const struct ntk_runtime_sample *runtime, char key[TAG_KEY_BYTES])
{
    (void)snprintf(key, TAG_KEY_BYTES, "%u %s", runtime->uid, runtime->tag);
}

static void remove_tag(struct ntk_aggregate *aggregate, struct tag_state *tag)
{
    ntk_map_remove(&aggregate->tags, tag->tag);
    free(tag->tag);
    free(tag);
}

static struct tag_state *tag_state(struct ntk_aggregate *aggregate,
                                   const struct ntk_runtime_sample *runtime)
{
    char text[TAG_KEY_BYTES];

    make_tag_key(runtime, text);
    struct tag_state *tag = ntk_map_get(&aggregate->tags, text);

    if (tag) {
        return tag;
    }
    if (aggregate->tags.count >= NTK_AGGREGATE_TAGS_MAX) {
        struct tag_state *oldest = NULL;

        ntk_map_each(entry, &aggregate->tags) {
            struct tag_state *candidate = entry->value;

            if (!oldest || candidate->used < oldest->used) {
                oldest = candidate;
            }
        }
        if (oldest) {
            remove_tag(aggregate, oldest);
        }
    }
    tag = calloc(1, sizeof *tag);
    if (!tag) {
        return NULL;
    }
    tag->tag = strdup(text);
    if (!tag->tag || ntk_map_put(&aggregate->tags, text, tag) < 0) {
        free(tag->tag);
        free(tag);
        return NULL;
    }
    return tag;
}

static void build_tags(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    snapshot->tags = ntk_snapshot_alloc(snapshot, snapshot->runtime_count, sizeof *snapshot->tags);
    if (!snapshot->tags) {
        return;
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        struct tag_state *tag = tag_state(aggregate, runtime);

        if (!tag) {
            continue;
        }
        for (size_t k = 0; k < NTK_OUTCOME_COUNT; k++) {
            tag->total.outcome[k] += runtime->outcome[k].period;
        }
        for (size_t k = 0; k < NTK_ERROR_CLASS_COUNT; k++) {
            tag->total.error_class[k] += runtime->error_class[k].period;
        }
        tag->used = snapshot->sequence;
        /* List each tag once, in the order of its first runtime. */
        if (tag->listed != snapshot->sequence) {
            tag->listed = snapshot->sequence;
            tag->place = snapshot->tag_count++;
            tag->has_ended = true;
        }
        tag->has_ended = tag->has_ended && runtime->ended;
        snapshot->tags[tag->place] = tag->total;
        snapshot->tags[tag->place].tag = runtime->tag;
    }
}

/* Forgets the count of a process without a tag, so that no later process continues that count. The
 * process may be missing in this period: its texts are then those of an earlier snapshot, which may
 * not exist any more. */
static void forget_untagged(struct ntk_aggregate *aggregate, uint32_t uid, uint32_t pid)
{
    char key[TAG_KEY_BYTES];

    (void)snprintf(key, sizeof key, "%u %u", uid, pid); /* its tag is its pid */
    struct tag_state *tag = ntk_map_get(&aggregate->tags, key);
    if (tag && tag->has_ended) {
        remove_tag(aggregate, tag);
    }
}

/* Removes processes that ended and were in this snapshot, and processes that no source sees any
 * more. */
static void forget_ended(struct ntk_aggregate *aggregate)
{
    for (size_t i = aggregate->runtimes.count; i-- > 0;) {
        struct runtime_state *runtime =
            *(struct runtime_state **)ntk_vec_at(&aggregate->runtimes, i);

        if (runtime->ended || !(runtime->sampled || runtime->waits)) {
            forget_untagged(aggregate, runtime->sample.uid, runtime->sample.pid);
            ntk_map_remove(&aggregate->by_key, runtime->key);
            ntk_vec_remove(&aggregate->runtimes, i);
            ntk_aggregate_free_runtime(aggregate, runtime);
            continue;
        }
        runtime->sampled = runtime->waits = false;
        runtime->sample.instance_type = "";
    }
}

int ntk_aggregate_finish(struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                         uint64_t realtime_ns, struct ntk_snapshot **out_snapshot)
{
    struct ntk_snapshot *snapshot = aggregate->pending;
    struct ntk_snapshot *next = ntk_snapshot_create();

    if (!next) {
        return -ENOMEM;
    }
    snapshot->sequence = ++aggregate->sequence;
    snapshot->monotonic_ns = monotonic_ns;
    snapshot->realtime_ns = realtime_ns;
    snapshot->period_ns = monotonic_ns > aggregate->last_monotonic_ns
                              ? monotonic_ns - aggregate->last_monotonic_ns
                              : 0;
    aggregate->last_monotonic_ns = monotonic_ns;
    snapshot->boot_id = ntk_snapshot_text(snapshot, aggregate->boot_id);
    snapshot->host_name = ntk_snapshot_text(snapshot, aggregate->host_name);
    ntk_aggregate_build_hardware(aggregate, snapshot);
    ntk_aggregate_settle_tree(aggregate, snapshot);
    ntk_aggregate_build_runtimes(aggregate, snapshot);
    ntk_aggregate_build_lost_ranks(aggregate, snapshot);
    ntk_aggregate_build_devices(aggregate, snapshot);
    ntk_aggregate_build_cores(aggregate, snapshot);
    ntk_aggregate_build_system(aggregate, snapshot);
    build_events(aggregate, snapshot);
    ntk_aggregate_build_spans(aggregate, snapshot);
    build_tags(aggregate, snapshot);
    forget_ended(aggregate);
    ntk_aggregate_finish_users(aggregate, snapshot->period_ns);
    aggregate->pending = next;
    if (!ntk_snapshot_ok(snapshot)) {
        ntk_snapshot_destroy(snapshot);
        return -ENOMEM;
    }
    *out_snapshot = snapshot;
    return 0;
}

const char *ntk_aggregate_note(const struct ntk_aggregate *aggregate)
{
    return aggregate->note;
}
