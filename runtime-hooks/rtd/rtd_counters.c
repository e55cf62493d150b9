/* SPDX-License-Identifier: MIT */
/* rtd_counters - returns counters of inferences, models, cores, memory and log lines, in the form
 * for the first generation's monitors. */
#include <stdlib.h>

#include "runtime-hooks/core/core_counters.h"
#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/base/log.h"

#define SUBTYPES (NRT__INFER_ERROR_SUBTYPE__INFER_ERROR_SUBTYPE_RT + 1)
#define STATUSES (NRT__INFER_STATUS__IST_TIMEOUT + 1)

/* ---- inferences and models ---- */

/* A message, with all messages that it points to. */
struct counters {
    Nrt__NmgrCounters all;
    Nrt__InferErrorSubtypeCount errors[SUBTYPES];
    Nrt__InferErrorSubtypeCount *error_rows[SUBTYPES];
    Nrt__InferStatusCounts statuses[STATUSES];
    Nrt__InferStatusCounts *status_rows[STATUSES];
};

static void counters_fill(const struct rtd_counts *counts, struct counters *to)
{
    nrt__nmgr_counters__init(&to->all);
    for (int i = 0; i < SUBTYPES; i++) {
        nrt__infer_error_subtype_count__init(&to->errors[i]);
        to->errors[i].error_subtype = (Nrt__InferErrorSubtype)i;
        to->errors[i].count = (uint32_t)counts->errors[i];
        to->error_rows[i] = &to->errors[i];
    }
    for (int i = 0; i < STATUSES; i++) {
        nrt__infer_status_counts__init(&to->statuses[i]);
        to->statuses[i].infer_status = (Nrt__InferStatus)i;
        to->statuses[i].count = (uint32_t)counts->statuses[i];
        to->status_rows[i] = &to->statuses[i];
    }
    /* Skip the "no error" row: nothing increments it. */
    to->all.n_infer_error_subtype_count = SUBTYPES - 1;
    to->all.infer_error_subtype_count = to->error_rows + 1;
    to->all.n_infer_status_counts = STATUSES;
    to->all.infer_status_counts = to->status_rows;
    to->all.infer_queue_drop_count = counts->dropped;
    to->all.infer_count = counts->inferences;
    to->all.model_start_count = counts->starts;
    to->all.model_stop_count = counts->stops;
    to->all.model_load_count = counts->loads;
    to->all.model_unload_count = counts->unloads;
    to->all.neff_version_max_major = counts->neff_version_max >> 32;
    to->all.neff_version_max_minor = counts->neff_version_max & UINT32_MAX;
    to->all.neff_version_min_major = counts->neff_version_min >> 32;
    to->all.neff_version_min_minor = counts->neff_version_min & UINT32_MAX;
    to->all.neff_size_bytes_max = counts->neff_bytes_max;
    to->all.neff_num_ncs_max = counts->neff_ncs_max;
}

void rtd_read_inference_counters(struct rtd_manager *manager, struct ntk_rpc_call *call,
                                 const ProtobufCMessage *message)
{
    Nrt__ReadInferenceCountersResponse reply = NRT__READ_INFERENCE_COUNTERS_RESPONSE__INIT;
    struct counters counters;

    (void)message;
    counters_fill(&manager->counts, &counters);
    reply.nmgr_counters = &counters.all;
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
}

/* ---- cores ---- */

/* Fills the counters of a core; sb_rmw_count is not counted and stays unset. */
static void nc_fill(struct rtd_manager *manager, uint32_t vnc, Nrt__NcCounters *to)
{
    struct ntk_core_counts counts = { 0 };

    (void)ntk_core_counts_get(manager->core, vnc, &counts);
    nrt__nc_counters__init(to);
    to->virtual_nc_id = vnc;
    to->pe_num_idle_cycles = counts.engine[NTK_ENGINE_PE].idle_cycles;
    to->pe_num_wait_event_cycles = counts.engine[NTK_ENGINE_PE].wait_cycles;
    to->pe_num_executed_instr = counts.engine[NTK_ENGINE_PE].instruction_count;
    to->pe_matmul_num_wait_event_cycles = counts.matmul_wait_cycles;
    to->pe_matmul_num_executed_instr = counts.matmul_count;
    to->pool_num_idle_cycles = counts.engine[NTK_ENGINE_POOL].idle_cycles;
    to->pool_num_wait_event_cycles = counts.engine[NTK_ENGINE_POOL].wait_cycles;
    to->pool_num_executed_instr = counts.engine[NTK_ENGINE_POOL].instruction_count;
    to->act_num_idle_cycles = counts.engine[NTK_ENGINE_ACT].idle_cycles;
    to->act_num_wait_event_cycles = counts.engine[NTK_ENGINE_ACT].wait_cycles;
    to->act_num_executed_instr = counts.engine[NTK_ENGINE_ACT].instruction_count;
    to->macs_count = counts.macs;
}

