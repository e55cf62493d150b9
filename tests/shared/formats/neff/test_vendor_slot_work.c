/* SPDX-License-Identifier: MIT */
/* Hardware slots as work: moved bytes, operations, and ranges of addresses. */

#include <errno.h>
#include <string.h>

#include "shared/formats/neff/vendor_slot.h"
#include "tests/shared/formats/neff/vendor_slot_fixture.h"
#include "tests/support/unit.h"

static struct ntk_vendor_work work_by(const char *name, enum ntk_metrics_version version)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_work work;

    make_slot(row_of(name), slot);
    ntk_vendor_slot_work(slot, version, &work);
    return work;
}

static struct ntk_vendor_work work_of(const char *name)
{
    return work_by(name, NTK_METRICS_2_28);
}

static void the_bytes_moved_by_an_instruction_follow_from_its_tiles(void **state)
{
    struct ntk_vendor_work work = work_of("LDWEIGHTS, columns reversed");

    assert_true(work.is_known);
    assert_int_equal(work.sbuf_read_bytes, 2 * 128);
    assert_int_equal(work.sbuf_write_bytes + work.psum_write_bytes + work.psum_read_bytes, 0);

    work = work_of("MATMUL");
    assert_int_equal(work.sbuf_read_bytes, 2 * 512);
    assert_int_equal(work.psum_write_bytes, 2 * 512); /* the width of its source's type */

    work = work_of("ACTIVATE"); /* without the bias */
    assert_int_equal(work.sbuf_read_bytes, 2 * 512);
    assert_int_equal(work.sbuf_write_bytes, 4 * 512);
    assert_false(work.is_psum_to_sbuf);

    work = work_of("TENSOR_REDUCE, negated");
    assert_int_equal(work.sbuf_read_bytes, 4 * 512 * 4);
    assert_int_equal(work.sbuf_write_bytes, 4);

    work = work_of("CAST with an update and no wait");
    assert_int_equal(work.psum_read_bytes, 2 * 4);
    assert_int_equal(work.sbuf_write_bytes, 4 * 4);
    assert_true(work.is_psum_to_sbuf);
    assert_int_equal(work.psum_to_sbuf_bytes, 4 * 4);
}

static void a_casting_transfer_writes_the_size_of_its_destination_type(void **state)
{
    struct ntk_vendor_work work = work_of("DMA_DIRECT2D that casts, from a table");

    assert_true(work.is_known);
    assert_int_equal(work.hbm_read_bytes, 2048);
    assert_int_equal(work.sbuf_write_bytes, 1024);
    assert_int_equal(work.hbm_write_bytes + work.sbuf_read_bytes, 0);

    work = work_of("DMA_DIRECT2D");
    assert_int_equal(work.hbm_read_bytes, 65536);
    assert_int_equal(work.sbuf_write_bytes, 65536);
}

static void byte_counts_of_unknown_operations_are_unknown(void **state)
{
    assert_false(work_of("an unknown opcode").is_known);
    assert_false(work_of("LDWEIGHTS, unknown codes").is_known); /* with an unknown type */
    assert_true(work_of("DRAIN").is_known);
    assert_true(work_of("NOTIFY").is_known);
    assert_int_equal(work_of("DRAIN").sbuf_read_bytes, 0);
}

/* The sums of the original tool never include it. */
static void operations_omitted_by_the_vendor_tool_move_zero_bytes(void **state)
{
    struct ntk_vendor_work work = work_of("TENSOR_TENSOR");

    assert_true(work.is_known);
    assert_int_equal(work.sbuf_read_bytes + work.sbuf_write_bytes, 0);
    assert_int_equal(work.psum_read_bytes + work.psum_write_bytes, 0);
    assert_true(work_of("TENSOR_STORE").is_known);
}

/* Metrics 2.32 count all partitions, four bytes per sum, and TENSOR_TENSOR like other operations.
 * */
