/* SPDX-License-Identifier: MIT */
/*
 * rtd_post - starts inferences: a post copies inputs to the core's memory, so that the client's
 * buffers and the next inputs need not wait.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/rtd/rtd_inference.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#define MODULE "inference"
/* Limits on unfetched results of a model, so that one client does not affect another: beyond either
 * limit posts are rejected, but never while fewer results are unfetched than inferences may run. */
#define UNCOLLECTED_MAX 4096
#define UNCOLLECTED_BYTES_MAX (UINT64_C(256) << 20)

/* A model is brief if its last execution took at most this time: about what the hand-overs to a
 * worker and back take. A brief model delays other clients less than it gains. */
#define BRIEF_NS (50 * NTK_NS_PER_US)

/* Finds an input or output; clients may use "x:0" for "x" in the NEFF. Returns NTK_CORE_ANY for an
 * unknown name. */
static size_t io_find(const struct rtd_model *model, const char *name, bool is_output)
{
    size_t length = strlen(name);

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < model->io_count; i++) {
            if (model->ios[i].is_output == is_output && strlen(model->ios[i].name) == length &&
                memcmp(model->ios[i].name, name, length) == 0) {
                return i;
            }
        }
        if (length < 3 || strcmp(name + length - 2, ":0") != 0) {
            break;
        }
        length -= 2;
    }
    return SIZE_MAX;
}

/* Refuses and logs a wrong size, so that operators recognise a client with the wrong model. */
static bool size_refuse(struct rtd_fault *fault, const struct ntk_core_io *io, uint64_t received,
                        const char *shm)
{
    ntk_log_error(MODULE,
                  "[TDRV:io_queue_prepare_input_nonhugetlb] Unexpected input size, for %s, "
                  "expected: %" PRIu64 ", received: %" PRIu64,
                  io->name, io->bytes, received);
    return rtd_fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT,
                         "Invalid data length for [%s], received %" PRIu64 ", expected %" PRIu64
                         "%s%.200s%s",
                         io->name, received, io->bytes, shm ? " (shared memory " : "",
                         shm ? shm : "", shm ? ")" : "");
}

static bool input_take(struct rtd_model *model, struct rtd_context *context,
                       const Nrt__InferIo *given, bool *is_given, struct rtd_fault *fault)
{
    size_t i = io_find(model, given->name, false);
    struct ntk_err err = { 0 };

    if (i == SIZE_MAX || is_given[i]) {
        return rtd_fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT, "%s ifmap %.200s",
                             i == SIZE_MAX ? "unknown" : "duplicate", given->name);
    }
    const struct ntk_core_io *io = &model->ios[i];
    const void *from = given->buf.data;
    is_given[i] = true;
    if (given->data_case == NRT__INFER_IO__DATA_BUF_SHM) {
        struct rtd_shm *shm = rtd_shm_take(model->manager, given->buf_shm->path);
        bool is_read = shm && rtd_shm_read(shm, model->staging, io->bytes);
        uint64_t bytes = shm && !is_read ? rtd_shm_bytes_get(shm) : 0;
        rtd_shm_give_back(shm);
        if (!is_read) {
            return size_refuse(fault, io, bytes, given->buf_shm->path);
        }
        from = model->staging;
    } else if (given->data_case != NRT__INFER_IO__DATA_BUF || given->buf.len != io->bytes) {
        return size_refuse(fault, io,
                           given->data_case == NRT__INFER_IO__DATA_BUF ? given->buf.len : 0, NULL);
    }
    if (io->bytes > 0 && ntk_core_tensor_write(context->tensors[i], from, 0, io->bytes, &err) < 0) {
        return rtd_fault_set(fault, NRT__NERR__NERR_FAIL, "%s", err.text);
    }
    return true;
}

