/* SPDX-License-Identifier: MIT */
/* Method: hand-written measures and limits. */
#include "profiler/analysis/baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/baseline_file.h"
#include "profiler/output/answers/output_baseline.h"
#include "tests/support/unit.h"

static void put(struct ntk_measures *measures, enum ntk_measure_kind kind, const char *name,
                double value)
{
    assert_int_equal(ntk_measures_add(measures, kind, name, value), 0);
}

static struct ntk_baseline_limit limit_of(const char *text)
{
    struct ntk_baseline_limit limit;
    struct ntk_err err = { 0 };

    if (ntk_baseline_limit_parse(text, &limit, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return limit;
}

static void baseline_limits_are_parsed(void **state)
{
    static const struct {
        const char *text, *name;
        enum ntk_measure_kind kind;
        bool is_share;
        double amount;
    } good[] = {
        { "total=5%", NULL, NTK_MEASURE_TOTAL, true, 0.05 },
        { "chip_use/MFU=10%", "MFU", NTK_MEASURE_USE, true, 0.1 },
        { "memory_bytes/HBM read=1M", "HBM read", NTK_MEASURE_MEMORY, false, 1048576 },
        { "total=0%", NULL, NTK_MEASURE_TOTAL, true, 0 },
        { "total=0", NULL, NTK_MEASURE_TOTAL, false, 0 },
        { "engines/Tensor=2us", "Tensor", NTK_MEASURE_ENGINE, false, 2e6 },
        { "queue_bytes=64K", NULL, NTK_MEASURE_BYTES, false, 65536 },
        { "path_layers/a/b=c=12.5%", "a/b=c", NTK_MEASURE_LAYER, true, 0.125 },
        { "operations/Vector ADD=1ms", "Vector ADD", NTK_MEASURE_OPERATION, false, 1e9 },
    };
    static const char *const bad[] = { "",
                                       "total",
                                       "=5%",
                                       "totals=5%",
                                       "total=",
                                       "total=%",
                                       "total=-1%",
                                       "total=5",
                                       "engines/Tensor=0.5",
                                       "total=nan%",
                                       "total=64K",
                                       "engines=2x",
                                       "queue_bytes=2us",
                                       "chip_use=2us",
                                       "chip_use=64K",
                                       "total=inf%",
                                       "total=9999999999999999999999999999999999999%" };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct ntk_baseline_limit limit = limit_of(good[i].text);

        assert_int_equal(limit.kind, good[i].kind);
        assert_int_equal(limit.is_share, good[i].is_share);
        assert_true(limit.amount == good[i].amount);
        assert_int_equal(limit.name != NULL, good[i].name != NULL);
        if (limit.name) {
            assert_string_equal(limit.name, good[i].name);
        }
        free(limit.name);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ntk_baseline_limit limit;
        struct ntk_err err = { 0 };

        if (ntk_baseline_limit_parse(bad[i], &limit, &err) != -EINVAL || err.text[0] == '\0') {
            fail_msg("limit '%s' was taken", bad[i]);
        }
    }
}

/* Measures of count executions each, with the given duration and a queue that only the new ones
 * have. */
static void compare(const double *before, const double *after, size_t count,
                    struct ntk_measures *sides[2], struct ntk_comparison *out)
{
    for (int s = 0; s < 2; s++) {
        sides[s] = calloc(count, sizeof *sides[s]);
        for (size_t i = 0; i < count; i++) {
            put(&sides[s][i], NTK_MEASURE_TOTAL, "execution", s ? after[i] : before[i]);
            put(&sides[s][i], NTK_MEASURE_ENGINE, "Tensor", 100);
        }
    }
    for (size_t i = 0; i < count; i++) {
        put(&sides[1][i], NTK_MEASURE_BYTES, "new", 10);
    }
    assert_int_equal(ntk_analysis_comparison(sides[0], count, sides[1], count, out), 0);
}

static void sides_free(struct ntk_measures *sides[2], size_t count)
{
    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; i < count; i++) {
            ntk_measures_fini(&sides[s][i]);
        }
        free(sides[s]);
    }
}

/* The verdict of the limit about an execution that took `before` and now takes `after`. */
static bool is_beyond(const double *before, const double *after, size_t count, const char *text)
{
    struct ntk_baseline_limit limit = limit_of(text);
    struct ntk_baseline_result result;
    struct ntk_comparison comparison;
    struct ntk_measures *sides[2];
    bool beyond;

    compare(before, after, count, sides, &comparison);
    assert_int_equal(ntk_baseline_check(&comparison, &limit, 1, &result, NULL), 0);
    assert_int_equal(result.count, 1);
    assert_int_equal(result.beyond_count, result.findings[0].is_beyond);
    beyond = result.findings[0].is_beyond;
    ntk_baseline_result_fini(&result);
    ntk_comparison_fini(&comparison);
    sides_free(sides, count);
    free(limit.name);
    return beyond;
}

