/* SPDX-License-Identifier: MIT */
/* aggregate_users - how much of the snapshots one user may fill, so that nobody takes the room of others. */
#include "shared/collect/aggregate_state.h"
#include "shared/metrics/snapshot_merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define KEY_BYTES 64

/* Made when first asked for; NULL without memory. */
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
    ntk_vec_fini(&aggregate->event_owners);
}

/* ---- rows ---- */

/* Of a process as its events name it. */
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
    /* Without memory for it its events are listed. */
    (void)ntk_map_put(&aggregate->rowless,
                      process_key(key, process->uid, process->own_pid, process->start_time),
                      runtime);
    return false;
}

size_t ntk_aggregate_share_row(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot,
                               size_t count, const struct ntk_runtime_sample *sample)
{
    struct user_state *user = user_of(aggregate, sample->uid);
    struct ntk_runtime_sample counts = *sample;

    counts.model_count = 0; /* of thousands of processes they would fill the memory */
    if (user && user->shared_row != 0) {
        struct ntk_runtime_sample *row = &snapshot->runtimes[user->shared_row - 1];

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

static struct event_owner *owner_at(struct ntk_aggregate *aggregate, size_t index)
{
    return ntk_vec_at(&aggregate->event_owners, index);
}

/* The last event of the user with the most of them, if that leaves it as many as this user then has; else none. */
static struct ntk_event_sample *take_from_greediest(struct ntk_aggregate *aggregate,
                                                    struct user_state *user, size_t *out_index)
{
    struct user_state *greediest = user;

    if (aggregate->events_of_greediest != 0 && user->events + 1 >= aggregate->events_of_greediest) {
        return NULL;
    }
    ntk_map_each(entry, &aggregate->users) {
        struct user_state *other = entry->value;

        greediest = other->events > greediest->events ? other : greediest;
    }
    /* It only falls until the period ends: whoever gets an event then has fewer. */
    aggregate->events_of_greediest = greediest->events;
    if (user->events + 1 >= greediest->events) {
        return NULL;
    }
    *out_index = greediest->last_event - 1;
    greediest->last_event = owner_at(aggregate, *out_index)->previous;
    greediest->events--;
    return ntk_vec_at(&aggregate->events, *out_index);
}

struct ntk_event_sample *ntk_aggregate_event(struct ntk_aggregate *aggregate, uint32_t uid)
{
    struct user_state *user = user_of(aggregate, uid);
    struct ntk_event_sample *event = NULL;
    struct event_owner *owner = NULL;
    size_t index = aggregate->events.count;

    if (user && index < aggregate->options.events_max) {
        owner = ntk_vec_add(&aggregate->event_owners);
        event = owner ? ntk_vec_add(&aggregate->events) : NULL;
        if (owner && !event) {
            ntk_vec_remove(&aggregate->event_owners, index);
        }
    } else if (user) {
        event = take_from_greediest(aggregate, user, &index);
        owner = event ? owner_at(aggregate, index) : NULL;
        aggregate->events_unlisted += event != NULL;
    }
    if (!event) {
        aggregate->events_unlisted++;
        return NULL;
    }
    *owner = (struct event_owner){ .uid = uid, .previous = user->last_event };
    user->last_event = index + 1;
    user->events++;
    *event = (struct ntk_event_sample){ .name = "",
                                        .core = NTK_NO_CORE,
                                        .error_class = NTK_ERROR_CLASS_NONE };
    return event;
}

/* Who has no row is named by no event either. */
void ntk_aggregate_drop_rowless_events(struct ntk_aggregate *aggregate)
{
    const struct ntk_event_sample *events = aggregate->events.items;
    char key[KEY_BYTES];
    size_t kept = 0;

    for (size_t i = 0; i < aggregate->events.count && aggregate->rowless.count > 0; i++) {
        const struct ntk_event_sample *event = &events[i];

        if (ntk_map_get(&aggregate->rowless, process_key(key, owner_at(aggregate, i)->uid,
                                                         event->header_pid, event->start_time))) {
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
                           "user %" PRIu32 " begins more processes than are listed one by one: "
                           "the rest is counted as \"others of %" PRIu32 "\"",
                           user->uid, user->uid);
        }
        user->is_over = false;
        user->shared_row = 0;
        user->events = 0;
        user->last_event = 0;
        user->rows += (double)period_ns / (double)NTK_NS_PER_SECOND;
        if (user->rows >= NTK_AGGREGATE_ROWS_OF_USER) {
            ntk_map_remove_number(&aggregate->users, user->uid);
            free(user);
        }
    }
    aggregate->events_of_greediest = 0;
    ntk_map_fini(&aggregate->rowless);
    ntk_vec_clear(&aggregate->event_owners);
}
