/* SPDX-License-Identifier: MIT */
/* outbox - sends messages with a queue in memory, a spool after it, and a thread that empties
 * both. */
#include "exporters/transport/outbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "exporters/transport/output_counts.h"
#include "exporters/transport/spool.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"

struct message {
    struct message *next;
    bool is_spooled;
    bool is_dropped; /* dropped by the spool while it was being sent */
    uint64_t number; /* number of its file */
    uint64_t item_count;
    size_t bytes_count;
    char *bytes;
};

struct ntk_outbox {
    struct ntk_outbox_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* protects all members below */
    pthread_cond_t changed;
    struct message *first; /* older than the whole spool */
    struct message **end;
    struct message *sending; /* NULL if none */
    size_t memory_bytes;
    struct ntk_spool *spool; /* NULL without a spool */
    uint64_t synced_ns;      /* time of the last sync of the spool */
    bool said_sync;
    bool is_stopping;
    bool has_ended;  /* the thread has ended */
    bool is_failing; /* the last delivery failed and is retried */
    bool said_failing;
    bool is_catching_up; /* messages of an outage wait, some in memory */
    bool said_refused;
    bool said_unread;        /* the spool could not be read, and is tried again */
    uint64_t drain_until_ns; /* 0 before the first drain() */
    struct ntk_outbox_counts counts;
    struct ntk_output_source source; /* not protected by the lock */
};

/* -- the queue; the lock is held --------------------------------------------------------------- */

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

/* Counts the items of a failed put. The caller holds the lock. */
static void count_unput(struct ntk_outbox *outbox, uint64_t item_count)
{
    outbox->counts.lost_items += outbox->options.puts_again ? 0 : item_count;
}

/* Keeps the message being sent in memory if the spool dropped it, because it may still arrive. */
static void keep_sending(struct ntk_outbox *outbox)
{
    struct message *message = outbox->sending;

    if (message && message->is_spooled && !ntk_spool_begins_with(outbox->spool, message->number)) {
        message->is_spooled = false;
        message->is_dropped = true;
        outbox->counts.lost_items -= message->item_count;
        outbox->counts.waiting_items += message->item_count;
    }
}

/* Moves the message to the spool and frees it; the spool may reject it. */
static int spool_message(struct ntk_outbox *outbox, struct message *message, struct ntk_err *err)
{
    uint64_t lost = 0;

    int ret = ntk_spool_put(outbox->spool, message->bytes, message->bytes_count,
                            message->item_count, &lost, err);
    outbox->counts.lost_items += lost;
    keep_sending(outbox);
    count_unput(outbox, ret < 0 ? message->item_count : 0);
    message_free(message);
    return ret;
}

/* Puts the message before all messages of the spool, which may reject it. */
static int message_to_front(struct ntk_outbox *outbox, struct message *message, struct ntk_err *err)
{
    int ret = ntk_spool_put_front(outbox->spool, message->bytes, message->bytes_count,
                                  message->item_count, &message->number, err);
    message->is_spooled = ret >= 0;
    return ret;
}

/* Moves the queue to the front of the spool, newest first, because the queue is older than the
 * whole spool. Messages without space remain in memory. */
static int queue_to_spool(struct ntk_outbox *outbox, struct ntk_err *err)
{
    struct message *newest = NULL;
    struct message *message;
    int ret = 0;

    while ((message = pop(outbox))) {
        message->next = newest;
        newest = message;
    }
    while ((message = newest)) {
        newest = message->next;
        ret = ret < 0 ? ret : message_to_front(outbox, message, err);
        if (ret < 0) {
            push_front(outbox, message);
        } else {
            message_free(message);
        }
    }
    return ret;
}

/* -- the thread -------------------------------------------------------------------------------- */

