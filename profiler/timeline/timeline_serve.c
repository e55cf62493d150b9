/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_serve.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/summary.h"
#include "profiler/output/output.h"
#include "profiler/output/output_analysis.h"
#include "profiler/output/system_analyses.h"
#include "profiler/timeline/page/page_files.h"
#include "profiler/timeline/timeline_answer.h"
#include "profiler/timeline/timeline_insight.h"
#include "profiler/timeline/timeline_tile.h"
#include "shared/base/str.h"
#include "shared/http/http_files.h"
#include "shared/http/http_guard.h"

/* Numbers of a list in one question; the page asks for what is on the screen. */
#define LIST_MAX 4096

#define ROUTES_MAX 24

struct ntk_timeline_serve {
    const struct ntk_timeline *timeline;
    char *title;
    bool compares;
    const struct ntk_system_trace *const *traces;
    size_t trace_count;
    struct ntk_http_files *files;
    struct ntk_http_guard *guard;
    struct ntk_http_server *server;
    struct ntk_http_route routes[ROUTES_MAX];
    struct ntk_http_route slow_routes[ROUTES_MAX];
    /* Of each source, made when they are asked for: slow routes have one thread. */
    struct ntk_analyses **analyses;
};

/* ---- parameters ------------------------------------------------------------------------------------ */

static int get_u64(const struct ntk_http_request *request, const char *name, uint64_t max,
                   uint64_t *out_value, struct ntk_err *err)
{
    const char *text = ntk_http_request_query_get(request, name);

    if (!text) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s is missing", name);
    }
    if (ntk_str_parse_u64(text, out_value) < 0 || *out_value > max) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s is no number from 0 to %llu", name,
                           (unsigned long long)max);
    }
    return 0;
}

/* A list of numbers like "0,3-7"; the caller frees. */
static int get_list(const struct ntk_http_request *request, const char *name, uint32_t **out_values,
                    size_t *out_count, struct ntk_err *err)
{
    const char *text = ntk_http_request_query_get(request, name);

    if (!text) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s is missing", name);
    }
    uint32_t *values = malloc(LIST_MAX * sizeof *values);
    if (!values) {
        return ntk_err_no_memory(err);
    }
    *out_count = LIST_MAX;
    if (ntk_str_parse_list(text, UINT32_MAX, values, out_count) < 0) {
        free(values);
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "%s is no list of at most %d numbers like 0,3-7", name, LIST_MAX);
    }
    *out_values = values;
    return 0;
}

static uint64_t span_of(const struct ntk_timeline *timeline)
{
    return (uint64_t)(timeline->end_ps - timeline->begin_ps);
}

static int get_range(const struct ntk_timeline_serve *serve, const struct ntk_http_request *request,
                     uint64_t *out_from, uint64_t *out_to, struct ntk_err *err)
{
    int ret = get_u64(request, "from", span_of(serve->timeline), out_from, err);

    if (ret == 0) {
        ret = get_u64(request, "to", span_of(serve->timeline) + 1, out_to, err);
    }
    return ret == 0 && *out_from > *out_to
               ? ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "from is behind to")
               : ret;
}

static int get_source(const struct ntk_timeline_serve *serve,
                      const struct ntk_http_request *request, uint64_t *out_source,
                      struct ntk_err *err)
{
    if (serve->timeline->source_count == 0) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "there is no capture");
    }
    return get_u64(request, "source", serve->timeline->source_count - 1, out_source, err);
}

/* ---- answers: each fills the body, or the sentence and a code ---------------------------------------- */

typedef int answer(const struct ntk_timeline_serve *serve, const struct ntk_http_request *request,
                   struct ntk_buf *out, struct ntk_err *err);

static int answer_meta(const struct ntk_timeline_serve *serve,
                       const struct ntk_http_request *request, struct ntk_buf *out,
                       struct ntk_err *err)
{
    (void)request;
    (void)err;
    ntk_timeline_put_meta(serve->timeline, serve->title, serve->compares, out);
    return 0;
}

