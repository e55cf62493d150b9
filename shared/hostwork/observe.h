/* SPDX-License-Identifier: MIT */
/*
 * observe - observes one process from start to result: gaps from its segment, thread activity from
 * a sampler, Python frames, symbols, attribution.
 *
 * _begin(), then _poll() every ntk_host_observation_poll_ms(), or less often with the method proc;
 * then _stop() and _end(). With several processes, call _stop() for all before the first _end(),
 * because naming functions takes a while.
 *
 * Owner:   _begin() allocates, _destroy() frees; the segment belongs to the registry, which the
 *          caller polls. Threads: one at a time.
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
    uint64_t duration_ns; /* expected duration, which limits the stacks copied per second */
};

struct ntk_host_observation;

/* Returns -EACCES if this user may not trace the process; -ENODATA if its executions are unknown;
 * -ENOTSUP or -EPERM if the requested method does not work. All with a message. */
int ntk_host_observation_begin(const struct ntk_host_observe_options *options,
                               struct ntk_host_observation **out_observation, struct ntk_err *err);
/* Returns false if the observation was stopped, or the process has ended and so has the
 * observation. */
bool ntk_host_observation_poll(struct ntk_host_observation *observation);
/* Time until the next poll; changes with each one. */
unsigned ntk_host_observation_poll_ms(const struct ntk_host_observation *observation);
/* Stops the observation: later activity does not count. _end() calls it if the caller did not. */
void ntk_host_observation_stop(struct ntk_host_observation *observation);
/* Fills records and result. Returns 0 or -ENOMEM. */
int ntk_host_observation_end(struct ntk_host_observation *observation, struct ntk_err *err);
void ntk_host_observation_destroy(struct ntk_host_observation *observation);

/* Borrowed from the observation. The result is valid after _end(). */
const struct ntk_host_records *
ntk_host_observation_records(const struct ntk_host_observation *observation);
const struct ntk_host_result *
ntk_host_observation_result(const struct ntk_host_observation *observation);
/* Why the coarse method was used; "" if it was not used, or was requested. */
const char *ntk_host_observation_reason(const struct ntk_host_observation *observation);

#endif
