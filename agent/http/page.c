/* SPDX-License-Identifier: MIT */
/* page - the files of the page, which are part of the program. */
#include "agent/http/page.h"

#include <stdlib.h>
#include <string.h>

#include "agent/http/page/page_files.h"
#include "shared/base/str.h"

/* Nothing but what this server gives, no code or style inside the text, no frame around it. */
#define POLICY                                                                              \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " \
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#define FILES_MAX 32

struct ntk_page {
    struct ntk_http_body *bodies[FILES_MAX][2]; /* as it is, and as gzip */
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

struct ntk_page *ntk_page_create(void)
{
    struct ntk_page *page = calloc(1, sizeof *page);
    bool complete = page != NULL;

    for (size_t i = 0; complete && ntk_page_files[i].name; i++) {
        struct ntk_buf buf = { 0 };
        ntk_buf_add(&buf, ntk_page_files[i].bytes, ntk_page_files[i].bytes_count);
        page->bodies[i][0] = ntk_http_body_create(&buf);
        page->bodies[i][1] = page->bodies[i][0] ? ntk_http_body_gzip(page->bodies[i][0]) : NULL;
        complete = i < FILES_MAX && page->bodies[i][1];
    }
    if (!complete) {
        ntk_page_destroy(page);
        return NULL;
    }
    return page;
}

void ntk_page_destroy(struct ntk_page *page)
{
    for (size_t i = 0; page && i < FILES_MAX; i++) {
        ntk_http_body_unref(page->bodies[i][0]);
        ntk_http_body_unref(page->bodies[i][1]);
    }
    free(page);
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

void ntk_page_answer(const struct ntk_http_request *request, struct ntk_http_response *response,
                     void *ctx)
{
    const struct ntk_page *page = ctx;
    const char *path = ntk_http_request_path_get(request);
    const char *name = strcmp(path, "/") == 0 ? "index.html" : path + 1;
    bool gzip = ntk_http_request_takes_gzip(request);

    for (size_t i = 0; ntk_page_files[i].name; i++) {
        if (strcmp(ntk_page_files[i].name, name) == 0) {
            response->body = ntk_http_body_ref(page->bodies[i][gzip]);
            response->content_encoding = gzip ? "gzip" : NULL;
            response->content_type = type_of(name);
            response->vary = "Accept-Encoding";
            response->security_policy = POLICY;
            return;
        }
    }
    response->status = 404;
    response->text = "nothing here\n";
}
