/* SPDX-License-Identifier: MIT */
/*
 * A runtime that loads slowly: its constructor writes a byte to the descriptor $VENDOR_START_FD, if
 * it is set, and continues $VENDOR_START_MS later.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

__attribute__((constructor)) static void start(void)
{
    const char *fd = getenv("VENDOR_START_FD");
    const char *ms = getenv("VENDOR_START_MS");

    if (fd && ms && write(atoi(fd), "s", 1) == 1) {
        const struct timespec pause = { atol(ms) / 1000, atol(ms) % 1000 * 1000000 };

        (void)nanosleep(&pause, NULL);
    }
}
