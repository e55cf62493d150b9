/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_serve.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/timeline/page/page_files.h"
#include "profiler/timeline/timeline_ask.h"
#include "profiler/timeline/timeline_drop.h"
#include "shared/http/http_files.h"
#include "shared/http/http_guard.h"

#define API "/api/v1/"
#define ROUTES_MAX 32

struct ntk_timeline_serve {
    struct ntk_timeline_ask *ask;
    struct ntk_http_files *files;
    struct ntk_http_guard *guard;
    struct ntk_timeline_drop *drop;
    struct ntk_timeline_sql *sql;
    struct ntk_http_upload uploads[2]; /* the other element ends the list */
    struct ntk_http_server *server;
    char paths[ROUTES_MAX][32];
    struct ntk_http_route routes[ROUTES_MAX];
    struct ntk_http_route slow_routes[ROUTES_MAX];
};

static const char *parameter_of(const char *name, void *ctx)
{
    return ntk_http_request_query_get(ctx, name);
}

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
    const char *name = ntk_http_request_path_get(request) + strlen(API);
    struct ntk_timeline_query query = { parameter_of, (void *)request };
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    size_t index = 0;

    while (strcmp(ntk_timeline_question_get(index)->name, name) != 0) {
        index++; /* each path has a route that leads here, so it is found */
    }
    int ret = ntk_timeline_ask(serve->ask, index, &query, &out, &err);
    if (ret < 0) {
        response->status = ret == -EINVAL ? 400 : ret == -ENOENT ? 404 : 500;
        put_error(&out, &err);
    } else {
        response->content_type = ntk_timeline_question_get(index)->content_type;
    }
    ntk_http_response_put(response, &out);
}

/* ---- the server ------------------------------------------------------------------------------ */

static int listen_at(struct ntk_timeline_serve *serve, uint16_t port, struct ntk_err *err)
{
    struct ntk_http_options options = { .address = { .host = "127.0.0.1", .port = port },
                                        .routes = serve->routes,
                                        .slow_routes = serve->slow_routes,
                                        .uploads = serve->uploads,
                                        .guard = serve->guard };
    struct ntk_err first = { 0 }; /* error for the requested port */
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

/* Creates the routes. Tiles do not wait for analyses, which run in the other thread. */
static void make_routes(struct ntk_timeline_serve *serve)
{
    size_t quick = 0;
    size_t slow = 0;

    /* Both tables end with a zeroed element. */
    assert(ntk_timeline_question_count() + NTK_TIMELINE_SQL_ROUTES + 2 <= ROUTES_MAX);
    for (size_t i = 0; i < ntk_timeline_question_count(); i++) {
        const struct ntk_timeline_question *question = ntk_timeline_question_get(i);
        struct ntk_http_route route = { serve->paths[i], answer_any, serve };
        (void)snprintf(serve->paths[i], sizeof serve->paths[i], API "%s", question->name);
        if (question->is_slow) {
            serve->slow_routes[slow++] = route;
        } else {
            serve->routes[quick++] = route;
        }
    }
    if (serve->sql) {
        ntk_timeline_sql_routes(serve->sql, &serve->routes[quick]);
        quick += NTK_TIMELINE_SQL_ROUTES;
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
        ret = ntk_timeline_ask_create(&options->ask, &serve->ask, err);
    }
    if (ret == 0) {
        serve->files = ntk_http_files_create(ntk_timeline_page_files);
        ret = serve->files ? 0 : ntk_err_no_memory(err);
    }
    if (ret == 0 && options->view_program) {
        serve->drop = ntk_timeline_drop_create(options->view_program, options->port);
        ret = serve->drop ? 0 : ntk_err_no_memory(err);
        serve->uploads[0] = ntk_timeline_drop_route(serve->drop);
    }
    if (ret == 0 && options->view_program && options->sql_source_count) {
        serve->sql = ntk_timeline_sql_create(options->view_program, options->sql_sources,
                                             options->sql_source_count);
        ret = serve->sql ? 0 : ntk_err_no_memory(err);
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
    ntk_timeline_drop_stop(serve->drop); /* no client waits for it */
    ntk_http_server_destroy(serve->server);
    ntk_timeline_drop_destroy(serve->drop);
    ntk_timeline_sql_destroy(serve->sql);
    ntk_http_guard_destroy(serve->guard);
    ntk_http_files_destroy(serve->files);
    ntk_timeline_ask_destroy(serve->ask);
    free(serve);
}

uint16_t ntk_timeline_serve_port_get(const struct ntk_timeline_serve *serve)
{
    return ntk_http_server_port_get(serve->server);
}