static int answer_tiles(const struct ntk_timeline_serve *serve,
                        const struct ntk_http_request *request, struct ntk_buf *out,
                        struct ntk_err *err)
{
    uint64_t level = 0;
    uint64_t tile = 0;
    uint32_t *tracks = NULL;
    size_t count = 0;
    int ret = get_u64(request, "level", 63, &level, err);

    if (ret == 0) {
        ret = get_u64(request, "tile", UINT64_MAX, &tile, err);
    }
    if (ret == 0) {
        ret = get_list(request, "tracks", &tracks, &count, err);
    }
    if (ret == 0) {
        ret =
            ntk_timeline_tile_put(serve->timeline, (unsigned)level, tile, tracks, count, out, err);
    }
    free(tracks);
    return ret;
}

static int answer_slice(const struct ntk_timeline_serve *serve,
                        const struct ntk_http_request *request, struct ntk_buf *out,
                        struct ntk_err *err)
{
    uint64_t track = 0;
    uint64_t slice = 0;
    int ret = get_u64(request, "track", UINT32_MAX, &track, err);

    if (ret == 0) {
        ret = get_u64(request, "slice", UINT32_MAX, &slice, err);
    }
    return ret == 0 ? ntk_timeline_put_slice(serve->timeline, track, slice, out, err) : ret;
}

static int answer_stats(const struct ntk_timeline_serve *serve,
                        const struct ntk_http_request *request, struct ntk_buf *out,
                        struct ntk_err *err)
{
    uint64_t from = 0;
    uint64_t to = 0;
    int ret = get_range(serve, request, &from, &to, err);

    return ret == 0 ? ntk_timeline_put_stats(serve->timeline, (int64_t)from, (int64_t)to, out)
                    : ret;
}

static int answer_hits(const struct ntk_timeline_serve *serve,
                       const struct ntk_http_request *request, struct ntk_buf *out,
                       struct ntk_err *err)
{
    uint64_t from = 0;
    uint64_t back = 0;
    uint32_t *whats = NULL;
    size_t count = 0;
    int ret = get_u64(request, "from", span_of(serve->timeline), &from, err);

    if (ret == 0) {
        ret = get_u64(request, "back", 1, &back, err);
    }
    if (ret == 0) {
        ret = get_list(request, "whats", &whats, &count, err);
    }
    if (ret < 0 || !whats) {
        return ret;
    }
    bool *is_wanted = calloc(serve->timeline->whats.count + 1, sizeof *is_wanted);
    out->failed |= !is_wanted;
    for (size_t i = 0; is_wanted && i < count; i++) {
        if (whats[i] < serve->timeline->whats.count) {
            is_wanted[whats[i]] = true;
        }
    }
    if (is_wanted) {
        ret = ntk_timeline_put_hits(serve->timeline, is_wanted, (int64_t)from, back, out);
    }
    free(is_wanted);
    free(whats);
    return ret;
}

static int answer_summary(const struct ntk_timeline_serve *serve,
                          const struct ntk_http_request *request, struct ntk_buf *out,
                          struct ntk_err *err)
{
    struct ntk_summary summary = { 0 };
    uint64_t source = 0;
    int ret = get_source(serve, request, &source, err);

    if (ret == 0) {
        ret = ntk_analysis_summary(serve->timeline->sources[source].trace, &summary);
    }
    if (ret == 0) {
        ntk_output_summary_json(&summary, serve->timeline->sources[source].name, out);
        ntk_summary_fini(&summary);
    }
    return ret;
}

/* ---- analyses -------------------------------------------------------------------------------------- */

static int analyses_of(const struct ntk_timeline_serve *serve, size_t source,
                       const struct ntk_analyses **out_analyses)
{
    struct ntk_analyses **slot = &serve->analyses[source];
    int ret = *slot ? 0 : ntk_analyses_create(serve->timeline->sources[source].trace, slot);

    *out_analyses = *slot;
    return ret;
}

