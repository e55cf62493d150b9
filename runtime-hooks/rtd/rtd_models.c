/* SPDX-License-Identifier: MIT */
/* rtd_models - starts, stops and unloads a loaded model. */
#include <stdlib.h>

#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#define MODULE "models"

struct rtd_model *rtd_model_find(struct rtd_manager *manager, const Nrt__HNn *handle)
{
    struct rtd_model *model = manager->models;

    while (model && (!handle || model->id != handle->id || model->is_leaving)) {
        model = model->next;
    }
    return model;
}

/* ---- states ---- */

enum _Nrt__Nerr rtd_model_start(struct rtd_model *model)
{
    uint64_t begin_ns = ntk_clock_monotonic_ns();

    switch (model->state) {
    case RTD_MODEL_READY:
        return NRT__NERR__NERR_OK;
    case RTD_MODEL_FAILED:
        return NRT__NERR__NERR_FAILED_STATE;
    default:
        if (model->group->running) {
            return NRT__NERR__NERR_INVALID;
        }
        model->state = RTD_MODEL_READY;
        model->group->running = model;
        model->manager->counts.starts++;
        rtd_metrics_add(model->manager->metrics, NRT__METRIC_TYPE__NMGR_METRIC_MODEL_START_LATENCY,
                        ntk_clock_monotonic_ns() - begin_ns);
        ntk_core_model_started(model->core);
        ntk_log_info(MODULE, "[NMGR:kmgr_start_nn] Started NN: %u", model->id);
        return NRT__NERR__NERR_OK;
    }
}

/* Called when no inference of the model is running. */
static void stopped(struct rtd_model *model)
{
    if (model->group->running == model) {
        model->group->running = NULL;
    }
    if (model->state == RTD_MODEL_STOPPING) {
        model->state = RTD_MODEL_STANDBY;
        model->manager->counts.stops++;
        rtd_metrics_add(model->manager->metrics, NRT__METRIC_TYPE__NMGR_METRIC_MODEL_STOP_LATENCY,
                        ntk_clock_monotonic_ns() - model->stop_ns);
        ntk_core_model_stopped(model->core, NTK_CORE_COMPLETED);
    }
    rtd_waits_answer(&model->stops, NRT__NERR__NERR_OK, "");
}

static void reap(struct rtd_model *model)
{
    struct rtd_manager *manager = model->manager;
    struct rtd_model **at = &manager->models;

    while (*at != model) {
        at = &(*at)->next;
    }
    *at = model->next;
    model->next = manager->leaving;
    manager->leaving = model;
    pthread_cond_signal(&manager->reap);
}

static void settle(struct rtd_model *model)
{
    if (model->in_flight > 0) {
        return;
    }
    if (model->is_leaving || model->state == RTD_MODEL_STOPPING) {
        stopped(model);
    }
    if (model->is_leaving) {
        reap(model);
    }
}

void rtd_model_inference_over(struct rtd_model *model)
{
    model->in_flight--;
    settle(model);
}

static void stop(struct rtd_model *model)
{
    if (model->state == RTD_MODEL_READY) {
        model->state = RTD_MODEL_STOPPING;
        model->stop_ns = ntk_clock_monotonic_ns();
        ntk_core_model_stop_begin(model->core);
    }
}

void rtd_model_leave(struct rtd_model *model, bool cancels)
{
    stop(model);
    model->is_cancelled = model->is_cancelled || cancels;
    model->is_leaving = true;
    model->leave_ns = ntk_clock_monotonic_ns();
    model->manager->leaving_count++;
    rtd_infer_forget(model->manager, model);
    settle(model);
}

void rtd_model_take_back(struct rtd_manager *manager, uint32_t id)
{
    Nrt__HNn handle = NRT__H_NN__INIT;

    handle.id = id;
    struct rtd_model *model = rtd_model_find(manager, &handle);
    if (model) {
        rtd_model_leave(model, true);
    }
}

/* ---- unloading ---- */

void rtd_model_destroy(struct rtd_model *model)
{
    for (uint32_t i = 0; i < model->lane_count; i++) {
        ntk_core_queue_destroy(model->lanes[i]);
    }
    free(model->lanes);
    pthread_mutex_destroy(&model->unstaging_lock);
    for (uint32_t i = 0; i < model->ninfer && model->contexts; i++) {
        for (size_t t = 0; t < model->io_count && model->contexts[i].tensors; t++) {
            if (model->contexts[i].tensors[t]) {
                ntk_core_tensor_destroy(model->contexts[i].tensors[t]);
            }
        }
        free(model->contexts[i].tensors);
    }
    free(model->contexts);
    for (size_t i = 0; i < sizeof model->stages / sizeof *model->stages; i++) {
        if (model->stages[i]) {
            ntk_core_tensor_destroy(model->stages[i]);
        }
    }
    if (model->core) {
        ntk_core_model_unload(model->core);
    }
    free(model);
}

