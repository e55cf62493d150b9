/* SPDX-License-Identifier: MIT */
/*
 * rtd_infer - inferences: inputs are in the core's memory when one is posted, so that the client's
 * buffers and the next inputs wait for nobody; a worker runs the model and fetches the outputs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/base/log.h"

#define MODULE "inference"
/* Of results that were never fetched, by all clients: beyond it posts are refused. */
#define UNCOLLECTED_MAX 65536
#define UNCOLLECTED_BYTES_MAX (UINT64_C(1) << 30)

/* Where an output goes: memory of the client, or bytes that are kept for the answer. */
struct output {
    struct rtd_shm *shm;
    uint8_t *bytes;
};

struct rtd_inference {
    struct ntk_core_queue_item item;
    struct rtd_inference *next; /* of the same slot of cookies */
    uint32_t model_id;
    struct rtd_model *model; /* NULL when it is done */
    struct rtd_context *context;
    struct output *outputs; /* by output of the model */
    size_t output_count, output_bytes;
    char **output_names; /* for the answer, when the model is gone */
    uint64_t *output_sizes;
    uint64_t cookie;        /* 0: of one call */
    struct rtd_wait *waits; /* who is to be answered: the first one gets the result */
    bool is_done;
    enum _Nrt__Nerr code;
    char details[NTK_ERR_TEXT_BYTES];
};

/* What is wrong with a request, as its answer has it. */
struct fault {
    enum _Nrt__Nerr code;
    char text[NTK_ERR_TEXT_BYTES];
};

static bool fault_set(struct fault *fault, enum _Nrt__Nerr code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fault_set(struct fault *fault, enum _Nrt__Nerr code, const char *format, ...)
{
    va_list list;

    fault->code = code;
    va_start(list, format);
    (void)vsnprintf(fault->text, sizeof fault->text, format, list);
    va_end(list);
    return false;
}

/* ---- owning ---- */

static void inference_free(struct rtd_inference *inference)
{
    for (size_t i = 0; i < inference->output_count; i++) {
        rtd_shm_give_back(inference->outputs[i].shm);
        free(inference->outputs[i].bytes);
        free(inference->output_names[i]);
    }
    free(inference->outputs);
    free(inference->output_names);
    free(inference->output_sizes);
    free(inference);
}

static struct rtd_inference **cookie_slot(struct rtd_manager *manager, uint64_t cookie)
{
    struct rtd_inference **at = &manager->cookies[cookie % RTD_COOKIE_SLOTS];

    while (*at && (*at)->cookie != cookie) {
        at = &(*at)->next;
    }
    return at;
}

static void cookie_remove(struct rtd_manager *manager, struct rtd_inference **at)
{
    struct rtd_inference *inference = *at;

    *at = inference->next;
    manager->uncollected_count--;
    manager->uncollected_bytes -= inference->output_bytes;
    inference->cookie = 0;
}

/* ---- answers ---- */

static void answer(struct rtd_inference *inference, struct ntk_rpc_call *call, bool has_memory)
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
        io->name = inference->output_names[i];
        io->data_case = NRT__INFER_IO__DATA_BUF;
        io->buf.data = inference->outputs[i].bytes;
        io->buf.len = inference->output_sizes[i];
        rows[reply.n_ofmap++] = io;
    }
    if (ios && rows) {
        ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    } else {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE, "out of memory");
    }
    free(ios);
    free(rows);
}

/* Outputs that wait as bytes, to the memory that the collecting call names; those of the post were
 * written already. */
static bool outputs_move(struct rtd_manager *manager, struct rtd_inference *inference,
                         const Nrt__InferWaitRequest *asked, struct fault *fault)
{
    for (size_t g = 0; g < asked->n_shm_ofmap; g++) {
        const Nrt__InferIo *given = asked->shm_ofmap[g];
        size_t length = strlen(given->name);
        size_t i = 0;

        length -= length > 2 && strcmp(given->name + length - 2, ":0") == 0 ? 2 : 0;
        while (i < inference->output_count &&
               strcmp(inference->output_names[i], given->name) != 0 &&
               (strlen(inference->output_names[i]) != length ||
                memcmp(inference->output_names[i], given->name, length) != 0)) {
            i++;
        }
        if (i == inference->output_count || given->data_case != NRT__INFER_IO__DATA_BUF_SHM) {
            return fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT, "unknown shm_ofmap %.200s",
                             given->name);
        }
        const struct output *output = &inference->outputs[i];
        if (output->shm && strcmp(output->shm->path, given->buf_shm->path) == 0) {
            continue;
        }
        struct rtd_shm *to = rtd_shm_take(manager, given->buf_shm->path);
        uint64_t bytes = inference->output_sizes[i];
        uint8_t *fetched = output->shm ? malloc(bytes + 1) : output->bytes;
        bool is_moved = to && fetched && rtd_shm_bytes_get(to) >= bytes &&
                        (!output->shm || rtd_shm_read(output->shm, fetched, bytes)) &&
                        rtd_shm_write(to, fetched, bytes);
        if (output->shm) {
            free(fetched);
        }
        rtd_shm_give_back(to);
        if (!is_moved) {
            return fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT,
                             "shared memory %.200s for [%s] is missing or smaller than %" PRIu64,
                             given->buf_shm->path, inference->output_names[i], bytes);
        }
    }
    return true;
}