static void a_limit_is_exceeded_only_by_an_increase_above_it(void **state)
{
    static const double before[] = { 100e6 };
    static const double same[] = { 100e6 };
    static const double five[] = { 105e6 };
    static const double six[] = { 106e6 };
    static const double less[] = { 50e6 };

    assert_false(is_beyond(before, same, 1, "total=0%"));
    assert_false(is_beyond(before, five, 1, "total=5%"));
    assert_true(is_beyond(before, six, 1, "total=5%"));
    assert_false(is_beyond(before, less, 1, "total=5%"));
    assert_true(is_beyond(before, six, 1, "total/execution=5us"));
    assert_false(is_beyond(before, six, 1, "total/execution=6us"));
    /* A new measure exceeds every percentage, but not every amount. */
    assert_true(is_beyond(before, same, 1, "queue_bytes=1000%"));
    assert_false(is_beyond(before, same, 1, "queue_bytes=10"));
    assert_true(is_beyond(before, same, 1, "queue_bytes=9"));
}

static bool use_is_beyond(double before, double after, const char *text)
{
    struct ntk_baseline_limit limit = limit_of(text);
    struct ntk_measures sides[2] = { 0 };
    struct ntk_baseline_result result;
    struct ntk_comparison comparison;
    bool beyond;

    put(&sides[0], NTK_MEASURE_USE, "MFU", before);
    put(&sides[1], NTK_MEASURE_USE, "MFU", after);
    assert_int_equal(ntk_analysis_comparison(&sides[0], 1, &sides[1], 1, &comparison), 0);
    assert_int_equal(ntk_baseline_check(&comparison, &limit, 1, &result, NULL), 0);
    beyond = result.findings[0].is_beyond;
    ntk_baseline_result_fini(&result);
    ntk_comparison_fini(&comparison);
    ntk_measures_fini(&sides[0]);
    ntk_measures_fini(&sides[1]);
    free(limit.name);
    return beyond;
}

/* Lower is worse: of 40 % of the peak, 36 remain, then 35. */
static void a_chip_utilization_decrease_beyond_the_limit_is_detected(void **state)
{
    (void)state;
    assert_false(use_is_beyond(0.40, 0.80, "chip_use=0%"));
    assert_false(use_is_beyond(0.40, 0.37, "chip_use/MFU=10%"));
    assert_true(use_is_beyond(0.40, 0.35, "chip_use/MFU=10%"));
    assert_true(use_is_beyond(0.40, 0.399, "chip_use=0%"));
}

static void an_increase_within_variation_does_not_exceed_the_limit(void **state)
{
    static const double before[] = { 100, 130, 90, 120, 110 };
    static const double noisy[] = { 125, 95, 140, 118, 121 };
    static const double slower[] = { 150, 151, 152, 153, 154 };

    assert_false(is_beyond(before, noisy, 5, "total=5%")); /* 10 % more, p is large */
    assert_true(is_beyond(before, slower, 5, "total=5%"));
    assert_true(is_beyond(before, noisy, 1, "total=5%")); /* one of each: only the limit counts */
}

static void a_baseline_limit_of_zero_is_an_error(void **state)
{
    static const double one[] = { 100 };
    struct ntk_baseline_limit limits[] = { limit_of("total=5%"), limit_of("engines/Tenser=5%") };
    struct ntk_baseline_result result = { 0 };
    struct ntk_comparison comparison;
    struct ntk_measures *sides[2];
    struct ntk_err err = { 0 };

    compare(one, one, 1, sides, &comparison);
    assert_int_equal(ntk_baseline_check(&comparison, limits, 2, &result, &err), -ENOENT);
    assert_string_equal(err.text, "engines/Tenser has a limit, but neither the baseline nor the "
                                  "captures contain it");
    /* The last of several limits on a measure applies. */
    free(limits[1].name);
    limits[1] = limit_of("total=7%");
    assert_int_equal(ntk_baseline_check(&comparison, limits, 2, &result, NULL), 0);
    assert_int_equal(result.count, 1);
    assert_true(result.findings[0].limit == &limits[1]);
    ntk_baseline_result_fini(&result);
    ntk_comparison_fini(&comparison);
    sides_free(sides, 1);
}

