/* SPDX-License-Identifier: MIT */
#include "shared/base/quiet.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

static const int numbers[] = { SIGXFSZ, SIGPIPE };

#define NUMBERS (sizeof numbers / sizeof *numbers)

void ntk_quiet_enter(struct ntk_quiet *quiet)
{
    sigset_t ours;

    sigemptyset(&ours);
    for (size_t i = 0; i < NUMBERS; i++) {
        sigaddset(&ours, numbers[i]);
    }
    sigemptyset(&quiet->pending);
    (void)sigpending(&quiet->pending);
    quiet->is_entered = pthread_sigmask(SIG_BLOCK, &ours, &quiet->mask) == 0;
}

void ntk_quiet_leave(struct ntk_quiet *quiet)
{
    const struct timespec now = { 0, 0 };
    int code = errno;
    sigset_t ours;

    if (!quiet->is_entered) {
        return;
    }
    sigemptyset(&ours);
    for (size_t i = 0; i < NUMBERS; i++) {
        if (sigismember(&quiet->pending, numbers[i]) == 0) {
            sigaddset(&ours, numbers[i]);
        }
    }
    while (sigtimedwait(&ours, NULL, &now) > 0) {
    }
    (void)pthread_sigmask(SIG_SETMASK, &quiet->mask, NULL);
    quiet->is_entered = false;
    errno = code;
}

bool ntk_quiet_is_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}
