/* SPDX-License-Identifier: MIT */
/* rtd_models - from the stream that loads a model to its end. */
#include "runtime-hooks/core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime-hooks/env/env_soft.h"
#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/base/buf.h"
#include "shared/base/log.h"
#include "shared/formats/neff/neff.h"

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
        ntk_log_info(MODULE, "[NMGR:kmgr_start_nn] Started NN: %u", model->id);
        return NRT__NERR__NERR_OK;
    }
}

/* Nothing of it runs. */
static void stopped(struct rtd_model *model)
{
    if (model->group->running == model) {
        model->group->running = NULL;
    }
    if (model->state == RTD_MODEL_STOPPING) {
        model->state = RTD_MODEL_STANDBY;
        model->manager->counts.stops++;
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
    }
}

void rtd_model_leave(struct rtd_model *model, bool cancels)
{
    stop(model);
    model->is_cancelled = model->is_cancelled || cancels;
    model->is_leaving = true;
    model->manager->leaving_count++;
    rtd_infer_forget(model->manager, model);
    settle(model);
}

/* ---- taking apart ---- */

static void model_destroy(struct rtd_model *model)
{
    if (model->queue) {
        ntk_core_queue_destroy(model->queue);
    }
    for (uint32_t i = 0; i < model->ninfer && model->contexts; i++) {
        for (size_t t = 0; t < model->io_count && model->contexts[i].tensors; t++) {
            if (model->contexts[i].tensors[t]) {
                ntk_core_tensor_destroy(model->contexts[i].tensors[t]);
            }
        }
        free(model->contexts[i].tensors);
    }
    free(model->contexts);
    free(model->staging);
    free(model->unstaging);
    if (model->core) {
        ntk_core_model_unload(model->core);
    }
    free(model);
}

/* A group of a session that is over, or of one model, goes with its last model. */
static void group_left(struct rtd_manager *manager, struct rtd_group *group)
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
        pthread_mutex_unlock(&manager->lock);
        model_destroy(model);
        pthread_mutex_lock(&manager->lock);
        manager->counts.unloads++;
        group_left(manager, group);
        rtd_waits_answer(&unloads, NRT__NERR__NERR_OK, "");
        if (--manager->leaving_count == 0) {
            rtd_waits_answer(&manager->drains, NRT__NERR__NERR_OK, "");
            pthread_cond_broadcast(&manager->reaped);
        }
    }
    pthread_mutex_unlock(&manager->lock);
    return NULL;
}

/* ---- loading ---- */

struct load {
    struct ntk_core_queue_item item;
    struct rtd_manager *manager;
    struct ntk_rpc_call *call; /* NULL: gone */
    bool is_submitted;         /* whoever answers frees it */
    bool is_implicit, has_size;
    uint32_t group_id;
    uint64_t session;
    uint64_t neff_size;
    uint32_t timeout_s, ninfer;
    bool io_data_host;
    char *path; /* neff_file */
    struct ntk_buf neff;
    enum _Nrt__Nerr code; /* of a refusal */
    char details[NTK_ERR_TEXT_BYTES];
    struct rtd_group *group;
    struct rtd_model *model;
};

static void load_free(struct load *load)
{
    ntk_buf_fini(&load->neff);
    free(load->path);
    free(load);
}

static void load_refuse(struct load *load, enum _Nrt__Nerr code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void load_refuse(struct load *load, enum _Nrt__Nerr code, const char *format, ...)
{
    va_list list;

    load->code = code;
    va_start(list, format);
    (void)vsnprintf(load->details, sizeof load->details, format, list);
    va_end(list);
}

/* The stream's own; made by its first message. NULL without memory. */
static struct load *load_of(struct ntk_rpc_call *call)
{
    struct load *load = ntk_rpc_call_own_get(call);
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);

    if (!load) {
        load = calloc(1, sizeof *load);
        if (load) {
            load->manager = manager;
            load->call = call;
            load->is_implicit = true;
            load->timeout_s = manager->defaults.timeout_s;
            load->ninfer = manager->defaults.ninfer;
            load->io_data_host = manager->defaults.io_data_host;
            ntk_rpc_call_own_set(call, load);
        }
    }
    return load;
}

