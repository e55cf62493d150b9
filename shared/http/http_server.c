/* SPDX-License-Identifier: MIT */
/* http_server - routes, uploads and the threads that answer. */
#include "shared/http/http_server.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/http/http_body_response.h"
#include "shared/http/http_crowd.h"
#include "shared/http/http_feed.h"
#include "shared/http/http_guard.h"
#include "shared/http/http_listen.h"
#include "shared/http/http_security.h"
#include "shared/http/http_source.h"
#include "shared/http/http_tls.h"
#include "shared/http/http_worker.h"

#define ANSWER_BYTES 2048 /* part of a connection's memory, reserved for the head of an answer */
#define VALUE_BYTES \
    64 /* memory that the library needs in addition to the text of a header, argument or cookie */

struct ntk_http_request {
    struct MHD_Connection *connection;
    const char *path;
};

/* wait at the end for answers; a client that does not read loses its answer */
#define ANSWERS_WAIT_MS 1000

/* Work that another thread does for a request, while the connection is suspended. */
struct job {
    struct ntk_http_job base;
    struct ntk_http_server *server;
    struct ntk_http_request request;
    /* The route to answer; NULL: the job computes a password. */
    const struct ntk_http_route *route;
    const struct ntk_http_upload *upload; /* upload with complete data */
    void *upload_state;                   /* NULL: the upload was rejected */
    bool is_answered;                     /* the upload's answer is complete */
    struct ntk_http_response answer;
    char *user;
    char *password;
    int refusal;     /* status if the password is wrong; 0: none */
    bool is_counted; /* counted in server->handed */
};

struct ntk_http_server {
    struct MHD_Daemon *daemon;
    struct ntk_http_security *security; /* NULL: no access control, no encryption */
    struct ntk_http_guard *guard;       /* NULL: any name is accepted, no token */
    const struct ntk_http_route *routes;
    const struct ntk_http_route *slow_routes; /* NULL: no second thread */
    const struct ntk_http_upload *uploads;
    struct ntk_http_feed *feeds;
    struct ntk_http_crowd crowd;
    uint16_t port;
    char *unix_path;             /* NULL: listens on a port */
    struct stat unix_status;     /* identifies the socket file that we created */
    struct ntk_http_worker slow; /* answers the slow routes */
    struct ntk_http_worker gate; /* computes passwords */
    atomic_uint handed;          /* number of requests passed to workers and not answered yet */
};

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

struct ntk_http_feed *ntk_http_feed_create(struct ntk_http_server *server, const char *content_type)
{
    struct ntk_http_feed *feed = ntk_http_feed_make(content_type);

    if (feed) {
        feed->next = server->feeds;
        server->feeds = feed;
    }
    return feed;
}

/* -- answers ----------------------------------------------------------------------------------- */

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

static const struct ntk_http_route *find_route(const struct ntk_http_route *routes,
                                               const char *path)
{
    for (const struct ntk_http_route *route = routes; route->path; route++) {
        size_t length = strlen(route->path);
        if (length > 0 && route->path[length - 1] == '*' ? !strncmp(route->path, path, length - 1)
                                                         : !strcmp(route->path, path)) {
            return route;
        }
    }
    return NULL;
}

/* -- access ------------------------------------------------------------------------------------ */

/* The server of this thread. GnuTLS passes none of our data to the callback for the certificate;
 * but a server has only one thread, in which its connections begin and do handshakes. */
static _Thread_local struct ntk_http_server *thread_server;

static void on_connection(void *ctx, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    struct ntk_http_server *server = ctx;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

        thread_server = server;
        *state = info ? ntk_http_crowd_enter(&server->crowd, info->connect_fd) : NULL;
    } else {
        ntk_http_crowd_leave(&server->crowd, *state);
        *state = NULL;
    }
}

