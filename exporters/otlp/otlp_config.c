/* SPDX-License-Identifier: MIT */
/* otlp_config - reads variables with a table of setters. */
#include "exporters/otlp/otlp_config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exporters/push/push.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"

#define ENDPOINT_DEFAULT "http://localhost:4318"
#define GRPC_DEFAULT "http://localhost:4317"
#define GRPC_METHOD "/opentelemetry.proto.collector."
#define PATH_BYTES_MAX 128 /* maximum length of a signal's path */
#define TIMEOUT_MS_DEFAULT 10000
#define TIMEOUT_MS_MAX 3600000
#define INTERVAL_MS_MAX 86400000

const struct ntk_otlp_signal_row ntk_otlp_signals[NTK_OTLP_SIGNAL_COUNT] = {
    [NTK_OTLP_METRICS] = { "METRICS", "OTEL_METRICS_EXPORTER", "/v1/metrics",
                           GRPC_METHOD "metrics.v1.MetricsService/Export" },
    [NTK_OTLP_LOGS] = { "LOGS", "OTEL_LOGS_EXPORTER", "/v1/logs",
                        GRPC_METHOD "logs.v1.LogsService/Export" },
    [NTK_OTLP_TRACES] = { "TRACES", "OTEL_TRACES_EXPORTER", "/v1/traces",
                          GRPC_METHOD "trace.v1.TraceService/Export" },
};

/* A setting in OTEL_EXPORTER_OTLP_<SIGNAL>_<suffix>, else OTEL_EXPORTER_OTLP_<suffix>; or in one
 * variable. */
struct setting {
    const char *suffix;   /* NULL if variable is set */
    const char *variable; /* one variable for all signals */
    bool is_of_metrics;   /* true: not for other signals */
    int (*set)(struct ntk_otlp_config *config, const char *variable, const char *value,
               struct ntk_err *err);
};

static int refuse(const char *variable, const char *expected, struct ntk_err *err)
{
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s: %s", variable, expected);
}

static int replace(char **text, const char *value, struct ntk_err *err)
{
    free(*text);
    *text = strdup(value);
    return *text ? 0 : ntk_err_no_memory(err);
}

/* -- lists of NAME=VALUE ----------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes percent encoding in place; false if it is invalid or has a NUL. */
static bool decode(char *text)
{
    char *to = text;

    for (; *text; text++) {
        if (*text == '%') {
            int high = hex_digit(text[1]);
            int low = high < 0 ? -1 : hex_digit(text[2]);
            if (low < 0 || high * 16 + low == 0) {
                return false;
            }
            *to++ = (char)(high * 16 + low);
            text += 2;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
    return true;
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    for (size_t length = strlen(text); length && strchr(" \t", text[length - 1]);) {
        text[--length] = '\0';
    }
    return text;
}

static void free_pairs(struct ntk_vec *pairs)
{
    ntk_vec_each(struct ntk_otlp_pair, pair, pairs) {
        free(pair->name);
        free(pair->value);
    }
    ntk_vec_fini(pairs);
}

/* Sets a pair; if a name is repeated, the last pair is used. */
static int set_pair(struct ntk_vec *pairs, const char *name, const char *value,
                    int (*compare)(const char *a, const char *b), struct ntk_err *err)
{
    struct ntk_otlp_pair added = { strdup(name), strdup(value) };

    if (!added.name || !added.value) {
        free(added.name);
        free(added.value);
        return ntk_err_no_memory(err);
    }
    ntk_vec_each(struct ntk_otlp_pair, pair, pairs) {
        if (!compare(pair->name, name)) {
            free(pair->name);
            free(pair->value);
            *pair = added;
            return 0;
        }
    }
    if (ntk_vec_push(pairs, &added) < 0) {
        free(added.name);
        free(added.value);
        return ntk_err_no_memory(err);
    }
    return 0;
}

/* Passes the pairs of "a=b,c=d" to add() one by one. */
static int read_list(struct ntk_otlp_config *config, const char *variable, const char *value,
                     int (*add)(struct ntk_otlp_config *config, const char *variable, char *name,
                                char *value, struct ntk_err *err),
                     struct ntk_err *err)
{
    char *copy = strdup(value);
    char *rest = NULL;
    int ret = copy ? 0 : ntk_err_no_memory(err);

    for (char *item = copy ? strtok_r(copy, ",", &rest) : NULL; item && ret >= 0;
         item = strtok_r(NULL, ",", &rest)) {
        item = trim(item);
        if (!*item) {
            continue;
        }
        char *equals = strchr(item, '=');
        if (!equals || equals == item) {
            ret = refuse(variable, "expected NAME=VALUE, separated by commas", err);
            break;
        }
        *equals = '\0';
        char *name = trim(item);
        char *text = trim(equals + 1);
        if (!*name || !decode(name) || !decode(text)) {
            ret = refuse(variable, "missing name, or invalid percent encoding", err);
            break;
        }
        ret = add(config, variable, name, text, err);
    }
    free(copy);
    return ret;
}

static int add_header(struct ntk_otlp_config *config, const char *variable, char *name, char *value,
                      struct ntk_err *err)
{
    for (const char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("!#$%&'*+-.^_`|~", *c)) {
            return refuse(variable, "invalid header name", err);
        }
    }
    for (const char *c = value; *c; c++) {
        if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f) {
            return refuse(variable, "a value contains a control character", err);
        }
    }
    if (ntk_push_header_is_own(name, strlen(name))) {
        return refuse(variable, "one of these headers is reserved for the exporter", err);
    }
    if (config->headers.count == NTK_OTLP_HEADERS_MAX) {
        return refuse(variable, "too many headers (at most 64)", err);
    }
    return set_pair(&config->headers, name, value, strcasecmp, err);
}

