/* SPDX-License-Identifier: MIT */
/* Method: hand-made summaries of three captures; compares the whole text. */
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/output_ranks.h"
#include "tests/support/unit.h"

#define VALUES 4

static struct ntk_summary_value values[3][VALUES] = {
    { { .name = "total_time",
        .kind = NTK_SUMMARY_KIND_SECONDS,
        .is_present = true,
        .number = 3e-6 },
      { .name = "event_count", .kind = NTK_SUMMARY_KIND_COUNT, .is_present = true, .count = 7 },
      { .name = "instance_type",
        .kind = NTK_SUMMARY_KIND_TEXT,
        .is_present = true,
        .text = "trn2" },
      { .name = "absent", .kind = NTK_SUMMARY_KIND_COUNT } },
    { { .name = "total_time",
        .kind = NTK_SUMMARY_KIND_SECONDS,
        .is_present = true,
        .number = 9e-6 },
      { .name = "event_count", .kind = NTK_SUMMARY_KIND_COUNT, .is_present = true, .count = 7 },
      { .name = "tensor_engine_active_time_percent",
        .kind = NTK_SUMMARY_KIND_FRACTION,
        .is_present = true,
        .number = 0.25 },
      { .name = "absent", .kind = NTK_SUMMARY_KIND_COUNT } },
    { { .name = "total_time",
        .kind = NTK_SUMMARY_KIND_SECONDS,
        .is_present = true,
        .number = 4e-6 },
      { .name = "event_count", .kind = NTK_SUMMARY_KIND_COUNT, .is_present = true, .count = 7 },
      { .name = "tensor_engine_active_time_percent",
        .kind = NTK_SUMMARY_KIND_FRACTION,
        .is_present = true,
        .number = 0.5 },
      { .name = "absent", .kind = NTK_SUMMARY_KIND_COUNT } },
};

static const struct ntk_rank_summary ranks[3] = {
    { "run_rank_0", { VALUES, values[0] } },
    { "run_rank_1", { VALUES, values[1] } },
    { "run_rank_2", { VALUES, values[2] } },
};

static void each_rank_metric_is_listed_with_the_capture_of_its_maximum(void **state)
{
    static const char expected[] =
        "CAPTURE     TIME US  TENSOR %  VECTOR %  SCALAR %  GPSIMD %  SYNC %  DMA %\n"
        "run_rank_0    3.000         -         -         -         -       -      -\n"
        "run_rank_1    9.000      25.0         -         -         -       -      -\n"
        "run_rank_2    4.000      50.0         -         -         -       -      -\n"
        "\n"
        "METRIC                              MINIMUM    MEDIAN   MAXIMUM  OF\n"
        "total_time                         0.000003  0.000004  0.000009  run_rank_1\n"
        "event_count                               7         7         7  all the same\n"
        "tensor_engine_active_time_percent      0.25      0.25       0.5  run_rank_2\n";
    struct ntk_buf text = { 0 };

    ntk_output_ranks_text(ranks, 3, &text);
    assert_true(ntk_buf_ok(&text));
    assert_string_equal(ntk_buf_text_get(&text), expected);
    ntk_buf_fini(&text);
}

static void the_rank_json_has_a_key_for_each_capture(void **state)
{
    static const char expected[] = "{\n"
                                   "  \"run_rank_0\": {\n"
                                   "    \"total_time\": 0.000003,\n"
                                   "    \"event_count\": 7,\n"
                                   "    \"instance_type\": \"trn2\"\n"
                                   "  },\n"
                                   "  \"run_rank_1\": {\n"
                                   "    \"total_time\": 0.000009,\n"
                                   "    \"event_count\": 7,\n"
                                   "    \"tensor_engine_active_time_percent\": 0.25\n"
                                   "  }\n"
                                   "}\n";
    struct ntk_buf text = { 0 };

    ntk_output_ranks_json(ranks, 2, &text);
    assert_true(ntk_buf_ok(&text));
    assert_string_equal(ntk_buf_text_get(&text), expected);
    ntk_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rank_metric_is_listed_with_the_capture_of_its_maximum),
        cmocka_unit_test(the_rank_json_has_a_key_for_each_capture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
