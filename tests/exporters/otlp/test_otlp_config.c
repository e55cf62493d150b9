/* SPDX-License-Identifier: MIT */
/* Method: variables from a table of the test instead of the environment. */
#include "exporters/otlp/otlp_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

#define VARIABLES_MAX 4
#define MS UINT64_C(1000000)

struct variable {
    const char *name;
    const char *value;
};

static const struct variable *variables; /* terminated by a NULL name */

static char *get(const char *name)
{
    for (const struct variable *at = variables; at->name; at++) {
        if (!strcmp(at->name, name)) {
            return (char *)(uintptr_t)at->value;
        }
    }
    return NULL;
}

static struct ntk_otlp_config read_good(const struct variable *of, const char *endpoint)
{
    struct ntk_otlp_config config = { 0 };
    struct ntk_err err = { 0 };

    variables = of;
    if (ntk_otlp_config_read(&config, NTK_OTLP_METRICS, endpoint, get, &err) < 0) {
        fail_msg("refused: %s", err.text);
    }
    return config;
}

static const struct variable nothing[] = { { NULL, NULL } };

static void otlp_defaults_match_the_standard(void **state)
{
    struct ntk_otlp_config config = read_good(nothing, NULL);

    assert_string_equal(config.url, "http://localhost:4318/v1/metrics");
    assert_int_equal(config.timeout_ns, 10000 * MS);
    assert_int_equal(config.interval_ns, 0);
    assert_false(config.has_gzip || config.has_exponential || config.is_disabled);
    assert_int_equal(config.headers.count + config.attributes.count, 0);
    ntk_otlp_config_fini(&config);
}

