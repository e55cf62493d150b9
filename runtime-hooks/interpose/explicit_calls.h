/* SPDX-License-Identifier: MIT */
/*
 * explicit_calls - the calls that both forms of the explicit interface observe alike. async_2.c and
 * async_3.c include it after status_get(), and define what differs:
 *
 *   OWN(name)           the observing function
 *   RUNTIME(name)       the function of the runtime
 *   OUTCOME             the type of the caller's outcome parameter
 *   PASS_ON(name, ...)  returns the result of the other form where the call belongs to it
 */
static bool latest_get(uint32_t vnc, uint32_t unit, int queue, uint64_t *out_sequence)
{
    return RUNTIME(nrta_get_sequence)(vnc, (nrta_xu_t)unit, queue, out_sequence) == NRT_SUCCESS;
}

static const struct explicit_form form = { latest_get, status_get };

NRT_STATUS OWN(nrta_execute_schedule)(nrt_model_t *model, const nrt_tensor_set_t *input,
                                      nrt_tensor_set_t *output, int queue, OUTCOME *outcome,
                                      nrta_seq_t *req_sequence)
{
    PASS_ON(nrta_execute_schedule, (uintptr_t)model, (uintptr_t)input, (uintptr_t)output,
            (uint64_t)queue, (uintptr_t)outcome, (uintptr_t)req_sequence);
    INTERPOSE_SCOPE;
    INTERPOSE_EXECUTION;

    if (!req_sequence || !interpose_execution_begin(&execution, model)) {
        return RUNTIME(nrta_execute_schedule)(model, input, output, queue, outcome, req_sequence);
    }
    NRT_STATUS status =
        RUNTIME(nrta_execute_schedule)(model, input, output, queue, outcome, req_sequence);
    explicit_execution_scheduled(&execution, &form, NRTA_XU_COMPUTE, queue, outcome, status,
                                 *req_sequence);
    return status;
}

NRT_STATUS OWN(nrta_cc_prepare)(nrt_cc_comm_t *comm, nrt_tensor_list_t *input,
                                nrt_tensor_list_t *output, nrt_dtype_t dtype, nrt_op_type_t op,
                                nrt_cc_op_type_t cc_op, nrt_cc_context_t **cc_ctx)
{
    PASS_ON(nrta_cc_prepare, comm, input, output, dtype, op, cc_op, cc_ctx);
    INTERPOSE_SCOPE;
    NRT_STATUS status = RUNTIME(nrta_cc_prepare)(comm, input, output, dtype, op, cc_op, cc_ctx);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        interpose_prepared_add(&scope, comm, input, dtype, cc_op, *cc_ctx);
    }
    return status;
}

NRT_STATUS OWN(nrta_cc_schedule)(nrt_cc_context_t **cc_ctx, int queue, OUTCOME *outcome,
                                 nrta_seq_t *req_sequence)
{
    PASS_ON(nrta_cc_schedule, (uintptr_t)cc_ctx, (uint64_t)queue, (uintptr_t)outcome,
            (uintptr_t)req_sequence);
    INTERPOSE_SCOPE;
    const nrt_cc_context_t *context = scope.generation && cc_ctx ? *cc_ctx : NULL;
    NRT_STATUS status = RUNTIME(nrta_cc_schedule)(cc_ctx, queue, outcome, req_sequence);

    if (status == NRT_SUCCESS && context && req_sequence && interpose_is_on(&scope)) {
        explicit_collective_scheduled(&scope, &form, NRTA_XU_COLLECTIVES, queue, outcome, context,
                                      *req_sequence);
    }
    return status;
}

NRT_STATUS OWN(nrta_is_completed)(nrta_seq_t seq, bool *is_completed)
{
    PASS_ON(nrta_is_completed, seq, (uintptr_t)is_completed);
    INTERPOSE_SCOPE;
    NRT_STATUS status = RUNTIME(nrta_is_completed)(seq, is_completed);

    if (status == NRT_SUCCESS && is_completed && *is_completed && interpose_is_on(&scope)) {
        pending_end_through(seq);
    }
    return status;
}

NRT_STATUS OWN(nrta_get_sequence)(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq)
{
    PASS_ON(nrta_get_sequence, lnc, xu, (uint64_t)queue, (uintptr_t)seq);
    INTERPOSE_SCOPE;
    NRT_STATUS status = RUNTIME(nrta_get_sequence)(lnc, xu, queue, seq);

    if (status == NRT_SUCCESS && seq && interpose_is_on(&scope)) {
        pending_end_through(*seq);
    }
    return status;
}
