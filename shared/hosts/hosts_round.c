/* SPDX-License-Identifier: MIT */
#include "shared/hosts/hosts_round.h"

static uint64_t half_ns(const struct ntk_hosts_round *round)
{
    return round->next_ns - round->period_ns / 2;
}

struct ntk_hosts_round ntk_hosts_round_begin(uint64_t period_ns, bool begin_whole, uint64_t now_ns)
{
    return (struct ntk_hosts_round){
        .period_ns = period_ns, .next_ns = now_ns, .is_first = begin_whole, .is_reported = true
    };
}

bool ntk_hosts_round_is_due(struct ntk_hosts_round *round, uint64_t now_ns)
{
    if (now_ns < round->next_ns) {
        return false;
    }
    round->is_reported = false;
    round->next_ns += round->period_ns;
    if (round->next_ns <= now_ns) {
        round->next_ns = now_ns + round->period_ns;
    }
    return true;
}

bool ntk_hosts_round_has_news(struct ntk_hosts_round *round, uint64_t now_ns, bool is_pending,
                              bool is_missing)
{
    bool is_over = round->is_first ? !is_missing : !is_pending || now_ns >= half_ns(round);

    if (round->is_reported || !is_over) {
        return false;
    }
    round->is_reported = true;
    round->is_first = false;
    return true;
}

uint64_t ntk_hosts_round_until(const struct ntk_hosts_round *round)
{
    return round->is_reported || round->is_first ? round->next_ns : half_ns(round);
}
