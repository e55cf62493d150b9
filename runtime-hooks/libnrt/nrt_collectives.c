/* SPDX-License-Identifier: MIT */
/*
 * nrt_collectives - runs collective operations called by the host.
 */
#include "runtime-hooks/libnrt/nrt_cc.h"

#include <stdlib.h>

#include "runtime-hooks/libnrt/nrt_env.h"
#include "runtime-hooks/libnrt/nrt_log.h"

#pragma GCC visibility push(default)
#include "nrt/nec.h"
#pragma GCC visibility pop

NRT_STATUS nrt_collectives_options_get(const char *function, uint32_t vnc,
                                       struct ntk_core_comm_options *options)
{
    struct ntk_core *core = nrt_front_core_get();
    struct ntk_core_load_options load = { 0 };
    struct ntk_err err = { 0 };

    if (vnc >= ntk_core_count(core)) {
        nrt_log_error(function, "unknown core %u (NRT_INVALID)", vnc);
        return NRT_INVALID;
    }
    int ret = nrt_env_load_options_get(ntk_core_machine_get(core), &load, &err);
    if (ret < 0) {
        return nrt_front_fail(function, ret, &err);
    }
    options->rendezvous = getenv("NEURON_RT_ROOT_COMM_ID");
    options->timeout_ns = load.execution_timeout_ns;
    options->nc = vnc;
    return NRT_SUCCESS;
}

/* Joins as this rank; returns NRT_SUCCESS or a logged error. Called between enter and leave. vnc -1
 * means any core. */
static NRT_STATUS comm_join(const char *function, int32_t vnc, uint32_t rank, uint32_t rank_count,
                            struct ntk_core_comm **out_comm)
{
    struct ntk_core_comm_options options = { .rank = rank, .rank_count = rank_count };
    struct ntk_err err = { 0 };
    NRT_STATUS status =
        nrt_collectives_options_get(function, vnc == -1 ? 0 : (uint32_t)vnc, &options);

    if (status != NRT_SUCCESS) {
        return status;
    }
    int ret = ntk_core_comm_join(nrt_front_core_get(), &options, out_comm, &err);
    return ret < 0 ? nrt_front_fail(function, ret, &err) : NRT_SUCCESS;
}

void nrt_collectives_trace_begin(struct ntk_core_trace_span *span, enum ntk_collective operation,
                                 const struct ntk_core_comm *comm, int32_t vnc, uint64_t bytes)
{
    uint32_t nc = vnc < 0 ? 0 : (uint32_t)vnc;
    struct ntk_core_trace_data data = { .bytes = bytes,
                                        .operation = (uint8_t)(operation + 1),
                                        .name = ntk_core_comm_name_get(comm),
                                        .device_ns =
                                            ntk_core_device_clock_ns(nrt_front_core_get(), nc) };

    if (ntk_core_trace_is_on()) {
        ntk_core_trace_span_begin(
            span, operation == NTK_COLLECTIVE_BARRIER ? NTK_CORE_TRACE_BARRIER : NTK_CORE_TRACE_CC,
            nc, &data);
    }
}

void nrt_collectives_trace_end(const struct ntk_core_trace_span *span,
                               const struct ntk_core_comm *comm, uint64_t bytes)
{
    struct ntk_core_trace_data data = { .bytes = bytes,
                                        .name = ntk_core_comm_name_get(comm),
                                        .execution_id = ntk_core_comm_operations_begun(comm),
                                        .device_ns = ntk_core_device_clock_ns(nrt_front_core_get(),
                                                                              span->nc) };

    ntk_core_trace_span_end(span, &data);
}

static NRT_STATUS comm_build(const char *function, int32_t vnc, uint32_t rank, uint32_t rank_count)
{
    struct ntk_core_comm *comm = NULL;
    NRT_FRONT_SCOPE;

    status = comm_join(function, vnc, rank, rank_count, &comm);
    if (status == NRT_SUCCESS) {
        ntk_core_comm_leave(comm); /* the process keeps its own reference */
    }
    return status;
}

NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
    return comm_build("nrt_build_global_comm", vnc, g_device_id, g_device_count);
}

NRT_STATUS nrt_cc_global_comm_init(uint32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
    return vnc > INT32_MAX
               ? NRT_INVALID
               : comm_build("nrt_cc_global_comm_init", (int32_t)vnc, g_device_id, g_device_count);
}

NRT_STATUS nrt_barrier(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
    struct ntk_core_comm *comm = NULL;
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    status = comm_join("nrt_barrier", vnc, g_device_id, g_device_count, &comm);
    if (status == NRT_SUCCESS) {
        struct ntk_core_trace_span span = { 0 };

        nrt_collectives_trace_begin(&span, NTK_COLLECTIVE_BARRIER, comm, vnc, 0);
        int ret = ntk_core_comm_barrier(comm, &err);
        nrt_collectives_trace_end(&span, comm, 0);
        status = ret < 0 ? nrt_front_fail("nrt_barrier", ret, &err) : NRT_SUCCESS;
        ntk_core_comm_leave(comm);
    }
    return status;
}

NRT_STATUS nrt_all_gather(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count,
                          uint32_t rank_input_size, void *input, void *output)
{
    struct ntk_core_comm *comm = NULL;
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    status = !input || !output
                 ? NRT_INVALID
                 : comm_join("nrt_all_gather", vnc, g_device_id, g_device_count, &comm);
    if (status == NRT_SUCCESS) {
        struct ntk_core_trace_span span = { 0 };

        nrt_collectives_trace_begin(&span, NTK_COLLECTIVE_ALL_GATHER, comm, vnc, rank_input_size);
        int ret = ntk_core_comm_all_gather(comm, input, output, rank_input_size, &err);
        nrt_collectives_trace_end(&span, comm, rank_input_size);
        status = ret < 0 ? nrt_front_fail("nrt_all_gather", ret, &err) : NRT_SUCCESS;
        ntk_core_comm_leave(comm);
    }
    return status;
}

/* Queues order collective operations here, so streams have no effect. */
NRT_STATUS nrt_cc_create_stream(uint32_t stream_id)
{
    NRT_FRONT_SCOPE;
    return stream_id < NEC_MAX_STREAM_N ? NRT_SUCCESS : NRT_INVALID;
}

NRT_STATUS nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                                uint32_t ctx_device_id, uint32_t ctx_device_count,
                                nrt_model_t **model)
{
    NRT_STATUS status = nrt_build_global_comm(vnc, ctx_device_id, ctx_device_count);

    return status == NRT_SUCCESS ? nrt_front_load(neff_bytes, size, vnc, vnc_count, ctx_device_id,
                                                  ctx_device_count, model)
                                 : status;
}
