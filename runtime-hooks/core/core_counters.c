/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_counters.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime-hooks/core/core_model.h"

/* Counters of one physical core. */
struct part {
    uint64_t duration_ns; /* in device time */
    uint64_t busy_ns[NTK_ENGINE_SEQUENCER_COUNT];
    uint64_t wait_ns[NTK_ENGINE_SEQUENCER_COUNT];
    uint64_t instruction_count[NTK_ENGINE_SEQUENCER_COUNT];
    uint64_t matmul_wait_ns, matmul_count;
    uint64_t flops;
};

struct logical {
    struct part parts[NTK_CORE_LNC_MAX];
    uint64_t in_use_ns;
    uint64_t since_ticks;
    bool is_running;
};

struct of_model {
    uint32_t id;
    uint64_t bytes[2]; /* indexed by enum ntk_memory_location */
};

struct core_counters {
    /* protects the following members; no other lock is taken while it is held */
    pthread_mutex_t lock;
    struct ntk_vec models; /* elements are struct of_model, only those with bytes */
    struct logical ncs[];
};

struct core_counters *core_counters_create(uint32_t nc_count)
{
    struct core_counters *counters = calloc(1, sizeof *counters + nc_count * sizeof *counters->ncs);

    if (counters) {
        pthread_mutex_init(&counters->lock, NULL);
        ntk_vec_init(&counters->models, sizeof(struct of_model));
    }
    return counters;
}

void core_counters_destroy(struct core_counters *counters)
{
    if (counters) {
        ntk_vec_fini(&counters->models);
        pthread_mutex_destroy(&counters->lock);
        free(counters);
    }
}

void core_counters_begin(struct core_counters *counters, uint32_t nc, uint64_t start_ticks)
{
    pthread_mutex_lock(&counters->lock);
    counters->ncs[nc].is_running = true;
    counters->ncs[nc].since_ticks = start_ticks;
    pthread_mutex_unlock(&counters->lock);
}

void core_counters_end(struct core_counters *counters, uint32_t nc,
                       const struct ntk_engine_result *results, uint32_t result_count,
                       uint64_t host_ns)
{
    struct logical *logical = &counters->ncs[nc];

    pthread_mutex_lock(&counters->lock);
    logical->is_running = false;
    logical->in_use_ns += host_ns;
    for (uint32_t i = 0; i < result_count; i++) {
        const struct ntk_engine_result *result = &results[i];
        struct part *part = &logical->parts[i];

        part->duration_ns += result->duration_ns;
        part->matmul_wait_ns += result->matmul_wait_ns;
        part->matmul_count += result->matmul_count;
        part->flops += result->flops;
        for (size_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
            part->busy_ns[e] += result->busy_ns[e];
            part->wait_ns[e] += result->wait_ns[e];
            part->instruction_count[e] += result->instruction_count[e];
        }
    }
    pthread_mutex_unlock(&counters->lock);
}

void core_counters_memory(struct core_counters *counters, uint32_t model_id,
                          enum ntk_memory_category category, uint64_t bytes, bool is_free)
{
    enum ntk_memory_location location = ntk_memory_location_of(category);
    size_t at = 0;

    if (model_id == 0) {
        return;
    }
    pthread_mutex_lock(&counters->lock);
    struct of_model *model = counters->models.items;
    while (at < counters->models.count && model[at].id != model_id) {
        at++;
    }
    if (at < counters->models.count && is_free) {
        model[at].bytes[location] -= bytes;
        if (model[at].bytes[0] == 0 && model[at].bytes[1] == 0) {
            ntk_vec_remove(&counters->models, at);
        }
    } else if (at < counters->models.count) {
        model[at].bytes[location] += bytes;
    } else if (!is_free) {
        struct of_model fresh = { .id = model_id };

        fresh.bytes[location] = bytes;
        (void)ntk_vec_push(&counters->models, &fresh); /* if out of memory, the model has no row */
    }
    pthread_mutex_unlock(&counters->lock);
}

static uint64_t cycles_of(uint64_t ns, uint64_t mhz)
{
    return ns / 1000 * mhz + ns % 1000 * mhz / 1000;
}

