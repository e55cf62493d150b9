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

static_assert(sizeof(struct ntk_core_trace_event) == 64, "one cache line");
static_assert(NTK_CORE_TRACE_KINDS <= 64, "a filter is one word");

struct ring {
    pthread_mutex_t lock;
    struct ntk_core_trace_event *events; /* a mapping; NULL: the core is not traced */
    uint64_t head, tail;                 /* ever written, ever taken or lost; under lock */
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

/* Read by everything that records or takes, written by start and stop. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static struct sink sinks[NTK_CORE_TRACE_SINKS];
static uint64_t serial;
static _Atomic uint64_t next_tracking_id = 1;
/* Names by number, from 1, while a sink is on. Taken inside the gate. */
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ntk_map names;
static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;
static _Thread_local uint32_t thread_id;

static void sink_fini(struct sink *sink)
{
    for (uint32_t i = 0; i < sink->core_count; i++) {
        if (sink->rings[i].events) {
            munmap(sink->rings[i].events, sink->capacity * sizeof *sink->rings[i].events);
        }
        pthread_mutex_destroy(&sink->rings[i].lock);
    }
    free(sink->rings);
    *sink = (struct sink){ 0 };
}

/* With the gate held nobody holds another lock of this file. */
static void fork_prepare(void)
{
    pthread_rwlock_wrlock(&gate);
}

static void fork_parent(void)
{
    pthread_rwlock_unlock(&gate);
}

static void fork_child(void)
{
    static const pthread_rwlock_t fresh = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

    for (size_t i = 0; i < NTK_CORE_TRACE_SINKS; i++) {
        sink_fini(&sinks[i]);
    }
    ntk_map_fini(&names);
    atomic_store_explicit(&ntk_core_trace_sinks_on, 0, memory_order_relaxed);
    thread_id = 0;
    /* Not unlocked: it counts the parent's threads that wait for it, and they are not here. */
    gate = fresh;
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
        pthread_mutex_init(&made.rings[i].lock, NULL);
    }
    for (uint32_t i = 0; i < made.core_count; i++) {
        if (options->core_enabled && !options->core_enabled[i]) {
            continue;
        }
        /* Pages that no event reaches cost nothing. */
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
                           "a system trace has 1 to %llu events per core, not %llu",
                           (unsigned long long)NTK_CORE_TRACE_EVENTS_MAX,
                           (unsigned long long)options->events_per_core);
    }
    pthread_once(&fork_handler, fork_handler_install);
    pthread_rwlock_wrlock(&gate);
    if (sinks[sink].is_on) {
        ret = ntk_err_set(err, -EALREADY, NTK_ERR_NO_OFFSET, "the system trace is on already");
    } else if (sink_init(&sinks[sink], options) < 0) {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                          "no memory for a system trace of %llu events per core",
                          (unsigned long long)options->events_per_core);
    } else {
        sinks[sink].serial = ++serial;
        atomic_fetch_or_explicit(&ntk_core_trace_sinks_on, 1U << sink, memory_order_relaxed);
    }
    pthread_rwlock_unlock(&gate);
    return ret;
}

int ntk_core_trace_stop(enum ntk_core_trace_sink sink)
{
    int ret = -ENOENT;

    pthread_rwlock_wrlock(&gate);
    if (sinks[sink].is_on) {
        sink_fini(&sinks[sink]);
        uint32_t left = atomic_fetch_and_explicit(&ntk_core_trace_sinks_on, ~(1U << sink),
                                                  memory_order_relaxed) &
                        ~(1U << sink);
        if (left == 0) {
            ntk_map_fini(&names);
        }
        ret = 0;
    }
    pthread_rwlock_unlock(&gate);
    return ret;
}

uint32_t ntk_core_trace_core_count(enum ntk_core_trace_sink sink)
{
    pthread_rwlock_rdlock(&gate);
    uint32_t count = sinks[sink].core_count;
    pthread_rwlock_unlock(&gate);
    return count;
}

/* From *inout_position on; takes them when it is NULL. */
static size_t events_get(enum ntk_core_trace_sink sink, uint32_t nc, uint64_t *inout_position,
                         struct ntk_core_trace_event *out_events, size_t count, uint64_t *out_lost)
{
    const struct sink *from = &sinks[sink];
    uint64_t lost = 0;
    size_t got = 0;

    pthread_rwlock_rdlock(&gate);
    if (nc < from->core_count && from->rings[nc].events) {
        struct ring *ring = &from->rings[nc];

        pthread_mutex_lock(&ring->lock);
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
        pthread_mutex_unlock(&ring->lock);
    }
    pthread_rwlock_unlock(&gate);
    if (out_lost) {
        *out_lost = lost;
    }
    return got;
}

