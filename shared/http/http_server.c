/* SPDX-License-Identifier: MIT */
/* http_server - answers GET and HEAD from a table of routes; the one place with libmicrohttpd. */
#include "shared/http/http_server.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/http/http_crowd.h"
#include "shared/http/http_guard.h"
#include "shared/http/http_security.h"
#include "shared/http/http_tls.h"

#define LISTEN_BACKLOG 128
#define FEED_BLOCK_BYTES (64 * 1024)

struct ntk_http_body {
    atomic_uint owners;
    size_t bytes_count;
    char *bytes;
};

/* A client that reads a feed. */
struct feed_reader {
    struct ntk_http_feed *feed;
    struct feed_reader *next;
    struct MHD_Connection *connection;
    bool suspended;
    struct ntk_http_body *queue[NTK_HTTP_FEED_LINES]; /* a ring: first, count */
    size_t first;
    size_t count;
    size_t sent_bytes; /* of queue[first] */
};

struct ntk_http_feed {
    pthread_mutex_t lock; /* readers, closed, last, dropped */
    const char *content_type;
    struct feed_reader *readers;
    struct ntk_http_body *last;
    uint64_t dropped;
    bool closed;
    struct ntk_http_feed *next;
};

struct ntk_http_request {
    struct MHD_Connection *connection;
    const char *path;
};

/* A question that the second thread answers; its connection is suspended until then. */
struct slow_job {
    struct ntk_http_request request;
    const struct ntk_http_route *route;
    struct ntk_http_response answer;
    struct slow_job *next;
};

struct ntk_http_server {
    struct MHD_Daemon *daemon;
    struct ntk_http_security *security; /* NULL: everybody may ask, in the clear */
    struct ntk_http_guard *guard;       /* NULL: by any name, without a token */
    const struct ntk_http_route *routes;
    const struct ntk_http_route *slow_routes; /* NULL: there is no second thread */
    struct ntk_http_feed *feeds;
    struct ntk_http_crowd crowd;
    uint16_t port;
    pthread_t slow_thread;
    pthread_mutex_t slow_lock; /* jobs, count, stopping */
    pthread_cond_t slow_changed;
    struct slow_job *jobs; /* the oldest first */
    size_t job_count;
    bool stopping;
};

struct ntk_http_body *ntk_http_body_create(struct ntk_buf *buf)
{
    struct ntk_http_body *body = calloc(1, sizeof *body);

    if (!body || !ntk_buf_ok(buf)) {
        free(body);
        ntk_buf_fini(buf);
        return NULL;
    }
    atomic_init(&body->owners, 1);
    body->bytes = ntk_buf_take(buf, &body->bytes_count);
    return body;
}

struct ntk_http_body *ntk_http_body_ref(struct ntk_http_body *body)
{
    if (body) {
        atomic_fetch_add_explicit(&body->owners, 1, memory_order_relaxed);
    }
    return body;
}

void ntk_http_body_unref(struct ntk_http_body *body)
{
    /* acq_rel: what other owners read is done before the memory goes. */
    if (body && atomic_fetch_sub_explicit(&body->owners, 1, memory_order_acq_rel) == 1) {
        free(body->bytes);
        free(body);
    }
}

const char *ntk_http_body_bytes_get(const struct ntk_http_body *body, size_t *out_bytes_count)
{
    *out_bytes_count = body->bytes_count;
    return body->bytes ? body->bytes : "";
}

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
            if (*rest == ';') { /* refused with any weight that is zero: q=0, q=0.0 */
                const char *weight = strchr(rest, '=');
                return weight && strtod(weight + 1, NULL) > 0;
            }
        }
        size_t length = strcspn(text, ",");
        text += length + (text[length] == ',');
    }
    return false;
}

/* -- feeds -------------------------------------------------------------------------------------- */