static int add_attribute(struct ntk_otlp_config *config, const char *variable, char *name,
                         char *value, struct ntk_err *err)
{
    char clean_name[NTK_OTLP_VALUE_BYTES_MAX + 1];
    char clean_value[NTK_OTLP_VALUE_BYTES_MAX + 1];

    if (config->attributes.count == NTK_OTLP_ATTRIBUTES_MAX) {
        return refuse(variable, "too many attributes (at most 128)", err);
    }
    ntk_str_copy_clean(clean_name, sizeof clean_name, name, strlen(name));
    ntk_str_copy_clean(clean_value, sizeof clean_value, value, strlen(value));
    return set_pair(&config->attributes, clean_name, clean_value, strcmp, err);
}

/* -- effects of the variables ------------------------------------------------------------------ */

static bool is_url(const char *value)
{
    const char *host = ntk_str_starts_with(value, "http://")    ? value + 7
                       : ntk_str_starts_with(value, "https://") ? value + 8
                                                                : NULL;

    for (const char *c = value; *c; c++) {
        if ((unsigned char)*c <= 0x20 || *c == 0x7f) {
            return false;
        }
    }
    return host && *host && !strchr("/?#:", *host);
}

static int set_url(struct ntk_otlp_config *config, const char *variable, const char *value,
                   struct ntk_err *err)
{
    return is_url(value) ? replace(&config->url, value, err)
                         : refuse(variable, "expected a URL with http:// or https://", err);
}

/* Returns the length of a signal's path at the end of a URL; 0 if there is none. */
static size_t path_length(const char *url, size_t url_length)
{
    for (size_t i = 0; i < NTK_OTLP_SIGNAL_COUNT; i++) {
        size_t length = strlen(ntk_otlp_signals[i].path);
        if (url_length > length &&
            memcmp(url + url_length - length, ntk_otlp_signals[i].path, length) == 0) {
            return length;
        }
    }
    return 0;
}

/* Appends the path of the signal to the base URL, before a query. It replaces the path of another
 * signal. */
static int set_base(struct ntk_otlp_config *config, const char *variable, const char *value,
                    struct ntk_err *err)
{
    char url[NTK_OTLP_VALUE_BYTES_MAX + PATH_BYTES_MAX];
    size_t end = strcspn(value, "?#");
    size_t length = end - path_length(value, end);

    length -= length == end && length > 0 && value[length - 1] == '/';
    (void)snprintf(url, sizeof url, "%.*s%s%s", (int)length, value,
                   ntk_otlp_signals[config->signal].path, value + end);
    return set_url(config, variable, is_url(value) ? url : value, err);
}

static int set_headers(struct ntk_otlp_config *config, const char *variable, const char *value,
                       struct ntk_err *err)
{
    return read_list(config, variable, value, add_header, err);
}

static int set_attributes(struct ntk_otlp_config *config, const char *variable, const char *value,
                          struct ntk_err *err)
{
    return read_list(config, variable, value, add_attribute, err);
}

