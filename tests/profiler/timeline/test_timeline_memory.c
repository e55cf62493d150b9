/* SPDX-License-Identifier: MIT */
/*
 * Method: captures of known content (support/ntff_big.h) as timelines in a file, compared with
 * timelines on the heap. Also the high-water mark of a process that makes one and queries all of
 * its time, opens every tab of the page, selects slices, or writes the page as a file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/output/answers/analyses.h"
#include "profiler/timeline/timeline.h"
#include "profiler/timeline/timeline_answer.h"
#include "profiler/timeline/timeline_ask.h"
#include "profiler/timeline/timeline_html.h"
#include "profiler/timeline/timeline_pyramid.h"
#include "profiler/timeline/timeline_tile.h"
#include "shared/formats/ntff/ntff_read_private.h"
#include "tests/support/big_trace.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define WHATS_MAX 64
#define TRACKS_MAX 64
#define LEVELS 14 /* below the top: single slices */

struct opened {
    struct big_trace big;
    struct ntk_timeline *timeline;
};

static void open_timeline(const char *path, size_t list_bytes, size_t heap_bytes,
                          struct opened *out)
{
    struct ntk_timeline_source source = { .name = "one" };

    big_trace_open(path, list_bytes, &out->big);
    source.trace = out->big.trace;
    assert_int_equal(
        ntk_timeline_create(&(struct ntk_timeline_options){ .sources = &source,
                                                            .source_count = 1,
                                                            .heap_bytes = heap_bytes,
                                                            .folder = test_scratch_folder },
                            &out->timeline, NULL),
        0);
}

static void close_timeline(struct opened *opened)
{
    ntk_timeline_destroy(opened->timeline);
    big_trace_close(&opened->big);
}

/* Tiles from the top down in the middle, the statistics of the whole, and search results from the
 * middle in both directions. */
static void ask(const struct ntk_timeline *timeline, struct ntk_buf *out)
{
    int64_t span_ps = timeline->end_ps - timeline->begin_ps;
    unsigned top = ntk_timeline_level_top(span_ps);
    bool is_wanted[WHATS_MAX];
    uint32_t tracks[TRACKS_MAX];
    struct ntk_err err = { 0 };

    assert_true(timeline->whats.count <= WHATS_MAX && timeline->tracks.count <= TRACKS_MAX);
    for (uint32_t t = 0; t < timeline->tracks.count; t++) {
        tracks[t] = t;
    }
    memset(is_wanted, true, sizeof is_wanted);
    for (unsigned n = 0; n <= LEVELS; n++) {
        uint64_t tile = (uint64_t)(span_ps / 2) >> (top - n + NTK_TIMELINE_TILE_SHIFT);
        assert_int_equal(ntk_timeline_tile_put(timeline, top - n, tile, tracks,
                                               timeline->tracks.count, out, &err),
                         0);
        ntk_timeline_give_back_all(timeline);
    }
    assert_int_equal(ntk_timeline_put_stats(timeline, 0, span_ps, out), 0);
    assert_int_equal(ntk_timeline_put_hits(timeline,
                                           &(struct ntk_timeline_wanted){ .whats = is_wanted },
                                           span_ps / 2, false, out),
                     0);
    assert_int_equal(ntk_timeline_put_hits(timeline,
                                           &(struct ntk_timeline_wanted){ .whats = is_wanted },
                                           span_ps / 2, true, out),
                     0);
    assert_true(ntk_buf_ok(out));
}

