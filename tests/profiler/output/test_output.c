/* SPDX-License-Identifier: MIT */
/* Method: the sample capture as text and JSON, compared byte for byte with required lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/output.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/unit.h"

struct fixture {
    struct ntk_buf file, text;
    struct ntk_ntff *ntff;
    struct ntk_trace *trace;
    struct ntk_summary summary;
    struct ntk_opcode_table opcodes;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntff_sample sample = { .version = 6 };

    ntff_sample_build(&sample, &f->file);
    assert_int_equal(ntk_ntff_open_bytes(f->file.bytes, f->file.bytes_count, &f->ntff, NULL), 0);
    assert_int_equal(ntk_trace_create_from_ntff(f->ntff, NULL, NULL, NULL, &f->trace, NULL), 0);
    assert_int_equal(ntk_analysis_summary(f->trace, &f->summary), 0);
    assert_int_equal(ntk_analysis_opcode_table(f->trace, &f->opcodes), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_opcode_table_fini(&f->opcodes);
    ntk_summary_fini(&f->summary);
    ntk_trace_destroy(f->trace);
    ntk_ntff_close(f->ntff);
    ntk_buf_fini(&f->file);
    ntk_buf_fini(&f->text);
    free(f);
    return 0;
}

static void expect_text(const struct fixture *f, const char *wanted)
{
    if (!strstr(ntk_buf_text_get(&f->text), wanted)) {
        fail_msg("missing: %s\nin:\n%s", wanted, ntk_buf_text_get(&f->text));
    }
}

static void summary_text_has_two_columns(void **state)
{
    struct fixture *f = *state;

    ntk_output_summary_text(&f->summary, true, &f->text);
    assert_true(strncmp(ntk_buf_text_get(&f->text), "total_time ", 11) == 0);
    expect_text(f, "\ntrace_count                                     16\n");
    expect_text(f, "\ntotal_active_time_percent                       37.50%\n");
    expect_text(f, "\ninstance_type                                   trn2.3xlarge\n");
    expect_text(f, "\nthrottle_activity_1_avg_util_limit_nc4_percent  50.00%\n");
    assert_null(strstr(ntk_buf_text_get(&f->text), "weight_size_bytes"));
}

static void a_brief_summary_fits_on_a_screen(void **state)
{
    struct fixture *f = *state;
    struct ntk_advice_item items[5] = { 0 };
    struct ntk_advice advice = { .count = 5, .items = items };

    for (int i = 0; i < 5; i++) {
        (void)snprintf(items[i].text, sizeof items[i].text, "finding %d", i + 1);
    }
    setenv("COLUMNS", "160", 1); /* advice is not wrapped */
    ntk_output_brief("sample", "a.ntff", 3, &f->summary, &advice, &f->text);
    assert_true(strncmp(ntk_buf_text_get(&f->text), "sample on a trn2.3xlarge\n\n", 26) == 0);
    expect_text(
        f, "\nExecutions                                3, figures cover all of them together");
    expect_text(f, "\nEngines or DMA active ");
    expect_text(f, ", 37.50% of the duration\n");
    expect_text(f, "\nRead from device memory "); /* with a byte count, or unknown */
    expect_text(f, "\nTensor       |#");
    expect_text(f, "\n 3. finding 3 [");
    assert_null(strstr(ntk_buf_text_get(&f->text), "finding 4"));
    expect_text(f, "\n2 more findings and all tables:\n  neuron-profile analyze -s a.ntff\n");
    size_t lines = 0;
    for (const char *c = ntk_buf_text_get(&f->text); *c; c++) {
        lines += *c == '\n';
    }
    if (lines > 32) {
        fail_msg("%zu lines:\n%s", lines, ntk_buf_text_get(&f->text));
    }
}

static void a_brief_summary_reports_unknown_values(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < f->summary.value_count; i++) {
        f->summary.values[i].is_present = false;
    }
    ntk_output_brief("sample", "a.ntff", 1, &f->summary, NULL, &f->text);
    expect_text(f, "sample\n\nDuration on the device              unknown\n");
    expect_text(f, "\nFindings\nunknown: the capture does not contain the execution time\n");
    expect_text(f, " (unknown: Tensor, Vector, Scalar, GpSimd, Sync, DMA, Collectives)\n");
    assert_null(strchr(ntk_buf_text_get(&f->text), 0x25)); /* no percentage at all */
}