/* asked: by whoever collects; NULL: what the post said counts. */
static void deliver(struct rtd_manager *manager, struct rtd_inference *inference,
                    struct ntk_rpc_call *call, const Nrt__InferWaitRequest *asked)
{
    struct fault fault = { NRT__NERR__NERR_OK, "" };
    bool has_memory = asked && asked->n_shm_ofmap > 0;

    if (!has_memory || outputs_move(manager, inference, asked, &fault)) {
        answer(inference, call, has_memory);
    } else {
        rtd_refuse(call, fault.code, "%s", fault.text);
    }
}

/* The first caller that is still there gets it; whoever else waited for it finds it collected. */
static bool answer_waits(struct rtd_manager *manager, struct rtd_inference *inference)
{
    bool is_collected = false;

    while (inference->waits) {
        struct rtd_wait *wait = inference->waits;
        inference->waits = wait->next;
        ProtobufCMessage *asked = wait->asked;
        struct ntk_rpc_call *call = rtd_wait_end(wait);
        if (call && !is_collected) {
            deliver(manager, inference, call, (const void *)asked);
            is_collected = true;
        } else if (call) {
            rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "the result was collected");
        }
        if (asked) {
            protobuf_c_message_free_unpacked(asked, NULL);
        }
    }
    return is_collected;
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
    ntk_log_error(MODULE, "[NMGR:exec_wait] model %u: inference completed with err: %d%s%s",
                  inference->model->id, code, err->text[0] ? ": " : "", err->text);
}

static bool outputs_fetch(struct rtd_inference *inference, struct ntk_err *err)
{
    struct rtd_model *model = inference->model;

    for (size_t i = 0; i < inference->output_count; i++) {
        struct output *output = &inference->outputs[i];
        void *to = output->shm ? model->unstaging : output->bytes;
        uint64_t bytes = inference->output_sizes[i];
        struct ntk_core_tensor *tensor = inference->context->tensors[model->input_count + i];

        if (ntk_core_tensor_read(tensor, to, 0, bytes, err) < 0) {
            return false;
        }
        if (output->shm && !rtd_shm_write(output->shm, to, bytes)) {
            (void)ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot write to shared memory %s",
                              output->shm->path);
            return false;
        }
    }
    return true;
}

