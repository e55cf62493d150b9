/* SPDX-License-Identifier: MIT */
/* Tests of the catalogue of metrics, and that docs/metrics.md is its picture. NTK_UPDATE=1 in the
 * environment writes that page anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/metrics/catalogue.h"
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

static void render(struct ntk_buf *page)
{
    ntk_buf_add_text(
        page,
        "# Metrics\n\n"
        "Every figure that leaves the agent, drawn from `shared/metrics/catalogue.def` (a test "
        "keeps\n"
        "the two alike: `NTK_UPDATE=1` in its environment writes this page).\n\n"
        "Labels: I = `availability_zone`, `instance_id`, `instance_name`, `instance_type`, "
        "`region`,\n"
        "`subnet_id` (and `ultraserver_id` where there is one); R = I and `runtime_tag`; then the\n"
        "names of more. Ratios are 0 to 1 in Prometheus and percent in the report.\n\n"
        "OTLP has the same metrics under these names without the unit and `_total` at their end, "
        "and\nthe labels of the instance as attributes of the resource\n"
        "([decisions/exporters.md](decisions/exporters.md)).\n\n"
        "## Metrics with the vendor's names\n");
    add_table(page, NTK_METRIC_ORIGIN_VENDOR);
    ntk_buf_add_text(page, "\n## Our additions\n");
    add_table(page, NTK_METRIC_ORIGIN_OURS);
}

static void the_page_of_metrics_is_drawn_from_the_catalogue(void **state)
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

static void names_are_unique_and_follow_the_conventions(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_of_metrics_is_drawn_from_the_catalogue),
        cmocka_unit_test(names_are_unique_and_follow_the_conventions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
