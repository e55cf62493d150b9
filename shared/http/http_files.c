/* SPDX-License-Identifier: MIT */
/* http_files - serves the files of a page, which are part of the program. */
#include "shared/http/http_files.h"

#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"

/* Allows only resources from this server, no inline code or style, and no embedding in a frame. */
#define POLICY                                                                              \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " \
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct ntk_http_files {
    const struct ntk_http_file *table;
    struct ntk_http_body *bodies[NTK_HTTP_FILES_MAX][2]; /* uncompressed and gzip form */
};

static const struct {
    const char *suffix;
    const char *type;
} types[] = {
    { ".html", "text/html; charset=utf-8" },
    { ".css", "text/css; charset=utf-8" },
    { ".js", "text/javascript; charset=utf-8" },
    { ".svg", "image/svg+xml" },
};

struct ntk_http_files *ntk_http_files_create(const struct ntk_http_file *table)
{
    struct ntk_http_files *files = calloc(1, sizeof *files);
    bool complete = files != NULL;

    for (size_t i = 0; complete && table[i].name; i++) {
        struct ntk_buf buf = { 0 };

        complete = i < NTK_HTTP_FILES_MAX;
        if (complete) {
            ntk_buf_add(&buf, table[i].bytes, table[i].bytes_count);
            files->bodies[i][0] = ntk_http_body_create(&buf);
            files->bodies[i][1] =
                files->bodies[i][0] ? ntk_http_body_gzip(files->bodies[i][0]) : NULL;
            complete = files->bodies[i][1] != NULL;
        }
    }
    if (!complete) {
        ntk_http_files_destroy(files);
        return NULL;
    }
    files->table = table;
    return files;
}

void ntk_http_files_destroy(struct ntk_http_files *files)
{
    for (size_t i = 0; files && i < NTK_HTTP_FILES_MAX; i++) {
        ntk_http_body_unref(files->bodies[i][0]);
        ntk_http_body_unref(files->bodies[i][1]);
    }
    free(files);
}

static const char *type_of(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (ntk_str_ends_with(name, types[i].suffix)) {
            return types[i].type;
        }
    }
    return NULL;
}

void ntk_http_files_answer(const struct ntk_http_request *request,
                           struct ntk_http_response *response, void *ctx)
{
    const struct ntk_http_files *files = ctx;
    const char *path = ntk_http_request_path_get(request);
    const char *name = strcmp(path, "/") == 0 ? "index.html" : path + 1;
    bool gzip = ntk_http_request_takes_gzip(request);

    for (size_t i = 0; files->table[i].name; i++) {
        if (strcmp(files->table[i].name, name) == 0) {
            response->body = ntk_http_body_ref(files->bodies[i][gzip]);
            response->content_encoding = gzip ? "gzip" : NULL;
            response->content_type = type_of(name);
            response->vary = "Accept-Encoding";
            response->security_policy = POLICY;
            return;
        }
    }
    response->status = 404;
    response->text = "not found\n";
}
