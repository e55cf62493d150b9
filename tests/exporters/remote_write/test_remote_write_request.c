/* SPDX-License-Identifier: MIT */
/* Method: a hand-made snapshot to requests of 2.0, decoded with the published message
 * (write_v2.proto) and compared with the requests of 1.0 of the same page. */
#include "exporters/remote_write/remote_write_request.h"

#include <errno.h>
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/points/points_page.h"
#include "exporters/remote_write/remote_write_encode.h"
#include "shared/base/clock.h"
#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"
#include "tests/exporters/remote_write/write_v2.pb-c.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

#define TIME_MS 1700000000123
#define SLOWEST_NS UINT64_C(3000000)

typedef Io__Prometheus__Write__V2__Request request_v2;
typedef Io__Prometheus__Write__V2__TimeSeries series_v2;

struct fixture {
    struct ntk_points_page page;
    struct ntk_remote_write *encoder;
    struct ntk_vec messages; /* struct ntk_buf, compressed */
};

static int set_up(void **state)
{
    const struct ntk_remote_write_options options = { .job = "j",
                                                      .instance = "host",
                                                      .has_native = true };
    struct fixture *f = calloc(1, sizeof *f);

    ntk_vec_init(&f->messages, sizeof(struct ntk_buf));
    f->page.keeps_fine_latencies = true;
    f->encoder = ntk_remote_write_create(&options);
    *state = f;
    return 0;
}

static void forget(struct fixture *f)
{
    ntk_vec_each(struct ntk_buf, message, &f->messages) {
        ntk_buf_fini(message);
    }
    ntk_vec_clear(&f->messages);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    forget(f);
    ntk_vec_fini(&f->messages);
    ntk_remote_write_destroy(f->encoder);
    ntk_points_page_fini(&f->page);
    free(f);
    return 0;
}

static int take(struct ntk_buf *request, uint64_t sample_count, void *ctx, struct ntk_err *err)
{
    struct fixture *f = ctx;

    (void)err;
    assert_true(sample_count > 0);
    assert_int_equal(ntk_vec_push(&f->messages, request), 0);
    *request = (struct ntk_buf){ 0 };
    return 0;
}

/* Every model took slowest_ns once; 0: its executions are unknown. */
static void encode_period(struct fixture *f, bool is_v2, uint64_t slowest_ns)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_err err = { 0 };

    for (size_t i = 0; slowest_ns > 0 && i < snapshot->runtime_count; i++) {
        for (size_t k = 0; k < snapshot->runtimes[i].model_count; k++) {
            snapshot->runtimes[i].models[k].slowest =
                (struct ntk_slow_execution){ .end_ns = TIME_MS * NTK_NS_PER_MS - NTK_NS_PER_SECOND,
                                             .duration_ns = slowest_ns,
                                             .id = 4711,
                                             .pid = 42 };
        }
    }
    forget(f);
    assert_int_equal(ntk_points_page_update(&f->page, snapshot), 0);
    ntk_snapshot_destroy(snapshot);
    assert_int_equal(ntk_remote_write_encode(f->encoder, &f->page, TIME_MS, is_v2, take, f, &err),
                     0);
}

static void encode(struct fixture *f, bool is_v2)
{
    encode_period(f, is_v2, SLOWEST_NS);
}

/* The message; the caller frees it. */
static uint8_t *plain(const struct ntk_buf *message, size_t *out_bytes)
{
    assert_int_equal(snappy_uncompressed_length(message->bytes, message->bytes_count, out_bytes),
                     SNAPPY_OK);
    char *bytes = malloc(*out_bytes + 1);
    assert_int_equal(snappy_uncompress(message->bytes, message->bytes_count, bytes, out_bytes),
                     SNAPPY_OK);
    return (uint8_t *)bytes;
}

static request_v2 *read_v2(const struct ntk_buf *message)
{
    size_t bytes_count;
    uint8_t *bytes = plain(message, &bytes_count);
    request_v2 *request = io__prometheus__write__v2__request__unpack(NULL, bytes_count, bytes);

    assert_non_null(request);
    assert_int_equal(request->base.n_unknown_fields, 0);
    free(bytes);
    return request;
}

static const char *text(const request_v2 *request, uint32_t reference)
{
    assert_true(reference < request->n_symbols);
    return request->symbols[reference];
}

