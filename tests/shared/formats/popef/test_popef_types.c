/* SPDX-License-Identifier: MIT */
#include "shared/formats/popef/popef.h"

#include "tests/support/unit.h"

static void data_types_have_names_and_sizes(void **state)
{
    static const struct {
        const char *name;
        size_t size;
    } expected[POPEF_DATA_TYPE_COUNT] = {
        { "BOOL", 1 }, { "F8", 1 },  { "F16", 2 }, { "F32", 4 },   { "F64", 8 },
        { "S8", 1 },   { "U8", 1 },  { "S16", 2 }, { "U16", 2 },   { "S32", 4 },
        { "U32", 4 },  { "S64", 8 }, { "U64", 8 }, { "F8143", 1 }, { "F8152", 1 },
    };
    enum popef_data_type found = POPEF_BOOL;

    (void)state;
    for (unsigned i = 0; i < POPEF_DATA_TYPE_COUNT; i++) {
        assert_string_equal(popef_data_type_name((enum popef_data_type)i), expected[i].name);
        assert_int_equal(popef_data_type_size((enum popef_data_type)i), expected[i].size);
        assert_int_equal(popef_data_type_find(expected[i].name, &found), 0);
        assert_int_equal(found, i);
    }
    assert_null(popef_data_type_name((enum popef_data_type)POPEF_DATA_TYPE_COUNT));
    assert_int_equal(popef_data_type_size((enum popef_data_type)POPEF_DATA_TYPE_COUNT), 0);
    assert_int_equal(popef_data_type_find("f32", &found), -POPEF_ERROR_ARGUMENT);
}

static void tensor_sizes_are_products_and_never_overflow(void **state)
{
    struct popef_tensor_info scalar = { .data_type = POPEF_F64 };
    struct popef_tensor_info empty = { POPEF_F32, 3, { 5, 0, 7 } };
    struct popef_tensor_info wraps = { POPEF_U8, 2, { INT64_C(1) << 32, INT64_C(1) << 32 } };
    struct popef_tensor_info most = { POPEF_U8, 1, { INT64_MAX } };
    struct popef_tensor_info too_much = { POPEF_F16, 1, { INT64_MAX } };
    struct popef_tensor_info negative = { POPEF_U8, 2, { -1, 0 } };
    struct popef_tensor_info empty_and_large = { POPEF_U64, 3, { INT64_MAX, INT64_MAX, 0 } };

    (void)state;
    assert_int_equal(popef_tensor_info_size_in_bytes(&scalar), 8);
    assert_int_equal(popef_tensor_info_size_in_bytes(&empty), 0);
    assert_int_equal(popef_tensor_info_size_in_bytes(&wraps), -1);
    assert_int_equal(popef_tensor_info_size_in_bytes(&most), INT64_MAX);
    assert_int_equal(popef_tensor_info_size_in_bytes(&too_much), -1);
    assert_int_equal(popef_tensor_info_size_in_bytes(&negative), -1);
    assert_int_equal(popef_tensor_info_size_in_bytes(&empty_and_large), 0);
}

/* The six cases of docs/formats/popef.md, "Shapes". */
static void shapes_are_extended_by_repeats_and_replicas(void **state)
{
    static const struct {
        bool is_remote;
        int64_t repeats, replication;
        bool is_per_replica;
        uint32_t rank;
        int64_t shape[5];
        int64_t bytes;
    } cases[] = {
        { true, 3, 2, true, 5, { 2, 3, 8, 3, 1 }, 576 },
        { true, 3, 1, true, 4, { 3, 8, 3, 1 }, 288 },
        { true, 3, 2, false, 4, { 3, 8, 3, 1 }, 288 },
        { false, 1, 1, false, 3, { 8, 3, 1 }, 96 },
        { false, 3, 2, true, 4, { 2, 8, 3, 1 }, 192 },
        { true, 1, 2, true, 4, { 2, 8, 3, 1 }, 192 },
    };
    struct popef_tensor_info plain = { POPEF_F32, 3, { 8, 3, 1 } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct popef_anchor anchor = { .is_per_replica = cases[i].is_per_replica,
                                       .use_remote_buffers = cases[i].is_remote,
                                       .repeats = cases[i].repeats };
        struct popef_tensor_info back;

        assert_int_equal(popef_tensor_info_extend(&plain, cases[i].replication,
                                                  cases[i].is_per_replica, cases[i].is_remote,
                                                  cases[i].repeats, &anchor.tensor_info),
                         0);
        assert_int_equal(anchor.tensor_info.rank, cases[i].rank);
        assert_memory_equal(anchor.tensor_info.shape, cases[i].shape,
                            cases[i].rank * sizeof(int64_t));
        assert_int_equal(popef_tensor_info_size_in_bytes(&anchor.tensor_info), cases[i].bytes);
        assert_int_equal(popef_anchor_unextended(&anchor, cases[i].replication, &back), 0);
        assert_true(popef_tensor_info_equal(&back, &plain));
        assert_int_equal(popef_anchor_batch_size(&anchor, cases[i].replication), 8);
    }
}

static void the_batch_size_is_derived_from_the_unextended_shape(void **state)
{
    struct popef_anchor anchor = { .tensor_info = { POPEF_F32, 4, { 2, 8, 3, 1 } },
                                   .is_per_replica = true };
    struct popef_metadata metadata = { .replication_factor = 2,
                                       .device_iterations = 10,
                                       .is_inference = true };
    struct popef_anchor scalar = { .tensor_info = { .data_type = POPEF_F32 } };

    (void)state;
    assert_int_equal(popef_anchor_elements_per_call(&anchor, &metadata, 7), 160);
    metadata.is_inference = false;
    assert_int_equal(popef_anchor_elements_per_call(&anchor, &metadata, 3), 480);
    metadata.device_iterations = INT64_MAX;
    assert_int_equal(popef_anchor_elements_per_call(&anchor, &metadata, 3), -1);
    assert_int_equal(popef_anchor_batch_size(&scalar, 4), 1);
    scalar.is_per_replica = true; /* but without a dimension for the replicas */
    assert_int_equal(popef_anchor_batch_size(&scalar, 4), -1);
}

static void a_shape_extended_beyond_the_maximum_rank_is_rejected(void **state)
{
    struct popef_tensor_info info = { .data_type = POPEF_U8, .rank = POPEF_RANK_MAX - 1 };
    struct popef_tensor_info extended;

    (void)state;
    assert_int_equal(popef_tensor_info_extend(&info, 2, true, false, 1, &extended), 0);
    assert_int_equal(popef_tensor_info_extend(&info, 2, true, true, 2, &extended),
                     -POPEF_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_types_have_names_and_sizes),
        cmocka_unit_test(tensor_sizes_are_products_and_never_overflow),
        cmocka_unit_test(shapes_are_extended_by_repeats_and_replicas),
        cmocka_unit_test(the_batch_size_is_derived_from_the_unextended_shape),
        cmocka_unit_test(a_shape_extended_beyond_the_maximum_rank_is_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
