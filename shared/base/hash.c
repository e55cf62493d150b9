/* SPDX-License-Identifier: MIT */
/* hash - multiplication by a secret; the high half of the product is folded onto the low half. */
#include "shared/base/hash.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* The first bits of pi. */
#define FACTOR UINT64_C(0x243f6a8885a308d3)

static _Atomic uint64_t secret; /* 0 until created */

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t secret_make(void)
{
    uint64_t made = 0;
    uint64_t before = 0;

    if (getrandom(&made, sizeof made, GRND_NONBLOCK) != sizeof made || made == 0) {
        /* Used early at boot, before random numbers are available: better than a constant. */
        struct timespec now = { 0 };

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        made = fold((uint64_t)now.tv_nsec ^ FACTOR, (uint64_t)getpid() << 32 | 1) | 1;
    }
    /* The first thread sets the secret, which then never changes in this process. */
    return atomic_compare_exchange_strong_explicit(&secret, &before, made, memory_order_relaxed,
                                                   memory_order_relaxed)
               ? made
               : before;
}

static uint64_t secret_get(void)
{
    uint64_t known = atomic_load_explicit(&secret, memory_order_relaxed);

    return known ? known : secret_make();
}

/* The second round uses the product of the first, so a number that makes it 0 cannot be chosen
 * without knowing the secret. */
static uint64_t number_fold(uint64_t number, uint64_t key)
{
    return fold(fold(number ^ key, FACTOR) ^ key, key | 1);
}

uint64_t ntk_hash_number(uint64_t number)
{
    return number_fold(number, secret_get());
}

uint64_t ntk_hash_text(const char *text)
{
    uint64_t key = secret_get();
    size_t left = strlen(text);
    uint64_t hash = left;
    uint64_t word;

    for (; left >= sizeof word; left -= sizeof word, text += sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = number_fold(hash ^ word, key);
    }
    word = 0;
    memcpy(&word, text, left);
    return number_fold(hash ^ word, key);
}
