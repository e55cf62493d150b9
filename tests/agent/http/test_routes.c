/* SPDX-License-Identifier: MIT */
/* Method: the agent's port with an empty database, asked over sockets as a browser, a script and a
 * stranger would. tests/e2e/page checks the answers about a database with content. */
#include "agent/http/routes.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/http/page/page_files.h"
#include "shared/store/store.h"
#include "tests/support/http_ask.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    char *folder;
    char *db;
    struct ntk_store *store;
    struct ntk_routes *routes;
    struct ntk_outputs outputs;
    uint16_t port;
};

static void serve(struct fixture *f, const char *db)
{
    struct ntk_exporter_options exporter = { 0 };
    struct ntk_routes_options options = { .address = "0", .db_path = db };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_outputs_open(&f->outputs, &exporter, true, &err), 0);
    options.outputs = &f->outputs;
    if (ntk_routes_create(&options, &f->routes, &err) < 0) {
        fail_msg("%s", err.text);
    }
    f->port = ntk_routes_port_get(f->routes);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    f->db = test_scratch_path(f->folder, "t.db");
    assert_int_equal(ntk_store_open(f->db, NULL, &f->store, NULL), 0);
    serve(f, f->db);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_routes_destroy(f->routes);
    ntk_outputs_fini(&f->outputs);
    assert_int_equal(ntk_store_close(f->store, NULL), 0);
    free(f->db);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("'%s' is not in '%s'", part, text);
    }
}

/* One message as JSON, and the status. */
static void expect_error(const struct fixture *f, const char *path, const char *status,
                         const char *sentence)
{
    char *text = test_http_get(f->port, path, "");
    const char *body = strstr(text, "\r\n\r\n");

    assert_contains(text, status);
    assert_contains(text, "\r\nContent-Type: application/json\r\n");
    json_t *json = json_loads(body + 4, 0, NULL);
    assert_non_null(json);
    assert_int_equal(json_object_size(json), 1);
    assert_string_equal(json_string_value(json_object_get(json, "error")), sentence);
    json_decref(json);
    free(text);
}

static json_t *get_json(const struct fixture *f, const char *path)
{
    char *text = test_http_get(f->port, path, "");

    assert_contains(text, "HTTP/1.1 200 ");
    json_t *json = json_loads(strstr(text, "\r\n\r\n") + 4, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

static void the_page_has_content_types_a_policy_and_no_inline_code(void **state)
{
    const struct fixture *f = *state;
    char path[128];

    for (const struct ntk_http_file *file = ntk_page_files; file->name; file++) {
        snprintf(path, sizeof path, "/%s", file->name);
        char *text = test_http_get(f->port, path, "");
        assert_contains(text, "HTTP/1.1 200 ");
        assert_contains(text, "\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; "
                              "style-src 'self';");
        assert_null(strstr(strstr(text, "Content-Security-Policy"), "unsafe"));
        assert_contains(text, "\r\nX-Content-Type-Options: nosniff\r\n");
        assert_contains(text, strstr(path, ".html")  ? "Content-Type: text/html; charset=utf-8"
                              : strstr(path, ".css") ? "Content-Type: text/css; charset=utf-8"
                              : strstr(path, ".svg") ? "Content-Type: image/svg+xml"
                                                     : "Content-Type: text/javascript");
        const char *body = strstr(text, "\r\n\r\n") + 4;
        assert_int_equal(strlen(body), file->bytes_count);
        assert_memory_equal(body, file->bytes, file->bytes_count);
        if (strstr(path, ".html")) {
            assert_null(strstr(body, "<style"));
            assert_null(strstr(body, " style="));
            assert_null(strstr(body, " onclick"));
            assert_null(strstr(body, "://"));
        }
        free(text);
    }
    char *text = test_http_get(f->port, "/", "Accept-Encoding: br, gzip\r\n");
    assert_contains(text, "\r\nContent-Encoding: gzip\r\n");
    assert_contains(text, "\r\nVary: Accept-Encoding\r\n");
    free(text);
    text = test_http_get(f->port, "/", "Accept-Encoding: gzip;q=0, *;q=0\r\n");
    assert_null(strstr(text, "Content-Encoding"));
    free(text);
}

static void files_outside_the_page_return_404(void **state)
{
    const struct fixture *f = *state;
    static const char *const paths[] = { "/nothing",     "/../etc/passwd",  "//index.html",
                                         "/index.html/", "/page_files.h",   "/api/v1",
                                         "/api/v1/",     "/api/v1/secrets", "/api/v2/report" };

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char *text = test_http_get(f->port, paths[i], "");
        if (!strstr(text, "HTTP/1.1 404 ")) {
            fail_msg("%s: %s", paths[i], text);
        }
        free(text);
    }
}

static void a_foreign_host_name_is_rejected(void **state)
{
    const struct fixture *f = *state;
    static const char *const paths[] = { "/", "/metrics", "/api/v1/machine", "/api/v1/live" };

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char *text = test_http_get(f->port, paths[i], "Host: rebound.example\r\n");
        assert_contains(text, "HTTP/1.1 421 ");
        free(text);
    }
}

