/* SPDX-License-Identifier: MIT */
/*
 * http_worker - a thread for sequential work that would block the server's thread.
 *
 * A job belongs to a connection that is suspended until it is done, and then the server's thread
 * owns it again. A client with too many jobs, or a job when too many wait, is rejected at once.
 * Useless work can cost time: the thread then rests, so that no client keeps a core busy with it.
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
    /* is_late: the server ends, so it answers without doing the work. True: the work was
     * useless. */
    bool (*run)(struct ntk_http_job *job, bool is_late);
    uint64_t who; /* owner of the job */
    struct ntk_http_job *next;
};

struct ntk_http_worker {
    size_t waiting_max;            /* set before _start */
    size_t waiting_of_one;         /* with the same `who`; 0: no separate limit */
    unsigned rest_factor;          /* it rests this many times as long as useless work took */
    const struct ntk_clock *clock; /* borrowed; NULL: the system's */
    bool runs;
    pthread_t thread;
    pthread_mutex_t lock; /* what follows */
    pthread_cond_t changed;
    struct ntk_http_job *first; /* the oldest; without the current one */
    size_t count;
    bool stops;
};

/* 0 or a negative errno. */
int ntk_http_worker_start(struct ntk_http_worker *worker);
/* Suspends the connection and takes the job; false (without effect) if there are too many. */
bool ntk_http_worker_submit(struct ntk_http_worker *worker, struct ntk_http_job *job);
/* Waiting work is finished as late; every connection continues. No further job is accepted. */
void ntk_http_worker_stop(struct ntk_http_worker *worker);

#endif
