/* SPDX-License-Identifier: MIT */
/* core_exec_count - what an execution adds to the counters of the hooks and of the driver. */
#include "runtime-hooks/core/core_exec_state.h"

void core_code_tell(uint32_t physical_core, struct ntk_hooks_model_ref model, uint32_t name,
                    uint64_t bytes)
{
    struct ntk_hooks_transfer transfer = {
        .start_ticks = ntk_hooks_now(),
        .bytes = bytes,
        .name = name,
        .core = (uint16_t)physical_core,
        .direction = NTK_TRANSFER_HOST_TO_DEVICE,
        .model = model,
    };

    if (bytes > 0) {
        ntk_hooks_transfer(&transfer);
    }
}

void core_driver_count(struct ntk_core *core, uint32_t physical,
                       const struct ntk_engine_result *result, uint64_t host_ns, bool is_first,
                       enum ntk_core_outcome outcome)
{
    struct ntk_soft_core *counters = &core->soft->state->core[physical];
    uint64_t clock_mhz = core->row->tensor_clock_mhz;
    uint64_t matmul_ns = result->busy_ns[NTK_ENGINE_PE];
    uint64_t idle_ns = result->duration_ns > matmul_ns ? result->duration_ns - matmul_ns : 0;
    uint64_t busy_ns = 0;

    for (size_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        busy_ns += result->busy_ns[e];
    }
    if (is_first) {
        ntk_core_soft_count_add(
            &counters->status[ntk_status_counter_of_status(core_status(outcome))], 1);
        ntk_core_soft_count_add(&counters->inference_count, core_exec_continues(outcome) ? 1 : 0);
    }
    ntk_core_soft_count_add(&counters->flop_count, result->effective_flops);
    ntk_core_soft_count_add(&counters->nc_time_in_use_ns, host_ns);
    ntk_abi_add_owned(&counters->pe_matmul_cycles, matmul_ns * clock_mhz / 1000);
    ntk_abi_add_owned(&counters->pe_idle_cycles, idle_ns * clock_mhz / 1000);
    if (result->duration_ns > 0) {
        ntk_abi_add_owned(
            &counters->engine_busy_ns,
            (uint64_t)((double)busy_ns / (double)result->duration_ns * (double)host_ns));
    }
}

void core_exec_core_fill(struct ntk_hooks_exec_core *to, const struct ntk_engine_result *result,
                         uint64_t host_ns)
{
    double stretch = result->duration_ns > 0 ? (double)host_ns / (double)result->duration_ns : 0.0;

    *to = (struct ntk_hooks_exec_core){
        .flops = result->flops,
        .effective_flops = result->effective_flops,
        .hbm_read_bytes = result->hbm_read_bytes,
        .hbm_written_bytes = result->hbm_write_bytes,
        .dma_bytes = result->dma_bytes,
        .tensor_matmul_ns = result->busy_ns[NTK_ENGINE_PE],
    };
    for (size_t e = 0; e < NTK_ENGINE_COUNT; e++) {
        to->engine_busy_device_ns[e] = result->busy_ns[e];
        to->engine_busy_ns[e] = (uint64_t)((double)result->busy_ns[e] * stretch);
        to->engine_instructions[e] = e < NTK_ENGINE_SEQUENCER_COUNT ? result->instruction_count[e]
                                                                    : result->dma_transfer_count;
    }
}

void core_exec_refused_tell(struct ntk_core_model *model, uint64_t id, uint64_t call_start_ticks,
                            enum ntk_core_outcome outcome)
{
    uint32_t status = core_status(outcome);
    uint32_t physical = model->core->ncs[model->nc].first_physical;
    struct ntk_hooks_exec exec = { .model = model->hook,
                                   .execution_id = id,
                                   .call_start_ticks = call_start_ticks,
                                   .status = status,
                                   .core = (uint16_t)physical };

    ntk_hooks_exec_refused(&exec);
    ntk_core_soft_count_add(
        &model->core->soft->state->core[physical].status[ntk_status_counter_of_status(status)], 1);
}
