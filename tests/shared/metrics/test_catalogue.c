/* SPDX-License-Identifier: MIT */
/* The catalogue of metrics; docs/metrics.md is generated from it. NTK_UPDATE=1 in the environment
 * rewrites that page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "exporters/names/names.h"
#include "shared/metrics/catalogue.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/unit.h"

static const char *const unit_names[] = {
    "ratio", "seconds", "bytes", "count", "per second", "info"
};
static const char *const kind_names[] = { "gauge", "counter", "histogram", "info" };

static void add_table(struct ntk_buf *page, enum ntk_metric_origin origin)
{
    ntk_buf_add_text(page, "\n| Prometheus | type | unit | labels | in the report | meaning |\n"
                           "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < NTK_METRIC_COUNT; i++) {
        const struct ntk_metric_row *row = &ntk_metrics[i];

        if (row->origin != origin) {
            continue;
        }
        ntk_buf_add_format(page, "| %s%s%s | %s | %s | %s | %s%s%s | %s |\n",
                           row->name[0] ? "`" : "", row->name[0] ? row->name : "–",
                           row->name[0] ? "`" : "", row->name[0] ? kind_names[row->kind] : "–",
                           unit_names[row->unit], row->labels[0] ? row->labels : "–",
                           row->json_key[0] ? "`" : "", row->json_key[0] ? row->json_key : "–",
                           row->json_key[0] ? "`" : "", row->help);
    }
}

static const char *const hows[] = { "sum of",           "mean of",       "largest of", "number of",
                                    "mean per core of", "difference of", "ratio of",   "1 minus" };

/* The short name of the labels of a series' component. */
static const char *component_of(const struct ntk_name_row *row)
{
    switch (row->list) {
    case NTK_NAME_LIST_MLU:
        return row->labels[0] != '-' ? "M" : "";
    case NTK_NAME_LIST_OTEL:
        return row->source == NTK_METRIC_EFA_BYTES || row->source == NTK_METRIC_EFA_EVENTS ? "P"
                                                                                           : "D";
    default:
        return "";
    }
}

/* "new:value" is written as in Prometheus. */
static void add_labels(struct ntk_buf *page, const char *labels)
{
    for (; *labels && *labels != '-'; labels++) {
        ntk_buf_add_char(page, *labels == ':' ? '=' : *labels);
    }
}

static void add_names(struct ntk_buf *page, enum ntk_name_list list)
{
    ntk_buf_add_format(page,
                       "\n### %s\n\n| Prometheus | type | from | labels | meaning |\n"
                       "|---|---|---|---|---|\n",
                       ntk_name_lists[list].name);
    for (size_t i = 0; i < NTK_NAME_COUNT; i++) {
        const struct ntk_name_row *row = ntk_name_get(i);
        const char *source = ntk_metrics[row->source].name;
        const char *at = row->where;

        if (row->list != list) {
            continue;
        }
        source = source[0] ? source : strrchr(ntk_metrics[row->source].json_key, '.') + 1;
        source = source[0] == '*' ? ntk_metrics[row->source].json_key : source;
        ntk_buf_add_format(page, "| `%s` | %s | %s `%s", row->metric.name,
                           kind_names[row->metric.kind], hows[row->how], source);
        if (*at) {
            ntk_buf_add_char(page, '{');
            for (; *at; at++) {
                ntk_buf_add_text(page, *at == ' '   ? ", "
                                       : *at == '|' ? " or "
                                                    : (const char[]){ *at, '\0' });
            }
            ntk_buf_add_char(page, '}');
        }
        ntk_buf_add_char(page, '`');
        if (row->other < NTK_METRIC_COUNT) {
            ntk_buf_add_format(page, " and `%s`", ntk_metrics[row->other].name);
        }
        if (row->scale != 1) {
            ntk_buf_add_format(page, " × %g", row->scale);
        }
        const char *component = component_of(row);
        bool is_one = row->labels[0] == '-';
        ntk_buf_add_format(page, " | %s%s", component,
                           component[0] && row->labels[0] && !is_one ? " " : "");
        add_labels(page, row->labels);
        ntk_buf_add_format(page, "%s | %s |\n",
                           is_one || (!component[0] && !row->labels[0]) ? "–" : "",
                           row->metric.help);
    }
}

static void add_absent(struct ntk_buf *page, enum ntk_name_list list, const char *whose)
{
    ntk_buf_add_format(page, "\nThese %s names are omitted:\n\n| OTLP | why |\n|---|---|\n", whose);
    for (size_t i = 0; i < NTK_NAME_ABSENT_COUNT; i++) {
        if (ntk_names_absent[i].list == list) {
            ntk_buf_add_format(page, "| `%s` | %s |\n", ntk_names_absent[i].dotted,
                               ntk_names_absent[i].why);
        }
    }
}

