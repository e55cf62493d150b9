/* SPDX-License-Identifier: MIT */
/* rtd_inference - tracks an inference in progress, and sends the answer with its result. */
#include "runtime-hooks/rtd/rtd_inference.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/log.h"

#define MODULE "inference"

bool rtd_fault_set(struct rtd_fault *fault, enum _Nrt__Nerr code, const char *format, ...)
{
    va_list list;

    fault->code = code;
    va_start(list, format);
    (void)vsnprintf(fault->text, sizeof fault->text, format, list);
    va_end(list);
    return false;
}

/* ---- life ---- */

void rtd_inference_free(struct rtd_inference *inference)
{
    for (size_t i = 0; i < inference->output_count; i++) {
        rtd_shm_give_back(inference->outputs[i].shm);
        free(inference->outputs[i].bytes);
    }
    free(inference);
}

struct rtd_inference **rtd_cookie_slot(struct rtd_manager *manager, uint64_t cookie)
{
    struct rtd_inference **at = &manager->cookies[cookie % RTD_COOKIE_SLOTS];

    while (*at && (*at)->cookie != cookie) {
        at = &(*at)->next;
    }
    return at;
}

/* Returns the inference of a cookie; NULL if it is unknown or was collected. */
struct rtd_inference *rtd_cookie_find(struct rtd_manager *manager, uint64_t cookie)
{
    struct rtd_inference *inference = cookie ? *rtd_cookie_slot(manager, cookie) : NULL;

    return inference && !inference->is_handed ? inference : NULL;
}

void rtd_cookie_remove(struct rtd_inference **at)
{
    struct rtd_inference *inference = *at;

    assert(inference);
    *at = inference->next;
    inference->model->uncollected_count--;
    inference->model->uncollected_bytes -= inference->output_bytes;
    inference->cookie = 0;
}

/* ---- answers ---- */

static void last_word(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    ntk_rpc_call_finish(call, message, NTK_RPC_OK, NULL);
}

void rtd_inference_answer(struct rtd_inference *inference, struct ntk_rpc_call *call,
                          bool has_memory,
                          void (*give)(struct ntk_rpc_call *call, const ProtobufCMessage *message))
{
    Nrt__InferResponse reply = NRT__INFER_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    bool has_outputs = inference->code == NRT__NERR__NERR_OK ||
                       inference->code == NRT__NERR__NERR_INFER_COMPLETED_WITH_NUM_ERR;
    Nrt__InferIo *ios = calloc(inference->output_count + 1, sizeof *ios);
    Nrt__InferIo **rows = calloc(inference->output_count + 1, sizeof *rows);

    status.code = (int)inference->code;
    status.details.data = (uint8_t *)inference->details;
    status.details.len = strlen(inference->details);
    reply.status = &status;
    reply.ofmap = rows;
    for (size_t i = 0; i < inference->output_count && has_outputs && !has_memory && ios && rows;
         i++) {
        if (!inference->outputs[i].bytes) {
            continue;
        }
        Nrt__InferIo *io = &ios[reply.n_ofmap];
        nrt__infer_io__init(io);
        io->name = inference->outputs[i].name;
        io->data_case = NRT__INFER_IO__DATA_BUF;
        io->buf.data = inference->outputs[i].bytes;
        io->buf.len = inference->outputs[i].size;
        rows[reply.n_ofmap++] = io;
    }
    if (!ios || !rows) {
        status.code = NRT__NERR__NERR_RESOURCE;
    }
    give(call, &reply.base);
    free(ios);
    free(rows);
}

/* Copies waiting outputs to the memory in the request of the collecting call; the memory in the
 * request of the post was already written. */
static bool outputs_move(struct rtd_manager *manager, struct rtd_inference *inference,
                         const Nrt__InferWaitRequest *asked, struct rtd_fault *fault)
{
    for (size_t g = 0; g < asked->n_shm_ofmap; g++) {
        const Nrt__InferIo *given = asked->shm_ofmap[g];
        size_t length = strlen(given->name);
        size_t i = 0;

        length -= length > 2 && strcmp(given->name + length - 2, ":0") == 0 ? 2 : 0;
        while (i < inference->output_count &&
               strcmp(inference->outputs[i].name, given->name) != 0 &&
               (strlen(inference->outputs[i].name) != length ||
                memcmp(inference->outputs[i].name, given->name, length) != 0)) {
            i++;
        }
        if (i == inference->output_count || given->data_case != NRT__INFER_IO__DATA_BUF_SHM) {
            return rtd_fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT, "unknown shm_ofmap %.200s",
                                 given->name);
        }
        const struct rtd_output *output = &inference->outputs[i];
        if (output->shm && strcmp(output->shm->path, given->buf_shm->path) == 0) {
            continue;
        }
        struct rtd_shm *to = rtd_shm_take(manager, given->buf_shm->path);
        uint64_t bytes = inference->outputs[i].size;
        uint8_t *fetched = output->shm ? malloc(bytes + 1) : output->bytes;
        bool is_moved = to && fetched && rtd_shm_bytes_get(to) >= bytes &&
                        (!output->shm || rtd_shm_read(output->shm, fetched, bytes)) &&
                        rtd_shm_write(to, fetched, bytes);
        if (output->shm) {
            free(fetched);
        }
        rtd_shm_give_back(to);
        if (!is_moved) {
            return rtd_fault_set(
                fault, NRT__NERR__NERR_INFER_BAD_INPUT,
                "shared memory %.200s for [%s] is missing or smaller than %" PRIu64,
                given->buf_shm->path, inference->outputs[i].name, bytes);
        }
    }
    return true;
}

