/* SPDX-License-Identifier: MIT */
/*
 * http_worker - a thread that does, one after the other, what a server's own thread must not wait
 * for.
 *
 * A job belongs to a connection that is suspended until it is done, and then is the server's
 * thread's again. Who brings too many, or comes when too many wait, is turned away at once. Useless
 * work can cost time: the thread then rests, so that no client keeps a core busy with it.
 *
 * Private to shared/http. Owner: a zeroed struct is one that does not run; _start / _stop.
 * Threads: _submit the server's; _start and _stop the server's owner.
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
    uint64_t who; /* whose it is */
    struct ntk_http_job *next;
};

struct ntk_http_worker {
    size_t waiting_max;            /* set before _start */
    size_t waiting_of_one;         /* of one `who`; 0: no separate bound */
    unsigned rest_factor;          /* it rests that many times as long as useless work took */
    const struct ntk_clock *clock; /* borrowed; NULL: the system's */
    bool runs;
    pthread_t thread;
    pthread_mutex_t lock; /* what follows */
    pthread_cond_t changed;
    struct ntk_http_job *first; /* the oldest; the one at work is not among them */
    size_t count;
    bool stops;
};

/* 0 or a negative errno. */
int ntk_http_worker_start(struct ntk_http_worker *worker);
/* Suspends the connection and takes the job; false (and nothing happened) when it is one too
 * many. */
bool ntk_http_worker_submit(struct ntk_http_worker *worker, struct ntk_http_job *job);
/* Waiting work is done late; every connection continues. No further job is taken. */
void ntk_http_worker_stop(struct ntk_http_worker *worker);

#endif