static int analyses_asked(const struct ntk_timeline_serve *serve,
                          const struct ntk_http_request *request, uint64_t *out_source,
                          const struct ntk_analyses **out_analyses, struct ntk_err *err)
{
    int ret = get_source(serve, request, out_source, err);

    return ret == 0 ? analyses_of(serve, *out_source, out_analyses) : ret;
}

static int range_asked(const struct ntk_timeline_serve *serve,
                       const struct ntk_http_request *request, uint64_t *out_source,
                       uint64_t *out_from, uint64_t *out_to,
                       const struct ntk_analyses **out_analyses, struct ntk_err *err)
{
    int ret = get_range(serve, request, out_from, out_to, err);

    return ret == 0 ? analyses_asked(serve, request, out_source, out_analyses, err) : ret;
}

/* {"value": what is put between these two}, or null and why it is absent. */
static void begin_value(struct ntk_json *json, struct ntk_buf *out)
{
    ntk_json_init(json, out, false);
    ntk_json_object_begin(json);
    ntk_json_key(json, "value");
}

/* ret is that of putting it; -ENODATA: nothing was put, the files do not say, which is an answer too. */
static int end_value(int ret, const struct ntk_analysis_info *info, struct ntk_json *json)
{
    if (ret == -ENODATA) {
        ntk_json_null(json);
        ntk_json_key_text(json, "absent", info->absent);
        ret = 0;
    }
    ntk_json_object_end(json);
    return ret;
}

static int answer_analysis(const struct ntk_timeline_serve *serve,
                           const struct ntk_http_request *request, struct ntk_buf *out,
                           struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    const char *name = ntk_http_request_query_get(request, "name");
    int index = name ? ntk_analyses_find(name) : -1;
    struct ntk_json json;
    uint64_t source = 0;
    int ret = analyses_asked(serve, request, &source, &analyses, err);

    if (ret == 0 && index < 0) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "name is none of an analysis");
    }
    if (ret < 0) {
        return ret;
    }
    begin_value(&json, out);
    return end_value(ntk_analyses_put(analyses, (size_t)index, NULL, &json),
                     ntk_analyses_info((size_t)index), &json);
}

static int answer_host(const struct ntk_timeline_serve *serve,
                       const struct ntk_http_request *request, struct ntk_buf *out,
                       struct ntk_err *err)
{
    const char *name = ntk_http_request_query_get(request, "name");
    struct ntk_json json;
    size_t index = 0;

    while (index < ntk_system_analyses_count() &&
           (!name || strcmp(ntk_system_analyses_info(index)->name, name) != 0)) {
        index++;
    }
    if (index == ntk_system_analyses_count()) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "name is none of an analysis");
    }
    begin_value(&json, out);
    return end_value(ntk_system_analyses_put(serve->traces, serve->trace_count, index, NULL, &json),
                     ntk_system_analyses_info(index), &json);
}

static int answer_flows(const struct ntk_timeline_serve *serve,
                        const struct ntk_http_request *request, struct ntk_buf *out,
                        struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    uint64_t track = 0;
    uint64_t slice = 0;
    size_t source = 0;
    int ret = get_u64(request, "track", UINT32_MAX, &track, err);

    if (ret == 0) {
        ret = get_u64(request, "slice", UINT32_MAX, &slice, err);
    }
    if (ret == 0 && track < serve->timeline->tracks.count &&
        ntk_timeline_track_get(serve->timeline, track)->core) {
        source =
            ntk_timeline_source_of(serve->timeline, ntk_timeline_track_get(serve->timeline, track));
        ret = analyses_of(serve, source, &analyses);
    }
    return ret == 0 ? ntk_timeline_put_flows(serve->timeline, analyses, track, slice, out, err)
                    : ret;
}

