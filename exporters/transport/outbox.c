/* SPDX-License-Identifier: MIT */
/* outbox - a queue in memory, a spool behind it, and the thread that empties both. */
#include "exporters/transport/outbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "exporters/transport/spool.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

struct message {
    struct message *next;
    bool is_spooled;
    uint64_t number; /* of its file */
    uint64_t item_count;
    size_t bytes_count;
    char *bytes;
};

struct ntk_outbox {
    struct ntk_outbox_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* everything below */
    pthread_cond_t changed;
    struct message *first; /* older than all of the spool */
    struct message **end;
    size_t memory_bytes;
    struct ntk_spool *spool; /* NULL without */
    bool is_stopping;
    bool is_failing; /* the last sending has to be done again */
    bool said_failing;
    bool said_refused;
    uint64_t drain_until_ns; /* 0 before the first drain() */
    struct ntk_outbox_counts counts;
};

/* -- the queue; the lock is held ---------------------------------------------------------------- */

static void push(struct ntk_outbox *outbox, struct message *message)
{
    message->next = NULL;
    *outbox->end = message;
    outbox->end = &message->next;
    outbox->memory_bytes += message->bytes_count;
}

static void push_front(struct ntk_outbox *outbox, struct message *message)
{
    if (!outbox->first) {
        outbox->end = &message->next;
    }
    message->next = outbox->first;
    outbox->first = message;
    outbox->memory_bytes += message->bytes_count;
}

static struct message *pop(struct ntk_outbox *outbox)
{
    struct message *message = outbox->first;

    if (message) {
        outbox->first = message->next;
        if (!outbox->first) {
            outbox->end = &outbox->first;
        }
        outbox->memory_bytes -= message->bytes_count;
    }
    return message;
}

static void message_free(struct message *message)
{
    if (message) {
        free(message->bytes);
        free(message);
    }
}

static uint64_t memory_items(const struct ntk_outbox *outbox)
{
    uint64_t items = 0;

    for (const struct message *message = outbox->first; message; message = message->next) {
        items += message->item_count;
    }
    return items;
}

/* To the spool; its items are lost when it does not take them. Frees the message. */
static int spool_message(struct ntk_outbox *outbox, struct message *message, struct ntk_err *err)
{
    uint64_t lost = 0;

    int ret = ntk_spool_put(outbox->spool, message->bytes, message->bytes_count,
                            message->item_count, &lost, err);
    outbox->counts.lost_items += lost + (ret < 0 ? message->item_count : 0);
    message_free(message);
    return ret;
}

/* -- the thread --------------------------------------------------------------------------------- */