static void metrics_2_32_count_the_bytes_of_all_partitions(void **state)
{
    struct ntk_vendor_work work = work_by("LDWEIGHTS, columns reversed", NTK_METRICS_2_32);

    assert_int_equal(work.sbuf_read_bytes, 2 * 128 * 128);
    work = work_by("MATMUL", NTK_METRICS_2_32);
    assert_int_equal(work.sbuf_read_bytes, 2 * 512 * 128);
    assert_int_equal(work.psum_write_bytes, 4 * 512 * 128);
    work = work_by("ACTIVATE", NTK_METRICS_2_32);
    assert_int_equal(work.sbuf_read_bytes, 2 * 512 * 128);
    assert_int_equal(work.sbuf_write_bytes, 4 * 512 * 128);
    work = work_by("TENSOR_TENSOR", NTK_METRICS_2_32);
    assert_int_equal(work.sbuf_read_bytes, (4 + 2) * 8 * 128);
    assert_int_equal(work.sbuf_write_bytes, 2 * 8 * 128);
    assert_false(work.is_psum_to_sbuf);
    work = work_by("DMA_DIRECT2D", NTK_METRICS_2_32); /* the same in all versions */
    assert_int_equal(work.hbm_read_bytes, 65536);
}

/* Either source of a TENSOR_TENSOR may be in the accumulation buffer. */
static void the_second_source_of_an_instruction_is_counted(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_work work;

    make_slot(row_of("TENSOR_TENSOR"), slot);
    slot[35] = 0x02;
    ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &work);
    assert_int_equal(work.sbuf_read_bytes, 4 * 8 * 128);
    assert_int_equal(work.psum_read_bytes, 2 * 8 * 128);
    assert_true(work.is_psum_to_sbuf);
    assert_int_equal(work.psum_to_sbuf_bytes, 2 * 8 * 128);
}

static void elements_of_a_byte_type_count_as_one_byte(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_work work;

    make_slot(row_of("ACTIVATE"), slot);
    slot[33] = 3;
    ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &work);
    assert_true(work.is_known);
    assert_int_equal(work.sbuf_write_bytes, 512 * 128);
}

static void operations_follow_the_tile_and_are_weighted_by_type(void **state)
{
    static const struct {
        uint8_t dtype, mode;
        uint64_t flops; /* per element, times 2 */
        bool has_adjusted;
        uint64_t adjusted;
    } cases[] = {
        { BF16, 0, 4, true, 4 }, { FP16, 0, 4, true, 4 },  { FP32, 0, 4, true, 16 },
        { FP32, 1, 4, true, 4 }, { FP32, 2, 4, true, 4 },  { FP32, 3, 2, true, 8 },
        { 14, 0, 4, false, 0 },  { FP32, 9, 4, false, 0 },
    };
    const uint64_t half = UINT64_C(64) * 32 * 512 / 2;
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_flops flops;

    make_slot(row_of("MATMUL"), slot);
    slot[38] = 64;
    slot[39] = 32;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        slot[32] = cases[i].dtype;
        slot[33] = cases[i].mode;
        assert_true(ntk_vendor_slot_flops(slot, NTK_METRICS_2_32, &flops));
        assert_int_equal(flops.elements, 2 * half);
        assert_int_equal(flops.flops, cases[i].flops * half);
        assert_int_equal(flops.has_adjusted, cases[i].has_adjusted);
        assert_int_equal(flops.adjusted_flops, cases[i].adjusted * half);
        assert_true(ntk_vendor_slot_flops(slot, NTK_METRICS_2_28, &flops));
        assert_int_equal(flops.flops, 2 * 128 * 128 * 512);
    }
    make_slot(row_of("COPY"), slot);
    assert_false(ntk_vendor_slot_flops(slot, NTK_METRICS_2_32, &flops));
}

/* Only an address in the accumulation buffer counts for an unknown opcode; a float does not. */
static void an_unknown_opcode_with_a_psum_address_is_marked_as_using_psum(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES] = { 0x95, 0x10 };
    struct ntk_vendor_work work;

    slot[46] = 0x80;
    slot[47] = 0x3f; /* 1.0 @44 */
    ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &work);
    assert_false(work.is_known);
    assert_false(work.may_use_psum);
    slot[18] = 0x00;
    slot[19] = 0x02; /* 0x2000000 @16 */
    ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &work);
    assert_true(work.may_use_psum);
}

