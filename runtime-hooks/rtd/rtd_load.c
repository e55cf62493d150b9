/* SPDX-License-Identifier: MIT */
/* rtd_load - handles the stream that loads a model, from its first message to the answer. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/env/env_soft.h"
#include "runtime-hooks/rtd/rtd_manager.h"
#include "runtime-hooks/rtd/rtd_upload.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/formats/neff/neff.h"

#define MODULE "models"
#define NEFF_VERSION_MAX "2.0" /* the largest accepted by ntk_neff_check_versions() */

struct load {
    struct ntk_core_queue_item item;
    struct rtd_manager *manager;
    struct ntk_rpc_call *call; /* NULL if the client has gone */
    bool is_submitted;         /* true: the answering code frees it */
    bool is_implicit, has_size;
    uint32_t group_id;
    uint64_t session;
    uint64_t neff_size;
    uint32_t timeout_s, ninfer;
    bool io_data_host;
    char *path; /* path from neff_file */
    struct rtd_upload upload;
    uint64_t version_major, version_minor; /* version of the NEFF */
    uint32_t nc_count;                     /* number of cores that the model takes */
    uint64_t ended_ns;                     /* time when the client had sent everything */
    enum _Nrt__Nerr code;                  /* code of a rejection */
    char details[NTK_ERR_TEXT_BYTES];
    struct rtd_group *group;
    struct rtd_model *model;
};

