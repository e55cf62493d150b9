/* SPDX-License-Identifier: MIT */
/*
 * source_replay - gets snapshots from a database of neuron-monitor: at their original pace, faster,
 * slower, forward and back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/store/store_reader.h"
#include "top/source/event_log.h"
#include "top/source/source.h"

/* Minimum and maximum time for which a frame is shown. */
#define FRAME_MIN_NS (20 * NTK_NS_PER_MS)
#define FRAME_MAX_NS (2 * NTK_NS_PER_SECOND)
#define SPEED_SHIFT_MAX 10
/* Limits beyond which the note includes the period: a part of a period before or after a report, or
 * a minute or an hour. */
#define PERIOD_MIN_NS (500 * NTK_NS_PER_MS)
#define PERIOD_MAX_NS (2 * NTK_NS_PER_SECOND)
/* Maximum distance of the shown moment from the wanted one. If it is exceeded, the note names the
 * wanted moment. */
#define NEAR_NS (60 * NTK_NS_PER_SECOND)
#define JUMP_NS (60 * NTK_NS_PER_SECOND)
#define PAST_NS (24 * 3600 * NTK_NS_PER_SECOND) /* maximum span of graphs */

struct replay_source {
    struct ntk_top_source base;
    struct ntk_store_reader *reader;
    uint64_t time_ns;   /* time of the shown moment */
    uint64_t period_ns; /* period of that moment; 0 if unknown */
    uint64_t given_ns;  /* previous moment that was returned; 0 if none */
    enum ntk_store_tier
        /* Tier that before_shown reads next; NTK_STORE_TIER_COUNT if everything is read */
        past_tier;
    uint64_t past_ns;       /* reads before that moment */
    uint64_t past_shown_ns; /* shown moment when it began */
    uint64_t past_until_ns; /* all earlier moments were reported */
    int speed_shift;        /* speed is 2^n; negative n is slower */
    bool is_paused;
    bool is_new;        /* time_ns was not returned yet */
    bool is_ended;      /* nothing follows time_ns */
    uint64_t wanted_ns; /* --at until the first moment is read; 0 none */
    bool is_off;        /* nothing is recorded at --at; until a key is pressed */
    char note[NTK_ERR_TEXT_BYTES];
};

/* Sets the time of the next frame: immediately, or after the time between the two moments. */
static void set_timer(struct replay_source *source, uint64_t after_ns)
{
    struct itimerspec timer = { .it_value = { .tv_sec = (time_t)(after_ns / NTK_NS_PER_SECOND),
                                              .tv_nsec = (long)(after_ns % NTK_NS_PER_SECOND) } };

    (void)timerfd_settime(source->base.fd, 0, &timer, NULL);
}

static uint64_t in_pace(const struct replay_source *source, uint64_t ns)
{
    if (source->speed_shift >= 0) {
        ns >>= source->speed_shift;
    } else {
        ns <<= -source->speed_shift;
    }
    return ns < FRAME_MIN_NS ? FRAME_MIN_NS : ns > FRAME_MAX_NS ? FRAME_MAX_NS : ns;
}

static void write_note(struct replay_source *source)
{
    time_t seconds = (time_t)(source->time_ns / NTK_NS_PER_SECOND);
    struct tm date;
    char text[64];
    char period[32] = "";
    char speed[32] = "";

    localtime_r(&seconds, &date);
    (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &date);
    if (source->period_ns > 0 &&
        (source->period_ns < PERIOD_MIN_NS || source->period_ns > PERIOD_MAX_NS)) {
        (void)snprintf(period, sizeof period, " over %.3g s",
                       (double)source->period_ns / (double)NTK_NS_PER_SECOND);
    }
    if (source->speed_shift != 0) {
        (void)snprintf(speed, sizeof speed, ", %s%d x", source->speed_shift < 0 ? "1/" : "",
                       1 << abs(source->speed_shift));
    }
    (void)snprintf(source->note, sizeof source->note, "recorded at %s%s%s%s%s", text, period, speed,
                   source->is_ended    ? ", end of the recording"
                   : source->is_paused ? ", paused"
                                       : "",
                   source->is_off ? "; nothing was recorded at the time of --at" : "");
}

/* Shows the moment, with its time in the note. */
static void go_to(struct replay_source *source, uint64_t time_ns)
{
    /* Played frames are reported; a jump skips some. */
    if (time_ns > source->time_ns && source->past_tier == NTK_STORE_TIER_COUNT) {
        source->past_until_ns = source->time_ns;
    } else if (time_ns < source->past_shown_ns) {
        source->past_until_ns = 0;
    }
    source->time_ns = time_ns;
    source->period_ns = 0;
    source->is_new = true;
    source->is_ended = false;
    source->past_tier = NTK_STORE_SECOND;
    source->past_ns = source->past_shown_ns = time_ns;
    write_note(source);
    set_timer(source, 1);
}

