/* SPDX-License-Identifier: MIT */
/* prometheus_fixture - a page filled from hand-made snapshots, and its text. */
#include "tests/exporters/prometheus/prometheus_fixture.h"

#include <string.h>

#include "shared/report/report_json.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

struct ntk_points_page page;

int set_up(void **state)
{
    memset(&page, 0, sizeof page);
    return 0;
}

int tear_down(void **state)
{
    ntk_points_page_fini(&page);
    return 0;
}

struct ntk_snapshot *sample(uint32_t lnc)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(lnc);

    snapshot->runtimes[0].pod = (struct ntk_pod){ "", "", "" };
    snapshot->k8s.period_ns = NTK_GROUP_ABSENT;
    return snapshot;
}

void update(struct ntk_snapshot *snapshot)
{
    assert_int_equal(ntk_points_page_update(&page, snapshot), 0);
    ntk_snapshot_destroy(snapshot);
}

char *encode_as(enum ntk_prometheus_format format, bool vendor_only)
{
    struct ntk_buf buf = { 0 };

    ntk_prometheus_encode(&page, format, vendor_only, &buf);
    assert_true(ntk_buf_ok(&buf));
    return ntk_buf_take(&buf, NULL);
}

char *encode(bool vendor_only)
{
    return encode_as(NTK_PROMETHEUS_TEXT_0_0_4, vendor_only);
}

void assert_line(const char *text, const char *line)
{
    size_t length = strlen(line);

    for (const char *at = strstr(text, line); at; at = strstr(at + 1, line)) {
        if ((at == text || at[-1] == '\n') && at[length] == '\n') {
            return;
        }
    }
    fail_msg("no line '%s' in:\n%s", line, text);
}

void assert_no(const char *text, const char *part)
{
    if (strstr(text, part)) {
        fail_msg("'%s' is in:\n%s", part, text);
    }
}

struct ntk_snapshot *through_a_pipe(struct ntk_snapshot *snapshot)
{
    const struct ntk_report_options options = { 0 };
    struct ntk_snapshot *read = NULL;
    struct ntk_buf line = { 0 };

    assert_int_equal(ntk_report_write(snapshot, &options, &line, NULL), 0);
    assert_int_equal(ntk_report_read(ntk_buf_text_get(&line), line.bytes_count, &read, NULL), 0);
    ntk_buf_fini(&line);
    ntk_snapshot_destroy(snapshot);
    return read;
}

struct ntk_snapshot *sample_without_runtimes(void)
{
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->runtime_count = 0;
    memset(snapshot->outcome, 0, sizeof snapshot->outcome);
    return snapshot;
}
