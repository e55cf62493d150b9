/* SPDX-License-Identifier: MIT */
/* Method: pages to requests, read back by a decoder of the wire format that is written here. */
#include "exporters/remote_write/remote_write_encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES (1024 * 1024)

/* What the requests of a page say: lines of "name=value ... : value @ time". */
struct decoded {
    char *text;
    size_t text_bytes;
    size_t request_count;
    uint64_t sample_count;
    int code;         /* what emit returns */
    bool counts_only; /* series are not decoded */
};

static uint64_t varint(const uint8_t **at, const uint8_t *end)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 64; shift += 7) {
        assert_true(*at < end);
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            return value;
        }
    }
    fail_msg("a varint does not end");
    return 0;
}

/* The content of a length-delimited field with the number. */
static const uint8_t *field(const uint8_t **at, const uint8_t *end, unsigned number, size_t *bytes)
{
    assert_int_equal(varint(at, end), number << 3 | 2);
    *bytes = varint(at, end);
    assert_true(*bytes <= (size_t)(end - *at));
    const uint8_t *content = *at;
    *at += *bytes;
    return content;
}

static void say(struct decoded *decoded, const char *text, size_t bytes)
{
    assert_true(decoded->text_bytes + bytes < TEXT_BYTES);
    memcpy(decoded->text + decoded->text_bytes, text, bytes);
    decoded->text_bytes += bytes;
    decoded->text[decoded->text_bytes] = '\0';
}

static void decode_series(struct decoded *decoded, const uint8_t *at, const uint8_t *end)
{
    char line[64];
    size_t bytes;

    while (at < end && *at == (1 << 3 | 2)) {
        const uint8_t *label = field(&at, end, 1, &bytes);
        const uint8_t *label_end = label + bytes;
        const uint8_t *name = field(&label, label_end, 1, &bytes);
        say(decoded, (const char *)name, bytes);
        say(decoded, "=", 1);
        const uint8_t *value = field(&label, label_end, 2, &bytes);
        say(decoded, (const char *)value, bytes);
        say(decoded, " ", 1);
        assert_ptr_equal(label, label_end);
    }
    const uint8_t *sample = field(&at, end, 2, &bytes);
    const uint8_t *sample_end = sample + bytes;
    assert_ptr_equal(at, end);
    uint64_t bits = 0;
    double value;
    if (sample < sample_end && *sample == (1 << 3 | 1)) {
        memcpy(&bits, sample + 1, sizeof bits);
        sample += 9;
    }
    memcpy(&value, &bits, sizeof value);
    assert_int_equal(varint(&sample, sample_end), 2 << 3);
    unsigned long long time_ms = varint(&sample, sample_end);
    assert_ptr_equal(sample, sample_end);
    if (bits == NTK_REMOTE_WRITE_STALE_BITS) {
        snprintf(line, sizeof line, ": stale @ %llu\n", time_ms);
    } else {
        snprintf(line, sizeof line, ": %.17g @ %llu\n", value, time_ms);
    }
    say(decoded, line, strlen(line));
}

static int decode(struct ntk_buf *request, uint64_t sample_count, void *ctx, struct ntk_err *err)
{
    struct decoded *decoded = ctx;
    size_t bytes;

    (void)err;
    assert_int_equal(snappy_uncompressed_length(request->bytes, request->bytes_count, &bytes),
                     SNAPPY_OK);
    char *proto = malloc(bytes + 1);
    assert_int_equal(snappy_uncompress(request->bytes, request->bytes_count, proto, &bytes),
                     SNAPPY_OK);
    const uint8_t *at = (const uint8_t *)proto;
    const uint8_t *end = at + bytes;
    uint64_t count = 0;
    while (at < end) {
        const uint8_t *series = field(&at, end, 1, &bytes);
        if (!decoded->counts_only) {
            decode_series(decoded, series, series + bytes);
        }
        count++;
    }
    assert_int_equal(count, sample_count);
    assert_true(count <= NTK_REMOTE_WRITE_SAMPLES);
    decoded->sample_count += count;
    decoded->request_count++;
    free(proto);
    return decoded->code;
}

