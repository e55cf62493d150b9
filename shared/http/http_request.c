/* SPDX-License-Identifier: MIT */
/* http_request - the parts of a request, and what makes one too large. */
#include "shared/http/http_exchange.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define ANSWER_BYTES 2048 /* part of a connection's memory, reserved for the head of a response */
#define VALUE_BYTES \
    64 /* memory that the library needs in addition to the text of a header, argument or cookie */

const char *ntk_http_request_path_get(const struct ntk_http_request *request)
{
    return request->path;
}

const char *ntk_http_request_header_get(const struct ntk_http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *ntk_http_request_query_get(const struct ntk_http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *ntk_http_request_cookie_get(const struct ntk_http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_COOKIE_KIND, name);
}

bool ntk_http_request_user_get(const struct ntk_http_request *request, uint32_t *out_uid)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct ucred peer;
    socklen_t peer_bytes = sizeof peer;

    /* Check the kind of socket first, because IP sockets also report a value, which is
     * meaningless. */
    if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) < 0 ||
        peer.pid <= 0) {
        return false;
    }
    *out_uid = peer.uid;
    return true;
}

struct query_walk {
    int (*call)(const char *name, const char *value, void *ctx);
    void *ctx;
    int ret;
};

static enum MHD_Result walk_query(void *ctx, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    struct query_walk *walk = ctx;

    (void)kind;
    walk->ret = walk->call(name, value, walk->ctx);
    return walk->ret < 0 ? MHD_NO : MHD_YES;
}

int ntk_http_request_query_each(const struct ntk_http_request *request,
                                int (*call)(const char *name, const char *value, void *ctx),
                                void *ctx)
{
    struct query_walk walk = { .call = call, .ctx = ctx };

    MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, walk_query, &walk);
    return walk.ret < 0 ? walk.ret : 0;
}

bool ntk_http_request_takes_gzip(const struct ntk_http_request *request)
{
    const char *text = ntk_http_request_header_get(request, MHD_HTTP_HEADER_ACCEPT_ENCODING);

    while (text && *text) {
        text += strspn(text, " \t");
        if (strncasecmp(text, "gzip", 4) == 0) {
            const char *rest = text + 4 + strspn(text + 4, " \t");
            if (*rest == ',' || *rest == '\0') {
                return true;
            }
            if (*rest == ';') { /* a weight of zero excludes it: q=0, q=0.0 */
                const char *weight = strchr(rest, '=');
                return weight && strtod(weight + 1, NULL) > 0;
            }
        }
        size_t length = strcspn(text, ",");
        text += length + (text[length] == ',');
    }
    return false;
}

bool http_request_length_get(const struct ntk_http_request *request, uint64_t *out_count)
{
    const char *text = ntk_http_request_header_get(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    char *end = NULL;

    errno = 0;
    *out_count = text ? strtoull(text, &end, 10) : 0;
    return text && end != text && *end == '\0' && errno == 0;
}

static enum MHD_Result count_value(void *ctx, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    size_t *bytes = ctx;

    (void)kind;
    *bytes += VALUE_BYTES + strlen(name) + (value ? strlen(value) : 0);
    return MHD_YES;
}

bool http_request_is_cut_off(const struct ntk_http_request *request, bool is_too_long)
{
    struct MHD_Connection *connection = request->connection;
    const union MHD_ConnectionInfo *info;
    size_t bytes = strlen(request->path);
    char answer[256];

    (void)MHD_get_connection_values(
        connection, MHD_HEADER_KIND | MHD_COOKIE_KIND | MHD_GET_ARGUMENT_KIND, count_value, &bytes);
    if (!is_too_long && bytes <= NTK_HTTP_CONNECTION_BYTES - ANSWER_BYTES) {
        return false;
    }
    const char *text = is_too_long ? "the address is too long or has too many parameters\n"
                                   : "the request header is too large\n";
    int length =
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 %s\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
                 "Content-Length: %zu\r\n\r\n%s",
                 is_too_long ? "414 URI Too Long" : "431 Request Header Fields Too Large",
                 strlen(text), text);
    if ((info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)) &&
        info->tls_session) {
        (void)gnutls_record_send(info->tls_session, answer, (size_t)length);
    } else if ((info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD))) {
        (void)send(info->connect_fd, answer, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return true;
}

static enum MHD_Result count_host(void *ctx, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    size_t *count = ctx;

    (void)kind;
    (void)value;
    *count += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
    return MHD_YES;
}

size_t http_request_host_count(const struct ntk_http_request *request)
{
    size_t count = 0;

    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_host, &count);
    return count;
}
