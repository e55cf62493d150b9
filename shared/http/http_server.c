/* SPDX-License-Identifier: MIT */
/* http_server - connections, routes and uploads; what to do with a request. */
#include "shared/http/http_server.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shared/http/http_exchange.h"
#include "shared/http/http_feed.h"
#include "shared/http/http_listen.h"
#include "shared/http/http_tls.h"

/* wait at the end for responses; a client that does not read loses its response */
#define ANSWERS_WAIT_MS 1000

struct ntk_http_feed *ntk_http_feed_create(struct ntk_http_server *server, const char *content_type)
{
    struct ntk_http_feed *feed = ntk_http_feed_make(content_type);

    if (feed) {
        feed->next = server->feeds;
        server->feeds = feed;
    }
    return feed;
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

/* -- a request --------------------------------------------------------------------------------- */

/* Two markers: their addresses are the states of requests without a job. */
static char head_seen;
static char too_long;

static struct http_job *job_of(void *state)
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
    struct http_job *job = job_of(*state);
    if (job) {
        if (job->is_counted) {
            atomic_fetch_sub(&server->handed, 1);
        }
        http_job_free(job);
        *state = NULL;
    }
}

/* Checks the requirements for every client in addition to a password; if it returns false, the
 * response has the reason. */
static bool let_in(struct ntk_http_server *server, const struct ntk_http_request *request,
                   const char *method, struct ntk_http_response *answer)
{
    bool secure = server->security && ntk_http_security_has_tls(server->security);

    if (server->guard &&
        !ntk_http_guard_check(server->guard, request, server->port, secure, answer)) {
        return false;
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD)) {
        http_refuse(answer, MHD_HTTP_METHOD_NOT_ALLOWED);
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

    if (slow && http_job_hand_over(server, request, &server->slow,
                                   (struct http_job){ .route = slow }, state)) {
        return false;
    }
    if (route) {
        route->handler(request, answer, route->ctx);
    } else {
        http_refuse(answer, slow ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_NOT_FOUND);
    }
    return true;
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

/* Returns NULL if out of memory. */
static struct http_job *begin_upload(struct ntk_http_server *server,
                                     const struct ntk_http_request *request,
                                     const struct ntk_http_upload *upload)
{
    struct http_job *job = calloc(1, sizeof *job);
    uint64_t bytes_count;

    if (!job) {
        return NULL;
    }
    *job = (struct http_job){ .base = { .connection = request->connection,
                                        .run = http_job_finish_upload },
                              .server = server,
                              .request = *request,
                              .upload = upload };
    /* a copy, because its texts do not live until the body is read */
    struct ntk_http_response refused = { 0 };
    if (http_request_host_count(request) > 1) {
        http_refuse(&job->answer, MHD_HTTP_BAD_REQUEST);
    } else if (server->guard &&
               !ntk_http_guard_check(server->guard, request, server->port, false, &refused)) {
        job->answer =
            (struct ntk_http_response){ .status = MHD_HTTP_FORBIDDEN,
                                        .text = "this host name is not accepted for uploads\n" };
    } else if (!http_request_length_get(request, &bytes_count)) {
        job->answer = (struct ntk_http_response){ .status = MHD_HTTP_LENGTH_REQUIRED,
                                                  .text = "uploads require Content-Length\n" };
    } else {
        job->upload_state = upload->begin(request, bytes_count, &job->answer, upload->ctx);
    }
    job->is_answered = !job->upload_state;
    return job;
}

/* Handles a part of the body, its end (no bytes), or the response. */
static enum MHD_Result continue_upload(struct ntk_http_server *server, struct http_job *job,
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
        if (http_job_submit(server, &server->slow, job)) {
            return MHD_YES;
        }
        http_refuse(&job->answer, MHD_HTTP_SERVICE_UNAVAILABLE);
    }
    struct ntk_http_response answer = job->answer;
    job->answer.body = NULL;
    return http_answer_send(server, job->base.connection, &answer);
}

/* HTTP/1.1 requires one Host header; older requests may lack it. */
static bool has_valid_host(const struct ntk_http_request *request, const char *version)
{
    size_t count = http_request_host_count(request);

    return count == 1 || (count == 0 && strcmp(version, MHD_HTTP_VERSION_1_1) != 0);
}

static enum MHD_Result answer_request(void *ctx, struct MHD_Connection *connection,
                                      const char *path, const char *method, const char *version,
                                      const char *upload, size_t *upload_bytes, void **state)
{
    struct ntk_http_server *server = ctx;
    struct ntk_http_request request = { connection, path };
    struct ntk_http_response answer = { 0 };
    struct http_job *job = job_of(*state); /* the upload is complete */
    int refusal = 0;

    ntk_http_crowd_asked(crowd_row_of(connection));
    if (!*state || *state == &too_long) { /* the first call has only the head */
        if (http_request_is_cut_off(&request, *state == &too_long)) {
            return MHD_NO;
        }
        const struct ntk_http_upload *taker = find_upload(server, path, method);
        *state = taker ? (void *)begin_upload(server, &request, taker) : &head_seen;
        return *state ? MHD_YES : MHD_NO;
    }
    if (job && job->upload) {
        return continue_upload(server, job, upload, upload_bytes);
    }
    if (*upload_bytes) {
        *upload_bytes = 0; /* the body is read and discarded */
        return MHD_YES;
    }
    if (job && job->route) {
        answer = job->answer;
        job->answer.body = NULL;
        return http_answer_send(server, connection, &answer);
    }
    if (job) {
        refusal = job->refusal;
        http_job_free(job);
        *state = &head_seen;
    } else if (!has_valid_host(&request, version)) {
        refusal = MHD_HTTP_BAD_REQUEST;
    } else if (server->security) {
        refusal = http_job_check_client(server, &request, state);
        if (refusal == 1) {
            return MHD_YES;
        }
    }
    if (refusal) {
        http_refuse(&answer, refusal);
    } else if (let_in(server, &request, method, &answer) &&
               !make_answer(server, &request, &answer, state)) {
        return MHD_YES;
    }
    if (!*state) {
        *state = &head_seen;
    }
    return http_answer_send(server, connection, &answer);
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

/* Waits for responses, because the daemon closes connections at its end, even those with unfinished
 * responses. */
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
