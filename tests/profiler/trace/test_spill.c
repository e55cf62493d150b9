/* SPDX-License-Identifier: MIT */
/* Method: arrays on both sides of the limit, filled, returned, and checked again. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "profiler/trace/spill.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define COUNT 300000 /* many times larger than a page, and not a multiple of one */

static uint32_t *filled(struct ntk_spill *spill, uint32_t seed)
{
    uint32_t *items = ntk_spill_take(spill, COUNT, sizeof *items);

    assert_non_null(items);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(items[i], 0);
        items[i] = seed + i;
    }
    return items;
}

static void check(const uint32_t *items, uint32_t seed)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(items[i], seed + i);
    }
}

/* Pages of the array that are resident in this process. */
static size_t resident_pages(const void *first)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)first + page_bytes - 1) / page_bytes;
    uintptr_t end = ((uintptr_t)first + COUNT * sizeof(uint32_t)) / page_bytes;
    FILE *file = fopen("/proc/self/pagemap", "rb");
    size_t count = 0;

    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(begin * sizeof(uint64_t)), SEEK_SET), 0);
    for (uintptr_t page = begin; page < end; page++) {
        uint64_t entry = 0;
        assert_int_equal(fread(&entry, sizeof entry, 1, file), 1);
        count += entry >> 63;
    }
    fclose(file);
    return count;
}

static void small_arrays_are_kept_in_memory(void **state)
{
    struct ntk_spill spill;

    ntk_spill_init(&spill, 2 * COUNT * sizeof(uint32_t), "/nonexistent");
    uint32_t *a = filled(&spill, 5);
    uint32_t *b = filled(&spill, 7);
    ntk_spill_give_back(&spill, a, COUNT * sizeof *a);
    ntk_spill_give_back_all(&spill);
    check(a, 5);
    check(b, 7);
    assert_int_equal(spill.fd, -1);
    ntk_spill_fini(&spill);
}

static void released_pages_are_unmapped_and_keep_their_contents(void **state)
{
    struct ntk_spill spill;

    ntk_spill_init(&spill, 1, test_scratch_folder);
    uint32_t *a = filled(&spill, 5);
    uint32_t *b = filled(&spill, 7);
    assert_true(spill.fd >= 0);
    assert_true(resident_pages(a) > 0);
    ntk_spill_give_back(&spill, a, COUNT * sizeof *a);
    assert_int_equal(resident_pages(a), 0);
    assert_true(resident_pages(b) > 0);
    ntk_spill_give_back_all(&spill);
    assert_int_equal(resident_pages(b), 0);
    check(a, 5);
    check(b, 7);
    ntk_spill_fini(&spill);
}

static void many_small_arrays_share_extents(void **state)
{
    struct ntk_spill spill;
    uint64_t *items[100];

    ntk_spill_init(&spill, 1, test_scratch_folder);
    for (size_t i = 0; i < 100; i++) {
        items[i] = ntk_spill_take(&spill, 0, sizeof **items); /* a single item always has room */
        assert_non_null(items[i]);
        *items[i] = i;
    }
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(*items[i], i);
    }
    assert_int_equal(spill.pieces.count, 1);
    ntk_spill_fini(&spill);
}

static void a_missing_spill_folder_is_an_error(void **state)
{
    struct ntk_spill spill;

    ntk_spill_init(&spill, 1, "/nonexistent");
    assert_null(ntk_spill_take(&spill, COUNT, 4));
    assert_int_equal(spill.failed, -ENOENT);
    assert_non_null(strstr(spill.err.text, "/nonexistent"));
    assert_non_null(strstr(spill.err.text, "TMPDIR"));
    assert_null(ntk_spill_take(&spill, 1, 4));
    ntk_spill_fini(&spill);
}

/* A file size limit simulates a full disk: both reject the allocation. */
static void a_full_disk_is_an_error_before_anything_is_written(void **state)
{
    struct rlimit before;
    struct rlimit less;
    struct ntk_spill spill;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less = (struct rlimit){ (rlim_t)20 << 20, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    ntk_spill_init(&spill, 1, test_scratch_folder);
    uint32_t *a = filled(&spill, 5);
    void *b = ntk_spill_take(&spill, (size_t)32 << 20, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_null(b);
    assert_int_equal(spill.failed, -EFBIG);
    check(a, 5);
    ntk_spill_fini(&spill);
}

static void a_spilled_array_whose_size_overflows_is_rejected(void **state)
{
    struct ntk_spill spill;

    ntk_spill_init(&spill, 0, test_scratch_folder);
    assert_null(ntk_spill_take(&spill, SIZE_MAX / 4, 24));
    assert_int_equal(spill.failed, -ENOMEM);
    ntk_spill_fini(&spill);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_arrays_are_kept_in_memory),
        cmocka_unit_test(released_pages_are_unmapped_and_keep_their_contents),
        cmocka_unit_test(many_small_arrays_share_extents),
        cmocka_unit_test(a_missing_spill_folder_is_an_error),
        cmocka_unit_test(a_full_disk_is_an_error_before_anything_is_written),
        cmocka_unit_test(a_spilled_array_whose_size_overflows_is_rejected),
    };

    signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
