/* SPDX-License-Identifier: MIT */
/* Method: hand-made snapshots to a page, and the page to requests, which are decoded and compared
 * with the page's text and its protobuf form. */
#include "exporters/remote_write/remote_write_encode.h"

#include <errno.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/points/points_buckets.h"
#include "exporters/prometheus/prometheus_encode.h"
#include "exporters/remote_write/remote_write.pb-c.h"
#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

#define TIME_MS 1700000000123

struct fixture {
    struct ntk_points_page page;
    struct ntk_remote_write *encoder;
    struct ntk_vec requests; /* Ntk__RemoteWrite__WriteRequest * */
    int code;                /* what emit returns */
};

static int set_up(void **state)
{
    const struct ntk_remote_write_options options = { .job = "j",
                                                      .instance = "host",
                                                      .has_native = true };
    struct fixture *f = calloc(1, sizeof *f);

    ntk_vec_init(&f->requests, sizeof(void *));
    f->page.keeps_fine_latencies = true;
    f->encoder = ntk_remote_write_create(&options);
    *state = f;
    return 0;
}

static void forget(struct fixture *f)
{
    ntk_vec_each(Ntk__RemoteWrite__WriteRequest *, request, &f->requests) {
        ntk__remote_write__write_request__free_unpacked(*request, NULL);
    }
    ntk_vec_clear(&f->requests);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    forget(f);
    ntk_vec_fini(&f->requests);
    ntk_remote_write_destroy(f->encoder);
    ntk_points_page_fini(&f->page);
    free(f);
    return 0;
}

static int take(struct ntk_buf *request, uint64_t sample_count, void *ctx, struct ntk_err *err)
{
    struct fixture *f = ctx;
    size_t bytes;

    (void)err;
    assert_int_equal(snappy_uncompressed_length(request->bytes, request->bytes_count, &bytes),
                     SNAPPY_OK);
    char *proto = malloc(bytes);
    assert_int_equal(snappy_uncompress(request->bytes, request->bytes_count, proto, &bytes),
                     SNAPPY_OK);
    Ntk__RemoteWrite__WriteRequest *read =
        ntk__remote_write__write_request__unpack(NULL, bytes, (uint8_t *)proto);
    assert_non_null(read);
    assert_int_equal(read->n_timeseries, sample_count);
    assert_in_range(sample_count, 1, NTK_REMOTE_WRITE_SAMPLES);
    assert_int_equal(ntk_vec_push(&f->requests, &read), 0);
    free(proto);
    return f->code;
}

static void update(struct fixture *f, struct ntk_snapshot *snapshot)
{
    assert_int_equal(ntk_points_page_update(&f->page, snapshot), 0);
    ntk_snapshot_destroy(snapshot);
}

static int encode(struct fixture *f)
{
    struct ntk_err err = { 0 };

    forget(f);
    return ntk_remote_write_encode(f->encoder, &f->page, TIME_MS, false, take, f, &err);
}

/* Formats a series as in the text format, without job, instance and timestamp. */
static void name_series(const Ntk__RemoteWrite__TimeSeries *series, struct ntk_buf *text)
{
    bool has_label = false;

    ntk_buf_reset(text);
    assert_string_equal(series->labels[0]->name, "__name__");
    ntk_buf_add_text(text, series->labels[0]->value);
    for (size_t i = 1; i < series->n_labels; i++) {
        const char *name = series->labels[i]->name;
        const char *value = series->labels[i]->value;
        assert_true(strcmp(series->labels[i - 1]->name, name) < 0);
        assert_true(value[0] != '\0');
        if (!strcmp(name, "job") || !strcmp(name, "instance")) {
            assert_string_equal(value, name[0] == 'j' ? "j" : "host");
            continue;
        }
        ntk_buf_add_format(text, "%c%s=\"", has_label ? ',' : '{', name);
        for (const char *c = value; *c; c++) {
            ntk_buf_add_text(text, strchr("\\\"", *c) ? "\\" : "");
            ntk_buf_add_char(text, *c);
        }
        ntk_buf_add_char(text, '"');
        has_label = true;
    }
    ntk_buf_add_text(text, has_label ? "}" : "");
}

static const Ntk__RemoteWrite__TimeSeries *find(const struct fixture *f, const char *name,
                                                bool is_native)
{
    struct ntk_buf text = { 0 };
    const Ntk__RemoteWrite__TimeSeries *found = NULL;

    ntk_vec_each(Ntk__RemoteWrite__WriteRequest *, request, &f->requests) {
        for (size_t i = 0; i < (*request)->n_timeseries && !found; i++) {
            const Ntk__RemoteWrite__TimeSeries *series = (*request)->timeseries[i];
            name_series(series, &text);
            found = (series->n_histograms == 1) == is_native &&
                            !strncmp(ntk_buf_text_get(&text), name, strlen(name))
                        ? series
                        : NULL;
        }
    }
    ntk_buf_fini(&text);
    return found;
}

static size_t series_count(const struct fixture *f, bool is_native)
{
    size_t count = 0;

    ntk_vec_each(Ntk__RemoteWrite__WriteRequest *, request, &f->requests) {
        for (size_t i = 0; i < (*request)->n_timeseries; i++) {
            count += ((*request)->timeseries[i]->n_histograms == 1) == is_native;
        }
    }
    return count;
}

