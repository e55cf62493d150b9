/* SPDX-License-Identifier: MIT */
/* Method: every allocation of an addition to a stored total fails in turn. */
#include <string.h>

#include "shared/store/store_histogram.h"
#include "tests/support/fault.h"
#include "tests/support/unit.h"

struct world {
    struct ntk_buf before, expected; /* without a fault */
    bool is_right;
};

static struct ntk_histogram_entry one = { .bucket = 7, .count = 3 };
static const struct ntk_histogram more = {
    .count = 3, .sum_ns = 30, .entries = &one, .entry_count = 1
};

static int add(void *ctx, struct ntk_err *err)
{
    struct world *world = ctx;
    struct ntk_buf blob = { 0 };

    fault_pause();
    ntk_buf_add(&blob, world->before.bytes, world->before.bytes_count);
    fault_resume();
    ntk_store_histogram_add(&blob, &more);
    bool is_added = ntk_buf_ok(&blob);
    const struct ntk_buf *right = is_added ? &world->expected : &world->before;
    world->is_right = blob.bytes_count == right->bytes_count &&
                      memcmp(blob.bytes, right->bytes, right->bytes_count) == 0;
    ntk_buf_fini(&blob);
    return is_added ? 0 : ntk_err_no_memory(err);
}

static const char *the_total_is_whole(void *ctx, int ret)
{
    const struct world *world = ctx;

    (void)ret;
    return world->is_right ? NULL : "the total is neither the old nor the new one";
}

static void a_histogram_total_is_unchanged_when_out_of_memory(void **state)
{
    static const struct fault_operation addition = { .kinds = FAULT_ALLOCATION,
                                                     .run = add,
                                                     .after = the_total_is_whole };
    struct ntk_histogram_entry many[] = { { .bucket = 2, .count = 5 },
                                          { .bucket = 9, .count = 1 } };
    const struct ntk_histogram total = {
        .count = 6, .sum_ns = 60, .entries = many, .entry_count = 2
    };
    struct world world = { 0 };

    (void)state;
    ntk_store_histogram_encode(&total, &world.before);
    ntk_store_histogram_encode(&total, &world.expected);
    ntk_store_histogram_add(&world.expected, &more);
    assert_true(fault_everywhere(&addition, &world) > 0);
    ntk_buf_fini(&world.before);
    ntk_buf_fini(&world.expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_histogram_total_is_unchanged_when_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