/* asked: request of the collecting call; if NULL, the request of the post is used. */
void rtd_inference_deliver(struct rtd_manager *manager, struct rtd_inference *inference,
                           struct ntk_rpc_call *call, const Nrt__InferWaitRequest *asked)
{
    struct rtd_fault fault = { NRT__NERR__NERR_OK, "" };
    bool has_memory = asked && asked->n_shm_ofmap > 0;

    if (inference->cookie != 0) {
        inference->is_handed = true;
        rtd_gift(call, RTD_GIFT_RESULT, inference->cookie);
    }
    if (!has_memory || outputs_move(manager, inference, asked, &fault)) {
        rtd_inference_answer(inference, call, has_memory, last_word);
    } else {
        rtd_refuse(call, fault.code, "%s", fault.text);
    }
}

/* Sends the result to the first caller that is still connected. The other callers get an error: the
 * result was already collected. */
static void answer_waits(struct rtd_manager *manager, struct rtd_inference *inference)
{
    bool is_collected = false;

    while (inference->waits) {
        struct rtd_wait *wait = inference->waits;
        inference->waits = wait->next;
        ProtobufCMessage *asked = wait->asked;
        struct ntk_rpc_call *call = rtd_wait_end(wait);
        if (call && !is_collected) {
            rtd_inference_deliver(manager, inference, call, (const void *)asked);
            is_collected = true;
        } else if (call) {
            rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "the result was already collected");
        }
        if (asked) {
            protobuf_c_message_free_unpacked(asked, NULL);
        }
    }
}

/* ---- running ---- */

static void count(struct rtd_inference *inference, enum ntk_core_outcome outcome)
{
    struct rtd_counts *counts = &inference->model->manager->counts;

    counts->statuses[rtd_status_of_outcome(outcome)]++;
    if (outcome != NTK_CORE_COMPLETED) {
        counts->errors[rtd_subtype_of_outcome(outcome)]++;
    }
}

/* Measures the latency, which only completed inferences have. */
static void measure(const struct rtd_inference *inference)
{
    struct rtd_metrics *metrics = inference->model->manager->metrics;

    if (inference->code != NRT__NERR__NERR_OK &&
        inference->code != NRT__NERR__NERR_INFER_COMPLETED_WITH_NUM_ERR) {
        return;
    }
    rtd_metrics_add(metrics, NRT__METRIC_TYPE__NMGR_METRIC_INFER_LATENCY,
                    ntk_clock_monotonic_ns() - inference->post_ns);
    if (inference->times.core_ns > 0) { /* otherwise its nodes ran only on the host */
        rtd_metrics_add(metrics, NRT__METRIC_TYPE__NMGR_METRIC_INFER_ON_INFA_LATENCY,
                        inference->times.core_ns);
        rtd_metrics_add(metrics, NRT__METRIC_TYPE__NMGR_METRIC_INFER_ON_INFA_CYCLESx1k,
                        inference->times.device_cycles);
    }
}

static void explain(struct rtd_inference *inference, const struct ntk_err *err)
{
    int code = (int)inference->code;
    size_t used = 0;

    if (err->text[0]) {
        used = (size_t)snprintf(inference->details, sizeof inference->details,
                                "[TDRV:exec_process_errors] %.400s\n", err->text);
    }
    (void)snprintf(inference->details + used, sizeof inference->details - used,
                   "[NMGR:exec_wait] Inference completed with err: %d\n"
                   "[NRTD:infer_wait] error: %d\n",
                   code, code);
    if (inference->code == NRT__NERR__NERR_INFER_COMPLETED_WITH_NUM_ERR) {
        ntk_log_error(MODULE,
                      "[TDRV:exec_process_errors] Error notifications found on NC %u: "
                      "INFER_ERROR_SUBTYPE_NUMERICAL",
                      ntk_core_model_nc(inference->model->core));
    }
    ntk_log_error(MODULE, "[NMGR:exec_wait] model %u: inference completed with err: %d%s%s",
                  inference->model->id, code, err->text[0] ? ": " : "", err->text);
}

