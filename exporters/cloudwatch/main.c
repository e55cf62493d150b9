/* SPDX-License-Identifier: MIT */
/* neuron-monitor-cloudwatch - parses options and sends reports from a pipe to CloudWatch. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/cloudwatch/cloudwatch.h"
#include "exporters/cloudwatch/cloudwatch_emf.h"
#include "exporters/cloudwatch/cloudwatch_gather.h"
#include "exporters/cloudwatch/cloudwatch_request.h"
#include "exporters/cloudwatch/emf_output.h"
#include "exporters/labels/labels.h"
#include "exporters/pipe/pipe.h"
#include "shared/base/opt.h"

#define MINUTE_MS 60000u
#define SECOND_MS 1000u
/* longer than requests to the metadata service take */
#define INSTANCE_WAIT_NS UINT64_C(10000000000)

static const char *arg_namespace = NTK_CLOUDWATCH_NAMESPACE;
static const char *arg_region;
static const char *arg_profile;
static const char *arg_endpoint;
static const char *arg_metrics;
static const char *arg_spool;
static const char *arg_emf_output;
static const char *arg_log_group;
static uint64_t arg_spool_bytes;
static bool arg_high_resolution;
static bool arg_dry_run;
static bool arg_emf;
static uint32_t metric_mask = NTK_CLOUDWATCH_ALL;

static const struct ntk_opt option_rows[] = {
    { 'n', "namespace", "NAME", NTK_OPT_TEXT, &arg_namespace,
      "set the namespace of the metrics (default " NTK_CLOUDWATCH_NAMESPACE ")" },
    { 'r', "region", "REGION", NTK_OPT_TEXT, &arg_region,
      "use this region (default: AWS_REGION, AWS_DEFAULT_REGION, or the region of the profile, the "
      "reports or the instance)" },
    { 0, "profile", "NAME", NTK_OPT_TEXT, &arg_profile,
      "use this profile from the credentials and config files, and ignore keys in the "
      "environment" },
    { 0, "endpoint-url", "URL", NTK_OPT_TEXT, &arg_endpoint,
      "use this endpoint (default: AWS_ENDPOINT_URL_CLOUDWATCH, AWS_ENDPOINT_URL, or the region's "
      "endpoint)" },
    NTK_LABELS_OPT,
    { 0, "metrics", "LIST", NTK_OPT_TEXT, &arg_metrics,
      "send only these metrics, separated by commas; each combination of dimensions is billed" },
    { 0, "high-resolution-metrics", 0, NTK_OPT_FLAG, &arg_high_resolution,
      "store values at a resolution of one second (default: one minute)" },
    { 0, "spool", "FOLDER", NTK_OPT_TEXT, &arg_spool,
      "keep undelivered data in this folder, across restarts" },
    { 0, "spool-bytes", "SIZE", NTK_OPT_BYTES, &arg_spool_bytes,
      "limit the folder to SIZE (default 256M)", .is_above_zero = true },
    { 0, "dry-run", 0, NTK_OPT_FLAG, &arg_dry_run,
      "print the requests as JSON lines instead of sending them" },
    { 0, "Embedded Metric Format", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "emf", 0, NTK_OPT_FLAG, &arg_emf,
      "write lines for a CloudWatch agent instead of sending requests; requires no keys" },
    { 0, "emf-output", "TARGET", NTK_OPT_TEXT, &arg_emf_output,
      "write to TARGET: - for stdout (default), a file, tcp://HOST:PORT, udp://HOST:PORT, "
      "or 'agent'" },
    { 0, "log-group", "NAME", NTK_OPT_TEXT, &arg_log_group,
      "set the log group to which the agent sends the lines" },
    { 0, "Other", 0, NTK_OPT_HEADING, 0, 0 },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor-cloudwatch",
    .usage = "[OPTION]... < REPORTS",
    .summary = "Sends neuron-monitor reports from stdin to Amazon CloudWatch:\n"
               "neuron-monitor | neuron-monitor-cloudwatch --namespace NAME --region REGION",
    .options = option_rows,
};

/* -- sending ----------------------------------------------------------------------------------- */

static int put(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    return ntk_cloudwatch_put(ctx, snapshot, err);
}

static int drain(void *ctx, bool in_haste, struct ntk_err *err)
{
    return ntk_cloudwatch_drain(ctx, in_haste, err);
}

static int open_sending(struct ntk_pipe_sink *out_sink, struct ntk_err *err)
{
    const struct ntk_cloudwatch_options options = { .namespace_name = arg_namespace,
                                                    .region = arg_region,
                                                    .profile = arg_profile,
                                                    .endpoint_url = arg_endpoint,
                                                    .spool_folder = arg_spool,
                                                    .spool_bytes_max = arg_spool_bytes,
                                                    .metric_mask = metric_mask,
                                                    .is_high_resolution = arg_high_resolution };
    struct ntk_cloudwatch *cloudwatch;
    int ret = ntk_cloudwatch_create(&options, &cloudwatch, err);

    if (ret >= 0) {
        out_sink->put = put;
        out_sink->drain = drain;
        out_sink->ctx = cloudwatch;
    }
    return ret;
}

/* -- lines instead of requests ----------------------------------------------------------------- */

struct lines {
    struct ntk_cloudwatch_gather gather;
    struct ntk_emf_output *output;
    bool is_flushed;
    bool is_closed; /* true if standard output has no reader */
};