static void params_take(struct load *load, const Nrt__ModelParams *params)
{
    load->timeout_s = params->timeout ? params->timeout->data : load->timeout_s;
    load->ninfer = params->ninfer ? params->ninfer->data : load->ninfer;
    load->io_data_host =
        params->io_data_host ? params->io_data_host->data != 0 : load->io_data_host;
}

bool rtd_load_message(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    const Nrt__LoadRequest *asked = (const void *)message;
    struct load *load = load_of(call);

    if (!load) {
        return true; /* `ended` says so */
    }
    switch (asked->content_case) {
    case NRT__LOAD_REQUEST__CONTENT_H_EG:
        load->is_implicit = false;
        load->group_id = asked->h_eg->id;
        break;
    case NRT__LOAD_REQUEST__CONTENT_SESSION_ID:
        load->session = asked->session_id;
        break;
    case NRT__LOAD_REQUEST__CONTENT_NEFF_SIZE:
        load->has_size = true;
        load->neff_size = asked->neff_size;
        break;
    case NRT__LOAD_REQUEST__CONTENT_MODEL_PARAMS:
        params_take(load, asked->model_params);
        break;
    case NRT__LOAD_REQUEST__CONTENT_NEFF_CHUNK:
        /* More than was announced is refused at the end, and not kept. */
        if (!load->has_size || load->neff.bytes_count <= load->neff_size) {
            ntk_buf_add(&load->neff, asked->neff_chunk->chunk.data, asked->neff_chunk->chunk.len);
        }
        break;
    case NRT__LOAD_REQUEST__CONTENT_NEFF_FILE:
        free(load->path);
        load->path = strdup(asked->neff_file);
        break;
    default:
        break;
    }
    return true;
}

