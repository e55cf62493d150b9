/* SPDX-License-Identifier: MIT */
/* push_sender - sends requests in an outbox's thread, and reads the results from responses. */
#include "exporters/push/push_sender.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shared/http/http_client.h"
#include "shared/http/http_gzip.h"

struct ntk_push_sender {
    struct ntk_push_receiver receiver;
    struct ntk_http_client *client;
    struct ntk_http_answer answer;
    struct ntk_outbox *outbox;
};

bool ntk_push_header_is_own(const char *name, size_t name_bytes)
{
    static const char *const own[] = { "content-type", "content-encoding", "content-length",
                                       "transfer-encoding", "host" };

    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (strlen(own[i]) == name_bytes && strncasecmp(name, own[i], name_bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* -- on the outbox's thread ----------------------------------------------------------- */

/* Returns true to send again immediately. */
static bool send_once(struct ntk_push_sender *sender, const void *bytes, size_t bytes_count,
                      struct ntk_outbox_answer *answer)
{
    const char *headers[NTK_PUSH_HEADERS_MAX] = { NULL };
    struct ntk_http_question question = { .headers = headers,
                                          .body = bytes,
                                          .body_bytes = bytes_count };
    struct ntk_err err = { 0 };

    answer->result = NTK_OUTBOX_RETRY;
    int ret = sender->receiver.address(sender->receiver.ctx, bytes, bytes_count, headers, &question,
                                       &err);
    if (ret < 0) {
        answer->result = ret == -EBADMSG ? NTK_OUTBOX_REFUSED : NTK_OUTBOX_RETRY;
    } else {
        ret = ntk_http_client_ask(sender->client, &question, &sender->answer, &err);
        if (ret >= 0) {
            return sender->receiver.judge(sender->receiver.ctx, &sender->answer, answer);
        }
        if (ret == -EMSGSIZE && sender->receiver.refuses_long_answers) {
            answer->result = NTK_OUTBOX_REFUSED; /* a retry would fail again */
        }
    }
    (void)snprintf(answer->text, sizeof answer->text, "%.250s", err.text);
    return false;
}

static void send_request(void *ctx, const void *bytes, size_t bytes_count,
                         struct ntk_outbox_answer *answer)
{
    while (send_once(ctx, bytes, bytes_count, answer)) {
    }
}

static void cancel(void *ctx)
{
    struct ntk_push_sender *sender = ctx;

    ntk_http_client_cancel(sender->client);
}

/* -- on the caller's thread -------------------------------------------------------------------- */

void ntk_push_sender_destroy(struct ntk_push_sender *sender)
{
    if (!sender) {
        return;
    }
    ntk_outbox_destroy(sender->outbox);
    ntk_http_client_destroy(sender->client);
    ntk_http_answer_fini(&sender->answer);
    free(sender);
}

int ntk_push_sender_create(const struct ntk_push_receiver *receiver,
                           struct ntk_push_sender **out_sender, struct ntk_err *err)
{
    struct ntk_push_sender *sender = calloc(1, sizeof *sender);
    const struct ntk_outbox_options outbox = { .name = receiver->name,
                                               .items = receiver->items,
                                               .send = send_request,
                                               .cancel = cancel,
                                               .ctx = sender,
                                               .puts_again = receiver->puts_again,
                                               .spool_folder = receiver->spool_folder,
                                               .clock = receiver->clock };

    if (!sender) {
        return ntk_err_no_memory(err);
    }
    sender->receiver = *receiver;
    sender->client = ntk_http_client_create();
    int ret =
        sender->client ? ntk_outbox_create(&outbox, &sender->outbox, err) : ntk_err_no_memory(err);
    if (ret < 0) {
        ntk_push_sender_destroy(sender);
        return ret;
    }
    *out_sender = sender;
    return 0;
}

int ntk_push_sender_put(struct ntk_push_sender *sender, struct ntk_buf *message,
                        uint64_t item_count, struct ntk_err *err)
{
    struct ntk_buf packed = { 0 };

    if (!sender->receiver.has_gzip) {
        return ntk_outbox_put(sender->outbox, message, item_count, err);
    }
    packed.failed = ntk_http_gzip(message->bytes, message->bytes_count, &packed) < 0;
    return ntk_outbox_put(sender->outbox, &packed, item_count, err);
}

int ntk_push_sender_drain(struct ntk_push_sender *sender, bool in_haste, struct ntk_err *err)
{
    return ntk_outbox_drain(sender->outbox, in_haste, err);
}
