/* SPDX-License-Identifier: MIT */
/* random - random numbers, the same in each run. */
#ifndef NTK_TESTS_SHARED_METRICS_RANDOM_H
#define NTK_TESTS_SHARED_METRICS_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

static inline double uniform(struct random *random)
{
    random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(random->state >> 11) / 9007199254740992.0;
}

/* Approximately normal: mean 0, deviation 1. */
static inline double normal(struct random *random)
{
    double sum = 0;

    for (int i = 0; i < 12; i++) {
        sum += uniform(random);
    }
    return sum - 6;
}

#endif
