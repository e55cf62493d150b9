/* SPDX-License-Identifier: MIT */
/* routes - what the agent's own HTTP port answers. */
#include "agent/http/routes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "shared/base/log.h"
#include "shared/http/http_server.h"

#define LOOPBACK "127.0.0.1"

struct ntk_routes {
    const struct ntk_exporter *exporter;
    void *exporter_state;
    struct ntk_http_route routes[7];
    struct ntk_http_server *server;
    struct ntk_http_feed *feed;
    pthread_mutex_t lock;       /* last */
    struct ntk_http_body *last; /* NULL before the first report */
};

static void answer_index(const struct ntk_http_request *request, struct ntk_http_response *response,
                         void *ctx)
{
    (void)request;
    (void)ctx;
    response->text = "neuron-monitor " NTK_VERSION "\n\n"
                     "/metrics         for Prometheus\n"
                     "/api/v1/report   the last report as JSON\n"
                     "/api/v1/stream   all reports from now on, a line each\n";
}

static void answer_metrics(const struct ntk_http_request *request,
                           struct ntk_http_response *response, void *ctx)
{
    struct ntk_routes *routes = ctx;

    routes->exporter->answer(routes->exporter_state, request, response);
}

static void answer_report(const struct ntk_http_request *request,
                          struct ntk_http_response *response, void *ctx)
{
    struct ntk_routes *routes = ctx;

    (void)request;
    pthread_mutex_lock(&routes->lock);
    response->body = ntk_http_body_ref(routes->last);
    pthread_mutex_unlock(&routes->lock);
    if (response->body) {
        response->content_type = "application/json";
    } else {
        response->status = 503;
        response->text = "no report yet\n";
    }
}

static void answer_stream(const struct ntk_http_request *request,
                          struct ntk_http_response *response, void *ctx)
{
    struct ntk_routes *routes = ctx;

    (void)request;
    pthread_mutex_lock(&routes->lock); /* the server answers before the feed is there */
    response->feed = routes->feed;
    pthread_mutex_unlock(&routes->lock);
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
    pthread_mutex_lock(&routes->lock);
    response->status = routes->last ? 200 : 503;
    pthread_mutex_unlock(&routes->lock);
    response->text = response->status == 200 ? "neuron-monitor is ready\n" : "no report yet\n";
}

int ntk_routes_create(const char *address, struct ntk_http_security *security,
                      const struct ntk_exporter *exporter, void *exporter_state,
                      struct ntk_routes **out_routes, struct ntk_err *err)
{
    struct ntk_routes *routes = calloc(1, sizeof *routes);
    struct ntk_http_options options = { 0 };

    if (!routes) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    const struct ntk_http_route table[] = {
        { "/", answer_index, routes },
        { "/metrics", answer_metrics, routes },
        { "/api/v1/report", answer_report, routes },
        { "/api/v1/stream", answer_stream, routes },
        { "/-/healthy", answer_healthy, routes },
        { "/-/ready", answer_ready, routes },
        { NULL, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        routes->routes[i] = table[i];
    }
    routes->exporter = exporter;
    routes->exporter_state = exporter_state;
    pthread_mutex_init(&routes->lock, NULL);
    options.routes = routes->routes;
    options.security = security;
    int ret = ntk_http_address_parse(address, LOOPBACK, &options.address, err);
    if (ret >= 0) {
        ret = ntk_http_server_create(&options, &routes->server, err);
    }
    if (ret >= 0) {
        struct ntk_http_feed *feed = ntk_http_feed_create(routes->server, "application/jsonl");
        pthread_mutex_lock(&routes->lock);
        routes->feed = feed;
        pthread_mutex_unlock(&routes->lock);
        ret = feed ? 0 : ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    if (ret < 0) {
        ntk_routes_destroy(routes);
        return ret;
    }
    ntk_log_info("http", "serving at port %u", ntk_http_server_port_get(routes->server));
    *out_routes = routes;
    return 0;
}

void ntk_routes_destroy(struct ntk_routes *routes)
{
    if (!routes) {
        return;
    }
    ntk_http_server_destroy(routes->server);
    ntk_http_body_unref(routes->last);
    pthread_mutex_destroy(&routes->lock);
    free(routes);
}

void ntk_routes_put(struct ntk_routes *routes, const char *line, size_t line_bytes)
{
    struct ntk_buf buf = { 0 };

    ntk_buf_add(&buf, line, line_bytes);
    struct ntk_http_body *body = ntk_http_body_create(&buf);
    if (!body) {
        return; /* no memory: this report is missing here, the next one is tried */
    }
    ntk_http_feed_publish(routes->feed, body, true);
    pthread_mutex_lock(&routes->lock);
    struct ntk_http_body *before = routes->last;
    routes->last = body;
    pthread_mutex_unlock(&routes->lock);
    ntk_http_body_unref(before);
}