static bool inputs_take(struct rtd_model *model, struct rtd_context *context,
                        const Nrt__InferRequest *asked, struct rtd_fault *fault)
{
    bool *is_given = calloc(model->input_count ? model->input_count : 1, sizeof *is_given);
    bool is_good = is_given != NULL;

    if (!is_given) {
        return rtd_fault_set(fault, NRT__NERR__NERR_RESOURCE, "out of memory");
    }
    if (asked->n_ifmap != model->input_count) {
        is_good = rtd_fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT,
                                "Wrong number of ifmaps, expected: %zu, received: %zu",
                                model->input_count, asked->n_ifmap);
    }
    for (size_t i = 0; i < asked->n_ifmap && is_good; i++) {
        is_good = input_take(model, context, asked->ifmap[i], is_given, fault);
    }
    free(is_given);
    return is_good;
}

static bool outputs_prepare(struct rtd_inference *inference, const Nrt__InferRequest *asked,
                            struct rtd_fault *fault)
{
    struct rtd_model *model = inference->model;
    for (size_t i = 0; i < asked->n_shm_ofmap; i++) {
        const Nrt__InferIo *given = asked->shm_ofmap[i];
        size_t at = io_find(model, given->name, true);
        if (at == SIZE_MAX || given->data_case != NRT__INFER_IO__DATA_BUF_SHM ||
            inference->outputs[at - model->input_count].shm) {
            return rtd_fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT, "%s shm_ofmap %.200s",
                                 at == SIZE_MAX ? "unknown" : "wrong", given->name);
        }
        struct rtd_shm *shm = rtd_shm_take(model->manager, given->buf_shm->path);
        inference->outputs[at - model->input_count].shm = shm;
        if (!shm || rtd_shm_bytes_get(shm) < model->ios[at].bytes) {
            return rtd_fault_set(
                fault, NRT__NERR__NERR_INFER_BAD_INPUT,
                "shared memory %.200s for [%s] is missing or smaller than %" PRIu64,
                given->buf_shm->path, model->ios[at].name, model->ios[at].bytes);
        }
    }
    for (size_t i = 0; i < inference->output_count && asked->n_shm_ofmap == 0; i++) {
        inference->outputs[i].bytes = malloc(inference->outputs[i].size + 1);
        inference->output_bytes += inference->outputs[i].size;
        if (!inference->outputs[i].bytes) {
            return rtd_fault_set(fault, NRT__NERR__NERR_RESOURCE, "out of memory");
        }
    }
    /* If some outputs are written to shared memory, the client does not request the others. */
    for (size_t i = 0; i < inference->output_count && asked->n_shm_ofmap > 0; i++) {
        if (!inference->outputs[i].shm) {
            inference->outputs[i].size = 0;
        }
    }
    return true;
}

static struct rtd_inference *inference_alloc(const struct rtd_model *model)
{
    const struct ntk_core_io *ios = model->ios + model->input_count;
    size_t count = model->io_count - model->input_count;
    struct rtd_inference *inference =
        calloc(1, sizeof *inference + count * sizeof(struct rtd_output) + model->name_bytes);

    if (!inference) {
        return NULL;
    }
    char *name = (char *)&inference->outputs[count];
    inference->output_count = count;
    for (size_t i = 0; i < count; i++) {
        inference->outputs[i].size = ios[i].bytes;
        inference->outputs[i].name = name;
        name = stpcpy(name, ios[i].name) + 1;
    }
    return inference;
}

static struct rtd_context *context_take(struct rtd_model *model)
{
    for (uint32_t i = 0; i < model->ninfer; i++) {
        if (!model->contexts[i].is_taken) {
            model->contexts[i].is_taken = true;
            return &model->contexts[i];
        }
    }
    return NULL;
}

static bool model_check(const struct rtd_model *model, const Nrt__HNn *handle,
                        struct rtd_fault *fault)
{
    if (model && model->state == RTD_MODEL_FAILED) {
        return rtd_fault_set(fault, NRT__NERR__NERR_FAILED_STATE, "model %u failed: unload it",
                             model->id);
    }
    if (!model || model->state != RTD_MODEL_READY) {
        return rtd_fault_set(fault, NRT__NERR__NERR_INVALID_HANDLE, "Failed to find model: %u",
                             handle ? handle->id : 0);
    }
    if (model->uncollected_count >= model->ninfer &&
        (model->uncollected_count >= UNCOLLECTED_MAX ||
         model->uncollected_bytes >= UNCOLLECTED_BYTES_MAX)) {
        return rtd_fault_set(fault, NRT__NERR__NERR_RESOURCE,
                             "%u results from model %u were not collected: call infer_wait",
                             model->uncollected_count, model->id);
    }
    return true;
}

