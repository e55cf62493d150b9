/* SPDX-License-Identifier: MIT */
/*
 * observe - one process observed from begin to answer: gaps from its segment, activity of threads
 * from a sampler, frames of Python, symbols, attribution.
 *
 * _begin(), then _poll() every ntk_host_observation_poll_ms(), or less often with the method proc;
 * _stop(), then _end(). Of several processes, all are stopped before the first one ends: to name
 * functions takes a while.
 *
 * Owner:   _begin() allocates, _destroy() frees; the segment is the registry's, which the caller
 *          polls. Threads: one at a time.
 */
#ifndef NTK_SHARED_HOSTWORK_OBSERVE_H
#define NTK_SHARED_HOSTWORK_OBSERVE_H

#include "shared/base/err.h"
#include "shared/hostwork/hostwork.h"
#include "shared/ring/ring_registry.h"

enum ntk_host_method_wanted { NTK_HOST_WANT_BEST, NTK_HOST_WANT_BPF, NTK_HOST_WANT_PROC };

struct ntk_host_observe_options {
    struct ntk_ring_segment *segment;
    enum ntk_host_method_wanted method;
    uint32_t rate;        /* samples per second; 0: NTK_HOST_RATE_DEFAULT */
    uint64_t duration_ns; /* expected length: limits the stacks that are copied per second */
};

struct ntk_host_observation;

/* -EACCES: this user may not trace the process; -ENODATA: its executions are unknown; -ENOTSUP or
 * -EPERM: the requested method does not work. All with a message. */
int ntk_host_observation_begin(const struct ntk_host_observe_options *options,
                               struct ntk_host_observation **out_observation, struct ntk_err *err);
/* False: the process has ended, and with it the observation; or it was stopped. */
bool ntk_host_observation_poll(struct ntk_host_observation *observation);
unsigned ntk_host_observation_poll_ms(const struct ntk_host_observation *observation);
/* What is later does not count. _end() does it where it was not done. */
void ntk_host_observation_stop(struct ntk_host_observation *observation);
/* Fills records and result. 0, -ENOMEM. */
int ntk_host_observation_end(struct ntk_host_observation *observation, struct ntk_err *err);
void ntk_host_observation_destroy(struct ntk_host_observation *observation);

/* Borrowed from the observation; the result is valid after _end(). */
const struct ntk_host_records *
ntk_host_observation_records(const struct ntk_host_observation *observation);
const struct ntk_host_result *
ntk_host_observation_result(const struct ntk_host_observation *observation);
/* The reason for the coarse method; "" if it was not used, or was requested. */
const char *ntk_host_observation_reason(const struct ntk_host_observation *observation);

#endif
