/* SPDX-License-Identifier: MIT */
/*
 * nrt_execute - runs executions and captures.
 */
#include "runtime-hooks/libnrt/nrt_execute.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime-hooks/libnrt/nrt_dump.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "runtime-hooks/libnrt/nrt_request.h"
#include "runtime-hooks/libnrt/nrt_status_map.h"

/* Limit of simultaneous calls per model; further callers must retry. The limit is far more than
 * useful threads, but it bounds the intermediate memory of all calls. */
#define CALLS_MAX 1024

void nrt_execute_call_fini(struct nrt_execute_call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        if (call->tensors[i]) {
            ntk_core_handle_drop(&nrt_front_tensors, call->tensors[i]);
        }
    }
    if (call->tensors != call->tensors_inline) {
        free(call->tensors);
        free(call->cores);
    }
}

NRT_STATUS nrt_execute_call_init(struct nrt_execute_call *call, struct nrt_model *model,
                                 struct nrt_set *input, struct nrt_set *output)
{
    const struct ntk_core_io *ios = ntk_core_model_io_get(model->core, &call->count);

    call->tensors = call->tensors_inline;
    call->cores = call->cores_inline;
    if (call->count > NRT_EXECUTE_TENSORS_INLINE) {
        call->tensors = calloc(call->count, sizeof(struct nrt_tensor *));
        call->cores = calloc(call->count, sizeof(struct ntk_core_tensor *));
    }
    if (!call->tensors || !call->cores) {
        free(call->tensors);
        free(call->cores);
        call->tensors = call->tensors_inline;
        call->count = 0;
        ntk_core_execute_refused(model->core, -ENOMEM);
        return NRT_RESOURCE;
    }
    for (size_t i = 0; i < call->count; i++) {
        call->tensors[i] = NULL;
    }
    for (size_t i = 0; i < call->count; i++) {
        call->tensors[i] = nrt_front_set_take(ios[i].is_output ? output : input, ios[i].name);
        if (!call->tensors[i]) {
            nrt_log_error("nrt_execute", "model '%s': the %s set has no tensor '%s' (NRT_INVALID)",
                          ntk_core_model_name(model->core), ios[i].is_output ? "output" : "input",
                          ios[i].name);
            ntk_core_execute_refused(model->core, -EINVAL);
            return NRT_INVALID;
        }
        call->cores[i] = call->tensors[i]->core;
    }
    return NRT_SUCCESS;
}

static NRT_STATUS run_once(struct nrt_model *model, struct ntk_core_tensor *const *tensors,
                           size_t count)
{
    enum ntk_core_outcome outcome = NTK_CORE_FAILED;
    struct ntk_err err;
    int ret = 0;

    err.text[0] = '\0';
    err.code = 0;
    err.offset = NTK_ERR_NO_OFFSET;
    ret = ntk_core_execute(model->core, tensors, count, &outcome, &err);
    if (ret < 0) {
        return nrt_front_fail("nrt_execute", ret, &err);
    }
    NRT_STATUS status = nrt_status_from_outcome(outcome);
    if (status != NRT_SUCCESS) {
        nrt_front_execution_failed("nrt_execute", model, status, &err);
        nrt_dump_inputs(model, tensors, count, status);
    }
    return status;
}

/* The outputs of run n-1 are the inputs of run n: the i-th output is copied to the first unused
 * input of its size. */
static NRT_STATUS outputs_feed_inputs(struct nrt_model *model, const struct nrt_execute_call *call)
{
    size_t count = 0;
    const struct ntk_core_io *ios = ntk_core_model_io_get(model->core, &count);
    struct ntk_err err = { 0 };
    size_t next = 0;

    for (size_t o = 0; o < count; o++) {
        if (!ios[o].is_output) {
            continue;
        }
        size_t i = next;
        while (i < count && (ios[i].is_output || ios[i].bytes != ios[o].bytes)) {
            i++;
        }
        if (i == count) {
            continue;
        }
        next = i + 1;
        int ret = ntk_core_tensor_copy(call->cores[o], 0, call->cores[i], 0, ios[o].bytes, &err);
        if (ret < 0) {
            return nrt_front_fail("nrt_execute_repeat", ret, &err);
        }
    }
    return NRT_SUCCESS;
}

