/* SPDX-License-Identifier: MIT */
/*
 * kube_pace - decides when to send a condition to the API server: after a change once a gap has
 * passed, else with each heartbeat; after a failure, once a growing pause has passed. It reads no
 * clock.
 *
 * Owner:   the caller provides the storage; a zeroed struct has never sent.
 */
#ifndef NTK_EXPORTERS_KUBERNETES_KUBE_PACE_H
#define NTK_EXPORTERS_KUBERNETES_KUBE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Minimum interval of two different conditions, and of two checks of taints, because a thousand
 * nodes share one API server. */
#define NTK_KUBERNETES_GAP_NS UINT64_C(15000000000)
/* First pause after a failure; doubles up to the maximum. */
#define NTK_KUBERNETES_PAUSE_MIN_NS UINT64_C(2000000000)
#define NTK_KUBERNETES_PAUSE_MAX_NS UINT64_C(60000000000)

struct ntk_kube_pace {
    uint64_t said_ns;  /* time of the last request; 0 for never */
    uint64_t retry_ns; /* no attempt before this time after a failure; 0: no failure */
    uint64_t pause_ns; /* last pause after a failure */
    bool is_wanted;    /* true if something changed since */
    bool is_sending;   /* true while a request is running */
};

/* Returns the gap; a shorter heartbeat shortens it. */
uint64_t ntk_kube_pace_gap_ns(uint64_t heartbeat_ns);
/* Returns the time of the next request. first_ns: the earliest time of the first request. in_haste:
 * skip the gap. */
uint64_t ntk_kube_pace_due_ns(const struct ntk_kube_pace *pace, uint64_t heartbeat_ns,
                              uint64_t first_ns, bool in_haste);
/* Returns true if a request is to be sent now; then clears is_wanted. */
bool ntk_kube_pace_begin(struct ntk_kube_pace *pace, uint64_t due_ns, uint64_t now_ns);
/* Updates the state after a response (0 or more) or a failure; retry_ns: the pause that the server
 * requests. */
void ntk_kube_pace_end(struct ntk_kube_pace *pace, int result, uint64_t retry_ns, uint64_t now_ns);

#ifdef __cplusplus
}
#endif
#endif
