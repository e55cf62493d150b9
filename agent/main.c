/* SPDX-License-Identifier: MIT */
/* neuron-monitor - the main program of the agent: parses options and connects the parts. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/archive/archive.h"
#include "agent/archive/export.h"
#include "agent/collect/instance.h"
#include "agent/collect/instance_facts.h"
#include "agent/collect/pods.h"
#include "agent/diag/diag.h"
#include "agent/hang/hang.h"
#include "agent/health/health.h"
#include "agent/idle/idle_watch.h"
#include "agent/job/job.h"
#include "agent/monitor.h"
#include "agent/query/query.h"
#include "agent/report/monitor_config.h"
#include "agent/run/run.h"
#include "runtime-hooks/attach/attach.h"
#include "agent/hang/captures.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/http/http_address.h"
#include "shared/http/http_ports.h"
#include "shared/report/report_schema.h"
#include "shared/http/http_security.h"

/* Without a configuration, one report covers this period. */
#define ONCE_PERIOD_NS (1 * NTK_NS_PER_SECOND)

/* Size of an almost empty database, with space to grow. */
#define DB_BYTES_MIN (UINT64_C(1) << 20)

static const char *arg_config;
static bool arg_once;
static uint64_t arg_count;
static uint64_t arg_period_ns;
static const char *arg_web_config;
static bool arg_no_imds;
static bool arg_schema;
static bool arg_k8s_info;
static bool arg_attach;
static uint64_t arg_canary_ns;
static struct ntk_pods_options pod_options;
/* The known resources, then the resources of --k8s-resource. */
static struct ntk_pod_resource pod_resources[NTK_POD_RESOURCES_MAX + 1];
static struct ntk_monitor_options options = { .exporter.labels = &ntk_labels_option,
                                              .exporter.names = &ntk_names_option };
static struct ntk_captures_options capture_options;
static struct ntk_archive_options archive_options;
static bool arg_archive_tables; /* true if given */
static bool arg_capture_on;     /* true if given */
static uint64_t arg_max_line;   /* 0: whole reports for all readers */

static int set_verbose(const char *value, struct ntk_err *err)
{
    uint64_t level;

    if (ntk_str_parse_u64(value, &level) < 0 || level > 4) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "expected 0 to 4");
    }
    ntk_log_set_level(level == 0 ? NTK_LOG_WARN : level == 1 ? NTK_LOG_INFO : NTK_LOG_DEBUG);
    return 0;
}

static int set_http(const char *value, struct ntk_err *err)
{
    struct ntk_http_address address;

    options.http = value;
    return ntk_http_address_parse(value, "", &address, err);
}

static int set_omit(const char *value, struct ntk_err *err)
{
    return ntk_report_omit_parse(value, &options.report.omit, err);
}

static int set_k8s_resource(const char *value, struct ntk_err *err)
{
    const struct ntk_pod_resource *known = ntk_pod_resource_default_get();

    for (size_t i = 0; !pod_options.resources && known[i].name[0]; i++) {
        pod_resources[i] = known[i];
    }
    pod_options.resources = pod_resources;
    return ntk_pod_resource_add(pod_resources, value, err);
}

/* Sets the retention of seconds, then minutes, then hours. */
static int set_db_keep(const char *value, struct ntk_err *err)
{
    for (size_t tier = 0; tier < NTK_STORE_TIER_COUNT; tier++) {
        char text[32];
        size_t length = strcspn(value, ",");
        snprintf(text, sizeof text, "%.*s", (int)length, value);
        uint64_t *keep_ns = &options.store.keep_ns[tier];
        if (length >= sizeof text || ntk_str_parse_duration_ns(text, keep_ns) < 0 || !*keep_ns) {
            break;
        }
        if (value[length] == '\0') {
            return 0;
        }
        value += length + 1;
    }
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                       "expected one to three times, separated by commas, such as 24h,720h");
}

static int set_capture_on(const char *value, struct ntk_err *err)
{
    arg_capture_on = true;
    return ntk_captures_parse(value, &capture_options, err);
}

static int set_archive_tables(const char *value, struct ntk_err *err)
{
    arg_archive_tables = true;
    return ntk_archive_tables_parse(value, archive_options.wanted, err);
}