static void load_free(struct load *load)
{
    rtd_upload_fini(&load->upload);
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

/* Returns the stream's data, created by its first message. NULL if out of memory. */
static struct load *load_of(struct ntk_rpc_call *call)
{
    struct load *load = ntk_rpc_call_own_get(call);
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);

    if (!load) {
        load = calloc(1, sizeof *load);
        if (load) {
            load->manager = manager;
            load->upload.limits = &manager->upload_limits;
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
        return true; /* rtd_load_ended() rejects the stream */
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
        rtd_upload_announce(&load->upload, asked->neff_size);
        break;
    case NRT__LOAD_REQUEST__CONTENT_MODEL_PARAMS:
        params_take(load, asked->model_params);
        break;
    case NRT__LOAD_REQUEST__CONTENT_NEFF_CHUNK:
        /* Data beyond the announced size is dropped, and rejected at the end. */
        if (!load->has_size || load->upload.neff.bytes_count <= load->neff_size) {
            rtd_upload_add(&load->upload, asked->neff_chunk->chunk.data,
                           asked->neff_chunk->chunk.len);
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

/* Number of logical cores for the nodes in a file. */
struct demand {
    uint32_t normal; /* nodes with a core for each */
    uint32_t shared; /* nodes that share cores in turn */
};

static struct demand demand_get(const struct rtd_manager *manager,
                                const struct ntk_neff_header *header)
{
    bool is_pipeline = ntk_core_machine_get(manager->core)->generation == 1;
    struct demand demand = { 0, 1 };

    for (size_t i = 0; i < sizeof header->tpb_per_node; i++) {
        uint32_t steps = header->tpb_per_node[i];
        uint32_t needed = steps > 0 && !is_pipeline ? 1 : steps;

        demand.normal += needed;
        demand.shared = needed > demand.shared ? needed : demand.shared;
    }
    demand.normal = demand.normal ? demand.normal : 1;
    return demand;
}

static bool upload_check(struct load *load)
{
    const struct rtd_upload *upload = &load->upload;
    uint64_t mib = upload->limits->neff_bytes_max >> 20;

    switch (upload->fault) {
    case RTD_UPLOAD_GOOD:
        return true;
    case RTD_UPLOAD_TOO_LARGE:
        load_refuse(load, NRT__NERR__NERR_RESOURCE,
                    "the NEFF is larger than the limit of %" PRIu64 " MiB", mib);
        break;
    case RTD_UPLOAD_TOO_MUCH:
        load_refuse(load, NRT__NERR__NERR_RESOURCE,
                    "uploads from all clients exceed %" PRIu64 " MiB: try again later",
                    mib * RTD_UPLOADS_OF_LARGEST);
        break;
    case RTD_UPLOAD_NO_MEMORY:
        load_refuse(load, NRT__NERR__NERR_RESOURCE, "out of memory");
        break;
    case RTD_UPLOAD_RELATIVE:
        load_refuse(load, NRT__NERR__NERR_INVALID, "neff_file %s: not an absolute path",
                    load->path);
        break;
    case RTD_UPLOAD_IRREGULAR:
        load_refuse(load, NRT__NERR__NERR_INVALID, "%s: not a regular file", load->path);
        break;
    case RTD_UPLOAD_NO_FILE:
        load_refuse(load, NRT__NERR__NERR_FAIL, "%s: %s", load->path, strerror(upload->error));
        break;
    }
    return false;
}

/* Checks everything that is known before the core reads the file. The caller holds the lock. */
static void load_check(struct load *load)
{
    struct rtd_manager *manager = load->manager;
    struct ntk_neff_header header;
    struct ntk_err err = { 0 };
    uint32_t longest;

    if (!upload_check(load)) {
        return;
    }
    if (!rtd_session_is_known(manager, load->session)) {
        load_refuse(load, NRT__NERR__NERR_INVALID_HANDLE, "Failed to find session: %" PRIu64,
                    load->session);
        return;
    }
    if (!load->path && load->has_size && load->upload.neff.bytes_count != load->neff_size) {
        load_refuse(load, NRT__NERR__NERR_INVALID,
                    load->upload.neff.bytes_count == 0 ? "NEFF upload failed"
                                                       : "Wrong NEFF file size");
        return;
    }
    if (load->upload.neff.bytes_count == 0) {
        load_refuse(load, NRT__NERR__NERR_INVALID, "NEFF upload failed");
        return;
    }
    if (load->ninfer == 0 || load->ninfer > RTD_NINFER_MAX) {
        load_refuse(load, NRT__NERR__NERR_INVALID, "ninfer %u: expected 1 to %u", load->ninfer,
                    RTD_NINFER_MAX);
        return;
    }
    if (ntk_neff_read_header(load->upload.neff.bytes, load->upload.neff.bytes_count, &header,
                             &err) < 0) {
        load_refuse(load, NRT__NERR__NERR_INVALID, "%s", err.text);
        return;
    }
    struct demand demand = demand_get(manager, &header);
    uint32_t needed = demand.normal;
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
        needed = needed > group->count ? demand.shared : needed;
        if (needed > group->count) {
            load_refuse(load, NRT__NERR__NERR_RESOURCE_NC,
                        "Insufficient number of VNCs: %u, required: %u", group->count, needed);
            return;
        }
        load->group = group;
    }
    load->group->model_count++;
    load->nc_count = needed;
    load->version_major = header.version_major;
    load->version_minor = header.version_minor;
}

/* Counts a successful load. */
static void load_count(const struct load *load)
{
    struct rtd_manager *manager = load->manager;
    struct rtd_counts *counts = &manager->counts;
    uint64_t version = load->version_major << 32 | (load->version_minor & UINT32_MAX);
    uint64_t bytes = load->upload.neff.bytes_count;

    counts->loads++;
    counts->neff_version_max =
        version > counts->neff_version_max ? version : counts->neff_version_max;
    counts->neff_version_min = counts->neff_version_min == 0 || version < counts->neff_version_min
                                   ? version
                                   : counts->neff_version_min;
    counts->neff_ncs_max =
        load->nc_count > counts->neff_ncs_max ? load->nc_count : counts->neff_ncs_max;
    counts->neff_bytes_max = bytes > counts->neff_bytes_max ? bytes : counts->neff_bytes_max;
    rtd_metrics_add(manager->metrics, NRT__METRIC_TYPE__NMGR_METRIC_MODEL_LOAD_LATENCY,
                    ntk_clock_monotonic_ns() - load->ended_ns);
    rtd_metrics_add(manager->metrics, NRT__METRIC_TYPE__NMGR_METRIC_MODEL_SIZE, bytes);
    rtd_metrics_add(manager->metrics, NRT__METRIC_TYPE__NMGR_METRIC_MODEL_NUM_NC, load->nc_count);
    rtd_metrics_add(manager->metrics, NRT__METRIC_TYPE__NMGR_METRIC_MODEL_MAJOR_VERSION,
                    load->version_major);
}

/* Composes the text that clients search for, and the message of the core. */
static int no_device_memory(const char *wanted, struct ntk_err *err)
{
    struct ntk_err cause = *err;

    return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                       "Failed to allocate buffer in MLA DRAM for %s: %s", wanted, cause.text);
}

/* Allocates buffers for bytes between clients and contexts. */
static int stages_make(struct rtd_model *model, struct ntk_err *err)
{
    uint64_t largest[2] = { 1, 1 };
    struct ntk_core_tensor_info info;

    for (size_t t = 0; t < model->io_count; t++) {
        uint64_t *of = &largest[model->ios[t].is_output];
        *of = model->ios[t].bytes > *of ? model->ios[t].bytes : *of;
    }
    for (size_t i = 0; i < sizeof model->stages / sizeof *model->stages; i++) {
        int ret = ntk_core_tensor_create(
            model->manager->core, NTK_CORE_HOST, ntk_core_model_nc(model->core), largest[i],
            i == 0 ? "staged input" : "staged output", &model->stages[i], err);
        if (ret < 0) {
            return ret;
        }
    }
    ntk_core_tensor_info_get(model->stages[0], &info);
    model->staging = info.address;
    ntk_core_tensor_info_get(model->stages[1], &info);
    model->unstaging = info.address;
    return 0;
}

/* Allocates inputs and outputs for the maximum number of running inferences. */
static int contexts_make(struct rtd_model *model, bool is_host, struct ntk_err *err)
{
    enum ntk_core_placement placement = is_host ? NTK_CORE_HOST : NTK_CORE_DEVICE;

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
                return ret == -ENOMEM && !is_host ? no_device_memory(io->name, err) : ret;
            }
        }
        if (!context->tensors) {
            return ntk_err_no_memory(err);
        }
    }
    return model->contexts ? stages_make(model, err) : ntk_err_no_memory(err);
}