static void bytes_for_an_impossible_element_count_are_unknown(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES] = { 0x46, 0x10 };
    struct ntk_vendor_work work;

    memset(slot + 24, 0xff, 8); /* the source's counts */
    slot[32] = slot[33] = FP32;
    ntk_vendor_slot_work(slot, NTK_METRICS_2_28, &work);

    assert_false(work.is_known);
    assert_int_equal(work.sbuf_read_bytes, 0);
}

static void address_ranges_extend_from_the_lowest_to_the_highest_byte(void **state)
{
    static const struct {
        const char *name;
        int count;
        struct ntk_vendor_range ranges[2];
    } expected[] = {
        { "LDWEIGHTS, columns reversed", 1, { { false, false, 0x37afe - 2 * 128, 0x37afe } } },
        { "MATMUL",
          2,
          { { false, false, 0x37600, 0x37600 + 2 * 512 },
            { true, true, 0x800, 0x800 + 4 * 512 } } },
        { "ACTIVATE", /* without the bias */
          2,
          { { false, false, 0x36200, 0x36200 + 2 * 512 },
            { false, true, 0x6020, 0x6020 + 4 * 512 } } },
        { "DRAIN", 0, { { false, false, 0, 0 } } },
        { "TENSOR_TENSOR", -EINVAL, { { false, false, 0, 0 } } },
        { "an unknown opcode", -EINVAL, { { false, false, 0, 0 } } },
        { "LDWEIGHTS, unknown codes", -EINVAL, { { false, false, 0, 0 } } },
    };

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        uint8_t slot[NTK_VENDOR_SLOT_BYTES];
        struct ntk_vendor_range ranges[NTK_VENDOR_RANGES_MAX];
        make_slot(row_of(expected[i].name), slot);
        assert_int_equal(ntk_vendor_slot_ranges(slot, true, ranges), expected[i].count);
        for (int r = 0; r < expected[i].count; r++) {
            assert_int_equal(ranges[r].is_psum, expected[i].ranges[r].is_psum);
            assert_int_equal(ranges[r].is_write, expected[i].ranges[r].is_write);
            assert_int_equal(ranges[r].low, expected[i].ranges[r].low);
            assert_int_equal(ranges[r].high, expected[i].ranges[r].high);
        }
    }
}

/* Weights are read from the address backwards, including the element at it; a bias is read; a
 * MATMUL that does not begin a sum continues one. */
static void address_ranges_differ_from_the_vendor_only_as_documented(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_range ranges[NTK_VENDOR_RANGES_MAX];

    make_slot(row_of("LDWEIGHTS, columns reversed"), slot);
    assert_int_equal(ntk_vendor_slot_ranges(slot, false, ranges), 1);
    assert_int_equal(ranges[0].low, 0x37afe - 2 * 31 - 2 * 32 * 3);
    assert_int_equal(ranges[0].high, 0x37afe + 2);
    make_slot(row_of("ACTIVATE"), slot);
    assert_int_equal(ntk_vendor_slot_ranges(slot, false, ranges), 3);
    assert_false(ranges[1].is_write); /* the bias */
    assert_int_equal(ranges[1].low, 0x6010);
    assert_int_equal(ranges[1].high, 0x6010 + 4);
    assert_true(ranges[2].is_write);
    for (unsigned flags = 0; flags < 4; flags++) {
        make_slot(row_of("MATMUL"), slot);
        slot[43] = (uint8_t)flags;
        assert_int_equal(ntk_vendor_slot_ranges(slot, false, ranges), 2);
        assert_int_equal(ranges[1].adds, (flags & 1) == 0);
        assert_int_equal(ntk_vendor_slot_ranges(slot, true, ranges), 2);
        assert_false(ranges[1].adds);
    }
}

