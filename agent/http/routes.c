/* SPDX-License-Identifier: MIT */
/* routes - answers requests on the agent's HTTP port. */
#include "agent/http/routes.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/hang/captures_http.h"
#include "agent/http/api.h"
#include "agent/http/page/page_files.h"
#include "shared/base/log.h"
#include "shared/http/http_guard.h"

#define LOOPBACK "127.0.0.1"
#define SLOW_ROUTES_MAX 32

static const char stale_text[] = "no report for three periods\n";

struct ntk_routes {
    const struct ntk_outputs *outputs; /* know if reports still arrive */
    void (*refresh)(void *ctx);
    void *refresh_ctx;
    struct ntk_http_route routes[NTK_EXPORTER_COUNT + 8];
    struct ntk_http_route slow_routes[SLOW_ROUTES_MAX];
    struct ntk_http_upload uploads[2];
    struct ntk_http_guard *guard;
    struct ntk_http_files *page;
    struct ntk_api *api;
    struct ntk_captures_http *captures; /* NULL if clients cannot request captures */
    struct ntk_http_server *server;
    struct ntk_http_feed *stream;
    struct ntk_http_feed *live;
    pthread_mutex_t lock;        /* protects last and ranks */
    struct ntk_http_body *last;  /* NULL before the first report */
    struct ntk_http_body *ranks; /* NULL before the first period */
};

static void answer_output(const struct ntk_http_request *request,
                          struct ntk_http_response *response, void *ctx)
{
    const struct ntk_output *output = ctx;

    output->exporter->answer(output->state, request, response);
}

/* Refuses a request if the values are old, because a client would take them for current ones. */
static bool refuse_stale(const struct ntk_routes *routes, struct ntk_http_response *response)
{
    bool is_stale = ntk_outputs_are_stale(routes->outputs);

    if (is_stale) {
        response->status = 503;
        response->text = stale_text;
    }
    return is_stale;
}

static void answer_body(struct ntk_routes *routes, struct ntk_http_body *const *body,
                        struct ntk_http_response *response)
{
    if (refuse_stale(routes, response)) {
        return;
    }
    pthread_mutex_lock(&routes->lock);
    response->body = ntk_http_body_ref(*body);
    pthread_mutex_unlock(&routes->lock);
    if (response->body) {
        response->content_type = "application/json";
    } else {
        response->status = 503;
        response->text = "no report yet\n";
    }
}

static void answer_report(const struct ntk_http_request *request,
                          struct ntk_http_response *response, void *ctx)
{
    struct ntk_routes *routes = ctx;

    (void)request;
    answer_body(routes, &routes->last, response);
}

static void answer_ranks(const struct ntk_http_request *request, struct ntk_http_response *response,
                         void *ctx)
{
    struct ntk_routes *routes = ctx;

    (void)request;
    if (routes->refresh) {
        routes->refresh(routes->refresh_ctx);
    }
    answer_body(routes, &routes->ranks, response);
}

static void answer_feed(struct ntk_routes *routes, struct ntk_http_feed **feed,
                        struct ntk_http_response *response)
{
    if (refuse_stale(routes, response)) {
        return;
    }
    pthread_mutex_lock(&routes->lock); /* the server answers before the feeds exist */
    response->feed = *feed;
    pthread_mutex_unlock(&routes->lock);
}

static void answer_stream(const struct ntk_http_request *request,
                          struct ntk_http_response *response, void *ctx)
{
    struct ntk_routes *routes = ctx;

    (void)request;
    answer_feed(routes, &routes->stream, response);
}

static void answer_live(const struct ntk_http_request *request, struct ntk_http_response *response,
                        void *ctx)
{
    struct ntk_routes *routes = ctx;

    (void)request;
    answer_feed(routes, &routes->live, response);
}

static void answer_healthy(const struct ntk_http_request *request,
                           struct ntk_http_response *response, void *ctx)
{
    (void)request;
    (void)ctx;
    response->text = "neuron-monitor is healthy\n";
}

static void answer_ready(const struct ntk_http_request *request, struct ntk_http_response *response,
                         void *ctx)
{
    struct ntk_routes *routes = ctx;

    (void)request;
    if (refuse_stale(routes, response)) {
        return;
    }
    pthread_mutex_lock(&routes->lock);
    response->status = routes->last ? 200 : 503;
    pthread_mutex_unlock(&routes->lock);
    response->text = response->status == 200 ? "neuron-monitor is ready\n" : "no report yet\n";
}

/* Creates all parts that responses are built from. */
static int create_parts(struct ntk_routes *routes, const struct ntk_routes_options *options,
                        struct ntk_http_address *address, struct ntk_err *err)
{
    struct ntk_http_guard_options guard = { .names = options->host_names,
                                            .token_path = options->token_path,
                                            .host = address->host };
    int ret = ntk_http_address_parse(options->address, LOOPBACK, address, err);

    if (ret >= 0) {
        ret = ntk_http_guard_create(&guard, &routes->guard, err);
    }
    if (ret >= 0) {
        routes->page = ntk_http_files_create(ntk_page_files);
        routes->api = ntk_api_create(options->db_path);
        if (options->captures) {
            routes->captures = ntk_captures_http_create(options->captures);
        }
        if (!routes->page || !routes->api || (options->captures && !routes->captures)) {
            ret = ntk_err_no_memory(err);
        }
    }
    return ret;
}

