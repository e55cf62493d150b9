/* SPDX-License-Identifier: MIT */
/*
 * http_worker - a thread for sequential work that would block the server's thread.
 *
 * A job belongs to a connection that is suspended until the job is done; then the server's thread
 * owns the job again. A job is rejected at once if its client has too many jobs, or if too many
 * jobs wait. After useless work the thread pauses, so that no client keeps a core busy with it.
 *
 * Private to shared/http. Owner: a zeroed struct does not run; _start / _stop.
 * Threads: _submit on the server's thread; _start and _stop on that of the server's owner.
 */
#ifndef NTK_SHARED_HTTP_HTTP_WORKER_H
#define NTK_SHARED_HTTP_HTTP_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct MHD_Connection;
struct ntk_clock;

struct ntk_http_job {
    struct MHD_Connection *connection;
    /* Does the work. is_late: the server is stopping, so it answers without doing the work. Returns
     * true if the work was useless. */
    bool (*run)(struct ntk_http_job *job, bool is_late);
    uint64_t who; /* owner of the job */
    struct ntk_http_job *next;
};

struct ntk_http_worker {
    size_t waiting_max;            /* limit on waiting jobs, set before _start */
    size_t waiting_of_one;         /* limit on waiting jobs with the same `who`; 0: none */
    unsigned rest_factor;          /* pause after useless work, as a multiple of its duration */
    const struct ntk_clock *clock; /* borrowed; NULL: the system's */
    bool runs;
    pthread_t thread;
    pthread_mutex_t lock; /* protects the following members */
    pthread_cond_t changed;
    struct ntk_http_job *first; /* oldest waiting job, not the current one */
    size_t count;
    bool stops;
};

/* Returns 0 or a negative errno. */
int ntk_http_worker_start(struct ntk_http_worker *worker);
/* Suspends the connection and takes the job; returns false, without any effect, if there are too
 * many. */
bool ntk_http_worker_submit(struct ntk_http_worker *worker, struct ntk_http_job *job);
/* Runs waiting jobs as late; every connection continues. No further job is accepted. */
void ntk_http_worker_stop(struct ntk_http_worker *worker);

#endif