int ntk_core_counts_get(struct ntk_core *core, uint32_t nc, struct ntk_core_counts *out_counts)
{
    const struct ntk_engine_core_spec *spec = ntk_engine_core_spec_get(core->row->facts.generation);

    if (nc >= core->core_count) {
        return -EINVAL;
    }
    pthread_mutex_lock(&core->counters->lock);
    struct logical logical = core->counters->ncs[nc];
    /* Read the time after taking the lock, so that counted ends are earlier than now. */
    uint64_t now = ntk_hooks_now();
    pthread_mutex_unlock(&core->counters->lock);
    *out_counts = (struct ntk_core_counts){ .time_in_use_ns = logical.in_use_ns };
    if (logical.is_running) {
        out_counts->time_in_use_ns += ntk_hooks_ticks_to_ns(now - logical.since_ticks);
    }
    for (uint32_t i = 0; i < core->lnc; i++) {
        const struct part *part = &logical.parts[i];

        out_counts->macs += part->flops / 2;
        out_counts->matmul_count += part->matmul_count;
        out_counts->matmul_wait_cycles +=
            cycles_of(part->matmul_wait_ns, spec->clock_mhz[NTK_ENGINE_PE]);
        for (size_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
            uint64_t other_ns = part->busy_ns[e] + part->wait_ns[e];
            uint64_t idle_ns = part->duration_ns > other_ns ? part->duration_ns - other_ns : 0;

            out_counts->engine[e].idle_cycles += cycles_of(idle_ns, spec->clock_mhz[e]);
            out_counts->engine[e].wait_cycles += cycles_of(part->wait_ns[e], spec->clock_mhz[e]);
            out_counts->engine[e].instruction_count += part->instruction_count[e];
        }
    }
    return 0;
}

static uint32_t device_of(const struct ntk_core *core, uint32_t nc)
{
    return core->ncs[nc].first_physical / core->row->facts.cores_per_device;
}

int ntk_core_device_memory_get(const struct ntk_core *core, uint32_t nc,
                               struct ntk_core_device_memory *out_memory)
{
    const struct ntk_soft_process *process = core->soft->process;
    uint32_t per_device = core->row->facts.cores_per_device;

    if (nc >= core->core_count) {
        return -EINVAL;
    }
    *out_memory =
        (struct ntk_core_device_memory){ .stack_count = core->row->facts.stacks_per_device };
    for (uint32_t local = 0; local < per_device; local++) {
        const uint64_t *bytes = process->bytes[device_of(core, nc) * per_device + local];
        uint64_t *stack = &out_memory->stack_bytes[local / core->row->cores_per_stack];

        for (uint32_t category = 0; category < NTK_SOFT_CATEGORIES; category++) {
            *(ntk_memory_location_of(category) == NTK_MEMORY_HOST ? &out_memory->host_bytes
                                                                  : stack) +=
                ntk_abi_load(&bytes[category]);
        }
    }
    return 0;
}

int ntk_core_device_counts_get(const struct ntk_core *core, uint32_t nc,
                               struct ntk_core_device_counts *out_counts)
{
    if (nc >= core->core_count) {
        return -EINVAL;
    }
    const struct ntk_soft_device *device = &core->soft->state->device[device_of(core, nc)];
    *out_counts = (struct ntk_core_device_counts){
        .mem_ecc_corrected = ntk_abi_load(&device->mem_ecc_corrected),
        .mem_ecc_uncorrected = ntk_abi_load(&device->mem_ecc_uncorrected),
        .mem_ecc_repairable_uncorrected = ntk_abi_load(&device->mem_ecc_repairable_uncorrected),
        .sram_ecc_corrected = ntk_abi_load(&device->sram_ecc_corrected),
        .sram_ecc_uncorrected = ntk_abi_load(&device->sram_ecc_uncorrected),
    };
    return 0;
}

void ntk_core_model_memory_get(const struct ntk_core_model *model,
                               struct ntk_core_model_memory *out_memory)
{
    struct core_counters *counters = model->core->counters;

    *out_memory = (struct ntk_core_model_memory){ 0 };
    pthread_mutex_lock(&counters->lock);
    for (; model; model = model->next_replica) {
        ntk_vec_each(struct of_model, of, &counters->models) {
            if (of->id == model->id) {
                out_memory->host_bytes += of->bytes[NTK_MEMORY_HOST];
                out_memory->device_bytes += of->bytes[NTK_MEMORY_DEVICE];
            }
        }
    }
    pthread_mutex_unlock(&counters->lock);
}
