/* SPDX-License-Identifier: MIT */
/* Method: sources that add what the test sets. */
#include "exporters/transport/output_counts.h"

#include <stdio.h>

#include "tests/support/unit.h"

static void read_one(void *ctx, struct ntk_output_counts *counts)
{
    (void)ctx;
    counts->sent_items += 1;
    counts->spool_items += 10;
}

static void output_rows_are_sorted_and_merged_by_name(void **state)
{
    struct ntk_output_source sources[] = {
        { .name = "otlp", .read = read_one },
        { .name = "emf", .read = read_one },
        { .name = "otlp", .read = read_one },
    };
    struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX];

    assert_int_equal(ntk_output_counts_read(rows), 0);
    for (size_t i = 0; i < 3; i++) {
        ntk_output_source_add(&sources[i]);
    }
    assert_int_equal(ntk_output_counts_read(rows), 2);
    assert_string_equal(rows[0].name, "emf");
    assert_int_equal(rows[0].sent_items, 1);
    assert_string_equal(rows[1].name, "otlp");
    assert_int_equal(rows[1].sent_items, 2);
    assert_int_equal(rows[1].spool_items, 20);
    assert_int_equal(rows[1].lost_items, 0);

    ntk_output_source_remove(&sources[0]);
    assert_int_equal(ntk_output_counts_read(rows), 2);
    assert_int_equal(rows[1].sent_items, 1);
    ntk_output_source_remove(&sources[0]); /* not in the list: fine */
    ntk_output_source_remove(&sources[1]);
    ntk_output_source_remove(&sources[2]);
    assert_int_equal(ntk_output_counts_read(rows), 0);
}

static void output_names_beyond_the_limit_are_not_reported(void **state)
{
    struct ntk_output_source sources[NTK_OUTPUT_COUNTS_MAX + 2];
    char names[NTK_OUTPUT_COUNTS_MAX + 2][2 * NTK_OUTPUT_NAME_BYTES];
    struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX];

    for (size_t i = 0; i < NTK_OUTPUT_COUNTS_MAX + 2; i++) {
        snprintf(names[i], sizeof names[i], "%zu: a name that is longer than %0*d", i,
                 NTK_OUTPUT_NAME_BYTES, 1);
        sources[i] = (struct ntk_output_source){ .name = names[i], .read = read_one };
        ntk_output_source_add(&sources[i]);
    }
    assert_int_equal(ntk_output_counts_read(rows), NTK_OUTPUT_COUNTS_MAX);
    for (size_t i = 0; i < NTK_OUTPUT_COUNTS_MAX; i++) {
        assert_int_equal(rows[i].sent_items, 1);
    }
    for (size_t i = 0; i < NTK_OUTPUT_COUNTS_MAX + 2; i++) {
        ntk_output_source_remove(&sources[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_rows_are_sorted_and_merged_by_name),
        cmocka_unit_test(output_names_beyond_the_limit_are_not_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