/* The feed's lock is held. */
static void reader_push(struct feed_reader *reader, struct ntk_http_body *body)
{
    if (reader->count == NTK_HTTP_FEED_LINES) {
        reader->feed->dropped++;
        return;
    }
    reader->queue[(reader->first + reader->count++) % NTK_HTTP_FEED_LINES] =
        ntk_http_body_ref(body);
    if (reader->suspended) {
        reader->suspended = false;
        MHD_resume_connection(reader->connection);
    }
}

static ssize_t reader_read(void *ctx, uint64_t position, char *to, size_t to_bytes)
{
    struct feed_reader *reader = ctx;
    size_t copied = 0;
    bool closed;

    (void)position; /* a stream: always the next bytes */
    pthread_mutex_lock(&reader->feed->lock);
    while (copied < to_bytes && reader->count > 0) {
        struct ntk_http_body *body = reader->queue[reader->first];
        size_t part = body->bytes_count - reader->sent_bytes;
        if (part > to_bytes - copied) {
            part = to_bytes - copied;
        }
        memcpy(to + copied, body->bytes + reader->sent_bytes, part);
        copied += part;
        reader->sent_bytes += part;
        if (reader->sent_bytes == body->bytes_count) {
            ntk_http_body_unref(body);
            reader->first = (reader->first + 1) % NTK_HTTP_FEED_LINES;
            reader->count--;
            reader->sent_bytes = 0;
        }
    }
    closed = reader->feed->closed;
    if (copied == 0 && !closed) {
        reader->suspended = true;
        MHD_suspend_connection(reader->connection);
    }
    pthread_mutex_unlock(&reader->feed->lock);
    return copied == 0 && closed ? (ssize_t)MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)copied;
}

static void reader_free(void *ctx)
{
    struct feed_reader *reader = ctx;

    pthread_mutex_lock(&reader->feed->lock);
    for (struct feed_reader **at = &reader->feed->readers; *at; at = &(*at)->next) {
        if (*at == reader) {
            *at = reader->next;
            break;
        }
    }
    while (reader->count > 0) {
        ntk_http_body_unref(reader->queue[(reader->first + --reader->count) % NTK_HTTP_FEED_LINES]);
    }
    pthread_mutex_unlock(&reader->feed->lock);
    free(reader);
}

static struct MHD_Response *feed_response(struct ntk_http_feed *feed,
                                          struct MHD_Connection *connection)
{
    struct feed_reader *reader = calloc(1, sizeof *reader);

    if (!reader) {
        return NULL;
    }
    reader->feed = feed;
    reader->connection = connection;
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, FEED_BLOCK_BYTES, reader_read, reader, reader_free);
    if (!response) {
        free(reader);
        return NULL;
    }
    pthread_mutex_lock(&feed->lock);
    if (feed->last) {
        reader_push(reader, feed->last);
    }
    reader->next = feed->readers;
    feed->readers = reader;
    pthread_mutex_unlock(&feed->lock);
    return response;
}

struct ntk_http_feed *ntk_http_feed_create(struct ntk_http_server *server, const char *content_type)
{
    struct ntk_http_feed *feed = calloc(1, sizeof *feed);

    if (!feed) {
        return NULL;
    }
    pthread_mutex_init(&feed->lock, NULL);
    feed->content_type = content_type;
    feed->next = server->feeds;
    server->feeds = feed;
    return feed;
}

void ntk_http_feed_publish(struct ntk_http_feed *feed, struct ntk_http_body *body, bool keep_last)
{
    pthread_mutex_lock(&feed->lock);
    for (struct feed_reader *reader = feed->readers; reader; reader = reader->next) {
        reader_push(reader, body);
    }
    if (keep_last) {
        ntk_http_body_unref(feed->last);
        feed->last = ntk_http_body_ref(body);
    }
    pthread_mutex_unlock(&feed->lock);
}

uint64_t ntk_http_feed_dropped_count(struct ntk_http_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    uint64_t dropped = feed->dropped;
    pthread_mutex_unlock(&feed->lock);
    return dropped;
}

/* Lets every reader end, so that no connection stays suspended when the daemon stops. */
static void feed_close(struct ntk_http_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->closed = true;
    for (struct feed_reader *reader = feed->readers; reader; reader = reader->next) {
        if (reader->suspended) {
            reader->suspended = false;
            MHD_resume_connection(reader->connection);
        }
    }
    pthread_mutex_unlock(&feed->lock);
}

