/* SPDX-License-Identifier: MIT */
/*
 * cmd_trigger_ask - the requests of neuron-profile trigger to processes of this machine, a request
 * per user.
 *
 * Owner:   ntk_trigger_askings_take() adds requests, ntk_trigger_asking_destroy() frees one.
 * Threads: each request may run in its own thread; is_done is set when it has finished.
 */
#ifndef NTK_PROFILER_CMD_CMD_TRIGGER_ASK_H
#define NTK_PROFILER_CMD_CMD_TRIGGER_ASK_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "profiler/cmd/cmd_trigger_around.h"
#include "profiler/cmd/cmd_trigger_options.h"
#include "profiler/system/trigger.h"
#include "shared/base/err.h"
#include "shared/base/progress.h"
#include "shared/base/vec.h"
#include "shared/ring/ring_registry.h"

#define NTK_TRIGGER_USERS_MAX 64U /* maximum number of users with simultaneous requests */

/* The processes of one user. Processes of two users are never one job, even if they claim it. */
struct ntk_trigger_asking {
    const struct ntk_trigger_options *options;
    uint32_t uid;
    pthread_t thread;
    _Atomic bool is_done;
    bool is_reported;
    int ret; /* negative after a failure, with a message */
    struct ntk_err err;
    bool is_shown; /* true if its progress is shown */
    struct ntk_trigger_target *targets;
    size_t count;
    struct ntk_trigger_around *around;
    int watch_code; /* 1 if host threads of a process could not be observed */
    /* elements are struct ntk_trigger_target that cannot record, so they are only examined */
    struct ntk_vec others;
    uint64_t now;      /* latest started execution at the last check */
    double per_second; /* executions per second */
    uint64_t first;
    char folder[PATH_MAX];
    bool may_try_again; /* true if a later execution may succeed */
    struct ntk_progress progress;
    uint64_t begin_ns;
};

struct ntk_trigger_askings {
    const struct ntk_trigger_options *options;
    struct ntk_trigger_asking *of[NTK_TRIGGER_USERS_MAX];
    size_t count;
};

/* Groups targets by user. Processes that only root may use are ignored if the caller has processes
 * with the same name. */
int ntk_trigger_askings_take(struct ntk_trigger_askings *askings,
                             struct ntk_ring_registry *registry, const struct ntk_ring_poll *poll,
                             struct ntk_err *err);
void ntk_trigger_asking_destroy(struct ntk_trigger_asking *asking);
/* Runs the request for the processes of one user (ctx). Returns NULL. */
void *ntk_trigger_asking_run(void *ctx);

#endif
