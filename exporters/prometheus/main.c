/* SPDX-License-Identifier: MIT */
/* neuron-monitor-prometheus - parses options, reads reports from a pipe, and serves a page for
 * Prometheus. */
#include <stdio.h>
#include <string.h>

#include "exporters/pipe/pipe.h"
#include "exporters/prometheus/prometheus.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/http/http_ports.h"
#include "shared/http/http_security.h"
#include "shared/metrics/snapshot.h"

#define ADDRESS_BYTES 300

static uint64_t arg_port = NTK_HTTP_PORT_METRICS;
static const char *arg_address = "";
static const char *arg_key_file;
static const char *arg_cert_file;
static const char *arg_web_config;
static bool arg_k8s;
static struct ntk_exporter_options options = { .labels = &ntk_labels_option,
                                               .names = &ntk_names_option };

static const struct ntk_opt option_rows[] = {
    { 'p', "port", "PORT", NTK_OPT_U64, &arg_port,
      "listen on PORT (default " NTK_HTTP_PORT_TEXT(NTK_HTTP_PORT_METRICS) "; 0: any)" },
    { 0, "address", "ADDRESS", NTK_OPT_TEXT, &arg_address,
      "listen on this address (default: all of the machine's addresses)" },
    { 0, "http-host", "NAMES", NTK_OPT_TEXT, &options.host_names,
      "accept these comma-separated host names in requests to a loopback address, in addition to "
      "the names of this machine" },
    { 0, "cert-file", "FILE", NTK_OPT_TEXT, &arg_cert_file,
      "serve HTTPS with the certificate (chain) in this PEM file; requires --key-file" },
    { 0, "key-file", "FILE", NTK_OPT_TEXT, &arg_key_file,
      "read the key of the certificate from this PEM file" },
    { 0, "web.config.file", "FILE", NTK_OPT_TEXT, &arg_web_config,
      "read the TLS, user and header settings from this file, in the format of Prometheus "
      "exporters" },
    NTK_EXPORTER_OPT(options),
    { 0, "enable-k8s-info", 0, NTK_OPT_FLAG, &arg_k8s,
      "warn when reports contain no pods; pod labels are exported whenever reports contain pods, "
      "as with neuron-monitor --k8s-info" },
    { 0, "Other", 0, NTK_OPT_HEADING, 0, 0 },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor-prometheus",
    .usage = "[OPTION]... < REPORTS",
    .summary = "Serves neuron-monitor reports from stdin to Prometheus, on any path:\n"
               "neuron-monitor | neuron-monitor-prometheus --port 9000",
    .options = option_rows,
};

/* Number of reports without pods before a warning, because the kubelet may answer after the first
 * report. */
#define REPORTS_WITHOUT_PODS_MAX 3

static struct {
    unsigned reports_without_pods; /* consecutive reports, from the first report on */
    bool has_pods;
} server;

/* Warns if pods are missing: in the vendor's pipe a third program requests them; here the first
 * program does so with an option. */
static void watch_pods(const struct ntk_snapshot *snapshot)
{
    server.has_pods = server.has_pods || snapshot->k8s.period_ns != NTK_GROUP_ABSENT;
    if (!server.has_pods && ++server.reports_without_pods == REPORTS_WITHOUT_PODS_MAX) {
        ntk_log_warn(NULL, "the reports contain no pods, so metrics have no pod labels: start "
                           "neuron-monitor with --k8s-info");
    }
}

static int put(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    if (arg_k8s) {
        watch_pods(snapshot);
    }
    return ntk_exporter_prometheus.put(ctx, snapshot, err);
}

static int check(void)
{
    if (arg_port > UINT16_MAX) {
        return ntk_opt_usage_error(&program, "--port must be at most 65535");
    }
    if (!arg_cert_file != !arg_key_file) {
        return ntk_opt_usage_error(&program, "--cert-file and --key-file must be used together");
    }
    if (arg_web_config && arg_cert_file) {
        return ntk_opt_usage_error(&program,
                                   "--web.config.file and --cert-file are mutually exclusive");
    }
    return 0;
}

static int open_sink(struct ntk_pipe_sink *out_sink, struct ntk_err *err)
{
    static char target[ADDRESS_BYTES];
    int ret = 0;

    (void)snprintf(target, sizeof target, strchr(arg_address, ':') ? "[%s]:%u" : "%s:%u",
                   arg_address, (unsigned)arg_port);
    ntk_prometheus_address = target;
    if (arg_web_config) {
        ret = ntk_http_security_open_config(arg_web_config, &options.security, err);
    } else if (arg_cert_file) {
        ret = ntk_http_security_open_pair(arg_cert_file, arg_key_file, &options.security, err);
    }
    out_sink->put = put;
    ret = ret < 0 ? ret : ntk_exporter_prometheus.create(&options, &out_sink->ctx, err);
    if (ret >= 0) {
        printf("Running %s prometheus server at port %u\n",
               options.security && ntk_http_security_has_tls(options.security) ? "HTTPS" : "HTTP",
               ntk_prometheus_port_get(out_sink->ctx));
        (void)fflush(stdout);
    }
    return ret;
}

static void close_sink(void *ctx)
{
    ntk_exporter_prometheus.destroy(ctx);
    ntk_http_security_close(options.security);
}

int main(int argc, char **argv)
{
    const struct ntk_pipe_program all = {
        .opt = &program, .check = check, .open = open_sink, .close = close_sink
    };

    return ntk_pipe_main(&all, argc, argv);
}