/* Up to an eighth less or more, so that a fleet does not knock in step. */
static uint64_t vary(uint64_t ns)
{
    uint32_t random = 0;

    (void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
    return ns - ns / 8 + (uint64_t)((double)ns / 4 * random / UINT32_MAX);
}

/* Until the time is over or the outbox stops. The lock is held. */
static void sleep_until(struct ntk_outbox *outbox, uint64_t at_ns)
{
    struct timespec at = { .tv_sec = (time_t)(at_ns / NTK_NS_PER_SECOND),
                           .tv_nsec = (long)(at_ns % NTK_NS_PER_SECOND) };

    while (!outbox->is_stopping &&
           pthread_cond_timedwait(&outbox->changed, &outbox->lock, &at) != ETIMEDOUT) {
    }
}

/* What is sent next: from memory, else from the spool. NULL when nothing waits. The lock is held. */
static struct message *take_next(struct ntk_outbox *outbox)
{
    struct ntk_spool_message spooled;
    struct ntk_buf buf = { 0 };
    uint64_t damaged = 0;

    if (outbox->first || !outbox->spool) {
        return pop(outbox);
    }
    uint64_t before = ntk_spool_item_count(outbox->spool);
    int got = ntk_spool_first(outbox->spool, &buf, &spooled, &damaged);
    if (damaged) {
        outbox->counts.lost_items += before - ntk_spool_item_count(outbox->spool);
        ntk_log_warn(outbox->options.name, "%llu damaged files of the spool are removed",
                     (unsigned long long)damaged);
    }
    struct message *message = got ? calloc(1, sizeof *message) : NULL;
    if (!message) {
        ntk_buf_fini(&buf);
        return NULL;
    }
    message->is_spooled = true;
    message->number = spooled.number;
    message->item_count = spooled.item_count;
    message->bytes = ntk_buf_take(&buf, &message->bytes_count);
    return message;
}

static void say_answer(struct ntk_outbox *outbox, const struct ntk_outbox_answer *answer)
{
    const char *name = outbox->options.name;

    if (answer->result == NTK_OUTBOX_REFUSED) {
        if (!outbox->said_refused) {
            ntk_log_warn(name, "refused, and dropped: %s", answer->text);
        }
        outbox->said_refused = true;
    } else if (answer->result == NTK_OUTBOX_RETRY && !outbox->said_failing) {
        ntk_log_warn(name, "%s; trying again", answer->text);
        outbox->said_failing = true;
    } else if (answer->result == NTK_OUTBOX_SENT && outbox->said_failing) {
        ntk_log_warn(name, "sending again; %llu lost",
                     (unsigned long long)outbox->counts.lost_items);
        outbox->said_failing = false;
    }
    if (answer->result == NTK_OUTBOX_SENT) {
        if (answer->text[0] && !outbox->said_refused) {
            ntk_log_warn(name, "%llu items of a message are refused, the rest is taken: %s",
                         (unsigned long long)answer->refused_items, answer->text);
        }
        outbox->said_refused = answer->text[0] != '\0';
    }
}

/* Sends until it is taken, refused, or the outbox stops: then false, and the message waits again. The
 * lock is held, but while sending and waiting. */
static bool send_one(struct ntk_outbox *outbox, const struct message *message)
{
    const struct ntk_outbox_options *options = &outbox->options;
    uint64_t pause_ns = options->pause_min_ns;

    for (;;) {
        struct ntk_outbox_answer answer = { .result = NTK_OUTBOX_RETRY };

        pthread_mutex_unlock(&outbox->lock);
        options->send(options->ctx, message->bytes, message->bytes_count, &answer);
        pthread_mutex_lock(&outbox->lock);
        outbox->is_failing = answer.result == NTK_OUTBOX_RETRY;
        if (!(outbox->is_stopping && outbox->is_failing)) {
            say_answer(outbox, &answer);
        }
        if (answer.result == NTK_OUTBOX_SENT) {
            uint64_t refused = answer.refused_items < message->item_count ? answer.refused_items
                                                                          : message->item_count;
            outbox->counts.sent_items += message->item_count - refused;
            outbox->counts.refused_items += refused;
            return true;
        }
        if (answer.result == NTK_OUTBOX_REFUSED) {
            outbox->counts.refused_items += message->item_count;
            return true;
        }
        outbox->counts.retry_count++;
        uint64_t wait_ns = vary(pause_ns);
        if (answer.retry_after_ns > wait_ns) {
            wait_ns = answer.retry_after_ns;
        }
        sleep_until(outbox, ntk_clock_monotonic_ns() + wait_ns);
        if (outbox->is_stopping) {
            return false;
        }
        pause_ns = pause_ns * 2 < options->pause_max_ns ? pause_ns * 2 : options->pause_max_ns;
    }
}

static void *run(void *ctx)
{
    struct ntk_outbox *outbox = ctx;

    pthread_mutex_lock(&outbox->lock);
    while (!outbox->is_stopping) {
        struct message *message = take_next(outbox);
        if (!message) {
            pthread_cond_wait(&outbox->changed, &outbox->lock);
            continue;
        }
        /* While it is sent it is in neither queue, but a spooled one still has its file. */
        uint64_t items = message->is_spooled ? 0 : message->item_count;
        outbox->counts.waiting_items += items;
        bool is_done = send_one(outbox, message);
        outbox->counts.waiting_items -= items;
        if (is_done && message->is_spooled) {
            ntk_spool_remove(outbox->spool, message->number);
        }
        if (is_done || message->is_spooled) {
            message_free(message);
        } else {
            push_front(outbox, message);
        }
        pthread_cond_broadcast(&outbox->changed);
    }
    pthread_mutex_unlock(&outbox->lock);
    return NULL;
}

/* -- open, put, end ----------------------------------------------------------------------------- */

static void set_defaults(struct ntk_outbox_options *options)
{
    if (!options->memory_bytes_max) {
        options->memory_bytes_max = NTK_OUTBOX_MEMORY_BYTES;
    }
    if (!options->spool_bytes_max) {
        options->spool_bytes_max = NTK_OUTBOX_SPOOL_BYTES;
    }
    if (!options->pause_min_ns) {
        options->pause_min_ns = NTK_OUTBOX_PAUSE_MIN_NS;
    }
    if (!options->pause_max_ns) {
        options->pause_max_ns = NTK_OUTBOX_PAUSE_MAX_NS;
    }
    if (!options->drain_ns) {
        options->drain_ns = NTK_OUTBOX_DRAIN_NS;
    }
}

int ntk_outbox_create(const struct ntk_outbox_options *options, struct ntk_outbox **out_outbox,
                      struct ntk_err *err)
{
    struct ntk_outbox *outbox = calloc(1, sizeof *outbox);
    pthread_condattr_t attributes;

    if (!outbox) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    outbox->options = *options;
    outbox->end = &outbox->first;
    set_defaults(&outbox->options);
    if (options->spool_folder) {
        int ret = ntk_spool_open(options->spool_folder, outbox->options.spool_bytes_max,
                                 NTK_OUTBOX_MESSAGE_BYTES_MAX, &outbox->spool, err);
        if (ret < 0) {
            free(outbox);
            return ret;
        }
    }
    pthread_mutex_init(&outbox->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&outbox->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    int ret = pthread_create(&outbox->thread, NULL, run, outbox);
    if (ret != 0) {
        ntk_spool_close(outbox->spool);
        free(outbox);
        return ntk_err_set(err, -ret, NTK_ERR_NO_OFFSET, "cannot start a thread: %s",
                           strerror(ret));
    }
    *out_outbox = outbox;
    return 0;
}

/* Without a spool the oldest goes. */
static void make_room(struct ntk_outbox *outbox)
{
    while (outbox->memory_bytes > outbox->options.memory_bytes_max && outbox->first) {
        struct message *oldest = pop(outbox);
        outbox->counts.lost_items += oldest->item_count;
        message_free(oldest);
    }
}

int ntk_outbox_put(struct ntk_outbox *outbox, struct ntk_buf *buf, uint64_t item_count,
                   struct ntk_err *err)
{
    struct message *message = ntk_buf_ok(buf) ? calloc(1, sizeof *message) : NULL;
    int ret = 0;

    if (!message || buf->bytes_count > NTK_OUTBOX_MESSAGE_BYTES_MAX) {
        ret = message ? -EMSGSIZE : -ENOMEM;
        free(message);
        ntk_buf_fini(buf);
        pthread_mutex_lock(&outbox->lock);
        outbox->counts.lost_items += item_count;
        pthread_mutex_unlock(&outbox->lock);
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "%s: %s, %llu items are lost",
                           outbox->options.name,
                           ret == -ENOMEM ? "out of memory" : "a message is too long",
                           (unsigned long long)item_count);
    }
    message->item_count = item_count;
    message->bytes = ntk_buf_take(buf, &message->bytes_count);
    pthread_mutex_lock(&outbox->lock);
    /* In order: behind a spool that has something everything goes through the spool. */
    bool is_full = outbox->memory_bytes + message->bytes_count > outbox->options.memory_bytes_max;
    if (outbox->spool && (is_full || ntk_spool_count(outbox->spool) > 0)) {
        ret = spool_message(outbox, message, err);
    } else {
        push(outbox, message);
        make_room(outbox);
    }
    pthread_cond_broadcast(&outbox->changed);
    pthread_mutex_unlock(&outbox->lock);
    return ret;
}

/* What waits in memory goes in front of the spool, the newest first, for it is older than all there. The
 * thread has ended. */
static void spool_rest(struct ntk_outbox *outbox)
{
    struct message *newest = NULL;
    struct message *message;
    struct ntk_err err = { 0 };

    while ((message = pop(outbox))) {
        message->next = newest;
        newest = message;
    }
    while ((message = newest)) {
        newest = message->next;
        if (!outbox->spool ||
            ntk_spool_put_front(outbox->spool, message->bytes, message->bytes_count,
                                message->item_count, &err) < 0) {
            outbox->counts.lost_items += message->item_count;
        }
        message_free(message);
    }
    if (err.text[0]) {
        ntk_log_warn(outbox->options.name, "%s; %llu items are lost", err.text,
                     (unsigned long long)outbox->counts.lost_items);
    }
}

static void stop(struct ntk_outbox *outbox)
{
    pthread_mutex_lock(&outbox->lock);
    outbox->is_stopping = true;
    pthread_cond_broadcast(&outbox->changed);
    pthread_mutex_unlock(&outbox->lock);
    if (outbox->options.cancel) {
        outbox->options.cancel(outbox->options.ctx);
    }
    pthread_join(outbox->thread, NULL);
}

void ntk_outbox_destroy(struct ntk_outbox *outbox)
{
    if (!outbox) {
        return;
    }
    stop(outbox);
    spool_rest(outbox);
    ntk_spool_close(outbox->spool);
    pthread_cond_destroy(&outbox->changed);
    pthread_mutex_destroy(&outbox->lock);
    free(outbox);
}

int ntk_outbox_drain(struct ntk_outbox *outbox, bool in_haste, struct ntk_err *err)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();
    struct ntk_outbox_counts counts = ntk_outbox_counts_get(outbox);

    if (!outbox->drain_until_ns) {
        outbox->drain_until_ns = now_ns + outbox->options.drain_ns;
    }
    if (in_haste) {
        outbox->drain_until_ns = now_ns;
    }
    if (counts.waiting_items == 0 || (now_ns >= outbox->drain_until_ns && outbox->spool)) {
        return 1;
    }
    if (now_ns < outbox->drain_until_ns) {
        return 0;
    }
    return ntk_err_set(err, -ETIMEDOUT, NTK_ERR_NO_OFFSET,
                       "%s: not reached in time; %llu items are lost", outbox->options.name,
                       (unsigned long long)counts.waiting_items);
}

struct ntk_outbox_counts ntk_outbox_counts_get(struct ntk_outbox *outbox)
{
    pthread_mutex_lock(&outbox->lock);
    struct ntk_outbox_counts counts = outbox->counts;
    counts.waiting_items += memory_items(outbox);
    counts.waiting_items += outbox->spool ? ntk_spool_item_count(outbox->spool) : 0;
    pthread_mutex_unlock(&outbox->lock);
    return counts;
}
