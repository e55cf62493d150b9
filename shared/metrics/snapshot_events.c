/* SPDX-License-Identifier: MIT */
/* snapshot_events - selects the events to keep if a period has more events than the list can
 * hold. */
#include "shared/metrics/snapshot.h"

#include <stdlib.h>

bool ntk_snapshot_event_is_memory(const struct ntk_event_sample *event)
{
    return event->kind == NTK_EVENT_MEM_ALLOC || event->kind == NTK_EVENT_MEM_FREE;
}

/* ---- selection ---- */

enum class { ERROR, OTHER, MEMORY };

struct rank {
    const struct ntk_event_sample *event; /* points into the list */
    enum class class;
    size_t turn; /* number of newer events: first of its process, then of its user */
};

static enum class class_of(const struct ntk_event_sample *event) {
    return event->kind == NTK_EVENT_ERROR        ? ERROR
           : ntk_snapshot_event_is_memory(event) ? MEMORY
                                                 : OTHER;
}

#define COMPARE(a, b)              \
    if ((a) != (b)) {              \
        return (a) < (b) ? -1 : 1; \
    }

/* Sorts the newest first; at equal times, the event later in the list. */
static int compare_by_age(const struct rank *x, const struct rank *y)
{
    COMPARE(y->event->realtime_ns, x->event->realtime_ns)
    COMPARE(y->event, x->event)
    return 0;
}

static int compare_in_processes(const void *a, const void *b)
{
    const struct rank *x = a;
    const struct rank *y = b;

    COMPARE(x->event->uid, y->event->uid)
    COMPARE(x->event->start_time, y->event->start_time)
    COMPARE(x->event->header_pid, y->event->header_pid)
    COMPARE(x->class, y->class)
    return compare_by_age(x, y);
}

static int compare_in_users(const void *a, const void *b)
{
    const struct rank *x = a;
    const struct rank *y = b;

    COMPARE(x->event->uid, y->event->uid)
    COMPARE(x->class, y->class)
    COMPARE(x->turn, y->turn)
    return compare_by_age(x, y);
}

static int compare_in_all(const void *a, const void *b)
{
    const struct rank *x = a;
    const struct rank *y = b;

    COMPARE(x->class, y->class)
    COMPARE(x->turn, y->turn)
    return compare_by_age(x, y);
}

static int compare_by_place(const void *a, const void *b)
{
    COMPARE(((const struct rank *)a)->event, ((const struct rank *)b)->event)
    return 0;
}

static bool is_of_one_process(const struct rank *a, const struct rank *b)
{
    return a->event->uid == b->event->uid && a->event->start_time == b->event->start_time &&
           a->event->header_pid == b->event->header_pid;
}

static bool is_of_one_user(const struct rank *a, const struct rank *b)
{
    return a->event->uid == b->event->uid;
}

/* Sorts the events, then numbers adjacent ones of the same group and class. */
static void take_turns(struct rank *ranks, size_t count,
                       int (*compare)(const void *a, const void *b),
                       bool (*is_of_one)(const struct rank *a, const struct rank *b))
{
    size_t turn = 0;

    qsort(ranks, count, sizeof *ranks, compare);
    for (size_t i = 0; i < count; i++) {
        bool continues =
            i > 0 && ranks[i].class == ranks[i - 1].class && is_of_one(&ranks[i], &ranks[i - 1]);
        turn = continues ? turn + 1 : 0;
        ranks[i].turn = turn;
    }
}

size_t ntk_snapshot_keep_events(struct ntk_event_sample *events, size_t count, size_t room)
{
    struct rank *ranks = count > room ? calloc(count, sizeof *ranks) : NULL;

    if (!ranks) {
        return count < room ? count : room;
    }
    for (size_t i = 0; i < count; i++) {
        ranks[i] = (struct rank){ .event = &events[i], .class = class_of(&events[i]) };
    }
    take_turns(ranks, count, compare_in_processes, is_of_one_process);
    take_turns(ranks, count, compare_in_users, is_of_one_user);
    qsort(ranks, count, sizeof *ranks, compare_in_all);
    qsort(ranks, room, sizeof *ranks, compare_by_place);
    for (size_t i = 0; i < room; i++) {
        events[i] = *ranks[i].event; /* safe, because i is not above the index of the source */
    }
    free(ranks);
    return room;
}

void ntk_snapshot_join_events(struct ntk_snapshot *to, const struct ntk_event_sample *older,
                              size_t older_count, const struct ntk_event_sample *newer,
                              size_t newer_count)
{
    size_t count = older_count + newer_count;
    struct ntk_event_sample *events = count > 0 ? ntk_snapshot_alloc_events(to, count) : NULL;

    to->event_count = 0;
    if (!events) {
        to->events = NULL;
        to->events_unlisted += count;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        events[i] = i < older_count ? older[i] : newer[i - older_count];
    }
    to->event_count = ntk_snapshot_keep_events(events, count, NTK_SNAPSHOT_JOINED_EVENTS_MAX);
    to->events_unlisted += count - to->event_count;
    for (size_t i = 0; i < to->event_count; i++) {
        events[i].name = ntk_snapshot_text(to, events[i].name);
        events[i].tag = events[i].tag ? ntk_snapshot_text(to, events[i].tag) : NULL;
    }
}
