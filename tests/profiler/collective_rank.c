/* SPDX-License-Identifier: MIT */
/*
 * collective_rank RANK RANKS TIMES [MS] - one rank of a world on this machine: so many times a
 * barrier, then all ranks' bytes gathered, which it looks at. MS: it idles as long before each
 * barrier. For tests of what profiles say of ranks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nrt/nrt.h"

#define BYTES 4096U
#define RANKS_MAX 8U

static void check(NRT_STATUS status, const char *what)
{
    if (status != NRT_SUCCESS) {
        (void)fprintf(stderr, "collective_rank: %s: status %d\n", what, (int)status);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static char own[BYTES];
    static char all[RANKS_MAX * BYTES];
    unsigned long rank = argc >= 4 ? strtoul(argv[1], NULL, 10) : RANKS_MAX;
    unsigned long ranks = argc >= 4 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned long times = argc >= 4 ? strtoul(argv[3], NULL, 10) : 0;
    unsigned long idle_ms = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    struct timespec idle = { (time_t)(idle_ms / 1000), (long)(idle_ms % 1000) * 1000000 };

    if (ranks > RANKS_MAX || rank >= ranks) {
        (void)fprintf(stderr, "collective_rank: RANK RANKS TIMES [MS]\n");
        return 2;
    }
    memset(own, (int)rank + 1, sizeof own);
    check(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
    for (unsigned long i = 0; i < times; i++) {
        memset(all, 0, sizeof all);
        (void)nanosleep(&idle, NULL);
        check(nrt_barrier(0, (uint32_t)rank, (uint32_t)ranks), "nrt_barrier");
        check(nrt_all_gather(0, (uint32_t)rank, (uint32_t)ranks, BYTES, own, all),
              "nrt_all_gather");
        for (size_t b = 0; b < ranks * BYTES; b++) {
            if (all[b] != (char)(b / BYTES + 1)) {
                (void)fprintf(stderr, "collective_rank: byte %zu is another rank's\n", b);
                return 1;
            }
        }
    }
    nrt_close();
    return 0;
}