static void render_names(struct ntk_buf *page)
{
    ntk_buf_add_text(
        page,
        "\n## Names of other exporters\n\n"
        "`--names LIST` selects the metric names for neuron-monitor (Prometheus, remote write, "
        "OTLP),\nneuron-monitor-prometheus and neuron-monitor-otlp. LIST is one or more of "
        "these, separated by\ncommas. These names are views of the metrics above, generated "
        "from `exporters/names/names.def`.\n\n| List | |\n|---|---|\n");
    for (size_t i = 0; i < NTK_NAME_LIST_COUNT; i++) {
        ntk_buf_add_format(page, "| `%s` | %s |\n", ntk_name_lists[i].name, ntk_name_lists[i].text);
    }
    ntk_buf_add_text(
        page,
        "\nIn OTLP, Observer names have dots instead of the underscores around scope and "
        "statistic\n(`neuron.core.infer_completed.sum`). Percentages are 0 to 100, and latencies "
        "are in seconds. The\nlabels of the instance are the same as above. MLU series have M "
        "instead, which is `mlu` (the card)\nand, if known, `driver`, `model`, `node`, `sn` and "
        "`type`. `core` counts within the card. Only our\nown names have pod labels.\n\n"
        "Metrics without a source in this toolkit are omitted. These are power in watts, "
        "temperatures and\nclocks. CloudWatch has separate names "
        "([formats/cloudwatch.md](formats/cloudwatch.md)).\n");
    add_names(page, NTK_NAME_LIST_OBSERVER);
    add_absent(page, NTK_NAME_LIST_OBSERVER, "Observer");
    add_names(page, NTK_NAME_LIST_MLU);
    add_names(page, NTK_NAME_LIST_OTEL);
    ntk_buf_add_text(
        page,
        "\nThe source is the section on hardware of open-telemetry/semantic-conventions. These "
        "conventions are\nin development and have no type for accelerators, so `hw.type` of a "
        "device is `gpu`. D means `hw_id`\n(`neuron0`), `hw_name`, `hw_type`, `hw_vendor` and, if "
        "known, "
        "`hw_model`, `hw_serial_number` and\n`hw_driver_version`. P means `hw_id` (`rdmap0s6/1`: "
        "adapter and port), `hw_name`, `hw_type` and\n`hw_vendor`.\n\n"
        "In OTLP, names and labels have dots (`hw.gpu.io`, `hw.id`, `network.io.direction`) and no "
        "unit at\nthe end, and the resource describes the instance. `hw.status`, "
        "`hw.gpu.memory.limit` and\n`hw.gpu.memory.usage` are sums that are not monotonic. "
        "`verdict` counts as 1 for a healthy device.\n");
    add_absent(page, NTK_NAME_LIST_OTEL, "OpenTelemetry");
}

static void render(struct ntk_buf *page)
{
    ntk_buf_add_text(
        page,
        "# Metrics\n\n"
        "This page lists every metric that the agent exports. A test generates it from\n"
        "`shared/metrics/catalogue.def` if `NTK_UPDATE=1` is set in its environment.\n\n"
        "The label sets have short names. I means `availability_zone`, `instance_id`, "
        "`instance_name`,\n`instance_type`, `region` and `subnet_id` (and `ultraserver_id` if the "
        "instance has one). R means\nI and `runtime_tag`. Other labels are listed by name. Ratios "
        "are 0 to 1 in Prometheus and\npercentages in the report.\n\n"
        "OTLP exports the same metrics under these names, without the unit and `_total` at the "
        "end. The\nlabels of the instance are resource attributes\n"
        "([decisions/exporters.md](decisions/exporters.md)).\n\n"
        "## Metrics with the vendor's names\n");
    add_table(page, NTK_METRIC_ORIGIN_VENDOR);
    ntk_buf_add_text(page, "\n## Our additions\n");
    add_table(page, NTK_METRIC_ORIGIN_OURS);
    render_names(page);
}

static void the_metrics_page_matches_the_catalogue(void **state)
{
    const char *source = getenv("NTK_SOURCE_DIR");
    struct ntk_buf page = { 0 };
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;
    char path[1024];

    assert_non_null(source);
    snprintf(path, sizeof path, "%s/docs/metrics.md", source);
    render(&page);
    assert_true(ntk_buf_ok(&page));
    if (getenv("NTK_UPDATE")) {
        assert_int_equal(ntk_fs_write(path, page.bytes, page.bytes_count, &err), 0);
    }
    assert_int_equal(ntk_fs_read(path, 1 << 20, &bytes, &count, &err), 0);
    assert_string_equal((const char *)bytes, ntk_buf_text_get(&page));
    free(bytes);
    ntk_buf_fini(&page);
}

