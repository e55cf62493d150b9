/* SPDX-License-Identifier: MIT */
/*
 * Hostile segments. Method: a valid segment with one word changed at a time is opened and every
 * function is called. exercise_segment() aborts if an answer is out of bounds, the sanitizers if an
 * access is.
 */
#include "shared/ring/ring_segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/exercise_segment.h"
#include "tests/support/unit.h"

static int fd;
static uint8_t *bytes;
static size_t bytes_count;

static int setup(void **state)
{
    fd = exercise_make_segment(&bytes, &bytes_count);
    return 0;
}

static int teardown(void **state)
{
    munmap(bytes, bytes_count);
    close(fd);
    return 0;
}

/* Returns the result of opening; on success, calls every function. */
static int try_segment(void)
{
    struct ntk_ring_segment *segment = NULL;
    struct ntk_err err = { 0 };
    int copy = dup(fd);
    int code;

    assert_true(copy >= 0);
    code = ntk_ring_segment_open(copy, "segment", NTK_RING_FROM_OLDEST, &segment, &err);
    if (code < 0) {
        close(copy);
        assert_true(code == -EAGAIN || err.text[0] != '\0');
        return code;
    }
    (void)exercise_segment(segment);
    segment->state = NTK_SEGMENT_ENDED;
    (void)exercise_segment(segment);
    ntk_ring_segment_close(segment);
    return 0;
}

static struct ntk_segment_header *header(void)
{
    return (struct ntk_segment_header *)(void *)bytes;
}

/* Every 32-bit word of bytes [offset, offset + count) takes every evil value in turn. */
static void spoil(uint64_t offset, uint64_t count)
{
    static const uint32_t evil[] = { 0, 1, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0x00010000u };
    const char *sanitizer = getenv("NTK_SANITIZE");
    uint64_t at;
    size_t i;

    assert_true(offset + count <= bytes_count);
    if (sanitizer != NULL && strcmp(sanitizer, "thread") == 0 && count > 64) {
        count = 64; /* a single thread: nothing more to find at ten times the cost */
    }
    for (at = offset; at + 4 <= offset + count; at += 4) {
        uint32_t *word = (uint32_t *)(void *)(bytes + at);
        uint32_t good = *word;

        for (i = 0; i < sizeof evil / sizeof evil[0]; i++) {
            *word = evil[i];
            (void)try_segment();
        }
        *word = good ^ 0x40;
        (void)try_segment();
        *word = good;
    }
}

static void a_valid_segment_is_opened(void **state)
{
    assert_int_equal(try_segment(), 0);
}

static void any_value_in_the_segment_header_is_read_safely(void **state)
{
    spoil(0, sizeof(struct ntk_segment_header));
    assert_int_equal(try_segment(), 0);
}

static void any_value_in_the_process_block_is_read_safely(void **state)
{
    spoil(header()->section[NTK_SECTION_PROCESS].offset, sizeof(struct ntk_segment_process));
}

static void any_value_in_a_segment_table_is_read_safely(void **state)
{
    const struct ntk_segment_section *section = header()->section;

    /* The entries in use, and one that is not. */
    spoil(section[NTK_SECTION_CORES].offset + 2 * sizeof(struct ntk_segment_core), 448);
    spoil(section[NTK_SECTION_CORES].offset, 64);
    spoil(section[NTK_SECTION_MODELS].offset, 160);
    spoil(section[NTK_SECTION_MODELS].offset + sizeof(struct ntk_segment_model), 64);
    spoil(section[NTK_SECTION_MEMORY].offset, 4 * sizeof(struct ntk_segment_memory_row));
    spoil(section[NTK_SECTION_NAMES].offset, 5 * sizeof(struct ntk_segment_name));
    spoil(section[NTK_SECTION_NAME_BYTES].offset, 16);
    spoil(section[NTK_SECTION_THREADS].offset, 2 * sizeof(struct ntk_segment_thread));
    spoil(section[NTK_SECTION_RINGS].offset, 2 * sizeof(struct ntk_segment_ring));
    spoil(section[NTK_SECTION_SLOTS].offset, 2 * sizeof(struct ntk_slot));
    spoil(section[NTK_SECTION_HISTOGRAMS].offset + 2 * sizeof(struct ntk_histogram_pair), 64);
    assert_int_equal(try_segment(), 0);
}

