/* SPDX-License-Identifier: MIT */
/* Method: every allocation and file call of a spool fails in turn; then the folder is opened
 * without faults. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exporters/transport/spool.h"
#include "tests/support/fault.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define BYTES_MAX 4096

struct world {
    char *path;
    bool was_put;
    char taken[8]; /* the messages that run() received */
    uint64_t damaged;
};

static struct ntk_spool *open_now(const struct world *world)
{
    struct ntk_spool *spool = NULL;
    struct ntk_err err = { 0 };

    if (ntk_spool_open(world->path, BYTES_MAX, 1024, &spool, &err) < 0) {
        fail_msg("%s", err.text);
    }
    return spool;
}

/* Takes all messages, one letter each; returns how many were damaged. */
static uint64_t take_all(const struct world *world, char *text, size_t text_bytes)
{
    struct ntk_spool *spool = open_now(world);
    struct ntk_spool_message message;
    struct ntk_buf buf = { 0 };
    uint64_t damaged = 0;

    while (ntk_spool_first(spool, &buf, &message, &damaged) > 0) {
        assert_true(ntk_spool_remove(spool, message.number));
    }
    (void)snprintf(text, text_bytes, "%s", ntk_buf_text_get(&buf));
    ntk_buf_fini(&buf);
    ntk_spool_close(spool);
    return damaged;
}

static void two_messages(void *ctx)
{
    struct world *world = ctx;
    char text[16];
    uint64_t lost;

    (void)take_all(world, text, sizeof text);
    struct ntk_spool *spool = open_now(world);

    assert_int_equal(ntk_spool_put(spool, "a", 1, 1, &lost, NULL), 0);
    assert_int_equal(ntk_spool_put(spool, "b", 1, 1, &lost, NULL), 0);
    ntk_spool_close(spool);
    world->was_put = false;
    world->taken[0] = '\0';
    world->damaged = 0;
}

static int put_and_sync(void *ctx, struct ntk_err *err)
{
    struct world *world = ctx;
    struct ntk_spool *spool = NULL;
    struct ntk_vec numbers = NTK_VEC_INIT(uint64_t);
    uint64_t lost = 0;
    uint64_t number;
    int ret = ntk_spool_open(world->path, BYTES_MAX, 1024, &spool, err);

    if (ret >= 0) {
        ret = ntk_spool_put(spool, "c", 1, 1, &lost, err);
        world->was_put = ret >= 0;
    }
    if (ret >= 0) {
        ret = ntk_spool_put_front(spool, "_", 1, 1, &number, err);
    }
    if (ret >= 0) {
        ret = ntk_spool_sync_begin(spool, &numbers);
        ret = ret < 0 ? ntk_err_no_memory(err) : ntk_spool_sync_end(spool, &numbers, err);
    }
    ntk_spool_close(spool);
    return ret;
}

static const char *holds_what_was_put(void *ctx, int ret)
{
    struct world *world = ctx;
    char text[16];

    if (take_all(world, text, sizeof text) != 0) {
        return "a message is damaged";
    }
    const char *rest = text[0] == '_' ? text + 1 : text;

    if (strcmp(rest, world->was_put ? "abc" : "ab") != 0) {
        return world->was_put ? "a message is lost"
                              : "a message is lost, or one that was refused is kept";
    }
    return ret >= 0 && rest == text ? "the message in front is lost" : NULL;
}

static int take_one(void *ctx, struct ntk_err *err)
{
    struct world *world = ctx;
    struct ntk_spool *spool = NULL;
    struct ntk_spool_message message = { 0 };
    struct ntk_buf buf = { 0 };
    int ret = ntk_spool_open(world->path, BYTES_MAX, 1024, &spool, err);

    if (ret >= 0) {
        ret = ntk_spool_first(spool, &buf, &message, &world->damaged);
        (void)ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "the message cannot be read");
    }
    if (ret > 0) {
        (void)snprintf(world->taken, sizeof world->taken, "%s", ntk_buf_text_get(&buf));
        (void)ntk_spool_remove(spool, message.number);
    }
    ntk_buf_fini(&buf);
    ntk_spool_close(spool);
    return ret;
}

static const char *holds_what_was_not_taken(void *ctx, int ret)
{
    struct world *world = ctx;
    char text[16];

    if (take_all(world, text, sizeof text) != 0) {
        return "a message is damaged";
    }
    /* A file that the disk cannot read is damaged; one that the process cannot read is not. */
    if (world->damaged > 0) {
        return fault_error() == EIO || fault_error() == EACCES || fault_error() == ENOSPC
                   ? NULL
                   : "a message that cannot be read for the moment is removed";
    }
    if (ret > 0 && strcmp(world->taken, "a") != 0) {
        return "the oldest is not the first";
    }
    /* A file that could not be removed is read again. */
    return strcmp(text, "ab") == 0 || (ret > 0 && strcmp(text, "b") == 0) ? NULL
                                                                          : "a message is lost";
}

static void in_a_world(const struct fault_operation *operation, unsigned calls_min)
{
    struct world world = { .path = test_scratch_path(test_scratch_folder, "a/b") };

    assert_true(fault_everywhere(operation, &world) > calls_min);
    free(world.path);
}

static void a_failed_addition_keeps_the_spooled_messages(void **state)
{
    static const struct fault_operation operation = {
        .kinds = FAULT_ALL, .before = two_messages, .run = put_and_sync, .after = holds_what_was_put
    };

    (void)state;
    in_a_world(&operation, 20);
}

static void a_failed_removal_keeps_the_spooled_messages(void **state)
{
    static const struct fault_operation operation = { .kinds = FAULT_ALL,
                                                      .before = two_messages,
                                                      .run = take_one,
                                                      .after = holds_what_was_not_taken };

    (void)state;
    in_a_world(&operation, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_addition_keeps_the_spooled_messages),
        cmocka_unit_test(a_failed_removal_keeps_the_spooled_messages),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
