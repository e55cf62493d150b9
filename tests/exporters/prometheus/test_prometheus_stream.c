/* SPDX-License-Identifier: MIT */
/* Pages in parts, and large ones that are encoded while they are sent. */
#include "exporters/prometheus/prometheus_stream.h"

#include <stdio.h>
#include <string.h>

#include "exporters/exporter.h"
#include "exporters/prometheus/prometheus.h"
#include "shared/http/http_client.h"
#include "tests/exporters/prometheus/prometheus_fixture.h"
#include "tests/support/clock.h"
#include "tests/support/mixed_snapshot.h"
#include "tests/support/process.h"

#define APPLICATIONS 64u
#define MODELS 40u /* of each: more text than sockets hold */
#define SECOND UINT64_C(1000000000)

/* Applications with one execution of each model. */
static struct ntk_snapshot *many_applications(uint32_t count, uint32_t model_count)
{
    static struct ntk_histogram_dense dense;
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, count);

    ntk_histogram_dense_reset(&dense);
    ntk_histogram_dense_record(&dense, 5000000);
    snapshot->realtime_ns = 1700000000 * SECOND;
    snapshot->period_ns = SECOND;
    for (uint32_t r = 0; r < count; r++) {
        runtimes[r].pid = runtimes[r].header_pid = runtimes[r].uid = 1000 + r;
        runtimes[r].tag = ntk_snapshot_format(snapshot, "worker-%u", r);
        runtimes[r].lnc = 1;
        runtimes[r].has = NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_MODELS;
        runtimes[r].outcome[NTK_OUTCOME_COMPLETED].period = model_count;
        struct ntk_model_sample *models =
            ntk_snapshot_alloc_models(snapshot, &runtimes[r], model_count);
        for (uint32_t m = 0; m < model_count; m++) {
            models[m].id = 10001 + m;
            models[m].name = ntk_snapshot_format(snapshot, "a_model_of_many_%u.neff", m);
            models[m].has = NTK_MODEL_HAS_EXECUTIONS | NTK_MODEL_HAS_LATENCY;
            models[m].loaded = true;
            models[m].total_latency = ntk_snapshot_histogram(snapshot, &dense);
        }
    }
    return snapshot;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;

    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* ---- parts ---- */

/* Sends parts as small as possible and counts them. */
static char *encode_in_parts(enum ntk_prometheus_format format, bool vendor_only, size_t *out_count)
{
    struct ntk_prometheus_parts *parts = ntk_prometheus_parts_create(&page, format, vendor_only);
    struct ntk_buf out = { 0 };

    *out_count = 1;
    while (ntk_prometheus_parts_next(parts, 1, &out)) {
        assert_true(ntk_buf_ok(&out));
        ++*out_count;
    }
    ntk_prometheus_parts_destroy(parts);
    return ntk_buf_take(&out, NULL);
}

static void assert_parts_are_whole(void)
{
    for (int i = 0; i < 4; i++) {
        enum ntk_prometheus_format format =
            i < 2 ? NTK_PROMETHEUS_TEXT_0_0_4 : NTK_PROMETHEUS_OPENMETRICS_1_0_0;
        size_t count;
        char *whole = encode_as(format, i % 2);
        char *parts = encode_in_parts(format, i % 2, &count);

        assert_string_equal(parts, whole);
        /* One part per application of a family. */
        assert_true(count > count_of(whole, "# TYPE"));
        free(whole);
        free(parts);
    }
}

static void a_page_sent_in_parts_is_unchanged(void **state)
{
    (void)state;
    update(sample(1));
    update(many_applications(5, 2));
    assert_parts_are_whole();
}

static void a_page_sent_in_parts_has_every_family_unchanged(void **state)
{
    (void)state;
    page.fills_zeros = true;
    page.names = ~0u;
    page.has_pid_label = true;
    update(test_mixed_snapshot());
    update(test_mixed_snapshot());
    assert_parts_are_whole();
}

/* ---- newer values ---- */

struct source_fixture {
    pthread_mutex_t lock;
    struct prometheus_streams streams;
    struct ntk_http_source source;
};

static struct source_fixture of_source;

/* A stream that has sent its first part. */
static char *start_stream(void)
{
    struct ntk_prometheus_parts *parts =
        ntk_prometheus_parts_create(&page, NTK_PROMETHEUS_TEXT_0_0_4, false);
    struct ntk_buf begin = { 0 };

    memset(&of_source, 0, sizeof of_source);
    pthread_mutex_init(&of_source.lock, NULL);
    of_source.streams.lock = &of_source.lock;
    of_source.streams.page = &page;
    assert_true(ntk_prometheus_parts_next(parts, 1, &begin));
    char *text = strdup(ntk_buf_text_get(&begin));
    assert_true(prometheus_stream_start(&of_source.streams, parts, &begin, &of_source.source));
    return text;
}

/* The text of the stream. */
static char *finish_stream(void)
{
    struct ntk_buf text = { 0 };
    int ret = 1;

    while (ret == 1) {
        struct ntk_buf part = { 0 };
        ret = of_source.source.next(of_source.source.ctx, &part);
        ntk_buf_add(&text, ntk_buf_text_get(&part), part.bytes_count);
        ntk_buf_fini(&part);
    }
    assert_int_equal(ret, 0);
    of_source.source.end(of_source.source.ctx);
    assert_null(of_source.streams.first);
    return ntk_buf_take(&text, NULL);
}