/* Removes empty labels and the value from the line. */
static void strip(char *line)
{
    char *empty;

    *strrchr(line, ' ') = '\0';
    while ((empty = strstr(line, "=\"\""))) {
        char *start = empty;
        char *rest = empty + 3;
        while (start[-1] != '{' && start[-1] != ',') {
            start--;
        }
        if (*rest == ',') {
            rest++;
        } else if (start[-1] == ',') {
            start--;
        } else { /* the only label */
            start--;
            rest++;
        }
        memmove(start, rest, strlen(rest) + 1);
    }
}

static void remote_write_series_match_the_text_format(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf text = { 0 };
    size_t count = 0;

    update(f, test_sample_snapshot(1));
    assert_int_equal(encode(f), 0);
    ntk_prometheus_encode(&f->page, NTK_PROMETHEUS_TEXT_0_0_4, false, &text);
    char *rest = text.bytes;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (!line[0] || line[0] == '#') {
            continue;
        }
        double value = strtod(strrchr(line, ' '), NULL);
        strip(line);
        const Ntk__RemoteWrite__TimeSeries *series = find(f, line, false);
        if (!series || series->n_samples != 1 || series->samples[0]->value != value) {
            fail_msg("'%s' is %s", line, series ? "another value" : "missing");
        }
        assert_int_equal(series->samples[0]->timestamp, TIME_MS);
        count++;
    }
    assert_int_equal(series_count(f, false), count);
    ntk_buf_fini(&text);
}

/* All counts are in the buckets, and the schema is that of the page's protobuf form. */
static void latencies_are_also_sent_as_native_histograms(void **state)
{
    struct fixture *f = *state;

    update(f, test_sample_snapshot(1));
    assert_int_equal(encode(f), 0);
    const Ntk__RemoteWrite__TimeSeries *series = find(f, "neuron_execution_latency_seconds", true);
    if (!series) {
        fail_msg("no native histogram");
        return;
    }
    const Ntk__RemoteWrite__Histogram *histogram = series->histograms[0];
    int64_t bucket = 0;
    uint64_t sum = histogram->zero_count_int;
    size_t length = 0;
    for (size_t i = 0; i < histogram->n_positive_deltas; i++) {
        bucket += histogram->positive_deltas[i];
        sum += (uint64_t)bucket;
    }
    for (size_t i = 0; i < histogram->n_positive_spans; i++) {
        length += histogram->positive_spans[i]->length;
    }
    assert_true(histogram->count_int > 0);
    assert_int_equal(sum, histogram->count_int);
    assert_int_equal(length, histogram->n_positive_deltas);
    assert_in_range(histogram->schema, 3, NTK_POINTS_SCALE_MAX);
    assert_true(histogram->sum > 0);
    assert_int_equal(histogram->timestamp, TIME_MS);
}

/* Compares bits: a marker changed by arithmetic is not a marker. */
static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void an_ended_series_sends_one_stale_marker(void **state)
{
    struct fixture *f = *state;

    update(f, test_sample_snapshot(1));
    assert_int_equal(encode(f), 0);
    size_t before = series_count(f, false);
    size_t native_before = series_count(f, true);
    ntk_points_page_fini(&f->page);
    memset(&f->page, 0, sizeof f->page);
    update(f, test_idle_snapshot());
    assert_int_equal(encode(f), 0);
    size_t stale = 0;
    size_t native_stale = 0;
    ntk_vec_each(Ntk__RemoteWrite__WriteRequest *, request, &f->requests) {
        for (size_t i = 0; i < (*request)->n_timeseries; i++) {
            const Ntk__RemoteWrite__TimeSeries *series = (*request)->timeseries[i];
            if (series->n_histograms) {
                native_stale += bits_of(series->histograms[0]->sum) == NTK_REMOTE_WRITE_STALE_BITS;
            } else {
                stale += bits_of(series->samples[0]->value) == NTK_REMOTE_WRITE_STALE_BITS;
            }
        }
    }
    assert_int_equal(native_stale, native_before);
    assert_true(native_before > 0 && stale > 0 && stale < before);
    size_t left = series_count(f, false) - stale;
    assert_int_equal(encode(f), 0);
    assert_int_equal(series_count(f, false), left);
    assert_int_equal(series_count(f, true), 0);
}

static void many_series_are_split_into_several_requests(void **state)
{
    enum { RUNTIMES = 60 };
    struct fixture *f = *state;
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_runtime_sample sample = snapshot->runtimes[0];
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, RUNTIMES);
    size_t count = 0;

    for (uint32_t i = 0; i < RUNTIMES; i++) {
        runtimes[i] = sample;
        runtimes[i].pid = 100 + i;
    }
    f->page.has_pid_label = true;
    update(f, snapshot);
    assert_int_equal(encode(f), 0);
    count = series_count(f, false) + series_count(f, true);
    assert_true(count > NTK_REMOTE_WRITE_SAMPLES);
    assert_int_equal(f->requests.count,
                     (count + NTK_REMOTE_WRITE_SAMPLES - 1) / NTK_REMOTE_WRITE_SAMPLES);
    f->code = -EIO;
    assert_int_equal(encode(f), -EIO);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(remote_write_series_match_the_text_format),
        CASE(latencies_are_also_sent_as_native_histograms),
        CASE(an_ended_series_sends_one_stale_marker),
        CASE(many_series_are_split_into_several_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
