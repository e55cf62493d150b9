/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_trace.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/map.h"

static_assert(sizeof(struct ntk_ntrace_event) == 64, "one cache line");
static_assert(NTK_CORE_TRACE_KINDS <= 64, "a filter is one word");

/* Protected by the lane of the core. */
struct ring {
    struct ntk_ntrace_event *events; /* a mapping; NULL if the core is not traced */
    uint64_t head, tail;             /* events written; events taken or lost */
    uint64_t next;                   /* always head % capacity */
    uint64_t lost;
};

struct sink {
    bool is_on;
    uint64_t serial;
    uint64_t kinds;
    uint64_t capacity;
    uint32_t core_count;
    struct ring *rings;
};

_Atomic uint32_t ntk_core_trace_sinks_on;

#define LANE_COUNT 16U /* the thread sanitizer supports at most 64 locks per thread */
#define LANE_NAMES 8U

/* A lane is the set of cores with the same remainder modulo LANE_COUNT. Its lock protects their
 * rings in all sinks; sinks change only while all lanes are locked. */
static struct lane {
    _Alignas(128) pthread_mutex_t lock;
    /* A cache of names by the address of their text; an entry is valid if the text is equal. */
    struct {
        const char *key; /* key in names */
        uint32_t number;
    } names[LANE_NAMES];
} lanes[LANE_COUNT] = { [0 ... LANE_COUNT - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER } };
static struct sink sinks[NTK_CORE_TRACE_SINKS];
static uint64_t serial;
static _Atomic uint64_t next_tracking_id = 1;
/* Protects names, by number from 1, while a sink is on. Locked inside a lane, or alone. */
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ntk_map names;
static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;
static _Thread_local uint32_t thread_id;

static struct lane *lane_of(uint32_t nc)
{
    return &lanes[nc % LANE_COUNT];
}

static void lanes_lock(void)
{
    for (size_t i = 0; i < LANE_COUNT; i++) {
        pthread_mutex_lock(&lanes[i].lock);
    }
}

static void lanes_unlock(void)
{
    for (size_t i = LANE_COUNT; i-- > 0;) {
        pthread_mutex_unlock(&lanes[i].lock);
    }
}

/* The caller has locked all lanes, or no other thread exists. */
static void names_forget(void)
{
    ntk_map_fini(&names);
    for (size_t i = 0; i < LANE_COUNT; i++) {
        memset(lanes[i].names, 0, sizeof lanes[i].names);
    }
}

static void sink_fini(struct sink *sink)
{
    for (uint32_t i = 0; i < sink->core_count; i++) {
        if (sink->rings[i].events) {
            munmap(sink->rings[i].events, sink->capacity * sizeof *sink->rings[i].events);
        }
    }
    free(sink->rings);
    *sink = (struct sink){ 0 };
}

/* Ensures that no thread is inside a call. */
static void fork_prepare(void)
{
    lanes_lock();
    pthread_mutex_lock(&names_lock);
}

static void fork_parent(void)
{
    pthread_mutex_unlock(&names_lock);
    lanes_unlock();
}

static void fork_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    for (size_t i = 0; i < NTK_CORE_TRACE_SINKS; i++) {
        sink_fini(&sinks[i]);
    }
    names_forget();
    atomic_store_explicit(&ntk_core_trace_sinks_on, 0, memory_order_relaxed);
    thread_id = 0;
    /* Reinitialised instead of unlocked, because the parent's waiting threads do not exist here. */
    names_lock = fresh;
    for (size_t i = 0; i < LANE_COUNT; i++) {
        lanes[i].lock = fresh;
    }
}

static void fork_handler_install(void)
{
    (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static int sink_init(struct sink *sink, const struct ntk_core_trace_options *options)
{
    struct sink made = { .is_on = true,
                         .kinds = options->kinds,
                         .capacity = options->events_per_core,
                         .core_count = options->core_count };

    made.rings = calloc(options->core_count, sizeof *made.rings);
    if (!made.rings) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < made.core_count; i++) {
        if (options->core_enabled && !options->core_enabled[i]) {
            continue;
        }
        /* Pages that are never used cost nothing. */
        void *events =
            mmap(NULL, made.capacity * sizeof *made.rings[i].events, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (events == MAP_FAILED) {
            sink_fini(&made);
            return -ENOMEM;
        }
        made.rings[i].events = events;
    }
    *sink = made;
    return 0;
}

int ntk_core_trace_start(enum ntk_core_trace_sink sink,
                         const struct ntk_core_trace_options *options, struct ntk_err *err)
{
    int ret = 0;

    if (options->core_count == 0 || options->events_per_core == 0 ||
        options->events_per_core > NTK_CORE_TRACE_EVENTS_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "events per core of a system trace: expected 1 to %llu, got %llu",
                           (unsigned long long)NTK_CORE_TRACE_EVENTS_MAX,
                           (unsigned long long)options->events_per_core);
    }
    pthread_once(&fork_handler, fork_handler_install);
    lanes_lock();
    if (sinks[sink].is_on) {
        ret =
            ntk_err_set(err, -EALREADY, NTK_ERR_NO_OFFSET, "a system trace is already in progress");
    } else if (sink_init(&sinks[sink], options) < 0) {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                          "out of memory for a system trace of %llu events per core",
                          (unsigned long long)options->events_per_core);
    } else {
        sinks[sink].serial = ++serial;
        atomic_fetch_or_explicit(&ntk_core_trace_sinks_on, 1U << sink, memory_order_relaxed);
    }
    lanes_unlock();
    return ret;
}

