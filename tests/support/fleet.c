/* SPDX-License-Identifier: MIT */
/*
 * fleet - many machines in one process. Each is a page of the real exporter, updated with reports
 * that real agents wrote: one report per scrape or push.
 *
 *   fleet serve NODES FILE...                serves /n/0/metrics and so on; prints "port PORT ..."
 *   fleet push NODES ROUNDS SECONDS URL FILE...
 *                                            pushes as remote write, one round every SECONDS;
 *                                            prints the cost as one JSON object
 *
 * Node k is of the kind of file k modulo files, and reads its lines from line k on. FLEET_NATIVE=1
 * pushes native histograms, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "exporters/prometheus/prometheus_encode.h"
#include "exporters/prometheus/prometheus_negotiate.h"
#include "exporters/points/points_page.h"
#include "exporters/remote_write/remote_write_encode.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"
#include "shared/http/http_server.h"
#include "shared/report/report_json.h"

enum { NODES_MAX = 4096, KINDS_MAX = 8, LINES_MAX = 64, SERVERS = 8 };

struct kind {
    struct ntk_snapshot *snapshots[LINES_MAX];
    size_t count;
};

struct node {
    struct ntk_points_page page;
    struct ntk_remote_write *encoder;
    char instance[32];
    const struct kind *kind;
    size_t next;
};

static struct kind kinds[KINDS_MAX];
static struct node *nodes; /* a page is large, and mostly unused */
static size_t node_count;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "fleet: %s: %s\n", what, why);
    exit(1);
}

static void read_kind(struct kind *kind, const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    struct ntk_err err = { 0 };

    if (!file) {
        fail(path, "cannot be read");
    }
    while (kind->count < LINES_MAX && (bytes = getline(&line, &room, file)) > 0) {
        if (ntk_report_read(line, (size_t)bytes, &kind->snapshots[kind->count], &err) < 0) {
            fail(path, err.text);
        }
        kind->count++;
    }
    free(line);
    fclose(file);
    if (kind->count == 0) {
        fail(path, "no report");
    }
}

static void make_nodes(const char *count, char **files, size_t file_count)
{
    uint64_t wanted = 0;

    if (ntk_str_parse_u64(count, &wanted) < 0 || wanted == 0 || wanted > NODES_MAX ||
        file_count == 0 || file_count > KINDS_MAX) {
        fail(count, "1 to 4096 nodes of 1 to 8 files");
    }
    for (size_t i = 0; i < file_count; i++) {
        read_kind(&kinds[i], files[i]);
    }
    node_count = (size_t)wanted;
    nodes = calloc(node_count, sizeof *nodes);
    if (!nodes) {
        fail(count, "out of memory");
    }
    for (size_t i = 0; i < node_count; i++) {
        nodes[i].kind = &kinds[i % file_count];
        nodes[i].next = i;
        (void)snprintf(nodes[i].instance, sizeof nodes[i].instance, "node-%zu", i);
    }
}

/* Puts the node's next report. */
static void step(struct node *node)
{
    (void)ntk_points_page_update(&node->page,
                                 node->kind->snapshots[node->next++ % node->kind->count]);
}

/* -- pages ------------------------------------------------------------------------------------- */

static void answer(const struct ntk_http_request *request, struct ntk_http_response *response,
                   void *ctx)
{
    unsigned long k = strtoul(ntk_http_request_path_get(request) + strlen("/n/"), NULL, 10);
    enum ntk_prometheus_format format =
        ntk_prometheus_negotiate_format(ntk_http_request_header_get(request, "Accept"));
    struct ntk_buf text = { 0 };

    (void)ctx;
    if (k >= node_count) {
        response->status = 404;
        return;
    }
    step(&nodes[k]);
    ntk_prometheus_encode(&nodes[k].page, format, false, &text);
    response->body = ntk_http_body_create(&text);
    response->content_type = ntk_prometheus_content_type_get(format);
    if (ntk_http_request_takes_gzip(request) && response->body) {
        struct ntk_http_body *packed = ntk_http_body_gzip(response->body);

        ntk_http_body_unref(response->body);
        response->body = packed;
        response->content_encoding = "gzip";
    }
}

static _Noreturn void serve(void)
{
    static const struct ntk_http_route routes[] = { { "/n/*", answer, NULL },
                                                    { NULL, NULL, NULL } };
    struct ntk_http_options options = { .routes = routes };
    struct ntk_err err = { 0 };

    if (ntk_http_address_parse("127.0.0.1:0", "", &options.address, &err) < 0) {
        fail("127.0.0.1:0", err.text);
    }
    for (int i = 0; i < SERVERS; i++) { /* node k is served at port k modulo SERVERS */
        struct ntk_http_server *server;

        if (ntk_http_server_create(&options, &server, &err) < 0) {
            fail("a server", err.text);
        }
        printf("%s%u", i ? " " : "", ntk_http_server_port_get(server));
    }
    printf("\n");
    fflush(stdout);
    for (;;) {
        pause();
    }
}

