/* SPDX-License-Identifier: MIT */
/* loop - one thread that waits for descriptors, points in time and signals. */
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

#define EVENTS_PER_WAIT 16

enum watch_kind {
    WATCH_NONE, /* free */
    WATCH_FD,
    WATCH_TIMER,
    WATCH_SIGNALS,
};

struct ntk_loop_watch {
    struct ntk_loop *loop;
    enum watch_kind kind;
    int fd; /* our own, for timers and signals */
    ntk_loop_callback callback;
    void *ctx;
};

struct ntk_loop {
    int epoll_fd;
    bool stopped;
    int code;
    struct ntk_loop_watch watches[NTK_LOOP_WATCHES_MAX];
};

int ntk_loop_create(struct ntk_loop **out_loop, struct ntk_err *err)
{
    struct ntk_loop *loop = calloc(1, sizeof *loop);

    if (!loop) {
        return ntk_err_no_memory(err);
    }
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
    case WATCH_NONE: /* removed by an earlier callback of the same round */
        break;
    }
}

int ntk_loop_run(struct ntk_loop *loop, struct ntk_err *err)
{
    struct epoll_event events[EVENTS_PER_WAIT];

    while (!loop->stopped) {
        int count = epoll_wait(loop->epoll_fd, events, EVENTS_PER_WAIT, -1);
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