int ntk_core_trace_stop(enum ntk_core_trace_sink sink)
{
    int ret = -ENOENT;

    lanes_lock();
    if (sinks[sink].is_on) {
        sink_fini(&sinks[sink]);
        uint32_t left = atomic_fetch_and_explicit(&ntk_core_trace_sinks_on, ~(1U << sink),
                                                  memory_order_relaxed) &
                        ~(1U << sink);
        if (left == 0) {
            pthread_mutex_lock(&names_lock);
            names_forget();
            pthread_mutex_unlock(&names_lock);
        }
        ret = 0;
    }
    lanes_unlock();
    return ret;
}

uint32_t ntk_core_trace_core_count(enum ntk_core_trace_sink sink)
{
    struct lane *lane = lane_of(0); /* any lane is sufficient */

    pthread_mutex_lock(&lane->lock);
    uint32_t count = sinks[sink].core_count;
    pthread_mutex_unlock(&lane->lock);
    return count;
}

/* Copies events from *inout_position on, or takes them if it is NULL. */
static size_t events_get(enum ntk_core_trace_sink sink, uint32_t nc, uint64_t *inout_position,
                         struct ntk_ntrace_event *out_events, size_t count, uint64_t *out_lost)
{
    const struct sink *from = &sinks[sink];
    struct lane *lane = lane_of(nc);
    uint64_t lost = 0;
    size_t got = 0;

    pthread_mutex_lock(&lane->lock);
    if (nc < from->core_count && from->rings[nc].events) {
        struct ring *ring = &from->rings[nc];

        uint64_t at = inout_position && *inout_position > ring->tail ? *inout_position : ring->tail;
        while (got < count && at < ring->head) {
            out_events[got++] = ring->events[at++ % from->capacity];
        }
        lost = ring->lost;
        if (inout_position) {
            *inout_position = at;
        } else {
            ring->tail = at;
        }
    }
    pthread_mutex_unlock(&lane->lock);
    if (out_lost) {
        *out_lost = lost;
    }
    return got;
}

size_t ntk_core_trace_take(enum ntk_core_trace_sink sink, uint32_t nc,
                           struct ntk_ntrace_event *out_events, size_t count, uint64_t *out_lost)
{
    return events_get(sink, nc, NULL, out_events, count, out_lost);
}

size_t ntk_core_trace_copy(enum ntk_core_trace_sink sink, uint32_t nc, uint64_t *inout_position,
                           struct ntk_ntrace_event *out_events, size_t count, uint64_t *out_lost)
{
    return events_get(sink, nc, inout_position, out_events, count, out_lost);
}

const char *ntk_core_trace_name(uint32_t name)
{
    const char *text = "";

    pthread_mutex_lock(&names_lock);
    if (name > 0 && name <= names.count) {
        text = names.entries[name - 1].key; /* the key does not move when the map grows */
    }
    pthread_mutex_unlock(&names_lock);
    return text;
}

/* The caller has locked the lane. */
static uint32_t name_number(struct lane *lane, const char *text)
{
    uint32_t number = 0;
    size_t place = ((uintptr_t)text >> 4) % LANE_NAMES;

    if (!text || !*text) {
        return 0;
    }
    if (lane->names[place].key && strcmp(lane->names[place].key, text) == 0) {
        return lane->names[place].number;
    }
    pthread_mutex_lock(&names_lock);
    number = (uint32_t)(uintptr_t)ntk_map_get(&names, text);
    if (number == 0 && names.count < NTK_CORE_TRACE_NAMES_MAX &&
        ntk_map_put(&names, text, (void *)(uintptr_t)(names.count + 1)) == 0) {
        number = (uint32_t)names.count;
    }
    if (number > 0) {
        lane->names[place].key = names.entries[number - 1].key; /* the key does not move */
        lane->names[place].number = number;
    }
    pthread_mutex_unlock(&names_lock);
    return number;
}