static void sections_at_64_bit_limits_are_rejected(void **state)
{
    static const uint64_t evil[] = {
        0, 63, 64, UINT64_MAX, UINT64_MAX - 63, 1ull << 63, (1ull << 32) - 64, 1ull << 32
    };
    unsigned int section;
    size_t i;

    for (section = 0; section < NTK_SECTION_COUNT; section++) {
        uint64_t good = header()->section[section].offset;

        for (i = 0; i < sizeof evil / sizeof evil[0]; i++) {
            header()->section[section].offset = evil[i];
            assert_int_equal(try_segment(), -EBADMSG);
        }
        header()->section[section].offset = good;
    }
    for (i = 0; i < sizeof evil / sizeof evil[0]; i++) {
        struct ntk_segment_ring *ring =
            (void *)(bytes + header()->section[NTK_SECTION_RINGS].offset);
        uint64_t good = ring->offset;

        ring->offset = evil[i];
        assert_int_equal(try_segment(), 0); /* only this ring is skipped */
        ring->offset = good;
        good = ring->head;
        ring->head = evil[i];
        assert_int_equal(try_segment(), 0);
        ring->head = good;
    }
}

static void unsupported_versions_and_shapes_are_rejected_with_a_message(void **state)
{
    struct ntk_ring_segment *segment = NULL;
    struct ntk_err err = { 0 };

    header()->abi_version = 3;
    assert_int_equal(ntk_ring_segment_open(fd, "x", NTK_RING_FROM_OLDEST, &segment, &err),
                     -EPROTONOSUPPORT);
    assert_string_equal(err.text, "x: unsupported ABI version 3 (supported: 2)");
    header()->abi_version = NTK_SEGMENT_ABI_VERSION;
    assert_null(segment);

    header()->magic = 0;
    assert_int_equal(try_segment(), -EAGAIN); /* its writer is not ready */
    header()->magic = 0x4647464746474647ull;
    assert_int_equal(try_segment(), -EBADMSG);
    header()->magic = NTK_SEGMENT_MAGIC;

    assert_int_equal(fchmod(fd, 0620), 0);
    assert_int_equal(try_segment(), -EPERM);
    assert_int_equal(fchmod(fd, 0600), 0);
    assert_int_equal(try_segment(), 0);
}

/* A newer writer: larger entries, more sections. */
static void larger_entries_of_a_newer_writer_are_read(void **state)
{
    struct ntk_segment_section *names = &header()->section[NTK_SECTION_THREADS];
    struct ntk_segment_section good = *names;

    names->entry_bytes *= 2;
    names->count /= 2;
    header()->section_count = NTK_SECTION_COUNT + 1;
    assert_int_equal(try_segment(), 0);
    *names = good;
    header()->section_count = NTK_SECTION_COUNT;
}

static void a_file_truncated_under_the_reader_reads_as_zeros(void **state)
{
    struct ntk_ring_segment *segment = NULL;
    struct ntk_ring_core core;
    int copy = dup(fd);

    assert_int_equal(ntk_ring_segment_open(copy, "cut", NTK_RING_FROM_OLDEST, &segment, NULL), 0);
    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_false(ntk_ring_segment_is_damaged(segment));

    assert_int_equal(ftruncate(fd, 4096), 0);
    (void)exercise_segment(segment);
    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 0);
    assert_true(ntk_ring_segment_is_damaged(segment));
    ntk_ring_segment_close(segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_segment_is_opened),
        cmocka_unit_test(any_value_in_the_segment_header_is_read_safely),
        cmocka_unit_test(any_value_in_the_process_block_is_read_safely),
        cmocka_unit_test(any_value_in_a_segment_table_is_read_safely),
        cmocka_unit_test(sections_at_64_bit_limits_are_rejected),
        cmocka_unit_test(unsupported_versions_and_shapes_are_rejected_with_a_message),
        cmocka_unit_test(larger_entries_of_a_newer_writer_are_read),
        /* Must be last. */
        cmocka_unit_test(a_file_truncated_under_the_reader_reads_as_zeros),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