static void the_otlp_signal_path_is_appended_only_to_a_base_url(void **state)
{
#define BASE "OTEL_EXPORTER_OTLP_ENDPOINT"
#define WHOLE "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
    static const struct {
        struct variable variables[3];
        const char *endpoint;
        const char *url;
    } rows[] = {
        { { { BASE, "https://c:1" } }, NULL, "https://c:1/v1/metrics" },
        { { { BASE, "http://c/" } }, NULL, "http://c/v1/metrics" },
        { { { BASE, "http://c/otlp" } }, NULL, "http://c/otlp/v1/metrics" },
        { { { BASE, "http://c/v1/metrics" } }, NULL, "http://c/v1/metrics" },
        { { { BASE, "http://c/a?token=b" } }, NULL, "http://c/a/v1/metrics?token=b" },
        { { { BASE, "" } }, NULL, "http://localhost:4318/v1/metrics" },
        { { { WHOLE, "http://d/x" } }, NULL, "http://d/x" },
        { { { WHOLE, "http://d" }, { BASE, "http://c" } }, NULL, "http://d" },
        { { { WHOLE, "http://d/x" } }, "http://e", "http://e/v1/metrics" },
        { { { BASE, "http://c" } }, "", "http://c/v1/metrics" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_otlp_config config = read_good(rows[i].variables, rows[i].endpoint);
        assert_string_equal(config.url, rows[i].url);
        ntk_otlp_config_fini(&config);
    }
}

static void each_otlp_signal_has_a_separate_address_and_variables(void **state)
{
    static const struct {
        enum ntk_otlp_signal signal;
        struct variable variables[4];
        const char *endpoint;
        const char *url;
        uint64_t timeout_ms;
    } rows[] = {
        { NTK_OTLP_LOGS, { { NULL, NULL } }, NULL, "http://localhost:4318/v1/logs", 10000 },
        { NTK_OTLP_TRACES, { { BASE, "http://c/a/" } }, NULL, "http://c/a/v1/traces", 10000 },
        /* the path of another signal is not used */
        { NTK_OTLP_TRACES,
          { { NULL, NULL } },
          "http://c/v1/metrics?a=b",
          "http://c/v1/traces?a=b",
          10000 },
        { NTK_OTLP_LOGS,
          { { "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://l/x" }, { BASE, "http://c" } },
          NULL,
          "http://l/x",
          10000 },
        { NTK_OTLP_LOGS,
          { { WHOLE, "http://d/x" } },
          NULL,
          "http://localhost:4318/v1/logs",
          10000 },
        { NTK_OTLP_TRACES,
          { { "OTEL_EXPORTER_OTLP_TIMEOUT", "7" },
            { "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "8" },
            { "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "9" } },
          "http://c:1",
          "http://c:1/v1/traces",
          8 },
        { NTK_OTLP_LOGS,
          { { "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc" } },
          "http://c:1/v1/metrics",
          "http://c:1/opentelemetry.proto.collector.logs.v1.LogsService/Export",
          10000 },
        { NTK_OTLP_TRACES,
          { { "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc" } },
          NULL,
          "http://localhost:4317/opentelemetry.proto.collector.trace.v1.TraceService/Export",
          10000 },
        /* variables only for metrics are not read */
        { NTK_OTLP_LOGS,
          { { "OTEL_METRIC_EXPORT_INTERVAL", "never" },
            { "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta" } },
          NULL,
          "http://localhost:4318/v1/logs",
          10000 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_otlp_config config = { 0 };
        struct ntk_err err = { 0 };

        variables = rows[i].variables;
        if (ntk_otlp_config_read(&config, rows[i].signal, rows[i].endpoint, get, &err) < 0) {
            fail_msg("row %zu: %s", i, err.text);
        }
        assert_string_equal(config.url, rows[i].url);
        assert_int_equal(config.timeout_ns, rows[i].timeout_ms * MS);
        ntk_otlp_config_fini(&config);
    }
}

static void a_single_otlp_signal_can_be_disabled(void **state)
{
    static const struct variable set[] = { { "OTEL_LOGS_EXPORTER", "none" },
                                           { "OTEL_TRACES_EXPORTER", "zipkin" },
                                           { NULL, NULL } };

    for (enum ntk_otlp_signal i = 0; i < NTK_OTLP_SIGNAL_COUNT; i++) {
        struct ntk_otlp_config config = { 0 };
        struct ntk_err err = { 0 };

        variables = set;
        int ret = ntk_otlp_config_read(&config, i, NULL, get, &err);
        assert_int_equal(ret, i == NTK_OTLP_TRACES ? -EINVAL : 0);
        assert_int_equal(config.is_disabled, i == NTK_OTLP_LOGS);
        if (i == NTK_OTLP_TRACES) {
            assert_string_equal(err.text, "OTEL_TRACES_EXPORTER: expected otlp or none");
        }
        ntk_otlp_config_fini(&config);
    }
}

static const struct ntk_otlp_pair *pair(const struct ntk_vec *pairs, size_t index)
{
    assert_true(index < pairs->count);
    return ntk_vec_at(pairs, index);
}

static void otlp_lists_are_decoded_and_signal_variables_take_precedence(void **state)
{
    static const struct variable set[] = {
        { "OTEL_EXPORTER_OTLP_HEADERS", "never=seen" },
        { "OTEL_EXPORTER_OTLP_METRICS_HEADERS", " a = b%20c ,,X-Key=%2C=,A=again" },
        { "OTEL_RESOURCE_ATTRIBUTES", "service.name=no,k=%C3%A4,broken=%ff,Team=1,team=2" },
        { "OTEL_SERVICE_NAME", "mine, whole" },
        { "OTEL_EXPORTER_OTLP_TIMEOUT", "1" },
        { "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "250" },
        { "OTEL_EXPORTER_OTLP_COMPRESSION", "GZIP" },
        { "OTEL_METRIC_EXPORT_INTERVAL", "60000" },
        { "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "Cumulative" },
        { "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
          "base2_exponential_bucket_histogram" },
        { "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/c.pem" },
        { NULL, NULL },
    };
    struct ntk_otlp_config config = read_good(set, NULL);

    assert_int_equal(config.headers.count, 2);
    assert_string_equal(pair(&config.headers, 0)->name, "A");
    assert_string_equal(pair(&config.headers, 0)->value, "again");
    assert_string_equal(pair(&config.headers, 1)->name, "X-Key");
    assert_string_equal(pair(&config.headers, 1)->value, ",=");
    assert_int_equal(config.attributes.count, 5);
    assert_string_equal(pair(&config.attributes, 0)->value, "mine, whole");
    assert_string_equal(pair(&config.attributes, 1)->value, "\xc3\xa4");
    assert_string_equal(pair(&config.attributes, 2)->value, "\xef\xbf\xbd");
    assert_string_equal(pair(&config.attributes, 4)->name, "team");
    assert_int_equal(config.timeout_ns, 250 * MS);
    assert_int_equal(config.interval_ns, 60000 * MS);
    assert_true(config.has_gzip && config.has_exponential);
    assert_string_equal(config.cert_file, "/c.pem");
    assert_null(config.key_file);
    ntk_otlp_config_fini(&config);
}

/* A server and its method; an HTTP path is not a method. */
static void with_grpc_the_url_path_is_the_service_method(void **state)
{
#define METHOD "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
    static const struct {
        struct variable variables[3];
        const char *url;
    } rows[] = {
        { { { "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc" } }, "http://localhost:4317" METHOD },
        { { { "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc" },
            { "OTEL_EXPORTER_OTLP_ENDPOINT", "https://c:1/x/?q" } },
          "https://c:1" METHOD },
        { { { "OTEL_EXPORTER_OTLP_PROTOCOL", "GRPC" },
            { "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://localhost:4318" } },
          "http://localhost:4318" METHOD },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_otlp_config config = read_good(rows[i].variables, NULL);
        assert_true(config.is_grpc);
        assert_string_equal(config.url, rows[i].url);
        ntk_otlp_config_fini(&config);
    }
#undef METHOD
}

static void other_settings_are_not_checked_if_the_sdk_is_disabled(void **state)
{
    static const struct variable off[][3] = {
        { { "OTEL_SDK_DISABLED", "True" }, { "OTEL_EXPORTER_OTLP_PROTOCOL", "thrift" } },
        { { "OTEL_METRICS_EXPORTER", "none" } },
    };
    static const struct variable on[] = { { "OTEL_SDK_DISABLED", "1" },
                                          { "OTEL_METRICS_EXPORTER", "otlp" },
                                          { NULL, NULL } };

    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        struct ntk_otlp_config config = read_good(off[i], NULL);
        assert_true(config.is_disabled);
        ntk_otlp_config_fini(&config);
    }
    struct ntk_otlp_config config = read_good(on, NULL);
    assert_false(config.is_disabled); /* only "true" counts as true */
    ntk_otlp_config_fini(&config);
}

static void unsupported_otlp_settings_are_rejected_by_name(void **state)
{
    static const struct variable bad[] = {
        { "OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318" },
        { "OTEL_EXPORTER_OTLP_ENDPOINT", "http://" },
        { "OTEL_EXPORTER_OTLP_ENDPOINT", "http:///v1" },
        { "OTEL_EXPORTER_OTLP_ENDPOINT", "http://a b" },
        { "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "file:///etc/passwd" },
        { "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://a\nb" },
        { "OTEL_EXPORTER_OTLP_PROTOCOL", "thrift" },
        { "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json" },
        { "OTEL_EXPORTER_OTLP_TIMEOUT", "0" },
        { "OTEL_EXPORTER_OTLP_TIMEOUT", "-1" },
        { "OTEL_EXPORTER_OTLP_TIMEOUT", "10s" },
        { "OTEL_EXPORTER_OTLP_TIMEOUT", "99999999999999999999" },
        { "OTEL_METRIC_EXPORT_INTERVAL", "86400001" },
        { "OTEL_EXPORTER_OTLP_COMPRESSION", "zstd" },
        { "OTEL_EXPORTER_OTLP_HEADERS", "name" },
        { "OTEL_EXPORTER_OTLP_HEADERS", "=value" },
        { "OTEL_EXPORTER_OTLP_HEADERS", "%=value" },
        { "OTEL_EXPORTER_OTLP_HEADERS", "a=%2" },
        { "OTEL_EXPORTER_OTLP_HEADERS", "a=%zz" },
        { "OTEL_EXPORTER_OTLP_HEADERS", "a=b%00c" },
        { "OTEL_EXPORTER_OTLP_HEADERS", "a=b%0D%0AX: y" },
        { "OTEL_EXPORTER_OTLP_HEADERS", "a b=c" },
        { "OTEL_EXPORTER_OTLP_HEADERS", "a%3a=c" },
        { "OTEL_EXPORTER_OTLP_HEADERS", "Content-Type=text/plain" },
        { "OTEL_RESOURCE_ATTRIBUTES", "a" },
        { "OTEL_RESOURCE_ATTRIBUTES", "a=%" },
        { "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta" },
        { "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "lowmemory" },
        { "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "none" },
        { "OTEL_METRICS_EXPORTER", "console" },
        { "OTEL_EXPORTER_OTLP_CLIENT_KEY", "/k.pem" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct variable one[] = { bad[i], { NULL, NULL } };
        struct ntk_otlp_config config = { 0 };
        struct ntk_err err = { 0 };

        variables = one;
        int ret = ntk_otlp_config_read(&config, NTK_OTLP_METRICS, NULL, get, &err);
        if (ret != -EINVAL || strncmp(err.text, bad[i].name, strlen(bad[i].name)) != 0) {
            fail_msg("%s=%s gives %d: %s", bad[i].name, bad[i].value, ret, err.text);
        }
        ntk_otlp_config_fini(&config);
    }
}

static void infinite_otlp_values_are_rejected(void **state)
{
    static const char *const names[] = { "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_RESOURCE_ATTRIBUTES",
                                         "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME" };
    char *endless = malloc(100001);
    char many[NTK_OTLP_VALUE_BYTES_MAX + 1] = "";

    memset(endless, 'a', 100000);
    memcpy(endless, "http://a=", 9);
    endless[100000] = '\0';
    for (size_t length = 0, i = 0; i <= NTK_OTLP_ATTRIBUTES_MAX; i++) {
        many[length++] = (char)('a' + i / 26);
        many[length++] = (char)('a' + i % 26);
        memcpy(many + length, "=1,", 4);
        length += 3;
    }
    for (size_t i = 0; i < 6; i++) {
        const struct variable one[] = { { names[i % 4], i < 4 ? endless : many }, { NULL, NULL } };
        struct ntk_otlp_config config = { 0 };
        struct ntk_err err = { 0 };

        variables = one;
        assert_int_equal(ntk_otlp_config_read(&config, NTK_OTLP_METRICS, NULL, get, &err), -EINVAL);
        assert_non_null(strstr(err.text, i < 4 ? "longer than" : "too many"));
        ntk_otlp_config_fini(&config);
    }
    free(endless);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(otlp_defaults_match_the_standard),
        cmocka_unit_test(the_otlp_signal_path_is_appended_only_to_a_base_url),
        cmocka_unit_test(each_otlp_signal_has_a_separate_address_and_variables),
        cmocka_unit_test(a_single_otlp_signal_can_be_disabled),
        cmocka_unit_test(otlp_lists_are_decoded_and_signal_variables_take_precedence),
        cmocka_unit_test(with_grpc_the_url_path_is_the_service_method),
        cmocka_unit_test(other_settings_are_not_checked_if_the_sdk_is_disabled),
        cmocka_unit_test(unsupported_otlp_settings_are_rejected_by_name),
        cmocka_unit_test(infinite_otlp_values_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