static bool run(struct ntk_core_queue_item *item, bool is_broken)
{
    struct rtd_inference *inference = (struct rtd_inference *)item;
    struct rtd_model *model = inference->model;
    struct rtd_manager *manager = model->manager;
    enum ntk_core_outcome outcome = NTK_CORE_FAILED;
    struct ntk_err err = { 0 };

    (void)is_broken;
    pthread_mutex_lock(&manager->lock);
    bool is_cancelled = model->is_cancelled;
    bool has_failed = model->state == RTD_MODEL_FAILED;
    pthread_mutex_unlock(&manager->lock);
    if (!is_cancelled && !has_failed) {
        int ret = ntk_core_execute(model->core, inference->context->tensors, model->io_count,
                                   &outcome, &err);
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
        count(inference, outcome);
        if (rtd_subtype_of_outcome(outcome) ==
                NRT__INFER_ERROR_SUBTYPE__INFER_ERROR_SUBTYPE_HW_ERROR ||
            outcome == NTK_CORE_DEAD) {
            model->state = RTD_MODEL_FAILED;
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

/* It is complete: the queue has room for the next one before its caller hears of it. */
static void done(struct ntk_core_queue_item *item)
{
    struct rtd_inference *inference = (struct rtd_inference *)item;
    struct rtd_manager *manager = inference->model->manager;
    struct rtd_model *model = inference->model;

    pthread_mutex_lock(&manager->lock);
    inference->is_done = true;
    inference->context->is_taken = false;
    inference->context = NULL;
    inference->model = NULL;
    bool is_over = answer_waits(manager, inference) || model->is_leaving;
    if (is_over && inference->cookie != 0) {
        cookie_remove(manager, cookie_slot(manager, inference->cookie));
    }
    is_over = is_over || inference->cookie == 0;
    rtd_model_inference_over(model);
    pthread_mutex_unlock(&manager->lock);
    if (is_over) {
        inference_free(inference);
    }
}

/* ---- posting ---- */

/* Clients may say "x:0" where the NEFF says "x". NTK_CORE_ANY: none of that name. */
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

static bool input_take(struct rtd_model *model, struct rtd_context *context,
                       const Nrt__InferIo *given, bool *is_given, struct fault *fault)
{
    size_t i = io_find(model, given->name, false);
    struct ntk_err err = { 0 };

    if (i == SIZE_MAX || is_given[i]) {
        return fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT, "%s ifmap %.200s",
                         i == SIZE_MAX ? "unknown" : "twice given", given->name);
    }
    const struct ntk_core_io *io = &model->ios[i];
    const void *from = given->buf.data;
    is_given[i] = true;
    if (given->data_case == NRT__INFER_IO__DATA_BUF_SHM) {
        struct rtd_shm *shm = rtd_shm_take(model->manager, given->buf_shm->path);
        uint64_t bytes = shm ? rtd_shm_bytes_get(shm) : 0;
        bool is_read = bytes >= io->bytes && rtd_shm_read(shm, model->staging, io->bytes);
        rtd_shm_give_back(shm);
        if (!is_read) {
            return fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT,
                             "Invalid data length for [%s], received %" PRIu64 ", expected %" PRIu64
                             " (shared memory %.200s)",
                             io->name, bytes, io->bytes, given->buf_shm->path);
        }
        from = model->staging;
    } else if (given->data_case != NRT__INFER_IO__DATA_BUF || given->buf.len != io->bytes) {
        return fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT,
                         "Invalid data length for [%s], received %zu, expected %" PRIu64, io->name,
                         given->data_case == NRT__INFER_IO__DATA_BUF ? given->buf.len : 0,
                         io->bytes);
    }
    if (io->bytes > 0 && ntk_core_tensor_write(context->tensors[i], from, 0, io->bytes, &err) < 0) {
        return fault_set(fault, NRT__NERR__NERR_FAIL, "%s", err.text);
    }
    return true;
}

