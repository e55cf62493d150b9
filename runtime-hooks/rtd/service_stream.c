/* SPDX-License-Identifier: MIT */
/*
 * service_stream - implements nrt.nmgr_stream: inferences on one stream. Requests are posted as
 * they arrive, and answered in order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/rtd/rtd_manager.h"

/* Maximum number of unanswered requests per stream; beyond it the next request is not read. */
#define UNANSWERED_MAX 256
#define UNANSWERED_BYTES_MAX (UINT64_C(64) << 20)

struct entry {
    struct entry *next;
    struct stream *stream;
    struct rtd_inference *inference; /* NULL if rejected, with the reason below */
    bool is_done;
    enum _Nrt__Nerr code;
    char details[NTK_ERR_TEXT_BYTES];
};

struct stream {
    struct ntk_rpc_call *call; /* NULL if out of memory */
    struct entry *first, **last;
    size_t count;
    uint64_t bytes;
    bool is_sending, is_paused;
    bool is_ended; /* the client has sent everything */
    bool is_finished;
};

static bool is_full(const struct stream *stream)
{
    return stream->count >= UNANSWERED_MAX || stream->bytes >= UNANSWERED_BYTES_MAX;
}

static void refusal_send(const struct entry *entry, struct ntk_rpc_call *call)
{
    Nrt__InferResponse reply = NRT__INFER_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;

    status.code = (int)entry->code;
    status.details.data = (uint8_t *)entry->details;
    status.details.len = strlen(entry->details);
    reply.status = &status;
    ntk_rpc_call_send(call, &reply.base);
}

static void first_send(struct stream *stream)
{
    struct entry *entry = stream->first;

    stream->is_sending = true;
    stream->first = entry->next;
    stream->last = stream->first ? stream->last : &stream->first;
    stream->count--;
    if (entry->inference) {
        stream->bytes -= rtd_infer_bytes_get(entry->inference);
        rtd_infer_send(entry->inference, stream->call);
        rtd_infer_end(entry->inference);
    } else {
        refusal_send(entry, stream->call);
    }
    free(entry);
}

/* Does everything that is possible now. The caller holds the lock. */
static void resume(struct stream *stream)
{
    if (stream->is_finished) {
        return;
    }
    if (!stream->is_sending && stream->first && stream->first->is_done) {
        first_send(stream);
    }
    if (stream->is_paused && !is_full(stream)) {
        stream->is_paused = false;
        ntk_rpc_call_read(stream->call);
    }
    if (stream->is_ended && !stream->first && !stream->is_sending) {
        stream->is_finished = true;
        ntk_rpc_call_finish(stream->call, NULL, NTK_RPC_OK, NULL);
    }
}

static void over(void *ctx)
{
    struct entry *entry = ctx;

    entry->is_done = true;
    resume(entry->stream);
}

/* Appends an entry. Returns NULL if out of memory; the call was then answered. */
static struct entry *entry_add(struct stream *stream, struct ntk_rpc_call *call)
{
    struct entry *entry = stream ? calloc(1, sizeof *entry) : NULL;

    if (!entry) {
        if (stream) {
            stream->is_finished = true;
        }
        ntk_rpc_call_finish(call, NULL, NTK_RPC_INTERNAL, "out of memory");
        return NULL;
    }
    entry->stream = stream;
    *stream->last = entry;
    stream->last = &entry->next;
    stream->count++;
    return entry;
}

static void refuse(struct entry *entry, enum _Nrt__Nerr code, const char *why)
{
    entry->code = code;
    entry->is_done = true;
    (void)snprintf(entry->details, sizeof entry->details, "%s", why);
}

/* Returns true if the next request is to be read now. */
static bool go_on_reading(struct stream *stream)
{
    resume(stream);
    stream->is_paused = is_full(stream);
    return !stream->is_paused;
}

void rtd_stream_opened(struct ntk_rpc_call *call)
{
    struct stream *stream = calloc(1, sizeof *stream);

    if (stream) {
        stream->call = call;
        stream->last = &stream->first;
        ntk_rpc_call_own_set(call, stream);
    }
}

bool rtd_stream_message(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    struct stream *stream = ntk_rpc_call_own_get(call);
    bool reads_on = false;

    pthread_mutex_lock(&manager->lock);
    struct entry *entry = entry_add(stream, call);
    if (entry && !manager->core) {
        refuse(entry, NRT__NERR__NERR_HW_ERROR, manager->why.text);
    } else if (entry) {
        entry->inference = rtd_infer_begin(manager, (const void *)message, over, entry,
                                           &entry->code, entry->details);
        entry->is_done = !entry->inference;
        stream->bytes += entry->inference ? rtd_infer_bytes_get(entry->inference) : 0;
    }
    if (entry) {
        reads_on = go_on_reading(stream);
    }
    pthread_mutex_unlock(&manager->lock);
    return reads_on;
}

void rtd_stream_refused(struct ntk_rpc_call *call, const char *why)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    struct stream *stream = ntk_rpc_call_own_get(call);

    pthread_mutex_lock(&manager->lock);
    struct entry *entry = entry_add(stream, call);
    if (entry) {
        refuse(entry, NRT__NERR__NERR_INVALID, why);
        if (go_on_reading(stream)) {
            ntk_rpc_call_read(call);
        }
    }
    pthread_mutex_unlock(&manager->lock);
}

void rtd_stream_ended(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    struct stream *stream = ntk_rpc_call_own_get(call);

    if (!stream) {
        ntk_rpc_call_finish(call, NULL, NTK_RPC_INTERNAL, "out of memory");
        return;
    }
    pthread_mutex_lock(&manager->lock);
    stream->is_ended = true;
    resume(stream);
    pthread_mutex_unlock(&manager->lock);
}

void rtd_stream_sent(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    struct stream *stream = ntk_rpc_call_own_get(call);

    pthread_mutex_lock(&manager->lock);
    stream->is_sending = false;
    resume(stream);
    pthread_mutex_unlock(&manager->lock);
}

void rtd_stream_gone(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    struct stream *stream = ntk_rpc_call_own_get(call);

    if (!stream) {
        return;
    }
    pthread_mutex_lock(&manager->lock);
    while (stream->first) {
        struct entry *entry = stream->first;

        stream->first = entry->next;
        if (entry->inference) {
            rtd_infer_end(entry->inference);
        }
        free(entry);
    }
    pthread_mutex_unlock(&manager->lock);
    free(stream);
}