static int (*const call_archive_tables)(const char *, struct ntk_err *) = set_archive_tables;
static int (*const call_capture_on)(const char *, struct ntk_err *) = set_capture_on;
static int (*const call_verbose)(const char *, struct ntk_err *) = set_verbose;
static int (*const call_http)(const char *, struct ntk_err *) = set_http;
static int (*const call_omit)(const char *, struct ntk_err *) = set_omit;
static int (*const call_db_keep)(const char *, struct ntk_err *) = set_db_keep;
static int (*const call_k8s_resource)(const char *, struct ntk_err *) = set_k8s_resource;
#define CALL(function) ((void *)(uintptr_t) & (function))

/* The options of the exporters follow these. */
static const struct ntk_opt first_rows[] = {
    { 'c', "config-file", "FILE", NTK_OPT_TEXT, &arg_config,
      "read the groups and applications to report, and their periods, from this JSON file "
      "(default: all groups of all applications, every 5 s)" },
    { 0, "period", "TIME", NTK_OPT_DURATION, &arg_period_ns,
      "report every group every TIME, such as 500ms or 2s, regardless of the configuration",
      .is_above_zero = true, .above = "at least 100ms" },
    { 0, "once", 0, NTK_OPT_FLAG, &arg_once,
      "write one report over one period (default 1s) and exit" },
    { 0, "count", "N", NTK_OPT_U64, &arg_count,
      "exit after N reports, each covering a whole period", .is_above_zero = true },
    { 0, "Output", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "pretty", 0, NTK_OPT_FLAG, &options.report.pretty,
      "print each report indented, on several lines" },
    { 0, "timestamps", 0, NTK_OPT_FLAG, &options.report.timestamps,
      "add time_ns and sequence to each report" },
    { 0, "all-cores", 0, NTK_OPT_FLAG, &options.report.all_cores,
      "list every core in the machine for each application, with zeros for cores it does not use" },
    { 0, "max-line", "SIZE", NTK_OPT_BYTES, &arg_max_line,
      "omit neuron_ext from reports longer than SIZE, for readers with a line limit, often 65536 "
      "(default 0: no limit)" },
    { 0, "vendor-keys-only", 0, NTK_OPT_FLAG, &options.report.vendor_only,
      "omit all keys that the vendor's reports do not have" },
    { 0, "omit", NTK_OPT_LIST, NTK_OPT_CALL, CALL(call_omit),
      "omit loaded_models, neuron_ext, usage_breakdown, usage_data or v3d, separated by commas",
      "loaded_models neuron_ext usage_breakdown usage_data v3d" },
    { 0, "quiet", 0, NTK_OPT_FLAG, &options.quiet, "print no reports on stdout" },
    { 0, "db", "FILE", NTK_OPT_TEXT, &options.db_path,
      "store one row per second in this SQLite database; create it if missing" },
    { 0, "db-keep", "LIST", NTK_OPT_CALL, CALL(call_db_keep),
      "keep per-second, per-minute and per-hour rows for these times (default 168h,2160h,26280h)" },
    { 0, "db-size", "SIZE", NTK_OPT_BYTES, &options.store.keep_bytes,
      "limit the database to SIZE (default 1G, at least 1M); the oldest rows are deleted",
      .is_above_zero = true },
    { 0 },
};

