/* SPDX-License-Identifier: MIT */
/* api - answers queries to the database over HTTP: the results of `neuron-monitor query` as
 * JSON. */
#include "agent/http/api.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/http/api_parameters.h"
#include "agent/query/query.h"
#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/log.h"

#define BASE "/api/v1/"
#define QUESTIONS_MAX 15
#define PATH_BYTES 32
/* Compressing smaller responses is not worthwhile. */
#define GZIP_BYTES_MIN 1024

struct question_route {
    struct ntk_api *api;
    const struct ntk_query_question *question;
    uint64_t steps_max;
    char path[PATH_BYTES];
};

struct ntk_api {
    const char *db_path;
    atomic_bool stop;
    struct question_route questions[QUESTIONS_MAX];
    struct ntk_http_route routes[QUESTIONS_MAX + 2];
};

/* These queries have rows per model or core, so fewer steps are allowed. */
static const char *const listed[] = { "latency", "cores", "ranks" };

/* -- responses --------------------------------------------------------------------------------- */

static void answer_json(struct ntk_buf *buf, int status, const struct ntk_http_request *request,
                        struct ntk_http_response *response)
{
    struct ntk_http_body *body = ntk_http_body_create(buf);
    size_t bytes_count = 0;

    if (body) {
        ntk_http_body_bytes_get(body, &bytes_count);
    }
    response->vary = "Accept-Encoding";
    if (bytes_count >= GZIP_BYTES_MIN && ntk_http_request_takes_gzip(request)) {
        struct ntk_http_body *packed = ntk_http_body_gzip(body);
        if (packed) {
            ntk_http_body_unref(body);
            body = packed;
            response->content_encoding = "gzip";
        }
    }
    response->content_type = "application/json";
    response->status = body ? status : 500;
    response->text = "{\"error\":\"out of memory\"}\n";
    response->body = body;
}

static int status_of(int error)
{
    switch (error) {
    case -EINVAL:
        return 400;
    case -ENOENT:
    case -ENODATA:
        return 404;
    case -E2BIG:
        return 413;
    default:
        return 500;
    }
}

static void answer_error(int error, const struct ntk_err *err,
                         const struct ntk_http_request *request, struct ntk_http_response *response)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &buf, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "error", err->text);
    ntk_json_object_end(&json);
    ntk_buf_add_char(&buf, '\n');
    answer_json(&buf, status_of(error), request, response);
}

static int open_reader(struct ntk_api *api, struct ntk_store_reader **out_reader,
                       struct ntk_err *err)
{
    if (!api->db_path) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                           "no database: history requires neuron-monitor --db FILE");
    }
    return ntk_store_reader_open_until(api->db_path, &api->stop, out_reader, err);
}

/* -- queries ----------------------------------------------------------------------------------- */

static int set_window(const struct ntk_api_parameters *parameters, struct ntk_query *query,
                      struct ntk_err *err)
{
    const struct ntk_query_bounds *bounds = &parameters->bounds;
    struct ntk_store_window *window = &query->window;
    int ret = 0;

    if (!bounds->has_to || (!bounds->has_from && !bounds->last_ns)) {
        ret = ntk_query_window_whole(query->reader, window, err);
        if (ret == -ENODATA) { /* the first second is not yet stored: an empty response */
            window->to_ns = ntk_clock_realtime_ns();
            window->from_ns = window->to_ns - NTK_NS_PER_SECOND;
            ret = 0;
        }
    }
    return ret < 0 ? ret : ntk_query_window_narrow(query->reader, bounds, window, err);
}

static int check_steps(const struct ntk_store_window *window, uint64_t steps_max,
                       struct ntk_err *err)
{
    uint64_t span_ns = window->to_ns - window->from_ns;

    return window->step_ns == 0 || span_ns / window->step_ns <= steps_max
               ? 0
               : ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                             "step: more than %llu steps in the window",
                             (unsigned long long)steps_max);
}

static int ask(const struct question_route *route, struct ntk_api_parameters *parameters,
               struct ntk_query_table *table, struct ntk_err *err)
{
    struct ntk_query *query = &parameters->query;
    int ret = open_reader(route->api, &query->reader, err);

    if (ret < 0) {
        return ret;
    }
    /* the transaction ends when the reader is closed */
    ret = ntk_store_reader_begin(query->reader, err);
    ret = ret < 0 ? ret : set_window(parameters, query, err);
    ret = ret < 0 ? ret : check_steps(&query->window, route->steps_max, err);
    ret = ret < 0 ? ret : ntk_store_reader_check(query->reader, &query->filter, err);
    ret = ret < 0 ? ret : route->question->answer(query, table, err);
    ntk_store_reader_close(query->reader);
    if (ret >= 0 && table->failed) {
        ret = ntk_err_no_memory(err);
    }
    if (ret >= 0 && table->omitted > 0) {
        ret = ntk_err_set(err, -E2BIG, NTK_ERR_NO_OFFSET,
                          "the response has more than %d rows: request a shorter window",
                          NTK_API_ROWS_MAX);
    }
    return ret;
}