/* Adds slow responses and uploads. */
static void add_slow_routes(struct ntk_routes *routes, struct ntk_http_options *http)
{
    const struct ntk_http_route *questions = ntk_api_routes_get(routes->api);
    size_t count = 0;

    if (routes->captures) {
        routes->slow_routes[count++] = ntk_captures_http_route(routes->captures);
        routes->uploads[0] = ntk_captures_http_upload(routes->captures);
        http->uploads = routes->uploads;
    }
    for (size_t i = 0; questions[i].path; i++) {
        assert(count + 1 < SLOW_ROUTES_MAX);
        routes->slow_routes[count++] = questions[i];
    }
    http->slow_routes = routes->slow_routes;
}

static int start(struct ntk_routes *routes, const struct ntk_http_options *options,
                 struct ntk_err *err)
{
    int ret = ntk_http_server_create(options, &routes->server, err);

    if (ret < 0) {
        return ret;
    }
    struct ntk_http_feed *stream = ntk_http_feed_create(routes->server, "application/jsonl");
    struct ntk_http_feed *live = ntk_http_feed_create(routes->server, "application/jsonl");
    pthread_mutex_lock(&routes->lock);
    routes->stream = stream;
    routes->live = live;
    pthread_mutex_unlock(&routes->lock);
    return stream && live ? 0 : ntk_err_no_memory(err);
}

int ntk_routes_create(const struct ntk_routes_options *options, struct ntk_routes **out_routes,
                      struct ntk_err *err)
{
    struct ntk_routes *routes = calloc(1, sizeof *routes);
    struct ntk_http_options http = { .security = options->security };

    if (!routes) {
        return ntk_err_no_memory(err);
    }
    routes->outputs = options->outputs;
    routes->refresh = options->refresh;
    routes->refresh_ctx = options->refresh_ctx;
    pthread_mutex_init(&routes->lock, NULL);
    int ret = create_parts(routes, options, &http.address, err);
    if (ret >= 0) {
        const struct ntk_http_route table[] = {
            { "/api/v1/report", answer_report, routes },
            { "/api/v1/ranks", answer_ranks, routes },
            { "/api/v1/stream", answer_stream, routes },
            { "/api/v1/live", answer_live, routes },
            { "/-/healthy", answer_healthy, routes },
            { "/-/ready", answer_ready, routes },
            { "/*", ntk_http_files_answer, routes->page },
            { NULL, NULL, NULL },
        };
        size_t count = 0;
        for (size_t i = 0; i < options->outputs->count; i++) {
            struct ntk_output *output = &options->outputs->rows[i];
            if (output->exporter->path) {
                routes->routes[count++] =
                    (struct ntk_http_route){ output->exporter->path, answer_output, output };
            }
        }
        memcpy(routes->routes + count, table, sizeof table);
        http.routes = routes->routes;
        add_slow_routes(routes, &http);
        http.guard = routes->guard;
        ret = start(routes, &http, err);
    }
    if (ret < 0) {
        ntk_routes_destroy(routes);
        return ret;
    }
    ntk_log_info("http", "listening on port %u", ntk_http_server_port_get(routes->server));
    *out_routes = routes;
    return 0;
}

void ntk_routes_destroy(struct ntk_routes *routes)
{
    if (!routes) {
        return;
    }
    if (routes->api) {
        ntk_api_stop(routes->api);
    }
    ntk_http_server_destroy(routes->server);
    ntk_api_destroy(routes->api);
    ntk_captures_http_destroy(routes->captures);
    ntk_http_files_destroy(routes->page);
    ntk_http_guard_destroy(routes->guard);
    ntk_http_body_unref(routes->last);
    ntk_http_body_unref(routes->ranks);
    pthread_mutex_destroy(&routes->lock);
    free(routes);
}

uint16_t ntk_routes_port_get(const struct ntk_routes *routes)
{
    return ntk_http_server_port_get(routes->server);
}

static struct ntk_http_body *body_of(const struct ntk_buf *line)
{
    struct ntk_buf buf = { 0 };

    ntk_buf_add(&buf, line->bytes, line->bytes_count);
    return ntk_http_body_create(&buf);
}

static void body_replace(struct ntk_routes *routes, struct ntk_http_body **place,
                         struct ntk_http_body *body)
{
    pthread_mutex_lock(&routes->lock);
    struct ntk_http_body *before = *place;
    *place = body;
    pthread_mutex_unlock(&routes->lock);
    ntk_http_body_unref(before);
}

void ntk_routes_put(struct ntk_routes *routes, const struct ntk_buf *line,
                    const struct ntk_buf *full)
{
    struct ntk_http_body *body = body_of(line);
    struct ntk_http_body *whole = full ? body_of(full) : ntk_http_body_ref(body);

    if (!body || !whole) { /* out of memory: skip this report, try the next */
        ntk_http_body_unref(body);
        ntk_http_body_unref(whole);
        return;
    }
    ntk_http_feed_publish(routes->stream, body, true);
    ntk_http_feed_publish(routes->live, whole, true);
    ntk_http_body_unref(whole);
    body_replace(routes, &routes->last, body);
}

void ntk_routes_ranks_put(struct ntk_routes *routes, const struct ntk_buf *line)
{
    struct ntk_http_body *body = body_of(line);

    if (body) {
        body_replace(routes, &routes->ranks, body);
    }
}
