/* SPDX-License-Identifier: MIT */
/* aggregate_users - limits how much of a snapshot one user may fill, so that other users have
 * room. */
#include "shared/collect/aggregate_state.h"
#include "shared/metrics/snapshot_merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define KEY_BYTES 64

/* The state of a user, created at the first request; NULL if out of memory. */
static struct user_state *user_of(struct ntk_aggregate *aggregate, uint32_t uid)
{
    struct user_state *user = ntk_map_get_number(&aggregate->users, uid);

    if (!user) {
        user = calloc(1, sizeof *user);
        if (user && ntk_map_put_number(&aggregate->users, uid, user) < 0) {
            free(user);
            return NULL;
        }
        if (user) {
            user->uid = uid;
            user->rows = NTK_AGGREGATE_ROWS_OF_USER;
        }
    }
    return user;
}

void ntk_aggregate_free_users(struct ntk_aggregate *aggregate)
{
    ntk_map_each(user, &aggregate->users) {
        free(user->value);
    }
    ntk_map_fini(&aggregate->users);
    ntk_map_fini(&aggregate->rowless);
    ntk_map_fini(&aggregate->events_taken);
}

/* ---- rows ---- */

/* A process's key, in the same form as in its events. */
static const char *process_key(char key[KEY_BYTES], uint32_t uid, uint32_t pid, uint64_t start_time)
{
    (void)snprintf(key, KEY_BYTES, "%" PRIu32 "-%" PRIu32 "-%" PRIu64, uid, pid, start_time);
    return key;
}

bool ntk_aggregate_take_row(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                            const struct ntk_ring_process *process)
{
    char key[KEY_BYTES];
    struct user_state *user;

    if (runtime->has_row) {
        return true;
    }
    user = user_of(aggregate, process->uid);
    if (!user || user->rows >= 1) {
        if (user) {
            user->rows--;
        }
        runtime->has_row = true;
        return true;
    }
    user->is_over = true;
    /* If out of memory, its events are listed. */
    (void)ntk_map_put(&aggregate->rowless,
                      process_key(key, process->uid, process->own_pid, process->start_time),
                      runtime);
    return false;
}

/* The totals of a row for many processes are the sums over all of them. Both rows have their cores
 * in order. */
static void join_totals(struct ntk_runtime_sample *row, struct ntk_runtime_sample *one)
{
    uint64_t began_ns = row->core_count > 0 ? row->cores[0].began_ns : 0;
    size_t at = 0;

    for (size_t i = 0; i < one->core_count; i++) {
        struct ntk_core_sample *core = &one->cores[i];

        while (at < row->core_count && row->cores[at].core < core->core) {
            at++;
        }
        for (size_t k = 0;
             at < row->core_count && row->cores[at].core == core->core && k < NTK_CORE_COUNTS;
             k++) {
            row->cores[at].counts[k].total += core->counts[k].total;
        }
        core->began_ns = row->core_count > 0 ? began_ns : core->began_ns;
    }
}

size_t ntk_aggregate_share_row(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot,
                               size_t count, const struct ntk_runtime_sample *sample)
{
    struct user_state *user = user_of(aggregate, sample->uid);
    struct ntk_runtime_sample counts = *sample;

    counts.model_count = 0; /* the models of thousands of processes would fill the memory */
    if (user && user->shared_row != 0) {
        struct ntk_runtime_sample *row = &snapshot->runtimes[user->shared_row - 1];

        join_totals(row, &counts);
        ntk_snapshot_merge_runtime(snapshot, row, &counts, row);
        return count;
    }
    counts.tag = ntk_snapshot_format(snapshot, "others of %" PRIu32, sample->uid);
    snapshot->runtimes[count++] = counts;
    if (user) {
        user->shared_row = count;
    }
    return count;
}

/* ---- events ---- */

/* Events that a user may take in a period, as a multiple of events_max; a limit keeps the choice
 * among them cheap. */
#define LISTS_OF_USER 4

/* Returns true if the process still has room in its share of events. */
static bool may_take(struct ntk_aggregate *aggregate, struct ntk_process_key key, bool is_error)
{
    /* Processes with the same hash share a quota. */
    uint64_t number =
        (key.start_time << 32 ^ (uint64_t)key.uid << 23 ^ key.header_pid) * 2 + is_error;
    size_t taken = (size_t)(uintptr_t)ntk_map_get_number(&aggregate->events_taken, number);

    return taken < aggregate->options.events_max &&
           ntk_map_put_number(&aggregate->events_taken, number, (void *)(uintptr_t)(taken + 1)) >=
               0;
}

