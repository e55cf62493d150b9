/* SPDX-License-Identifier: MIT */
/*
 * prometheus - serves the page, encoded when requested, on every path of its port and on the path
 * of the agent. Requests within TEXT_NS get the same bytes. A page of more than WHOLE_BYTES is
 * encoded while it is sent, and not kept. Without a scraper, a period only updates the page.
 *
 * A page never shows old values as new: it requests newer values from its source if possible, it
 * includes their age, and after three periods without a report it has no values.
 */
#include "exporters/prometheus/prometheus.h"

#include <pthread.h>
#include <stdlib.h>

#include "exporters/prometheus/prometheus_encode.h"
#include "exporters/prometheus/prometheus_negotiate.h"
#include "exporters/prometheus/prometheus_stream.h"
#include "exporters/points/points_page.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/http/http_guard.h"
#include "shared/http/http_ports.h"
#include "shared/http/http_server.h"
#include "shared/metrics/snapshot.h"

/* Scrapes that still get the last counts of an application: a running scrape, and the next. */
#define LAST_SCRAPES 2

/* Time for which a text is served, unless a snapshot arrives. */
#define TEXT_NS (250 * NTK_NS_PER_MS)
#define WHOLE_BYTES ((size_t)4 << 20)
/* Missed reports before the page is stale. A period counts as at least a second, because reading a
 * machine may take that long. */
#define STALE_PERIODS 3
#define PERIOD_NS_MIN NTK_NS_PER_SECOND
/* Period for the first report of a program that does not announce the next one. */
#define PERIOD_NS_UNKNOWN (60 * NTK_NS_PER_SECOND)

const char *ntk_prometheus_address;

static int set_address(const char *value, struct ntk_err *err)
{
    struct ntk_http_address address;

    ntk_prometheus_address = value;
    return ntk_http_address_parse(value, "", &address, err);
}

static int (*const call_address)(const char *, struct ntk_err *) = set_address;

static const struct ntk_opt option_rows[] = {
    { 0, "prometheus", "[ADDRESS]:PORT", NTK_OPT_CALL, (void *)(uintptr_t)&call_address,
      "serve metrics for Prometheus on every path, such as /metrics, usually on "
      "port " NTK_HTTP_PORT_TEXT(NTK_HTTP_PORT_METRICS) },
    { 0 },
};

static int is_asked(struct ntk_err *err)
{
    (void)err;
    return ntk_prometheus_address != NULL;
}

struct prometheus {
    bool vendor_only;
    struct ntk_http_guard *guard;   /* NULL: all host names are accepted */
    struct ntk_http_server *server; /* NULL without a separate port */
    struct ntk_http_route routes[5];
    pthread_mutex_t lock; /* protects all members below */
    struct ntk_points_page page;
    struct prometheus_streams streams;
    bool has_snapshot;
    uint64_t put_ns;         /* time of the last put */
    uint64_t gap_ns;         /* time between the last two puts; 0 if there was only one */
    uint64_t last_period_ns; /* period of the last report */
    uint64_t every_ns;       /* announced time to the next report; 0 if not announced */
    uint64_t text_ns;        /* time when the first of the texts was encoded */
    void (*refresh)(void *ctx);
    void *refresh_ctx;
    const struct ntk_clock *clock;
    /* Texts for the last snapshot, by format and compression; NULL until a client requests them. */
    struct ntk_http_body *text[NTK_PROMETHEUS_FORMAT_COUNT][2];
};

/* Returns the longest time until the next report is expected. */
static uint64_t period_ns(const struct prometheus *prometheus)
{
    uint64_t longest_ns = prometheus->every_ns;

    if (!longest_ns) { /* a report of another program: use the last period, or the announced time */
        longest_ns = prometheus->gap_ns ? prometheus->gap_ns : PERIOD_NS_UNKNOWN;
        longest_ns =
            longest_ns > prometheus->last_period_ns ? longest_ns : prometheus->last_period_ns;
    }
    return longest_ns > PERIOD_NS_MIN ? longest_ns : PERIOD_NS_MIN;
}

/* Updates the age. The caller holds the lock. */
static void update_age(struct prometheus *prometheus, uint64_t now_ns)
{
    uint64_t age_ns = prometheus->has_snapshot ? now_ns - prometheus->put_ns : 0;
    bool is_stale = age_ns > STALE_PERIODS * period_ns(prometheus);

    if (is_stale != prometheus->page.age.is_stale) {
        prometheus_stream_freeze(&prometheus->streams); /* a stale page has no values */
    }
    prometheus->page.age = (struct ntk_points_age){
        .is_known = prometheus->has_snapshot,
        .is_stale = is_stale,
        .seconds = (double)age_ns / (double)NTK_NS_PER_SECOND,
        .period_seconds = (double)period_ns(prometheus) / (double)NTK_NS_PER_SECOND,
    };
}