static int answer_path(const struct ntk_timeline_serve *serve,
                       const struct ntk_http_request *request, struct ntk_buf *out,
                       struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    uint64_t source = 0;
    uint64_t from = 0;
    uint64_t to = 0;
    int ret = range_asked(serve, request, &source, &from, &to, &analyses, err);

    if (ret == 0) {
        ntk_timeline_put_path(serve->timeline, source, analyses, (int64_t)from, (int64_t)to, out);
    }
    return ret;
}

static int answer_flame(const struct ntk_timeline_serve *serve,
                        const struct ntk_http_request *request, struct ntk_buf *out,
                        struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    uint64_t source = 0;
    uint64_t from = 0;
    uint64_t to = 0;
    int ret = range_asked(serve, request, &source, &from, &to, &analyses, err);

    if (ret == 0) {
        ntk_timeline_put_flame(serve->timeline, source, analyses, (int64_t)from, (int64_t)to, out);
    }
    return ret;
}

static int measure(const struct ntk_analyses *analyses, struct ntk_measures *out_measures)
{
    return ntk_analysis_measures(analyses->program, analyses->has_path ? &analyses->path : NULL,
                                 &analyses->costs, out_measures);
}

static int answer_compare(const struct ntk_timeline_serve *serve,
                          const struct ntk_http_request *request, struct ntk_buf *out,
                          struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    struct ntk_measures measures[2] = { 0 };
    struct ntk_comparison comparison = { 0 };
    struct ntk_json json;
    int ret = 0;

    (void)request;
    if (!serve->compares) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "no two captures are compared");
    }
    for (size_t s = 0; s < 2 && ret == 0; s++) {
        ret = analyses_of(serve, s, &analyses);
        ret = ret == 0 ? measure(analyses, &measures[s]) : ret;
    }
    ret = ret == 0 ? ntk_analysis_comparison(&measures[0], 1, &measures[1], 1, &comparison) : ret;
    if (ret == 0) {
        ntk_json_init(&json, out, false);
        ntk_output_comparison_json(&comparison, &json);
        ntk_comparison_fini(&comparison);
    }
    ntk_measures_fini(&measures[0]);
    ntk_measures_fini(&measures[1]);
    return ret;
}

static const struct {
    const char *path;
    answer *answer;
    const char *type;
    bool is_slow; /* looks at whole rows, or asks analyses; the others cost what they say */
} answers[] = {
    { "/api/v1/meta", answer_meta, "application/json", false },
    { "/api/v1/tiles", answer_tiles, "application/octet-stream", false },
    { "/api/v1/slice", answer_slice, "application/json", false },
    { "/api/v1/stats", answer_stats, "application/json", true },
    { "/api/v1/hits", answer_hits, "application/json", true },
    { "/api/v1/summary", answer_summary, "application/json", true },
    { "/api/v1/analysis", answer_analysis, "application/json", true },
    { "/api/v1/host", answer_host, "application/json", true },
    { "/api/v1/flows", answer_flows, "application/json", true },
    { "/api/v1/path", answer_path, "application/json", true },
    { "/api/v1/flame", answer_flame, "application/json", true },
    { "/api/v1/compare", answer_compare, "application/json", true },
};

#define ANSWERS (sizeof answers / sizeof *answers)

static void put_error(struct ntk_buf *out, const struct ntk_err *err)
{
    ntk_buf_reset(out);
    ntk_buf_add_text(out, err->text[0] ? err->text : "out of memory");
    ntk_buf_add_char(out, '\n');
}

static void answer_any(const struct ntk_http_request *request, struct ntk_http_response *response,
                       void *ctx)
{
    const struct ntk_timeline_serve *serve = ctx;
    const char *path = ntk_http_request_path_get(request);
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    size_t a = 0;

    while (strcmp(answers[a].path, path) != 0) {
        a++; /* the route of each path leads here, so it is there */
    }
    int ret = answers[a].answer(serve, request, &out, &err);
    ntk_timeline_give_back_all(serve->timeline); /* the browser keeps tiles: few look twice */
    if (ret == 0 && !ntk_buf_ok(&out)) {
        ret = -ENOMEM;
    }
    if (ret < 0) {
        response->status = ret == -EINVAL ? 400 : ret == -ENOENT ? 404 : 500;
        put_error(&out, &err);
    } else {
        response->content_type = answers[a].type;
    }
    response->body = ntk_http_body_create(&out);
    if (!response->body) {
        response->status = 500;
        response->text = "out of memory\n";
    }
}

