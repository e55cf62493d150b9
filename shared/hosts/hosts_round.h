/* SPDX-License-Identifier: MIT */
/*
 * hosts_round - decides when the hosts of a watch are queried and when results are reported.
 *
 * Every host is queried once per period. Results are reported when each queried host has answered
 * or failed, at the latest after half a period. With begin_whole, the first update waits for all
 * hosts.
 *
 * Times are monotonic and come from the caller: nothing here reads a clock.
 */
#ifndef NTK_SHARED_HOSTS_HOSTS_ROUND_H
#define NTK_SHARED_HOSTS_HOSTS_ROUND_H

#include <stdbool.h>
#include <stdint.h>

struct ntk_hosts_round {
    uint64_t period_ns;
    uint64_t next_ns; /* time of the next queries */
    bool is_first;    /* the first report waits for all hosts */
    bool is_reported; /* results of this period were reported */
};

struct ntk_hosts_round ntk_hosts_round_begin(uint64_t period_ns, bool begin_whole, uint64_t now_ns);
/* Returns true if the hosts must be queried now. A late caller skips periods. */
bool ntk_hosts_round_is_due(struct ntk_hosts_round *round, uint64_t now_ns);
/* Returns true if results must be reported, at most once per period. is_pending: a host has not
 * answered yet; is_missing: a host has never answered or failed. */
bool ntk_hosts_round_has_news(struct ntk_hosts_round *round, uint64_t now_ns, bool is_pending,
                              bool is_missing);
/* The time of the next check, if no host answers before. */
uint64_t ntk_hosts_round_until(const struct ntk_hosts_round *round);

#endif