static struct ntk_http_crowd_row *crowd_row_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static int give_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
                            int authority_count, const gnutls_pk_algorithm_t *algorithms,
                            int algorithm_count, gnutls_pcert_st **out_chain,
                            unsigned *out_chain_count, gnutls_privkey_t *out_key)
{
    (void)session;
    (void)authorities;
    (void)authority_count;
    (void)algorithms;
    (void)algorithm_count;
    if (!thread_server) {
        return -1;
    }
    ntk_http_tls_get(ntk_http_security_tls_get(thread_server->security), out_chain, out_chain_count,
                     out_key);
    return 0;
}

static bool has_valid_certificate(struct MHD_Connection *connection, enum ntk_http_client_auth auth)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned count = 0;
    unsigned status = 0;

    if (!info || !info->tls_session) {
        return false;
    }
    gnutls_session_t session = info->tls_session;
    if (!gnutls_certificate_get_peers(session, &count) || count == 0) {
        return auth == NTK_HTTP_CLIENT_AUTH_IF_GIVEN;
    }
    return gnutls_certificate_verify_peers2(session, &status) >= 0 && status == 0;
}

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

static void refuse(struct ntk_http_response *answer, int status)
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

static void add_security_header(const char *name, const char *value, void *ctx)
{
    MHD_del_response_header(ctx, name, MHD_get_response_header(ctx, name));
    MHD_add_response_header(ctx, name, value);
}

/* -- work of other threads --------------------------------------------------------------------- */

static void forget(char *text)
{
    if (text) {
        explicit_bzero(text, strlen(text));
    }
    MHD_free(text);
}

static void free_job(struct job *job)
{
    if (job->upload && job->upload_state) {
        job->upload->end(job->upload_state);
    }
    ntk_http_body_unref(job->answer.body); /* the client is gone */
    MHD_free(job->user);
    forget(job->password);
    free(job);
}

static bool submit(struct ntk_http_server *server, struct ntk_http_worker *worker, struct job *job)
{
    job->is_counted = ntk_http_worker_submit(worker, &job->base);
    if (job->is_counted) {
        atomic_fetch_add(&server->handed, 1);
    }
    return job->is_counted;
}

static bool answer_slowly(struct ntk_http_job *base, bool is_late)
{
    struct job *job = (struct job *)base;

    if (is_late) {
        refuse(&job->answer, MHD_HTTP_SERVICE_UNAVAILABLE);
    } else {
        job->route->handler(&job->request, &job->answer, job->route->ctx);
    }
    return false;
}

static bool finish_upload(struct ntk_http_job *base, bool is_late)
{
    struct job *job = (struct job *)base;

    if (is_late) {
        refuse(&job->answer, MHD_HTTP_SERVICE_UNAVAILABLE);
    } else {
        job->upload->finish(job->upload_state, &job->answer);
    }
    job->is_answered = true;
    return false;
}

static bool compute_password(struct ntk_http_job *base, bool is_late)
{
    struct job *job = (struct job *)base;

    job->refusal = is_late
                       ? MHD_HTTP_SERVICE_UNAVAILABLE
                       : ntk_http_security_compute(job->server->security, job->user, job->password);
    return job->refusal == MHD_HTTP_UNAUTHORIZED;
}

/* Identifies the peer by a number: its address without its port. */
static uint64_t peer_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const unsigned char *bytes = NULL;
    size_t count = 0;
    uint64_t peer = 0;

    if (info && info->client_addr && info->client_addr->sa_family == AF_INET) {
        bytes = (const void *)&((const struct sockaddr_in *)info->client_addr)->sin_addr;
        count = sizeof(struct in_addr);
    } else if (info && info->client_addr && info->client_addr->sa_family == AF_INET6) {
        const struct in6_addr *address =
            &((const struct sockaddr_in6 *)info->client_addr)->sin6_addr;
        /* mapped form, used if the server serves IPv4 and IPv6 */
        bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(address);
        bytes = is_ipv4 ? &address->s6_addr[sizeof *address - sizeof(struct in_addr)]
                        : address->s6_addr;
        /* Use only half of an IPv6 address, because one machine can choose any address in a /64. */
        count = is_ipv4 ? sizeof(struct in_addr) : sizeof *address / 2;
    }
    for (size_t i = 0; i < count; i++) {
        peer = peer << 8 | bytes[i];
    }
    return peer;
}

