/* SPDX-License-Identifier: MIT */
/* http_answer - converts a response to one of libmicrohttpd, with the headers of every response. */
#include "shared/http/http_exchange.h"

#include <string.h>

#include "shared/http/http_body_response.h"
#include "shared/http/http_feed.h"
#include "shared/http/http_source.h"

static const struct {
    int status;
    const char *text;
} refusals[] = {
    { MHD_HTTP_BAD_REQUEST, "HTTP/1.1 requires exactly one Host header\n" },
    { MHD_HTTP_UNAUTHORIZED, "name and password required\n" },
    { MHD_HTTP_FORBIDDEN, "certificate required\n" },
    { MHD_HTTP_TOO_MANY_REQUESTS, "too many requests\n" },
    { MHD_HTTP_INTERNAL_SERVER_ERROR, "the server's configuration is invalid\n" },
    { MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are supported here\n" },
    { MHD_HTTP_NOT_FOUND, "not found\n" },
    { MHD_HTTP_SERVICE_UNAVAILABLE, "too many requests are waiting\n" },
};

void http_refuse(struct ntk_http_response *answer, int status)
{
    answer->status = status;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (refusals[i].status == status) {
            answer->text = refusals[i].text;
        }
    }
    if (status == MHD_HTTP_UNAUTHORIZED) {
        answer->authenticate = "Basic realm=\"metrics\"";
    }
}

static struct MHD_Response *make_response(const struct ntk_http_response *answer,
                                          struct MHD_Connection *connection)
{
    if (answer->body) {
        struct MHD_Response *response = http_body_response(answer->body);
        if (!response) {
            ntk_http_body_unref(answer->body);
        }
        return response;
    }
    if (answer->source.next) {
        return http_source_response(&answer->source);
    }
    if (answer->feed) {
        return ntk_http_feed_response(answer->feed, connection);
    }
    const char *text = answer->text ? answer->text : "";
    return MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
                                           MHD_RESPMEM_PERSISTENT);
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (value) {
        MHD_add_response_header(response, name, value);
    }
}

static void add_security_header(const char *name, const char *value, void *ctx)
{
    MHD_del_response_header(ctx, name, MHD_get_response_header(ctx, name));
    MHD_add_response_header(ctx, name, value);
}

enum MHD_Result http_answer_send(struct ntk_http_server *server, struct MHD_Connection *connection,
                                 const struct ntk_http_response *answer)
{
    struct MHD_Response *response = make_response(answer, connection);

    if (!response) {
        return MHD_NO; /* out of memory: the connection is closed */
    }
    const char *content_type = answer->content_type;
    if (!content_type) {
        content_type = answer->feed && !answer->body ? answer->feed->content_type
                                                     : "text/plain; charset=utf-8";
    }
    const char *const headers[][2] = {
        { MHD_HTTP_HEADER_CONTENT_TYPE, content_type },
        { MHD_HTTP_HEADER_CONTENT_ENCODING, answer->content_encoding },
        { MHD_HTTP_HEADER_VARY, answer->vary },
        { MHD_HTTP_HEADER_ALLOW,
          answer->status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET, HEAD" : NULL },
        { MHD_HTTP_HEADER_LOCATION, answer->location },
        { MHD_HTTP_HEADER_SET_COOKIE, answer->set_cookie },
        { MHD_HTTP_HEADER_WWW_AUTHENTICATE, answer->authenticate },
        { MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
        { "X-Content-Type-Options", "nosniff" },
        { "Referrer-Policy", "no-referrer" },
        { "Cross-Origin-Resource-Policy", "same-origin" },
        { "Content-Security-Policy", answer->security_policy },
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        add_header(response, headers[i][0], headers[i][1]);
    }
    if (server->security) {
        ntk_http_security_headers_each(server->security, add_security_header, response);
    }
    enum MHD_Result ret = MHD_queue_response(
        connection, answer->status ? (unsigned)answer->status : MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return ret;
}
