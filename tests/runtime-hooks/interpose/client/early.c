/* SPDX-License-Identifier: MIT */
/* A library with a constructor that calls the runtime: it writes a byte to the descriptor
 * $EARLY_FD, and continues $EARLY_MS later. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "nrt/nrt.h"

__attribute__((constructor)) static void start(void)
{
    const char *fd = getenv("EARLY_FD");
    const char *ms = getenv("EARLY_MS");

    if (fd && ms && write(atoi(fd), "e", 1) == 1) {
        const struct timespec pause = { atol(ms) / 1000, atol(ms) % 1000 * 1000000 };

        (void)nanosleep(&pause, NULL);
        (void)nrt_unload(NULL);
    }
}
