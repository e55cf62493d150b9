/* SPDX-License-Identifier: MIT */
/* Method: random pushes and pops of many queues, compared with queues that are counters. */
#include <stdlib.h>

#include "profiler/trace/waiting.h"
#include "tests/support/unit.h"

#define QUEUES 50

static uint32_t seed = 11;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static void waiting_queues_are_first_in_first_out(void **state)
{
    struct ntk_waiting pool = { 0 };
    uint32_t queues[QUEUES] = { 0 };
    uint32_t pushed[QUEUES] = { 0 };
    uint32_t popped[QUEUES] = { 0 };
    uint32_t most = 0;
    uint32_t now = 0;

    for (int i = 0; i < 200000; i++) {
        uint32_t q = draw(QUEUES);
        /* Phases with more pushes than pops, and the other way round. */
        if (draw(100) < (i / 10000 % 2 ? 30u : 70u)) {
            assert_int_equal(ntk_waiting_push(&pool, &queues[q], pushed[q], q), 0);
            pushed[q]++;
            most = ++now > most ? now : most;
        } else if (queues[q]) {
            struct ntk_waiting_item item = ntk_waiting_pop(&pool, &queues[q]);
            assert_int_equal(item.time_ps, popped[q]);
            assert_int_equal(item.detail, q);
            popped[q]++;
            now--;
        }
        assert_int_equal(queues[q] != 0, pushed[q] != popped[q]);
    }
    assert_int_equal(pool.used, most); /* slots are reused */
    ntk_waiting_fini(&pool);
    assert_int_equal(pool.capacity, 0);
}

static void a_full_pool_rejects_entries_until_one_is_removed(void **state)
{
    struct ntk_waiting pool = { 0 };
    uint32_t queue = 0;
    uint32_t other = 0;

    for (uint32_t i = 0; i < NTK_TRACE_WAITING_MAX; i++) {
        if (ntk_waiting_push(&pool, &queue, i, 0) != 0) {
            fail_msg("full at %u", i);
        }
    }
    assert_int_equal(ntk_waiting_push(&pool, &other, 7, 0), -ENOBUFS);
    assert_int_equal(other, 0);
    assert_int_equal(ntk_waiting_pop(&pool, &queue).time_ps, 0);
    assert_int_equal(ntk_waiting_push(&pool, &other, 7, 0), 0);
    assert_int_equal(ntk_waiting_push(&pool, &other, 8, 0), -ENOBUFS);
    assert_int_equal(ntk_waiting_pop(&pool, &queue).time_ps, 1);
    assert_int_equal(ntk_waiting_pop(&pool, &other).time_ps, 7);
    assert_int_equal(other, 0);
    ntk_waiting_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_queues_are_first_in_first_out),
        cmocka_unit_test(a_full_pool_rejects_entries_until_one_is_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
