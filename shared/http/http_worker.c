/* SPDX-License-Identifier: MIT */
/* http_worker - runs a thread for work that would block the server's thread. */
#include "shared/http/http_worker.h"

#include <errno.h>
#include <microhttpd.h>

#include "shared/base/clock.h"
#include "shared/base/cond.h"

/* Waits until then or until the server stops. The caller must hold the lock. */
static void rest(struct ntk_http_worker *worker, uint64_t until_ns)
{
    while (!worker->stops && ntk_cond_wait_clock(worker->clock, &worker->changed, &worker->lock,
                                                 until_ns) != -ETIMEDOUT) {
    }
}

static void *work(void *ctx)
{
    struct ntk_http_worker *worker = ctx;

    pthread_mutex_lock(&worker->lock);
    while (!worker->stops || worker->first) {
        struct ntk_http_job *job = worker->first;
        if (!job) {
            pthread_cond_wait(&worker->changed, &worker->lock);
            continue;
        }
        struct MHD_Connection *connection = job->connection;
        bool is_late = worker->stops;
        worker->first = job->next;
        worker->count--;
        pthread_mutex_unlock(&worker->lock);
        uint64_t began_ns = ntk_clock_now_ns(worker->clock);
        bool was_in_vain = job->run(job, is_late);
        uint64_t now_ns = ntk_clock_now_ns(worker->clock);
        MHD_resume_connection(connection); /* the server's thread owns the job again */
        pthread_mutex_lock(&worker->lock);
        if (was_in_vain) {
            rest(worker, now_ns + (now_ns - began_ns) * worker->rest_factor);
        }
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

int ntk_http_worker_start(struct ntk_http_worker *worker)
{
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    int code = pthread_create(&worker->thread, NULL, work, worker);
    worker->runs = code == 0;
    if (code != 0) {
        pthread_cond_destroy(&worker->changed);
        pthread_mutex_destroy(&worker->lock);
    }
    return -code;
}

bool ntk_http_worker_submit(struct ntk_http_worker *worker, struct ntk_http_job *job)
{
    struct ntk_http_job **end;
    size_t of_one = 0;

    pthread_mutex_lock(&worker->lock);
    for (end = &worker->first; *end; end = &(*end)->next) {
        of_one += (*end)->who == job->who;
    }
    bool is_taken = !worker->stops && worker->count < worker->waiting_max &&
                    (!worker->waiting_of_one || of_one < worker->waiting_of_one);
    if (is_taken) {
        job->next = NULL;
        *end = job;
        worker->count++;
        MHD_suspend_connection(job->connection); /* before the other thread can see the job */
        pthread_cond_signal(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
    return is_taken;
}

void ntk_http_worker_stop(struct ntk_http_worker *worker)
{
    if (!worker->runs) {
        return;
    }
    pthread_mutex_lock(&worker->lock);
    worker->stops = true;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    worker->runs = false;
}