/* The original tool's view of memory does not have them. */
static void tensor_tensor_and_memset_have_addresses(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_range ranges[NTK_VENDOR_RANGES_MAX];
    static const struct field memset_fields[] = {
        { 0, 1, 0x49 }, { 32, 1, 6 }, { 34, 1, 128 }, { 44, 4, 0x4000 }, { 48, 2, 1 }, { 50, 2, 0 },
        { 52, 2, 0 },   { 54, 2, 0 }, { 56, 2, 64 },  { 58, 2, 1 },      { 60, 2, 1 }, { 62, 2, 1 },
    };

    make_slot(row_of("TENSOR_TENSOR"), slot);
    assert_int_equal(ntk_vendor_slot_ranges(slot, false, ranges), 3);
    assert_false(ranges[0].is_write || ranges[1].is_write);
    assert_true(ranges[2].is_write);
    assert_int_equal(ranges[2].low, ntk_vendor_slot_u(slot, 48, 4));
    memset(slot, 0, sizeof slot);
    for (size_t f = 0; f < sizeof memset_fields / sizeof *memset_fields; f++) {
        for (unsigned b = 0; b < memset_fields[f].bytes; b++) {
            slot[memset_fields[f].offset + b] = (uint8_t)(memset_fields[f].value >> (8 * b));
        }
    }
    assert_int_equal(ntk_vendor_slot_channels(slot), 128);
    assert_int_equal(ntk_vendor_slot_ranges(slot, true, ranges), -EINVAL);
    assert_int_equal(ntk_vendor_slot_ranges(slot, false, ranges), 1);
    assert_true(ranges[0].is_write && !ranges[0].is_psum && !ranges[0].adds);
    assert_int_equal(ranges[0].low, 0x4000);
    assert_int_equal(ranges[0].high, 0x4000 + 2 * 64);
    slot[32] = 99; /* an unknown type */
    assert_int_equal(ntk_vendor_slot_ranges(slot, false, ranges), -EINVAL);
}

/* Four consecutive rows of 512 bytes in each of 128 partitions. */
static void a_transfer_uses_the_same_address_range_in_each_partition(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES] = { 0xb8, 0x10 };
    struct ntk_vendor_range ranges[NTK_VENDOR_RANGES_MAX];
    static const struct field fields[] = {
        { 16, 8, 0x802000008850 },
        { 24, 4, 512 },
        { 28, 4, 262144 },
        { 32, 2, 4 },
        { 34, 2, 128 },
        { 36, 2, 512 },
        { 40, 8, 0x8005c0000 },
        { 56, 2, 1 },
        { 58, 2, 1 },
        { 60, 2, 4 },
    };

    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        for (unsigned b = 0; b < fields[f].bytes; b++) {
            slot[fields[f].offset + b] = (uint8_t)(fields[f].value >> (8 * b));
        }
    }
    assert_int_equal(ntk_vendor_slot_ranges(slot, true, ranges),
                     1); /* device memory is not included */
    assert_false(ranges[0].is_write);
    assert_false(ranges[0].is_psum);
    assert_int_equal(ranges[0].low, 0x8850);
    assert_int_equal(ranges[0].high, 0x8850 + 2048);
    assert_int_equal(ranges[0].partition, 0);
    assert_int_equal(ranges[0].partition_count, 128);
    assert_int_equal(ranges[0].partition_step, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_moved_by_an_instruction_follow_from_its_tiles),
        cmocka_unit_test(a_casting_transfer_writes_the_size_of_its_destination_type),
        cmocka_unit_test(byte_counts_of_unknown_operations_are_unknown),
        cmocka_unit_test(operations_omitted_by_the_vendor_tool_move_zero_bytes),
        cmocka_unit_test(metrics_2_32_count_the_bytes_of_all_partitions),
        cmocka_unit_test(the_second_source_of_an_instruction_is_counted),
        cmocka_unit_test(elements_of_a_byte_type_count_as_one_byte),
        cmocka_unit_test(operations_follow_the_tile_and_are_weighted_by_type),
        cmocka_unit_test(an_unknown_opcode_with_a_psum_address_is_marked_as_using_psum),
        cmocka_unit_test(bytes_for_an_impossible_element_count_are_unknown),
        cmocka_unit_test(address_ranges_extend_from_the_lowest_to_the_highest_byte),
        cmocka_unit_test(address_ranges_differ_from_the_vendor_only_as_documented),
        cmocka_unit_test(tensor_tensor_and_memset_have_addresses),
        cmocka_unit_test(a_transfer_uses_the_same_address_range_in_each_partition),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
