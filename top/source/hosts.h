/* SPDX-License-Identifier: MIT */
/*
 * hosts - holds the state of many machines: the last report of each, its past, and the
 * communicators of all machines. source_hosts fills it with each round.
 *
 * Threads: one.
 */
#ifndef NTK_TOP_SOURCE_HOSTS_H
#define NTK_TOP_SOURCE_HOSTS_H

#include "shared/hosts/hosts_watch.h"
#include "shared/metrics/ranks.h"
#include "top/base/value.h"
#include "shared/base/url.h"

#define NTK_TOP_HOST_PAST 32u /* number of rounds */

struct ntk_top_host {
    char name[NTK_URL_SHOWN_BYTES]; /* address without secrets */
    struct ntk_hosts_state state;
    uint64_t reports;              /* state.reports at the last check */
    uint64_t taken;                /* state.reports when the following fields were set */
    float past[NTK_TOP_HOST_PAST]; /* busy percent, newest last; NAN without data */

    /* Figures of the snapshot, from model_hosts.c; absent without one. */
    struct ntk_top_number busy_percent; /* mean of all cores, as on the page of the host */
    struct ntk_top_bytes hbm;
    uint64_t hbm_capacity;                  /* 0 if unknown */
    struct ntk_top_number rate, error_rate; /* executions per second */
    int verdict;                            /* enum ntk_health_verdict; -1 if unknown */
    const char *reason;                     /* reason of the verdict; "" if none */
};

enum ntk_top_host_health { /* a greater value is better */
                           NTK_TOP_HOST_UNHEALTHY,
                           NTK_TOP_HOST_UNREACHABLE,
                           NTK_TOP_HOST_HANGS,   /* one of its ranks hangs, or others wait for it */
                           NTK_TOP_HOST_LATE,    /* it answers, but with an old report */
                           NTK_TOP_HOST_UNKNOWN, /* verdict on its devices */
                           NTK_TOP_HOST_NO_DEVICES,
                           NTK_TOP_HOST_GOOD,
                           NTK_TOP_HOST_ASKED, /* no answer so far */
                           NTK_TOP_HOST_HEALTH_COUNT,
};

struct ntk_top_hosts {
    struct ntk_top_host *items;
    size_t count;
    size_t open_index;      /* SIZE_MAX for the list */
    struct ntk_ranks ranks; /* ranks of all hosts that answered */
};

#endif
