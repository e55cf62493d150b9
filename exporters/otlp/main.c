/* SPDX-License-Identifier: MIT */
/* neuron-monitor-otlp - parses options, reads reports from a pipe, and pushes them to a collector
 * over OTLP. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/otlp/otlp.h"
#include "exporters/otlp/otlp_config.h"
#include "exporters/pipe/pipe.h"
#include "shared/base/clock.h"
#include "shared/base/opt.h"

static const char *arg_headers;
static const char *arg_compression;
static const char *arg_protocol;
static const char *arg_certificate;
static const char *arg_client_certificate;
static const char *arg_client_key;
static const char *arg_service_name;
static const char *arg_attributes;
static const char *arg_histograms;
static uint64_t arg_timeout_ns;
static uint64_t arg_interval_ns;
static struct ntk_exporter_options options = { .labels = &ntk_labels_option,
                                               .names = &ntk_names_option };

static const struct ntk_opt option_rows[] = {
    { 0, "endpoint", "URL", NTK_OPT_TEXT, &ntk_otlp_target.url,
      "push to this base URL; /v1/metrics is appended (default http://localhost:4318)" },
    { 0, "protocol", "NAME", NTK_OPT_CHOICE, &arg_protocol,
      "use http (default) or grpc (default port 4317)", "http grpc" },
    { 0, "headers", "LIST", NTK_OPT_TEXT, &arg_headers,
      "add NAME=VALUE,... to each request, values percent-encoded" },
    { 0, "compression", "NAME", NTK_OPT_TEXT, &arg_compression,
      "compress requests: gzip or none (default)", "gzip none" },
    { 0, "timeout", "TIME", NTK_OPT_DURATION, &arg_timeout_ns,
      "time out a request after TIME (default 10s)", .is_above_zero = true },
    { 0, "interval", "TIME", NTK_OPT_DURATION, &arg_interval_ns,
      "push every TIME, and push the last report at exit (default: push each report)",
      .is_above_zero = true },
    { 0, "histograms", "KIND", NTK_OPT_CHOICE, &arg_histograms,
      "use explicit (default) or exponential buckets", "explicit exponential" },
    { 0, "service-name", "NAME", NTK_OPT_TEXT, &arg_service_name,
      "set service.name of the resource (default neuron-monitor)" },
    { 0, "resource-attributes", "LIST", NTK_OPT_TEXT, &arg_attributes,
      "add NAME=VALUE,... to the resource, percent-encoded" },
    { 0, "certificate", "FILE", NTK_OPT_TEXT, &arg_certificate,
      "trust the certificate authorities in this PEM file when connecting to the collector" },
    { 0, "client-certificate", "FILE", NTK_OPT_TEXT, &arg_client_certificate,
      "present the certificate in this PEM file to the collector" },
    { 0, "client-key", "FILE", NTK_OPT_TEXT, &arg_client_key,
      "read the key of that certificate from this PEM file" },
    { 0, "spool", "FOLDER", NTK_OPT_TEXT, &ntk_otlp_target.spool_folder,
      "keep undelivered data in this folder (default: in memory)" },
    { 0, "logs", 0, NTK_OPT_FLAG, &ntk_otlp_target.has_logs,
      "also push device health changes as log records (/v1/logs)" },
    NTK_EXPORTER_OPT(options),
    { 0, "Other", 0, NTK_OPT_HEADING, 0, 0 },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor-otlp",
    .usage = "[OPTION]... < REPORTS",
    .summary = "Pushes neuron-monitor reports from stdin to an OpenTelemetry collector using OTLP "
               "over HTTP or gRPC:\n"
               "neuron-monitor | neuron-monitor-otlp --endpoint http://host:4318",
    .options = option_rows,
    .epilogue = "The standard OTEL_... variables of OTLP exporters apply; options\n"
                "take precedence.",
};

static int put_variable(const char *name, const char *value, struct ntk_err *err)
{
    return value && setenv(name, value, 1) < 0
               ? ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s: %s", name, strerror(errno))
               : 0;
}

/* Sets the variables of all signals. */
static int put_variables_of_signals(const char *suffix, const char *value, struct ntk_err *err)
{
    char name[96];
    int ret = 0;

    for (size_t i = 0; i < NTK_OTLP_SIGNAL_COUNT && ret >= 0; i++) {
        (void)snprintf(name, sizeof name, "OTEL_EXPORTER_OTLP_%s_%s", ntk_otlp_signals[i].variable,
                       suffix);
        ret = put_variable(name, value, err);
    }
    return ret;
}

/* Formats milliseconds; less than one counts as one. NULL for 0 ns. */
static const char *as_ms(uint64_t ns, char text[32])
{
    (void)snprintf(text, 32, "%llu",
                   (unsigned long long)((ns + NTK_NS_PER_MS - 1) / NTK_NS_PER_MS));
    return ns ? text : NULL;
}

/* Sets the variable for each option, so that both are read and checked in one place. */
static int put_variables(struct ntk_err *err)
{
    char timeout[32];
    char interval[32];
    const struct {
        const char *name;
        const char *value;
        bool is_of_signals;
    } rows[] = {
        { "TIMEOUT", as_ms(arg_timeout_ns, timeout), true },
        { "HEADERS", arg_headers, true },
        { "COMPRESSION", arg_compression, true },
        { "PROTOCOL", arg_protocol, true },
        { "CERTIFICATE", arg_certificate, true },
        { "CLIENT_CERTIFICATE", arg_client_certificate, true },
        { "CLIENT_KEY", arg_client_key, true },
        { "OTEL_METRIC_EXPORT_INTERVAL", as_ms(arg_interval_ns, interval), false },
        { "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", arg_histograms, false },
        { "OTEL_SERVICE_NAME", arg_service_name, false },
        { "OTEL_RESOURCE_ATTRIBUTES", arg_attributes, false },
    };
    int ret = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows && ret >= 0; i++) {
        ret = rows[i].is_of_signals ? put_variables_of_signals(rows[i].name, rows[i].value, err)
                                    : put_variable(rows[i].name, rows[i].value, err);
    }
    return ret;
}

static int check(void)
{
    if (arg_protocol && !strcmp(arg_protocol, "http")) {
        arg_protocol = "http/protobuf";
    }
    if (arg_histograms && !strcmp(arg_histograms, "exponential")) {
        arg_histograms = "base2_exponential_bucket_histogram";
    } else if (arg_histograms) {
        arg_histograms = "explicit_bucket_histogram";
    }
    return 0;
}

static int open_sink(struct ntk_pipe_sink *out_sink, struct ntk_err *err)
{
    int ret = put_variables(err);

    out_sink->put = ntk_exporter_otlp.put;
    out_sink->drain = ntk_exporter_otlp.drain;
    return ret < 0 ? ret : ntk_exporter_otlp.create(&options, &out_sink->ctx, err);
}

int main(int argc, char **argv)
{
    const struct ntk_pipe_program all = {
        .opt = &program, .check = check, .open = open_sink, .close = ntk_exporter_otlp.destroy
    };

    return ntk_pipe_main(&all, argc, argv);
}