static bool vnc_check(const struct rtd_manager *manager, struct ntk_rpc_call *call, uint32_t vnc)
{
    if (vnc >= manager->nc_count) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID, "unknown NC %u: the daemon has only %u", vnc,
                   manager->nc_count);
    }
    return vnc < manager->nc_count;
}

void rtd_read_nc_counters(struct rtd_manager *manager, struct ntk_rpc_call *call,
                          const ProtobufCMessage *message)
{
    const Nrt__ReadNcCountersRequest *asked = (const void *)message;
    Nrt__ReadNcCountersResponse reply = NRT__READ_NC_COUNTERS_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    Nrt__NcCounters counters;

    if (vnc_check(manager, call, asked->vnc_id)) {
        nc_fill(manager, asked->vnc_id, &counters);
        reply.nc_counters = &counters;
        reply.status = &status;
        ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    }
}

void rtd_read_nc_time_in_use(struct rtd_manager *manager, struct ntk_rpc_call *call,
                             const ProtobufCMessage *message)
{
    const Nrt__ReadNcTimeInUseRequest *asked = (const void *)message;
    Nrt__ReadNcTimeInUseResponse reply = NRT__READ_NC_TIME_IN_USE_RESPONSE__INIT;
    Nrt__NcTimeInUse in_use = NRT__NC_TIME_IN_USE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    struct ntk_core_counts counts = { 0 };

    if (vnc_check(manager, call, asked->vnc_id)) {
        (void)ntk_core_counts_get(manager->core, asked->vnc_id, &counts);
        in_use.virtual_nc_id = asked->vnc_id;
        in_use.time_in_use = counts.time_in_use_ns;
        reply.nc_time_in_use = &in_use;
        reply.status = &status;
        ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    }
}

/* ---- the whole state ---- */

/* Fills the memory counters. The definition has two memories per device; if there are more, each
 * represents a half. */
static void memory_fill(const struct rtd_manager *manager, uint32_t device, Nrt__MemoryCounters *to)
{
    struct ntk_core_device_memory memory = { 0 };

    (void)ntk_core_device_memory_get(manager->core, device * manager->nc_per_device, &memory);
    nrt__memory_counters__init(to);
    to->infa_id = device;
    to->mem_used_host = memory.host_bytes;
    for (uint32_t stack = 0; stack < memory.stack_count; stack++) {
        *(stack < (memory.stack_count + 1) / 2 ? &to->mem_used_infa_0 : &to->mem_used_infa_1) +=
            memory.stack_bytes[stack];
    }
}

void rtd_read_all_counters(struct rtd_manager *manager, struct ntk_rpc_call *call,
                           const ProtobufCMessage *message)
{
    Nrt__ReadAllCountersResponse reply = NRT__READ_ALL_COUNTERS_RESPONSE__INIT;
    Nrt__SystemCounters system = NRT__SYSTEM_COUNTERS__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    Nrt__NcCounters *ncs = calloc(manager->nc_count, sizeof *ncs);
    Nrt__NcCounters **nc_rows = calloc(manager->nc_count, sizeof *nc_rows);
    Nrt__MemoryCounters *memories = calloc(manager->device_count, sizeof *memories);
    Nrt__MemoryCounters **memory_rows = calloc(manager->device_count, sizeof *memory_rows);
    struct counters counters;

    (void)message;
    if (ncs && nc_rows && memories && memory_rows) {
        for (uint32_t i = 0; i < manager->nc_count; i++) {
            nc_fill(manager, i, &ncs[i]);
            nc_rows[i] = &ncs[i];
        }
        for (uint32_t i = 0; i < manager->device_count; i++) {
            memory_fill(manager, i, &memories[i]);
            memory_rows[i] = &memories[i];
        }
        counters_fill(&manager->counts, &counters);
        system.num_logs_error = ntk_log_count_get(NTK_LOG_ERROR);
        system.num_logs_warning = ntk_log_count_get(NTK_LOG_WARN);
        system.memory_counters = memory_rows;
        system.n_memory_counters = manager->device_count;
        reply.nc_counters = nc_rows;
        reply.n_nc_counters = manager->nc_count;
        reply.nmgr_counters = &counters.all;
        reply.system_counters = &system;
        reply.status = &status;
        ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    } else {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE, "out of memory");
    }
    free(ncs);
    free(nc_rows);
    free(memories);
    free(memory_rows);
}

/* summarize_period: the last N seconds; 0 means since the daemon started. */
void rtd_read_all_metrics(struct rtd_manager *manager, struct ntk_rpc_call *call,
                          const ProtobufCMessage *message)
{
    const Nrt__ReadAllMetricsRequest *asked = (const void *)message;
    Nrt__ReadAllMetricsResponse reply = NRT__READ_ALL_METRICS_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    struct rtd_metrics_rows *rows = rtd_metrics_read(manager->metrics, asked->summarize_period);

    if (!rows) {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE, "out of memory");
        return;
    }
    reply.nmgr_metrics = rows->metrics;
    reply.n_nmgr_metrics = rows->count;
    reply.status = &status;
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    rtd_metrics_rows_destroy(rows);
}