size_t ntk_core_trace_take(enum ntk_core_trace_sink sink, uint32_t nc,
                           struct ntk_core_trace_event *out_events, size_t count,
                           uint64_t *out_lost)
{
    return events_get(sink, nc, NULL, out_events, count, out_lost);
}

size_t ntk_core_trace_copy(enum ntk_core_trace_sink sink, uint32_t nc, uint64_t *inout_position,
                           struct ntk_core_trace_event *out_events, size_t count,
                           uint64_t *out_lost)
{
    return events_get(sink, nc, inout_position, out_events, count, out_lost);
}

const char *ntk_core_trace_name(uint32_t name)
{
    const char *text = "";

    pthread_rwlock_rdlock(&gate);
    pthread_mutex_lock(&names_lock);
    if (name > 0 && name <= names.count) {
        text = names.entries[name - 1].key; /* stays where it is while the map grows */
    }
    pthread_mutex_unlock(&names_lock);
    pthread_rwlock_unlock(&gate);
    return text;
}

/* The gate is held. */
static uint32_t name_number(const char *text)
{
    uint32_t number = 0;

    if (!text || !*text) {
        return 0;
    }
    pthread_mutex_lock(&names_lock);
    number = (uint32_t)(uintptr_t)ntk_map_get(&names, text);
    if (number == 0 && names.count < NTK_CORE_TRACE_NAMES_MAX &&
        ntk_map_put(&names, text, (void *)(uintptr_t)(names.count + 1)) == 0) {
        number = (uint32_t)names.count;
    }
    pthread_mutex_unlock(&names_lock);
    return number;
}

static void ring_add(struct ring *ring, uint64_t capacity, const struct ntk_core_trace_event *event)
{
    pthread_mutex_lock(&ring->lock);
    if (ring->head - ring->tail == capacity) {
        ring->tail++;
        ring->lost++;
    }
    ring->events[ring->head++ % capacity] = *event;
    pthread_mutex_unlock(&ring->lock);
}

/* To every sink that was started no later than span_serial. */
static void record(enum ntk_core_trace_kind kind, enum ntk_core_trace_phase phase, uint32_t nc,
                   uint64_t tracking_id, uint64_t *inout_serial,
                   const struct ntk_core_trace_data *data)
{
    if (thread_id == 0) {
        thread_id = (uint32_t)syscall(SYS_gettid);
    }
    struct ntk_core_trace_event event = {
        .tracking_id = tracking_id,
        .time_ns = data->time_ns > 0 ? data->time_ns : ntk_clock_realtime_ns(),
        .execution_id = data->execution_id,
        .device_ns = data->device_ns,
        .bytes = data->bytes,
        .model_id = data->model_id,
        .thread_id = thread_id,
        .device_core = data->device_core,
        .stack = data->stack,
        .kind = (uint8_t)kind,
        .phase = (uint8_t)phase,
    };

    pthread_rwlock_rdlock(&gate);
    if (*inout_serial == 0) {
        *inout_serial = serial;
    }
    bool is_named = false;
    for (size_t i = 0; i < NTK_CORE_TRACE_SINKS; i++) {
        struct sink *sink = &sinks[i];

        if (!sink->is_on || sink->serial > *inout_serial || !((sink->kinds >> kind) & 1) ||
            nc >= sink->core_count || !sink->rings[nc].events) {
            continue;
        }
        if (!is_named) {
            event.name = name_number(data->name);
            is_named = true;
        }
        ring_add(&sink->rings[nc], sink->capacity, &event);
    }
    pthread_rwlock_unlock(&gate);
}

void ntk_core_trace_span_begin(struct ntk_core_trace_span *span, enum ntk_core_trace_kind kind,
                               uint32_t nc, const struct ntk_core_trace_data *data)
{
    *span = (struct ntk_core_trace_span){ .tracking_id = atomic_fetch_add_explicit(
                                              &next_tracking_id, 1, memory_order_relaxed),
                                          .nc = nc,
                                          .kind = (uint32_t)kind };
    record(kind, NTK_CORE_TRACE_START, nc, span->tracking_id, &span->serial, data);
}

void ntk_core_trace_span_end(const struct ntk_core_trace_span *span,
                             const struct ntk_core_trace_data *data)
{
    uint64_t span_serial = span->serial;

    if (span->tracking_id != 0) {
        record((enum ntk_core_trace_kind)span->kind, NTK_CORE_TRACE_STOP, span->nc,
               span->tracking_id, &span_serial, data);
    }
}

void ntk_core_trace_point(enum ntk_core_trace_kind kind, uint32_t nc,
                          const struct ntk_core_trace_data *data)
{
    uint64_t any_serial = 0;

    record(kind, NTK_CORE_TRACE_INSTANT, nc,
           atomic_fetch_add_explicit(&next_tracking_id, 1, memory_order_relaxed), &any_serial,
           data);
}