/* name, value; name, value ... */
static void write_labels(const request_v2 *request, const uint32_t *references, size_t count,
                         struct ntk_buf *out)
{
    ntk_buf_reset(out);
    assert_int_equal(count % 2, 0);
    for (size_t i = 0; i < count; i += 2) {
        assert_true(i == 0 ||
                    strcmp(text(request, references[i - 2]), text(request, references[i])) < 0);
        assert_true(text(request, references[i + 1])[0] != '\0');
        ntk_buf_add_format(out, "%s,%s;", text(request, references[i]),
                           text(request, references[i + 1]));
    }
}

static void a_version_2_message_matches_the_published_schema(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf labels = { 0 };
    size_t counters = 0, started = 0, histograms = 0, seconds = 0;

    encode(f, true);
    ntk_vec_each(struct ntk_buf, message, &f->messages) {
        assert_true(remote_write_is_v2(message->bytes, message->bytes_count));
        request_v2 *request = read_v2(message);
        assert_string_equal(request->symbols[0], "");
        for (size_t i = 0; i < request->n_symbols; i++) {
            for (size_t k = i + 1; k < request->n_symbols; k++) {
                assert_string_not_equal(request->symbols[i], request->symbols[k]);
            }
        }
        for (size_t i = 0; i < request->n_timeseries; i++) {
            const series_v2 *series = request->timeseries[i];
            assert_int_equal(series->base.n_unknown_fields, 0);
            write_labels(request, series->labels_refs, series->n_labels_refs, &labels);
            assert_memory_equal(ntk_buf_text_get(&labels), "__name__,", 9);
            assert_int_equal(series->n_samples + series->n_histograms, 1);
            assert_true(series->metadata->type != 0);
            assert_true(text(request, series->metadata->help_ref)[0] != '\0');
            seconds += !strcmp(text(request, series->metadata->unit_ref), "seconds");
            if (series->n_histograms) {
                const Io__Prometheus__Write__V2__Histogram *histogram = series->histograms[0];
                assert_int_equal(histogram->base.n_unknown_fields, 0);
                assert_true(histogram->count_int > 0 && histogram->start_timestamp > 0);
                assert_int_equal(histogram->timestamp, TIME_MS);
                histograms++;
                continue;
            }
            const Io__Prometheus__Write__V2__Sample *sample = series->samples[0];
            assert_int_equal(sample->timestamp, TIME_MS);
            if (series->metadata->type ==
                IO__PROMETHEUS__WRITE__V2__METADATA__METRIC_TYPE__METRIC_TYPE_COUNTER) {
                counters++;
                started += sample->start_timestamp > 0;
                assert_true(strstr(ntk_buf_text_get(&labels), "_total,") ||
                            strstr(ntk_buf_text_get(&labels), "_total;"));
            }
        }
        io__prometheus__write__v2__request__free_unpacked(request, NULL);
    }
    assert_true(histograms > 0 && seconds > histograms);
    assert_true(counters > 10 && started == counters);
    ntk_buf_fini(&labels);
}

/* Only the bucket that counts the execution and the native histogram have the exemplar. */
static void has_exemplar(struct fixture *f, uint64_t slowest_ns, const char *edge)
{
    struct ntk_buf labels = { 0 };
    size_t classic = 0, native = 0;

    encode_period(f, true, slowest_ns);
    ntk_vec_each(struct ntk_buf, message, &f->messages) {
        request_v2 *request = read_v2(message);
        for (size_t i = 0; i < request->n_timeseries; i++) {
            const series_v2 *series = request->timeseries[i];
            if (!series->n_exemplars) {
                continue;
            }
            const Io__Prometheus__Write__V2__Exemplar *exemplar = series->exemplars[0];
            write_labels(request, exemplar->labels_refs, exemplar->n_labels_refs, &labels);
            assert_string_equal(ntk_buf_text_get(&labels), "execution_id,4711;pid,42;");
            assert_true(exemplar->value == (double)slowest_ns / 1e9);
            assert_int_equal(exemplar->timestamp, TIME_MS - 1000);
            write_labels(request, series->labels_refs, series->n_labels_refs, &labels);
            assert_non_null(strstr(ntk_buf_text_get(&labels), "latency_type,total;"));
            native += series->n_histograms == 1;
            if (series->n_samples) {
                assert_non_null(strstr(ntk_buf_text_get(&labels), edge));
                classic++;
            }
        }
        io__prometheus__write__v2__request__free_unpacked(request, NULL);
    }
    assert_true(classic > 0 && native == classic);
    ntk_buf_fini(&labels);
}

