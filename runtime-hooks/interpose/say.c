/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/say.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PARTS_MAX 8

static const int numbers[] = { SIGXFSZ, SIGPIPE };
#define NUMBERS (sizeof numbers / sizeof *numbers)

void interpose_say(const char *const *parts)
{
    static const struct timespec now = { 0 };
    struct iovec pieces[PARTS_MAX];
    sigset_t ours;
    sigset_t mask;
    sigset_t pending;
    int error = errno;
    int count = 0;

    for (; count < PARTS_MAX && parts[count]; count++) {
        pieces[count] = (struct iovec){ (void *)parts[count], strlen(parts[count]) };
    }
    sigemptyset(&ours);
    for (size_t i = 0; i < NUMBERS; i++) {
        sigaddset(&ours, numbers[i]);
    }
    sigemptyset(&pending);
    (void)sigpending(&pending);
    bool is_quiet = pthread_sigmask(SIG_BLOCK, &ours, &mask) == 0;
    ssize_t ignored = writev(STDERR_FILENO, pieces, count);
    (void)ignored;
    for (size_t i = 0; i < NUMBERS; i++) {
        if (sigismember(&pending, numbers[i]) != 0) {
            sigdelset(&ours, numbers[i]); /* the signal was pending before */
        }
    }
    while (is_quiet && sigtimedwait(&ours, NULL, &now) > 0) {
    }
    if (is_quiet) {
        (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    }
    errno = error;
}