/* Loads events before the first moment, or in the skipped time. After a jump back, earlier events
 * are reported again. */
static int load_skipped_events(struct replay_source *source, struct ntk_snapshot *snapshot,
                               struct ntk_err *err)
{
    uint64_t end_ns = snapshot->realtime_ns;
    uint64_t start_ns = end_ns > snapshot->period_ns ? end_ns - snapshot->period_ns : 0;
    uint64_t from_ns = end_ns > PAST_NS ? end_ns - PAST_NS : 0;

    if (source->given_ns > 0 && source->given_ns <= end_ns && source->given_ns > from_ns) {
        from_ns = source->given_ns;
    }
    source->given_ns = end_ns;
    if (from_ns >= start_ns) {
        return 0;
    }
    int ret = ntk_store_reader_load_failing(source->reader, snapshot, err);

    return ret < 0 ? ret
                   : ntk_store_reader_load_events(source->reader, snapshot, from_ns,
                                                  NTK_TOP_EVENTS_MAX, err);
}

/* Reads seconds for the finest graph, then minutes, then hours after the last minute. */
static int replay_before_shown(struct ntk_top_source *base, uint64_t since_ns,
                               struct ntk_snapshot **out_snapshot)
{
    static const struct {
        uint64_t reach_ns; /* distance back from the shown moment */
        /* overlap with the previous tier, because its rows end at other moments */
        uint64_t overlap_ns;
    } tiers[NTK_STORE_TIER_COUNT] = {
        [NTK_STORE_SECOND] = { 960 * NTK_NS_PER_SECOND, 0 },
        [NTK_STORE_MINUTE] = { PAST_NS, 60 * NTK_NS_PER_SECOND },
        [NTK_STORE_HOUR] = { PAST_NS, 3600 * NTK_NS_PER_SECOND },
    };
    struct replay_source *source = (struct replay_source *)base;

    while (source->past_tier < NTK_STORE_TIER_COUNT && source->past_ns > since_ns) {
        struct ntk_snapshot *snapshot = NULL;
        uint64_t reach_ns = tiers[source->past_tier].reach_ns;

        if (ntk_store_reader_snapshot_before(source->reader, source->past_tier, source->past_ns,
                                             &snapshot, NULL) == 0) {
            source->past_ns = snapshot->realtime_ns;
            if (snapshot->realtime_ns <= source->past_until_ns) {
                ntk_snapshot_destroy(snapshot);
                source->past_tier = NTK_STORE_TIER_COUNT;
                return 0;
            }
            if (snapshot->realtime_ns + reach_ns > source->past_shown_ns) {
                *out_snapshot = snapshot;
                return 1;
            }
            ntk_snapshot_destroy(snapshot);
            source->past_ns = source->past_shown_ns - reach_ns;
        }
        if (++source->past_tier < NTK_STORE_TIER_COUNT) {
            source->past_ns += tiers[source->past_tier].overlap_ns;
            source->past_ns =
                source->past_ns < source->past_shown_ns ? source->past_ns : source->past_shown_ns;
        }
    }
    return 0;
}

static int replay_take(struct ntk_top_source *base, struct ntk_snapshot **out_snapshot,
                       struct ntk_err *err)
{
    struct replay_source *source = (struct replay_source *)base;
    uint64_t expirations;
    uint64_t next_ns;

    if (read(base->fd, &expirations, sizeof expirations) != (ssize_t)sizeof expirations) {
        return 0; /* a key, not the timer */
    }
    if (!source->is_new) {
        if (source->is_paused || source->is_ended) {
            return 0;
        }
        if (ntk_store_reader_next(source->reader, source->time_ns, &next_ns, NULL) < 0) {
            source->is_ended = true;
            write_note(source);
            return 0;
        }
        source->time_ns = next_ns;
    }
    source->is_new = false;
    int ret = ntk_store_reader_snapshot_at(source->reader, source->time_ns, out_snapshot, err);
    if (ret == 0) {
        ret = load_skipped_events(source, *out_snapshot, err);
        if (ret < 0) {
            ntk_snapshot_destroy(*out_snapshot);
        }
    }
    if (ret < 0) {
        return ret;
    }
    source->period_ns = (*out_snapshot)->period_ns;
    if (source->wanted_ns > 0) {
        source->is_off = source->wanted_ns > source->time_ns + NEAR_NS ||
                         source->wanted_ns + source->period_ns + NEAR_NS < source->time_ns;
        source->wanted_ns = 0;
    }
    if (ntk_store_reader_next(source->reader, source->time_ns, &next_ns, NULL) < 0) {
        source->is_ended = true;
    } else if (!source->is_paused) {
        set_timer(source, in_pace(source, next_ns - source->time_ns));
    }
    write_note(source);
    return 1;
}