static int emit_line(struct ntk_buf *body, uint64_t metric_count, void *ctx, struct ntk_err *err)
{
    struct lines *lines = ctx;

    (void)metric_count;
    ntk_buf_add_char(body, '\n');
    return ntk_emf_output_put(lines->output, body, 1, err);
}

static int deliver_requests(struct ntk_cloudwatch_data *data, uint64_t time_ms, void *ctx,
                            struct ntk_err *err)
{
    const struct ntk_cloudwatch_request_options options = { .namespace_name = arg_namespace,
                                                            .time_ms = time_ms,
                                                            .is_high_resolution =
                                                                arg_high_resolution,
                                                            .emit = emit_line,
                                                            .ctx = ctx };

    ntk_cloudwatch_data_sort(data);
    return ntk_cloudwatch_request(data, &options, err);
}

static int deliver_emf(struct ntk_cloudwatch_data *data, uint64_t time_ms, void *ctx,
                       struct ntk_err *err)
{
    const struct ntk_cloudwatch_emf_options options = { .namespace_name = arg_namespace,
                                                        .log_group = arg_log_group,
                                                        .time_ms = time_ms,
                                                        .is_high_resolution = arg_high_resolution };
    struct lines *lines = ctx;
    struct ntk_buf buf = { 0 };
    uint64_t line_count;

    int ret = ntk_cloudwatch_emf(data, &options, &buf, &line_count, err);
    ret = ret < 0 || !line_count ? ret : ntk_emf_output_put(lines->output, &buf, line_count, err);
    ntk_buf_fini(&buf);
    return ret;
}

/* Ends the program normally when its output has no reader. */
static int stop_at_closed_pipe(struct lines *lines, int ret)
{
    if (ret == -EPIPE && !lines->is_closed) {
        lines->is_closed = true;
        (void)raise(SIGTERM); /* the signal is blocked: the loop of the pipe reads it */
    }
    return lines->is_closed ? 0 : ret;
}

static int put_lines(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    struct lines *lines = ctx;

    return lines->is_closed ? 0
                            : stop_at_closed_pipe(
                                  lines, ntk_cloudwatch_gather_put(&lines->gather, snapshot, err));
}

static int drain_lines(void *ctx, bool in_haste, struct ntk_err *err)
{
    struct lines *lines = ctx;
    int ret = 0;

    if (!lines->is_flushed) {
        lines->is_flushed = true;
        ret = lines->is_closed
                  ? 0
                  : stop_at_closed_pipe(lines, ntk_cloudwatch_gather_flush(&lines->gather, err));
    }
    return ret < 0 ? ret : ntk_emf_output_drain(lines->output, in_haste, err);
}

/* -- start ------------------------------------------------------------------------------------- */

/* Returns the target; 'agent' means the address in the environment. */
static const char *emf_target(void)
{
    const char *agent = getenv("AWS_EMF_AGENT_ENDPOINT");

    if (!arg_emf_output) {
        return "-";
    }
    if (strcmp(arg_emf_output, "agent") != 0) {
        return arg_emf_output;
    }
    return agent && *agent ? agent : NTK_EMF_AGENT;
}

static int open_lines(struct ntk_pipe_sink *out_sink, struct ntk_err *err)
{
    static struct lines lines;
    uint64_t request_step_ms = arg_high_resolution ? SECOND_MS : MINUTE_MS;
    int ret = ntk_emf_output_create(arg_emf ? emf_target() : "-", arg_spool, arg_spool_bytes,
                                    &lines.output, err);

    if (ret >= 0) {
        lines.gather.step_ms = arg_emf ? 0 : request_step_ms;
        lines.gather.metric_mask = metric_mask;
        lines.gather.deliver = arg_emf ? deliver_emf : deliver_requests;
        lines.gather.ctx = &lines;
        out_sink->put = put_lines;
        out_sink->drain = drain_lines;
        out_sink->ctx = &lines;
    }
    return ret;
}

static int open_sink(struct ntk_pipe_sink *out_sink, struct ntk_err *err)
{
    out_sink->instance_wait_ns = INSTANCE_WAIT_NS;
    return arg_emf || arg_dry_run ? open_lines(out_sink, err) : open_sending(out_sink, err);
}

static void close_sink(void *ctx)
{
    struct lines *lines = ctx;

    if (!arg_emf && !arg_dry_run) {
        ntk_cloudwatch_destroy(ctx);
    } else if (lines) {
        ntk_cloudwatch_gather_fini(&lines->gather);
        ntk_emf_output_destroy(lines->output);
    }
}

static int check(void)
{
    struct ntk_err err = { 0 };

    if (ntk_cloudwatch_namespace_check(arg_namespace, &err) < 0 ||
        ntk_cloudwatch_labels_check(&ntk_labels_option, &err) < 0 ||
        (arg_metrics && ntk_cloudwatch_metrics_parse(arg_metrics, &metric_mask, &err) < 0)) {
        return ntk_opt_usage_error(&program, "%s", err.text);
    }
    if ((arg_emf_output || arg_log_group) && !arg_emf) {
        return ntk_opt_usage_error(&program, "--emf-output and --log-group require --emf");
    }
    if (arg_spool_bytes && !arg_spool) {
        return ntk_opt_usage_error(&program, "--spool-bytes requires --spool");
    }
    if (arg_emf && arg_dry_run) {
        return ntk_opt_usage_error(&program, "--emf and --dry-run are mutually exclusive");
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct ntk_pipe_program all = {
        .opt = &program, .check = check, .open = open_sink, .close = close_sink
    };

    return ntk_pipe_main(&all, argc, argv);
}