void ntk_aggregate_keep_events(struct ntk_aggregate *aggregate)
{
    struct ntk_vec *events = &aggregate->events;
    size_t count = events->count;

    events->count = ntk_snapshot_keep_events(events->items, count, aggregate->options.events_max);
    aggregate->events_generation += events->count < count;
    aggregate->events_unlisted += count - events->count;
}

static struct ntk_event_sample empty_event(struct ntk_process_key key)
{
    return (struct ntk_event_sample){ .header_pid = key.header_pid,
                                      .uid = key.uid,
                                      .start_time = key.start_time,
                                      .name = "",
                                      .core = NTK_NO_CORE,
                                      .error_class = NTK_ERROR_CLASS_NONE };
}

struct ntk_event_sample *ntk_aggregate_event(struct ntk_aggregate *aggregate,
                                             struct ntk_process_key key, bool is_error)
{
    struct user_state *user = user_of(aggregate, key.uid);
    size_t most = aggregate->options.events_max;
    struct ntk_event_sample *event = NULL;

    if (user && user->events < LISTS_OF_USER * most && may_take(aggregate, key, is_error)) {
        if (aggregate->events.count >= 2 * most) {
            ntk_aggregate_keep_events(aggregate);
        }
        event = ntk_vec_add(&aggregate->events);
    }
    if (!event) {
        aggregate->events_unlisted++;
        return NULL;
    }
    user->events++;
    *event = empty_event(key);
    return event;
}

uint64_t ntk_aggregate_event_number(const struct ntk_aggregate *aggregate,
                                    const struct ntk_event_sample *event)
{
    const struct ntk_event_sample *events = aggregate->events.items;

    return (uint64_t)aggregate->events_generation << 32 | (uint32_t)(event - events);
}

struct ntk_event_sample *ntk_aggregate_event_again(struct ntk_aggregate *aggregate,
                                                   struct ntk_process_key key, uint64_t number)
{
    struct ntk_event_sample *event = NULL;

    if (number >> 32 == aggregate->events_generation &&
        (uint32_t)number < aggregate->events.count) {
        event = ntk_vec_at(&aggregate->events, (uint32_t)number);
        *event = empty_event(key);
        aggregate->events_unlisted++;
    }
    return event;
}

/* Removes events of processes without a row: no event may name them. */
void ntk_aggregate_drop_rowless_events(struct ntk_aggregate *aggregate)
{
    const struct ntk_event_sample *events = aggregate->events.items;
    char key[KEY_BYTES];
    size_t kept = 0;

    for (size_t i = 0; i < aggregate->events.count && aggregate->rowless.count > 0; i++) {
        const struct ntk_event_sample *event = &events[i];

        if (ntk_map_get(&aggregate->rowless,
                        process_key(key, event->uid, event->header_pid, event->start_time))) {
            aggregate->events_unlisted++;
        } else {
            *(struct ntk_event_sample *)ntk_vec_at(&aggregate->events, kept++) = *event;
        }
    }
    if (aggregate->rowless.count > 0) {
        aggregate->events.count = kept;
    }
}

/* ---- the end of the period ---- */

void ntk_aggregate_finish_users(struct ntk_aggregate *aggregate, uint64_t period_ns)
{
    aggregate->note[0] = '\0';
    for (size_t i = aggregate->users.count; i-- > 0;) {
        struct user_state *user = aggregate->users.entries[i].value;

        if (user->is_over) {
            (void)snprintf(aggregate->note, sizeof aggregate->note,
                           "user %" PRIu32 " starts more processes than can be listed: the rest "
                           "are counted as \"others of %" PRIu32 "\"",
                           user->uid, user->uid);
        }
        user->is_over = false;
        user->shared_row = 0;
        user->events = 0;
        user->rows += (double)period_ns / (double)NTK_NS_PER_SECOND;
        if (user->rows >= NTK_AGGREGATE_ROWS_OF_USER) {
            ntk_map_remove_number(&aggregate->users, user->uid);
            free(user);
        }
    }
    ntk_map_fini(&aggregate->rowless);
    ntk_map_fini(&aggregate->events_taken);
}