/* Finds the recorded moment one step forward or back; returns false at the ends. */
static bool find_step(struct replay_source *source, bool is_back, uint64_t *out_ns)
{
    return (is_back ? ntk_store_reader_before(source->reader, source->time_ns, out_ns, NULL)
                    : ntk_store_reader_next(source->reader, source->time_ns, out_ns, NULL)) >= 0;
}

static bool find_jump(struct replay_source *source, bool is_back, uint64_t *out_ns)
{
    uint64_t to_ns = is_back ? source->time_ns - JUMP_NS : source->time_ns + JUMP_NS;

    return ntk_store_reader_next(source->reader, to_ns - 1, out_ns, NULL) >= 0 ||
           ntk_store_reader_before(source->reader, to_ns, out_ns, NULL) >= 0;
}

static void replay_control(struct ntk_top_source *base, enum ntk_top_control control)
{
    struct replay_source *source = (struct replay_source *)base;
    uint64_t time_ns;
    bool is_found = false;

    source->is_off = false;
    switch (control) {
    case NTK_TOP_CONTROL_PAUSE:
        source->is_paused = !source->is_paused;
        if (!source->is_paused) {
            set_timer(source, FRAME_MIN_NS);
        }
        break;
    case NTK_TOP_CONTROL_BACK:
    case NTK_TOP_CONTROL_FORWARD:
        source->is_paused = true;
        is_found = find_step(source, control == NTK_TOP_CONTROL_BACK, &time_ns);
        break;
    case NTK_TOP_CONTROL_JUMP_BACK:
    case NTK_TOP_CONTROL_JUMP_FORWARD:
        is_found = find_jump(source, control == NTK_TOP_CONTROL_JUMP_BACK, &time_ns);
        break;
    case NTK_TOP_CONTROL_SLOWER:
        source->speed_shift -= source->speed_shift > -SPEED_SHIFT_MAX;
        break;
    case NTK_TOP_CONTROL_FASTER:
        source->speed_shift += source->speed_shift < SPEED_SHIFT_MAX;
        break;
    }
    if (is_found) {
        go_to(source, time_ns);
    }
    write_note(source);
}

static const char *replay_note(const struct ntk_top_source *base)
{
    return ((const struct replay_source *)base)->note;
}

static void replay_close(struct ntk_top_source *base)
{
    struct replay_source *source = (struct replay_source *)base;

    ntk_store_reader_close(source->reader);
    if (base->fd >= 0) {
        close(base->fd);
    }
    free(source);
}

static const struct ntk_top_source_ops replay_ops = {
    .take = replay_take,
    .close = replay_close,
    .note = replay_note,
    .control = replay_control,
    .before_shown = replay_before_shown,
};

/* Finds the first moment at or after at_ns, else the last one before it. */
static int find_start(struct replay_source *source, uint64_t at_ns, struct ntk_err *err)
{
    uint64_t time_ns;

    if (ntk_store_reader_next(source->reader, at_ns > 0 ? at_ns - 1 : 0, &time_ns, NULL) < 0 &&
        ntk_store_reader_before(source->reader, at_ns, &time_ns, NULL) < 0) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "the database is empty");
    }
    source->wanted_ns = at_ns;
    go_to(source, time_ns);
    return 0;
}

int ntk_top_source_replay_open(const char *path, uint64_t at_ns, struct ntk_top_source **out_source,
                               struct ntk_err *err)
{
    struct replay_source *source = calloc(1, sizeof *source);

    if (!source) {
        return ntk_err_no_memory(err);
    }
    source->base.ops = &replay_ops;
    source->base.fd = -1;
    int ret = ntk_store_reader_open(path, &source->reader, err);
    if (ret >= 0) {
        source->base.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        if (source->base.fd < 0) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create a timer: %s",
                              strerror(errno));
        }
    }
    if (ret >= 0) {
        ret = find_start(source, at_ns, err);
        if (ret < 0) {
            ntk_err_prefix(err, "%s", path);
        }
    }
    if (ret < 0) {
        replay_close(&source->base);
        return ret;
    }
    *out_source = &source->base;
    return 0;
}
