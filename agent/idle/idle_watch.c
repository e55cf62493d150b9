/* SPDX-License-Identifier: MIT */
/* idle_watch - observes all processes in a separate thread. */
#include "agent/idle/idle_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "agent/idle/idle_sample.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/log.h"
#include "shared/base/map.h"
#include "shared/hostwork/observe.h"
#include "shared/ring/ring_registry.h"

#define MODULE "idle"
#define SAMPLE_NS NTK_NS_PER_SECOND
#define MINUTE_NS (60 * NTK_NS_PER_SECOND)

struct observed {
    uint64_t serial; /* serial number of its segment; 0 for a free slot */
    struct ntk_ring_process process;
    struct ntk_host_observation *observation;
};

/* Observations that ended in a round; their texts belong to the observation. */
struct ended {
    struct ntk_host_observation *observation;
    struct ntk_idle_cause causes[NTK_SNAPSHOT_IDLE_CAUSES_MAX];
};

/* State of a segment in the log. The map finds it by the serial number. */
enum said { SAID_OBSERVED = 1, SAID_REFUSED };

struct ntk_idle_watch {
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_stopping;
    struct ntk_snapshot *done; /* holds samples until they are taken */
    /* The members below belong to the thread. */
    struct ntk_ring_registry *registry;
    struct observed observed[NTK_IDLE_PROCESSES_MAX];
    struct ntk_map said;
    struct ntk_idle_sample samples[NTK_IDLE_PROCESSES_MAX]; /* samples of this round */
    struct ended *ended[NTK_IDLE_PROCESSES_MAX];
    size_t ended_count;
    uint64_t minute;
    bool said_many;
};

/* ---- the end of an observation ---- */

static void end(struct ntk_idle_watch *watch, struct observed *observed)
{
    struct ended *ended = calloc(1, sizeof *ended);
    struct ntk_idle_sample *sample = &watch->samples[watch->ended_count];
    struct ntk_err err = { 0 };
    int ret =
        ended ? ntk_host_observation_end(observed->observation, &err) : ntk_err_no_memory(&err);

    if (ret < 0) {
        ntk_log_warn(MODULE, "idle time of process %u is not stored: %s", observed->process.pid,
                     err.text);
        ntk_host_observation_destroy(observed->observation);
        free(ended);
    } else {
        *sample = (struct ntk_idle_sample){
            .key = { observed->process.own_pid, observed->process.uid,
                     observed->process.start_time },
            .realtime_ns = ntk_clock_realtime_ns(),
        };
        ended->observation = observed->observation;
        ntk_idle_sample_make(ntk_host_observation_records(observed->observation),
                             ntk_host_observation_result(observed->observation), sample,
                             ended->causes);
        watch->ended[watch->ended_count++] = ended;
    }
    *observed = (struct observed){ 0 };
}

/* Passes the samples on; they are lost if out of memory. */
static void hand_over(struct ntk_idle_watch *watch)
{
    struct ntk_snapshot *joined = watch->ended_count > 0 ? ntk_snapshot_create() : NULL;

    if (joined) {
        pthread_mutex_lock(&watch->lock);
        ntk_snapshot_join_idle(joined, watch->done ? watch->done->idle : NULL,
                               watch->done ? watch->done->idle_count : 0, watch->samples,
                               watch->ended_count);
        ntk_snapshot_destroy(watch->done);
        watch->done = joined;
        pthread_mutex_unlock(&watch->lock);
    }
    while (watch->ended_count > 0) {
        struct ended *ended = watch->ended[--watch->ended_count];
        ntk_host_observation_destroy(ended->observation);
        free(ended);
    }
}

/* ---- the start ---- */

static struct observed *place_of(struct ntk_idle_watch *watch, uint64_t serial)
{
    for (size_t i = 0; i < NTK_IDLE_PROCESSES_MAX; i++) {
        if (watch->observed[i].serial == serial) {
            return &watch->observed[i];
        }
    }
    return NULL;
}

static void begin(struct ntk_idle_watch *watch, struct ntk_ring_segment *segment)
{
    struct ntk_host_observe_options options = { .segment = segment,
                                                .method = NTK_HOST_WANT_PROC,
                                                .duration_ns = MINUTE_NS };
    uint64_t serial = ntk_ring_segment_serial(segment);
    uintptr_t said = (uintptr_t)ntk_map_get_number(&watch->said, serial);
    struct observed *observed = place_of(watch, 0);
    struct ntk_err err = { 0 };

    if (said == SAID_REFUSED || place_of(watch, serial)) {
        return;
    }
    if (!observed) {
        if (!watch->said_many) {
            ntk_log_warn(MODULE, "too many processes: idle time is observed for at most %u",
                         NTK_IDLE_PROCESSES_MAX);
        }
        watch->said_many = true;
        return;
    }
    ntk_ring_segment_process(segment, &observed->process);
    int ret = ntk_host_observation_begin(&options, &observed->observation, &err);
    if (ret < 0) {
        if (ret != -ENOMEM) {
            ntk_log_info(MODULE, "process %u is not observed: %s", observed->process.pid, err.text);
            (void)ntk_map_put_number(&watch->said, serial, (void *)(uintptr_t)SAID_REFUSED);
        }
        *observed = (struct observed){ 0 };
        return;
    }
    observed->serial = serial;
    if (said != SAID_OBSERVED) {
        ntk_log_info(MODULE, "observing idle time of process %u", observed->process.pid);
        (void)ntk_map_put_number(&watch->said, serial, (void *)(uintptr_t)SAID_OBSERVED);
    }
}