static const struct ntk_opt last_rows[] = {
    { 0, "Archive", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "archive", "PLACE", NTK_OPT_TEXT, &archive_options.target.destination,
      "write each finished hour and day of the database as Parquet below this folder or "
      "s3://BUCKET/PREFIX" },
    { 0, "archive-cluster", "NAME", NTK_OPT_TEXT, &archive_options.cluster,
      "set the machine's cluster (default " NTK_ARCHIVE_CLUSTER ")" },
    { 0, "archive-tables", NTK_OPT_LIST, NTK_OPT_CALL, CALL(call_archive_tables),
      "archive only these tables, named as in neuron-monitor export --tables (default: all)",
      .word_get = ntk_archive_table_name },
    { 0, "archive-endpoint-url", "URL", NTK_OPT_TEXT, &archive_options.target.endpoint,
      "use this S3 service (default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or AWS)" },
    { 0, "Captures", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "capture-folder", "FOLDER", NTK_OPT_TEXT, &capture_options.folder,
      "write captures of events, including the time before them, to this folder" },
    { 0, "capture-on", NTK_OPT_LIST, NTK_OPT_CALL, CALL(call_capture_on),
      "capture on these events, separated by commas: hang, slow, stuck, ecc or p99=TIME (default "
      "hang,slow,stuck,ecc)",
      "hang slow stuck ecc p99=" },
    { 0, "capture-every", "TIME", NTK_OPT_DURATION, &capture_options.every_ns,
      "take at most one capture per reason and user in TIME (default 10m)", .is_above_zero = true },
    { 0, "capture-size", "SIZE", NTK_OPT_BYTES, &capture_options.keep_bytes,
      "limit the total size of captures to SIZE (default 1G); the oldest capture of the user with "
      "the most bytes is deleted first",
      .is_above_zero = true },
    { 0, "capture-remote", 0, NTK_OPT_FLAG, &capture_options.is_remote,
      "let holders of the --http token request captures (neuron-profile trigger --host); other "
      "captures follow --capture-on" },
    { 0, "Serving", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "web.config.file", "FILE", NTK_OPT_TEXT, &arg_web_config,
      "read the TLS, user and header settings of both ports from this file, in the format of "
      "Prometheus exporters" },
    NTK_EXPORTER_OPT(options.exporter),
    { 0, "http", "[ADDRESS:]PORT", NTK_OPT_CALL, CALL(call_http),
      "serve a page, /metrics and /api/v1 on this port (default address 127.0.0.1; clients use "
      "port " NTK_HTTP_PORT_TEXT(NTK_HTTP_PORT_AGENT) " by default)" },
    { 0, "http-host", "NAMES", NTK_OPT_TEXT, &options.exporter.host_names,
      "accept these comma-separated host names in requests to --http, and to exporters on loopback "
      "addresses, in addition to the names of this machine" },
    { 0, "http-token-file", "FILE", NTK_OPT_TEXT, &options.http_token_file,
      "require the token in this file for requests to --http" },
    { 0, "Sources", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "sysfs-root", "FOLDER", NTK_OPT_TEXT, &options.sysfs_root,
      "read devices below FOLDER (default /sys)" },
    { 0, "attach", 0, NTK_OPT_FLAG, &arg_attach,
      "observe jobs that use the vendor's runtime without hooks, like neuron-monitor attach --all; "
      "requires privileges" },
    NTK_IDLE_OPT(options.idle),
    { 0, "canary", "TIME", NTK_OPT_DURATION, &arg_canary_ns,
      "check for silent data corruption: run a program with a known answer on every free core "
      "every TIME, like neuron-monitor diag --canary",
      .is_above_zero = true },
    { 0, "command-lines", 0, NTK_OPT_FLAG, &options.command_lines,
      "include command-line arguments in reports, not only program names; arguments may hold "
      "secrets" },
    { 0, "no-imds", 0, NTK_OPT_FLAG, &arg_no_imds,
      "do not query the EC2 instance metadata service" },
    { 0, "host-root", "FOLDER", NTK_OPT_TEXT, &options.host_root,
      "read the host's /proc (with --k8s-info also /var/log/containers) below FOLDER, the mount "
      "point of the host's root in a container" },
    { 0, "Kubernetes", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "k8s-info", 0, NTK_OPT_FLAG, &arg_k8s_info,
      "query the kubelet for the pods that hold cores and devices; adds neuron_k8s_info and pod "
      "labels" },
    { 0, "k8s-socket", "FILE", NTK_OPT_TEXT, &pod_options.socket_path,
      "use this pod-resources socket of the kubelet (default " NTK_PODS_SOCKET ")" },
    { 0, "k8s-period", "TIME", NTK_OPT_DURATION, &pod_options.period_ns,
      "query the kubelet every TIME (default 15s, at least 1s)", .is_above_zero = true },
    { 0, "k8s-resource", "NAME=KIND", NTK_OPT_CALL, CALL(call_k8s_resource),
      "also count this resource of a different device plug-in, with one core or device per unit; "
      "may be repeated" },
    { 0, "Batch jobs", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "hpc-job-mapping-dir", "FOLDER", NTK_OPT_TEXT, &options.job_mapping,
      "read the devices and cores of each job from this folder, written by the scheduler's prolog "
      "and epilog; enables neuron_job_info and neuron-monitor job" },
    { 0, "Other", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "schema", 0, NTK_OPT_FLAG, &arg_schema, "print the JSON Schema of a report and exit" },
    { 'v', "verbose", "LEVEL", NTK_OPT_CALL, CALL(call_verbose),
      "set the verbosity of messages on stderr, 0 (default) to 4" },
    NTK_OPT_COMMON_COMPLETION,
    NTK_OPT_COMMON_VERSION,
    NTK_OPT_COMMON_HELP,
    { 0 },
};