/* Encodes the whole page, or the first part of a large page. Then *out_rest encodes the others. */
static void encode(const struct prometheus *prometheus, enum ntk_prometheus_format format,
                   struct ntk_buf *out, struct ntk_prometheus_parts **out_rest)
{
    if (format == NTK_PROMETHEUS_PROTOBUF) {
        ntk_prometheus_encode(&prometheus->page, format, prometheus->vendor_only, out);
        return;
    }
    struct ntk_prometheus_parts *parts =
        ntk_prometheus_parts_create(&prometheus->page, format, prometheus->vendor_only);
    out->failed = !parts;
    if (parts && ntk_prometheus_parts_next(parts, WHOLE_BYTES, out) && ntk_buf_ok(out)) {
        *out_rest = parts;
        parts = NULL;
    }
    ntk_prometheus_parts_destroy(parts);
}

/* Sets the body or the source of the response; neither if out of memory. The caller holds the
 * lock. */
static void text_put(struct prometheus *prometheus, enum ntk_prometheus_format format, bool gzip,
                     struct ntk_http_response *response)
{
    struct ntk_http_body **text = prometheus->text[format];

    if (!text[0]) {
        struct ntk_buf buf = { 0 };
        struct ntk_prometheus_parts *rest = NULL;
        if (!prometheus->text_ns) {
            prometheus->text_ns = ntk_clock_now_ns(prometheus->clock);
            update_age(prometheus, prometheus->text_ns);
            ntk_points_page_update_process(&prometheus->page);
        }
        encode(prometheus, format, &buf, &rest);
        if (rest) {
            prometheus_stream_start(&prometheus->streams, rest, &buf, &response->source);
            response->source.is_gzip = gzip;
            return;
        }
        text[0] = ntk_http_body_create(&buf);
    }
    if (gzip && text[0] && !text[1]) {
        text[1] = ntk_http_body_gzip(text[0]);
    }
    response->body = ntk_http_body_ref(text[gzip]);
}

/* Drops the texts. The caller holds the lock. */
static void text_forget(struct prometheus *prometheus)
{
    prometheus->text_ns = 0;
    for (int format = 0; format < NTK_PROMETHEUS_FORMAT_COUNT; format++) {
        for (int gzip = 0; gzip < 2; gzip++) {
            ntk_http_body_unref(prometheus->text[format][gzip]);
            prometheus->text[format][gzip] = NULL;
        }
    }
}

static void answer_metrics(void *state, const struct ntk_http_request *request,
                           struct ntk_http_response *response)
{
    struct prometheus *prometheus = state;
    enum ntk_prometheus_format format =
        ntk_prometheus_negotiate_format(ntk_http_request_header_get(request, "Accept"));
    bool gzip =
        ntk_prometheus_negotiate_gzip(ntk_http_request_header_get(request, "Accept-Encoding"));