/* --- the file --------------------------------------------------------------------------------- */

static void a_written_baseline_is_read_back_unchanged(void **state)
{
    struct ntk_baseline baseline = { .saved_unix_ns = 1795420451360198700,
                                     .instance_type = "trn2.3xlarge",
                                     .metrics_version = "2.32",
                                     .neff_uuid = "630e77" };
    struct ntk_baseline again;
    struct ntk_measures measures[2] = { 0 };
    struct ntk_buf file = { 0 };
    struct ntk_err err = { 0 };

    put(&measures[0], NTK_MEASURE_TOTAL, "execution", 54276582);
    put(&measures[0], NTK_MEASURE_LAYER, "a \"b\" <c>\n\x1b", 9007199254740991.0);
    measures[1].source = strdup("run.ntff, execution 7");
    put(&measures[1], NTK_MEASURE_BYTES, "q", 0);
    put(&measures[1], NTK_MEASURE_USE, "MFU", 0.25);
    ntk_vec_init(&baseline.executions, sizeof *measures);
    assert_int_equal(ntk_vec_push(&baseline.executions, &measures[0]), 0);
    assert_int_equal(ntk_vec_push(&baseline.executions, &measures[1]), 0);
    assert_int_equal(ntk_baseline_write(&baseline, &file, &err), 0);
    assert_int_equal(ntk_baseline_read_bytes(file.bytes, file.bytes_count, "there", &again, &err),
                     0);
    assert_int_equal(again.saved_unix_ns, baseline.saved_unix_ns);
    assert_string_equal(again.instance_type, "trn2.3xlarge");
    assert_string_equal(again.neff_uuid, "630e77");
    assert_string_equal(again.metrics_version, "2.32");
    assert_int_equal(again.executions.count, 2);
    const struct ntk_measures *first = ntk_vec_at(&again.executions, 0);
    assert_true(ntk_measures_find(first, NTK_MEASURE_TOTAL, "execution")->value == 54276582);
    assert_true(ntk_measures_find(first, NTK_MEASURE_LAYER, "a \"b\" <c>\n\x1b")->value ==
                9007199254740991.0);
    assert_null(first->source);
    const struct ntk_measures *second = ntk_vec_at(&again.executions, 1);
    assert_string_equal(second->source, "run.ntff, execution 7");
    assert_true(ntk_measures_find(second, NTK_MEASURE_USE, "MFU")->value == 0.25);
    assert_true(ntk_measures_find(second, NTK_MEASURE_BYTES, "q")->value == 0);
    ntk_baseline_fini(&again);
    /* Each prefix of the file is rejected with a message. */
    for (size_t i = 0; i + 2 < file.bytes_count; i++) {
        err.text[0] = '\0';
        assert_int_equal(ntk_baseline_read_bytes(file.bytes, i, "there", &again, &err), -EBADMSG);
        assert_true(strncmp(err.text, "there: ", 7) == 0);
    }
    ntk_buf_fini(&file);
    ntk_baseline_fini(&baseline);
}

/* Writes `count` executions. Each has one measure with a name of name_bytes. */
static void write_expect(size_t count, size_t name_bytes, int code, const char *says)
{
    struct ntk_baseline baseline = { .executions = NTK_VEC_INIT(struct ntk_measures) };
    struct ntk_buf file = { 0 };
    struct ntk_err err = { 0 };
    char *name = malloc(name_bytes + 1);

    assert_non_null(name);
    memset(name, 'n', name_bytes);
    name[name_bytes] = '\0';
    for (size_t i = 0; i < count; i++) {
        struct ntk_measures measures = { 0 };

        put(&measures, NTK_MEASURE_TOTAL, name, 1);
        assert_int_equal(ntk_vec_push(&baseline.executions, &measures), 0);
    }
    assert_int_equal(ntk_baseline_write(&baseline, &file, &err), code);
    if (code == 0) {
        struct ntk_baseline again;

        assert_int_equal(
            ntk_baseline_read_bytes(file.bytes, file.bytes_count, "there", &again, &err), 0);
        assert_int_equal(again.executions.count, count);
        ntk_baseline_fini(&again);
    } else if (!strstr(err.text, says)) {
        fail_msg("%s", err.text);
    }
    free(name);
    ntk_buf_fini(&file);
    ntk_baseline_fini(&baseline);
}