/* Lists the name, function and help of each subcommand. */
#define COMMANDS(X)                                                            \
    X("attach", ntk_attach_main, "observe a running program")                  \
    X("diag", ntk_diag_main, "test whether the machine is ready for work")     \
    X("export", ntk_export_main, "export a database to Parquet files")         \
    X("hang", ntk_hang_main, "show the ranks that a collective waits for")     \
    X("health", ntk_health_main, "show device health and recommended actions") \
    X("job", ntk_job_main, "report how batch jobs used cores")                 \
    X("query", ntk_query_main, "query a database")                             \
    X("run", ntk_run_main, "run a program with hooks on hardware")             \
    X("slow", ntk_slow_main, "show the ranks that are repeatedly late")

static const struct ntk_opt_command commands[] = {
#define ROW(word, run, help) { word, run },
    COMMANDS(ROW)
#undef ROW
        { 0 }
};

static struct ntk_opt_program program = {
    .name = "neuron-monitor",
    .usage = "[OPTION]...\nquery QUESTION --db FILE [OPTION]...\njob [ID] --db FILE "
             "[OPTION]...\nexport --db FILE --output-folder "
             "PLACE [OPTION]...\nrun [OPTION]... [--] COMMAND "
             "[ARGUMENT]...\nattach PID... [OPTION]...\nhang|slow|health [OPTION]... "
             "[URL|HOST[:PORT]]...\ndiag [-r LEVEL] [OPTION]...",
    .summary = "Observes applications on Neuron devices and writes one JSON report per period to "
               "stdout, one per line. Optionally stores the reports and serves them over HTTP.",
    .epilogue = "Each subcommand has its own help:"
#define ROW(word, run, help) "\n  neuron-monitor " word " --help: " help
    COMMANDS(ROW),
#undef ROW
    .commands = commands,
};

static int join_options(void)
{
    const struct ntk_opt *tables[NTK_EXPORTER_COUNT + 2] = { first_rows };
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < NTK_EXPORTER_COUNT; i++) {
        tables[1 + i] = ntk_exporters[i]->options;
    }
    tables[1 + NTK_EXPORTER_COUNT] = last_rows;
    program.options = ntk_opt_join(tables, sizeof tables / sizeof *tables);
    return program.options ? 0 : ntk_err_no_memory(&err);
}

struct outputs {
    bool metrics; /* true if an exporter or a client of the agent's port needs metrics */
    bool listen;
    bool have_secrets;
};

/* Returns 0, or negative if the exporters' options contradict each other. */
static int check_exporters(struct outputs *outputs, struct ntk_err *err)
{
    for (size_t i = 0; i < NTK_EXPORTER_COUNT; i++) {
        int ret = ntk_exporters[i]->is_asked(err);
        if (ret < 0) {
            return ret;
        }
        outputs->metrics = outputs->metrics || ret > 0;
        outputs->have_secrets = outputs->have_secrets || (ret > 0 && ntk_exporters[i]->has_secrets);
        outputs->listen = outputs->listen || (ret > 0 && ntk_exporters[i]->listens);
    }
    return 0;
}