/* Varies a pause by up to an eighth, so that a fleet does not retry in step. */
static uint64_t vary(uint64_t ns)
{
    uint32_t random = 0;

    (void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
    return ns - ns / 8 + (uint64_t)((double)ns / 4 * random / UINT32_MAX);
}

/* Syncs the spool. The caller holds the lock, which is released while the disk writes. */
static int sync_spool(struct ntk_outbox *outbox, struct ntk_err *err)
{
    struct ntk_vec numbers;

    outbox->synced_ns = ntk_clock_now_ns(outbox->options.clock);
    if (ntk_spool_sync_begin(outbox->spool, &numbers) < 0) {
        return ntk_err_no_memory(err);
    }
    pthread_mutex_unlock(&outbox->lock);
    int ret = ntk_spool_sync_end(outbox->spool, &numbers, err);
    pthread_mutex_lock(&outbox->lock);
    return ret;
}

/* Syncs at most once per sync_ns. */
static void sync_when_due(struct ntk_outbox *outbox)
{
    struct ntk_err err = { 0 };

    if (!outbox->spool || !ntk_spool_has_changes(outbox->spool) ||
        ntk_clock_now_ns(outbox->options.clock) < outbox->synced_ns + outbox->options.sync_ns) {
        return;
    }
    int ret = sync_spool(outbox, &err);
    if (ret < 0 && !outbox->said_sync) {
        ntk_log_warn(outbox->options.name, "%s", err.text);
    }
    outbox->said_sync = ret < 0;
}

/* Waits for a change, the deadline (UINT64_MAX: none) or the next sync of the spool. The caller
 * holds the lock, which is released during the wait. */
static void wait_until(struct ntk_outbox *outbox, uint64_t at_ns)
{
    if (outbox->spool && ntk_spool_has_changes(outbox->spool)) {
        uint64_t sync_ns = outbox->synced_ns + outbox->options.sync_ns;
        at_ns = sync_ns < at_ns ? sync_ns : at_ns;
    }
    (void)ntk_cond_wait_clock(outbox->options.clock, &outbox->changed, &outbox->lock, at_ns);
    if (!outbox->is_stopping) {
        sync_when_due(outbox);
    }
}

/* Sleeps until the deadline or until the outbox stops. */
static void sleep_until(struct ntk_outbox *outbox, uint64_t at_ns)
{
    while (!outbox->is_stopping && ntk_clock_now_ns(outbox->options.clock) < at_ns) {
        wait_until(outbox, at_ns);
    }
}

/* Takes the next message, from memory or else from the spool. NULL if none waits or the spool
 * cannot be read. The caller holds the lock. */
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
        ntk_log_warn(outbox->options.name, "removed %llu damaged spool files",
                     (unsigned long long)damaged);
    }
    struct message *message = got > 0 ? calloc(1, sizeof *message) : NULL;
    if (!message) {
        ntk_buf_fini(&buf);
        if (got != 0 && !outbox->said_unread) {
            ntk_log_warn(outbox->options.name, "cannot read the spool: %s; retrying",
                         strerror(got < 0 ? -got : ENOMEM));
        }
        outbox->said_unread = got != 0;
        return NULL;
    }
    outbox->said_unread = false;
    message->is_spooled = true;
    message->number = spooled.number;
    message->item_count = spooled.item_count;
    message->bytes = ntk_buf_take(&buf, &message->bytes_count);
    return message;
}

static const char *items_name(const struct ntk_outbox *outbox)
{
    return outbox->options.items ? outbox->options.items : "items";
}

static void say_answer(struct ntk_outbox *outbox, const struct ntk_outbox_answer *answer)
{
    const char *name = outbox->options.name;

    if (answer->result == NTK_OUTBOX_REFUSED) {
        if (!outbox->said_refused) {
            ntk_log_warn(name, "rejected and dropped %llu %s: %s",
                         (unsigned long long)answer->item_count, items_name(outbox), answer->text);
        }
        outbox->said_refused = true;
    } else if (answer->result == NTK_OUTBOX_RETRY && !outbox->said_failing) {
        ntk_log_warn(name, "%s; retrying", answer->text);
        outbox->said_failing = true;
    } else if (answer->result == NTK_OUTBOX_SENT && outbox->said_failing) {
        ntk_log_warn(name, "the receiver responds again; %llu %s lost",
                     (unsigned long long)outbox->counts.lost_items, items_name(outbox));
        outbox->said_failing = false;
        outbox->is_catching_up = true;
    }
    if (answer->result == NTK_OUTBOX_SENT) {
        if (!answer->text[0] && outbox->said_refused) {
            ntk_log_warn(name, "the receiver accepts data again; %llu %s rejected so far",
                         (unsigned long long)outbox->counts.refused_items, items_name(outbox));
        }
        if (answer->text[0] && !outbox->said_refused) {
            ntk_log_warn(name, "%llu %s of a message were rejected, the rest were accepted: %s",
                         (unsigned long long)answer->refused_items, items_name(outbox),
                         answer->text);
        }
        outbox->said_refused = answer->text[0] != '\0';
    }
}

/* Moves messages to the spool, because the peer is unreachable: waiting messages, including this
 * one, must survive the program. Messages without space in the spool remain in memory. */