/* Counts a rejection, as the core does. */
static void refuse_count(struct rtd_model *model, enum _Nrt__Nerr code)
{
    struct rtd_counts *counts = &model->manager->counts;

    if (code == NRT__NERR__NERR_QUEUE_FULL) {
        counts->dropped++;
        ntk_core_execute_refused(model->core, -EAGAIN);
    } else if (code == NRT__NERR__NERR_INFER_BAD_INPUT) {
        counts->statuses[NRT__INFER_STATUS__IST_BAD_INPUT]++;
        ntk_core_execute_refused(model->core, -EINVAL);
    }
}

/* Reserves a lane for this thread if the answer will probably be ready soon. */
static bool lane_reserve(const struct rtd_model *model, struct rtd_inference *inference,
                         const struct rtd_wait *wait)
{
    struct ntk_core_queue *lane = model->lanes[model->next_lane];

    if (wait && !model->oldest && model->run_ns > 0 && model->run_ns <= BRIEF_NS &&
        ntk_rpc_call_may_linger(wait->call) && ntk_core_queue_reserve(lane)) {
        inference->reserved = lane;
    }
    return inference->reserved != NULL;
}

/* Reads the inputs and passes the inference to a worker; false with the reason in fault. */
static bool submit(struct rtd_model *model, struct rtd_inference *inference,
                   const Nrt__InferRequest *asked, const struct rtd_wait *wait,
                   struct rtd_fault *fault)
{
    inference->post_ns = ntk_clock_monotonic_ns();
    inference->item.run = rtd_inference_run;
    inference->item.destroy = rtd_inference_done;
    inference->model_id = model->id;
    inference->model = model;
    if (!inputs_take(model, inference->context, asked, fault) ||
        !outputs_prepare(inference, asked, fault)) {
        return false;
    }
    if (!lane_reserve(model, inference, wait) &&
        ntk_core_queue_submit(model->lanes[model->next_lane], &inference->item, NULL) < 0) {
        return rtd_fault_set(fault, NRT__NERR__NERR_RESOURCE, "no worker for model %u", model->id);
    }
    model->next_lane = (model->next_lane + 1) % model->lane_count;
    if (model->oldest) {
        model->newest->newer = inference;
    } else {
        model->oldest = inference;
    }
    model->newest = inference;
    return true;
}

struct rtd_inference *rtd_inference_post(struct rtd_manager *manager,
                                         const Nrt__InferRequest *asked, struct rtd_wait *wait,
                                         bool has_cookie, struct rtd_fault *fault)
{
    struct rtd_model *model = rtd_model_find(manager, asked->h_nn);

    if (!model_check(model, asked->h_nn, fault)) {
        return NULL;
    }
    struct rtd_context *context = context_take(model);
    if (!context) {
        (void)rtd_fault_set(fault, NRT__NERR__NERR_QUEUE_FULL,
                            "%u inferences on model %u are in progress: wait for one to finish",
                            model->ninfer, model->id);
        refuse_count(model, fault->code);
        return NULL;
    }
    struct rtd_inference *inference = inference_alloc(model);
    if (!inference) {
        context->is_taken = false;
        (void)rtd_fault_set(fault, NRT__NERR__NERR_RESOURCE, "out of memory");
        return NULL;
    }
    inference->context = context;
    if (!submit(model, inference, asked, wait, fault)) {
        context->is_taken = false;
        rtd_inference_free(inference);
        refuse_count(model, fault->code);
        return NULL;
    }
    /* The worker waits for the lock before it looks for the client to answer. */
    model->in_flight++;
    manager->counts.inferences++;
    inference->waits = wait;
    if (has_cookie) {
        inference->cookie = ++manager->last_cookie;
        inference->next = manager->cookies[inference->cookie % RTD_COOKIE_SLOTS];
        manager->cookies[inference->cookie % RTD_COOKIE_SLOTS] = inference;
        model->uncollected_count++;
        model->uncollected_bytes += inference->output_bytes;
    }
    return inference;
}