static void invalid_parameters_return_400_with_a_message(void **state)
{
    const struct fixture *f = *state;
    static const char *const rows[][2] = {
        { "series", "missing parameter 'metric': /api/v1/machine lists the values" },
        { "series?metric=x'--", "metric: unknown series: /api/v1/machine lists the series" },
        { "series?metric", "metric: missing value" },
        { "cores?wat=1", "unknown parameter 'wat'" },
        { "memory?device=1", "device does not apply to question 'memory'" },
        { "series?metric=vcpu&core=1", "core does not apply to metric 'vcpu'" },
        { "cores?core=1&core=2", "duplicate parameter 'core'" },
        { "cores?core=-1", "core: expected a number from 0 to 65535" },
        { "cores?core=65536", "core: expected a number from 0 to 65535" },
        { "cores?device=99999999999999999999", "device: expected a number from 0 to 65535" },
        { "cores?step=0", "step: expected a time from 1s to a year, such as 30s or 5m" },
        { "cores?step=1ns", "step: expected a time from 1s to a year, such as 30s or 5m" },
        { "cores?last=999999999h", "last: expected a time from 1s to a year, such as 30s or 5m" },
        { "errors?from=yesterday",
          "from: expected 2026-11-21T07:30:00Z, or seconds since the Unix epoch" },
        { "errors?from=1&to=1e300",
          "to: expected 2026-11-21T07:30:00Z, or seconds since the Unix epoch" },
        { "errors?from=nan",
          "from: expected 2026-11-21T07:30:00Z, or seconds since the Unix epoch" },
        { "errors?from=20&to=10", "the window ends before it begins" },
        { "errors?from=20&last=10s", "'from' and 'last' are mutually exclusive" },
        { "errors?from=0&to=9000000000&step=1s", "step: more than 2000 steps in the window" },
        { "cores?from=1000&to=2000&step=1s", "step: more than 200 steps in the window" },
        { "latency?from=1&to=2&percentiles=50,10",
          "percentiles: expected numbers in ascending order" },
        { "latency?from=1&to=2&percentiles=101",
          "percentiles: expected numbers from 0 to 100, separated by commas" },
        { "latency?latency=both", "latency: expected 'total' or 'device'" },
        { "processes?process=", "process: expected a name" },
        { "events?newest=0", "newest: expected a number from 1 to 30000" },
        { "events?newest=30001", "newest: expected a number from 1 to 30000" },
        { "events?kind=error,%27",
          "kind: expected first_seen, end, load, unload, error, alloc, free, "
          "model_start, model_stop, mark, separated by commas, or all" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[256];
        snprintf(path, sizeof path, "/api/v1/%s", rows[i][0]);
        expect_error(f, path, "HTTP/1.1 400 ", rows[i][1]);
    }
}

static void queries_for_names_that_were_never_stored_return_404(void **state)
{
    const struct fixture *f = *state;
    static const char *const names[] = { "x", "'%20OR%201=1--", "%22", "%ff%fe", "a%0ab" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        snprintf(path, sizeof path, "/api/v1/processes?from=1&to=2&process=%s", names[i]);
        char *text = test_http_get(f->port, path, "");
        assert_contains(text, "HTTP/1.1 404 ");
        assert_contains(text, "{\"error\":\"");
        free(text);
    }
    /* A database without rows is not an error: the next second may bring the first. */
    char *text = test_http_get(f->port, "/api/v1/cores", "");
    assert_contains(text, "HTTP/1.1 200 ");
    free(text);
}

static void every_api_query_returns_an_array(void **state)
{
    const struct fixture *f = *state;
    static const char *const questions[] = {
        "latency?step=5s&", "executions?step=5s&", "errors?step=5s&", "cores?step=5s&",
        "memory?",          "processes?",          "events?",         "health?",
        "rank_history?",    "verdicts?",           "idle?",
    };

    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        char path[256];
        snprintf(path, sizeof path, "/api/v1/%sfrom=1000&to=1010", questions[i]);
        json_t *json = get_json(f, path);
        assert_true(json_is_array(json));
        json_decref(json);
    }
    json_t *json = get_json(f, "/api/v1/series?metric=utilization&from=1000&to=1010&step=5s");
    assert_int_equal(json_array_size(json), 2);
    json_t *row = json_array_get(json, 0);
    assert_string_equal(json_string_value(json_object_get(row, "from")), "1970-01-01T00:16:40Z");
    assert_true(json_is_null(json_object_get(row, "utilization")));
    json_decref(json);
    json = get_json(f, "/api/v1/machine");
    assert_string_equal(json_string_value(json_object_get(json, "version")), NTK_VERSION);
    assert_true(json_is_object(json_object_get(json, "history")));
    assert_true(json_array_size(json_object_get(json, "series")) > 10);
    json_decref(json);
}