/* -- remote write ------------------------------------------------------------------------------ */

struct pushing {
    struct ntk_http_client *client;
    const char *url;
    uint64_t samples;
    uint64_t bytes;
    uint64_t requests;
    uint64_t failures;
};

static int post(struct ntk_buf *request, uint64_t sample_count, void *ctx, struct ntk_err *err)
{
    static const char *const headers[] = { "Content-Encoding: snappy",
                                           "Content-Type: application/x-protobuf",
                                           "X-Prometheus-Remote-Write-Version: 0.1.0", NULL };
    struct pushing *pushing = ctx;
    const struct ntk_http_question question = { .url = pushing->url,
                                                .headers = headers,
                                                .body = request->bytes,
                                                .body_bytes = request->bytes_count };
    struct ntk_http_answer said = { 0 };
    int ret = ntk_http_client_ask(pushing->client, &question, &said, err);

    pushing->requests++;
    pushing->bytes += request->bytes_count;
    if (ret < 0 || said.status / 100 != 2) {
        fprintf(stderr, "fleet: %s\n", ret < 0 ? err->text : ntk_buf_text_get(&said.body));
        pushing->failures++;
    } else {
        pushing->samples += sample_count;
    }
    ntk_http_answer_fini(&said);
    return 0;
}

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int push(uint64_t rounds, uint64_t seconds, const char *url)
{
    bool has_native = getenv("FLEET_NATIVE") != NULL;
    struct pushing pushing = { .client = ntk_http_client_create(), .url = url };
    struct ntk_err err = { 0 };
    uint64_t busy_ns = 0;

    for (size_t i = 0; i < node_count; i++) {
        const struct ntk_remote_write_options options = { .job = "neuron",
                                                          .instance = nodes[i].instance,
                                                          .has_native = has_native };

        nodes[i].page.keeps_fine_latencies = has_native;
        nodes[i].encoder = ntk_remote_write_create(&options);
    }
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t began_ns = ntk_clock_monotonic_ns();
        int64_t now_ms = (int64_t)(ntk_clock_realtime_ns() / 1000000);

        for (size_t i = 0; i < node_count; i++) {
            step(&nodes[i]);
            if (ntk_remote_write_encode(nodes[i].encoder, &nodes[i].page, now_ms, false, post,
                                        &pushing, &err) < 0) {
                fail(nodes[i].instance, err.text);
            }
        }
        uint64_t took_ns = ntk_clock_monotonic_ns() - began_ns;

        busy_ns += took_ns;
        if (round + 1 < rounds && took_ns < seconds * NTK_NS_PER_SECOND) {
            uint64_t rest_ns = seconds * NTK_NS_PER_SECOND - took_ns;
            const struct timespec rest = { .tv_sec = (time_t)(rest_ns / NTK_NS_PER_SECOND),
                                           .tv_nsec = (long)(rest_ns % NTK_NS_PER_SECOND) };

            nanosleep(&rest, NULL);
        }
    }
    printf("{\"nodes\":%zu,\"rounds\":%llu,\"samples\":%llu,\"bytes\":%llu,\"requests\":%llu,"
           "\"failures\":%llu,\"busy_seconds\":%.3f,\"cpu_seconds\":%.3f}\n",
           node_count, (unsigned long long)rounds, (unsigned long long)pushing.samples,
           (unsigned long long)pushing.bytes, (unsigned long long)pushing.requests,
           (unsigned long long)pushing.failures, (double)busy_ns / 1e9, cpu_seconds());
    return pushing.failures > 0;
}

int main(int argc, char **argv)
{
    uint64_t rounds = 0;
    uint64_t seconds = 0;

    if (argc >= 4 && strcmp(argv[1], "serve") == 0) {
        make_nodes(argv[2], argv + 3, (size_t)argc - 3);
        serve();
    }
    if (argc < 7 || strcmp(argv[1], "push") != 0 || ntk_str_parse_u64(argv[3], &rounds) < 0 ||
        ntk_str_parse_u64(argv[4], &seconds) < 0) {
        fail("usage", "serve NODES FILE... or push NODES ROUNDS SECONDS URL FILE...");
    }
    make_nodes(argv[2], argv + 6, (size_t)argc - 6);
    return push(rounds, seconds, argv[5]);
}