static void a_baseline_that_could_not_be_read_is_not_written(void **state)
{
    (void)state;
    write_expect(NTK_BASELINE_EXECUTIONS_MAX, 9, 0, NULL);
    write_expect(NTK_BASELINE_EXECUTIONS_MAX + 1, 9, -EFBIG,
                 "10001 (at most 10000); save fewer captures");
    write_expect(128, 1000000, 0, NULL);
    write_expect(128, 1 << 20, -EFBIG, "128 executions would take 128 MiB (at most 128 MiB)");
}

static void an_invalid_baseline_is_rejected(void **state)
{
#define HEAD "{\"format\":\"neuron-profile-baseline\",\"version\":1,\"executions\":"
    static const struct {
        const char *text;
        int code;
        const char *says;
    } rows[] = {
        { "[]", -EBADMSG, "not a baseline" },
        { "{\"format\":7,\"version\":1}", -EBADMSG, "not a baseline" },
        { "{\"format\":\"neuron-profile-baseline\",\"version\":2}", -ENOTSUP, "version 2" },
        { HEAD "[]}", -EBADMSG, "no executions" },
        { HEAD "{}}", -EBADMSG, "no executions" },
        { HEAD "[7]}", -EBADMSG, "not an object" },
        { HEAD "[{\"total\":7}]}", -EBADMSG, "not a list" },
        { HEAD "[{\"total\":[{\"ps\":1}]}]}", -EBADMSG, "without a name" },
        { HEAD "[{\"total\":[{\"name\":\"x\",\"bytes\":1}]}]}", -EBADMSG, "an invalid value" },
        { HEAD "[{\"total\":[{\"name\":\"x\",\"ps\":-1}]}]}", -EBADMSG, "an invalid value" },
        { HEAD "[{\"total\":[{\"name\":\"x\",\"ps\":1e300}]}]}", -EBADMSG, "an invalid value" },
        { HEAD "[{\"total\":[{\"name\":\"x\",\"ps\":1},{\"name\":\"x\",\"ps\":2}]}]}", -EBADMSG,
          "duplicate measure" },
        { HEAD "[{}],\"version\":1}", -EBADMSG, "duplicate" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_baseline baseline;
        struct ntk_err err = { 0 };

        assert_int_equal(
            ntk_baseline_read_bytes(rows[i].text, strlen(rows[i].text), "there", &baseline, &err),
            rows[i].code);
        if (!strstr(err.text, rows[i].says)) {
            fail_msg("%s: %s", rows[i].text, err.text);
        }
    }
}

/* A name cannot close its attribute. */
static void names_are_escaped_in_xml(void **state)
{
    const struct ntk_comparison_row row = { .kind = NTK_MEASURE_LAYER,
                                            .name = "<a b=\"c\">&\x01\xff",
                                            .before = 1e6,
                                            .after = 3e6,
                                            .has_before = true,
                                            .has_after = true };
    const struct ntk_baseline_limit limit = limit_of("path_layers=5%");
    struct ntk_baseline_finding finding = { &row, &limit, true };
    const struct ntk_baseline_result result = { 1, &finding, 1 };
    const struct ntk_comparison comparison = { .before_count = 1, .after_count = 1 };
    const struct ntk_baseline baseline = { 0 };
    const struct ntk_output_baseline check = { "b&.json", &baseline, &comparison, &result };
    struct ntk_buf out = { 0 };

    ntk_output_baseline_junit(&check, &out);
    assert_string_equal(
        ntk_buf_text_get(&out),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuite name=\"b&amp;.json\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">\n"
        "  <testcase classname=\"neuron-profile.path_layers\" "
        "name=\"&lt;a b=&quot;c&quot;&gt;&amp;\xef\xbf\xbd\xef\xbf\xbd\" time=\"3e-06\">\n"
        "    <failure type=\"beyond\" message=\"3.000 us instead of 1.000 us (+200.0%), limit "
        "+5%\"/>\n"
        "  </testcase>\n"
        "</testsuite>\n");
    ntk_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(baseline_limits_are_parsed),
        cmocka_unit_test(a_limit_is_exceeded_only_by_an_increase_above_it),
        cmocka_unit_test(a_chip_utilization_decrease_beyond_the_limit_is_detected),
        cmocka_unit_test(an_increase_within_variation_does_not_exceed_the_limit),
        cmocka_unit_test(a_baseline_limit_of_zero_is_an_error),
        cmocka_unit_test(a_written_baseline_is_read_back_unchanged),
        cmocka_unit_test(a_baseline_that_could_not_be_read_is_not_written),
        cmocka_unit_test(an_invalid_baseline_is_rejected),
        cmocka_unit_test(names_are_escaped_in_xml),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