static void the_slowest_execution_is_sent_as_an_exemplar(void **state)
{
    struct fixture *f = *state;

    has_exemplar(f, SLOWEST_NS, "le,0.004194304;");
    /* On a boundary: a bucket counts values below its boundary. */
    has_exemplar(f, (UINT64_C(1) << 22) - 1, "le,0.004194304;");
    has_exemplar(f, UINT64_C(1) << 22, "le,0.008388608;");
    has_exemplar(f, UINT64_C(1) << 40, "le,+Inf;");

    /* An exemplar belongs to its period only. */
    encode_period(f, true, 0);
    ntk_vec_each(struct ntk_buf, message, &f->messages) {
        request_v2 *request = read_v2(message);
        for (size_t i = 0; i < request->n_timeseries; i++) {
            assert_int_equal(request->timeseries[i]->n_exemplars, 0);
        }
        io__prometheus__write__v2__request__free_unpacked(request, NULL);
    }
}

/* The series of a message of 1.0 as lines. */
static void write_v1(const struct ntk_buf *message, struct ntk_buf *out)
{
    size_t bytes_count;
    uint8_t *bytes = plain(message, &bytes_count);
    Ntk__RemoteWrite__WriteRequest *request =
        ntk__remote_write__write_request__unpack(NULL, bytes_count, bytes);

    assert_non_null(request);
    assert_int_equal(request->base.n_unknown_fields, 0);
    for (size_t i = 0; i < request->n_timeseries; i++) {
        Ntk__RemoteWrite__TimeSeries *series = request->timeseries[i];
        size_t packed = ntk__remote_write__time_series__get_packed_size(series);
        uint8_t *to = ntk_buf_extend(out, packed);
        ntk__remote_write__time_series__pack(series, to);
        ntk_buf_add_char(out, '\n');
    }
    ntk__remote_write__write_request__free_unpacked(request, NULL);
    free(bytes);
}

static void a_version_2_message_converts_to_an_equal_version_1_message(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf converted = { 0 };
    struct ntk_buf direct = { 0 };
    struct ntk_err err = { 0 };

    encode(f, true);
    ntk_vec_each(struct ntk_buf, message, &f->messages) {
        struct ntk_buf made = { 0 };
        assert_int_equal(remote_write_to_v1(message->bytes, message->bytes_count, &made, &err), 0);
        assert_false(remote_write_is_v2(made.bytes, made.bytes_count));
        write_v1(&made, &converted);
        ntk_buf_fini(&made);
    }
    /* The same page again: it was not updated. */
    forget(f);
    assert_int_equal(ntk_remote_write_encode(f->encoder, &f->page, TIME_MS, false, take, f, &err),
                     0);
    ntk_vec_each(struct ntk_buf, message, &f->messages) {
        write_v1(message, &direct);
    }
    assert_int_equal(converted.bytes_count, direct.bytes_count);
    assert_memory_equal(converted.bytes, direct.bytes, direct.bytes_count);
    ntk_buf_fini(&converted);
    ntk_buf_fini(&direct);
}

static void a_damaged_message_is_rejected(void **state)
{
    static const struct {
        size_t bytes_count;
        uint8_t bytes[8];
    } rows[] = {
        { 7, { 5, 4 << 2, 0x2a, 3, 0x0a, 1, 7 } },       /* half a pair */
        { 8, { 6, 5 << 2, 0x2a, 4, 0x0a, 2, 0, 1 } },    /* a reference without a symbol */
        { 6, { 4, 3 << 2, 0x2a, 9, 1, 1 } },             /* truncated */
        { 6, { 0xff, 0xff, 0xff, 0xff, 0x0f, 0 } },      /* too long */
        { 8, { 6, 5 << 2, 0x22, 0, 0x2a, 2, 0x0a, 0 } }, /* a series without a sample */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_buf out = { 0 };
        struct ntk_err err = { 0 };
        assert_int_equal(remote_write_to_v1(rows[i].bytes, rows[i].bytes_count, &out, &err),
                         -EBADMSG);
        assert_string_equal(err.text, "invalid remote write 2.0 message");
        assert_int_equal(out.bytes_count, 0);
        ntk_buf_fini(&out);
    }
    assert_false(remote_write_is_v2("", 0));
    assert_false(remote_write_is_v2("\xff\xff", 2));
    assert_false(remote_write_is_v2("\x05", 1));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_version_2_message_matches_the_published_schema),
        CASE(the_slowest_execution_is_sent_as_an_exemplar),
        CASE(a_version_2_message_converts_to_an_equal_version_1_message),
        cmocka_unit_test(a_damaged_message_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
