/* SPDX-License-Identifier: MIT */
/* Method: a peer that handles each message as the test sets, and stores the accepted messages. */
#include "exporters/transport/outbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "exporters/transport/output_counts.h"
#include "tests/exporters/transport/power.h"
#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct peer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_int result;       /* enum ntk_outbox_result of each delivery */
    atomic_int send_count;   /* deliveries, successful or not */
    uint64_t refused_items;  /* of each message that it accepts */
    uint64_t retry_after_ns; /* what the peer answers */
    bool is_slow;            /* waits for cancel */
    bool is_cancelled;
    char taken[4096]; /* the accepted messages, concatenated */
};

static void peer_send(void *ctx, const void *bytes, size_t bytes_count,
                      struct ntk_outbox_answer *answer)
{
    struct peer *peer = ctx;

    pthread_mutex_lock(&peer->lock);
    answer->retry_after_ns = peer->retry_after_ns;
    atomic_fetch_add(&peer->send_count, 1);
    while (peer->is_slow && !peer->is_cancelled) {
        pthread_cond_wait(&peer->changed, &peer->lock);
    }
    answer->result = (enum ntk_outbox_result)atomic_load(&peer->result);
    snprintf(answer->text, sizeof answer->text, "the peer says %d", (int)answer->result);
    answer->refused_items = peer->refused_items;
    if (answer->result == NTK_OUTBOX_SENT) {
        strncat(peer->taken, bytes, bytes_count);
    }
    pthread_mutex_unlock(&peer->lock);
}

static void peer_cancel(void *ctx)
{
    struct peer *peer = ctx;

    pthread_mutex_lock(&peer->lock);
    peer->is_cancelled = true;
    pthread_cond_broadcast(&peer->changed);
    pthread_mutex_unlock(&peer->lock);
}

struct fixture {
    char *folder;
    char *spool;
    struct peer peer;
    struct test_clock clock;
    struct ntk_outbox_options options;
    struct ntk_outbox *outbox;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    f->spool = test_scratch_path(f->folder, "spool");
    pthread_mutex_init(&f->peer.lock, NULL);
    pthread_cond_init(&f->peer.changed, NULL);
    f->options = (struct ntk_outbox_options){ .name = "peer",
                                              .send = peer_send,
                                              .cancel = peer_cancel,
                                              .ctx = &f->peer,
                                              .clock = &f->clock.clock };
    test_clock_init(&f->clock);
    f->clock.passes_waits = true; /* retries a missing peer without end */
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_outbox_destroy(f->outbox);
    pthread_cond_destroy(&f->peer.changed);
    pthread_mutex_destroy(&f->peer.lock);
    test_clock_fini(&f->clock);
    free(f->spool);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void create(struct fixture *f)
{
    struct ntk_err err = { 0 };

    ntk_outbox_destroy(f->outbox);
    f->peer.is_cancelled = false;
    if (ntk_outbox_create(&f->options, &f->outbox, &err) < 0) {
        fail_msg("%s", err.text);
    }
}

static void put(struct fixture *f, const char *text)
{
    struct ntk_err err = { 0 };
    struct ntk_buf buf = { 0 };

    ntk_buf_add_text(&buf, text);
    assert_int_equal(ntk_outbox_put(f->outbox, &buf, strlen(text), &err), 0);
}

static int is_drained(void *ctx)
{
    struct fixture *f = ctx;

    return ntk_outbox_counts_get(f->outbox).waiting_items == 0;
}

static int was_tried(void *ctx)
{
    struct fixture *f = ctx;

    return atomic_load(&f->peer.send_count) >= 3;
}

/* A peer that claims to have rejected more items than it received is ignored. */
static void partly_rejected_items_are_counted(void **state)
{
    struct fixture *f = *state;

    f->peer.refused_items = 3;
    create(f);
    put(f, "abcde");
    put(f, "ab");
    assert_true(test_wait_until(is_drained, f));
    struct ntk_outbox_counts counts = ntk_outbox_counts_get(f->outbox);
    assert_int_equal(counts.sent_items, 2);
    assert_int_equal(counts.refused_items, 5);
    assert_int_equal(counts.retry_count, 0);
    assert_string_equal(f->peer.taken, "abcdeab");
}

static void messages_are_delivered_in_order(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };

    create(f);
    for (int i = 0; i < 26; i++) {
        put(f, (char[]){ (char)('a' + i), '\0' });
    }
    assert_true(test_wait_until(is_drained, f));
    assert_int_equal(ntk_outbox_drain(f->outbox, false, &err), 1);
    assert_string_equal(f->peer.taken, "abcdefghijklmnopqrstuvwxyz");
    assert_int_equal(ntk_outbox_counts_get(f->outbox).sent_items, 26);
}

static void a_message_is_retried_until_accepted(void **state)
{
    struct fixture *f = *state;

    atomic_store(&f->peer.result, NTK_OUTBOX_RETRY);
    create(f);
    put(f, "a");
    put(f, "b");
    assert_true(test_wait_until(was_tried, f));
    assert_int_equal(ntk_outbox_counts_get(f->outbox).waiting_items, 2);
    atomic_store(&f->peer.result, NTK_OUTBOX_SENT);
    assert_true(test_wait_until(is_drained, f));
    assert_string_equal(f->peer.taken, "ab");
    struct ntk_outbox_counts counts = ntk_outbox_counts_get(f->outbox);
    assert_true(counts.retry_count >= 2);
    assert_int_equal(counts.lost_items, 0);
}

static void a_rejected_message_is_dropped(void **state)
{
    struct fixture *f = *state;

    atomic_store(&f->peer.result, NTK_OUTBOX_REFUSED);
    create(f);
    put(f, "abc");
    assert_true(test_wait_until(is_drained, f));
    atomic_store(&f->peer.result, NTK_OUTBOX_SENT);
    put(f, "d");
    assert_true(test_wait_until(is_drained, f));
    assert_string_equal(f->peer.taken, "d");
    assert_int_equal(ntk_outbox_counts_get(f->outbox).refused_items, 3);
}

static int waits_in_spool(void *ctx)
{
    struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX];

    (void)ctx;
    return ntk_output_counts_read(rows) == 1 && rows[0].spool_items == 5;
}

static void delivery_counts_are_reported(void **state)
{
    struct fixture *f = *state;
    struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX];

    atomic_store(&f->peer.result, NTK_OUTBOX_RETRY);
    f->options.spool_folder = f->spool;
    create(f);
    put(f, "abc");
    put(f, "de");
    assert_true(test_wait_until(waits_in_spool, f));
    assert_int_equal(ntk_output_counts_read(rows), 1);
    assert_string_equal(rows[0].name, "peer");
    assert_int_equal(rows[0].memory_items, 0);
    assert_true(rows[0].retry_count >= 1);
    assert_int_equal(rows[0].sent_items, 0);

    atomic_store(&f->peer.result, NTK_OUTBOX_SENT);
    assert_true(test_wait_until(is_drained, f));
    assert_int_equal(ntk_output_counts_read(rows), 1);
    assert_int_equal(rows[0].sent_items, 5);
    assert_int_equal(rows[0].lost_items + rows[0].refused_items, 0);
    assert_int_equal(rows[0].memory_items + rows[0].spool_items, 0);
    ntk_outbox_destroy(f->outbox);
    f->outbox = NULL;
    assert_int_equal(ntk_output_counts_read(rows), 0);
}