static void answer_question(const struct ntk_http_request *request,
                            struct ntk_http_response *response, void *ctx)
{
    const struct question_route *route = ctx;
    struct ntk_api_parameters parameters;
    struct ntk_query_table table;
    struct ntk_buf buf = { 0 };
    struct ntk_err err = { 0 };
    int ret = ntk_api_parameters_read(request, &parameters, &err);

    ntk_query_table_init(&table);
    table.row_max = NTK_API_ROWS_MAX;
    ret = ret < 0 ? ret : ntk_api_parameters_check(&parameters, route->question, &err);
    ret = ret < 0 ? ret : ask(route, &parameters, &table, &err);
    if (ret < 0) {
        if (status_of(ret) == 500) {
            ntk_log_warn("http", "%s: %s", route->path, err.text);
        }
        answer_error(ret, &err, request, response);
    } else {
        ntk_query_table_write(&table, NTK_QUERY_FORM_JSON_DENSE, &buf);
        answer_json(&buf, 200, request, response);
    }
    ntk_query_table_fini(&table);
}

/* -- available queries ------------------------------------------------------------------------- */

static void add_spans(struct ntk_json *json, struct ntk_api *api)
{
    static const char *const names[NTK_STORE_TIER_COUNT] = { "seconds", "minutes", "hours" };
    struct ntk_store_reader *reader = NULL;
    struct ntk_err err = { 0 };

    ntk_json_key(json, "history");
    if (open_reader(api, &reader, &err) < 0) {
        ntk_json_null(json);
        return;
    }
    ntk_json_object_begin(json);
    for (int tier = 0; tier < NTK_STORE_TIER_COUNT; tier++) {
        uint64_t first_ns;
        uint64_t last_ns;
        if (ntk_store_reader_span(reader, (enum ntk_store_tier)tier, &first_ns, &last_ns, &err) ==
            0) {
            ntk_json_key_array_begin(json, names[tier]);
            ntk_json_double(json, (double)first_ns / (double)NTK_NS_PER_SECOND);
            ntk_json_double(json, (double)last_ns / (double)NTK_NS_PER_SECOND);
            ntk_json_array_end(json);
        }
    }
    ntk_json_object_end(json);
    ntk_store_reader_close(reader);
}

static void answer_machine(const struct ntk_http_request *request,
                           struct ntk_http_response *response, void *ctx)
{
    struct ntk_api *api = ctx;
    struct ntk_buf buf = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &buf, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "version", NTK_VERSION);
    add_spans(&json, api);
    ntk_json_key_array_begin(&json, "series");
    for (int i = 0; i < NTK_STORE_METRIC_COUNT; i++) {
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "name", ntk_store_metrics[i].name);
        ntk_json_key_text(&json, "unit", ntk_store_metrics[i].unit);
        ntk_json_key_text(&json, "help", ntk_store_metrics[i].help);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(&buf, '\n');
    answer_json(&buf, 200, request, response);
}

/* -- the table --------------------------------------------------------------------------------- */

static uint64_t steps_max_of(const char *question)
{
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
        if (strcmp(listed[i], question) == 0) {
            return NTK_API_LISTED_STEPS_MAX;
        }
    }
    return NTK_API_STEPS_MAX;
}

struct ntk_api *ntk_api_create(const char *db_path)
{
    struct ntk_api *api = calloc(1, sizeof *api);
    size_t count = 0;

    if (!api) {
        return NULL;
    }
    api->db_path = db_path;
    for (const struct ntk_query_question *q = ntk_query_questions; q->name && count < QUESTIONS_MAX;
         q++) {
        struct question_route *route = &api->questions[count];
        *route = (struct question_route){ .api = api,
                                          .question = q,
                                          .steps_max = steps_max_of(q->name) };
        snprintf(route->path, sizeof route->path, "%s%s", BASE, q->route ? q->route : q->name);
        api->routes[count++] = (struct ntk_http_route){ route->path, answer_question, route };
    }
    api->routes[count] = (struct ntk_http_route){ BASE "machine", answer_machine, api };
    return api;
}

void ntk_api_stop(struct ntk_api *api)
{
    atomic_store(&api->stop, true);
}

void ntk_api_destroy(struct ntk_api *api)
{
    free(api);
}

const struct ntk_http_route *ntk_api_routes_get(const struct ntk_api *api)
{
    return api->routes;
}
