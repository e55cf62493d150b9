/* SPDX-License-Identifier: MIT */
/*
 * A segment that is already mapped: adopted if it is valid, otherwise left alone.
 *
 * Method: mappings of a valid segment's file, of another size or with a word changed.
 */
#include "shared/ring/ring_segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static void *map(size_t count)
{
    void *mapping = mmap(NULL, count, PROT_READ, MAP_SHARED, fd, 0);

    assert_ptr_not_equal(mapping, MAP_FAILED);
    return mapping;
}

static int is_mapped(void *address)
{
    unsigned char resident;

    return mincore(address, 1, &resident) == 0;
}

static void an_adopted_mapping_is_read_and_unmapped_with_the_segment(void **state)
{
    static struct ntk_ring_model models[2][NTK_SEGMENT_MODELS];
    struct ntk_ring_segment *segment = NULL;
    struct ntk_ring_segment *opened = NULL;
    struct ntk_err err = { 0 };
    struct ntk_ring_process process;
    struct ntk_ring_process same;
    void *mapping = map(bytes_count);
    int copy = dup(fd);

    assert_int_equal(ntk_ring_segment_adopt(mapping, bytes_count, &segment, &err), 0);
    assert_int_equal(ntk_ring_segment_open(copy, "segment", NTK_RING_FROM_NOW, &opened, &err), 0);
    ntk_ring_segment_process(segment, &process);
    ntk_ring_segment_process(opened, &same);
    assert_memory_equal(&process, &same, sizeof process);
    (void)exercise_segment(segment); /* aborts on an impossible answer */
    assert_int_equal(ntk_ring_segment_models(segment, models[0], NTK_SEGMENT_MODELS),
                     ntk_ring_segment_models(opened, models[1], NTK_SEGMENT_MODELS));
    assert_true(models[0][0].id > 0);
    assert_memory_equal(models[0], models[1], sizeof models[0]);
    ntk_ring_segment_close(opened);
    assert_true(is_mapped(mapping));
    ntk_ring_segment_close(segment);
    assert_false(is_mapped(mapping));
}

static void a_rejected_segment_mapping_remains_owned_by_the_caller(void **state)
{
    struct ntk_ring_segment *segment = NULL;
    struct ntk_segment_header *header = (struct ntk_segment_header *)(void *)bytes;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const struct ntk_segment_header good = *header;
    void *mapping = map(bytes_count);
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_ring_segment_adopt(mapping, sizeof *header - 1, &segment, &err), -EBADMSG);
    assert_int_equal(ntk_ring_segment_adopt(mapping, SIZE_MAX, &segment, &err), -EBADMSG);
    /* The size that the header claims differs from that of the mapping. */
    assert_int_equal(ntk_ring_segment_adopt(mapping, bytes_count - page, &segment, &err), -EBADMSG);
    header->segment_bytes = bytes_count - page;
    assert_int_equal(ntk_ring_segment_adopt(mapping, bytes_count, &segment, &err), -EBADMSG);
    *header = good;
    header->abi_version++;
    assert_true(ntk_ring_segment_adopt(mapping, bytes_count, &segment, &err) < 0);
    assert_string_not_equal(err.text, "");
    *header = good;
    header->magic = 0; /* the writer has not finished it */
    assert_int_equal(ntk_ring_segment_adopt(mapping, bytes_count, &segment, &err), -EAGAIN);
    header->magic = good.magic ^ 1;
    assert_int_equal(ntk_ring_segment_adopt(mapping, bytes_count, &segment, &err), -EBADMSG);
    *header = good;
    assert_null(segment);
    assert_true(is_mapped(mapping));
    assert_int_equal(ntk_ring_segment_adopt(mapping, bytes_count, &segment, &err), 0);
    ntk_ring_segment_close(segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_adopted_mapping_is_read_and_unmapped_with_the_segment,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_rejected_segment_mapping_remains_owned_by_the_caller,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
