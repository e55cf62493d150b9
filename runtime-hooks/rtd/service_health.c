/* SPDX-License-Identifier: MIT */
/* service_health - implements grpc.health.v1.Health: the state of this daemon. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/base/cond.h"
#include "shared/rpc/proto/grpc/health/v1/health.pb-c.h"

/* Maximum time that the exit of the daemon waits for watchers to be informed. */
#define LAST_WORD_NS (500 * NTK_NS_PER_MS)

typedef enum _Grpc__Health__V1__HealthCheckResponse__ServingStatus serving_status;
#define STATUS(name) GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__##name

struct rtd_watcher {
    struct rtd_watcher *next;
    struct ntk_rpc_call *call;
    bool is_known; /* true if the requested service exists */
    bool is_sending;
    serving_status said;
};

static bool is_known(const char *service)
{
    return strcmp(service, "") == 0 || strcmp(service, "nrt.nmgr_v1") == 0;
}

static serving_status status_now(const struct rtd_manager *manager, bool known)
{
    if (!known) {
        return STATUS(SERVICE_UNKNOWN);
    }
    return manager->core && !manager->is_stopping ? STATUS(SERVING) : STATUS(NOT_SERVING);
}

bool rtd_health_check(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    const Grpc__Health__V1__HealthCheckRequest *asked = (const void *)message;
    Grpc__Health__V1__HealthCheckResponse reply = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);

    if (!is_known(asked->service)) {
        ntk_rpc_call_finish(call, NULL, NTK_RPC_NOT_FOUND, "unknown service");
        return false;
    }
    pthread_mutex_lock(&manager->lock);
    reply.status = status_now(manager, true);
    pthread_mutex_unlock(&manager->lock);
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    return false;
}

/* Sends the current state, unless already sent. The caller holds the lock. */
static void tell(struct rtd_manager *manager, struct rtd_watcher *watcher)
{
    Grpc__Health__V1__HealthCheckResponse reply = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    serving_status now = status_now(manager, watcher->is_known);

    if (!watcher->is_sending && watcher->said != now) {
        watcher->is_sending = true;
        watcher->said = now;
        reply.status = now;
        ntk_rpc_call_send(watcher->call, &reply.base);
    }
}

bool rtd_health_watch(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    const Grpc__Health__V1__HealthCheckRequest *asked = (const void *)message;
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    struct rtd_watcher *watcher = calloc(1, sizeof *watcher);

    if (!watcher) {
        ntk_rpc_call_finish(call, NULL, NTK_RPC_INTERNAL, "out of memory");
        return false;
    }
    watcher->call = call;
    watcher->is_known = is_known(asked->service);
    watcher->said = STATUS(UNKNOWN);
    ntk_rpc_call_own_set(call, watcher);
    pthread_mutex_lock(&manager->lock);
    watcher->next = manager->watchers;
    manager->watchers = watcher;
    tell(manager, watcher);
    pthread_mutex_unlock(&manager->lock);
    return false;
}

void rtd_health_sent(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    struct rtd_watcher *watcher = ntk_rpc_call_own_get(call);

    pthread_mutex_lock(&manager->lock);
    watcher->is_sending = false;
    tell(manager, watcher);
    pthread_cond_broadcast(&manager->notified);
    pthread_mutex_unlock(&manager->lock);
}

void rtd_health_gone(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    struct rtd_watcher *watcher = ntk_rpc_call_own_get(call);
    struct rtd_watcher **at = &manager->watchers;

    if (!watcher) {
        return;
    }
    pthread_mutex_lock(&manager->lock);
    while (*at != watcher) {
        at = &(*at)->next;
    }
    *at = watcher->next;
    pthread_cond_broadcast(&manager->notified);
    pthread_mutex_unlock(&manager->lock);
    free(watcher);
}

static bool is_everyone_notified(const struct rtd_manager *manager)
{
    for (const struct rtd_watcher *watcher = manager->watchers; watcher; watcher = watcher->next) {
        if (watcher->is_sending || watcher->said != status_now(manager, watcher->is_known)) {
            return false;
        }
    }
    return true;
}

void rtd_health_stop(struct rtd_manager *manager, const struct ntk_clock *clock)
{
    uint64_t until_ns = ntk_clock_now_ns(clock) + LAST_WORD_NS;

    pthread_mutex_lock(&manager->lock);
    manager->is_stopping = true;
    for (struct rtd_watcher *watcher = manager->watchers; watcher; watcher = watcher->next) {
        tell(manager, watcher);
    }
    /* A peer that does not read must not delay the exit. */
    while (!is_everyone_notified(manager) &&
           ntk_cond_wait_clock(clock, &manager->notified, &manager->lock, until_ns) != -ETIMEDOUT) {
    }
    pthread_mutex_unlock(&manager->lock);
}
