/* SPDX-License-Identifier: MIT */
/* Checks of options; the page and the manual list every metric. */
#include "exporters/cloudwatch/cloudwatch_encode.h"
#include "exporters/cloudwatch/cloudwatch_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "tests/support/page.h"
#include "tests/support/unit.h"

#define MANUAL_COLUMNS 78

static void invalid_cloudwatch_options_are_rejected(void **state)
{
    struct ntk_err err = { 0 };
    uint32_t mask = 0;
    char name[300];

    assert_int_equal(ntk_cloudwatch_metrics_parse("SystemVcpuUsage,ExecutionErrors", &mask, &err),
                     0);
    assert_int_equal(mask, 1u << NTK_CLOUDWATCH_SYSTEM_VCPU_USAGE |
                               1u << NTK_CLOUDWATCH_EXECUTION_ERRORS);
    assert_int_equal(ntk_cloudwatch_metrics_parse("", &mask, &err), -EINVAL);
    assert_int_equal(ntk_cloudwatch_metrics_parse("SystemVcpuUsage,", &mask, &err), -EINVAL);
    assert_int_equal(ntk_cloudwatch_namespace_check("My/App", &err), 0);
    assert_int_equal(ntk_cloudwatch_namespace_check(":x", &err), -EINVAL);
    memset(name, 'x', sizeof name);
    name[255] = '\0';
    assert_int_equal(ntk_cloudwatch_namespace_check(name, &err), 0);
    name[255] = 'x';
    name[256] = '\0';
    assert_int_equal(ntk_cloudwatch_namespace_check(name, &err), -EINVAL);
}

static void the_cloudwatch_page_lists_every_metric(void **state)
{
    const char *source = getenv("NTK_SOURCE_DIR");
    char path[512];
    uint8_t *bytes = NULL;
    size_t count = 0;

    (void)snprintf(path, sizeof path, "%s/docs/formats/cloudwatch.md", source ? source : ".");
    assert_int_equal(ntk_fs_read(path, 1 << 20, &bytes, &count, NULL), 0);
    for (int i = 0; i < NTK_CLOUDWATCH_METRIC_COUNT; i++) {
        struct ntk_cloudwatch_metric_row row =
            ntk_cloudwatch_metric_get((enum ntk_cloudwatch_metric)i);
        if (!strstr((char *)bytes, row.name)) {
            fail_msg("the page lacks %s", row.name);
        }
    }
    free(bytes);
}

/* NTK_UPDATE=1 in the environment writes the list. */
static void the_cloudwatch_manual_lists_every_metric(void **state)
{
    struct ntk_buf list = { 0 };
    size_t column = 0;

    ntk_buf_add_text(&list, ".SH METRICS\n.nf\n");
    for (int i = 0; i < NTK_CLOUDWATCH_METRIC_COUNT; i++) {
        struct ntk_cloudwatch_metric_row row =
            ntk_cloudwatch_metric_get((enum ntk_cloudwatch_metric)i);
        size_t bytes = strlen(row.name);

        if (bytes == 0) {
            continue; /* a counter of cores that is not sent */
        }
        bool is_new_line = column + 2 + bytes > MANUAL_COLUMNS;
        ntk_buf_add_format(&list, "%s%s", column == 0 ? "" : is_new_line ? "\n" : "  ", row.name);
        column = (is_new_line || column == 0 ? 0 : column + 2) + bytes;
    }
    ntk_buf_add_text(&list, "\n.fi\n");
    test_page_check("exporters/cloudwatch/neuron-monitor-cloudwatch.1.in", &list, 1);
    ntk_buf_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_cloudwatch_options_are_rejected),
        cmocka_unit_test(the_cloudwatch_page_lists_every_metric),
        cmocka_unit_test(the_cloudwatch_manual_lists_every_metric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