NRT_STATUS nrt_execute_call_run(const struct nrt_execute_call *call, struct nrt_model *model,
                                int repeat_count)
{
    NRT_STATUS status = NRT_SUCCESS;

    for (int i = 0; i < repeat_count && status == NRT_SUCCESS; i++) {
        if (i > 0) {
            status = outputs_feed_inputs(model, call);
        }
        if (status == NRT_SUCCESS) {
            status = run_once(model, call->cores, call->count);
        }
    }
    return status;
}

/* Runs an execution. Called between enter and leave, with all handles held. */
static NRT_STATUS run(struct nrt_model *model, struct nrt_set *input, struct nrt_set *output,
                      int repeat_count)
{
    struct nrt_execute_call call;

    /* The creator also holds a reference. */
    if (ntk_core_handle_references(model) > CALLS_MAX + 1) {
        nrt_log_error("nrt_execute", "model '%s': %d calls in progress (NRT_QUEUE_FULL)",
                      ntk_core_model_name(model->core), CALLS_MAX);
        ntk_core_execute_refused(model->core, -EAGAIN);
        return NRT_QUEUE_FULL;
    }
    if (nrt_request_is_implicit()) {
        return nrt_request_execute_implicit(model, input, output, repeat_count);
    }
    NRT_STATUS status = nrt_execute_call_init(&call, model, input, output);
    if (status == NRT_SUCCESS) {
        status = nrt_execute_call_run(&call, model, repeat_count);
    }
    nrt_execute_call_fini(&call);
    return status;
}

static NRT_STATUS execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                          nrt_tensor_set_t *output_set, int repeat_count)
{
    NRT_FRONT_SCOPE;
    struct nrt_model *taken = ntk_core_handle_take(&nrt_front_models, model);
    struct nrt_set *input = ntk_core_handle_take(&nrt_front_sets, input_set);
    struct nrt_set *output = ntk_core_handle_take(&nrt_front_sets, output_set);

    if (taken && input && output) {
        status = run(taken, input, output, repeat_count);
    } else {
        if (taken) {
            ntk_core_execute_refused(taken->core, -EINVAL);
        }
        status = taken ? NRT_INVALID : nrt_front_no_model(model);
    }
    if (output) {
        ntk_core_handle_drop(&nrt_front_sets, output);
    }
    if (input) {
        ntk_core_handle_drop(&nrt_front_sets, input);
    }
    if (taken) {
        ntk_core_handle_drop(&nrt_front_models, taken);
    }
    return status;
}

NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                       nrt_tensor_set_t *output_set)
{
    return execute(model, input_set, output_set, 1);
}

NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                              nrt_tensor_set_t *output_set, int repeat_count)
{
    if (repeat_count < 1) {
        NRT_STATUS status = nrt_front_enter();

        if (status == NRT_SUCCESS) {
            nrt_front_leave();
            status = NRT_INVALID;
        }
        return status;
    }
    return execute(model, input_set, output_set, repeat_count);
}

NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename)
{
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    struct nrt_model *taken = ntk_core_handle_take(&nrt_front_models, model);
    if (!taken) {
        status = nrt_front_no_model(model);
    } else if (!filename || !*filename) {
        status = NRT_INVALID;
    } else {
        int ret = ntk_core_profile_start(taken->core, filename, &err);

        status = ret < 0 ? nrt_front_fail("nrt_profile_start", ret, &err) : NRT_SUCCESS;
    }
    if (taken) {
        ntk_core_handle_drop(&nrt_front_models, taken);
    }
    return status;
}

NRT_STATUS nrt_profile_stop(const char *filename)
{
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    if (!filename) {
        status = NRT_INVALID;
    } else {
        int ret = ntk_core_profile_stop(nrt_front_core_get(), filename, &err);

        if (ret < 0) {
            status = nrt_front_fail("nrt_profile_stop", ret == -ENOENT ? -EINVAL : ret, &err);
        } else if (ret > 0) { /* a shorter but readable capture */
            nrt_log_error("nrt_profile_stop", "%s", err.text);
            status = NRT_RESOURCE;
        }
    }
    return status;
}