/* Drops the entries of segments that no longer exist. */
static void forget(struct ntk_idle_watch *watch)
{
    struct ntk_map kept = { 0 };

    for (size_t i = 0; i < ntk_ring_registry_count(watch->registry); i++) {
        uint64_t serial = ntk_ring_segment_serial(ntk_ring_registry_get(watch->registry, i));
        void *said = ntk_map_get_number(&watch->said, serial);
        if (said) {
            (void)ntk_map_put_number(&kept, serial, said);
        }
    }
    ntk_map_fini(&watch->said);
    watch->said = kept;
}

/* ---- the thread ---- */

static void look(struct ntk_idle_watch *watch, bool is_last)
{
    uint64_t minute = ntk_clock_realtime_ns() / MINUTE_NS;
    bool is_minute = minute != watch->minute;
    struct ntk_err err = { 0 };

    if (ntk_ring_registry_poll(watch->registry, NULL, &err) < 0) {
        ntk_log_debug(MODULE, "%s", err.text);
    }
    for (size_t i = 0; i < NTK_IDLE_PROCESSES_MAX; i++) {
        struct observed *observed = &watch->observed[i];
        if (observed->serial != 0 &&
            (!ntk_host_observation_poll(observed->observation) || is_minute || is_last)) {
            end(watch, observed);
        }
    }
    hand_over(watch);
    if (is_minute) {
        forget(watch);
    }
    watch->minute = minute;
    for (size_t i = 0; i < ntk_ring_registry_count(watch->registry) && !is_last; i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(watch->registry, i);
        if (ntk_ring_segment_state(segment) == NTK_SEGMENT_ALIVE) {
            begin(watch, segment);
        }
    }
}

static void *watch_main(void *ctx)
{
    struct ntk_idle_watch *watch = ctx;
    uint64_t next_ns = ntk_clock_monotonic_ns();
    bool is_last = false;

    (void)prctl(PR_SET_NAME, "neuron-idle");
    while (!is_last) {
        pthread_mutex_lock(&watch->lock);
        while (!watch->is_stopping && ntk_clock_monotonic_ns() < next_ns) {
            (void)ntk_cond_wait_clock(NULL, &watch->wake, &watch->lock, next_ns);
        }
        is_last = watch->is_stopping;
        pthread_mutex_unlock(&watch->lock);
        look(watch, is_last);
        uint64_t now_ns = ntk_clock_monotonic_ns();
        next_ns = next_ns + SAMPLE_NS > now_ns ? next_ns + SAMPLE_NS : now_ns + SAMPLE_NS;
    }
    return NULL;
}

/* ---- its functions ---- */

int ntk_idle_watch_create(struct ntk_idle_watch **out_watch, struct ntk_err *err)
{
    const struct ntk_ring_options ring = { .from = NTK_RING_FROM_NOW };
    struct ntk_idle_watch *watch = calloc(1, sizeof *watch);

    if (!watch) {
        return ntk_err_no_memory(err);
    }
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->wake, NULL);
    watch->minute = ntk_clock_realtime_ns() / MINUTE_NS;
    int ret = ntk_ring_registry_open(&ring, &watch->registry, err);
    if (ret == 0) {
        int code = pthread_create(&watch->thread, NULL, watch_main, watch);
        watch->has_thread = code == 0;
        ret = code == 0 ? 0
                        : ntk_err_set(err, -code, NTK_ERR_NO_OFFSET,
                                      "cannot start the thread that samples idle time: %s",
                                      strerror(code));
    }
    if (ret < 0) {
        ntk_idle_watch_destroy(watch);
        return ret;
    }
    *out_watch = watch;
    return 0;
}

void ntk_idle_watch_take(struct ntk_idle_watch *watch, struct ntk_snapshot *snapshot)
{
    pthread_mutex_lock(&watch->lock);
    struct ntk_snapshot *done = watch->done;
    watch->done = NULL;
    pthread_mutex_unlock(&watch->lock);
    if (done) {
        ntk_snapshot_join_idle(snapshot, NULL, 0, done->idle, done->idle_count);
        ntk_snapshot_destroy(done);
    }
}

void ntk_idle_watch_stop(struct ntk_idle_watch *watch)
{
    if (!watch || !watch->has_thread) {
        return;
    }
    pthread_mutex_lock(&watch->lock);
    watch->is_stopping = true;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    watch->has_thread = false;
}

void ntk_idle_watch_destroy(struct ntk_idle_watch *watch)
{
    if (!watch) {
        return;
    }
    ntk_idle_watch_stop(watch);
    ntk_ring_registry_close(watch->registry);
    ntk_map_fini(&watch->said);
    ntk_snapshot_destroy(watch->done);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}