static int set_service_name(struct ntk_otlp_config *config, const char *variable, const char *value,
                            struct ntk_err *err)
{
    char copy[NTK_OTLP_VALUE_BYTES_MAX + 1];

    ntk_str_copy(copy, sizeof copy, value);
    return add_attribute(config, variable, (char[]){ "service.name" }, copy, err);
}

static int set_ms(const char *variable, const char *value, uint64_t max_ms, uint64_t *out_ns,
                  struct ntk_err *err)
{
    uint64_t ms;

    if (ntk_str_parse_u64(value, &ms) < 0 || ms == 0 || ms > max_ms) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "%s: expected milliseconds from 1 to %llu", variable,
                           (unsigned long long)max_ms);
    }
    *out_ns = ms * NTK_NS_PER_MS;
    return 0;
}

static int set_timeout(struct ntk_otlp_config *config, const char *variable, const char *value,
                       struct ntk_err *err)
{
    return set_ms(variable, value, TIMEOUT_MS_MAX, &config->timeout_ns, err);
}

static int set_interval(struct ntk_otlp_config *config, const char *variable, const char *value,
                        struct ntk_err *err)
{
    return set_ms(variable, value, INTERVAL_MS_MAX, &config->interval_ns, err);
}

static int set_compression(struct ntk_otlp_config *config, const char *variable, const char *value,
                           struct ntk_err *err)
{
    config->has_gzip = !strcasecmp(value, "gzip");
    return config->has_gzip || !strcasecmp(value, "none")
               ? 0
               : refuse(variable, "expected gzip or none", err);
}

static int set_protocol(struct ntk_otlp_config *config, const char *variable, const char *value,
                        struct ntk_err *err)
{
    config->is_grpc = !strcasecmp(value, "grpc");
    return config->is_grpc || !strcasecmp(value, "http/protobuf")
               ? 0
               : refuse(variable, "unsupported protocol: expected grpc or http/protobuf", err);
}

static int set_temporality(struct ntk_otlp_config *config, const char *variable, const char *value,
                           struct ntk_err *err)
{
    (void)config;
    return !strcasecmp(value, "cumulative") ? 0
                                            : refuse(variable,
                                                     "unsupported temporality: expected cumulative "
                                                     "(a collector can convert it to delta)",
                                                     err);
}

static int set_histograms(struct ntk_otlp_config *config, const char *variable, const char *value,
                          struct ntk_err *err)
{
    config->has_exponential = !strcasecmp(value, "base2_exponential_bucket_histogram");
    return config->has_exponential || !strcasecmp(value, "explicit_bucket_histogram")
               ? 0
               : refuse(variable,
                        "expected explicit_bucket_histogram or base2_exponential_bucket_histogram",
                        err);
}

static int set_ca_file(struct ntk_otlp_config *config, const char *variable, const char *value,
                       struct ntk_err *err)
{
    (void)variable;
    return replace(&config->ca_file, value, err);
}

static int set_cert_file(struct ntk_otlp_config *config, const char *variable, const char *value,
                         struct ntk_err *err)
{
    (void)variable;
    return replace(&config->cert_file, value, err);
}

static int set_key_file(struct ntk_otlp_config *config, const char *variable, const char *value,
                        struct ntk_err *err)
{
    (void)variable;
    return replace(&config->key_file, value, err);
}

/* Settings in ascending priority: a later row replaces the value of an earlier row. */
static const struct setting settings[] = {
    { NULL, "OTEL_EXPORTER_OTLP_ENDPOINT", false, set_base },
    { "ENDPOINT", NULL, false, set_url },
    { "HEADERS", "OTEL_EXPORTER_OTLP_HEADERS", false, set_headers },
    { "TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT", false, set_timeout },
    { "COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION", false, set_compression },
    { "PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL", false, set_protocol },
    { "CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE", false, set_ca_file },
    { "CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", false, set_cert_file },
    { "CLIENT_KEY", "OTEL_EXPORTER_OTLP_CLIENT_KEY", false, set_key_file },
    { NULL, "OTEL_METRIC_EXPORT_INTERVAL", true, set_interval },
    { "TEMPORALITY_PREFERENCE", NULL, true, set_temporality },
    { "DEFAULT_HISTOGRAM_AGGREGATION", NULL, true, set_histograms },
    { NULL, "OTEL_RESOURCE_ATTRIBUTES", false, set_attributes },
    { NULL, "OTEL_SERVICE_NAME", false, set_service_name },
};