/* Passes the request on to another thread, with name and password, which are erased afterwards.
 * Returns true if *state is the job. */
static bool hand_over(struct ntk_http_server *server, const struct ntk_http_request *request,
                      struct ntk_http_worker *worker, struct job content, void **state)
{
    struct job *job = calloc(1, sizeof *job);

    if (job) {
        *job = content;
        job->server = server;
        job->request = *request;
        job->base.connection = request->connection;
        job->base.who = peer_of(request->connection);
        job->base.run = job->route ? answer_slowly : compute_password;
        *state = job;
        if (submit(server, worker, job)) {
            return true;
        }
        *state = NULL;
        free_job(job);
        return false;
    }
    MHD_free(content.user);
    forget(content.password);
    return false;
}

/* Returns 0, the status with which the request is rejected, or 1 if another thread computes the
 * password. */
static int check_client(struct ntk_http_server *server, const struct ntk_http_request *request,
                        void **state)
{
    enum ntk_http_client_auth auth = ntk_http_security_client_auth_get(server->security);
    char *password = NULL;

    if (auth != NTK_HTTP_CLIENT_AUTH_NONE && !has_valid_certificate(request->connection, auth)) {
        return MHD_HTTP_FORBIDDEN;
    }
    char *user = MHD_basic_auth_get_username_password(request->connection, &password);
    int ret = ntk_http_security_check(server->security, user, password);
    if (ret == 1) {
        return hand_over(server, request, &server->gate,
                         (struct job){ .user = user, .password = password }, state)
                   ? 1
                   : MHD_HTTP_TOO_MANY_REQUESTS;
    }
    MHD_free(user);
    forget(password);
    return ret;
}

/* -- a request --------------------------------------------------------------------------------- */

/* Two markers: their addresses are the states of requests without a job. */
static char head_seen;
static char too_long;

static struct job *job_of(void *state)
{
    return state == &head_seen || state == &too_long ? NULL : state;
}

/* libmicrohttpd 0.9.75 does not answer a request with parameters that do not fit into its
 * connection's memory. libmicrohttpd calls this function with its buffer before it parses them, so
 * too many parameters are truncated here. */
static void *take_uri(void *ctx, const char *uri, struct MHD_Connection *connection)
{
    char *query = (char *)(uintptr_t)strchr(uri, '?');
    size_t count = query ? 1 : 0;

    (void)ctx;
    (void)connection;
    for (const char *at = query; at && (at = strchr(at, '&')); at++) {
        count++;
    }
    if (count <= NTK_HTTP_PARAMETERS_MAX && strlen(uri) <= NTK_HTTP_URI_BYTES) {
        return NULL;
    }
    if (query) {
        query[1] = '\0';
    }
    return &too_long;
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct ntk_http_server *server = ctx;

    (void)code;
    ntk_http_crowd_answered(&server->crowd, crowd_row_of(connection));
    struct job *job = job_of(*state);
    if (job) {
        if (job->is_counted) {
            atomic_fetch_sub(&server->handed, 1);
        }
        free_job(job);
        *state = NULL;
    }
}

static enum MHD_Result send_answer(struct ntk_http_server *server,
                                   struct MHD_Connection *connection,
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

/* Checks the requirements for every client in addition to a password; if it returns false, the
 * answer has the reason. */
static bool let_in(struct ntk_http_server *server, const struct ntk_http_request *request,
                   const char *method, struct ntk_http_response *answer)
{
    bool secure = server->security && ntk_http_security_has_tls(server->security);

    if (server->guard &&
        !ntk_http_guard_check(server->guard, request, server->port, secure, answer)) {
        return false;
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD)) {
        refuse(answer, MHD_HTTP_METHOD_NOT_ALLOWED);
        return false;
    }
    return true;
}