static void a_timeline_stored_in_a_file_equals_one_on_the_heap(void **state)
{
    struct ntff_big big = { .steps = 20000, .cores = 2 };
    char *path = ntff_big_write_in(test_scratch_folder, &big);
    struct ntk_buf answers[2] = { 0 };

    for (size_t i = 0; i < 2; i++) {
        struct opened opened = { 0 };
        open_timeline(path, i ? 1 : 0, i ? 1 : 0, &opened);
        assert_int_equal(opened.timeline->spill.fd >= 0, i);
        assert_int_equal(opened.timeline->slice_count - opened.timeline->derived_slice_count,
                         big.instruction_count + big.packet_count + big.event_count);
        ask(opened.timeline, &answers[i]);
        close_timeline(&opened);
    }
    assert_int_equal(answers[0].bytes_count, answers[1].bytes_count);
    assert_memory_equal(answers[0].bytes, answers[1].bytes, answers[0].bytes_count);
    ntk_buf_fini(&answers[0]);
    ntk_buf_fini(&answers[1]);
    unlink(path);
    free(path);
}

/* Operations on a timeline. */
typedef void work(const struct ntk_timeline *timeline);

static void ask_of_everything(const struct ntk_timeline *timeline)
{
    struct ntk_buf answers = { 0 };

    ask(timeline, &answers);
    ntk_buf_fini(&answers);
}

/* "name=value&..." */
static const char *parameter_of(const char *name, void *ctx)
{
    static char value[32];
    size_t length = strlen(name);

    for (const char *at = ctx; at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL) {
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(at + length + 1, "&"),
                           at + length + 1);
            return value;
        }
    }
    return NULL;
}

/* The size of the answer in bytes. */
static size_t ask_by_name(const struct ntk_timeline_ask *page, const char *name, char *parameters)
{
    struct ntk_timeline_query query = { parameter_of, parameters };
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    size_t index = 0;

    while (strcmp(ntk_timeline_question_get(index)->name, name) != 0) {
        index++;
    }
    if (ntk_timeline_ask(page, index, &query, &out, &err) < 0) {
        fail_msg("%s?%s: %s", name, parameters, err.text);
    }
    size_t bytes = out.bytes_count;
    ntk_buf_fini(&out);
    return bytes;
}

static struct ntk_timeline_ask *page_of(const struct ntk_timeline *timeline)
{
    struct ntk_timeline_ask *page = NULL;

    assert_int_equal(ntk_timeline_ask_create(
                         &(struct ntk_timeline_ask_options){ .timeline = timeline, .title = "one" },
                         &page, NULL),
                     0);
    return page;
}

/* The request that page/source.js sends. */
static void open_all_tabs(const struct ntk_timeline *timeline, const struct ntk_timeline_ask *page)
{
    char parameters[128];

    for (size_t i = 0; i < ntk_analyses_count(); i++) {
        (void)snprintf(parameters, sizeof parameters, "source=0&name=%s&brief=1",
                       ntk_analyses_info(i)->name);
        assert_true(ask_by_name(page, "analysis", parameters) > 0);
    }
    (void)snprintf(parameters, sizeof parameters, "source=0&from=0&to=%llu",
                   (unsigned long long)(timeline->end_ps - timeline->begin_ps));
    assert_true(ask_by_name(page, "path", parameters) > 0);
    assert_true(ask_by_name(page, "flame", parameters) > 0);
    assert_true(ask_by_name(page, "summary", parameters) > 0);
    assert_true(ask_by_name(page, "lines", parameters) > 0);
}

/* The slice in the middle of each row, with the cause of its wait and the instructions that it
 * released. */
static void select_slices(const struct ntk_timeline *timeline, const struct ntk_timeline_ask *page)
{
    char parameters[128];

    for (size_t t = 0; t < timeline->tracks.count; t++) {
        size_t count = ntk_timeline_track_get(timeline, t)->slice_count;
        (void)snprintf(parameters, sizeof parameters, "track=%zu&slice=%zu", t, count / 2);
        if (count > 0) {
            assert_true(ask_by_name(page, "slice", parameters) > 0);
            assert_true(ask_by_name(page, "flows", parameters) > 0);
            assert_true(ask_by_name(page, "position", parameters) > 0);
        }
    }
}

