/* SPDX-License-Identifier: MIT */
/* Method: pages of generated traces as files; their data is unpacked and read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <zlib.h>

#include "profiler/timeline/timeline_html.h"
#include "shared/base/fs.h"
#include "tests/support/scratch.h"
#include "tests/support/trace_sample.h"
#include "tests/support/unit.h"

#define KIB ((uint64_t)1 << 10)
#define UNPACKED_BYTES_MAX ((size_t)8 << 20)

/* The page of this number of sources of the same trace, as text. */
static char *page_of(size_t source_count, size_t count, uint64_t bytes_max,
                     struct ntk_timeline_html_extent *out_extent)
{
    struct trace_sample *sample = trace_sample_create(count);
    struct ntk_timeline_source source = { .trace = &sample->trace, .name = "one" };
    struct ntk_timeline *timeline = NULL;
    char *path = NULL;
    size_t bytes = 0;
    uint8_t *text = NULL;

    assert_true(asprintf(&path, "%s/page.html", test_scratch_folder) > 0);
    assert_int_equal(
        ntk_timeline_create(
            &(struct ntk_timeline_options){ .sources = &source, .source_count = source_count },
            &timeline, NULL),
        0);
    assert_int_equal(
        ntk_timeline_html_write(timeline,
                                &(struct ntk_timeline_html_options){
                                    .title = "a title", .path = path, .bytes_max = bytes_max },
                                out_extent, NULL),
        0);
    assert_int_equal(ntk_fs_read(path, 64 << 20, &text, &bytes, NULL), 0);
    if (bytes_max) {
        assert_true(bytes <= bytes_max);
    }
    char *page = strndup((const char *)text, bytes);
    assert_non_null(page);
    free(text);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
    unlink(path);
    free(path);
    return page;
}

static unsigned digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, c);

    assert_true(at && c);
    return (unsigned)(at - digits);
}

/* The contents of the script with this id; NULL if there is none. */
static json_t *data_of(const char *page, const char *id)
{
    char head[96];
    (void)snprintf(head, sizeof head, "<script type=\"text/plain\" id=\"%s\">", id);
    const char *text = strstr(page, head);
    if (!text) {
        return NULL;
    }
    text += strlen(head);
    size_t count = strcspn(text, "<=");
    unsigned char *packed = malloc(count + 4);
    unsigned char *bytes = malloc(UNPACKED_BYTES_MAX);
    size_t packed_bytes = 0;
    uLongf bytes_count = UNPACKED_BYTES_MAX;
    unsigned bits = 0;
    unsigned word = 0;
    assert_true(packed && bytes);
    for (size_t i = 0; i < count; i++) {
        word = word << 6 | digit_of(text[i]);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            packed[packed_bytes++] = (unsigned char)(word >> bits);
        }
    }
    assert_int_equal(uncompress(bytes, &bytes_count, packed, packed_bytes), Z_OK);
    json_t *json = json_loadb((const char *)bytes, bytes_count, 0, NULL);
    assert_non_null(json);
    free(packed);
    free(bytes);
    return json;
}

static size_t count_of(const char *page, const char *text)
{
    size_t count = 0;

    for (const char *at = page; (at = strstr(at, text)); at++) {
        count++;
    }
    return count;
}

static void a_page_without_captures_has_analyses(void **state)
{
    struct ntk_timeline_html_extent extent = { 0 };
    char *page = page_of(0, 1, 0, &extent);
    json_t *answers = data_of(page, "data-answers");

    assert_non_null(answers);
    assert_int_equal(json_array_size(json_object_get(answers, "summaries")), 0);
    assert_true(json_is_array(json_object_get(answers, "flames")));
    json_decref(answers);
    free(page);
}

static void the_page_of_a_short_capture_is_complete(void **state)
{
    struct ntk_timeline_html_extent extent = { 0 };
    char *page = page_of(1, 50, 0, &extent);
    json_t *details = data_of(page, "data-details-0-0");
    json_t *reported = data_of(page, "data-extent");

    assert_true(extent.has_slices);
    assert_non_null(strstr(page, "id=\"data-whole\""));
    assert_int_equal(json_array_size(json_object_get(details, "slices")), 50);
    assert_int_equal(json_array_size(json_object_get(details, "flows")), 50);
    assert_true(json_is_true(json_object_get(reported, "has_slices")));
    assert_int_equal(extent.detail_count, extent.slice_count);
    assert_int_equal(count_of(page, "id=\"data-details-"), 6); /* a chunk of each row */
    json_decref(details);
    json_decref(reported);
    free(page);
}

static void detail_levels_are_omitted_beyond_the_size_limit(void **state)
{
    struct ntk_timeline_html_extent extents[3] = { 0 };
    /* 20,000 slices per row: page and answers take about 700 KiB, one tile with all slices a
     * megabyte. */
    char *least = page_of(1, 20000, 850 * KIB, &extents[0]);
    char *more = page_of(1, 20000, 1300 * KIB, &extents[1]);
    char *all = page_of(1, 20000, 3000 * KIB, &extents[2]);

    for (size_t i = 0; i < 2; i++) {
        assert_false(extents[i].has_slices);
    }
    assert_true(extents[1].level < extents[0].level);
    assert_true(count_of(more, "data-tile=") > count_of(least, "data-tile="));
    json_t *reported = data_of(more, "data-extent");
    assert_true(json_is_false(json_object_get(reported, "has_slices")));
    assert_int_equal(json_integer_value(json_object_get(reported, "level")), extents[1].level);
    assert_int_equal(json_integer_value(json_object_get(reported, "bytes_max")), 1300 * KIB);
    json_decref(reported);
    assert_null(strstr(more, "id=\"data-whole\""));
    assert_true(extents[2].has_slices);
    assert_non_null(strstr(all, "id=\"data-whole\""));
    free(least);
    free(more);
    free(all);
}

/* Room for all slices and for the details of some: engines get theirs before queues, and the
 * beginning of every row comes before the rest of any. */
static void details_are_included_up_to_the_size_limit(void **state)
{
    struct ntk_timeline_html_extent extents[2] = { 0 };
    char *some = page_of(1, 12000, 2300 * KIB, &extents[0]);
    char *all = page_of(1, 12000, 16 * 1024 * KIB, &extents[1]);
    json_t *reported = data_of(some, "data-extent");

    assert_true(extents[0].has_slices && extents[1].has_slices);
    assert_int_equal(extents[1].detail_count, extents[1].slice_count);
    assert_true(extents[0].detail_count > 0 && extents[0].detail_count < extents[0].slice_count);
    assert_int_equal(json_integer_value(json_object_get(reported, "details")),
                     extents[0].detail_count);
    assert_int_equal(json_integer_value(json_object_get(reported, "slices")),
                     extents[0].slice_count);
    assert_int_equal(count_of(some, "id=\"data-details-"),
                     (extents[0].detail_count + NTK_TIMELINE_HTML_CHUNK - 1) /
                         NTK_TIMELINE_HTML_CHUNK);
    assert_non_null(strstr(some, "id=\"data-details-0-0\""));
    assert_non_null(strstr(some, "id=\"data-details-1-0\""));
    assert_null(strstr(some, "id=\"data-details-3-0\"")); /* the row of the semaphore */
    json_decref(reported);
    free(some);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_without_captures_has_analyses),
        cmocka_unit_test(the_page_of_a_short_capture_is_complete),
        cmocka_unit_test(details_are_included_up_to_the_size_limit),
        cmocka_unit_test(detail_levels_are_omitted_beyond_the_size_limit),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
