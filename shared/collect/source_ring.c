/* SPDX-License-Identifier: MIT */
/* source_ring - passes shared/ring's readings of the segments of observed processes to the
 * aggregate. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/abi/raw_clock.h"
#include "shared/base/map.h"
#include "shared/collect/source.h"
#include "shared/collect/span_taker.h"
#include "shared/ring/ring_prefetch.h"
#include "shared/ring/ring_registry.h"

/* Interval between two checks of the folders; rings are read at every drain. */
#define LOOK_INTERVAL_NS (50 * NTK_NS_PER_MS)
#define NAME_BYTES 512
#define KEY_BYTES 32
/* Maximum number of snapshots that may wait to be stored. */
#define SNAPSHOTS_KEPT 256

/* Maximum number of records per user in one drain, so that one user's rings do not delay those of
 * others. */
#define RECORDS_OF_USER (1u << 20)

#define ERROR_GROUPS_MAX 16384

struct source_ring {
    struct ntk_ring_registry *registry;
    bool no_events;
    uint64_t begin_monotonic_ns;
    uint64_t looked_ns;
    bool looked;
    char note[NTK_ERR_TEXT_BYTES]; /* why segments are ignored or incomplete */
    bool notes_refusals;           /* the note names an incomplete segment */
    struct ntk_span_taker *spans;  /* NULL: no spans are needed */
    struct ntk_collector_unreadable unreadable;
    struct ntk_aggregate *aggregate; /* valid during a drain */
    unsigned int fullest;            /* fill level of the fullest ring in this drain, in percent */
    struct ntk_map records_taken;    /* number of records taken, by uid */
    struct ntk_map errors;           /* struct error_group by error_number() */
    uint64_t sequence;               /* sequence number of the last snapshot */
    /* number of processes that had ended by each snapshot, indexed by its sequence number */
    uint64_t ended[SNAPSHOTS_KEPT];
    char key[KEY_BYTES];
    /* Process of the current segment. */
    struct ntk_ring_process process;
    struct ntk_ring_core cores[NTK_SEGMENT_CORES];
    struct ntk_ring_model models[NTK_SEGMENT_MODELS];
    struct ntk_ring_comm comms[NTK_SEGMENT_COMMS];
    struct ntk_ring_memory memory[NTK_SEGMENT_MEMORY_ROWS];
};

/* A key that distinguishes segments, because a path may be reused. */
static const char *key_of(struct source_ring *source, const struct ntk_ring_segment *segment)
{
    char *at = source->key + sizeof source->key - 1;

    /* Written without printf, because it runs several times per period for each of hundreds of
     * segments. */
    for (uint64_t rest = ntk_ring_segment_serial(segment); rest > 0; rest /= 10) {
        *--at = (char)('0' + rest % 10);
    }
    return at;
}

/* ---- readings ---- */

static int core_histogram(void *ctx, uint16_t core, struct ntk_ring_histogram *out)
{
    return ntk_ring_segment_core_histogram(ctx, core, out);
}

static void text_of(void *ctx, uint32_t name, char *buf, size_t buf_bytes)
{
    (void)ntk_ring_segment_text(ctx, name, buf, buf_bytes);
}

static int model_histogram(void *ctx, const struct ntk_ring_model *model,
                           struct ntk_ring_histogram *out)
{
    return ntk_ring_segment_model_histogram(ctx, model, out);
}

static void add_note(struct source_ring *source, const char *text)
{
    size_t at = strlen(source->note);

    (void)snprintf(source->note + at, sizeof source->note - at, "%s%s", at > 0 ? "; " : "", text);
}

/* Adds a note if a segment ran out of room and so counts in less detail; only the first kind of
 * shortage is noted. */
