/* SPDX-License-Identifier: MIT */
/* push - schedules pages and handles the results of their requests. */
#include "exporters/push/push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "exporters/points/points_page.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"
#include "shared/http/http_gzip.h"

struct ntk_push {
    struct ntk_push_peer peer;
    struct ntk_points_page page;
    uint64_t time_ns;   /* of the last snapshot, Unix time */
    uint64_t pushed_ns; /* of the last pushed one; 0: none */
    struct ntk_http_client *client;
    struct ntk_http_answer answer;
    struct ntk_outbox *outbox; /* NULL when disabled */
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

void ntk_push_host_name(char out[NTK_PUSH_HOST_BYTES])
{
    out[NTK_PUSH_HOST_BYTES - 1] = '\0';
    if (gethostname(out, NTK_PUSH_HOST_BYTES - 1) < 0 || !out[0]) {
        ntk_str_copy(out, NTK_PUSH_HOST_BYTES, "localhost");
    }
}

/* -- sending, on the outbox's thread ----------------------------------------------------------- */

/* True: send once more, at once. */
static bool send_once(struct ntk_push *push, const void *bytes, size_t bytes_count,
                      struct ntk_outbox_answer *answer)
{
    const char *headers[NTK_PUSH_HEADERS_MAX] = { NULL };
    struct ntk_http_question question = { .headers = headers,
                                          .body = bytes,
                                          .body_bytes = bytes_count };
    struct ntk_err err = { 0 };

    answer->result = NTK_OUTBOX_RETRY;
    int ret = push->peer.address(push->peer.ctx, bytes, bytes_count, headers, &question, &err);
    if (ret < 0) {
        answer->result = ret == -EBADMSG ? NTK_OUTBOX_REFUSED : NTK_OUTBOX_RETRY;
    } else {
        ret = ntk_http_client_ask(push->client, &question, &push->answer, &err);
        if (ret >= 0) {
            return push->peer.judge(push->peer.ctx, &push->answer, answer);
        }
        if (ret == -EMSGSIZE && push->peer.refuses_long_answers) {
            answer->result = NTK_OUTBOX_REFUSED; /* it would fail again */
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
    struct ntk_push *push = ctx;

    ntk_http_client_cancel(push->client);
}

bool ntk_push_is_url(const char *url)
{
    return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}

/* -- the exporter ------------------------------------------------------------------------------ */

void ntk_push_destroy(void *ctx)
{
    struct ntk_push *push = ctx;

    if (!push) {
        return;
    }
    ntk_outbox_destroy(push->outbox);
    ntk_http_client_destroy(push->client);
    ntk_http_answer_fini(&push->answer);
    ntk_points_page_fini(&push->page);
    push->peer.destroy(push->peer.ctx);
    free(push);
}

int ntk_push_create(const struct ntk_exporter_options *options, const struct ntk_push_peer *peer,
                    void **out_push, struct ntk_err *err)
{
    struct ntk_push *push = calloc(1, sizeof *push);
    const struct ntk_outbox_options outbox = { .name = peer->name,
                                               .items = peer->items,
                                               .send = send_request,
                                               .cancel = cancel,
                                               .ctx = push,
                                               .spool_folder = peer->spool_folder };
    int ret = 0;

    if (!push) {
        peer->destroy(peer->ctx);
        return ntk_err_no_memory(err);
    }
    push->peer = *peer;
    ntk_points_page_init(&push->page, options);
    push->page.keeps_fine_latencies = peer->keeps_fine_latencies;
    if (!peer->is_disabled) {
        push->client = ntk_http_client_create();
        ret =
            push->client ? ntk_outbox_create(&outbox, &push->outbox, err) : ntk_err_no_memory(err);
    }
    if (ret < 0) {
        ntk_push_destroy(push);
        return ret;
    }
    *out_push = push;
    return 0;
}

/* A page being put. */
struct page_put {
    struct ntk_push *push;
    struct ntk_err *err;
    int ret; /* of the first request that the outbox rejected */
};

static int put_request(struct ntk_push *push, struct ntk_buf *request, uint64_t item_count,
                       struct ntk_err *err)
{
    struct ntk_buf packed = { 0 };

    if (!push->peer.has_gzip) {
        return ntk_outbox_put(push->outbox, request, item_count, err);
    }
    int ret = ntk_http_gzip(request->bytes, request->bytes_count, &packed);
    if (ret < 0) {
        ntk_buf_fini(&packed);
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot compress a request");
    }
    return ntk_outbox_put(push->outbox, &packed, item_count, err);
}

/* Requests that the outbox rejects count as lost; the rest of the page is still sent. */
static int emit(struct ntk_buf *request, uint64_t item_count, void *ctx, struct ntk_err *err)
{
    struct page_put *page = ctx;
    int ret = put_request(page->push, request, item_count, page->ret < 0 ? NULL : page->err);

    (void)err;
    page->ret = page->ret < 0 ? page->ret : ret;
    return 0;
}

static int put_page(struct ntk_push *push, struct ntk_err *err)
{
    struct page_put page = { push, err, 0 };

    push->pushed_ns = push->time_ns;
    ntk_points_page_update_process(&push->page);
    int ret = push->peer.encode(push->peer.ctx, &push->page, push->time_ns, emit, &page, err);
    return ret < 0 ? ret : page.ret;
}

int ntk_push_resume(void *ctx, const struct ntk_snapshot *totals, struct ntk_err *err)
{
    struct ntk_push *push = ctx;

    return ntk_points_page_resume(&push->page, totals) < 0 ? ntk_err_no_memory(err) : 0;
}

int ntk_push_put(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    struct ntk_push *push = ctx;

    if (!push->outbox) {
        return 0;
    }
    push->time_ns = snapshot->realtime_ns ? snapshot->realtime_ns : ntk_clock_realtime_ns();
    if (push->peer.see) {
        push->peer.see(push->peer.ctx, snapshot);
    }
    int updated = ntk_points_page_update(&push->page, snapshot);
    /* A clock that was set back is not a reason to wait. */
    bool is_due = !push->pushed_ns || push->time_ns < push->pushed_ns ||
                  push->time_ns - push->pushed_ns >= push->peer.interval_ns;
    int ret = is_due ? put_page(push, err) : 0;
    return ret < 0       ? ret
           : updated < 0 ? ntk_err_set(err, updated, NTK_ERR_NO_OFFSET,
                                       "out of memory: some runtimes are missing")
                         : 0;
}

int ntk_push_drain(void *ctx, bool in_haste, struct ntk_err *err)
{
    struct ntk_push *push = ctx;
    int ret = 0;

    if (!push->outbox) {
        return 1;
    }
    if (push->pushed_ns != push->time_ns) {
        ret = put_page(push, err); /* pages that were held back within the interval */
    }
    return ret < 0 ? ret : ntk_outbox_drain(push->outbox, in_haste, err);
}