/* Returns false if another thread answers. */
static bool make_answer(struct ntk_http_server *server, const struct ntk_http_request *request,
                        struct ntk_http_response *answer, void **state)
{
    const struct ntk_http_route *slow =
        server->slow_routes ? find_route(server->slow_routes, request->path) : NULL;
    const struct ntk_http_route *route = slow ? NULL : find_route(server->routes, request->path);

    if (slow && hand_over(server, request, &server->slow, (struct job){ .route = slow }, state)) {
        return false;
    }
    if (route) {
        route->handler(request, answer, route->ctx);
    } else {
        refuse(answer, slow ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_NOT_FOUND);
    }
    return true;
}

static enum MHD_Result count_value(void *ctx, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    size_t *bytes = ctx;

    (void)kind;
    *bytes += VALUE_BYTES + strlen(name) + (value ? strlen(value) : 0);
    return MHD_YES;
}

/* Whether the connection must be closed. The library closes a connection without an answer if the
 * request head leaves no memory for one, so a request that is too large is answered here first. */
static bool is_cut_off(struct MHD_Connection *connection, const char *path, bool is_too_long)
{
    const union MHD_ConnectionInfo *info;
    size_t bytes = strlen(path);
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

/* Number of Host headers. Only one is allowed, because with several it is uncertain which one a
 * proxy used (RFC 9112, 3.2). */
static size_t host_count(const struct ntk_http_request *request)
{
    size_t count = 0;

    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_host, &count);
    return count;
}

/* -- uploads ----------------------------------------------------------------------------------- */

static const struct ntk_http_upload *find_upload(const struct ntk_http_server *server,
                                                 const char *path, const char *method)
{
    for (const struct ntk_http_upload *upload = server->uploads; upload && upload->path; upload++) {
        if (strcmp(method, MHD_HTTP_METHOD_PUT) == 0 && strcmp(upload->path, path) == 0) {
            return upload;
        }
    }
    return NULL;
}