/* -- answers ------------------------------------------------------------------------------------ */

static void body_free(void *ctx)
{
    ntk_http_body_unref(ctx);
}

static struct MHD_Response *make_response(const struct ntk_http_response *answer,
                                          struct MHD_Connection *connection)
{
    static const char empty[] = "";

    if (answer->body) {
        struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
            answer->body->bytes_count,
            answer->body->bytes ? (void *)answer->body->bytes : (void *)(uintptr_t)empty, body_free,
            answer->body);
        if (!response) {
            ntk_http_body_unref(answer->body);
        }
        return response;
    }
    if (answer->feed) {
        return feed_response(answer->feed, connection);
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

/* -- who may ask -------------------------------------------------------------------------------- */

/* The server whose thread this is: GnuTLS hands nothing of ours to the callback that asks for the
 * certificate, and a server has one thread, in which its connections begin and shake hands. */
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

/* 0, or the status that a question is turned away with. */
static int check_client(struct ntk_http_server *server, struct MHD_Connection *connection)
{
    enum ntk_http_client_auth auth = ntk_http_security_client_auth_get(server->security);
    char *password = NULL;

    if (auth != NTK_HTTP_CLIENT_AUTH_NONE && !has_valid_certificate(connection, auth)) {
        return MHD_HTTP_FORBIDDEN;
    }
    char *user = MHD_basic_auth_get_username_password(connection, &password);
    int ret = ntk_http_security_check(server->security, user, password);
    MHD_free(user);
    if (password) {
        explicit_bzero(password, strlen(password));
    }
    MHD_free(password);
    return ret;
}

static const struct {
    int status;
    const char *text;
} refusals[] = {
    { MHD_HTTP_UNAUTHORIZED, "name and password are needed\n" },
    { MHD_HTTP_FORBIDDEN, "a certificate is needed\n" },
    { MHD_HTTP_TOO_MANY_REQUESTS, "too many requests\n" },
    { MHD_HTTP_INTERNAL_SERVER_ERROR, "the server's configuration cannot be used\n" },
    { MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered here\n" },
    { MHD_HTTP_NOT_FOUND, "nothing here\n" },
    { MHD_HTTP_SERVICE_UNAVAILABLE, "too many questions wait\n" },
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

/* -- slow answers ------------------------------------------------------------------------------- */

/* The second thread: one job after the other; what still waits at the end is turned away. */
static void *answer_slowly(void *ctx)
{
    struct ntk_http_server *server = ctx;

    pthread_mutex_lock(&server->slow_lock);
    while (!server->stopping || server->jobs) {
        struct slow_job *job = server->jobs;
        if (!job) {
            pthread_cond_wait(&server->slow_changed, &server->slow_lock);
            continue;
        }
        bool stopping = server->stopping;
        server->jobs = job->next;
        server->job_count--;
        pthread_mutex_unlock(&server->slow_lock);
        if (stopping) {
            refuse(&job->answer, MHD_HTTP_SERVICE_UNAVAILABLE);
        } else {
            job->route->handler(&job->request, &job->answer, job->route->ctx);
        }
        MHD_resume_connection(job->request.connection); /* the job is the server's thread's again */
        pthread_mutex_lock(&server->slow_lock);
    }
    pthread_mutex_unlock(&server->slow_lock);
    return NULL;
}

/* Hands the question over; false when it cannot be, and the answer says why. */
static bool begin_slow(struct ntk_http_server *server, const struct ntk_http_request *request,
                       const struct ntk_http_route *route, struct ntk_http_response *answer,
                       void **state)
{
    struct slow_job *job = calloc(1, sizeof *job);

    pthread_mutex_lock(&server->slow_lock);
    if (!job || server->stopping || server->job_count == NTK_HTTP_SLOW_MAX) {
        pthread_mutex_unlock(&server->slow_lock);
        free(job);
        refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE);
        return false;
    }
    job->request = *request;
    job->route = route;
    struct slow_job **end = &server->jobs;
    while (*end) {
        end = &(*end)->next;
    }
    *end = job;
    server->job_count++;
    *state = job;
    MHD_suspend_connection(request->connection); /* before the other thread can see the job */
    pthread_cond_signal(&server->slow_changed);
    pthread_mutex_unlock(&server->slow_lock);
    return true;
}

/* -- a request ---------------------------------------------------------------------------------- */

static int head_seen; /* its address is the state of a request that has no job */

static void on_completed(void *ctx, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct ntk_http_server *server = ctx;

    (void)code;
    ntk_http_crowd_answered(&server->crowd, crowd_row_of(connection));
    if (*state && *state != &head_seen) {
        struct slow_job *job = *state;
        ntk_http_body_unref(job->answer.body); /* nobody is left to read it */
        free(job);
        *state = NULL;
    }
}

static enum MHD_Result send_answer(struct ntk_http_server *server,
                                   struct MHD_Connection *connection,
                                   const struct ntk_http_response *answer)
{
    struct MHD_Response *response = make_response(answer, connection);

    if (!response) {
        return MHD_NO; /* no memory: the connection is closed */
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

/* Whether the request may be answered; else the answer says why not. */
static bool let_in(struct ntk_http_server *server, const struct ntk_http_request *request,
                   const char *method, struct ntk_http_response *answer)
{
    int refusal = server->security ? check_client(server, request->connection) : 0;

    if (refusal) {
        refuse(answer, refusal);
        return false;
    }
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

static enum MHD_Result answer_request(void *ctx, struct MHD_Connection *connection,
                                      const char *path, const char *method, const char *version,
                                      const char *upload, size_t *upload_bytes, void **state)
{
    struct ntk_http_server *server = ctx;
    struct ntk_http_request request = { connection, path };
    struct ntk_http_response answer = { 0 };

    (void)version;
    (void)upload;
    ntk_http_crowd_asked(crowd_row_of(connection));
    if (!*state) {
        *state = &head_seen; /* the first call has the head only */
        return MHD_YES;
    }
    if (*upload_bytes) {
        *upload_bytes = 0; /* a body is read and thrown away */
        return MHD_YES;
    }
    if (*state != &head_seen) { /* the second thread is done */
        struct slow_job *job = *state;
        answer = job->answer;
        job->answer.body = NULL;
        return send_answer(server, connection, &answer);
    }
    if (let_in(server, &request, method, &answer)) {
        const struct ntk_http_route *slow =
            server->slow_routes ? find_route(server->slow_routes, path) : NULL;
        const struct ntk_http_route *route = slow ? NULL : find_route(server->routes, path);
        if (slow && begin_slow(server, &request, slow, &answer, state)) {
            return MHD_YES;
        }
        if (route) {
            route->handler(&request, &answer, route->ctx);
        } else if (!slow) {
            refuse(&answer, MHD_HTTP_NOT_FOUND);
        }
    }
    return send_answer(server, connection, &answer);
}

/* -- listening ---------------------------------------------------------------------------------- */

static const char *listen_cause(int error)
{
    return error == EADDRINUSE ? "the port is in use" : strerror(error);
}

static int listen_on(const struct addrinfo *info)
{
    int on = 1;
    int off = 0;
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    info->ai_protocol);

    if (fd < 0) {
        return -errno;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (info->ai_family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off); /* "" serves both kinds */
    }
    if (bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
        int ret = -errno;
        close(fd);
        return ret;
    }
    return fd;
}

/* The first address of the family (AF_UNSPEC: any) that can be had. */
static int listen_on_first(const struct addrinfo *infos, int family)
{
    int ret = -EADDRNOTAVAIL;

    for (const struct addrinfo *info = infos; info; info = info->ai_next) {
        if (family == AF_UNSPEC || info->ai_family == family) {
            ret = listen_on(info);
            if (ret >= 0 || ret == -EADDRINUSE) {
                break;
            }
        }
    }
    return ret;
}

/* The listening socket, or -errno with a sentence. */
static int open_socket(const struct ntk_http_address *address, struct ntk_err *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct addrinfo *infos = NULL;
    char port[8];
    int fd;

    snprintf(port, sizeof port, "%u", address->port);
    int found = getaddrinfo(address->host[0] ? address->host : NULL, port, &hints, &infos);
    if (found != 0) {
        return ntk_err_set(err, -EADDRNOTAVAIL, NTK_ERR_NO_OFFSET, "cannot listen on '%s': %s",
                           address->host, gai_strerror(found));
    }
    /* Every address: the IPv6 socket serves IPv4 too; a machine without IPv6 gets the other. */
    fd = listen_on_first(infos, address->host[0] ? AF_UNSPEC : AF_INET6);
    if (fd < 0 && fd != -EADDRINUSE && !address->host[0]) {
        fd = listen_on_first(infos, AF_INET);
    }
    freeaddrinfo(infos);
    if (fd < 0) {
        return ntk_err_set(err, fd, NTK_ERR_NO_OFFSET, "cannot listen on %s%sport %u: %s",
                           address->host, address->host[0] ? " " : "", address->port,
                           listen_cause(-fd));
    }
    return fd;
}

static uint16_t port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name;
    socklen_t name_bytes = sizeof name;

    memset(&name, 0, sizeof name);
    if (getsockname(fd, &name.any, &name_bytes) < 0) {
        return 0;
    }
    return ntohs(name.any.sa_family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);
}

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
    return MHD_start_daemon(flags, server->port, NULL, NULL, answer_request, server,
                            MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_CONNECTION,
                            on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
                            server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)NTK_HTTP_CROWD_ROWS,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)NTK_HTTP_IDLE_SECONDS,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)NTK_HTTP_CONNECTION_BYTES,
                            MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
}

