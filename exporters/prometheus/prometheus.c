/* SPDX-License-Identifier: MIT */
/*
 * prometheus - when and where: the page is encoded once per snapshot, and whoever asks gets these
 * bytes, on "/" and "/metrics" of a port of its own and wherever the agent mounts answer().
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "exporters/exporter.h"
#include "exporters/prometheus/prometheus_encode.h"
#include "exporters/prometheus/prometheus_page.h"
#include "shared/base/log.h"
#include "shared/http/http_server.h"

struct prometheus {
    struct ntk_prometheus_page page;
    bool vendor_only;
    struct ntk_http_server *server; /* NULL without a port of its own */
    struct ntk_http_route routes[6];
    pthread_mutex_t lock;       /* text */
    struct ntk_http_body *text; /* NULL before the first snapshot */
};

static void answer_metrics(void *state, const struct ntk_http_request *request,
                           struct ntk_http_response *response)
{
    struct prometheus *prometheus = state;

    (void)request;
    pthread_mutex_lock(&prometheus->lock);
    response->body = ntk_http_body_ref(prometheus->text);
    pthread_mutex_unlock(&prometheus->lock);
    if (response->body) {
        response->content_type = ntk_prometheus_content_type_get(NTK_PROMETHEUS_TEXT_0_0_4);
    } else {
        response->status = 503;
        response->text = "no report yet\n";
    }
}

static void route_metrics(const struct ntk_http_request *request,
                          struct ntk_http_response *response, void *ctx)
{
    answer_metrics(ctx, request, response);
}

static void route_healthy(const struct ntk_http_request *request,
                          struct ntk_http_response *response, void *ctx)
{
    (void)request;
    (void)ctx;
    response->text = "neuron-monitor is healthy\n";
}

static void route_ready(const struct ntk_http_request *request, struct ntk_http_response *response,
                        void *ctx)
{
    struct prometheus *prometheus = ctx;

    (void)request;
    pthread_mutex_lock(&prometheus->lock);
    bool ready = prometheus->text != NULL;
    pthread_mutex_unlock(&prometheus->lock);
    response->status = ready ? 200 : 503;
    response->text = ready ? "neuron-monitor is ready\n" : "no report yet\n";
}

static void destroy(void *state)
{
    struct prometheus *prometheus = state;

    if (!prometheus) {
        return;
    }
    ntk_http_server_destroy(prometheus->server);
    ntk_http_body_unref(prometheus->text);
    ntk_prometheus_page_fini(&prometheus->page);
    pthread_mutex_destroy(&prometheus->lock);
    free(prometheus);
}

static int create(const struct ntk_exporter_options *options, void **out_state, struct ntk_err *err)
{
    struct prometheus *prometheus = calloc(1, sizeof *prometheus);
    struct ntk_http_options http = { 0 };
    int ret = 0;

    if (!prometheus) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    pthread_mutex_init(&prometheus->lock, NULL);
    prometheus->vendor_only = options->vendor_only;
    if (options->target) {
        const struct ntk_http_route routes[] = {
            { "/metrics", route_metrics, prometheus },
            { "/", route_metrics, prometheus }, /* where the vendor's users look */
            { "/-/healthy", route_healthy, prometheus },
            { "/-/ready", route_ready, prometheus },
            { "/health", route_healthy, prometheus },
            { NULL, NULL, NULL },
        };
        for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
            prometheus->routes[i] = routes[i];
        }
        http.routes = prometheus->routes;
        ret = ntk_http_address_parse(options->target, "", &http.address, err);
        if (ret >= 0) {
            ret = ntk_http_server_create(&http, &prometheus->server, err);
        }
        if (ret >= 0) {
            ntk_log_info("prometheus", "serving metrics at port %u",
                         ntk_http_server_port_get(prometheus->server));
        }
    }
    if (ret < 0) {
        destroy(prometheus);
        return ret;
    }
    *out_state = prometheus;
    return 0;
}

static int put(void *state, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    struct prometheus *prometheus = state;
    struct ntk_buf text = { 0 };

    int ret = ntk_prometheus_page_update(&prometheus->page, snapshot);
    ntk_prometheus_page_update_process(&prometheus->page);
    ntk_prometheus_encode(&prometheus->page, NTK_PROMETHEUS_TEXT_0_0_4, prometheus->vendor_only,
                          &text);
    struct ntk_http_body *body = ntk_http_body_create(&text);
    if (!body) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                           "out of memory; the page stays as it was");
    }
    pthread_mutex_lock(&prometheus->lock);
    struct ntk_http_body *before = prometheus->text;
    prometheus->text = body;
    pthread_mutex_unlock(&prometheus->lock);
    ntk_http_body_unref(before);
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET,
                                 "no room for all runtimes; some are missing on the page")
                   : 0;
}

const struct ntk_exporter ntk_exporter_prometheus = {
    .name = "prometheus",
    .create = create,
    .put = put,
    .answer = answer_metrics,
    .destroy = destroy,
};
