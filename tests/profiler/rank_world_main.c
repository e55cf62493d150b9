/* SPDX-License-Identifier: MIT */
/*
 * rank_world FOLDER RANKS COLLECTIVES LATE - writes the generated inspections of a job in which
 * rank LATE executes five times as long. For tests of profiles of many ranks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/support/rank_world.h"

int main(int argc, char **argv)
{
    struct rank_world world = { .per_host = 32,
                                .runs = 3,
                                .seed = 3,
                                .is_numbered = true,
                                .host_ahead_ns = 1000000,
                                .broken = RANK_WORLD_NO_RANK };
    struct rank_world_sums sums;

    if (argc != 5) {
        (void)fprintf(stderr, "rank_world: FOLDER RANKS COLLECTIVES LATE\n");
        return 2;
    }
    world.ranks = (uint32_t)strtoul(argv[2], NULL, 10);
    world.collectives = (uint32_t)strtoul(argv[3], NULL, 10);
    world.late = (uint32_t)strtoul(argv[4], NULL, 10);
    return mkdir(argv[1], 0755) == 0 && rank_world_write(&world, argv[1], &sums) ? 0 : 1;
}