/* Method: looks up each metric of the JSON in the text. */
static void summary_text_without_units_has_the_same_numbers_as_json(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf json = { 0 };
    size_t metrics = 0;
    char *rest = NULL;

    ntk_output_summary_text(&f->summary, false, &f->text);
    ntk_output_summary_json(&f->summary, "sample", &json);
    for (char *line = strtok_r((char *)ntk_buf_text_get(&json), "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char name[128];
        char value[128];
        char wanted[300];

        if (sscanf(line, " \"%127[^\"]\": %127[0-9.e+-]", name, value) != 2) {
            continue; /* a text value, or a brace */
        }
        metrics++;
        const char *found = strstr(ntk_buf_text_get(&f->text), name);
        assert_non_null(found);
        (void)snprintf(wanted, sizeof wanted, " %s\n", value);
        const char *end = strchr(found, '\n');
        if (strncmp(end + 1 - strlen(wanted), wanted, strlen(wanted)) != 0) {
            fail_msg("%s is not %s in:\n%s", name, value, ntk_buf_text_get(&f->text));
        }
    }
    assert_true(metrics > 20);
    ntk_buf_fini(&json);
}

static void summary_json_has_the_metrics_under_the_profile_name(void **state)
{
    struct fixture *f = *state;
    size_t wanted = 0;
    size_t lines = 0;

    ntk_output_summary_json(&f->summary, "sample", &f->text);
    expect_text(f, "{\n  \"sample\": {\n    \"total_time\": 0.0001,\n");
    expect_text(f, "\n    \"hardware_flops\": 20971520,\n");
    expect_text(f, "\n    \"instance_type\": \"trn2.3xlarge\",\n");
    for (size_t i = 0; i < f->summary.value_count; i++) {
        wanted += f->summary.values[i].is_present;
    }
    for (const char *c = ntk_buf_text_get(&f->text); *c; c++) {
        lines += *c == '\n';
    }
    assert_int_equal(lines, wanted + 4);
}

static void session_text_lists_cores_and_opcodes(void **state)
{
    struct fixture *f = *state;

    ntk_output_session_text(f->trace, &f->opcodes, &f->text);
    expect_text(f, "NTFF version   6\n");
    expect_text(f, "sample.neff  uuid " NTFF_SAMPLE_UUID_TEXT "  model 10001\n");
    expect_text(f, "NODE ID  EXEC TIME (NS)  EXECUTOR  NAME  TRACE     CYCLES  EVENTS  DMA  "
                   "THROTTLE  OUTSIDE  SKIPPED  DMA QUEUES  EXECUTIONS\n");
    expect_text(f, "      0          100000  NC 4      sg00      7  100000000       3    4  "
                   "       2        4        4           3           1\n");
    expect_text(f, "Tensor  MATMUL               2            40000             30000        "
                   "0.3000\n");
}

static void session_json_has_cycles_and_opcodes(void **state)
{
    struct fixture *f = *state;

    ntk_output_session_json(f->trace, &f->opcodes, false, &f->text);
    expect_text(f, "\"NC\": 4,");
    expect_text(f, "\"CycleCount\": 100000000");
    assert_null(strstr(ntk_buf_text_get(&f->text), "\"Errors\""));
    expect_text(f, "\"opcode\": \"DMA_DIRECT2D\"");
    expect_text(f, "\"Warnings\": []");
}

static void the_same_trace_produces_the_same_bytes(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf again = { 0 };

    ntk_output_session_json(f->trace, &f->opcodes, true, &f->text);
    ntk_output_session_json(f->trace, &f->opcodes, true, &again);
    assert_int_equal(f->text.bytes_count, again.bytes_count);
    assert_memory_equal(f->text.bytes, again.bytes, again.bytes_count);
    ntk_buf_fini(&again);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(summary_text_has_two_columns),
        TEST(a_brief_summary_fits_on_a_screen),
        TEST(a_brief_summary_reports_unknown_values),
        TEST(summary_text_without_units_has_the_same_numbers_as_json),
        TEST(summary_json_has_the_metrics_under_the_profile_name),
        TEST(session_text_lists_cores_and_opcodes),
        TEST(session_json_has_cycles_and_opcodes),
        TEST(the_same_trace_produces_the_same_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