/* A path of a client: never what blocks, and never what is no file. */
static void file_read(struct load *load)
{
    struct stat status;
    int fd =
        load->path[0] == '/' ? open(load->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

    if (load->path[0] != '/') {
        load_refuse(load, NRT__NERR__NERR_INVALID, "neff_file %s is no absolute path", load->path);
        return;
    }
    if (fd < 0) {
        load_refuse(load, NRT__NERR__NERR_FAIL, "%s: %s", load->path, strerror(errno));
        return;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        load_refuse(load, NRT__NERR__NERR_INVALID, "%s is no regular file", load->path);
    } else {
        char bytes[65536];
        ssize_t got;

        while ((got = read(fd, bytes, sizeof bytes)) > 0) {
            ntk_buf_add(&load->neff, bytes, (size_t)got);
        }
        if (got < 0) {
            load_refuse(load, NRT__NERR__NERR_FAIL, "%s: %s", load->path, strerror(errno));
        }
    }
    close(fd);
}

/* How many logical cores its nodes take together. */
static uint32_t cores_needed(const struct rtd_manager *manager,
                             const struct ntk_neff_header *header)
{
    bool is_pipeline = ntk_core_machine_get(manager->core)->generation == 1;
    uint32_t needed = 0;

    for (size_t i = 0; i < sizeof header->tpb_per_node; i++) {
        uint32_t steps = header->tpb_per_node[i];
        needed += steps > 0 ? (is_pipeline ? steps : 1) : 0;
    }
    return needed ? needed : 1;
}

/* Whatever is known before the core sees the file; the lock is held. */
static void load_check(struct load *load)
{
    struct rtd_manager *manager = load->manager;
    struct ntk_neff_header header;
    struct ntk_err err = { 0 };
    uint32_t longest;

    if (load->code != NRT__NERR__NERR_OK) {
        return;
    }
    if (!rtd_session_is_known(manager, load->session)) {
        load_refuse(load, NRT__NERR__NERR_INVALID_HANDLE, "Failed to find session: %" PRIu64,
                    load->session);
        return;
    }
    if (!load->path && load->has_size && load->neff.bytes_count != load->neff_size) {
        load_refuse(load, NRT__NERR__NERR_INVALID,
                    load->neff.bytes_count == 0 ? "NEFF upload failed" : "Wrong NEFF file size");
        return;
    }
    if (load->neff.bytes_count == 0) {
        load_refuse(load, NRT__NERR__NERR_INVALID, "NEFF upload failed");
        return;
    }
    if (load->ninfer == 0 || load->ninfer > RTD_NINFER_MAX) {
        load_refuse(load, NRT__NERR__NERR_INVALID, "ninfer %u: 1 to %u may be under way",
                    load->ninfer, RTD_NINFER_MAX);
        return;
    }
    if (ntk_neff_read_header(load->neff.bytes, load->neff.bytes_count, &header, &err) < 0) {
        load_refuse(load, NRT__NERR__NERR_INVALID, "%s", err.text);
        return;
    }
    uint32_t needed = cores_needed(manager, &header);
    if (load->is_implicit) {
        load->group = needed <= manager->nc_count
                          ? rtd_group_create(manager, needed, load->session, &longest)
                          : NULL;
        if (!load->group) {
            load_refuse(load, NRT__NERR__NERR_RESOURCE_NC,
                        "Insufficient number of VNCs: %u, required: %u",
                        needed <= manager->nc_count ? longest : manager->nc_count, needed);
            return;
        }
        load->group->is_implicit = true;
        load->group->is_fleeting = true;
    } else {
        struct rtd_group *group = rtd_group_find(manager, load->group_id);
        if (!group || group->is_implicit) {
            load_refuse(load, NRT__NERR__NERR_INVALID_HANDLE, "Failed to find EG: %u",
                        load->group_id);
            return;
        }
        if (needed > group->count) {
            load_refuse(load, NRT__NERR__NERR_RESOURCE_NC,
                        "Insufficient number of VNCs: %u, required: %u", group->count, needed);
            return;
        }
        load->group = group;
    }
    load->group->model_count++;
    struct rtd_counts *counts = &manager->counts;
    uint64_t version = header.version_major << 32 | (header.version_minor & UINT32_MAX);
    counts->neff_version_max =
        version > counts->neff_version_max ? version : counts->neff_version_max;
    counts->neff_version_min = counts->neff_version_min == 0 || version < counts->neff_version_min
                                   ? version
                                   : counts->neff_version_min;
    counts->neff_ncs_max = needed > counts->neff_ncs_max ? needed : counts->neff_ncs_max;
}

/* Inputs and outputs of as many inferences as may be under way: their memory is taken now. */
static int contexts_make(struct rtd_model *model, bool is_host, struct ntk_err *err)
{
    enum ntk_core_placement placement = is_host ? NTK_CORE_HOST : NTK_CORE_DEVICE;
    uint64_t largest[2] = { 1, 1 };

    model->contexts = calloc(model->ninfer, sizeof *model->contexts);
    for (uint32_t i = 0; i < model->ninfer && model->contexts; i++) {
        struct rtd_context *context = &model->contexts[i];
        context->tensors = calloc(model->io_count + 1, sizeof *context->tensors);
        for (size_t t = 0; t < model->io_count && context->tensors; t++) {
            const struct ntk_core_io *io = &model->ios[t];
            int ret = ntk_core_tensor_create(model->manager->core, placement,
                                             ntk_core_model_nc(model->core), io->bytes, io->name,
                                             &context->tensors[t], err);
            if (ret < 0) {
                return ret;
            }
        }
        if (!context->tensors) {
            return ntk_err_no_memory(err);
        }
    }
    for (size_t t = 0; t < model->io_count; t++) {
        uint64_t *of = &largest[model->ios[t].is_output];
        *of = model->ios[t].bytes > *of ? model->ios[t].bytes : *of;
    }
    model->staging = malloc(largest[0]);
    model->unstaging = malloc(largest[1]);
    return model->contexts && model->staging && model->unstaging ? 0 : ntk_err_no_memory(err);
}

static int model_make(struct load *load, struct rtd_model *model, struct ntk_err *err)
{
    struct rtd_manager *manager = load->manager;
    struct ntk_core_load_options options = { .nc = load->group->first };
    int ret = ntk_env_soft_load_options_get(&options, err);

    options.execution_timeout_ns = (uint64_t)load->timeout_s * 1000000000u;
    options.share_weights = true;
    options.allow_legacy = true;
    options.allow_cpu_nodes = ntk_env_soft_cpu_nodes() == NTK_ENV_CPU_NODES_ALL;
    ret = ret ? ret
              : ntk_core_model_load(manager->core, load->neff.bytes, load->neff.bytes_count,
                                    &options, &model->core, err);
    if (ret < 0) {
        return ret;
    }
    model->manager = manager;
    model->group = load->group;
    model->ninfer = load->ninfer;
    model->ios = ntk_core_model_io_get(model->core, &model->io_count);
    while (model->input_count < model->io_count && !model->ios[model->input_count].is_output) {
        model->input_count++;
    }
    ret = contexts_make(model, load->io_data_host, err);
    if (ret == 0) {
        model->queue = ntk_core_queue_create(manager->crew, load->ninfer, NTK_CORE_QUEUE_REFUSES);
        ret = model->queue ? 0 : ntk_err_no_memory(err);
    }
    return ret;
}

static bool load_run(struct ntk_core_queue_item *item, bool is_broken)
{
    struct load *load = (struct load *)item;
    struct rtd_model *model = calloc(1, sizeof *model);
    struct ntk_err err = { 0 };
    int ret = model ? model_make(load, model, &err) : ntk_err_no_memory(&err);

    (void)is_broken;
    if (ret < 0) {
        load_refuse(load, rtd_nerr_of_error(ret), "%s", err.text);
        if (model) {
            model_destroy(model);
        }
    } else {
        load->model = model;
    }
    return true;
}

/* The model is there, or not; the lock is held. */
static void load_answer(struct load *load)
{
    struct rtd_manager *manager = load->manager;
    struct ntk_rpc_call *call = load->call;
    struct rtd_model *model = load->model;

    if (call) {
        ntk_rpc_call_own_set(call, NULL);
    }

    if (!model) {
        if (load->group) {
            group_left(manager, load->group);
        }
        ntk_log_error(MODULE, "[NMGR:kmgr_load_nn] %s", load->details);
        if (call) {
            rtd_refuse(call, load->code, "%s", load->details);
        }
        return;
    }
    model->id = RTD_MODEL_ID_FIRST + manager->last_model++;
    model->next = manager->models;
    manager->models = model;
    manager->counts.loads++;
    manager->counts.neff_bytes_max = load->neff.bytes_count > manager->counts.neff_bytes_max
                                         ? load->neff.bytes_count
                                         : manager->counts.neff_bytes_max;
    if (load->is_implicit) {
        (void)rtd_model_start(model);
    }
    if (!call || !rtd_session_is_known(manager, load->session)) {
        rtd_model_leave(model, true); /* nobody knows its number */
    }
    if (call) {
        Nrt__LoadResponse reply = NRT__LOAD_RESPONSE__INIT;
        Nrt__Status status = NRT__STATUS__INIT;
        Nrt__HNn handle = NRT__H_NN__INIT;
        handle.id = model->id;
        reply.status = &status;
        reply.h_nn = &handle;
        ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    }
}

static void load_destroy(struct ntk_core_queue_item *item)
{
    struct load *load = (struct load *)item;

    pthread_mutex_lock(&load->manager->lock);
    load_answer(load);
    pthread_mutex_unlock(&load->manager->lock);
    load_free(load);
}

/* The client has said all: from here on a worker goes on. */
void rtd_load_ended(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    struct load *load = load_of(call);

    if (!manager->core || !load) {
        rtd_refuse(call, manager->core ? NRT__NERR__NERR_RESOURCE : NRT__NERR__NERR_HW_ERROR, "%s",
                   manager->core ? "out of memory" : manager->why.text);
        return;
    }
    if (load->path) {
        ntk_buf_reset(&load->neff);
        file_read(load);
    }
    load->item.run = load_run;
    load->item.destroy = load_destroy;
    pthread_mutex_lock(&manager->lock);
    if (load->neff.failed) {
        load_refuse(load, NRT__NERR__NERR_RESOURCE, "out of memory");
    }
    load_check(load);
    load->is_submitted = true;
    int ret = load->group ? ntk_core_queue_submit(manager->loads, &load->item, NULL) : -ECANCELED;
    if (ret < 0) {
        if (load->code == NRT__NERR__NERR_OK) {
            load_refuse(load, NRT__NERR__NERR_RESOURCE, "too many loads are under way");
        }
        load_answer(load);
        load_free(load);
    }
    pthread_mutex_unlock(&manager->lock);
}

void rtd_load_gone(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    struct load *load = ntk_rpc_call_own_get(call);

    if (!load) {
        return;
    }
    pthread_mutex_lock(&manager->lock);
    bool is_ours = !load->is_submitted;
    load->call = NULL;
    pthread_mutex_unlock(&manager->lock);
    if (is_ours) {
        load_free(load);
    }
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
