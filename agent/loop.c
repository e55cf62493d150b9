/* SPDX-License-Identifier: MIT */
/* loop - runs one thread that waits for descriptors, points in time and signals. */
#include "agent/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/cond.h"

#define EVENTS_PER_WAIT 16

enum watch_kind {
    WATCH_NONE, /* a free entry */
    WATCH_FD,
    WATCH_TIMER,
    WATCH_SIGNALS,
};

struct ntk_loop_watch {
    struct ntk_loop *loop;
    enum watch_kind kind;
    int fd; /* descriptor of the loop for timers and signals */
    /* if a timer uses a clock other than the system clock; 0 if not armed */
    uint64_t at_ns, every_ns;
    ntk_loop_callback callback;
    void *ctx;
};

struct ntk_loop {
    const struct ntk_clock *clock; /* NULL for the system clock, with timerfd */
    int epoll_fd;
    bool stopped;
    int code;
    struct ntk_loop_watch watches[NTK_LOOP_WATCHES_MAX];
};

int ntk_loop_create(const struct ntk_clock *clock, struct ntk_loop **out_loop, struct ntk_err *err)
{
    struct ntk_loop *loop = calloc(1, sizeof *loop);

    if (!loop) {
        return ntk_err_no_memory(err);
    }
    loop->clock = clock;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0) {
        int ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "epoll: %s", strerror(errno));
        free(loop);
        return ret;
    }
    *out_loop = loop;
    return 0;
}

static void remove_watch(struct ntk_loop_watch *watch)
{
    if (watch->kind == WATCH_NONE) {
        return;
    }
    epoll_ctl(watch->loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    if (watch->kind != WATCH_FD) {
        close(watch->fd);
    }
    watch->kind = WATCH_NONE;
}

void ntk_loop_destroy(struct ntk_loop *loop)
{
    if (!loop) {
        return;
    }
    for (size_t i = 0; i < NTK_LOOP_WATCHES_MAX; i++) {
        remove_watch(&loop->watches[i]);
    }
    close(loop->epoll_fd);
    free(loop);
}

static struct ntk_loop_watch *add_watch(struct ntk_loop *loop, enum watch_kind kind, int fd,
                                        uint32_t events, ntk_loop_callback callback, void *ctx)
{
    struct ntk_loop_watch *watch = NULL;

    for (size_t i = 0; i < NTK_LOOP_WATCHES_MAX && !watch; i++) {
        watch = loop->watches[i].kind == WATCH_NONE ? &loop->watches[i] : NULL;
    }
    if (!watch) {
        errno = ENOSPC;
        return NULL;
    }
    struct epoll_event event = { .events = events, .data.ptr = watch };
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        return NULL;
    }
    *watch = (struct ntk_loop_watch){
        .loop = loop, .kind = kind, .fd = fd, .callback = callback, .ctx = ctx
    };
    return watch;
}

struct ntk_loop_watch *ntk_loop_watch_fd(struct ntk_loop *loop, int fd, uint32_t events,
                                         ntk_loop_callback callback, void *ctx)
{
    return add_watch(loop, WATCH_FD, fd, events, callback, ctx);
}

void ntk_loop_watch_set_events(struct ntk_loop_watch *watch, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = watch };

    epoll_ctl(watch->loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event);
}

struct ntk_loop_watch *ntk_loop_watch_timer(struct ntk_loop *loop, ntk_loop_callback callback,
                                            void *ctx)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    if (fd < 0) {
        return NULL;
    }
    struct ntk_loop_watch *watch = add_watch(loop, WATCH_TIMER, fd, EPOLLIN, callback, ctx);
    if (!watch) {
        close(fd);
    }
    return watch;
}

static struct timespec to_timespec(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / NTK_NS_PER_SECOND),
                              .tv_nsec = (long)(ns % NTK_NS_PER_SECOND) };
}

