/* SPDX-License-Identifier: MIT */
/* day_cloudwatch - the pipe from an agent to CloudWatch. */
#include "tests/e2e/day/day_cloudwatch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/cloudwatch/cloudwatch.h"
#include "exporters/cloudwatch/cloudwatch_encode.h"
#include "shared/base/buf.h"
#include "shared/metrics/snapshot.h"
#include "shared/report/report_json.h"
#include "tests/support/process.h"

struct day_cloudwatch {
    struct ntk_cloudwatch *exporter;
    struct test_clock *clock;
    int fd;
    struct ntk_buf lines;
};

struct day_cloudwatch *day_cloudwatch_start(int lines_fd, const char *url, const char *spool,
                                            struct test_clock *clock)
{
    struct day_cloudwatch *cloudwatch = calloc(1, sizeof *cloudwatch);
    const struct ntk_cloudwatch_options options = { .namespace_name = NTK_CLOUDWATCH_NAMESPACE,
                                                    .region = "eu-west-1",
                                                    .endpoint_url = url,
                                                    .spool_folder = spool,
                                                    .metric_mask = NTK_CLOUDWATCH_ALL,
                                                    .clock = &clock->clock };
    struct ntk_err err = { 0 };

    if (!cloudwatch || ntk_cloudwatch_create(&options, &cloudwatch->exporter, &err) < 0) {
        (void)fprintf(stderr, "cloudwatch: %s\n", err.text);
        abort();
    }
    cloudwatch->clock = clock;
    cloudwatch->fd = lines_fd;
    (void)fcntl(lines_fd, F_SETFL, O_NONBLOCK);
    return cloudwatch;
}

static void put_line(struct day_cloudwatch *cloudwatch, const char *line, size_t bytes)
{
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };

    if (ntk_report_read(line, bytes, &snapshot, &err) < 0 ||
        ntk_cloudwatch_put(cloudwatch->exporter, snapshot, &err) < 0) {
        (void)fprintf(stderr, "cloudwatch: %s\n", err.text);
        abort();
    }
    ntk_snapshot_destroy(snapshot);
}

unsigned day_cloudwatch_read(struct day_cloudwatch *cloudwatch)
{
    char part[65536];
    unsigned count = 0;
    ssize_t got;

    while ((got = read(cloudwatch->fd, part, sizeof part)) > 0) {
        ntk_buf_add(&cloudwatch->lines, part, (size_t)got);
    }
    const char *at = ntk_buf_text_get(&cloudwatch->lines);
    for (const char *end = strchr(at, '\n'); end; end = strchr(at, '\n')) {
        put_line(cloudwatch, at, (size_t)(end - at));
        at = end + 1;
        count++;
    }
    struct ntk_buf rest = { 0 };
    ntk_buf_add(&rest, at, strlen(at));
    ntk_buf_fini(&cloudwatch->lines);
    cloudwatch->lines = rest;
    return count;
}

static int is_drained(void *ctx)
{
    struct day_cloudwatch *cloudwatch = ctx;
    struct ntk_err err = { 0 };

    return ntk_cloudwatch_drain(cloudwatch->exporter, false, &err) != 0;
}

unsigned day_cloudwatch_end(struct day_cloudwatch *cloudwatch, bool accepts,
                            struct ntk_output_counts *counts)
{
    struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX];
    unsigned count = day_cloudwatch_read(cloudwatch);

    if (accepts) {
        (void)test_wait_until(is_drained, cloudwatch);
    }
    while (!is_drained(cloudwatch)) {
        test_clock_run(cloudwatch->clock, 100 * NTK_NS_PER_MS, 1);
    }
    if (ntk_output_counts_read(rows) != 1) { /* the only output of this process */
        abort();
    }
    *counts = rows[0];
    ntk_cloudwatch_destroy(cloudwatch->exporter);
    close(cloudwatch->fd);
    ntk_buf_fini(&cloudwatch->lines);
    free(cloudwatch);
    return count;
}
