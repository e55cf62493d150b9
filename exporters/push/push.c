/* SPDX-License-Identifier: MIT */
/* push - schedules pages. */
#include "exporters/push/push.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/points/points_page.h"
#include "shared/base/str.h"

struct ntk_push {
    struct ntk_push_peer peer;
    struct ntk_points_page page;
    uint64_t time_ns;               /* Unix time of the last snapshot */
    uint64_t pushed_ns;             /* time of the last pushed snapshot; 0 if none */
    struct ntk_push_sender *sender; /* NULL if disabled */
};

void ntk_push_host_name(char out[NTK_PUSH_HOST_BYTES])
{
    out[NTK_PUSH_HOST_BYTES - 1] = '\0';
    if (gethostname(out, NTK_PUSH_HOST_BYTES - 1) < 0 || !out[0]) {
        ntk_str_copy(out, NTK_PUSH_HOST_BYTES, "localhost");
    }
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
    ntk_push_sender_destroy(push->sender);
    ntk_points_page_fini(&push->page);
    push->peer.destroy(push->peer.ctx);
    free(push);
}

int ntk_push_create(const struct ntk_exporter_options *options, const struct ntk_push_peer *peer,
                    void **out_push, struct ntk_err *err)
{
    struct ntk_push *push = calloc(1, sizeof *push);
    int ret = 0;

    if (!push) {
        peer->destroy(peer->ctx);
        return ntk_err_no_memory(err);
    }
    push->peer = *peer;
    push->peer.receiver.clock = options->clock;
    ntk_points_page_init(&push->page, options);
    push->page.keeps_fine_latencies = peer->keeps_fine_latencies;
    if (!peer->is_disabled) {
        ret = ntk_push_sender_create(&push->peer.receiver, &push->sender, err);
    }
    if (ret < 0) {
        ntk_push_destroy(push);
        return ret;
    }
    *out_push = push;
    return 0;
}

/* State of a page being put. */
struct page_put {
    struct ntk_push *push;
    struct ntk_err *err;
    int ret; /* error of the first request that the outbox rejected */
};

/* Puts a request. Requests that the outbox rejects count as lost; the rest of the page is still
 * sent. */
static int emit(struct ntk_buf *request, uint64_t item_count, void *ctx, struct ntk_err *err)
{
    struct page_put *page = ctx;
    int ret = ntk_push_sender_put(page->push->sender, request, item_count,
                                  page->ret < 0 ? NULL : page->err);

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

    if (!push->sender) {
        return 0;
    }
    push->time_ns = ntk_snapshot_time_ns(snapshot);
    if (push->peer.see) {
        push->peer.see(push->peer.ctx, snapshot);
    }
    int updated = ntk_points_page_update(&push->page, snapshot);
    /* Do not wait longer because a clock was set back. */
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

    if (!push->sender) {
        return 1;
    }
    if (push->pushed_ns != push->time_ns) {
        ret = put_page(push, err); /* pages that were held back within the interval */
    }
    return ret < 0 ? ret : ntk_push_sender_drain(push->sender, in_haste, err);
}
