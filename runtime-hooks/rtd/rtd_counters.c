/* SPDX-License-Identifier: MIT */
/* rtd_counters - what the daemon counted, as the first generation's monitors read it. */
#include "runtime-hooks/rtd/rtd_manager.h"

#define SUBTYPES (NRT__INFER_ERROR_SUBTYPE__INFER_ERROR_SUBTYPE_RT + 1)
#define STATUSES (NRT__INFER_STATUS__IST_TIMEOUT + 1)

void rtd_read_inference_counters(struct rtd_manager *manager, struct ntk_rpc_call *call,
                                 const ProtobufCMessage *message)
{
    const struct rtd_counts *counts = &manager->counts;
    Nrt__ReadInferenceCountersResponse reply = NRT__READ_INFERENCE_COUNTERS_RESPONSE__INIT;
    Nrt__NmgrCounters counters = NRT__NMGR_COUNTERS__INIT;
    Nrt__InferErrorSubtypeCount errors[SUBTYPES];
    Nrt__InferErrorSubtypeCount *error_rows[SUBTYPES];
    Nrt__InferStatusCounts statuses[STATUSES];
    Nrt__InferStatusCounts *status_rows[STATUSES];

    (void)message;
    for (int i = 0; i < SUBTYPES; i++) {
        nrt__infer_error_subtype_count__init(&errors[i]);
        errors[i].error_subtype = (Nrt__InferErrorSubtype)i;
        errors[i].count = (uint32_t)counts->errors[i];
        error_rows[i] = &errors[i];
    }
    for (int i = 0; i < STATUSES; i++) {
        nrt__infer_status_counts__init(&statuses[i]);
        statuses[i].infer_status = (Nrt__InferStatus)i;
        statuses[i].count = (uint32_t)counts->statuses[i];
        status_rows[i] = &statuses[i];
    }
    /* The row of no error is nobody's count. */
    counters.n_infer_error_subtype_count = SUBTYPES - 1;
    counters.infer_error_subtype_count = error_rows + 1;
    counters.n_infer_status_counts = STATUSES;
    counters.infer_status_counts = status_rows;
    counters.infer_queue_drop_count = counts->dropped;
    counters.infer_count = counts->inferences;
    counters.model_start_count = counts->starts;
    counters.model_stop_count = counts->stops;
    counters.model_load_count = counts->loads;
    counters.model_unload_count = counts->unloads;
    counters.neff_version_max_major = counts->neff_version_max >> 32;
    counters.neff_version_max_minor = counts->neff_version_max & UINT32_MAX;
    counters.neff_version_min_major = counts->neff_version_min >> 32;
    counters.neff_version_min_minor = counts->neff_version_min & UINT32_MAX;
    counters.neff_size_bytes_max = counts->neff_bytes_max;
    counters.neff_num_ncs_max = counts->neff_ncs_max;
    reply.nmgr_counters = &counters;
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
}