static int set_up(void **state)
{
    struct decoded *decoded = calloc(1, sizeof *decoded);

    decoded->text = calloc(1, TEXT_BYTES);
    *state = decoded;
    return 0;
}

static int tear_down(void **state)
{
    struct decoded *decoded = *state;

    free(decoded->text);
    free(decoded);
    return 0;
}

static int encode(struct ntk_remote_write *encoder, const char *page, int64_t time_ms,
                  struct decoded *decoded, struct ntk_err *err)
{
    decoded->text_bytes = 0;
    decoded->text[0] = '\0';
    return ntk_remote_write_encode(encoder, page, strlen(page), time_ms, decode, decoded, err);
}

static void test_series(void **state)
{
    struct decoded *decoded = *state;
    struct ntk_remote_write *encoder = ntk_remote_write_create("j", "host");
    struct ntk_err err = { 0 };

    assert_int_equal(encode(encoder,
                            "# HELP a b\n# TYPE a gauge\n"
                            "a{z=\"1\",empty=\"\",b=\"q\\\"\\\\\\n},=\"} 0.5\n"
                            "\n"
                            "plain 1e+300\n"
                            "none{} 0\n"
                            "inf{x=\"y\"} +Inf",
                            1700000000123, decoded, &err),
                     0);
    assert_string_equal(decoded->text,
                        "__name__=a b=q\"\\\n},= instance=host job=j z=1 : 0.5 @ 1700000000123\n"
                        "__name__=plain instance=host job=j : 1.0000000000000001e+300 @ "
                        "1700000000123\n"
                        "__name__=none instance=host job=j : 0 @ 1700000000123\n"
                        "__name__=inf instance=host job=j x=y : inf @ 1700000000123\n");
    ntk_remote_write_destroy(encoder);
}

static void test_series_that_end(void **state)
{
    struct decoded *decoded = *state;
    struct ntk_remote_write *encoder = ntk_remote_write_create("j", "h");
    struct ntk_err err = { 0 };

    assert_int_equal(encode(encoder, "a 1\nb{x=\"y\"} 2\n", 1, decoded, &err), 0);
    assert_int_equal(encode(encoder, "a 3\n", 2, decoded, &err), 0);
    assert_string_equal(decoded->text, "__name__=a instance=h job=j : 3 @ 2\n"
                                       "__name__=b instance=h job=j x=y : stale @ 2\n");
    assert_int_equal(encode(encoder, "a 4\n", 3, decoded, &err), 0);
    assert_string_equal(decoded->text, "__name__=a instance=h job=j : 4 @ 3\n");
    assert_int_equal(encode(encoder, "b{x=\"y\"} 5\n", 4, decoded, &err), 0);
    assert_string_equal(decoded->text, "__name__=b instance=h job=j x=y : 5 @ 4\n"
                                       "__name__=a instance=h job=j : stale @ 4\n");
    assert_int_equal(encode(encoder, "", 5, decoded, &err), 0);
    assert_string_equal(decoded->text, "__name__=b instance=h job=j x=y : stale @ 5\n");
    decoded->request_count = 0;
    assert_int_equal(encode(encoder, "", 6, decoded, &err), 0);
    assert_int_equal(decoded->request_count, 0); /* nothing to say */
    ntk_remote_write_destroy(encoder);
}

static void test_many(void **state)
{
    struct decoded *decoded = *state;
    struct ntk_remote_write *encoder = ntk_remote_write_create("j", "h");
    struct ntk_buf page = { 0 };
    struct ntk_err err = { 0 };

    for (int i = 0; i < 5000; i++) {
        ntk_buf_add_format(&page, "metric_%d{core=\"%d\"} %d\n", i, i, i);
    }
    assert_int_equal(encode(encoder, ntk_buf_text_get(&page), 1, decoded, &err), 0);
    assert_int_equal(decoded->request_count, 3);
    assert_int_equal(decoded->sample_count, 5000);
    assert_non_null(strstr(decoded->text, "__name__=metric_4999 core=4999 "));
    decoded->code = -EIO;
    assert_int_equal(encode(encoder, ntk_buf_text_get(&page), 2, decoded, &err), -EIO);
    ntk_buf_fini(&page);
    ntk_remote_write_destroy(encoder);
}

