/* SPDX-License-Identifier: MIT */
/* Method: the server over a generated trace, asked byte by byte. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/timeline/page/page_files.h"
#include "profiler/timeline/timeline_serve.h"
#include "tests/support/http_ask.h"
#include "tests/support/trace_sample.h"
#include "tests/support/unit.h"

struct fixture {
    struct trace_sample *sample;
    struct ntk_timeline *timeline;
    struct ntk_timeline_serve *serve;
    uint16_t port;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->sample = trace_sample_create(100);
    struct ntk_timeline_source source = { .trace = &f->sample->trace, .name = "sample.ntff" };
    assert_int_equal(
        ntk_timeline_create(&(struct ntk_timeline_options){ .sources = &source, .source_count = 1 },
                            &f->timeline, NULL),
        0);
    assert_int_equal(ntk_timeline_serve_create(
                         &(struct ntk_timeline_serve_options){
                             .ask = { .timeline = f->timeline, .title = "sample.ntff" } },
                         &f->serve, NULL),
                     0);
    f->port = ntk_timeline_serve_port_get(f->serve);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_timeline_serve_destroy(f->serve);
    ntk_timeline_destroy(f->timeline);
    trace_sample_destroy(f->sample);
    free(f);
    return 0;
}

static void expect(const struct fixture *f, const char *path, const char *status, const char *text)
{
    char *answer = test_http_get(f->port, path, "");

    if (!strstr(answer, status) || !strstr(answer, text)) {
        fail_msg("%s: %.400s", path, answer);
    }
    free(answer);
}

static void every_file_of_the_page_is_served_under_its_policy(void **state)
{
    const struct fixture *f = *state;

    expect(f, "/", "200 OK", "<!doctype html>");
    for (const struct ntk_http_file *file = ntk_timeline_page_files; file->name; file++) {
        char path[128];
        (void)snprintf(path, sizeof path, "/%s", file->name);
        expect(f, path, "200 OK", "Content-Security-Policy: default-src 'none'; script-src 'self'");
    }
    expect(f, "/nothing.js", "404 Not Found", "not found");
}

static void timeline_queries_return_the_requested_data(void **state)
{
    const struct fixture *f = *state;

    expect(f, "/api/v1/meta", "application/json", "\"title\":\"sample.ntff\"");
    expect(f, "/api/v1/tiles?level=10&tile=0&tracks=0-1,4", "application/octet-stream", "NTLT");
    expect(f, "/api/v1/slice?track=0&slice=5", "200 OK", "\"name\":\"MATMUL\"");
    expect(f, "/api/v1/stats?from=0&to=1000000", "200 OK", "\"tracks\":[{\"track\":0");
    expect(f, "/api/v1/hits?whats=0&from=0&back=0", "200 OK", "\"total\":90");
    expect(f, "/api/v1/hits?pc=0&from=0&back=0", "200 OK", "\"total\":2,");
    expect(f, "/api/v1/analysis?source=0&name=idle", "200 OK", "\"total_ns\":100000");
    expect(f, "/api/v1/analysis?source=0&name=critical-path", "200 OK", ",\"steps\":[{\"kind\":");
    expect(f, "/api/v1/analysis?source=0&name=critical-path&brief=0", "200 OK",
           ",\"steps\":[{\"kind\":");
    expect(f, "/api/v1/analysis?source=0&name=critical-path&brief=1", "200 OK", "\"layers\":[]}}");
    expect(f, "/api/v1/analysis?source=0&name=idle&brief=1", "200 OK", "\"total_ns\":100000");
    expect(f, "/api/v1/analysis?source=0&name=tensors", "200 OK",
           "{\"value\":null,\"absent\":\"this analysis requires the NEFF");
    expect(f, "/api/v1/host?name=ranks", "200 OK",
           "\"absent\":\"requires executions by at least two workers");
    expect(f, "/api/v1/flows?track=0&slice=5", "200 OK", "\"previous\":{\"track\":0,\"slice\":4");
    expect(f, "/api/v1/path?source=0&from=0&to=1000000", "200 OK", "\"steps\":[{\"kind\":");
    expect(f, "/api/v1/flame?source=0&from=0&to=1000000", "200 OK", "\"operation\":\"MATMUL\"");
    expect(f, "/api/v1/flame_stacks?source=0", "200 OK", "\"MATMUL\"]");
    expect(f, "/api/v1/flame_stacks?source=9", "400 Bad Request", "source");
    expect(f, "/api/v1/summary?source=0", "200 OK", "\"total_time\": 0.0001,");
}

static void invalid_timeline_queries_are_rejected_with_a_message(void **state)
{
    static const char *const rows[][3] = {
        { "/api/v1/tiles?tile=0&tracks=0", "400", "missing level" },
        { "/api/v1/tiles?level=x&tile=0&tracks=0", "400", "level: expected a number from 0 to 63" },
        { "/api/v1/tiles?level=60&tile=0&tracks=0", "400", "level 60: the coarsest is" },
        { "/api/v1/tiles?level=0&tile=999999999&tracks=0", "400", "tile 999999999 of level 0" },
        { "/api/v1/tiles?level=0&tile=0&tracks=5-1", "400", "tracks: expected at most 4096" },
        { "/api/v1/tiles?level=0&tile=0&tracks=0-99999", "400", "tracks: expected at most 4096" },
        { "/api/v1/slice?track=0&slice=100", "404", "track 0 has no slice 100" },
        { "/api/v1/slice?track=7&slice=0", "404", "unknown track 7" },
        { "/api/v1/stats?from=9&to=1", "400", "'from' is after 'to'" },
        { "/api/v1/stats?from=0&to=-1", "400", "to: expected a number from 0" },
        { "/api/v1/hits?from=0&back=0", "400", "missing whats" },
        { "/api/v1/hits?pc=x&from=0&back=0", "400", "pc: expected a number" },
        { "/api/v1/analysis?source=0&name=magic", "400", "unknown analysis" },
        { "/api/v1/analysis?source=0&name=idle&brief=2", "400",
          "brief: expected a number from 0 to 1" },
        { "/api/v1/flows?track=9&slice=0", "404", "unknown track 9" },
        { "/api/v1/path?source=0&from=2&to=1", "400", "'from' is after 'to'" },
        { "/api/v1/host?name=magic", "400", "unknown analysis" },
        { "/api/v1/host", "400", "unknown analysis" },
        { "/api/v1/compare", "404", "no comparison: start neuron-profile view with --compare" },
        { "/api/v1/summary?source=1", "400", "source: expected a number from 0 to 0" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(*state, rows[i][0], rows[i][1], rows[i][2]);
    }
}

/* A little over ten hours: the page requests all of it in numbers of 53 bits, rounded to more than
 * there is. */
