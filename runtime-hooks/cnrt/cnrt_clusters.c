/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/cnrt/cnrt_clusters.h"

#include <pthread.h>

#include "runtime-hooks/cnrt/cnrt_front.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static uint64_t busy[CNRT_DEVICES_MAX]; /* bit c: cluster c is busy */

static uint64_t row_of(uint32_t first, uint32_t width)
{
    return ((UINT64_C(1) << width) - 1) << first;
}

/* Finds the first row that is allowed and free; `count` if there is none. */
static uint32_t row_find(uint32_t count, uint32_t width, uint64_t mask, uint64_t taken)
{
    for (uint32_t first = 0; width <= count && first <= count - width; first += width) {
        uint64_t row = row_of(first, width);

        if ((mask == 0 || (row & mask) == row) && (row & taken) == 0) {
            return first;
        }
    }
    return count;
}

int cnrt_clusters_exist(uint32_t count, uint32_t width, uint64_t mask)
{
    return row_find(count, width, mask, 0) < count;
}

uint32_t cnrt_clusters_hold(uint32_t device, uint32_t count, uint32_t width, uint64_t mask)
{
    pthread_mutex_lock(&lock);
    uint32_t first = row_find(count, width, mask, busy[device]);
    while (first == count) {
        pthread_cond_wait(&released, &lock);
        first = row_find(count, width, mask, busy[device]);
    }
    busy[device] |= row_of(first, width);
    pthread_mutex_unlock(&lock);
    return first;
}

void cnrt_clusters_release(uint32_t device, uint32_t first, uint32_t width)
{
    pthread_mutex_lock(&lock);
    busy[device] &= ~row_of(first, width);
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

void cnrt_clusters_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&released, NULL);
    for (uint32_t i = 0; i < CNRT_DEVICES_MAX; i++) {
        busy[i] = 0;
    }
}