/* Rows with the same name are parts of one metric: they follow each other and differ only in their
 * sources. */
static void check_part(size_t which, size_t earlier)
{
    const struct ntk_name_row *row = ntk_name_get(which);
    const struct ntk_name_row *first = ntk_name_get(earlier);

    for (size_t i = earlier + 1; i <= which; i++) {
        assert_true(ntk_name_get(i)->is_part);
    }
    assert_int_equal(row->list, first->list);
    assert_int_equal(row->metric.kind, first->metric.kind);
    assert_int_equal(row->metric.unit, first->metric.unit);
    assert_int_equal(row->is_up_down, first->is_up_down);
    assert_string_equal(row->otlp_unit, first->otlp_unit);
    assert_string_equal(row->metric.help, first->metric.help);
    assert_true(row->source != first->source || row->how != first->how ||
                strcmp(row->where, first->where) != 0);
}

/* No list has duplicate names or a name of a family on the same page. */
static void alternative_names_are_unique_and_name_their_source(void **state)
{
    for (size_t i = 0; i < NTK_NAME_COUNT; i++) {
        const struct ntk_name_row *row = ntk_name_get(i);

        assert_ptr_equal(ntk_name_of(&row->metric), row);
        assert_int_equal(strspn(row->metric.name, "abcdefghijklmnopqrstuvwxyz_0123456789"),
                         strlen(row->metric.name));
        if (row->metric.kind == NTK_METRIC_KIND_COUNTER) {
            assert_true(ntk_str_ends_with(row->metric.name, "_total"));
            assert_int_equal(ntk_metrics[row->source].kind, NTK_METRIC_KIND_COUNTER);
        }
        assert_int_equal(row->other < NTK_METRIC_COUNT,
                         row->how == NTK_NAME_MINUS || row->how == NTK_NAME_SHARE);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(row->metric.name, ntk_name_get(k)->metric.name) == 0) {
                check_part(i, k);
            }
        }
        for (size_t k = 0; k < NTK_METRIC_COUNT; k++) {
            assert_string_not_equal(row->metric.name, ntk_metrics[k].name);
        }
    }
}

static void metric_lists_are_parsed_and_unknown_names_rejected(void **state)
{
    struct ntk_err err = { 0 };
    unsigned lists = 0;

    assert_int_equal(ntk_names_parse("observer,own", &lists, &err), 0);
    assert_int_equal(lists, 1u << NTK_NAME_LIST_OBSERVER | 1u << NTK_NAME_LIST_OWN);
    assert_true(ntk_names_parse("", &lists, &err) < 0);
    assert_true(ntk_names_parse("own,", &lists, &err) < 0);
    assert_true(ntk_names_parse("dcgm", &lists, &err) < 0);
    assert_string_equal(err.text, "unknown list 'dcgm': expected 'own', 'classic', 'observer', "
                                  "'mlu' or 'otel', separated by commas");
}

static void metric_names_are_unique_and_follow_conventions(void **state)
{
    for (size_t i = 0; i < NTK_METRIC_COUNT; i++) {
        const struct ntk_metric_row *row = &ntk_metrics[i];

        assert_true(row->help[0] != '\0');
        assert_true(row->name[0] != '\0' || row->json_key[0] != '\0');
        if (row->name[0] == '\0') {
            continue;
        }
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(row->name, ntk_metrics[k].name);
        }
        assert_int_equal(strspn(row->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(row->name));
        assert_int_equal(row->kind == NTK_METRIC_KIND_COUNTER,
                         ntk_str_ends_with(row->name, "_total"));
        if (row->unit == NTK_METRIC_UNIT_RATIO) {
            assert_true(ntk_str_ends_with(row->name, "_ratio"));
        }
    }
}

/* Executions and their errors have series by outcome and class instead. */
static void every_core_counter_has_a_series(void **state)
{
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        if (row->names == ntk_outcome_names || row->names == ntk_error_class_names) {
            continue;
        }
        assert_int_not_equal(row->metric, NTK_METRIC_NONE);
        assert_int_equal(ntk_metrics[row->metric].kind, NTK_METRIC_KIND_COUNTER);
        assert_int_not_equal(ntk_metrics[row->metric].name[0], '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_metrics_page_matches_the_catalogue),
        cmocka_unit_test(alternative_names_are_unique_and_name_their_source),
        cmocka_unit_test(metric_lists_are_parsed_and_unknown_names_rejected),
        cmocka_unit_test(metric_names_are_unique_and_follow_conventions),
        cmocka_unit_test(every_core_counter_has_a_series),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
