/* SPDX-License-Identifier: MIT */
/*
 * http_exchange - shared by the files of http_server: a server, a request, and work that another
 * thread does for it.
 *
 * Threads: the server's, except the functions of workers (http_job.c).
 */
#ifndef NTK_SHARED_HTTP_HTTP_EXCHANGE_H
#define NTK_SHARED_HTTP_HTTP_EXCHANGE_H

#include <microhttpd.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "shared/http/http_crowd.h"
#include "shared/http/http_guard.h"
#include "shared/http/http_security.h"
#include "shared/http/http_server.h"
#include "shared/http/http_worker.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_http_request {
    struct MHD_Connection *connection;
    const char *path;
};

/* Work that another thread does for a request, while the connection is suspended. */
struct http_job {
    struct ntk_http_job base;
    struct ntk_http_server *server;
    struct ntk_http_request request;
    /* The route to answer; NULL: the job computes a password. */
    const struct ntk_http_route *route;
    const struct ntk_http_upload *upload; /* upload with complete data */
    void *upload_state;                   /* NULL: the upload was rejected */
    bool is_answered;                     /* the upload's response is complete */
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

/* http_request.c */

/* Number of Host headers. Only one is allowed, because with several it is uncertain which one a
 * proxy used (RFC 9112, 3.2). */
size_t http_request_host_count(const struct ntk_http_request *request);
/* Gets the length of the body; false if the client does not send it. */
bool http_request_length_get(const struct ntk_http_request *request, uint64_t *out_count);
/* Returns true if the connection must be closed. The library closes a connection without a response
 * if the request head leaves no memory for one, so a request that is too large is answered here
 * first. */
bool http_request_is_cut_off(const struct ntk_http_request *request, bool is_too_long);

/* http_answer.c */

/* Fills the response with a status of 400 or above and its text. */
void http_refuse(struct ntk_http_response *answer, int status);
/* Takes ownership of the body. */
enum MHD_Result http_answer_send(struct ntk_http_server *server, struct MHD_Connection *connection,
                                 const struct ntk_http_response *answer);

/* http_job.c */

/* Passes the job to the worker: false if too many wait. */
bool http_job_submit(struct ntk_http_server *server, struct ntk_http_worker *worker,
                     struct http_job *job);
/* Passes the request on to another thread: to answer the route, or with name and password, which
 * are erased afterwards. Returns true if *state is the job. */
bool http_job_hand_over(struct ntk_http_server *server, const struct ntk_http_request *request,
                        struct ntk_http_worker *worker, struct http_job content, void **state);
/* Calls finish() of an upload, on the worker. */
bool http_job_finish_upload(struct ntk_http_job *base, bool is_late);
void http_job_free(struct http_job *job);
/* Checks certificate and password of the client. Returns 0, the status with which the request is
 * rejected, or 1 if another thread computes the password. */
int http_job_check_client(struct ntk_http_server *server, const struct ntk_http_request *request,
                          void **state);

#ifdef __cplusplus
}
#endif
#endif
