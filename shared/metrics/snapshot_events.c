/* SPDX-License-Identifier: MIT */
/* snapshot_events - which events stay where there is no room for all of them. */
#include "shared/metrics/snapshot.h"

bool ntk_snapshot_event_is_memory(const struct ntk_event_sample *event)
{
    return event->kind == NTK_EVENT_MEM_ALLOC || event->kind == NTK_EVENT_MEM_FREE;
}

struct ntk_event_room ntk_snapshot_event_room(const struct ntk_event_sample *events, size_t count,
                                              size_t room)
{
    size_t memory = 0;
    struct ntk_event_room out;

    for (size_t i = 0; i < count; i++) {
        memory += ntk_snapshot_event_is_memory(&events[i]);
    }
    out.other = count - memory < room ? count - memory : room;
    out.memory = room - out.other;
    return out;
}

bool ntk_snapshot_event_take(struct ntk_event_room *room, const struct ntk_event_sample *event)
{
    size_t *left = ntk_snapshot_event_is_memory(event) ? &room->memory : &room->other;

    if (*left == 0) {
        return false;
    }
    --*left;
    return true;
}

/* Those of one list behind those of the other, as far as `room` has it. */
static size_t copy(struct ntk_snapshot *to, struct ntk_event_sample *into,
                   const struct ntk_event_sample *events, size_t count, struct ntk_event_room *room)
{
    size_t taken = 0;

    for (size_t i = 0; i < count; i++) {
        if (!ntk_snapshot_event_take(room, &events[i])) {
            to->events_unlisted++;
            continue;
        }
        into[taken] = events[i];
        into[taken].name = ntk_snapshot_text(to, events[i].name);
        into[taken].tag = events[i].tag ? ntk_snapshot_text(to, events[i].tag) : NULL;
        taken++;
    }
    return taken;
}

void ntk_snapshot_join_events(struct ntk_snapshot *to, const struct ntk_event_sample *older,
                              size_t older_count, const struct ntk_event_sample *newer,
                              size_t newer_count)
{
    struct ntk_event_room first =
        ntk_snapshot_event_room(older, older_count, NTK_SNAPSHOT_JOINED_EVENTS_MAX);
    struct ntk_event_room second =
        ntk_snapshot_event_room(newer, newer_count, NTK_SNAPSHOT_JOINED_EVENTS_MAX);
    struct ntk_event_room both = { first.other + second.other, 0 };
    struct ntk_event_sample *events = older_count + newer_count > 0
                                          ? ntk_snapshot_alloc_events(to, older_count + newer_count)
                                          : NULL;
    size_t count;

    to->event_count = 0;
    if (!events) {
        to->events = NULL;
        to->events_unlisted += older_count + newer_count;
        return;
    }
    both.other =
        both.other < NTK_SNAPSHOT_JOINED_EVENTS_MAX ? both.other : NTK_SNAPSHOT_JOINED_EVENTS_MAX;
    both.memory = NTK_SNAPSHOT_JOINED_EVENTS_MAX - both.other;
    count = copy(to, events, older, older_count, &both);
    count += copy(to, events + count, newer, newer_count, &both);
    to->event_count = count;
}
