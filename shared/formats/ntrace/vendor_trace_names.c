/* SPDX-License-Identifier: MIT */
/* vendor_trace_names - names of types and memory uses in version 2 of the vendor's trace, by id. */
#include "shared/formats/ntrace/vendor_trace.h"

static const char *const vendor_types[] = {
    "generic",
    "nrt_load",
    "async_post_request",
    "nrt_execute",
    "kmgr_exec_core",
    "nrt_load_collectives",
    "cc_exec_barrier",
    "nc_exec_running",
    "cc_running",
    "nrt_tensor_read",
    "nrt_tensor_write",
    "nrt_tensor_read_batch",
    "nrt_tensor_write_batch",
    "numerical_err",
    "enc_barrier_recv",
    "enc_barrier_send",
    "enc_barrier",
    "kbl_exec_pre",
    "kbl_exec_core",
    "kbl_exec_wait",
    "kbl_exec_post",
    "nrt_model_switch",
    "nrt_model_submit",
    "nrt_async_sema_wait",
    "hw_notify",
    "timestamp_sync_point",
    "nc_model_switch",
    "nrt_tensor_allocate",
    "nrt_tensor_free",
    "tensor_block_while_exec",
    "dmem_buf_copyin",
    "dmem_buf_copyout",
    "dmem_buf_batch_copyin",
    "dmem_buf_batch_copyout",
    "nrt_dma_mem_alloc",
    "nrt_dma_mem_dealloc",
    "exec_consume_nc_status_notifications",
    "exec_consume_cc_core_notifications",
    "notification_consume_errors",
    "exec_consume_gpsimd_stdio",
};

static const char *const vendor_usages[] = {
    "generic",
    "pe",
    "act",
    "pool",
    "io",
    "spill",
    "weight",
    "profiler buffers",
    "act table",
    "dve",
    "sp",
    "shared scratchpad",
    "tensor",
    "ucode",
    "pool stdio",
    "collectives",
    "scratchpad",
    "xt cc",
    "dma rings runtime",
    "dma rings spill",
    "dma rings io",
    "dma rings collectives",
};

const char *const *ntk_vendor_trace_type_names(size_t *out_count)
{
    *out_count = sizeof vendor_types / sizeof *vendor_types;
    return vendor_types;
}

const char *const *ntk_vendor_trace_usage_names(size_t *out_count)
{
    *out_count = sizeof vendor_usages / sizeof *vendor_usages;
    return vendor_usages;
}
