/* SPDX-License-Identifier: MIT */
/*
 * hosts_watch - the reports of many hosts, requested repeatedly by one thread.
 *
 * In each period every host is asked, unless its last question is pending; one that is silent is
 * asked again when its time is up. What a host said last stays until it says something newer, with
 * its age.
 *
 * Owner:   open / close; names are copied. A snapshot in a state is the caller's.
 * Threads: one, in addition to its own.
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
    struct ntk_hosts_remote remote; /* its texts are borrowed */
    uint64_t period_ns;
    bool begin_whole; /* the first news are when each host has answered or failed */
};

int ntk_hosts_watch_open(const struct ntk_hosts_watch_options *options,
                         struct ntk_hosts_watch **out_watch, struct ntk_err *err);
void ntk_hosts_watch_close(struct ntk_hosts_watch *watch); /* NULL is fine */

/* Readable once a period: when all hosts that were asked have ended, or half of it has ended. */
int ntk_hosts_watch_fd(const struct ntk_hosts_watch *watch);
/* Takes the news; false: there are none yet. */
bool ntk_hosts_watch_take(struct ntk_hosts_watch *watch);

/* What is known of a host now. */
struct ntk_hosts_state {
    const struct ntk_snapshot *snapshot; /* the last one; NULL: none so far */
    uint64_t age_ns;                     /* since it came here */
    uint64_t reports;                    /* this many came, each once */
    struct ntk_ranks_clock clock;
    /* Time without a good answer: since the last one, or since the first question; 0: its last
     * question was answered. */
    uint64_t silent_ns;
    char trouble[NTK_ERR_TEXT_BYTES]; /* of the last question that ended, "" none */
};
void ntk_hosts_watch_get(struct ntk_hosts_watch *watch, size_t index,
                         struct ntk_hosts_state *out_state);

#ifdef __cplusplus
}
#endif
#endif