/* Creates lanes: the useful number of parallel executions, limited by the number of running
 * inferences. */
static int lanes_make(struct rtd_model *model, struct ntk_err *err)
{
    uint32_t count = ntk_core_model_instance_count(model->core);

    count = count < model->ninfer ? count : model->ninfer;
    model->lanes = calloc(count, sizeof(struct ntk_core_queue *));
    while (model->lanes && model->lane_count < count) {
        struct ntk_core_queue *lane =
            ntk_core_queue_create(model->manager->crew, model->ninfer, NTK_CORE_QUEUE_REFUSES);
        if (!lane) {
            break;
        }
        model->lanes[model->lane_count++] = lane;
    }
    return model->lane_count == count ? 0 : ntk_err_no_memory(err);
}

static int model_make(struct load *load, struct rtd_model *model, struct ntk_err *err)
{
    struct rtd_manager *manager = load->manager;
    struct ntk_core_load_options options = { .nc = load->group->first,
                                             .core_limit = load->group->count,
                                             .nodes_may_take_turns = !load->is_implicit,
                                             .depth = load->ninfer };
    int ret = ntk_env_soft_load_options_get(&options, err);

    options.execution_timeout_ns = (uint64_t)load->timeout_s * 1000000000u;
    options.share_weights = true;
    options.allow_legacy = true;
    options.allow_cpu_nodes = ntk_env_soft_cpu_nodes() == NTK_ENV_CPU_NODES_ALL;
    ret = ret ? ret
              : ntk_core_model_load(manager->core, load->upload.neff.bytes,
                                    load->upload.neff.bytes_count, &options, &model->core, err);
    if (ret < 0) {
        return ret;
    }
    model->manager = manager;
    model->group = load->group;
    model->ninfer = ntk_core_model_takes_turns(model->core) ? 1 : load->ninfer;
    model->ios = ntk_core_model_io_get(model->core, &model->io_count);
    while (model->input_count < model->io_count && !model->ios[model->input_count].is_output) {
        model->input_count++;
    }
    for (size_t i = model->input_count; i < model->io_count; i++) {
        model->name_bytes += strlen(model->ios[i].name) + 1;
    }
    ret = contexts_make(model, load->io_data_host, err);
    return ret < 0 ? ret : lanes_make(model, err);
}

