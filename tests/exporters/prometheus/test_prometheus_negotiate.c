/* SPDX-License-Identifier: MIT */
/* Method: headers as real scrapers send them, and some that no scraper should send. */
#include "exporters/prometheus/prometheus_negotiate.h"
#include "tests/support/unit.h"

#define TEXT NTK_PROMETHEUS_TEXT_0_0_4
#define OPEN NTK_PROMETHEUS_OPENMETRICS_1_0_0
#define PROTO NTK_PROMETHEUS_PROTOBUF
#define FAMILY "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily"

static void the_accept_header_selects_the_page_format(void **state)
{
    static const struct {
        const char *accept;
        enum ntk_prometheus_format format;
    } cases[] = {
        { NULL, TEXT },
        { "", TEXT },
        { "*/*", TEXT },
        { "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", TEXT },
        { "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
          "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
          OPEN }, /* Prometheus 2 */
        { "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
          "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;"
          "escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
          OPEN }, /* Prometheus 3 */
        { FAMILY ";encoding=delimited;q=0.6,text/plain;version=0.0.4;q=0.3", PROTO },
        { FAMILY ";encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,"
                 "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,"
                 "*/*;q=0.1",
          PROTO }, /* Prometheus 2 that needs native histograms */
        { FAMILY ";encoding=delimited;q=0.3,text/plain;q=0.6", TEXT },
        { FAMILY ";encoding=text;q=0.6,text/plain;q=0.3", TEXT },
        { FAMILY ", */*;q=0.1", TEXT },
        { "application/vnd.google.protobuf;proto=other;encoding=delimited", TEXT },
        { "text/plain;version=0.0.4;q=1,*/*;q=0.1", TEXT }, /* VictoriaMetrics */
        { "application/openmetrics-text", OPEN },
        { "Application/OpenMetrics-Text ; Version = 0.0.1", OPEN },
        { "application/openmetrics-text;version=2.0.0", TEXT },
        { "application/openmetrics-text;q=0.2,text/plain;q=0.9", TEXT },
        { "application/openmetrics-text;q=0", TEXT },
        /* The first of several equal ones. */
        { "application/openmetrics-text;q=0.5,text/plain;q=0.5", OPEN },
        { "text/plain;q=0.5,application/openmetrics-text;q=0.5", TEXT },
        { ",,;;=;q=,application/openmetrics-text;q=0.001", OPEN },
        { "application/openmetrics-text;q=abc", OPEN },
        { "application/openmetrics-textual", TEXT },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (ntk_prometheus_negotiate_format(cases[i].accept) != cases[i].format) {
            fail_msg("'%s' is answered in the wrong form", cases[i].accept);
        }
    }
}

static void the_accept_encoding_header_selects_gzip(void **state)
{
    static const struct {
        const char *accept;
        int gzip;
    } cases[] = {
        { NULL, 0 },          { "", 0 },
        { "gzip", 1 },        { "deflate, gzip, br, zstd", 1 },
        { "identity", 0 },    { "gzip;q=0", 0 },
        { "*", 1 },           { "*;q=0", 0 },
        { "gzip;q=0, *", 0 }, { "br;q=1.0, GZIP;q=0.1", 1 },
        { "gzipped", 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (ntk_prometheus_negotiate_gzip(cases[i].accept) != cases[i].gzip) {
            fail_msg("'%s' is answered in the wrong form", cases[i].accept);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_accept_header_selects_the_page_format),
                                        cmocka_unit_test(the_accept_encoding_header_selects_gzip) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