static void the_oldest_message_is_dropped_at_the_memory_limit(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };

    atomic_store(&f->peer.result, NTK_OUTBOX_RETRY);
    f->options.memory_bytes_max = 4;
    create(f);
    put(f, "a");
    assert_true(test_wait_until(was_tried, f)); /* it is being sent */
    put(f, "bcd");
    put(f, "ef");
    struct ntk_outbox_counts counts = ntk_outbox_counts_get(f->outbox);
    assert_int_equal(counts.lost_items, 3);
    assert_int_equal(counts.waiting_items, 3);
    int ret;
    while ((ret = ntk_outbox_drain(f->outbox, false, &err)) == 0) {
    }
    assert_int_equal(ret, -ETIMEDOUT);
    assert_non_null(strstr(err.text, "3 items lost"));
}

/* Three runs, the peer is missing in the first two: everything arrives, in order. */
static void spooled_messages_are_delivered_by_a_later_run(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };
    int ret;

    atomic_store(&f->peer.result, NTK_OUTBOX_RETRY);
    f->options.spool_folder = f->spool;
    f->options.memory_bytes_max = 4;
    create(f);
    put(f, "a");
    assert_true(test_wait_until(was_tried, f));
    put(f, "bb");
    put(f, "ccc"); /* does not fit into memory */
    put(f, "d");   /* queued after the spool */
    while ((ret = ntk_outbox_drain(f->outbox, false, &err)) == 0) {
    }
    assert_int_equal(ret, 1); /* safe */
    create(f);
    put(f, "e");
    assert_int_equal(ntk_outbox_counts_get(f->outbox).waiting_items, 8);
    struct ntk_outbox *second = NULL;
    assert_int_equal(ntk_outbox_create(&f->options, &second, &err), -EBUSY);
    create(f);
    atomic_store(&f->peer.result, NTK_OUTBOX_SENT);
    put(f, "f");
    assert_true(test_wait_until(is_drained, f));
    assert_string_equal(f->peer.taken, "abbcccdef");
    assert_int_equal(ntk_outbox_counts_get(f->outbox).lost_items, 0);
}

/* The peer is missing when the program is asked to exit at once: messages are kept, or lost and
 * reported. */
static void messages_are_spooled_or_counted_as_lost_at_immediate_exit(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };

    f->options.drain_ns = 3600 * NTK_NS_PER_SECOND;
    f->options.spool_folder = f->spool;
    atomic_store(&f->peer.result, NTK_OUTBOX_RETRY);
    create(f);
    put(f, "a");
    put(f, "bb");
    assert_int_equal(ntk_outbox_drain(f->outbox, false, &err), 0);
    assert_int_equal(ntk_outbox_drain(f->outbox, true, &err), 1);
    assert_int_equal(ntk_outbox_counts_get(f->outbox).waiting_items, 3);
    f->options.spool_folder = NULL;
    create(f);
    put(f, "ccc");
    assert_int_equal(ntk_outbox_drain(f->outbox, true, &err), -EINTR);
    assert_string_equal(err.text, "peer: stopped before everything was sent; 3 items lost");
    assert_int_equal(ntk_outbox_counts_get(f->outbox).lost_items, 3);
}

/* A spool without room does not turn a loss into success. */
static void messages_are_counted_as_lost_at_exit_if_the_spool_is_full(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };

    f->options.spool_folder = f->spool;
    f->options.spool_bytes_max = 40;
    f->peer.is_slow = true;
    atomic_store(&f->peer.result, NTK_OUTBOX_RETRY);
    create(f);
    put(f, "123");
    put(f, "123456"); /* with a header of 32 bytes there is room for one of the two */
    assert_int_equal(ntk_outbox_drain(f->outbox, true, &err), -EINTR);
    assert_string_equal(err.text, "peer: stopped before everything was sent; the spool is full; "
                                  "3 items lost");
    assert_int_equal(ntk_outbox_counts_get(f->outbox).waiting_items, 6);
}

static int was_tried_once(void *ctx)
{
    struct fixture *f = ctx;

    return ntk_outbox_counts_get(f->outbox).retry_count >= 1;
}

/* The file of a message that is being sent is dropped for a newer one; then the message is
 * delivered after all. */
