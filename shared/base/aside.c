/* SPDX-License-Identifier: MIT */
#include "shared/base/aside.h"

#include <pthread.h>
#include <stdlib.h>

#include "shared/base/cond.h"

enum state { IDLE, ASKED, WORKING, OVER };

struct ntk_aside {
    void (*work)(void *ctx);
    void (*release)(void *ctx);
    void *ctx;
    pthread_mutex_t lock; /* protects state and is_late */
    pthread_cond_t changed;
    pthread_t thread;
    enum state state;
    bool is_late; /* the last request was not answered in time */
};

static void aside_free(struct ntk_aside *aside)
{
    aside->release(aside->ctx);
    pthread_cond_destroy(&aside->changed);
    pthread_mutex_destroy(&aside->lock);
    free(aside);
}

static void *run(void *ctx)
{
    struct ntk_aside *aside = ctx;

    pthread_mutex_lock(&aside->lock);
    while (aside->state != OVER) {
        if (aside->state != ASKED) {
            pthread_cond_wait(&aside->changed, &aside->lock);
            continue;
        }
        aside->state = WORKING;
        pthread_mutex_unlock(&aside->lock);
        aside->work(aside->ctx);
        pthread_mutex_lock(&aside->lock);
        if (aside->state == OVER) { /* the caller stopped waiting for it */
            pthread_mutex_unlock(&aside->lock);
            aside_free(aside);
            return NULL;
        }
        aside->state = IDLE;
        pthread_cond_broadcast(&aside->changed);
    }
    pthread_mutex_unlock(&aside->lock);
    return NULL;
}

struct ntk_aside *ntk_aside_create(void (*work)(void *ctx), void (*release)(void *ctx), void *ctx)
{
    struct ntk_aside *aside = calloc(1, sizeof *aside);

    if (!aside) {
        return NULL;
    }
    *aside = (struct ntk_aside){ .work = work, .release = release, .ctx = ctx };
    pthread_mutex_init(&aside->lock, NULL);
    pthread_cond_init(&aside->changed, NULL);
    if (pthread_create(&aside->thread, NULL, run, aside) != 0) {
        pthread_cond_destroy(&aside->changed);
        pthread_mutex_destroy(&aside->lock);
        free(aside);
        return NULL;
    }
    return aside;
}

void ntk_aside_destroy(struct ntk_aside *aside)
{
    if (!aside) {
        return;
    }
    pthread_mutex_lock(&aside->lock);
    bool is_blocked = aside->state == WORKING;
    pthread_t thread = aside->thread;
    aside->state = OVER;
    if (is_blocked) {
        pthread_detach(thread); /* before the thread can be gone */
    }
    pthread_cond_broadcast(&aside->changed);
    pthread_mutex_unlock(&aside->lock);
    if (!is_blocked) {
        pthread_join(thread, NULL);
        aside_free(aside);
    }
}

bool ntk_aside_ask(struct ntk_aside *aside, uint64_t wait_ns)
{
    uint64_t until_ns = ntk_cond_until(wait_ns);

    pthread_mutex_lock(&aside->lock);
    if (aside->state == IDLE && !aside->is_late) {
        aside->state = ASKED;
        aside->is_late = false;
        pthread_cond_broadcast(&aside->changed);
    }
    while (aside->state != IDLE && !aside->is_late &&
           ntk_cond_wait_until(&aside->changed, &aside->lock, until_ns) == 0) {
    }
    bool is_done = aside->state == IDLE;
    aside->is_late = !is_done;
    pthread_mutex_unlock(&aside->lock);
    return is_done;
}
