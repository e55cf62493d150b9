/* SPDX-License-Identifier: MIT */
/*
 * hosts_watch - requests the reports of many hosts repeatedly, on one thread.
 *
 * In each period every host is queried, unless its last request is pending; a silent host is
 * queried again after its timeout. A host's last report stays, with its age, until there is a newer
 * one.
 *
 * Owner:   open / close; names are copied. The caller owns the snapshot in a state.
 * Threads: one, in addition to the internal thread.
 */
#ifndef NTK_SHARED_HOSTS_HOSTS_WATCH_H
#define NTK_SHARED_HOSTS_HOSTS_WATCH_H

#include <stdbool.h>

#include "shared/hosts/hosts.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_HOSTS_WATCH_MAX 1024u

struct ntk_hosts_watch;

struct ntk_hosts_watch_options {
    const char *const *names; /* see hosts.h, at most NTK_HOSTS_WATCH_MAX */
    size_t count;
    struct ntk_hosts_remote remote; /* the texts are borrowed */
    uint64_t period_ns;
    bool begin_whole; /* report nothing until each host has answered or failed */
};

int ntk_hosts_watch_open(const struct ntk_hosts_watch_options *options,
                         struct ntk_hosts_watch **out_watch, struct ntk_err *err);
void ntk_hosts_watch_close(struct ntk_hosts_watch *watch); /* accepts NULL */

/* A descriptor that becomes readable once per period: when all requests have ended, or after half
 * of the period. */
int ntk_hosts_watch_fd(const struct ntk_hosts_watch *watch);
/* Fetches the results; false if there are none yet. */
bool ntk_hosts_watch_take(struct ntk_hosts_watch *watch);

/* The current state of a host. */
struct ntk_hosts_state {
    const struct ntk_snapshot *snapshot; /* the last snapshot; NULL: none so far */
    uint64_t age_ns;                     /* time since it arrived */
    uint64_t reports;                    /* number of different reports so far */
    struct ntk_ranks_clock clock;
    /* Time since the last good answer, or since the first request if there was none; 0 if the last
     * request was answered. */
    uint64_t silent_ns;
    char trouble[NTK_ERR_TEXT_BYTES]; /* message of the last failed request; "" if none */
};
void ntk_hosts_watch_get(struct ntk_hosts_watch *watch, size_t index,
                         struct ntk_hosts_state *out_state);

#ifdef __cplusplus
}
#endif
#endif
