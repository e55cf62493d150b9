/* SPDX-License-Identifier: MIT */
/*
 * Method: items with their number of arrival; the result of a sorter with any amount of memory must
 * equal a stable sort of all items.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "profiler/trace/sorter.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct small {
    int64_t time_ps;
    uint32_t came;
    uint32_t rank;
};

struct large {
    struct small small;
    uint64_t copy[2];
};

static uint32_t seed = 3;
static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct small *x = a;
    const struct small *y = b;

    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

enum order { ASCENDING, NEARLY, LATE_ONES, CONCATENATED, DESCENDING, RANDOM, SAME, ORDERS };

static int64_t time_of(enum order order, uint32_t i, uint32_t count)
{
    switch (order) {
    case ASCENDING:
        return i;
    case NEARLY:
        return (int64_t)i + draw(50);
    case LATE_ONES:
        return draw(100) ? (int64_t)i : draw(i + 1);
    case CONCATENATED:
        return i % (count / 7 + 1);
    case DESCENDING:
        return -(int64_t)i;
    case RANDOM:
        return (int64_t)draw(count) - count / 2;
    case SAME:
    case ORDERS:
        break;
    }
    return 5;
}

static void check(enum order order, uint32_t count, size_t item_bytes, size_t memory_bytes,
                  size_t heap_bytes)
{
    struct ntk_sorter sorter;
    struct ntk_sorted sorted = { 0 };
    struct ntk_err err = { 0 };
    unsigned char *seen = calloc(count + 1, 1);

    ntk_sorter_init(&sorter, item_bytes, compare_ranks, memory_bytes, test_scratch_folder);
    for (uint32_t i = 0; i < count; i++) {
        struct large item = { { time_of(order, i, count), i, draw(3) }, { i, ~(uint64_t)i } };
        void *to = ntk_sorter_add(&sorter);
        assert_non_null(to);
        memcpy(to, &item, item_bytes);
    }
    if (ntk_sorter_finish(&sorter, heap_bytes, &sorted, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(sorted.count, count);
    assert_true(sorted.is_mapped || count * item_bytes <= heap_bytes);
    assert_true(sorted.is_mapped || count * item_bytes <= memory_bytes ||
                count <= NTK_SORTER_ITEMS_MIN);
    for (size_t i = 0; i < count; i++) {
        const struct small *now = (const void *)((const char *)sorted.items + i * item_bytes);
        assert_true(now->came < count);
        assert_false(seen[now->came]);
        seen[now->came] = 1;
        if (item_bytes == sizeof(struct large)) {
            const struct large *whole = (const void *)now;
            assert_int_equal(whole->copy[0], now->came);
            assert_int_equal(whole->copy[1], ~(uint64_t)now->came);
        }
        if (i > 0) {
            const struct small *before = (const void *)((const char *)now - item_bytes);
            assert_true(before->time_ps <= now->time_ps);
            if (before->time_ps == now->time_ps) {
                assert_true(before->rank <= now->rank);
                assert_true(before->rank != now->rank || before->came < now->came);
            }
        }
    }
    if (sorted.is_mapped) {
        munmap(sorted.items, count * item_bytes);
    } else {
        free(sorted.items);
    }
    free(seen);
}

static void sorting_is_stable_for_any_order_and_memory_limit(void **state)
{
    static const uint32_t counts[] = { 0, 1, 2, 31, 33, 64, 65, 1000, 20000 };
    static const size_t memories[] = { 1, 4096, 50000, 1 << 20 };

    for (unsigned order = 0; order < ORDERS; order++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            for (size_t m = 0; m < sizeof memories / sizeof *memories; m++) {
                check((enum order)order, counts[c], sizeof(struct small), memories[m], SIZE_MAX);
                check((enum order)order, counts[c], sizeof(struct large), memories[m], SIZE_MAX);
                check((enum order)order, counts[c], sizeof(struct small), memories[m], 600);
            }
        }
    }
}

static void a_sorter_failure_is_returned_at_the_end(void **state)
{
    struct ntk_sorter sorter;
    struct ntk_sorted sorted = { 0 };
    struct ntk_err err = { 0 };
    size_t added = 0;

    ntk_sorter_init(&sorter, sizeof(struct small), compare_ranks, 1, "/nonexistent");
    while (added < 1000 && ntk_sorter_add(&sorter)) {
        added++;
    }
    assert_int_equal(added, NTK_SORTER_ITEMS_MIN);
    assert_null(ntk_sorter_add(&sorter));
    assert_int_equal(ntk_sorter_finish(&sorter, SIZE_MAX, &sorted, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent"));
    assert_null(sorted.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_is_stable_for_any_order_and_memory_limit),
        cmocka_unit_test(a_sorter_failure_is_returned_at_the_end),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