static void a_message_delivered_after_its_file_was_dropped_counts_as_sent(void **state)
{
    struct fixture *f = *state;

    f->options.spool_folder = f->spool;
    f->options.spool_bytes_max = 40; /* room for one message */
    atomic_store(&f->peer.result, NTK_OUTBOX_RETRY);
    create(f);
    put(f, "123");
    assert_true(test_wait_until(was_tried_once, f)); /* from now on it is in the spool */
    put(f, "4567");
    assert_int_equal(ntk_outbox_counts_get(f->outbox).lost_items, 0); /* it may still arrive */
    assert_int_equal(ntk_outbox_counts_get(f->outbox).waiting_items, 7);
    atomic_store(&f->peer.result, NTK_OUTBOX_SENT);
    assert_true(test_wait_until(is_drained, f));
    struct ntk_outbox_counts counts = ntk_outbox_counts_get(f->outbox);
    assert_string_equal(f->peer.taken, "1234567");
    assert_int_equal(counts.sent_items, 7);
    assert_int_equal(counts.lost_items, 0);
}

static int is_safe(void *ctx)
{
    const size_t *count = ctx;

    return test_power_safe_count() >= *count;
}

/* While the peer is missing, waiting messages are written to disk, even if the program is not
 * stopped. */
static void waiting_messages_survive_a_power_failure(void **state)
{
    struct fixture *f = *state;
    size_t all = 3;

    f->options.spool_folder = f->spool;
    f->options.sync_ns = NTK_NS_PER_MS;
    f->options.pause_min_ns = f->options.pause_max_ns = 3600 * NTK_NS_PER_SECOND;
    atomic_store(&f->peer.result, NTK_OUTBOX_RETRY);
    create(f);
    put(f, "a");
    put(f, "b");
    put(f, "c");
    assert_true(test_wait_until(is_safe, &all));
    assert_int_equal(ntk_outbox_counts_get(f->outbox).waiting_items, 3); /* none of them twice */
    char *copy = test_scratch_path(f->folder, "after");
    assert_int_equal(mkdir(copy, 0700), 0);
    test_power_cut_make(copy);
    f->options.spool_folder = copy;
    ntk_outbox_destroy(f->outbox); /* the machine is off: it sends nothing any more */
    f->outbox = NULL;
    atomic_store(&f->peer.result, NTK_OUTBOX_SENT);
    create(f);
    assert_true(test_wait_until(is_drained, f));
    assert_string_equal(f->peer.taken, "abc");
    ntk_outbox_destroy(f->outbox);
    f->outbox = NULL;
    free(copy);
}

/* A message that the peer accepted just when the outbox was closed is not sent by the next run. */
static void a_message_accepted_during_shutdown_is_not_sent_again(void **state)
{
    struct fixture *f = *state;

    f->options.spool_folder = f->spool;
    f->peer.is_slow = true;
    create(f);
    put(f, "a");
    put(f, "b");
    f->options.spool_folder = f->spool;
    create(f); /* closes the first: the peer accepts "a" (or nothing, if it was not started) */
    peer_cancel(&f->peer);
    assert_true(test_wait_until(is_drained, f));
    assert_string_equal(f->peer.taken, "ab");
}

/* A peer that accepts nothing, asked once, and a clock that does not move. */
static void begin_to_wait(struct fixture *f)
{
    f->clock.passes_waits = false;
    atomic_store(&f->peer.result, NTK_OUTBOX_RETRY);
    create(f);
    put(f, "a");
}

/* Pauses vary by an eighth. The message is sent when the pause has ended, and not before. */
static void assert_pause(struct fixture *f, uint64_t ns)
{
    uint64_t pause_ns = test_clock_await(&f->clock);
    int sent = atomic_load(&f->peer.send_count);

    assert_in_range(pause_ns, ns - ns / 8, ns + ns / 8);
    test_clock_advance(&f->clock, pause_ns - 1);
    assert_int_equal(test_clock_await(&f->clock), 1);
    assert_int_equal(atomic_load(&f->peer.send_count), sent);
    test_clock_advance(&f->clock, 1);
    (void)test_clock_await(&f->clock);
    assert_int_equal(atomic_load(&f->peer.send_count), sent + 1);
}

