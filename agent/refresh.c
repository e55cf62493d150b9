/* SPDX-License-Identifier: MIT */
/* refresh - lets an answering thread request newer figures or a newer verdict from the loop. */
#include "agent/refresh.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shared/base/cond.h"

struct ntk_refresh {
    int fd;
    uint64_t fresh_ns;
    const struct ntk_clock *clock;
    pthread_mutex_t lock; /* protects all members below */
    pthread_cond_t changed;
    uint64_t done_count;
    uint64_t figures_ns; /* time when figures were last available */
    uint64_t looks_begun, looks_ended;
    uint64_t good_look; /* last successful read */
    struct ntk_refresh_wanted wanted;
    bool has_figures;
    bool is_late;      /* a page's wait timed out */
    bool is_look_late; /* a query's wait timed out */
    bool is_closed;
};

int ntk_refresh_create(uint64_t fresh_ns, const struct ntk_clock *clock,
                       struct ntk_refresh **out_refresh, struct ntk_err *err)
{
    struct ntk_refresh *refresh = calloc(1, sizeof *refresh);

    if (!refresh) {
        return ntk_err_no_memory(err);
    }
    refresh->fresh_ns = fresh_ns;
    refresh->clock = clock;
    refresh->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (refresh->fd < 0) {
        int code = errno;
        free(refresh);
        return ntk_err_set(err, -code, NTK_ERR_NO_OFFSET, "eventfd: %s", strerror(code));
    }
    pthread_mutex_init(&refresh->lock, NULL);
    pthread_cond_init(&refresh->changed, NULL);
    *out_refresh = refresh;
    return 0;
}

void ntk_refresh_destroy(struct ntk_refresh *refresh)
{
    if (!refresh) {
        return;
    }
    close(refresh->fd);
    pthread_cond_destroy(&refresh->changed);
    pthread_mutex_destroy(&refresh->lock);
    free(refresh);
}

int ntk_refresh_fd_get(const struct ntk_refresh *refresh)
{
    return refresh->fd;
}

struct ntk_refresh_wanted ntk_refresh_begin(struct ntk_refresh *refresh)
{
    eventfd_t asked;

    pthread_mutex_lock(&refresh->lock);
    (void)eventfd_read(refresh->fd, &asked);
    struct ntk_refresh_wanted wanted = refresh->wanted;
    refresh->wanted.look = false;
    refresh->looks_begun++;
    pthread_mutex_unlock(&refresh->lock);
    return wanted;
}

void ntk_refresh_looked(struct ntk_refresh *refresh, bool is_good)
{
    pthread_mutex_lock(&refresh->lock);
    refresh->looks_ended = refresh->looks_begun;
    refresh->good_look = is_good ? refresh->looks_begun : refresh->good_look;
    refresh->is_look_late = false;
    pthread_cond_broadcast(&refresh->changed);
    pthread_mutex_unlock(&refresh->lock);
}

void ntk_refresh_done(struct ntk_refresh *refresh, bool has_figures)
{
    eventfd_t asked;

    pthread_mutex_lock(&refresh->lock);
    if (!refresh->wanted.look) { /* these figures may be older than the request */
        (void)eventfd_read(refresh->fd, &asked);
    }
    refresh->wanted.figures = false;
    refresh->done_count++;
    if (has_figures) {
        refresh->has_figures = true;
        refresh->figures_ns = ntk_clock_now_ns(refresh->clock);
    }
    refresh->is_late = false;
    pthread_cond_broadcast(&refresh->changed);
    pthread_mutex_unlock(&refresh->lock);
}

void ntk_refresh_close(struct ntk_refresh *refresh)
{
    pthread_mutex_lock(&refresh->lock);
    refresh->is_closed = true;
    pthread_cond_broadcast(&refresh->changed);
    pthread_mutex_unlock(&refresh->lock);
}

/* Sends a request to the loop. Returns 0, or -ETIMEDOUT if the loop does not respond. The caller
 * holds the lock. */
static int ask(struct ntk_refresh *refresh)
{
    return eventfd_write(refresh->fd, 1) < 0 ? -ETIMEDOUT : 0;
}

static bool are_figures_fresh(const struct ntk_refresh *refresh, uint64_t now_ns)
{
    return refresh->has_figures && now_ns - refresh->figures_ns < refresh->fresh_ns;
}

void ntk_refresh_wait(void *ctx)
{
    struct ntk_refresh *refresh = ctx;

    pthread_mutex_lock(&refresh->lock);
    uint64_t now_ns = ntk_clock_now_ns(refresh->clock); /* not before figures_ns */
    uint64_t before = refresh->done_count;
    if (!are_figures_fresh(refresh, now_ns) && !refresh->is_late && !refresh->is_closed) {
        refresh->wanted.figures = true;
        int ret = ask(refresh);
        while (ret != -ETIMEDOUT && refresh->done_count == before && !refresh->is_closed) {
            ret = ntk_cond_wait_clock(refresh->clock, &refresh->changed, &refresh->lock,
                                      now_ns + NTK_REFRESH_WAIT_NS);
        }
        refresh->is_late = refresh->done_count == before;
    }
    pthread_mutex_unlock(&refresh->lock);
}

bool ntk_refresh_wait_look(void *ctx)
{
    struct ntk_refresh *refresh = ctx;
    bool is_good = false;

    pthread_mutex_lock(&refresh->lock);
    uint64_t now_ns = ntk_clock_now_ns(refresh->clock);
    if (!refresh->is_look_late && !refresh->is_closed) {
        uint64_t look = refresh->looks_begun + 1;
        refresh->wanted.figures |= !are_figures_fresh(refresh, now_ns);
        refresh->wanted.look = true;
        int ret = ask(refresh);
        while (ret != -ETIMEDOUT && refresh->looks_ended < look && !refresh->is_closed) {
            ret = ntk_cond_wait_clock(refresh->clock, &refresh->changed, &refresh->lock,
                                      now_ns + NTK_REFRESH_LOOK_NS);
        }
        refresh->is_look_late = refresh->looks_ended < look;
        is_good = refresh->good_look >= look;
    }
    pthread_mutex_unlock(&refresh->lock);
    return is_good;
}