static void without_a_database_a_history_query_returns_404_and_names_option_db(void **state)
{
    struct fixture *f = *state;

    ntk_routes_destroy(f->routes);
    ntk_outputs_fini(&f->outputs);
    serve(f, NULL);
    expect_error(f, "/api/v1/processes", "HTTP/1.1 404 ",
                 "no database: history requires neuron-monitor --db FILE");
    json_t *json = get_json(f, "/api/v1/machine");
    assert_true(json_is_null(json_object_get(json, "history")));
    json_decref(json);
}

static void the_live_stream_has_the_complete_reports(void **state)
{
    const struct fixture *f = *state;
    static const char *const paths[] = { "/api/v1/stream", "/api/v1/live" };
    static const char *const lines[] = { "{\"short\":1}\n", "{\"all\":1}\n" };
    struct ntk_buf line = { 0 };
    struct ntk_buf full = { 0 };

    ntk_buf_add_text(&line, lines[0]);
    ntk_buf_add_text(&full, lines[1]);
    ntk_routes_put(f->routes, &line, &full);
    for (int i = 0; i < 2; i++) {
        char request[128];
        int fd = test_http_connect(f->port);
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", paths[i]);
        test_http_send(fd, request);
        char *text = test_http_read_until(fd, "1}\n");
        assert_contains(text, lines[i]);
        free(text);
        close(fd);
    }
    char *text = test_http_get(f->port, "/api/v1/report", "");
    assert_contains(text, lines[0]);
    free(text);
    ntk_buf_fini(&line);
    ntk_buf_fini(&full);
}

static void put_ranks(void *ctx)
{
    struct fixture *f = ctx;
    struct ntk_buf line = { 0 };

    ntk_buf_add_text(&line, "{\"now\":1}\n");
    ntk_routes_ranks_put(f->routes, &line);
    ntk_buf_fini(&line);
}

static void the_ranks_route_returns_the_requested_ranks(void **state)
{
    struct fixture *f = *state;
    struct ntk_routes_options options = {
        .address = "0", .outputs = &f->outputs, .refresh = put_ranks, .refresh_ctx = f
    };
    struct ntk_err err = { 0 };

    ntk_routes_destroy(f->routes);
    assert_int_equal(ntk_routes_create(&options, &f->routes, &err), 0);
    char *text = test_http_get(ntk_routes_port_get(f->routes), "/api/v1/ranks", "");
    assert_contains(text, "HTTP/1.1 200 ");
    assert_contains(text, "{\"now\":1}\n");
    free(text);
}

static atomic_bool output_is_stale;

static bool is_stale(void *state)
{
    (void)state;
    return atomic_load(&output_is_stale);
}

static void no_destroy(void *state)
{
    (void)state;
}

/* Method: a fake output that reports what a real one reports while the loop hangs. */
static void a_request_returns_503_if_the_report_is_too_old(void **state)
{
    static const struct ntk_exporter fake = { .is_stale = is_stale, .destroy = no_destroy };
    static const char *const paths[] = { "/-/ready", "/api/v1/report", "/api/v1/ranks",
                                         "/api/v1/stream", "/api/v1/live" };
    struct fixture *f = *state;
    struct ntk_buf line = { 0 };

    ntk_buf_add_text(&line, "{\"old\":1}\n");
    ntk_routes_put(f->routes, &line, NULL);
    f->outputs.rows[f->outputs.count++] = (struct ntk_output){ .exporter = &fake };
    char *text = test_http_get(f->port, "/-/ready", "");
    assert_contains(text, "HTTP/1.1 200 ");
    free(text);
    atomic_store(&output_is_stale, true);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        text = test_http_get(f->port, paths[i], "");
        assert_contains(text, "HTTP/1.1 503 ");
        assert_contains(text, "no report for three periods\n");
        assert_null(strstr(text, "old"));
        free(text);
    }
    text = test_http_get(f->port, "/-/healthy", "");
    assert_contains(text, "HTTP/1.1 200 ");
    free(text);
    atomic_store(&output_is_stale, false);
    ntk_buf_fini(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_page_has_content_types_a_policy_and_no_inline_code,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_outside_the_page_return_404, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_foreign_host_name_is_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(invalid_parameters_return_400_with_a_message, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(queries_for_names_that_were_never_stored_return_404, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_api_query_returns_an_array, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            without_a_database_a_history_query_returns_404_and_names_option_db, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_live_stream_has_the_complete_reports, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_ranks_route_returns_the_requested_ranks, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_request_returns_503_if_the_report_is_too_old, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