/* Gets the length of the body; false if the client does not send it. */
static bool length_of(const struct ntk_http_request *request, uint64_t *out_count)
{
    const char *text = ntk_http_request_header_get(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    char *end = NULL;

    errno = 0;
    *out_count = text ? strtoull(text, &end, 10) : 0;
    return text && end != text && *end == '\0' && errno == 0;
}

/* Returns NULL if out of memory. */
static struct job *begin_upload(struct ntk_http_server *server,
                                const struct ntk_http_request *request,
                                const struct ntk_http_upload *upload)
{
    struct job *job = calloc(1, sizeof *job);
    uint64_t bytes_count;

    if (!job) {
        return NULL;
    }
    *job = (struct job){ .base = { .connection = request->connection, .run = finish_upload },
                         .server = server,
                         .request = *request,
                         .upload = upload };
    /* a copy, because its texts do not live until the body is read */
    struct ntk_http_response refused = { 0 };
    if (host_count(request) > 1) {
        refuse(&job->answer, MHD_HTTP_BAD_REQUEST);
    } else if (server->guard &&
               !ntk_http_guard_check(server->guard, request, server->port, false, &refused)) {
        job->answer =
            (struct ntk_http_response){ .status = MHD_HTTP_FORBIDDEN,
                                        .text = "this host name is not accepted for uploads\n" };
    } else if (!length_of(request, &bytes_count)) {
        job->answer = (struct ntk_http_response){ .status = MHD_HTTP_LENGTH_REQUIRED,
                                                  .text = "uploads require Content-Length\n" };
    } else {
        job->upload_state = upload->begin(request, bytes_count, &job->answer, upload->ctx);
    }
    job->is_answered = !job->upload_state;
    return job;
}

/* Handles a part of the body, its end (no bytes), or the answer. */
static enum MHD_Result go_on_with_upload(struct ntk_http_server *server, struct job *job,
                                         const char *bytes, size_t *bytes_count)
{
    if (*bytes_count) {
        if (!job->is_answered) {
            job->upload->take(job->upload_state, bytes, *bytes_count);
        }
        *bytes_count = 0;
        return MHD_YES;
    }
    if (!job->is_answered) {
        if (submit(server, &server->slow, job)) {
            return MHD_YES;
        }
        refuse(&job->answer, MHD_HTTP_SERVICE_UNAVAILABLE);
    }
    struct ntk_http_response answer = job->answer;
    job->answer.body = NULL;
    return send_answer(server, job->base.connection, &answer);
}

static enum MHD_Result answer_request(void *ctx, struct MHD_Connection *connection,
                                      const char *path, const char *method, const char *version,
                                      const char *upload, size_t *upload_bytes, void **state)
{
    struct ntk_http_server *server = ctx;
    struct ntk_http_request request = { connection, path };
    struct ntk_http_response answer = { 0 };
    struct job *job = job_of(*state); /* the upload is complete */
    int refusal = 0;

    ntk_http_crowd_asked(crowd_row_of(connection));
    if (!*state || *state == &too_long) { /* the first call has only the head */
        if (is_cut_off(connection, path, *state == &too_long)) {
            return MHD_NO;
        }
        const struct ntk_http_upload *taker = find_upload(server, path, method);
        *state = taker ? (void *)begin_upload(server, &request, taker) : &head_seen;
        return *state ? MHD_YES : MHD_NO;
    }
    if (job && job->upload) {
        return go_on_with_upload(server, job, upload, upload_bytes);
    }
    if (*upload_bytes) {
        *upload_bytes = 0; /* the body is read and discarded */
        return MHD_YES;
    }
    if (job && job->route) {
        answer = job->answer;
        job->answer.body = NULL;
        return send_answer(server, connection, &answer);
    }
    if (job) {
        refusal = job->refusal;
        free_job(job);
        *state = &head_seen;
    } else if (host_count(&request) > 1 ||
               (strcmp(version, MHD_HTTP_VERSION_1_1) == 0 && host_count(&request) == 0)) {
        refusal = MHD_HTTP_BAD_REQUEST;
    } else if (server->security) {
        refusal = check_client(server, &request, state);
        if (refusal == 1) {
            return MHD_YES;
        }
    }
    if (refusal) {
        refuse(&answer, refusal);
    } else if (let_in(server, &request, method, &answer) &&
               !make_answer(server, &request, &answer, state)) {
        return MHD_YES;
    }
    if (!*state) {
        *state = &head_seen;
    }
    return send_answer(server, connection, &answer);
}

/* Unescapes a text. A NUL in it would end the text here and so name a different object, so the text
 * is invalid. */
static size_t unescape(void *ctx, struct MHD_Connection *connection, char *text)
{
    size_t length = MHD_http_unescape(text);

    (void)ctx;
    (void)connection;
    if (memchr(text, '\0', length)) {
        text[0] = '\0';
        return 0;
    }
    return length;
}

/* -- life -------------------------------------------------------------------------------------- */

static struct MHD_Daemon *start_daemon(struct ntk_http_server *server, int fd)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    struct MHD_OptionItem tls[4] = { { MHD_OPTION_END, 0, NULL } };
    size_t count = 0;

    if (server->security && ntk_http_security_has_tls(server->security)) {
        const char *client_ca = ntk_http_security_client_ca_get(server->security);
        flags |= MHD_USE_TLS;
        tls[count++] =
            (struct MHD_OptionItem){ MHD_OPTION_HTTPS_CERT_CALLBACK, (intptr_t)give_certificate,
                                     (void *)(uintptr_t)give_certificate };
        tls[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_PRIORITIES, 0,
                                                (void *)(uintptr_t)ntk_http_security_priorities_get(
                                                    server->security) };
        if (client_ca) {
            tls[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_TRUST, 0,
                                                    (void *)(uintptr_t)client_ca };
        }
        tls[count] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
    }
    return MHD_start_daemon(
        flags, server->port, NULL, NULL, answer_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)NTK_HTTP_CROWD_ROWS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)NTK_HTTP_IDLE_SECONDS, MHD_OPTION_URI_LOG_CALLBACK,
        take_uri, NULL, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)NTK_HTTP_CONNECTION_BYTES, MHD_OPTION_ARRAY,
        tls, MHD_OPTION_END);
}

