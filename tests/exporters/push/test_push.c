/* SPDX-License-Identifier: MIT */
/* Method: a peer with two requests per page, and no receiver; counts where the items are. */
#include "exporters/push/push.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/transport/output_counts.h"
#include "shared/base/clock.h"
#include "shared/http/http_client.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

struct peer {
    bool first_is_too_long;
    unsigned pages;
    unsigned seen;
    uint64_t time_ns;
};

static unsigned destroyed;

static int address(void *ctx, const void *bytes, size_t bytes_count, const char **headers,
                   struct ntk_http_question *question, struct ntk_err *err)
{
    (void)err;
    (void)ctx;
    (void)bytes;
    (void)bytes_count;
    (void)headers;
    question->url = "http://127.0.0.1:1/";
    question->timeout_ns = NTK_NS_PER_SECOND;
    return 0;
}

static bool judge(void *ctx, const struct ntk_http_answer *answer,
                  struct ntk_outbox_answer *out_answer)
{
    (void)ctx;
    (void)answer;
    out_answer->result = NTK_OUTBOX_RETRY;
    return false;
}

static void see(void *ctx, const struct ntk_snapshot *snapshot)
{
    struct peer *peer = ctx;

    peer->seen += snapshot != NULL;
}

static int encode(void *ctx, const struct ntk_points_page *page, uint64_t time_ns,
                  ntk_push_emit *emit, void *emit_ctx, struct ntk_err *err)
{
    struct peer *peer = ctx;
    int ret = 0;

    (void)page;
    peer->pages++;
    peer->time_ns = time_ns;
    for (int i = 0; ret >= 0 && i < 2; i++) {
        struct ntk_buf request = { 0 };
        size_t bytes = i == 0 && peer->first_is_too_long ? NTK_OUTBOX_MESSAGE_BYTES_MAX + 1 : 100;
        char *text = calloc(1, bytes);
        assert_non_null(text);
        ntk_buf_add(&request, text, bytes);
        free(text);
        ret = emit(&request, i == 0 ? 7 : 3, emit_ctx, err);
        ntk_buf_fini(&request);
    }
    return ret;
}

static void destroy(void *ctx)
{
    (void)ctx;
    destroyed++;
}

static void *create(struct peer *peer, bool is_disabled, uint64_t interval_ns)
{
    const struct ntk_exporter_options options = { 0 };
    const struct ntk_push_peer of = {
        .receiver = { .name = "test", .address = address, .judge = judge, .ctx = peer },
        .is_disabled = is_disabled,
        .interval_ns = interval_ns,
        .see = see,
        .encode = encode,
        .destroy = destroy,
        .ctx = peer
    };
    struct ntk_err err = { 0 };
    void *push;

    assert_int_equal(ntk_push_create(&options, &of, &push, &err), 0);
    return push;
}

static int put_at(void *push, uint64_t seconds, struct ntk_err *err)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);

    snapshot->realtime_ns = seconds * NTK_NS_PER_SECOND;
    int ret = ntk_push_put(push, snapshot, err);
    ntk_snapshot_destroy(snapshot);
    return ret;
}

static void a_too_long_request_is_dropped_without_affecting_others(void **state)
{
    struct peer peer = { .first_is_too_long = true };
    struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX];
    struct ntk_err err = { 0 };
    void *push = create(&peer, false, 0);

    (void)state;
    assert_int_equal(put_at(push, 1000, &err), -EMSGSIZE);
    assert_true(err.text[0]);
    assert_int_equal(ntk_output_counts_read(rows), 1);
    assert_int_equal(rows[0].lost_items, 7);
    assert_int_equal(rows[0].memory_items, 3);
    ntk_push_destroy(push);
}

static void reports_are_sent_at_the_push_interval_and_at_exit(void **state)
{
    struct peer peer = { 0 };
    struct ntk_err err = { 0 };
    void *push = create(&peer, false, 10 * NTK_NS_PER_SECOND);

    (void)state;
    assert_int_equal(put_at(push, 1000, &err), 0);
    assert_int_equal(put_at(push, 1009, &err), 0);
    assert_int_equal(peer.pages, 1);
    assert_int_equal(put_at(push, 1010, &err), 0);
    assert_int_equal(peer.pages, 2);
    assert_int_equal(put_at(push, 900, &err), 0); /* the clock was set back */
    assert_int_equal(peer.pages, 3);
    assert_int_equal(put_at(push, 901, &err), 0);
    assert_int_equal(peer.pages, 3);
    assert_true(ntk_push_drain(push, true, &err) < 0); /* without a peer */
    assert_int_equal(peer.pages, 4);
    assert_int_equal(peer.time_ns, 901 * NTK_NS_PER_SECOND);
    assert_int_equal(peer.seen, 5);
    ntk_push_destroy(push);
}

static void a_disabled_peer_receives_no_requests_and_is_freed(void **state)
{
    struct peer peer = { 0 };
    struct ntk_err err = { 0 };
    unsigned before = destroyed;
    void *push = create(&peer, true, 0);

    (void)state;
    assert_int_equal(put_at(push, 1000, &err), 0);
    assert_int_equal(ntk_push_drain(push, false, &err), 1);
    assert_int_equal(peer.pages + peer.seen, 0);
    ntk_push_destroy(push);
    assert_int_equal(destroyed, before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_too_long_request_is_dropped_without_affecting_others),
        cmocka_unit_test(reports_are_sent_at_the_push_interval_and_at_exit),
        cmocka_unit_test(a_disabled_peer_receives_no_requests_and_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