static void keep_on_disk(struct ntk_outbox *outbox, struct message *message)
{
    struct ntk_err ignored = { 0 };

    if (outbox->spool && !message->is_spooled && queue_to_spool(outbox, &ignored) >= 0 &&
        message_to_front(outbox, message, &ignored) >= 0) {
        outbox->counts.waiting_items -= message->item_count; /* from now on the spool counts it */
        message->is_dropped = false;
    }
}

/* Sends until the message is accepted or rejected; false if the outbox stops, and the message then
 * waits again. The caller holds the lock, which is released while sending and waiting. */
static bool send_one(struct ntk_outbox *outbox, struct message *message)
{
    const struct ntk_outbox_options *options = &outbox->options;
    uint64_t pause_ns = options->pause_min_ns;

    for (;;) {
        struct ntk_outbox_answer answer = { .item_count = message->item_count,
                                            .result = NTK_OUTBOX_RETRY };

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
        keep_on_disk(outbox, message);
        uint64_t wait_ns = vary(pause_ns);
        if (answer.retry_after_ns > wait_ns) {
            wait_ns = answer.retry_after_ns;
        }
        sleep_until(outbox, ntk_clock_now_ns(outbox->options.clock) + wait_ns);
        if (outbox->is_stopping) {
            return false;
        }
        pause_ns = pause_ns * 2 < options->pause_max_ns ? pause_ns * 2 : options->pause_max_ns;
    }
}

/* Returns memory to the system once the messages of an outage are gone. */
static void trim_when_done(struct ntk_outbox *outbox)
{
    if (outbox->is_catching_up && !outbox->said_unread) {
        outbox->is_catching_up = false;
        ntk_memory_trim();
    }
}

static void *run(void *ctx)
{
    struct ntk_outbox *outbox = ctx;

    pthread_mutex_lock(&outbox->lock);
    while (!outbox->is_stopping) {
        struct message *message = take_next(outbox);
        if (!message) {
            trim_when_done(outbox);
            wait_until(outbox, outbox->said_unread ? ntk_clock_now_ns(outbox->options.clock) +
                                                         outbox->options.pause_max_ns
                                                   : UINT64_MAX);
            continue;
        }
        /* A message being sent is in neither queue, but a spooled message still has its file. */
        outbox->counts.waiting_items += message->is_spooled ? 0 : message->item_count;
        outbox->sending = message;
        bool is_done = send_one(outbox, message);
        outbox->sending = NULL;
        outbox->counts.waiting_items -= message->is_spooled ? 0 : message->item_count;
        if (is_done && message->is_spooled) {
            (void)ntk_spool_remove(outbox->spool, message->number);
        }
        if (!is_done && message->is_dropped) {
            outbox->counts.lost_items += message->item_count;
        }
        if (is_done || message->is_spooled || message->is_dropped) {
            message_free(message);
        } else {
            push_front(outbox, message);
        }
        pthread_cond_broadcast(&outbox->changed);
        sync_when_due(outbox);
    }
    pthread_mutex_unlock(&outbox->lock);
    return NULL;
}

/* -- open, put, end ---------------------------------------------------------------------------- */

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
    if (!options->sync_ns) {
        options->sync_ns = NTK_OUTBOX_SYNC_NS;
    }
}

/* Reads the counts for the page of the process. */
static void read_counts(void *ctx, struct ntk_output_counts *counts)
{
    struct ntk_outbox *outbox = ctx;

    pthread_mutex_lock(&outbox->lock);
    counts->sent_items += outbox->counts.sent_items;
    counts->refused_items += outbox->counts.refused_items;
    counts->lost_items += outbox->counts.lost_items;
    counts->retry_count += outbox->counts.retry_count;
    counts->memory_items += outbox->counts.waiting_items + memory_items(outbox);
    counts->spool_items += outbox->spool ? ntk_spool_item_count(outbox->spool) : 0;
    pthread_mutex_unlock(&outbox->lock);
}

int ntk_outbox_create(const struct ntk_outbox_options *options, struct ntk_outbox **out_outbox,
                      struct ntk_err *err)
{
    struct ntk_outbox *outbox = calloc(1, sizeof *outbox);