void ntk_loop_timer_set(struct ntk_loop_watch *timer, uint64_t at_monotonic_ns, uint64_t every_ns)
{
    timer->at_ns = at_monotonic_ns;
    timer->every_ns = every_ns;
    if (timer->loop->clock) {
        return;
    }
    struct itimerspec when = { .it_value = to_timespec(at_monotonic_ns),
                               .it_interval = to_timespec(every_ns) };

    timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

struct ntk_loop_watch *ntk_loop_watch_signals(struct ntk_loop *loop, const int *signals,
                                              ntk_loop_callback callback, void *ctx)
{
    sigset_t set;

    sigemptyset(&set);
    for (; *signals; signals++) {
        sigaddset(&set, *signals);
    }
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) {
        return NULL;
    }
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        return NULL;
    }
    struct ntk_loop_watch *watch = add_watch(loop, WATCH_SIGNALS, fd, EPOLLIN, callback, ctx);
    if (!watch) {
        close(fd);
    }
    return watch;
}

static void dispatch(struct ntk_loop_watch *watch, uint32_t events)
{
    uint64_t times;
    struct signalfd_siginfo info;

    switch (watch->kind) {
    case WATCH_FD:
        watch->callback(events, watch->ctx);
        break;
    case WATCH_TIMER:
        if (read(watch->fd, &times, sizeof times) == (ssize_t)sizeof times) {
            watch->callback(times > UINT32_MAX ? UINT32_MAX : (uint32_t)times, watch->ctx);
        }
        break;
    case WATCH_SIGNALS:
        if (read(watch->fd, &info, sizeof info) == (ssize_t)sizeof info) {
            watch->callback(info.ssi_signo, watch->ctx);
        }
        break;
    case WATCH_NONE: /* an earlier callback of the same round removed it */
        break;
    }
}

/* Returns the time when the next timer on the loop's clock is due. */
static uint64_t next_due_ns(const struct ntk_loop *loop)
{
    uint64_t due_ns = NTK_COND_FOREVER;

    for (size_t i = 0; i < NTK_LOOP_WATCHES_MAX; i++) {
        const struct ntk_loop_watch *watch = &loop->watches[i];
        if (watch->kind == WATCH_TIMER && watch->at_ns && watch->at_ns < due_ns) {
            due_ns = watch->at_ns;
        }
    }
    return due_ns;
}

/* Waits until a timer on the loop's clock is due, and calls the due timers. */
static void wait_by_clock(struct ntk_loop *loop)
{
    struct pollfd fd = { .fd = loop->epoll_fd, .events = POLLIN };

    (void)ntk_cond_poll(loop->clock, &fd, 1, next_due_ns(loop));
    uint64_t now_ns = ntk_clock_now_ns(loop->clock);
    for (size_t i = 0; i < NTK_LOOP_WATCHES_MAX && !loop->stopped; i++) {
        struct ntk_loop_watch *watch = &loop->watches[i];
        if (watch->kind != WATCH_TIMER || !watch->at_ns || watch->at_ns > now_ns) {
            continue;
        }
        uint64_t times = watch->every_ns ? 1 + (now_ns - watch->at_ns) / watch->every_ns : 1;
        watch->at_ns = watch->every_ns ? watch->at_ns + times * watch->every_ns : 0;
        watch->callback(times > UINT32_MAX ? UINT32_MAX : (uint32_t)times, watch->ctx);
    }
}

int ntk_loop_run(struct ntk_loop *loop, struct ntk_err *err)
{
    struct epoll_event events[EVENTS_PER_WAIT];

    while (!loop->stopped) {
        if (loop->clock) {
            wait_by_clock(loop);
        }
        int count = epoll_wait(loop->epoll_fd, events, EVENTS_PER_WAIT, loop->clock ? 0 : -1);
        if (count < 0 && errno != EINTR) {
            return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "epoll: %s", strerror(errno));
        }
        for (int i = 0; i < count && !loop->stopped; i++) {
            dispatch(events[i].data.ptr, events[i].events);
        }
    }
    return loop->code;
}

void ntk_loop_stop(struct ntk_loop *loop, int code)
{
    if (!loop->stopped) { /* the first reason counts */
        loop->stopped = true;
        loop->code = code;
    }
}