static bool inputs_take(struct rtd_model *model, struct rtd_context *context,
                        const Nrt__InferRequest *asked, struct fault *fault)
{
    bool *is_given = calloc(model->input_count ? model->input_count : 1, sizeof *is_given);
    bool is_good = is_given != NULL;

    if (!is_given) {
        return fault_set(fault, NRT__NERR__NERR_RESOURCE, "out of memory");
    }
    if (asked->n_ifmap != model->input_count) {
        is_good = fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT,
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
                            struct fault *fault)
{
    struct rtd_model *model = inference->model;
    size_t output_count = model->io_count - model->input_count;

    inference->outputs = calloc(output_count + 1, sizeof *inference->outputs);
    inference->output_names = calloc(output_count + 1, sizeof *inference->output_names);
    inference->output_sizes = calloc(output_count + 1, sizeof *inference->output_sizes);
    if (!inference->outputs || !inference->output_names || !inference->output_sizes) {
        return fault_set(fault, NRT__NERR__NERR_RESOURCE, "out of memory");
    }
    inference->output_count = output_count;
    for (size_t i = 0; i < output_count; i++) {
        const struct ntk_core_io *io = &model->ios[model->input_count + i];
        inference->output_sizes[i] = io->bytes;
        inference->output_names[i] = strdup(io->name);
        if (!inference->output_names[i]) {
            return fault_set(fault, NRT__NERR__NERR_RESOURCE, "out of memory");
        }
    }
    for (size_t i = 0; i < asked->n_shm_ofmap; i++) {
        const Nrt__InferIo *given = asked->shm_ofmap[i];
        size_t at = io_find(model, given->name, true);
        if (at == SIZE_MAX || given->data_case != NRT__INFER_IO__DATA_BUF_SHM ||
            inference->outputs[at - model->input_count].shm) {
            return fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT, "%s shm_ofmap %.200s",
                             at == SIZE_MAX ? "unknown" : "wrong", given->name);
        }
        struct rtd_shm *shm = rtd_shm_take(model->manager, given->buf_shm->path);
        inference->outputs[at - model->input_count].shm = shm;
        if (!shm || rtd_shm_bytes_get(shm) < model->ios[at].bytes) {
            return fault_set(fault, NRT__NERR__NERR_INFER_BAD_INPUT,
                             "shared memory %.200s for [%s] is missing or smaller than %" PRIu64,
                             given->buf_shm->path, model->ios[at].name, model->ios[at].bytes);
        }
    }
    for (size_t i = 0; i < output_count && asked->n_shm_ofmap == 0; i++) {
        inference->outputs[i].bytes = malloc(inference->output_sizes[i] + 1);
        inference->output_bytes += inference->output_sizes[i];
        if (!inference->outputs[i].bytes) {
            return fault_set(fault, NRT__NERR__NERR_RESOURCE, "out of memory");
        }
    }
    /* Where some outputs go to shared memory the others are asked for by nobody. */
    for (size_t i = 0; i < output_count && asked->n_shm_ofmap > 0; i++) {
        if (!inference->outputs[i].shm) {
            inference->output_sizes[i] = 0;
        }
    }
    return true;
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

static bool model_check(const struct rtd_manager *manager, const struct rtd_model *model,
                        const Nrt__HNn *handle, struct fault *fault)
{
    if (model && model->state == RTD_MODEL_FAILED) {
        return fault_set(fault, NRT__NERR__NERR_FAILED_STATE, "model %u failed: unload it",
                         model->id);
    }
    if (!model || model->state != RTD_MODEL_READY) {
        return fault_set(fault, NRT__NERR__NERR_INVALID_HANDLE, "Failed to find model: %u",
                         handle ? handle->id : 0);
    }
    if (manager->uncollected_count >= UNCOLLECTED_MAX ||
        manager->uncollected_bytes >= UNCOLLECTED_BYTES_MAX) {
        return fault_set(fault, NRT__NERR__NERR_RESOURCE,
                         "%" PRIu64 " results wait for infer_wait: collect them",
                         manager->uncollected_count);
    }
    return true;
}

/* The core counts what is refused, too. */
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

/* Its inputs are read, and a worker has it; or fault says why not. */
static bool submit(struct rtd_model *model, struct rtd_inference *inference,
                   const Nrt__InferRequest *asked, struct fault *fault)
{
    inference->item.run = run;
    inference->item.destroy = done;
    inference->model_id = model->id;
    inference->model = model;
    if (!inputs_take(model, inference->context, asked, fault) ||
        !outputs_prepare(inference, asked, fault)) {
        return false;
    }
    if (ntk_core_queue_submit(model->queue, &inference->item, NULL) < 0) {
        return fault_set(fault, NRT__NERR__NERR_RESOURCE, "no worker for model %u", model->id);
    }
    return true;
}

/* wait: who is answered when it is over; NULL: whoever asks with its cookie. NULL when fault says
 * why. */
static const struct rtd_inference *post(struct rtd_manager *manager, const Nrt__InferRequest *asked,
                                        struct rtd_wait *wait, struct fault *fault)
{
    struct rtd_model *model = rtd_model_find(manager, asked->h_nn);

    if (!model_check(manager, model, asked->h_nn, fault)) {
        return NULL;
    }
    struct rtd_context *context = context_take(model);
    if (!context) {
        (void)fault_set(fault, NRT__NERR__NERR_QUEUE_FULL,
                        "%u inferences of model %u are under way: wait for one", model->ninfer,
                        model->id);
        refuse_count(model, fault->code);
        return NULL;
    }
    struct rtd_inference *inference = calloc(1, sizeof *inference);
    if (!inference) {
        context->is_taken = false;
        (void)fault_set(fault, NRT__NERR__NERR_RESOURCE, "out of memory");
        return NULL;
    }
    inference->context = context;
    if (!submit(model, inference, asked, fault)) {
        context->is_taken = false;
        inference_free(inference);
        refuse_count(model, fault->code);
        return NULL;
    }
    /* Its worker waits for the lock before it looks for who is to be answered. */
    model->in_flight++;
    manager->counts.inferences++;
    inference->waits = wait;
    if (!wait) {
        inference->cookie = ++manager->last_cookie;
        inference->next = manager->cookies[inference->cookie % RTD_COOKIE_SLOTS];
        manager->cookies[inference->cookie % RTD_COOKIE_SLOTS] = inference;
        manager->uncollected_count++;
        manager->uncollected_bytes += inference->output_bytes;
    }
    return inference;
}

/* ---- methods ---- */

void rtd_infer(struct rtd_manager *manager, struct ntk_rpc_call *call,
               const ProtobufCMessage *message)
{
    struct fault fault = { NRT__NERR__NERR_OK, "" };
    struct rtd_wait *wait = rtd_wait_begin(call);

    if (wait && !post(manager, (const void *)message, wait, &fault) && rtd_wait_end(wait)) {
        rtd_refuse(call, fault.code, "%s", fault.text);
    }
}

void rtd_infer_post(struct rtd_manager *manager, struct ntk_rpc_call *call,
                    const ProtobufCMessage *message)
{
    Nrt__InferPostResponse reply = NRT__INFER_POST_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    struct fault fault = { NRT__NERR__NERR_OK, "" };
    const struct rtd_inference *inference = post(manager, (const void *)message, NULL, &fault);

    if (!inference) {
        rtd_refuse(call, fault.code, "%s", fault.text);
        return;
    }
    reply.status = &status;
    reply.cookie = inference->cookie;
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
}

/* NULL without memory: then what the post said counts. */
static ProtobufCMessage *message_copy(const ProtobufCMessage *message)
{
    size_t bytes_count = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(bytes_count + 1);
    ProtobufCMessage *copy = NULL;

    if (bytes) {
        protobuf_c_message_pack(message, bytes);
        copy = protobuf_c_message_unpack(message->descriptor, NULL, bytes_count, bytes);
    }
    free(bytes);
    return copy;
}

static void collect(struct rtd_manager *manager, struct ntk_rpc_call *call,
                    const Nrt__InferWaitRequest *asked, bool waits)
{
    struct rtd_inference **at = cookie_slot(manager, asked->cookie);
    struct rtd_inference *inference = asked->cookie ? *at : NULL;

    if (!inference) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "unknown cookie %" PRIu64, asked->cookie);
        return;
    }
    if (!inference->is_done && !waits) {
        rtd_refuse(call, NRT__NERR__NERR_INFER_PENDING, "inference %" PRIu64 " is under way",
                   asked->cookie);
        return;
    }
    if (!inference->is_done) {
        struct rtd_wait *wait = rtd_wait_begin(call);
        struct rtd_wait **last = &inference->waits;
        while (*last) {
            last = &(*last)->next;
        }
        *last = wait;
        if (wait && asked->n_shm_ofmap > 0) {
            wait->asked = message_copy(&asked->base);
        }
        return;
    }
    deliver(manager, inference, call, asked);
    cookie_remove(manager, at);
    inference_free(inference);
}

