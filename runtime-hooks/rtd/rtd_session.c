/* SPDX-License-Identifier: MIT */
/* rtd_session - frees the resources of a client when its session_monitor stream ends for any
 * reason. */
#include <stdlib.h>

#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/base/log.h"

#define MODULE "session"

bool rtd_session_is_known(const struct rtd_manager *manager, uint64_t id)
{
    const struct rtd_session *session = manager->sessions;

    while (session && session->id != id) {
        session = session->next;
    }
    return id == 0 || session;
}

void rtd_session_end(struct rtd_manager *manager, uint64_t id)
{
    struct rtd_session **at = &manager->sessions;
    struct rtd_model *next_model;
    struct rtd_group *next_group;

    while (*at && (*at)->id != id) {
        at = &(*at)->next;
    }
    if (!*at) {
        return;
    }
    struct rtd_session *session = *at;
    *at = session->next;
    free(session);
    for (struct rtd_model *model = manager->models; model; model = next_model) {
        next_model = model->next;
        if (model->group->session == id && !model->is_leaving) {
            rtd_model_leave(model, true);
        }
    }
    /* The other groups are removed with their last model. */
    for (struct rtd_group *group = manager->groups; group; group = next_group) {
        next_group = group->next;
        if (group->session == id && group->model_count == 0) {
            rtd_group_destroy(manager, group);
        }
    }
    rtd_shm_forget_session(manager, id);
}

static void version_set(Nrt__Version *version)
{
    nrt__version__init(version);
    version->full_version = (char *)RTD_VERSION;
    version->major_num = RTD_VERSION_MAJOR;
    version->minor_num = RTD_VERSION_MINOR;
}

void rtd_get_version(struct rtd_manager *manager, struct ntk_rpc_call *call,
                     const ProtobufCMessage *message)
{
    Nrt__GetVersionResponse reply = NRT__GET_VERSION_RESPONSE__INIT;
    Nrt__Version version;

    (void)manager;
    (void)message;
    version_set(&version);
    reply.runtime_version = &version;
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
}

/* Clients read before they write, so the only answer is sent immediately. */
void rtd_session_opened(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    Nrt__SessionMonitorResponse reply = NRT__SESSION_MONITOR_RESPONSE__INIT;
    struct rtd_session *session = calloc(1, sizeof *session);
    Nrt__Version version;

    version_set(&version);
    reply.runtime_version = &version;
    pthread_mutex_lock(&manager->lock);
    if (session) {
        session->id = ++manager->last_session;
        session->next = manager->sessions;
        manager->sessions = session;
        reply.session_id = session->id;
    }
    pthread_mutex_unlock(&manager->lock);
    ntk_rpc_call_own_set(call, session);
    ntk_rpc_call_greet(call, &reply.base);
}

bool rtd_session_message(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    const Nrt__SessionMonitorRequest *asked = (const void *)message;

    (void)call;
    ntk_log_info(MODULE, "%s %s, framework abstraction %s",
                 asked->framework_name[0] ? asked->framework_name : "a client",
                 asked->framework_version ? asked->framework_version->full_version : "",
                 asked->fal_version ? asked->fal_version->full_version : "unknown");
    return true;
}

void rtd_session_ended(struct ntk_rpc_call *call)
{
    ntk_rpc_call_finish(call, NULL, NTK_RPC_OK, NULL);
}

void rtd_session_gone(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    const struct rtd_session *session = ntk_rpc_call_own_get(call);

    if (session) {
        pthread_mutex_lock(&manager->lock);
        rtd_session_end(manager, session->id);
        pthread_mutex_unlock(&manager->lock);
    }
}