/* Returns the first option without effect because its feature is off; NULL if none. */
static const char *find_lonely(const struct outputs *outputs)
{
    static const char to_listen[] = "requires --http or a listening exporter";
    static const char to_export[] = "requires --http or an exporter, such as --prometheus";
    const struct {
        const char *name;
        bool is_given;
        bool has_use;
        const char *needs;
    } rows[] = {
        { "--http-host", options.exporter.host_names != NULL, outputs->listen, to_listen },
        { "--http-token-file", options.http_token_file != NULL, options.http != NULL,
          "requires --http" },
        { "--web.config.file", arg_web_config != NULL, outputs->listen, to_listen },
        { "--vendor-metrics-only", options.exporter.vendor_only, outputs->metrics, to_export },
        { "--pid-label", options.exporter.pid_label, outputs->metrics, to_export },
        { "--label", ntk_labels_option.count > 0, outputs->metrics, to_export },
        { "--names", ntk_names_option != 0, outputs->metrics, to_export },
        { "--max-applications", options.exporter.application_max > 0, outputs->metrics, to_export },
        { "--zero-fill", options.exporter.zero_fill, outputs->metrics, to_export },
        { "--capture-on", arg_capture_on, capture_options.folder != NULL,
          "requires --capture-folder" },
        { "--capture-every", capture_options.every_ns > 0, capture_options.folder != NULL,
          "requires --capture-folder" },
        { "--capture-size", capture_options.keep_bytes > 0, capture_options.folder != NULL,
          "requires --capture-folder" },
        { "--capture-remote", capture_options.is_remote,
          capture_options.folder && options.http && options.http_token_file,
          "requires --capture-folder, --http and --http-token-file" },
        { "--archive", archive_options.target.destination != NULL, options.db_path != NULL,
          "requires --db" },
        { "--archive-cluster", archive_options.cluster != NULL,
          archive_options.target.destination != NULL, "requires --archive" },
        { "--archive-tables", arg_archive_tables, archive_options.target.destination != NULL,
          "requires --archive" },
        { "--archive-endpoint-url", archive_options.target.endpoint != NULL,
          archive_options.target.destination != NULL, "requires --archive" },
        { "--db-keep", options.store.keep_ns[0] > 0, options.db_path != NULL, "requires --db" },
        { "--idle", options.idle, options.db_path != NULL, "requires --db" },
        { "--db-size", options.store.keep_bytes > 0, options.db_path != NULL, "requires --db" },
    };
    static char sentence[128];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].is_given && !rows[i].has_use) {
            snprintf(sentence, sizeof sentence, "%s %s", rows[i].name, rows[i].needs);
            return sentence;
        }
    }
    return NULL;
}

static int read_config(struct ntk_monitor_config *config, struct ntk_err *err)
{
    if (!arg_config) {
        ntk_monitor_config_default(config, arg_period_ns ? arg_period_ns
                                           : arg_once    ? ONCE_PERIOD_NS
                                                         : NTK_MONITOR_PERIOD_DEFAULT_NS);
        return 0;
    }
    int ret = ntk_monitor_config_read(config, arg_config, err);
    if (ret >= 0 && arg_period_ns) {
        ntk_monitor_config_set_period(config, arg_period_ns);
    }
    return ret;
}

static int print_schema(void)
{
    struct ntk_err err = { 0 };
    struct ntk_buf text = { 0 };
    char *schema = ntk_report_schema_make();

    ntk_buf_add_format(&text, "%s\n", schema ? schema : "");
    int ret = schema ? ntk_fs_print(&text, &err) : ntk_err_no_memory(&err);
    ntk_buf_fini(&text);
    free(schema);
    return ret < 0 ? ntk_log_failure(NULL, &err) : 0;
}

/* Returns 0, or the exit code for conflicting options. */
static int check_options(void)
{
    struct ntk_err err = { 0 };
    struct outputs outputs = { .metrics = options.http != NULL,
                               .listen = options.http != NULL,
                               .have_secrets = arg_web_config || options.http_token_file };
    const char *destination = archive_options.target.destination;

    if (arg_once && arg_count) {
        return ntk_opt_usage_error(&program, "--once and --count are mutually exclusive");
    }
    if (check_exporters(&outputs, &err) < 0) {
        return ntk_opt_usage_error(&program, "%s", err.text);
    }
    if (options.store.keep_bytes && options.store.keep_bytes < DB_BYTES_MIN) {
        return ntk_opt_usage_error(&program, "--db-size must be at least 1M");
    }
    const char *lonely = find_lonely(&outputs);
    if (lonely) {
        return ntk_opt_usage_error(&program, "%s", lonely);
    }
    if (arg_period_ns &&
        (arg_period_ns < NTK_MONITOR_PERIOD_MIN_NS || arg_period_ns > NTK_MONITOR_PERIOD_MAX_NS)) {
        return ntk_opt_usage_error(&program, "--period must be between 100ms and one day");
    }
    if (pod_options.period_ns && pod_options.period_ns < NTK_PODS_PERIOD_MIN_NS) {
        return ntk_opt_usage_error(&program, "--k8s-period must be at least one second");
    }
    if (outputs.have_secrets || (destination && strncmp(destination, "s3://", 5) == 0)) {
        ntk_memory_forbid_cores();
    }
    return 0;
}