void rtd_infer_wait(struct rtd_manager *manager, struct ntk_rpc_call *call,
                    const ProtobufCMessage *message)
{
    collect(manager, call, (const void *)message, true);
}

void rtd_infer_poll(struct rtd_manager *manager, struct ntk_rpc_call *call,
                    const ProtobufCMessage *message)
{
    collect(manager, call, (const void *)message, false);
}

void rtd_infer_check_completion(struct rtd_manager *manager, struct ntk_rpc_call *call,
                                const ProtobufCMessage *message)
{
    const Nrt__InferCheckCompletionRequest *asked = (const void *)message;
    Nrt__InferCheckCompletionResponse reply = NRT__INFER_CHECK_COMPLETION_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;

    reply.cookie = calloc(asked->n_cookie + 1, sizeof *reply.cookie);
    reply.status = &status;
    for (size_t i = 0; i < asked->n_cookie && reply.cookie; i++) {
        const struct rtd_inference *inference =
            asked->cookie[i] ? *cookie_slot(manager, asked->cookie[i]) : NULL;
        if (!inference) {
            rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "unknown cookie %" PRIu64,
                       asked->cookie[i]);
            free(reply.cookie);
            return;
        }
        if (inference->is_done) {
            reply.cookie[reply.n_cookie++] = asked->cookie[i];
        }
    }
    if (reply.cookie) {
        ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    } else {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE, "out of memory");
    }
    free(reply.cookie);
}

void rtd_infer_forget(struct rtd_manager *manager, const struct rtd_model *model)
{
    for (size_t i = 0; i < RTD_COOKIE_SLOTS; i++) {
        for (struct rtd_inference **at = &manager->cookies[i]; *at;) {
            struct rtd_inference *inference = *at;
            if (inference->is_done && inference->model_id == model->id) {
                cookie_remove(manager, at);
                inference_free(inference);
            } else {
                at = &inference->next;
            }
        }
    }
}