static void a_streamed_page_keeps_the_values_from_its_start(void **state)
{
    (void)state;
    page.application_max = 15;
    update(many_applications(20, 3));
    char *before = encode(false);
    assert_int_equal(page.others.count, 5); /* has a series */
    assert_non_null(strstr(before, "\nneuron_monitor_other_applications"));
    free(start_stream());
    for (int i = 0; i < 2; i++) {
        prometheus_stream_freeze(&of_source.streams);
        update(many_applications(19, 3)); /* one ends, and is forgotten */
    }
    char *text = finish_stream();
    assert_string_equal(text, before);
    char *after = encode(false);
    assert_string_not_equal(after, before);
    free(text);
    free(before);
    free(after);
}

static void a_page_counts_as_delivered_after_its_last_part(void **state)
{
    (void)state;
    page.last_looks = 1;
    update(many_applications(20, 3));
    update(many_applications(19, 3));
    char *before = encode(false);
    assert_non_null(strstr(before, "worker-19"));
    free(start_stream());
    prometheus_stream_delivered(&of_source.streams); /* by another client, meanwhile */
    assert_false(of_source.streams.has_left);
    char *text = finish_stream();
    assert_string_equal(text, before);
    assert_true(of_source.streams.has_left);
    char *after = encode(false);
    assert_null(strstr(after, "worker-19"));
    free(text);
    free(before);
    free(after);
}

static void last_counts_after_the_start_of_a_page_remain_for_the_next_page(void **state)
{
    (void)state;
    page.last_looks = 1;
    update(many_applications(20, 3));
    free(start_stream());
    prometheus_stream_freeze(&of_source.streams);
    update(many_applications(19, 3));
    free(finish_stream());
    char *after = encode(false);
    assert_non_null(strstr(after, "worker-19"));
    free(after);
}

static void a_page_for_a_disconnected_client_does_not_count_as_delivered(void **state)
{
    (void)state;
    page.last_looks = 1;
    update(many_applications(20, 3));
    update(many_applications(19, 3));
    free(start_stream());
    of_source.source.end(of_source.source.ctx);
    assert_null(of_source.streams.first);
    assert_false(of_source.streams.has_left);
    assert_int_equal(page.deliveries, 0);
}

/* ---- over HTTP ---- */

struct scrape {
    void *exporter;
    bool has_put;
    struct ntk_buf text;
};

static void put(void *exporter)
{
    struct ntk_snapshot *snapshot = many_applications(APPLICATIONS, MODELS);

    assert_int_equal(ntk_exporter_prometheus.put(exporter, snapshot, NULL), 0);
    ntk_snapshot_destroy(snapshot);
}

/* Newer values arrive with the first bytes. */
static bool take(const void *bytes, size_t bytes_count, void *ctx)
{
    struct scrape *scrape = ctx;

    if (!scrape->has_put) {
        put(scrape->exporter);
        scrape->has_put = true;
    }
    ntk_buf_add(&scrape->text, bytes, bytes_count);
    return true;
}

static void assert_scrape(void *exporter, const char *encoding, const char *count)
{
    struct ntk_http_client *client = ntk_http_client_create();
    struct scrape scrape = { .exporter = exporter };
    struct ntk_http_answer answer = { 0 };
    size_t series_count = 0;
    char url[64];
    const char *const headers[] = { encoding, NULL };
    const struct ntk_http_question question = {
        .url = url, .headers = headers, .no_proxy = true, .on_bytes = take, .ctx = &scrape
    };

    snprintf(url, sizeof url, "http://127.0.0.1:%u/metrics", ntk_prometheus_port_get(exporter));
    assert_int_equal(ntk_http_client_ask(client, &question, &answer, NULL), 0);
    assert_int_equal(answer.status, 200);
    const char *text = ntk_buf_text_get(&scrape.text);
    assert_true(scrape.text.bytes_count > (size_t)16 << 20);
    for (const char *at = strstr(text, "le=\"+Inf\""); at; at = strstr(at + 1, "le=\"+Inf\"")) {
        const char *value = strchr(at, '}') + 2;
        assert_int_equal(strncmp(value, count, strcspn(value, "\n")), 0);
        series_count++;
    }
    assert_int_equal(series_count, APPLICATIONS * MODELS);
    ntk_buf_fini(&scrape.text);
    ntk_http_answer_fini(&answer);
    ntk_http_client_destroy(client);
}

/* Method: a clock that does not advance, so that the page never becomes stale. */
static void all_values_of_a_large_page_are_from_one_time(void **state)
{
    struct test_clock clock;
    const struct ntk_exporter_options options = { .application_max = 4 * APPLICATIONS,
                                                  .clock = &clock.clock };
    void *exporter;

    (void)state;
    test_clock_init(&clock);
    ntk_prometheus_address = "127.0.0.1:0";
    assert_int_equal(ntk_exporter_prometheus.create(&options, &exporter, NULL), 0);
    put(exporter);
    assert_scrape(exporter, "Accept: text/plain", "1");
    assert_scrape(exporter, "Accept-Encoding: gzip", "2");
    ntk_exporter_prometheus.destroy(exporter);
    test_clock_fini(&clock);
    ntk_prometheus_address = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(a_page_sent_in_parts_is_unchanged),
        CASE(a_page_sent_in_parts_has_every_family_unchanged),
        CASE(a_streamed_page_keeps_the_values_from_its_start),
        CASE(a_page_counts_as_delivered_after_its_last_part),
        CASE(last_counts_after_the_start_of_a_page_remain_for_the_next_page),
        CASE(a_page_for_a_disconnected_client_does_not_count_as_delivered),
        CASE(all_values_of_a_large_page_are_from_one_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
