/* SPDX-License-Identifier: MIT */
/* http_job - the work of other threads: slow routes, ends of uploads, passwords. */
#include "shared/http/http_exchange.h"

#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static void forget(char *text)
{
    if (text) {
        explicit_bzero(text, strlen(text));
    }
    MHD_free(text);
}

void http_job_free(struct http_job *job)
{
    if (job->upload && job->upload_state) {
        job->upload->end(job->upload_state);
    }
    ntk_http_body_unref(job->answer.body); /* the client is gone */
    MHD_free(job->user);
    forget(job->password);
    free(job);
}

bool http_job_submit(struct ntk_http_server *server, struct ntk_http_worker *worker,
                     struct http_job *job)
{
    job->is_counted = ntk_http_worker_submit(worker, &job->base);
    if (job->is_counted) {
        atomic_fetch_add(&server->handed, 1);
    }
    return job->is_counted;
}

static bool answer_slowly(struct ntk_http_job *base, bool is_late)
{
    struct http_job *job = (struct http_job *)base;

    if (is_late) {
        http_refuse(&job->answer, MHD_HTTP_SERVICE_UNAVAILABLE);
    } else {
        job->route->handler(&job->request, &job->answer, job->route->ctx);
    }
    return false;
}

bool http_job_finish_upload(struct ntk_http_job *base, bool is_late)
{
    struct http_job *job = (struct http_job *)base;

    if (is_late) {
        http_refuse(&job->answer, MHD_HTTP_SERVICE_UNAVAILABLE);
    } else {
        job->upload->finish(job->upload_state, &job->answer);
    }
    job->is_answered = true;
    return false;
}

static bool compute_password(struct ntk_http_job *base, bool is_late)
{
    struct http_job *job = (struct http_job *)base;

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

bool http_job_hand_over(struct ntk_http_server *server, const struct ntk_http_request *request,
                        struct ntk_http_worker *worker, struct http_job content, void **state)
{
    struct http_job *job = calloc(1, sizeof *job);

    if (job) {
        *job = content;
        job->server = server;
        job->request = *request;
        job->base.connection = request->connection;
        job->base.who = peer_of(request->connection);
        job->base.run = job->route ? answer_slowly : compute_password;
        *state = job;
        if (http_job_submit(server, worker, job)) {
            return true;
        }
        *state = NULL;
        http_job_free(job);
        return false;
    }
    MHD_free(content.user);
    forget(content.password);
    return false;
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

int http_job_check_client(struct ntk_http_server *server, const struct ntk_http_request *request,
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
        return http_job_hand_over(server, request, &server->gate,
                                  (struct http_job){ .user = user, .password = password }, state)
                   ? 1
                   : MHD_HTTP_TOO_MANY_REQUESTS;
    }
    MHD_free(user);
    forget(password);
    return ret;
}
