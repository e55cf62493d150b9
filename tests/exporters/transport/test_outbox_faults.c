/* SPDX-License-Identifier: MIT */
/* Method: the peer is missing, and every allocation and file call of an outbox fails in turn; then
 * its spool is read without faults. */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "exporters/transport/outbox.h"
#include "exporters/transport/spool.h"
#include "shared/base/log.h"
#include "tests/support/fault.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SPOOL_BYTES 4096
#define NEVER_NS UINT64_C(3600000000000)

struct world {
    char *folder;
    char *path;
    sem_t was_tried; /* send() is running */
    sem_t may_fail;  /* send() gives up */
    uint64_t put_items;
    struct ntk_outbox_counts counts;
};

static void send_nowhere(void *ctx, const void *bytes, size_t bytes_count,
                         struct ntk_outbox_answer *answer)
{
    struct world *world = ctx;

    (void)bytes;
    (void)bytes_count;
    answer->result = NTK_OUTBOX_RETRY;
    (void)snprintf(answer->text, sizeof answer->text, "the peer is away");
    (void)sem_post(&world->was_tried);
    while (sem_wait(&world->may_fail) != 0) {
    }
    (void)sem_post(&world->may_fail); /* for later calls */
}

/* The items in the spool, which is empty afterwards; UINT64_MAX if one is damaged. */
static uint64_t items_take(const struct world *world)
{
    struct ntk_spool *spool = NULL;
    struct ntk_spool_message message;
    struct ntk_err err = { 0 };
    uint64_t damaged = 0;
    uint64_t items = 0;

    if (ntk_spool_open(world->path, SPOOL_BYTES, NTK_OUTBOX_MESSAGE_BYTES_MAX, &spool, &err) < 0) {
        fail_msg("%s", err.text);
    }
    for (;;) {
        struct ntk_buf buf = { 0 };
        int got = ntk_spool_first(spool, &buf, &message, &damaged);
        ntk_buf_fini(&buf);
        if (got <= 0) {
            break;
        }
        items += message.item_count;
        (void)ntk_spool_remove(spool, message.number);
    }
    ntk_spool_close(spool);
    return damaged ? UINT64_MAX : items;
}

static void nothing_waits(void *ctx)
{
    struct world *world = ctx;

    (void)items_take(world);
    assert_int_equal(sem_init(&world->was_tried, 0, 0), 0);
    assert_int_equal(sem_init(&world->may_fail, 0, 0), 0);
    world->put_items = 0;
    world->counts = (struct ntk_outbox_counts){ 0 };
}

static int put(struct world *world, struct ntk_outbox *outbox, uint64_t items, struct ntk_err *err)
{
    struct ntk_buf buf = { 0 };

    ntk_buf_add_text(&buf, "message");
    world->put_items += items;
    return ntk_outbox_put(outbox, &buf, items, err);
}

static int put_and_stop(void *ctx, struct ntk_err *err)
{
    struct world *world = ctx;
    const struct ntk_outbox_options options = { .name = "test",
                                                .send = send_nowhere,
                                                .ctx = world,
                                                .spool_folder = world->path,
                                                .spool_bytes_max = SPOOL_BYTES,
                                                .pause_min_ns = NEVER_NS,
                                                .pause_max_ns = NEVER_NS };
    struct ntk_outbox *outbox = NULL;
    int ret = ntk_outbox_create(&options, &outbox, err);

    if (ret < 0) {
        return ret;
    }
    ret = put(world, outbox, 1, err);
    if (ret >= 0) {
        while (sem_wait(&world->was_tried) != 0) {
        }
        ret = put(world, outbox, 10, err);
    }
    (void)sem_post(&world->may_fail);
    int drained = ntk_outbox_drain(outbox, true, ret < 0 ? NULL : err);
    world->counts = ntk_outbox_counts_get(outbox);
    ntk_outbox_destroy(outbox);
    return ret < 0 ? ret : drained;
}

static const char *holds_what_is_not_lost(void *ctx, int ret)
{
    const struct world *world = ctx;
    uint64_t items = items_take(world);

    if (items == UINT64_MAX) {
        return "a message is damaged";
    }
    if (items + world->counts.lost_items != world->put_items) {
        return "what is in the spool and what is lost are not all that was put";
    }
    return ret > 0 && world->counts.lost_items ? "something is lost without an error" : NULL;
}

static void a_failing_outbox_delivers_messages_or_counts_them_as_lost(void **state)
{
    static const struct fault_operation operation = { .kinds = FAULT_ALL,
                                                      .before = nothing_waits,
                                                      .run = put_and_stop,
                                                      .after = holds_what_is_not_lost };
    struct world world = { .folder = test_scratch_create() };

    world.path = test_scratch_path(world.folder, "spool");
    assert_true(fault_everywhere(&operation, &world) > 20);
    free(world.path);
    test_scratch_destroy(world.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_outbox_delivers_messages_or_counts_them_as_lost),
    };

    ntk_log_set_level(NTK_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