/* Sets the options of the monitor: the given options, and defaults for the others. */
static void wire_options(const struct ntk_monitor_config *config)
{
    if (!arg_no_imds) {
        options.instance_endpoint = ntk_instance_endpoint_get(&options.instance_is_certain);
    }
    options.config = config;
    options.pods = arg_k8s_info || config->k8s_info ? &pod_options : NULL;
    options.reload = arg_config ? read_config : NULL;
    options.report.line_bytes_max = (size_t)arg_max_line;
    options.skip_first = arg_once || arg_count; /* whole periods only */
    options.report_count = arg_once ? 1 : arg_count;
    if (capture_options.folder) {
        for (int r = 0; r < NTK_CAPTURES_P99 && !arg_capture_on && !capture_options.is_remote;
             r++) {
            capture_options.is_wanted[r] = true; /* the latency limit exceeds every histogram */
        }
        options.captures = &capture_options;
    }
    if (archive_options.target.destination) {
        for (size_t i = 0; i < NTK_STORE_DATASET_COUNT && !arg_archive_tables; i++) {
            archive_options.wanted[i] = true;
        }
        options.archive = &archive_options;
    }
}

/* Runs the monitor and its helpers until the monitor stops. Returns the exit code. */
static int run(void)
{
    struct ntk_monitor *monitor = NULL;
    struct ntk_child_tied attacher = { 0 };
    struct ntk_child_tied canary = { 0 };
    struct ntk_err err = { 0 };
    struct ntk_err other = { 0 };

    if ((arg_web_config &&
         ntk_http_security_open_config(arg_web_config, &options.exporter.security, &err) < 0) ||
        ntk_monitor_create(&options, &monitor, &err) < 0) {
        ntk_http_security_close(options.exporter.security);
        return ntk_log_failure(NULL, &err);
    }
    if (arg_attach && ntk_attach_child_start(&attacher, &other) < 0) {
        ntk_log_warn("attach", "%s", other.text);
    }
    if (arg_canary_ns && ntk_diag_canary_start(arg_canary_ns, &canary, &other) < 0) {
        ntk_log_warn("canary", "%s", other.text);
    }
    int ret = ntk_monitor_run(monitor, &err);
    ntk_child_tied_stop(&canary);
    ntk_child_tied_stop(&attacher);
    other = (struct ntk_err){ 0 };
    int closed = ntk_monitor_destroy(monitor, &other);
    ntk_http_security_close(options.exporter.security);
    int code = ret < 0 ? ntk_log_failure(NULL, &err) : 0;
    return closed < 0 ? ntk_log_failure(NULL, &other) : code;
}

int main(int argc, char **argv)
{
    static struct ntk_monitor_config config; /* static, because it is large */
    struct ntk_err err = { 0 };

    for (const struct ntk_opt_command *command = commands; command->name && argc > 1; command++) {
        if (strcmp(argv[1], command->name) == 0) {
            return command->run(argc - 1, argv + 1);
        }
    }
    if (argc == 3 && strcmp(argv[1], NTK_INSTANCE_ASK_OPTION) == 0) {
        return ntk_instance_child_main(argv[2]);
    }
    ntk_log_set_program(program.name);
    if (join_options() < 0) {
        return EXIT_FAILURE;
    }
    int parsed = ntk_opt_parse_all(&program, argc, argv);
    if (parsed < 0) {
        return ntk_opt_exit_code(parsed);
    }
    if (arg_schema) {
        return print_schema();
    }
    int code = check_options();
    if (code) {
        return code;
    }
    signal(SIGPIPE, SIG_IGN); /* the exit of a reader is a normal end */
    if (read_config(&config, &err) < 0) {
        return ntk_log_failure(NULL, &err);
    }
    if (!arg_k8s_info && !config.k8s_info &&
        (pod_options.socket_path || pod_options.period_ns || pod_options.resources)) {
        code = ntk_opt_usage_error(&program, "options --k8s-... require --k8s-info");
    } else {
        wire_options(&config);
        code = run();
    }
    ntk_monitor_config_fini(&config);
    return code;
}