/* Removes a group of a closed session, or for one model, with its last model. */
void rtd_group_left(struct rtd_manager *manager, struct rtd_group *group)
{
    group->model_count--;
    if (group->model_count == 0 &&
        (group->is_fleeting || !rtd_session_is_known(manager, group->session))) {
        rtd_group_destroy(manager, group);
    }
}

void *rtd_models_reap(void *ctx)
{
    struct rtd_manager *manager = ctx;

    pthread_mutex_lock(&manager->lock);
    while (manager->leaving || !manager->is_ending) {
        struct rtd_model *model = manager->leaving;
        if (!model) {
            pthread_cond_wait(&manager->reap, &manager->lock);
            continue;
        }
        manager->leaving = model->next;
        struct rtd_group *group = model->group;
        struct rtd_wait *unloads = model->unloads;
        uint64_t leave_ns = model->leave_ns;
        pthread_mutex_unlock(&manager->lock);
        rtd_captures_forget(manager, model->id);
        rtd_model_destroy(model);
        pthread_mutex_lock(&manager->lock);
        manager->counts.unloads++;
        rtd_metrics_add(manager->metrics, NRT__METRIC_TYPE__NMGR_METRIC_MODEL_UNLOAD_LATENCY,
                        ntk_clock_monotonic_ns() - leave_ns);
        rtd_group_left(manager, group);
        rtd_waits_answer(&unloads, NRT__NERR__NERR_OK, "");
        if (--manager->leaving_count == 0) {
            rtd_waits_answer(&manager->drains, NRT__NERR__NERR_OK, "");
            pthread_cond_broadcast(&manager->reaped);
        }
    }
    pthread_mutex_unlock(&manager->lock);
    return NULL;
}

/* ---- methods ---- */

static void no_model(struct ntk_rpc_call *call, const Nrt__HNn *handle)
{
    rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "Failed to find model: %u",
               handle ? handle->id : 0);
}

void rtd_start(struct rtd_manager *manager, struct ntk_rpc_call *call,
               const ProtobufCMessage *message)
{
    const Nrt__StartRequest *asked = (const void *)message;
    struct rtd_model *model = rtd_model_find(manager, asked->h_nn);

    if (!model) {
        no_model(call, asked->h_nn);
        return;
    }
    switch (rtd_model_start(model)) {
    case NRT__NERR__NERR_OK:
        rtd_good(call);
        break;
    case NRT__NERR__NERR_FAILED_STATE:
        rtd_refuse(call, NRT__NERR__NERR_FAILED_STATE, "model %u failed: unload it", model->id);
        break;
    default:
        rtd_refuse(call, NRT__NERR__NERR_INVALID, "another model is running on the NCG");
    }
}

static void wait_for(struct rtd_wait **waits, struct ntk_rpc_call *call)
{
    struct rtd_wait *wait = rtd_wait_begin(call);

    if (wait) {
        wait->next = *waits;
        *waits = wait;
    }
}

void rtd_stop(struct rtd_manager *manager, struct ntk_rpc_call *call,
              const ProtobufCMessage *message)
{
    const Nrt__StopRequest *asked = (const void *)message;
    struct rtd_model *model = rtd_model_find(manager, asked->h_nn);

    if (!model) {
        no_model(call, asked->h_nn);
    } else if (model->state == RTD_MODEL_STANDBY || model->state == RTD_MODEL_FAILED) {
        rtd_good(call);
    } else {
        wait_for(&model->stops, call);
        stop(model);
        settle(model);
    }
}

void rtd_unload(struct rtd_manager *manager, struct ntk_rpc_call *call,
                const ProtobufCMessage *message)
{
    const Nrt__UnloadRequest *asked = (const void *)message;
    struct rtd_model *model = rtd_model_find(manager, asked->h_nn);

    if (!model) {
        no_model(call, asked->h_nn);
    } else if (model->group->running == model && !model->group->is_implicit) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID, "model is running");
    } else {
        wait_for(&model->unloads, call);
        rtd_model_leave(model, false);
    }
}

void rtd_unload_all(struct rtd_manager *manager, struct ntk_rpc_call *call,
                    const ProtobufCMessage *message)
{
    struct rtd_model *next_model;
    struct rtd_group *next_group;

    (void)message;
    for (struct rtd_model *model = manager->models; model; model = next_model) {
        next_model = model->next;
        if (!model->is_leaving) {
            rtd_model_leave(model, true);
        }
    }
    for (struct rtd_group *group = manager->groups; group; group = next_group) {
        next_group = group->next;
        group->is_fleeting = true;
        if (group->model_count == 0) {
            rtd_group_destroy(manager, group);
        }
    }
    if (manager->leaving_count == 0) {
        rtd_good(call);
    } else {
        wait_for(&manager->drains, call);
    }
}