static void ring_add(struct ring *ring, uint64_t capacity, const struct ntk_ntrace_event *event)
{
    if (ring->head - ring->tail == capacity) {
        ring->tail++;
        ring->lost++;
    }
    ring->events[ring->next] = *event;
    ring->head++;
    ring->next = ring->next + 1 < capacity ? ring->next + 1 : 0;
}

/* Adds the event to every sink started up to span_serial. The caller has locked the lane. */
static void event_add(uint32_t nc, uint64_t span_serial, struct ntk_ntrace_event *event,
                      const char *name)
{
    for (size_t i = 0; i < NTK_CORE_TRACE_SINKS; i++) {
        struct sink *sink = &sinks[i];

        if (!sink->is_on || sink->serial > span_serial || !((sink->kinds >> event->kind) & 1) ||
            nc >= sink->core_count || !sink->rings[nc].events) {
            continue;
        }
        if (event->name == 0) {
            event->name = name_number(lane_of(nc), name);
        }
        ring_add(&sink->rings[nc], sink->capacity, event);
    }
}

void ntk_core_trace_moment(uint32_t nc, const struct ntk_core_trace_data *data,
                           const struct ntk_core_trace_note *notes, size_t count)
{
    struct lane *lane = lane_of(nc);
    uint64_t new_id = atomic_fetch_add_explicit(&next_tracking_id, count, memory_order_relaxed);

    if (thread_id == 0) {
        thread_id = (uint32_t)syscall(SYS_gettid);
    }
    struct ntk_ntrace_event event = {
        .time_ns = data->time_ns > 0 ? data->time_ns : ntk_clock_realtime_ns(),
        .execution_id = data->execution_id,
        .device_ns = data->device_ns,
        .bytes = data->bytes,
        .model_id = data->model_id,
        .thread_id = thread_id,
        .device_core = data->device_core,
        .stack = data->stack,
        .queue = data->queue,
        .operation = data->operation,
    };

    pthread_mutex_lock(&lane->lock);
    for (size_t i = 0; i < count; i++) {
        struct ntk_core_trace_span *span = notes[i].span;
        uint64_t span_serial = serial;

        event.tracking_id = new_id + i;
        event.kind = (uint8_t)notes[i].kind;
        event.phase = (uint8_t)notes[i].phase;
        if (notes[i].phase == NTK_NTRACE_START) {
            *span = (struct ntk_core_trace_span){ .tracking_id = new_id + i,
                                                  .serial = serial,
                                                  .nc = nc,
                                                  .kind = (uint32_t)notes[i].kind };
        } else if (notes[i].phase == NTK_NTRACE_STOP) {
            if (span->tracking_id == 0) {
                continue; /* no sink was on when it started */
            }
            event.tracking_id = span->tracking_id;
            event.kind = (uint8_t)span->kind;
            span_serial = span->serial;
        }
        event_add(nc, span_serial, &event, data->name);
    }
    pthread_mutex_unlock(&lane->lock);
}

void ntk_core_trace_span_begin(struct ntk_core_trace_span *span, enum ntk_core_trace_kind kind,
                               uint32_t nc, const struct ntk_core_trace_data *data)
{
    const struct ntk_core_trace_note note = { NTK_NTRACE_START, kind, span };

    ntk_core_trace_moment(nc, data, &note, 1);
}

void ntk_core_trace_span_end(const struct ntk_core_trace_span *span,
                             const struct ntk_core_trace_data *data)
{
    struct ntk_core_trace_span ended = *span;
    const struct ntk_core_trace_note note = { .phase = NTK_NTRACE_STOP, .span = &ended };

    if (span->tracking_id != 0) {
        ntk_core_trace_moment(span->nc, data, &note, 1);
    }
}

void ntk_core_trace_point(enum ntk_core_trace_kind kind, uint32_t nc,
                          const struct ntk_core_trace_data *data)
{
    const struct ntk_core_trace_note note = { .phase = NTK_NTRACE_INSTANT, .kind = kind };

    ntk_core_trace_moment(nc, data, &note, 1);
}

void ntk_core_trace_mark(const char *name, uint64_t duration_ns, uint64_t value)
{
    struct ntk_core_trace_data data = { .time_ns = ntk_clock_realtime_ns() - duration_ns,
                                        .bytes = value,
                                        .name = name };
    struct ntk_core_trace_span span = { 0 };

    if (duration_ns == 0) {
        ntk_core_trace_point(NTK_CORE_TRACE_MARK, 0, &data);
        return;
    }
    ntk_core_trace_span_begin(&span, NTK_CORE_TRACE_MARK, 0, &data);
    data.time_ns += duration_ns;
    ntk_core_trace_span_end(&span, &data);
}