    if (!outbox) {
        return ntk_err_no_memory(err);
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
    pthread_cond_init(&outbox->changed, NULL);
    int ret = pthread_create(&outbox->thread, NULL, run, outbox);
    if (ret != 0) {
        ntk_spool_close(outbox->spool);
        free(outbox);
        return ntk_err_set(err, -ret, NTK_ERR_NO_OFFSET, "cannot start a thread: %s",
                           strerror(ret));
    }
    outbox->source =
        (struct ntk_output_source){ .name = options->name, .read = read_counts, .ctx = outbox };
    ntk_output_source_add(&outbox->source);
    *out_outbox = outbox;
    return 0;
}

/* Makes space: without a spool, drops the oldest message. */
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
        count_unput(outbox, item_count);
        pthread_mutex_unlock(&outbox->lock);
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "%s: %s, %llu %s %s", outbox->options.name,
                           ret == -ENOMEM ? "out of memory" : "a message is too long",
                           (unsigned long long)item_count, items_name(outbox),
                           outbox->options.puts_again ? "delayed" : "lost");
    }
    message->item_count = item_count;
    message->bytes = ntk_buf_take(buf, &message->bytes_count);
    pthread_mutex_lock(&outbox->lock);
    /* If the spool has messages, as it does while the peer is unreachable, new messages also go
     * through it, to keep the order. */
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

void ntk_outbox_give_up(struct ntk_outbox *outbox, uint64_t item_count)
{
    if (item_count == 0) {
        return;
    }
    pthread_mutex_lock(&outbox->lock);
    outbox->counts.lost_items += item_count;
    pthread_mutex_unlock(&outbox->lock);
    ntk_log_warn(outbox->options.name, "%llu delayed %s lost", (unsigned long long)item_count,
                 items_name(outbox));
}

static void lose_queue(struct ntk_outbox *outbox)
{
    outbox->counts.lost_items += memory_items(outbox);
    for (struct message *message = pop(outbox); message; message = pop(outbox)) {
        message_free(message);
    }
}

/* Stops the thread and writes waiting messages to disk. Later calls do nothing. */
static int stop(struct ntk_outbox *outbox, struct ntk_err *err)
{
    struct ntk_err cause = { 0 };
    int ret = 0;

    if (outbox->has_ended) {
        return 0;
    }
    pthread_mutex_lock(&outbox->lock);
    outbox->is_stopping = true;
    pthread_cond_broadcast(&outbox->changed);
    pthread_mutex_unlock(&outbox->lock);
    if (outbox->options.cancel) {
        outbox->options.cancel(outbox->options.ctx);
    }
    pthread_join(outbox->thread, NULL);
    outbox->has_ended = true;
    pthread_mutex_lock(&outbox->lock);
    if (outbox->spool) {
        (void)queue_to_spool(outbox, &cause);
    }
    uint64_t lost = memory_items(outbox);
    if (lost) {
        lose_queue(outbox);
        ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s%s%llu %s lost", cause.text,
                          cause.text[0] ? "; " : "", (unsigned long long)lost, items_name(outbox));
    }
    if (outbox->spool && ntk_spool_has_changes(outbox->spool)) {
        int synced = sync_spool(outbox, ret < 0 ? &cause : err);
        ret = ret < 0 ? ret : synced;
    }
    pthread_mutex_unlock(&outbox->lock);
    return ret;
}

void ntk_outbox_destroy(struct ntk_outbox *outbox)
{
    if (!outbox) {
        return;
    }
    struct ntk_err err = { 0 };
    ntk_output_source_remove(&outbox->source);
    if (stop(outbox, &err) < 0) {
        ntk_log_warn(outbox->options.name, "%s", err.text);
    }
    ntk_spool_close(outbox->spool);
    pthread_cond_destroy(&outbox->changed);
    pthread_mutex_destroy(&outbox->lock);
    free(outbox);
}

int ntk_outbox_drain(struct ntk_outbox *outbox, bool in_haste, struct ntk_err *err)
{
    uint64_t now_ns = ntk_clock_now_ns(outbox->options.clock);
    struct ntk_err cause = { 0 };

    if (!outbox->drain_until_ns) {
        outbox->drain_until_ns = now_ns + outbox->options.drain_ns;
    }
    if (!in_haste && now_ns < outbox->drain_until_ns) {
        return ntk_outbox_counts_get(outbox).waiting_items == 0;
    }
    if (stop(outbox, &cause) >= 0) {
        return 1;
    }
    return ntk_err_set(err, in_haste ? -EINTR : -ETIMEDOUT, NTK_ERR_NO_OFFSET, "%s: %s; %s",
                       outbox->options.name,
                       in_haste ? "stopped before everything was sent" : "timed out", cause.text);
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