/* Returns NULL if the variable is unset or empty. */
static const char *value_of(char *(*get)(const char *name), const char *variable)
{
    const char *value = variable ? get(variable) : NULL;

    return value && *value ? value : NULL;
}

static int read_disabled(struct ntk_otlp_config *config, char *(*get)(const char *name),
                         struct ntk_err *err)
{
    const char *variable = ntk_otlp_signals[config->signal].exporter;
    const char *exporter = value_of(get, variable);

    config->is_disabled = ntk_str_is_true(value_of(get, "OTEL_SDK_DISABLED")) ||
                          (exporter && !strcasecmp(exporter, "none"));
    return config->is_disabled || !exporter || !strcasecmp(exporter, "otlp")
               ? 0
               : refuse(variable, "expected otlp or none", err);
}

static int apply(const struct setting *setting, struct ntk_otlp_config *config,
                 char *(*get)(const char *name), struct ntk_err *err)
{
    char of_signal[96];
    const char *variable = of_signal;
    const char *value = NULL;

    if (setting->is_of_metrics && config->signal != NTK_OTLP_METRICS) {
        return 0;
    }
    if (setting->suffix) {
        (void)snprintf(of_signal, sizeof of_signal, "OTEL_EXPORTER_OTLP_%s_%s",
                       ntk_otlp_signals[config->signal].variable, setting->suffix);
        value = value_of(get, of_signal);
    }
    if (!value) {
        variable = setting->variable;
        value = value_of(get, variable);
    }
    if (!value) {
        return 0;
    }
    if (strlen(value) > NTK_OTLP_VALUE_BYTES_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s: longer than %d bytes", variable,
                           NTK_OTLP_VALUE_BYTES_MAX);
    }
    return setting->set(config, variable, value, err);
}

/* Sets the URL: the server, with the method as path. */
static int set_grpc_url(struct ntk_otlp_config *config, struct ntk_err *err)
{
    char url[NTK_OTLP_VALUE_BYTES_MAX + 2 * PATH_BYTES_MAX];
    const char *given = config->url;
    size_t scheme = (size_t)(strstr(given, "://") - given) + 3;

    (void)snprintf(url, sizeof url, "%.*s%s", (int)(scheme + strcspn(given + scheme, "/?#")), given,
                   ntk_otlp_signals[config->signal].method);
    return replace(&config->url, url, err);
}

int ntk_otlp_config_read(struct ntk_otlp_config *config, enum ntk_otlp_signal signal,
                         const char *endpoint, char *(*get)(const char *name), struct ntk_err *err)
{
    config->signal = signal;
    ntk_vec_init(&config->headers, sizeof(struct ntk_otlp_pair));
    ntk_vec_init(&config->attributes, sizeof(struct ntk_otlp_pair));
    config->timeout_ns = TIMEOUT_MS_DEFAULT * NTK_NS_PER_MS;
    int ret = read_disabled(config, get, err);
    if (ret < 0 || config->is_disabled) {
        return ret;
    }
    for (size_t i = 0; i < sizeof settings / sizeof *settings && ret >= 0; i++) {
        ret = apply(&settings[i], config, get, err);
    }
    if (ret >= 0 && endpoint && *endpoint) {
        ret = strlen(endpoint) > NTK_OTLP_VALUE_BYTES_MAX
                  ? refuse("OTLP", "the URL is too long", err)
                  : set_base(config, "OTLP", endpoint, err);
    }
    if (ret >= 0 && !config->url) {
        ret = set_base(config, "OTLP", config->is_grpc ? GRPC_DEFAULT : ENDPOINT_DEFAULT, err);
    }
    if (ret >= 0 && config->is_grpc) {
        ret = set_grpc_url(config, err);
    }
    if (ret >= 0 && config->key_file && !config->cert_file) {
        ret = refuse("OTEL_EXPORTER_OTLP_CLIENT_KEY", "requires a client certificate", err);
    }
    return ret;
}

void ntk_otlp_config_fini(struct ntk_otlp_config *config)
{
    free_pairs(&config->headers);
    free_pairs(&config->attributes);
    free(config->url);
    free(config->ca_file);
    free(config->cert_file);
    free(config->key_file);
    memset(config, 0, sizeof *config);
}