static bool output_fetch(struct rtd_inference *inference, size_t i, void *to, struct ntk_err *err)
{
    const struct rtd_output *output = &inference->outputs[i];
    uint64_t bytes = inference->outputs[i].size;
    struct ntk_core_tensor *tensor = inference->context->tensors[inference->model->input_count + i];

    if (ntk_core_tensor_read(tensor, to, 0, bytes, err) < 0) {
        return false;
    }
    if (output->shm && !rtd_shm_write(output->shm, to, bytes)) {
        (void)ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot write to shared memory '%s'",
                          output->shm->path);
        return false;
    }
    return true;
}

static bool outputs_fetch(struct rtd_inference *inference, struct ntk_err *err)
{
    struct rtd_model *model = inference->model;
    bool is_good = true;

    for (size_t i = 0; i < inference->output_count && is_good; i++) {
        if (inference->outputs[i].shm) {
            pthread_mutex_lock(&model->unstaging_lock);
            is_good = output_fetch(inference, i, model->unstaging, err);
            pthread_mutex_unlock(&model->unstaging_lock);
        } else {
            is_good = output_fetch(inference, i, inference->outputs[i].bytes, err);
        }
    }
    return is_good;
}

bool rtd_inference_run(struct ntk_core_queue_item *item, bool is_broken)
{
    struct rtd_inference *inference = (struct rtd_inference *)item;
    struct rtd_model *model = inference->model;
    struct rtd_manager *manager = model->manager;
    enum ntk_core_outcome outcome = NTK_CORE_FAILED;
    struct ntk_err err = { 0 };

    (void)is_broken;
    pthread_mutex_lock(&manager->lock);
    bool is_cancelled = model->is_cancelled || inference->is_abandoned;
    bool has_failed = model->state == RTD_MODEL_FAILED;
    pthread_mutex_unlock(&manager->lock);
    if (!is_cancelled && !has_failed) {
        int ret = ntk_core_execute_timed(model->core, inference->context->tensors, model->io_count,
                                         &outcome, &inference->times, &err);
        outcome = ret < 0 ? ntk_core_outcome_of(ret) : outcome;
        if ((outcome == NTK_CORE_COMPLETED || outcome == NTK_CORE_NUMERICAL_ERROR) &&
            !outputs_fetch(inference, &err)) {
            outcome = NTK_CORE_FAILED;
        }
    }
    pthread_mutex_lock(&manager->lock);
    if (is_cancelled) {
        inference->code = NRT__NERR__NERR_INFER_CANCELLED;
    } else if (has_failed) {
        inference->code = NRT__NERR__NERR_FAILED_STATE;
    } else {
        inference->code = rtd_nerr_of_outcome(outcome);
        model->run_ns = ntk_clock_monotonic_ns() - item->start_ns;
        count(inference, outcome);
        measure(inference);
        if (model->state != RTD_MODEL_FAILED &&
            (rtd_subtype_of_outcome(outcome) ==
                 NRT__INFER_ERROR_SUBTYPE__INFER_ERROR_SUBTYPE_HW_ERROR ||
             outcome == NTK_CORE_DEAD)) {
            model->state = RTD_MODEL_FAILED;
            ntk_core_model_stopped(model->core, outcome);
            if (model->group->running == model) {
                model->group->running = NULL;
            }
        }
    }
    if (inference->code != NRT__NERR__NERR_OK) {
        explain(inference, &err);
    }
    pthread_mutex_unlock(&manager->lock);
    return true;
}

/* Ends an inference that has run, after all earlier ones have ended. */
static void be_over(struct rtd_inference *inference)
{
    struct rtd_model *model = inference->model;
    struct rtd_manager *manager = model->manager;

    inference->is_done = true;
    inference->context->is_taken = false;
    inference->context = NULL;
    answer_waits(manager, inference);
    bool is_of_stream = inference->over != NULL;
    bool is_over =
        !is_of_stream && (inference->cookie == 0 || inference->is_unwanted || model->is_leaving);
    if (is_over && inference->cookie != 0) {
        rtd_cookie_remove(rtd_cookie_slot(manager, inference->cookie));
    }
    if (is_of_stream) {
        inference->over(inference->over_ctx); /* this may free the inference */
    }
    if (is_over) {
        rtd_inference_free(inference);
    }
    rtd_model_inference_over(model);
}

/* Called when an inference is complete. Lanes do not wait for each other, but results do. */
void rtd_inference_done(struct ntk_core_queue_item *item)
{
    struct rtd_inference *inference = (struct rtd_inference *)item;
    struct rtd_model *model = inference->model;
    struct rtd_manager *manager = model->manager;

    pthread_mutex_lock(&manager->lock);
    inference->has_run = true;
    for (struct rtd_inference *oldest = model->oldest; oldest && oldest->has_run;) {
        struct rtd_inference *next = oldest->newer;
        model->oldest = next;
        be_over(oldest); /* the last one may free the model */
        oldest = next;
    }
    pthread_mutex_unlock(&manager->lock);
}