static void write_page(const struct ntk_timeline *timeline)
{
    struct ntk_timeline_html_extent extent = { 0 };
    char *path = NULL;

    assert_true(asprintf(&path, "%s/page.html", test_scratch_folder) > 0);
    const struct ntk_timeline_html_options options = { .title = "one",
                                                       .path = path,
                                                       .bytes_max = 2 * MIB };
    assert_int_equal(ntk_timeline_html_write(timeline, &options, &extent, NULL), 0);
    assert_int_equal(unlink(path), 0);
    free(path);
}

static void use_page(const struct ntk_timeline *timeline)
{
    struct ntk_timeline_ask *page = page_of(timeline);

    open_all_tabs(timeline, page);
    select_slices(timeline, page);
    ntk_timeline_ask_destroy(page);
    write_page(timeline);
}

struct working {
    const char *path;
    work *with;
};

/* Makes the timeline and works with it. */
static void make_and_work(void *ctx)
{
    const struct working *working = ctx;
    struct opened opened = { 0 };

    open_timeline(working->path, MIB, MIB, &opened);
    working->with(opened.timeline);
    close_timeline(&opened);
}

static void timeline_memory_does_not_grow_with_the_capture(void **state)
{
    static const struct {
        const char *name;
        work *with;
    } works[] = {
        { "rows", ask_of_everything },
        { "tabs, slices and a file", use_page },
    };
    enum { WORKS = sizeof works / sizeof *works };
    uint64_t used[2][WORKS] = { 0 };
    uint64_t sizes[2] = { NTFF_BIG_HAS_SHADOWS ? 2 * MIB : 24 * MIB,
                          NTFF_BIG_HAS_SHADOWS ? 4 * MIB : 48 * MIB };

    ntk_ntff_map_from_bytes = MIB; /* a copy of the file would count as memory */
    for (size_t i = 0; i < 2; i++) {
        struct ntff_big big = { .bytes_count = sizes[i], .cores = 1, .has_waits = true };
        char *path = ntff_big_write_in(test_scratch_folder, &big);
        for (size_t w = 0; w < WORKS; w++) {
            used[i][w] = big_trace_memory(make_and_work, &(struct working){ path, works[w].with });
            print_message(
                "%llu thousand slices, %s: %llu MiB of memory\n",
                (unsigned long long)(big.instruction_count + big.packet_count + big.event_count) /
                    1000,
                works[w].name, (unsigned long long)(used[i][w] / MIB));
        }
        unlink(path);
        free(path);
    }
    for (size_t w = 0; w < WORKS && !NTFF_BIG_HAS_SHADOWS; w++) {
        /* The levels of one row are in memory while they are made: a few bytes per slice. */
        assert_true(used[1][w] <= used[0][w] + 6 * MIB);
        assert_true(used[1][w] <= 42 * MIB);
    }
}

static void a_missing_temporary_folder_is_an_error(void **state)
{
    struct ntff_big big = { .steps = 3000, .cores = 1 };
    struct ntk_timeline_source source = { .name = "one" };
    struct ntk_timeline *timeline = NULL;
    struct opened opened = { 0 };
    struct ntk_err err = { 0 };
    char *path = ntff_big_write_in(test_scratch_folder, &big);

    open_timeline(path, 0, 0, &opened);
    source.trace = opened.big.trace;
    assert_int_equal(ntk_timeline_create(&(struct ntk_timeline_options){ .sources = &source,
                                                                         .source_count = 1,
                                                                         .heap_bytes = 1,
                                                                         .folder = "/nonexistent" },
                                         &timeline, &err),
                     -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent"));
    assert_null(timeline);
    close_timeline(&opened);
    unlink(path);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timeline_stored_in_a_file_equals_one_on_the_heap),
        cmocka_unit_test(timeline_memory_does_not_grow_with_the_capture),
        cmocka_unit_test(a_missing_temporary_folder_is_an_error),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