/* Requests are bounded by their text, too: no series is lost to its neighbours' length. */
static void test_long_values(void **state)
{
    enum { LONG_BYTES = 1024 * 1024, LONG_COUNT = 9 };
    struct decoded *decoded = *state;
    struct ntk_remote_write *encoder = ntk_remote_write_create("j", "h");
    struct ntk_buf page = { 0 };
    struct ntk_err err = { 0 };

    decoded->counts_only = true;
    for (int i = 0; i < LONG_COUNT; i++) {
        ntk_buf_add_format(&page, "m_%d{v=\"", i);
        memset(ntk_buf_extend(&page, LONG_BYTES), 'x', LONG_BYTES);
        ntk_buf_add_text(&page, "\"} 1\n");
    }
    assert_int_equal(encode(encoder, ntk_buf_text_get(&page), 1, decoded, &err), 0);
    assert_int_equal(decoded->sample_count, LONG_COUNT);
    assert_true(decoded->request_count >= 3 && decoded->request_count <= 5);
    ntk_buf_reset(&page); /* and one that has no room at all is said so */
    ntk_buf_add_text(&page, "good 1\nm{v=\"");
    memset(ntk_buf_extend(&page, 5 * LONG_BYTES), 'x', 5 * LONG_BYTES);
    ntk_buf_add_text(&page, "\"} 1\n");
    assert_int_equal(encode(encoder, ntk_buf_text_get(&page), 2, decoded, &err), -EBADMSG);
    assert_int_equal(err.offset, 7);
    ntk_buf_fini(&page);
    ntk_remote_write_destroy(encoder);
}

/* As many labels as there is room for, with the name, the job and the instance; then one more. */
static void test_many_labels(void **state)
{
    struct decoded *decoded = *state;

    for (int extra = 0; extra < 2; extra++) {
        struct ntk_remote_write *encoder = ntk_remote_write_create("j", "h");
        struct ntk_buf page = { 0 };
        struct ntk_err err = { 0 };

        ntk_buf_add_text(&page, "m{");
        for (int i = 0; i < NTK_REMOTE_WRITE_LABELS_MAX - 3 + extra; i++) {
            ntk_buf_add_format(&page, "%sl%d=\"x\"", i ? "," : "", i);
        }
        ntk_buf_add_text(&page, "} 1\n");
        assert_int_equal(encode(encoder, ntk_buf_text_get(&page), 1, decoded, &err),
                         extra ? -EBADMSG : 0);
        ntk_buf_fini(&page);
        ntk_remote_write_destroy(encoder);
    }
}

static void test_bad_lines(void **state)
{
    static const char *const pages[] = { "a",           "a ",       "a x",        "a{ 1",
                                         "a{b} 1",      "a{b=c} 1", "a{b=\"c} 1", "a{b=\"c\"}x 1",
                                         "{b=\"c\"} 1", "a 1 2x",   "a{b=\"c\\ 1" };
    struct decoded *decoded = *state;

    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        struct ntk_remote_write *encoder = ntk_remote_write_create("j", "h");
        struct ntk_buf page = { 0 };
        struct ntk_err err = { 0 };

        ntk_buf_add_format(&page, "good 1\n%s\n", pages[i]);
        int ret = encode(encoder, ntk_buf_text_get(&page), 1, decoded, &err);
        if (ret != -EBADMSG || err.offset != 7) {
            fail_msg("'%s' gives %d at %llu", pages[i], ret, (unsigned long long)err.offset);
        }
        ntk_buf_fini(&page);
        ntk_remote_write_destroy(encoder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_series, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_series_that_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_labels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_lines, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