/* ---- the server ------------------------------------------------------------------------------------ */

static int listen_at(struct ntk_timeline_serve *serve, uint16_t port, struct ntk_err *err)
{
    struct ntk_http_options options = { .address = { .host = "127.0.0.1", .port = port },
                                        .routes = serve->routes,
                                        .slow_routes = serve->slow_routes,
                                        .guard = serve->guard };
    struct ntk_err first = { 0 }; /* that of the port that was asked for */
    int ret = ntk_http_server_create(&options, &serve->server, &first);

    for (unsigned i = 1;
         ret == -EADDRINUSE && port && i < NTK_TIMELINE_PORTS_TRIED && port + i <= UINT16_MAX;
         i++) {
        options.address.port = (uint16_t)(port + i);
        ret = ntk_http_server_create(&options, &serve->server, NULL);
    }
    if (ret < 0 && err) {
        *err = first;
    }
    return ret;
}

/* Tiles are not kept waiting by an analysis: those run in the other thread. */
static void make_routes(struct ntk_timeline_serve *serve)
{
    size_t quick = 0;
    size_t slow = 0;

    assert(ANSWERS + 2 <= ROUTES_MAX); /* both tables end with a row of zeros */
    for (size_t i = 0; i < ANSWERS; i++) {
        struct ntk_http_route route = { answers[i].path, answer_any, serve };
        if (answers[i].is_slow) {
            serve->slow_routes[slow++] = route;
        } else {
            serve->routes[quick++] = route;
        }
    }
    serve->routes[quick] = (struct ntk_http_route){ "/*", ntk_http_files_answer, serve->files };
}

int ntk_timeline_serve_create(const struct ntk_timeline_serve_options *options,
                              struct ntk_timeline_serve **out_serve, struct ntk_err *err)
{
    struct ntk_timeline_serve *serve = calloc(1, sizeof *serve);
    struct ntk_http_guard_options guard = { .host = "127.0.0.1" };

    if (!serve) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_http_guard_create(&guard, &serve->guard, err);
    if (ret == 0) {
        serve->timeline = options->timeline;
        serve->compares = options->compares && options->timeline->source_count == 2;
        serve->traces = options->traces;
        serve->trace_count = options->trace_count;
        serve->title = strdup(options->title);
        serve->files = ntk_http_files_create(ntk_timeline_page_files);
        serve->analyses =
            calloc(options->timeline->source_count + 1, sizeof(struct ntk_analyses *));
        if (!serve->title || !serve->files || !serve->analyses) {
            ret = ntk_err_no_memory(err);
        }
    }
    if (ret == 0) {
        make_routes(serve);
        ret = listen_at(serve, options->port, err);
    }
    if (ret < 0) {
        ntk_timeline_serve_destroy(serve);
        return ret;
    }
    *out_serve = serve;
    return 0;
}

void ntk_timeline_serve_destroy(struct ntk_timeline_serve *serve)
{
    if (!serve) {
        return;
    }
    ntk_http_server_destroy(serve->server);
    ntk_http_guard_destroy(serve->guard);
    ntk_http_files_destroy(serve->files);
    for (size_t s = 0; serve->analyses && s < serve->timeline->source_count; s++) {
        ntk_analyses_destroy(serve->analyses[s]);
    }
    free(serve->analyses);
    free(serve->title);
    free(serve);
}

uint16_t ntk_timeline_serve_port_get(const struct ntk_timeline_serve *serve)
{
    return ntk_http_server_port_get(serve->server);
}