static void note_refusals(struct source_ring *source, const struct ntk_ring_refusals *refusals)
{
    const struct {
        bool is_full;
        const char *what;
    } rows[] = {
        { refusals->models > 0 || refusals->memory_rows > 0,
          "more models or memory categories than its segment can list: some are merged" },
        { refusals->names > 0, "more names than its segment can hold: some objects have no name" },
        { refusals->threads > 0,
          "more threads than its segment can list: some events have no thread" },
        { refusals->histograms > 0,
          "more latencies than its segment can hold: some cores or models have none" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows && !source->notes_refusals; i++) {
        if (rows[i].is_full) {
            char text[128];

            (void)snprintf(text, sizeof text, "application %d has %s", (int)source->process.pid,
                           rows[i].what);
            add_note(source, text);
            source->notes_refusals = true;
        }
    }
}

static void read_segment(struct source_ring *source, struct ntk_ring_segment *segment,
                         bool with_memory, struct ntk_runtime_reading *out)
{
    struct ntk_ring_refusals refusals;
    uint64_t published;

    ntk_ring_segment_process(segment, &source->process);
    memset(out, 0, sizeof *out);
    out->key = key_of(source, segment);
    out->process = &source->process;
    out->ended = ntk_ring_segment_state(segment) != NTK_SEGMENT_ALIVE;
    out->cores = source->cores;
    out->core_count = ntk_ring_segment_cores(segment, source->cores, NTK_SEGMENT_CORES);
    out->models = source->models;
    out->model_count = ntk_ring_segment_models(segment, source->models, NTK_SEGMENT_MODELS);
    out->comms = source->comms;
    out->comm_count = ntk_ring_segment_comms(segment, source->comms, NTK_SEGMENT_COMMS);
    out->memory = source->memory;
    if (with_memory) {
        out->memory_count =
            ntk_ring_segment_memory(segment, source->memory, NTK_SEGMENT_MEMORY_ROWS);
    }
    out->core_histogram = core_histogram;
    out->model_histogram = model_histogram;
    out->text = text_of;
    out->ctx = segment;
    ntk_ring_segment_refusals(segment, &refusals);
    ntk_ring_segment_events(segment, &out->events_read, &out->events_lost, &published);
    note_refusals(source, &refusals);
    if (out->ended && !source->no_events && published > out->events_read) {
        out->events_lost = published - out->events_read; /* no reader will read the rest */
    }
    out->events_unwritten[NTK_UNWRITTEN_NO_RING] = refusals.events_without_ring;
    out->events_unwritten[NTK_UNWRITTEN_SIGNAL] = refusals.events_in_signals;
    out->events_lost += refusals.events_without_ring + refusals.events_in_signals;
    if (!out->ended) {
        return;
    }
    /* If the process was killed during an execution, the core was busy until the end was
     * noticed. */
    for (size_t i = 0; i < out->core_count; i++) {
        const struct ntk_segment_core *counters = &source->cores[i].counters;
        uint64_t now = ntk_raw_clock_now(source->process.clock.kind);

        if (!source->process.clean_exit && counters->in_flight > 0 && now > counters->since_ticks) {
            uint64_t running = ntk_ring_segment_ticks_to_ns(segment, now - counters->since_ticks);

            if (running < UINT64_MAX - source->cores[i].busy_ns) {
                source->cores[i].busy_ns += running;
            }
        }
    }
}

/* ---- events ---- */

/* A number shared by errors with a common quota: failed executions of a process, or one kind of
 * error of its devices. */
static uint64_t error_number(const struct source_ring *source,
                             const struct ntk_ring_segment *segment, const struct ntk_slot *slot)
{
    uint64_t number = ntk_ring_segment_serial(segment) << 16;

    if (slot->kind == NTK_EVENT_ERROR) {
        uint32_t cores_per_device = source->process.cores_per_device;
        uint32_t code = NTK_WORD_HI(slot->word[3]);

        code = code < NTK_ERROR_CODE_COUNT ? code : NTK_ERROR_CODE_COUNT;
        number |= (uint64_t)(code + 1) << 8 |
                  (slot->core / (cores_per_device > 0 ? cores_per_device : 1) & 0xff);
    }
    return number;
}

/* Errors with the same number. The newest ones of a period are listed. */
struct error_group {
    uint32_t spent; /* errors listed in earlier periods and not yet forgotten */
    uint32_t count; /* errors in this period */
    uint64_t events[NTK_COLLECT_FAILURES_MAX]; /* ring of the numbers of listed events */
};

static uint32_t room_of(const struct error_group *group)
{
    return NTK_COLLECT_FAILURES_MAX - group->spent;
}

/* The group of a record; NULL if the list is full, so that only the list's limits apply. */
static struct error_group *group_of(struct source_ring *source, uint64_t number)
{
    struct error_group *group = ntk_map_get_number(&source->errors, number);

    if (!group && source->errors.count < ERROR_GROUPS_MAX) {
        group = calloc(1, sizeof *group);
        if (group && ntk_map_put_number(&source->errors, number, group) < 0) {
            free(group);
            return NULL;
        }
    }
    return group;
}

/* At the end of a period, forgets one error of each number, so that the next period has room. */
static void forget_errors(struct source_ring *source)
{
    for (size_t i = source->errors.count; i-- > 0;) {
        struct ntk_map_entry *entry = &source->errors.entries[i];
        struct error_group *group = entry->value;

        group->spent += group->count < room_of(group) ? group->count : room_of(group);
        group->count = 0;
        if (group->spent-- <= 1) {
            ntk_map_remove_number(&source->errors, entry->number);
            free(group);
        }
    }
}

static bool is_listed(const struct ntk_slot *slot)
{
    return (slot->kind >= NTK_EVENT_MEM_ALLOC && slot->kind <= NTK_EVENT_MODEL_STOP) ||
           (slot->kind == NTK_EVENT_EXEC && NTK_EXEC_OUTCOME(slot->flags) != NTK_OUTCOME_COMPLETED);
}

static void fill_event(const struct ntk_ring_segment *segment, const struct ntk_slot *slot,
                       struct source_ring *source, struct ntk_event_sample *out)
{
    struct ntk_ring_thread thread;
    char name[NAME_BYTES];
    uint32_t name_id = 0;

    out->kind = slot->kind;
    out->flags = slot->flags;
    out->core = slot->core;
    out->pid = source->process.pid;
    ntk_ring_segment_thread(segment, slot, &thread);
    out->tid = thread.tid;
    out->model_id = slot->kind == NTK_EVENT_MARK ? 0 : NTK_WORD_LO(slot->word[1]);
    switch (slot->kind) {
    case NTK_EVENT_MEM_ALLOC:
    case NTK_EVENT_MEM_FREE:
        name_id = NTK_WORD_HI(slot->word[1]);
        out->address = slot->word[2];
        out->bytes = slot->word[3];
        out->category = (uint16_t)NTK_WORD_LO(slot->word[4]);
        if (out->category >= NTK_MEMORY_CATEGORY_COUNT) {
            out->category = NTK_MEMORY_UNCATEGORIZED;
        }
        out->location = (uint16_t)ntk_memory_location_of((enum ntk_memory_category)out->category);
        break;
    case NTK_EVENT_MODEL_LOAD:
        out->status = NTK_WORD_HI(slot->word[1]);
        out->bytes = slot->word[2];
        name_id = NTK_WORD_LO(slot->word[3]);
        break;
    case NTK_EVENT_MODEL_UNLOAD:
    case NTK_EVENT_MODEL_START:
    case NTK_EVENT_MODEL_STOP:
        out->status = NTK_WORD_HI(slot->word[1]);
        out->value = slot->word[2];
        name_id = NTK_WORD_LO(slot->word[3]);
        break;
    case NTK_EVENT_EXEC:
        out->kind = NTK_EVENT_ERROR;
        out->flags = 0;
        out->status = NTK_WORD_HI(slot->word[1]);
        out->execution_id = slot->word[2];
        out->error_class = (uint16_t)ntk_error_class_of_status(out->status);
        out->error_code = NTK_ERROR_CODE_STATUS;
        break;
    case NTK_EVENT_ERROR:
        out->status = NTK_WORD_HI(slot->word[1]);
        out->execution_id = slot->word[2];
        out->error_class = (uint16_t)NTK_WORD_LO(slot->word[3]);
        if (out->error_class >= NTK_ERROR_CLASS_COUNT) {
            out->error_class = NTK_ERROR_CLASS_NONE;
        }
        out->error_code = NTK_WORD_HI(slot->word[3]);
        out->value = slot->word[4];
        break;
    case NTK_EVENT_PROFILE_START:
    case NTK_EVENT_PROFILE_STOP:
        out->status = NTK_WORD_HI(slot->word[1]);
        out->value = slot->word[2];
        name_id = NTK_WORD_LO(slot->word[3]);
        out->bytes = slot->kind == NTK_EVENT_PROFILE_STOP ? slot->word[4] : 0;
        break;
    case NTK_EVENT_MARK:
        name_id = NTK_WORD_LO(slot->word[1]);
        out->value = slot->word[2];
        break;
    default:
        break;
    }
    if (name_id != 0 && ntk_ring_segment_text(segment, name_id, name, sizeof name) > 0) {
        out->name = ntk_aggregate_event_text(source->aggregate, name);
    }
}

/* The event to fill: a new one in the list, or the oldest error with the same number. NULL if there
 * is none; the record is then counted. */
static struct ntk_event_sample *take_event(struct source_ring *source,
                                           const struct ntk_ring_segment *segment,
                                           const struct ntk_slot *slot, bool *out_replaces)
{
    const struct ntk_process_key key = { source->process.own_pid, source->process.uid,
                                         source->process.start_time };
    bool is_error = slot->kind == NTK_EVENT_EXEC || slot->kind == NTK_EVENT_ERROR;
    struct error_group *group =
        is_error ? group_of(source, error_number(source, segment, slot)) : NULL;
    struct ntk_event_sample *event = NULL;
    uint64_t *place = NULL;

    if (group) {
        place = &group->events[group->count % room_of(group)];
        *out_replaces = group->count++ >= room_of(group);
        if (*out_replaces) {
            event = ntk_aggregate_event_again(source->aggregate, key, *place);
        }
    }
    if (!event) {
        event = ntk_aggregate_event(source->aggregate, key, is_error);
    }
    if (event && place) {
        *place = ntk_aggregate_event_number(source->aggregate, event);
    }
    return event;
}

static bool ended_before(const struct source_ring *source, const struct ntk_ring_segment *segment,
                         const struct ntk_slot *slot, uint64_t duration)
{
    return ntk_ring_segment_monotonic_ns(segment, slot->start_ticks + duration) <
           source->begin_monotonic_ns;
}

/* Finds the slowest of consecutive executions of one model; slot may be NULL. */
static void take_slowest(const struct source_ring *source, const struct ntk_ring_segment *segment,
                         const struct ntk_slot *slot)
{
    if (!slot || ended_before(source, segment, slot, slot->word[0])) {
        return;
    }
    ntk_aggregate_execution(
        source->aggregate, NTK_WORD_LO(slot->word[1]),
        &(struct ntk_slow_execution){
            .end_ns = ntk_ring_segment_realtime_ns(segment, slot->start_ticks + slot->word[0]),
            .duration_ns = ntk_ring_segment_ticks_to_ns(segment, slot->word[0]),
            .id = slot->word[2],
            .pid = source->process.pid });
}

static const struct ntk_slot *slower(const struct source_ring *source,
                                     const struct ntk_ring_segment *segment,
                                     const struct ntk_slot *slowest, const struct ntk_slot *slot)
{
    if (slowest && NTK_WORD_LO(slowest->word[1]) != NTK_WORD_LO(slot->word[1])) {
        take_slowest(source, segment, slowest);
        return slot;
    }
    return !slowest || slot->word[0] > slowest->word[0] ? slot : slowest;
}

static void take_batch(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                       size_t count, void *ctx)
{
    struct source_ring *source = ctx;
    const struct ntk_slot *slowest = NULL;

    if (source->spans) {
        ntk_span_taker_take(source->spans, source->aggregate, segment, &source->process,
                            source->begin_monotonic_ns, slots, count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct ntk_slot *slot = &slots[i];
        struct ntk_event_sample *event;
        uint64_t duration;

        if (!is_listed(slot)) {
            slowest =
                slot->kind == NTK_EVENT_EXEC ? slower(source, segment, slowest, slot) : slowest;
            continue;
        }
        duration = slot->kind == NTK_EVENT_MEM_ALLOC || slot->kind == NTK_EVENT_MEM_FREE ||
                           slot->kind == NTK_EVENT_ERROR || slot->kind == NTK_EVENT_PROFILE_START
                       ? 0
                       : slot->word[0];
        /* Events before this collector's start belong to an earlier collector. */
        if (ended_before(source, segment, slot, duration)) {
            continue;
        }
        bool is_failure = slot->kind == NTK_EVENT_EXEC; /* an execution that failed is an error */
        bool replaces = false;
        event = take_event(source, segment, slot, &replaces);
        if (replaces && !is_failure) { /* failures count as outcomes */
            ntk_aggregate_failure(source->aggregate, slot->core, NTK_WORD_HI(slot->word[1]), false);
        }
        if (!event) {
            continue;
        }
        event->realtime_ns =
            ntk_ring_segment_realtime_ns(segment, slot->start_ticks + (is_failure ? duration : 0));
        event->duration_ns = is_failure ? 0 : ntk_ring_segment_ticks_to_ns(segment, duration);
        fill_event(segment, slot, source, event);
        if (event->kind == NTK_EVENT_ERROR && !replaces) {
            /* A fault has a separate record without a class, which precedes its execution's
             * record. */
            ntk_aggregate_failure(source->aggregate, event->core, event->status,
                                  event->error_class != NTK_ERROR_CLASS_NONE);
        }
    }
    take_slowest(source, segment, slowest);
}

static void drain_segment(struct source_ring *source, struct ntk_ring_segment *segment)
{
    if (source->no_events || ntk_ring_segment_state(segment) == NTK_SEGMENT_DOUBLE) {
        return;
    }
    unsigned int fill = ntk_ring_segment_fill(segment);
    if (fill == 0) {
        return;
    }
    source->fullest = fill > source->fullest ? fill : source->fullest;
    ntk_ring_segment_process(segment, &source->process);
    /* If the user's limit is reached, the rest is read at the next check. */
    uint32_t uid = source->process.uid;
    size_t taken = (size_t)(uintptr_t)ntk_map_get_number(&source->records_taken, uid);
    if (taken >= RECORDS_OF_USER) {
        return;
    }
    ntk_aggregate_set_speaker(source->aggregate, key_of(source, segment), &source->process);
    size_t count = ntk_ring_segment_drain(segment, RECORDS_OF_USER - taken, take_batch, source);
    (void)ntk_map_put_number(&source->records_taken, uid, (void *)(uintptr_t)(taken + count));
}

static void begin_drain(struct source_ring *source, struct ntk_aggregate *aggregate)
{
    source->aggregate = aggregate;
    source->fullest = 0;
    ntk_map_fini(&source->records_taken);
}

/* ---- rounds ---- */

static int first_sight(struct source_ring *source, struct ntk_aggregate *aggregate,
                       struct ntk_ring_segment *segment)
{
    struct ntk_runtime_reading reading;

    if (ntk_aggregate_knows(aggregate, key_of(source, segment))) {
        return 0;
    }
    /* Drain its rings first: records that were overwritten before now do not count as missed. */
    drain_segment(source, segment);
    read_segment(source, segment, false, &reading); /* without sizes, which need no baseline */
    return ntk_aggregate_runtime_first(aggregate, &reading);
}

static void note_ignored(struct source_ring *source, const struct ntk_ring_poll *poll)
{
    struct ntk_buf reasons = { 0 };

    source->note[0] = '\0';
    source->notes_refusals = false;
    if (poll->unreadable > 0) {
        (void)snprintf(source->note, sizeof source->note,
                       "permission denied for %" PRIu32 " application%s: run as root",
                       poll->unreadable, poll->unreadable > 1 ? "s" : "");
    }
    ntk_ring_poll_reasons(poll, &reasons);
    if (reasons.bytes_count > 0) {
        add_note(source, ntk_buf_text_get(&reasons));
    }
    ntk_buf_fini(&reasons);
}

/* Checks the folders: new segments get their baseline, ended ones their last reading. */
static int look(struct source_ring *source, struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                struct ntk_err *err)
{
    struct ntk_ring_poll poll = { 0 };
    int ret = ntk_ring_registry_poll(source->registry, &poll, err);

    if (ret < 0) {
        return ret;
    }
    source->looked = true;
    source->looked_ns = monotonic_ns;
    source->unreadable =
        (struct ntk_collector_unreadable){ poll.unreadable, poll.unreadable_users };
    note_ignored(source, &poll);
    for (size_t i = 0; i < ntk_ring_registry_count(source->registry); i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(source->registry, i);
        struct ntk_runtime_reading reading;

        if (ntk_ring_segment_state(segment) == NTK_SEGMENT_GONE ||
            ntk_ring_segment_state(segment) == NTK_SEGMENT_DOUBLE) {
            continue;
        }
        ret = first_sight(source, aggregate, segment);
        if (ret < 0) {
            return ret;
        }
        if (ntk_ring_segment_state(segment) == NTK_SEGMENT_ENDED) {
            /* Drain its rings first, because the reading contains the number of events. */
            drain_segment(source, segment);
            read_segment(source, segment, true, &reading);
            ret = ntk_aggregate_runtime(aggregate, &reading);
            if (ret < 0) {
                return ret;
            }
        }
    }
    return 0;
}

static void drain_all(struct source_ring *source)
{
    for (size_t i = 0; i < ntk_ring_registry_count(source->registry); i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(source->registry, i);

        if (ntk_ring_segment_state(segment) == NTK_SEGMENT_ALIVE) {
            drain_segment(source, segment);
        }
    }
}

static int source_ring_drain(void *state, struct ntk_aggregate *aggregate, uint64_t monotonic_ns)
{
    struct source_ring *source = state;

    begin_drain(source, aggregate);
    if (!source->looked || monotonic_ns < source->looked_ns ||
        monotonic_ns - source->looked_ns >= LOOK_INTERVAL_NS) {
        int ret = look(source, aggregate, monotonic_ns, NULL);

        if (ret < 0) {
            return ret;
        }
    }
    drain_all(source);
    return source->fullest;
}

static int source_ring_sample(void *state, struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                              struct ntk_err *err)
{
    struct source_ring *source = state;
    int ret;

    begin_drain(source, aggregate);
    ret = look(source, aggregate, monotonic_ns, err);
    if (ret < 0) {
        return ret;
    }
    drain_all(source);
    for (size_t i = 0; i < ntk_ring_registry_count(source->registry); i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(source->registry, i);
        struct ntk_runtime_reading reading;

        ntk_ring_prefetch_after(source->registry, i);
        if (ntk_ring_segment_state(segment) == NTK_SEGMENT_ALIVE) {
            read_segment(source, segment, true, &reading);
            ret = ntk_aggregate_runtime(aggregate, &reading);
            if (ret < 0) {
                return ret;
            }
        }
    }
    forget_errors(source);
    if (source->spans) {
        ntk_span_taker_forget(source->spans, source->registry);
    }
    source->ended[++source->sequence % SNAPSHOTS_KEPT] =
        ntk_ring_registry_ended_count(source->registry);
    return 0;
}

struct ntk_collector_unreadable
ntk_source_ring_unreadable(const struct ntk_collect_source *collect_source)
{
    return ((const struct source_ring *)collect_source->state)->unreadable;
}

void ntk_source_ring_keep(struct ntk_collect_source *collect_source, uint64_t sequence)
{
    struct source_ring *source = collect_source->state;

    if (sequence <= source->sequence && source->sequence - sequence < SNAPSHOTS_KEPT) {
        ntk_ring_registry_release(source->registry, source->ended[sequence % SNAPSHOTS_KEPT]);
    }
}

static void source_ring_destroy(void *state)
{
    struct source_ring *source = state;

    ntk_ring_registry_close(source->registry);
    ntk_span_taker_destroy(source->spans);
    ntk_map_fini(&source->records_taken);
    ntk_map_each(entry, &source->errors) {
        free(entry->value);
    }
    ntk_map_fini(&source->errors);
    free(source);
}

static const struct ntk_collect_source_ops ops = {
    .name = "ring",
    .drain = source_ring_drain,
    .sample = source_ring_sample,
    .destroy = source_ring_destroy,
};

void ntk_source_ring_read_events(struct ntk_collect_source *collect_source,
                                 struct ntk_aggregate *aggregate)
{
    struct source_ring *source = collect_source->state;

    if (!source->no_events) {
        return;
    }
    source->no_events = false;
    source->begin_monotonic_ns = 0;
    begin_drain(source, aggregate);
    for (size_t i = 0; i < ntk_ring_registry_count(source->registry); i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(source->registry, i);
        uint64_t read;
        uint64_t lost;
        uint64_t published;

        drain_segment(source, segment);
        ntk_ring_segment_events(segment, &read, &lost, &published);
        ntk_aggregate_runtime_forgive(aggregate, key_of(source, segment), lost);
    }
}

void ntk_source_ring_begin_latency(struct ntk_collect_source *collect_source,
                                   struct ntk_aggregate *aggregate, bool of_cores, bool of_models)
{
    struct source_ring *source = collect_source->state;

    for (size_t i = 0; i < ntk_ring_registry_count(source->registry); i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(source->registry, i);
        struct ntk_runtime_reading reading;

        if (ntk_ring_segment_state(segment) == NTK_SEGMENT_ALIVE) {
            read_segment(source, segment, false, &reading);
            ntk_aggregate_runtime_begin_latency(aggregate, &reading, of_cores, of_models);
        }
    }
}

int ntk_source_ring_open(const struct ntk_collector_options *options,
                         struct ntk_collect_source *out_source, const char **out_note,
                         struct ntk_err *err)
{
    const struct ntk_ring_options ring_options = {
        .folder = options->hooks_dir,
        .proc_root = options->proc_root,
        .reap = options->reap,
        .remembers = options->reap && options->totals_get,
        .from = NTK_RING_FROM_OLDEST,
    };
    struct source_ring *source = calloc(1, sizeof *source);
    int ret;

    if (!source) {
        return ntk_err_no_memory(err);
    }
    source->no_events = options->no_events;
    source->begin_monotonic_ns = options->clock->monotonic_ns(options->clock->ctx);
    if (options->span_rules) {
        source->spans = ntk_span_taker_create(options->span_rules);
        if (!source->spans) {
            free(source);
            return ntk_err_no_memory(err);
        }
    }
    ret = ntk_ring_registry_open(&ring_options, &source->registry, err);
    if (ret < 0) {
        ntk_span_taker_destroy(source->spans);
        free(source);
        return ret;
    }
    *out_note = source->note;
    *out_source = (struct ntk_collect_source){ .ops = &ops, .state = source };
    return 0;
}