static void stop_workers(struct ntk_http_server *server)
{
    ntk_http_worker_stop(&server->gate);
    ntk_http_worker_stop(&server->slow);
}

/* Waits for answers, because the daemon closes connections at its end, even those with unfinished
 * answers. */
static void answers_await(struct ntk_http_server *server)
{
    for (int i = 0; i < ANSWERS_WAIT_MS && atomic_load(&server->handed) > 0; i++) {
        (void)nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
}

static bool start_workers(struct ntk_http_server *server, const struct ntk_http_options *options)
{
    server->slow = (struct ntk_http_worker){ .waiting_max = NTK_HTTP_SLOW_MAX };
    server->gate = (struct ntk_http_worker){ .waiting_max = NTK_HTTP_PASSWORDS_MAX,
                                             .waiting_of_one = NTK_HTTP_PASSWORDS_OF_ONE,
                                             .rest_factor = NTK_HTTP_PASSWORD_REST };
    server->slow_routes = options->slow_routes;
    return (!options->slow_routes || ntk_http_worker_start(&server->slow) == 0) &&
           (!options->security || ntk_http_worker_start(&server->gate) == 0);
}

/* Removes the socket file, unless another process has replaced it. */
static void unix_remove(struct ntk_http_server *server)
{
    struct stat status;

    if (server->unix_path && lstat(server->unix_path, &status) == 0 &&
        status.st_dev == server->unix_status.st_dev &&
        status.st_ino == server->unix_status.st_ino) {
        (void)unlink(server->unix_path);
    }
    free(server->unix_path);
    server->unix_path = NULL;
}

int ntk_http_server_create(const struct ntk_http_options *options,
                           struct ntk_http_server **out_server, struct ntk_err *err)
{
    struct ntk_http_server *server = calloc(1, sizeof *server);

    if (!server) {
        return ntk_err_no_memory(err);
    }
    int fd = options->unix_path ? ntk_http_listen_unix(options->unix_path, err)
                                : ntk_http_listen(&options->address, err);
    if (fd < 0) {
        free(server);
        return fd;
    }
    if (options->unix_path && lstat(options->unix_path, &server->unix_status) == 0) {
        server->unix_path = strdup(options->unix_path);
    }
    server->routes = options->routes;
    server->uploads = options->uploads;
    server->security = options->security;
    server->guard = options->guard;
    server->port = ntk_http_listen_port_get(fd);
    if (start_workers(server, options)) {
        server->daemon = start_daemon(server, fd);
    }
    if (!server->daemon) {
        close(fd);
        stop_workers(server);
        unix_remove(server);
        free(server);
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot start the HTTP server");
    }
    *out_server = server;
    return 0;
}

void ntk_http_server_destroy(struct ntk_http_server *server)
{
    if (!server) {
        return;
    }
    for (struct ntk_http_feed *feed = server->feeds; feed; feed = feed->next) {
        ntk_http_feed_close(feed);
    }
    unix_remove(server);
    stop_workers(server); /* every waiting connection then continues */
    answers_await(server);
    /* this closes the socket, joins the thread and frees the readers */
    MHD_stop_daemon(server->daemon);
    while (server->feeds) {
        struct ntk_http_feed *feed = server->feeds;
        server->feeds = feed->next;
        ntk_http_feed_destroy(feed);
    }
    free(server);
}

uint16_t ntk_http_server_port_get(const struct ntk_http_server *server)
{
    return server->port;
}