/* Composes the error message; clients search for the words about the version. */
static void refuse_why(struct load *load, int error, const struct ntk_err *err)
{
    struct ntk_neff_header header;
    struct ntk_err none;

    if (error == -ENOTSUP &&
        ntk_neff_read_header(load->upload.neff.bytes, load->upload.neff.bytes_count, &header,
                             &none) == 0) {
        load_refuse(load, NRT__NERR__NERR_UNSUPPORTED_VERSION,
                    "NEFF version mismatch supported: " NEFF_VERSION_MAX " received: %" PRIu64
                    ".%" PRIu64 " (%s)",
                    header.version_major, header.version_minor, err->text);
    } else {
        load_refuse(load, rtd_nerr_of_error(error), "%s", err->text);
    }
}

static bool load_run(struct ntk_core_queue_item *item, bool is_broken)
{
    struct load *load = (struct load *)item;

    (void)is_broken;
    if (load->path) {
        rtd_upload_read_file(&load->upload, load->path);
    }
    pthread_mutex_lock(&load->manager->lock);
    load_check(load);
    pthread_mutex_unlock(&load->manager->lock);
    if (load->code != NRT__NERR__NERR_OK) {
        return true;
    }
    struct rtd_model *model = calloc(1, sizeof *model);
    struct ntk_err err = { 0 };

    if (model) {
        pthread_mutex_init(&model->unstaging_lock, NULL);
    }
    int ret = model ? model_make(load, model, &err) : ntk_err_no_memory(&err);

    if (ret < 0) {
        refuse_why(load, ret, &err);
        if (model) {
            rtd_model_destroy(model);
        }
    } else {
        load->model = model;
    }
    return true;
}

/* Answers the stream; the model is loaded, or loading failed. The caller holds the lock. */
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
            rtd_group_left(manager, load->group);
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
    load_count(load);
    if (load->is_implicit) {
        (void)rtd_model_start(model);
    }
    if (!call || !rtd_session_is_known(manager, load->session)) {
        rtd_model_leave(model, true); /* no client knows its number */
    }
    if (call) {
        Nrt__LoadResponse reply = NRT__LOAD_RESPONSE__INIT;
        Nrt__Status status = NRT__STATUS__INIT;
        Nrt__HNn handle = NRT__H_NN__INIT;
        handle.id = model->id;
        rtd_gift(call, RTD_GIFT_MODEL, model->id);
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

/* Called when the client has sent everything: a worker continues. */
void rtd_load_ended(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    struct load *load = load_of(call);

    if (!manager->core || !load) {
        rtd_refuse(call, manager->core ? NRT__NERR__NERR_RESOURCE : NRT__NERR__NERR_HW_ERROR, "%s",
                   manager->core ? "out of memory" : manager->why.text);
        return;
    }
    load->ended_ns = ntk_clock_monotonic_ns();
    load->item.run = load_run;
    load->item.destroy = load_destroy;
    pthread_mutex_lock(&manager->lock);
    load->is_submitted = true;
    if (ntk_core_queue_submit(manager->loads, &load->item, NULL) < 0) {
        load_refuse(load, NRT__NERR__NERR_RESOURCE, "too many loads in progress: try again later");
        load_answer(load);
        load_free(load);
    }
    pthread_mutex_unlock(&manager->lock);
}

void rtd_load_gone(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);

    pthread_mutex_lock(&manager->lock);
    struct load *load = ntk_rpc_call_own_get(call); /* NULL if already answered */
    bool is_ours = load && !load->is_submitted;
    if (load) {
        load->call = NULL;
    }
    rtd_gift_settle(manager, call);
    pthread_mutex_unlock(&manager->lock);
    if (is_ours) {
        load_free(load);
    }
}