static void a_complete_long_timeline_can_be_requested(void **state)
{
    const struct fixture *f = *state;
    struct ntk_timeline_source source = { .trace = &f->sample->trace,
                                          .name = "late",
                                          .offset_ps = (INT64_C(1) << 55) + 5 };
    struct ntk_timeline *timeline = NULL;
    struct ntk_timeline_serve *serve = NULL;
    char path[128];

    assert_int_equal(
        ntk_timeline_create(&(struct ntk_timeline_options){ .sources = &source, .source_count = 1 },
                            &timeline, NULL),
        0);
    assert_int_equal(ntk_timeline_serve_create(
                         &(struct ntk_timeline_serve_options){
                             .ask = { .timeline = timeline, .title = "late" } },
                         &serve, NULL),
                     0);
    struct fixture late = { .port = ntk_timeline_serve_port_get(serve) };
    int64_t span_ps = timeline->end_ps - timeline->begin_ps;
    uint64_t rounded = (uint64_t)(double)span_ps;
    assert_true(rounded > (uint64_t)span_ps + 1);
    (void)snprintf(path, sizeof path, "/api/v1/stats?from=0&to=%llu", (unsigned long long)rounded);
    expect(&late, path, "200 OK", "\"track\":0,\"count\":100,");
    (void)snprintf(path, sizeof path, "/api/v1/flame?source=0&from=0&to=%llu",
                   (unsigned long long)rounded);
    expect(&late, path, "200 OK", "\"count\":90,");
    (void)snprintf(path, sizeof path, "/api/v1/hits?whats=0&from=%llu&back=1",
                   (unsigned long long)rounded);
    expect(&late, path, "200 OK", "\"total\":90");
    /* So no tile after the last one is requested. */
    (void)snprintf(path, sizeof path, "\"span\":%" PRId64 ",", span_ps / 8 * 8);
    expect(&late, "/api/v1/meta", "200 OK", path);
    ntk_timeline_serve_destroy(serve);
    ntk_timeline_destroy(timeline);
}

static void a_foreign_host_name_is_rejected(void **state)
{
    const struct fixture *f = *state;
    int fd = test_http_connect(f->port);

    test_http_send(fd,
                   "GET /api/v1/meta HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    char *answer = test_http_read_until(fd, NULL);
    assert_non_null(strstr(answer, " 421 "));
    assert_null(strstr(answer, "sample.ntff"));
    free(answer);
}

static void a_port_in_use_is_replaced_by_the_next_free_one(void **state)
{
    const struct fixture *f = *state;
    struct ntk_timeline_serve *other = NULL;

    assert_int_equal(
        ntk_timeline_serve_create(
            &(struct ntk_timeline_serve_options){
                .ask = { .timeline = f->timeline, .title = "other" }, .port = f->port },
            &other, NULL),
        0);
    assert_true(ntk_timeline_serve_port_get(other) > f->port);
    assert_true(ntk_timeline_serve_port_get(other) < f->port + NTK_TIMELINE_PORTS_TRIED);
    ntk_timeline_serve_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_of_the_page_is_served_under_its_policy),
        cmocka_unit_test(timeline_queries_return_the_requested_data),
        cmocka_unit_test(invalid_timeline_queries_are_rejected_with_a_message),
        cmocka_unit_test(a_complete_long_timeline_can_be_requested),
        cmocka_unit_test(a_foreign_host_name_is_rejected),
        cmocka_unit_test(a_port_in_use_is_replaced_by_the_next_free_one),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
