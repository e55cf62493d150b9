/* SPDX-License-Identifier: MIT */
/*
 * async - the implicit asynchronous mode: nrt_execute() queues an execution, and the client's
 * callback gets its result.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/interpose/execute.h"
#include "runtime-hooks/interpose/pending.h"

/* The runtime had this mode up to version 2.33. */
#define LAST_MAJOR 2
#define LAST_MINOR 33

bool interpose_is_implicit;

void interpose_implicit_find(const nrt_version_t *version)
{
    const char *text = getenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");

    interpose_is_implicit = text && strtol(text, NULL, 10) > 0 && version->rt_major == LAST_MAJOR &&
                            version->rt_minor <= LAST_MINOR;
}

/* A registered callback; never freed, because the runtime may still call an earlier
 * one. */
struct registration {
    NRT_ASYNC_EXEC_STATUS_CALLBACK callback;
    void *params;
    struct registration *next;
};
static struct registration *registrations;
static pthread_mutex_t registrations_lock = PTHREAD_MUTEX_INITIALIZER;

static struct registration *registration_get(NRT_ASYNC_EXEC_STATUS_CALLBACK callback, void *params)
{
    struct registration *found;

    pthread_mutex_lock(&registrations_lock);
    found = registrations;
    while (found && (found->callback != callback || found->params != params)) {
        found = found->next;
    }
    if (!found) {
        found = malloc(sizeof *found);
        if (found) {
            *found = (struct registration){ callback, params, registrations };
            registrations = found;
        }
    }
    pthread_mutex_unlock(&registrations_lock);
    return found;
}

void interpose_callbacks_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    memcpy(&registrations_lock, &fresh, sizeof fresh);
}

static void depth_restore(const uint32_t *depth)
{
    interpose_thread.depth = *depth;
}

static void ended(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id, NRT_STATUS status)
{
    const struct registration *registration = params;
    /* Calls made by the callback are calls of the client, even if the runtime is inside another
     * call. */
    uint32_t depth __attribute__((unused, cleanup(depth_restore))) = interpose_thread.depth;

    pending_end_first(PENDING_IMPLICIT(interpose_core_get(vnc)), status);
    interpose_thread.depth = 0;
    registration->callback(registration->params, model_id, vnc, job_id, status);
}

NRT_STATUS observed_nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK callback,
                                                     void *params)
{
    INTERPOSE_SCOPE;
    struct registration *registration =
        scope.generation && callback ? registration_get(callback, params) : NULL;

    return registration ? REAL(nrt_register_async_exec_callback)(ended, registration)
                        : REAL(nrt_register_async_exec_callback)(callback, params);
}

NRT_STATUS observed_nrt_async_drain_queued_execs(int32_t vnc)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_async_drain_queued_execs)(vnc);

    /* Executions with a callback have already ended; the others end here. */
    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        pending_end_implicit(interpose_core_get(vnc), status);
    }
    return status;
}
