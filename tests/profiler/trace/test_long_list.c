/* SPDX-License-Identifier: MIT */
/* Method: lists of numbers that outgrow the heap; every item can be read wherever it is stored. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "profiler/trace/long_list.h"
#include "profiler/trace/trace.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define ITEMS 100000

static void fill(struct ntk_long_list *list, uint64_t count)
{
    int failed = 0;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t *item = ntk_long_list_add(list, &failed);
        assert_non_null(item);
        *item = i * 3;
    }
    assert_int_equal(failed, 0);
}

static void check(const struct ntk_long_list *list, uint64_t count)
{
    const uint64_t *items = list->items;

    assert_int_equal(list->count, count);
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(items[i], i * 3);
    }
}

static void a_list_moved_to_a_file_keeps_its_content(void **state)
{
    struct ntk_trace trace = { .list_bytes = 4096, .folder = test_scratch_folder };
    struct ntk_long_list list;

    ntk_long_list_init(&list, &trace, sizeof(uint64_t), 1);
    fill(&list, 512);
    assert_false(list.is_mapped);
    check(&list, 512);
    ntk_long_list_fini(&list);
    ntk_long_list_init(&list, &trace, sizeof(uint64_t), 1);
    fill(&list, ITEMS);
    assert_true(list.is_mapped);
    check(&list, ITEMS);
    ntk_long_list_give_back(&list);
    check(&list, ITEMS);
    ntk_long_list_fini(&list);
    ntk_long_list_fini(&list); /* of a zeroed list */
}

static void a_mapped_list_keeps_its_items_if_its_file_grows(void **state)
{
    struct ntk_trace trace = { .list_bytes = 1, .folder = test_scratch_folder };
    struct ntk_long_list list;
    size_t count = ((size_t)72 << 20) / sizeof(uint64_t); /* more than one step of the file */

    ntk_long_list_init(&list, &trace, sizeof(uint64_t), 1);
    fill(&list, count);
    assert_true(list.is_mapped);
    assert_int_equal(((uint64_t *)list.items)[0], 0);
    assert_int_equal(((uint64_t *)list.items)[1], 3);
    assert_int_equal(((uint64_t *)list.items)[count - 1], (count - 1) * 3);
    ntk_long_list_fini(&list);
}

static void concurrent_lists_share_the_heap_limit(void **state)
{
    struct ntk_trace trace = { .list_bytes = 4096, .folder = test_scratch_folder };
    struct ntk_long_list list;

    ntk_long_list_init(&list, &trace, sizeof(uint64_t), 8);
    assert_int_equal(ntk_long_list_resize(&list, 64), 0);
    assert_false(list.is_mapped);
    ntk_long_list_fini(&list);
    ntk_long_list_init(&list, &trace, sizeof(uint64_t), 8);
    assert_int_equal(ntk_long_list_resize(&list, 65), 0);
    assert_true(list.is_mapped);
    ntk_long_list_fini(&list);
}

static void unwritten_list_bytes_are_zero(void **state)
{
    static const uint64_t zeros[600];
    struct ntk_trace trace = { .folder = test_scratch_folder };
    struct ntk_long_list list;

    for (size_t bytes = 1; bytes <= 1 << 20; bytes <<= 20) {
        trace.list_bytes = bytes;
        ntk_long_list_init(&list, &trace, sizeof(uint64_t), 1);
        assert_int_equal(ntk_long_list_resize(&list, 600), 0);
        assert_memory_equal(list.items, zeros, sizeof zeros);
        ntk_long_list_fini(&list);
    }
    ntk_long_list_init(&list, &trace, sizeof(uint64_t), 1);
    assert_int_equal(ntk_long_list_resize(&list, 0), 0);
    assert_null(list.items);
    ntk_long_list_fini(&list);
}

static void a_full_disk_is_an_error_with_a_message(void **state)
{
    struct ntk_trace trace = { .list_bytes = 4096, .folder = test_scratch_folder };
    struct ntk_long_list list;
    struct ntk_err err = { 0 };
    struct rlimit before;

    ntk_long_list_init(&list, &trace, sizeof(uint64_t), 1);
    fill(&list, 512);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = { 4096, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int failed = 0;
    void *item = ntk_long_list_add(&list, &failed);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_null(item);
    assert_int_equal(failed, -EFBIG);
    check(&list, 512);
    ntk_long_list_fini(&list);
    assert_int_equal(ntk_long_list_err_set(&err, failed, "/disk"), -EFBIG);
    assert_string_equal(err.text, "cannot keep records in a temporary file in /disk: File too "
                                  "large (set TMPDIR to another folder)");

    trace.folder = "/nonexistent";
    ntk_long_list_init(&list, &trace, sizeof(uint64_t), 1);
    assert_int_equal(ntk_long_list_resize(&list, 4096), -ENOENT);
    assert_int_equal(ntk_long_list_resize(&list, SIZE_MAX / 4), -ENOMEM);
    ntk_long_list_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_moved_to_a_file_keeps_its_content),
        cmocka_unit_test(a_mapped_list_keeps_its_items_if_its_file_grows),
        cmocka_unit_test(concurrent_lists_share_the_heap_limit),
        cmocka_unit_test(unwritten_list_bytes_are_zero),
        cmocka_unit_test(a_full_disk_is_an_error_with_a_message),
    };

    signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