    if (prometheus->refresh) {
        prometheus->refresh(prometheus->refresh_ctx);
    }
    pthread_mutex_lock(&prometheus->lock);
    bool has_snapshot = prometheus->has_snapshot;
    if (ntk_clock_now_ns(prometheus->clock) - prometheus->text_ns > TEXT_NS) {
        text_forget(prometheus);
    }
    if (has_snapshot) {
        text_put(prometheus, format, gzip, response);
    }
    if (response->body) {
        prometheus_stream_delivered(&prometheus->streams);
    }
    if (prometheus->streams.has_left) {
        prometheus->streams.has_left = false;
        text_forget(prometheus); /* the response holds its own reference */
    }
    pthread_mutex_unlock(&prometheus->lock);
    response->vary = "Accept, Accept-Encoding";
    if (response->body || response->source.next) {
        response->content_type = ntk_prometheus_content_type_get(format);
        response->content_encoding = gzip ? "gzip" : NULL;
    } else {
        response->status = has_snapshot ? 500 : 503;
        response->text = has_snapshot ? "out of memory\n" : "no report yet\n";
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
    update_age(prometheus, ntk_clock_now_ns(prometheus->clock));
    struct ntk_points_age age = prometheus->page.age;
    pthread_mutex_unlock(&prometheus->lock);
    response->status = age.is_known && !age.is_stale ? 200 : 503;
    response->text = !age.is_known  ? "no report yet\n"
                     : age.is_stale ? "no report for three periods\n"
                                    : "neuron-monitor is ready\n";
}

static bool is_stale(void *state)
{
    struct prometheus *prometheus = state;

    pthread_mutex_lock(&prometheus->lock);
    update_age(prometheus, ntk_clock_now_ns(prometheus->clock));
    bool stale = prometheus->page.age.is_stale;
    pthread_mutex_unlock(&prometheus->lock);
    return stale;
}

static void destroy(void *state)
{
    struct prometheus *prometheus = state;

    if (!prometheus) {
        return;
    }
    ntk_http_server_destroy(prometheus->server);
    ntk_http_guard_destroy(prometheus->guard);
    text_forget(prometheus);
    ntk_points_page_fini(&prometheus->page);
    pthread_mutex_destroy(&prometheus->lock);
    free(prometheus);
}

static int create(const struct ntk_exporter_options *options, void **out_state, struct ntk_err *err)
{
    struct prometheus *prometheus = calloc(1, sizeof *prometheus);
    struct ntk_http_options http = { 0 };
    int ret = 0;

    if (!prometheus) {
        return ntk_err_no_memory(err);
    }
    pthread_mutex_init(&prometheus->lock, NULL);
    prometheus->streams.lock = &prometheus->lock;
    prometheus->streams.page = &prometheus->page;
    prometheus->vendor_only = options->vendor_only;
    prometheus->refresh = options->refresh;
    prometheus->refresh_ctx = options->refresh_ctx;
    prometheus->clock = options->clock;
    ntk_points_page_init(&prometheus->page, options);
    prometheus->page.last_looks = LAST_SCRAPES;
    /* a scraper of native histograms may come later */
    prometheus->page.keeps_fine_latencies = true;
    if (ntk_prometheus_address) {
        const struct ntk_http_route routes[] = {
            { "/-/healthy", route_healthy, prometheus },
            { "/-/ready", route_ready, prometheus },
            { "/health", route_healthy, prometheus },
            /* /metrics, "/", and like the vendor's exporter any path */
            { "/*", route_metrics, prometheus },
            { NULL, NULL, NULL },
        };
        for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
            prometheus->routes[i] = routes[i];
        }
        http.routes = prometheus->routes;
        http.security = options->security;
        ret = ntk_http_address_parse(ntk_prometheus_address, "", &http.address, err);
        if (ret >= 0 && ntk_http_address_is_loopback(&http.address)) {
            const struct ntk_http_guard_options guard = { .names = options->host_names };
            ret = ntk_http_guard_create(&guard, &prometheus->guard, err);
            http.guard = prometheus->guard;
        }
        if (ret >= 0) {
            ret = ntk_http_server_create(&http, &prometheus->server, err);
        }
        if (ret >= 0) {
            ntk_log_info("prometheus", "serving metrics on port %u",
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

static int resume(void *ctx, const struct ntk_snapshot *totals, struct ntk_err *err)
{
    struct prometheus *state = ctx;

    pthread_mutex_lock(&state->lock);
    prometheus_stream_freeze(&state->streams);
    int ret = ntk_points_page_resume(&state->page, totals);
    pthread_mutex_unlock(&state->lock);
    return ret < 0 ? ntk_err_no_memory(err) : 0;
}

static int put(void *state, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    struct prometheus *prometheus = state;
    uint64_t now_ns = ntk_clock_now_ns(prometheus->clock);

    pthread_mutex_lock(&prometheus->lock);
    prometheus_stream_freeze(&prometheus->streams);
    int ret = ntk_points_page_update(&prometheus->page, snapshot);
    text_forget(prometheus);
    prometheus->gap_ns = prometheus->has_snapshot ? now_ns - prometheus->put_ns : 0;
    prometheus->put_ns = now_ns;
    prometheus->last_period_ns = snapshot->period_ns;
    prometheus->every_ns = snapshot->every_ns;
    prometheus->has_snapshot = true;
    pthread_mutex_unlock(&prometheus->lock);
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET,
                                 "out of memory: the page does not show all runtimes")
                   : 0;
}

unsigned ntk_prometheus_port_get(const void *state)
{
    const struct prometheus *prometheus = state;

    return ntk_http_server_port_get(prometheus->server);
}

const struct ntk_exporter ntk_exporter_prometheus = {
    .name = "prometheus",
    .options = option_rows,
    .is_asked = is_asked,
    .listens = true,
    .create = create,
    .put = put,
    .resume = resume,
    .path = "/metrics",
    .answer = answer_metrics,
    .is_stale = is_stale,
    .destroy = destroy,
};