/* Ends the second thread; every connection that waited for it goes on. */
static void stop_slow(struct ntk_http_server *server)
{
    pthread_mutex_lock(&server->slow_lock);
    server->stopping = true;
    pthread_cond_signal(&server->slow_changed);
    pthread_mutex_unlock(&server->slow_lock);
    if (server->slow_routes) {
        pthread_join(server->slow_thread, NULL);
    }
}

/* After the daemon, which may still take the lock. */
static void free_slow(struct ntk_http_server *server)
{
    pthread_cond_destroy(&server->slow_changed);
    pthread_mutex_destroy(&server->slow_lock);
}

int ntk_http_server_create(const struct ntk_http_options *options,
                           struct ntk_http_server **out_server, struct ntk_err *err)
{
    struct ntk_http_server *server = calloc(1, sizeof *server);

    if (!server) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    int fd = open_socket(&options->address, err);
    if (fd < 0) {
        free(server);
        return fd;
    }
    server->routes = options->routes;
    server->security = options->security;
    server->guard = options->guard;
    server->port = port_of(fd);
    pthread_mutex_init(&server->slow_lock, NULL);
    pthread_cond_init(&server->slow_changed, NULL);
    if (options->slow_routes &&
        pthread_create(&server->slow_thread, NULL, answer_slowly, server) == 0) {
        server->slow_routes = options->slow_routes;
    }
    if (options->slow_routes == server->slow_routes) {
        server->daemon = start_daemon(server, fd);
    }
    if (!server->daemon) {
        close(fd);
        stop_slow(server);
        free_slow(server);
        free(server);
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "the HTTP server does not start");
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
        feed_close(feed);
    }
    stop_slow(server);
    MHD_stop_daemon(server->daemon); /* closes the socket, joins the thread, frees the readers */
    while (server->feeds) {
        struct ntk_http_feed *feed = server->feeds;
        server->feeds = feed->next;
        assert(!feed->readers);
        ntk_http_body_unref(feed->last);
        pthread_mutex_destroy(&feed->lock);
        free(feed);
    }
    free_slow(server);
    free(server);
}

uint16_t ntk_http_server_port_get(const struct ntk_http_server *server)
{
    return server->port;
}