static void retry_pauses_grow_to_a_limit(void **state)
{
    struct fixture *f = *state;

    f->options.pause_min_ns = NTK_NS_PER_SECOND;
    f->options.pause_max_ns = 10 * NTK_NS_PER_SECOND;
    begin_to_wait(f);
    assert_pause(f, NTK_NS_PER_SECOND);
    assert_pause(f, 2 * NTK_NS_PER_SECOND);
    assert_pause(f, 4 * NTK_NS_PER_SECOND);
    assert_pause(f, 8 * NTK_NS_PER_SECOND);
    assert_pause(f, 10 * NTK_NS_PER_SECOND);
    assert_pause(f, 10 * NTK_NS_PER_SECOND);
}

static void a_peer_can_lengthen_a_retry_pause(void **state)
{
    struct fixture *f = *state;

    f->peer.retry_after_ns = 3600 * NTK_NS_PER_SECOND;
    begin_to_wait(f);
    assert_int_equal(test_clock_await(&f->clock), f->peer.retry_after_ns);
    assert_pause(f, f->peer.retry_after_ns);
    assert_int_equal(test_clock_await(&f->clock), f->peer.retry_after_ns);
}

/* A peer that asks for a shorter pause than the outbox planned does not shorten it. */
static void a_peer_cannot_shorten_a_retry_pause(void **state)
{
    struct fixture *f = *state;

    f->peer.retry_after_ns = 1;
    f->options.pause_min_ns = f->options.pause_max_ns = NTK_NS_PER_SECOND;
    begin_to_wait(f);
    assert_pause(f, NTK_NS_PER_SECOND);
    assert_pause(f, NTK_NS_PER_SECOND);
}

/* Method: the drain is called repeatedly, as programs do, while the clock moves. */
static void shutdown_waits_for_the_peer_until_the_limit(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };

    begin_to_wait(f);
    assert_int_equal(ntk_outbox_drain(f->outbox, false, &err), 0);
    test_clock_advance(&f->clock, NTK_OUTBOX_DRAIN_NS - 1);
    assert_int_equal(ntk_outbox_drain(f->outbox, false, &err), 0);
    test_clock_advance(&f->clock, 1);
    assert_int_equal(ntk_outbox_drain(f->outbox, false, &err), -ETIMEDOUT);
    assert_non_null(strstr(err.text, "1 items lost"));
}

static void a_message_beyond_the_size_limit_is_counted_as_lost(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };
    struct ntk_buf buf = { 0 };

    create(f);
    assert_non_null(ntk_buf_extend(&buf, NTK_OUTBOX_MESSAGE_BYTES_MAX + 1));
    assert_int_equal(ntk_outbox_put(f->outbox, &buf, 7, &err), -EMSGSIZE);
    assert_string_equal(err.text, "peer: a message is too long, 7 items lost");
    assert_int_equal(ntk_outbox_counts_get(f->outbox).lost_items, 7);
    assert_int_equal(atomic_load(&f->peer.send_count), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(partly_rejected_items_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(messages_are_delivered_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_is_retried_until_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_rejected_message_is_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(delivery_counts_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_message_is_dropped_at_the_memory_limit, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(spooled_messages_are_delivered_by_a_later_run, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(messages_are_spooled_or_counted_as_lost_at_immediate_exit,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(messages_are_counted_as_lost_at_exit_if_the_spool_is_full,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_message_delivered_after_its_file_was_dropped_counts_as_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waiting_messages_survive_a_power_failure, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_message_accepted_during_shutdown_is_not_sent_again,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(retry_pauses_grow_to_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_peer_can_lengthen_a_retry_pause, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_peer_cannot_shorten_a_retry_pause, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shutdown_waits_for_the_peer_until_the_limit, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_message_beyond_the_size_limit_is_counted_as_lost, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
