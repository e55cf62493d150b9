/* SPDX-License-Identifier: MIT */
/* sample_snapshot - a hand-made period of a small machine, with every field in use. */
#include "tests/support/sample_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "shared/metrics/snapshot.h"

#define CORES 4u

static void *must(void *memory)
{
    if (!memory) {
        abort();
    }
    return memory;
}

static struct ntk_count count(uint64_t period)
{
    return (struct ntk_count){ period, period };
}

static struct ntk_histogram histogram(struct ntk_snapshot *s, uint64_t ns, uint64_t hits)
{
    struct ntk_histogram_entry *entries = must(ntk_snapshot_alloc(s, 2, sizeof *entries));

    entries[0].bucket = ntk_histogram_bucket(ns);
    entries[0].count = hits;
    entries[1].bucket = ntk_histogram_bucket(2 * ns);
    entries[1].count = 1;
    return (struct ntk_histogram){
        .count = hits + 1, .sum_ns = (hits + 2) * ns, .entries = entries, .entry_count = 2
    };
}

static void fill_core(struct ntk_core_sample *core, uint32_t number, uint32_t share)
{
    core->has = NTK_CORE_HAS_BUSY | NTK_CORE_HAS_ENGINES | NTK_CORE_HAS_FLOPS |
                NTK_CORE_HAS_EFFECTIVE_FLOPS | NTK_CORE_HAS_BYTES | NTK_CORE_HAS_EXECUTIONS |
                NTK_CORE_HAS_TRANSFERS;
    core->core = number;
    core->utilization = share / 8.0;
    core->busy_ns = count(share * 125000000ull);
    core->in_flight = share ? 1 : 0;
    core->running_ns = share ? 250 : 0;
    core->failing_since_ns = share ? 1700000000 : 0;
    for (uint32_t i = 0; i < NTK_ENGINE_COUNT; i++) {
        core->engine_busy_ns[i] = count((uint64_t)share * 1000000u * (i + 1));
    }
    core->flops = count(share * 1000000ull);
    core->effective_flops = count(share * 900000ull);
    core->hbm_read_bytes = count(share * 4096ull);
    core->hbm_written_bytes = count(share * 1024ull);
    core->dma_bytes = count(share * 5120ull);
    core->outcome[NTK_OUTCOME_COMPLETED] = count(share * 10ull);
    core->host_to_device_bytes = count(share * 100ull);
    core->device_to_host_bytes = count(share * 50ull);
}

static struct ntk_memory_sample row(enum ntk_memory_category category, uint32_t core,
                                    uint32_t model_id, uint64_t bytes)
{
    return (struct ntk_memory_sample){ .location = (uint16_t)ntk_memory_location_of(category),
                                       .core = (uint16_t)core,
                                       .category = (uint16_t)category,
                                       .model_id = model_id,
                                       .current_bytes = bytes,
                                       .peak_bytes = 2 * bytes };
}

static void fill_memory(struct ntk_snapshot *s, struct ntk_runtime_sample *r)
{
    const struct ntk_memory_sample rows[] = {
        row(NTK_MEMORY_HOST_APPLICATION, NTK_NO_CORE, 0, 4096),
        row(NTK_MEMORY_HOST_DMA_BUFFERS, NTK_NO_CORE, 10001, 512),
        row(NTK_MEMORY_TENSORS, 0, 0, 1048576),
        row(NTK_MEMORY_CONSTANTS, 0, 10001, 65536),
        row(NTK_MEMORY_MODEL_CODE, 0, 10001, 8192),
        row(NTK_MEMORY_DMA_RINGS_IO, 0, 10001, 1024),
        row(NTK_MEMORY_SCRATCHPAD, 0, 10001, 2048),
        row(NTK_MEMORY_RUNTIME, 1, 0, 128),
    };

    r->memory_count = r->memory_by_category_count = sizeof rows / sizeof *rows;
    r->memory = must(ntk_snapshot_alloc(s, r->memory_count, sizeof *r->memory));
    r->memory_by_category = must(ntk_snapshot_alloc(s, r->memory_count, sizeof *r->memory));
    memcpy(r->memory, rows, sizeof rows);
    memcpy(r->memory_by_category, rows, sizeof rows);
    for (size_t i = 0; i < r->memory_count; i++) {
        r->memory_by_category[i].model_id = 0; /* here every category is listed once per core */
    }
}

static void fill_models(struct ntk_snapshot *s, struct ntk_runtime_sample *r, uint32_t lnc)
{
    struct ntk_model_sample *models = must(ntk_snapshot_alloc_models(s, r, 2));

    models[0].has = NTK_MODEL_HAS_LATENCY | NTK_MODEL_HAS_DEVICE_LATENCY |
                    NTK_MODEL_HAS_EXECUTIONS | NTK_MODEL_HAS_IN_FLIGHT |
                    NTK_MODEL_HAS_EFFECTIVE_FLOPS;
    models[0].id = 10001;
    models[0].name = "bert_base.neff";
    models[0].neff_path = "/models/bert_base.neff";
    memcpy(models[0].uuid, "0f1e2d3c4b5a69788796a5b4c3d2e1f0", 33);
    models[0].loaded = true;
    models[0].is_running = true;
    models[0].core = 0;
    models[0].core_count = lnc;
    models[0].in_flight = 1;
    models[0].executions = count(40);
    models[0].errors = count(2);
    models[0].effective_flops = count(9000);
    models[0].load_timestamp_ns = 1700000000000000000u;
    models[0].load_ns = 5000000;
    models[0].total_latency = histogram(s, 1048576, 39);
    models[0].device_latency = histogram(s, 524288, 39);
    models[1].has = NTK_MODEL_HAS_EXECUTIONS | NTK_MODEL_HAS_IN_FLIGHT;
    models[1].id = 10002;
    models[1].name = "gone.neff";
    models[1].core = lnc;
    models[1].core_count = lnc;
}

static void fill_runtimes(struct ntk_snapshot *s, uint32_t lnc)
{
    struct ntk_runtime_sample *r = must(ntk_snapshot_alloc_runtimes(s, 2));

    r[0].has = NTK_RUNTIME_HAS_CPU | NTK_RUNTIME_HAS_RSS | NTK_RUNTIME_HAS_MEMORY |
               NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_CORES | NTK_RUNTIME_HAS_MODELS |
               NTK_RUNTIME_HAS_IN_FLIGHT;
    r[0].pid = 41210;
    r[0].header_pid = 17;
    r[0].start_time = 123456;
    r[0].uid = 1000;
    r[0].software = true;
    r[0].hooks = NTK_HOOKS_BUILT_IN;
    r[0].tag = "bert \"serve\"";
    r[0].command = "python3";
    r[0].user = "ada";
    r[0].container_id = "4f2a";
    r[0].runtime_version = "2.31.24.0";
    r[0].framework_version = "1.0";
    r[0].instance_type = "trn2.3xlarge";
    r[0].lnc = lnc;
    r[0].core_count = lnc * 2;
    r[0].cores = must(ntk_snapshot_alloc(s, r[0].core_count, sizeof *r[0].cores));
    for (uint32_t i = 0; i < r[0].core_count; i++) {
        fill_core(&r[0].cores[i], i, 4 - i);
    }
    for (uint32_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        r[0].outcome[i] = count(70 >> i);
    }
    for (uint32_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        r[0].error_class[i] = count(i);
    }
    r[0].in_flight = 1;
    r[0].total_latency = histogram(s, 1048576, 69);
    r[0].device_latency = histogram(s, 524288, 69);
    r[0].has_device_latency = true;
    fill_memory(s, &r[0]);
    fill_models(s, &r[0], lnc);
    r[0].vcpu_user = 0.125;
    r[0].vcpu_system = 0.0175;
    r[0].rss_bytes = 7340032;

    r[1].has = NTK_RUNTIME_HAS_MEMORY | NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_CORES |
               NTK_RUNTIME_HAS_MODELS | NTK_RUNTIME_HAS_IN_FLIGHT;
    r[1].pid = r[1].header_pid = 99;
    r[1].start_time = 77;
    r[1].tag = "99";
    r[1].ended = r[1].killed = true;
    r[1].exit = (struct ntk_exit){ NTK_EXIT_CODE, 3 };
    r[1].first = true;
    r[1].cpu_error = "open /proc/99/stat: no such file or directory";
    r[1].lnc = lnc;
    r[1].core_count = 1;
    r[1].cores = must(ntk_snapshot_alloc(s, 1, sizeof *r[1].cores));
    fill_core(&r[1].cores[0], 3, 0);
    r[1].outcome[NTK_OUTCOME_COMPLETED] = count(7);
}

static void fill_k8s(struct ntk_snapshot *s)
{
    struct ntk_k8s *k8s = &s->k8s;
    const char **containers = must(ntk_snapshot_alloc(s, 2, sizeof *containers));

    containers[0] = "serve";
    containers[1] = "sidecar";
    k8s->period_ns = 15000000000u;
    k8s->core_count = 12;
    k8s->cores = must(ntk_snapshot_alloc(s, k8s->core_count, sizeof *k8s->cores));
    for (uint32_t i = 0; i < k8s->core_count; i++) {
        k8s->cores[i] = (struct ntk_k8s_owner){ .index = i,
                                                .pod_name = "bert-0",
                                                .namespace_name = "ml",
                                                .containers = containers,
                                                .container_count = 1 + i % 2 };
    }
    k8s->device_count = 1;
    k8s->devices = must(ntk_snapshot_alloc(s, 1, sizeof *k8s->devices));
    k8s->devices[0] = (struct ntk_k8s_owner){ .index = 3,
                                              .pod_name = "train-0",
                                              .namespace_name = "ml",
                                              .containers = containers,
                                              .container_count = 1 };
    s->runtimes[0].pod = (struct ntk_pod){ "bert-0", "ml", "serve" };
}

static void fill_system(struct ntk_snapshot *s)
{
    struct ntk_system_sample *system = &s->system;

    system->has = NTK_SYSTEM_HAS_CPU | NTK_SYSTEM_HAS_MEMORY | NTK_SYSTEM_HAS_CONTEXT_SWITCHES;
    system->cpu_count = 12;
    system->cpus = must(ntk_snapshot_alloc(s, system->cpu_count, sizeof *system->cpus));
    for (uint32_t i = 0; i < system->cpu_count; i++) {
        system->cpus[i].cpu = i;
        system->cpus[i].share[NTK_CPU_IDLE] = 1;
    }
    system->cpus[10].share[NTK_CPU_IDLE] = 0.25;
    system->cpus[10].share[NTK_CPU_USER] = 0.5;
    system->cpus[10].share[NTK_CPU_SYSTEM] = 0.25;
    for (int i = 0; i < NTK_CPU_FIELD_COUNT; i++) {
        system->average[i] = (i + 1) / 100.0;
    }
    system->context_switches = 20417;
    system->memory_total_bytes = 137438953472u;
    system->memory_used_bytes = 9663676416u;
    system->swap_total_bytes = 1024;
    system->swap_used_bytes = 512;
}

static void fill_machine(struct ntk_snapshot *s, uint32_t lnc)
{
    struct ntk_hardware *hardware = &s->hardware;
    struct ntk_device_sample *device = must(ntk_snapshot_alloc_devices(s, 1));

    hardware->has = NTK_HARDWARE_HAS_DEVICES | NTK_HARDWARE_HAS_MEMORY | NTK_HARDWARE_HAS_PEAK;
    hardware->software = true;
    hardware->instance_type = "trn2.3xlarge";
    hardware->device_type = "trainium2";
    hardware->device_version = "v4";
    hardware->core_version = lnc == 2 ? "v3d" : "v3";
    hardware->driver_version = "2.31.0.0";
    hardware->device_count = 1;
    hardware->cores_per_device = CORES;
    hardware->lnc = lnc;
    hardware->stack_count = 2;
    hardware->cores_per_stack = 2;
    hardware->device_memory_bytes = 51539607552u;
    hardware->tensor_peak_flops = 78.64e12;

    device[0].has = NTK_DEVICE_HAS_ECC | NTK_DEVICE_HAS_ECC_TOTAL |
                    NTK_DEVICE_HAS_CONNECTED_DEVICES | NTK_DEVICE_HAS_MEMORY_CAPACITY |
                    NTK_DEVICE_HAS_MEMORY_USED;
    device[0].core_count = CORES;
    device[0].name = "Trainium2";
    device[0].arch = "NDv3";
    device[0].serial_number = "0a1b2c3d4e5f0000";
    device[0].connected_device_count = 1;
    device[0].connected_devices[0] = 3;
    device[0].stack_count = 2;
    device[0].memory_capacity_bytes[0] = device[0].memory_capacity_bytes[1] = 25769803776u;
    device[0].memory_used_bytes[0] = 1125504;
    device[0].ecc_has = (1u << NTK_ECC_COUNT) - 1;
    for (uint32_t i = 0; i < NTK_ECC_COUNT; i++) {
        device[0].ecc[i] = (struct ntk_count){ i + 1, 100 + i };
    }
    device[0].has |= NTK_DEVICE_HAS_HEALTH;
    device[0].verdict = NTK_HEALTH_UNHEALTHY;
    device[0].verdict_since_ns = 1763699000000000000u;
    device[0].health_evidence = 1u << NTK_HEALTH_BY_ECC | 1u << NTK_HEALTH_BY_PROCESSES;
    device[0].health_count = 2;
    device[0].health = must(ntk_snapshot_alloc(s, 2, sizeof *device[0].health));
    device[0].health[0] = (struct ntk_health_sample){ .reason = NTK_HEALTH_REASON_COMPONENT_OTHER,
                                                      .core = NTK_NO_CORE,
                                                      .since_ns = 1763699000000000000u,
                                                      .last_ns = 1763699500000000000u,
                                                      .detail = "warp_core" };
    device[0].health[1] = (struct ntk_health_sample){ .reason = NTK_HEALTH_REASON_HARDWARE_ERROR,
                                                      .core = 1,
                                                      .cores = 2,
                                                      .status = 1203,
                                                      .since_ns = 1763699700000000000u,
                                                      .last_ns = 1763699800000000000u,
                                                      .count = 7,
                                                      .detail = "" };
    device[0].has |= NTK_DEVICE_HAS_POWER;
    device[0].power_timestamp_seconds = 1763700000;
    device[0].power_min = 0.25;
    device[0].power_max = 0.75;
    device[0].power_average = 0.5;
    s->core_count = CORES;
    s->cores = must(ntk_snapshot_alloc(s, CORES, sizeof *s->cores));
    for (uint32_t i = 0; i < CORES; i++) {
        s->cores[i].core = i;
        if (i < s->runtimes[0].core_count) {
            s->cores[i] = s->runtimes[0].cores[i];
        }
    }
}

struct ntk_snapshot *test_sample_snapshot(uint32_t lnc)
{
    struct ntk_snapshot *s = must(ntk_snapshot_create());

    s->sequence = 3;
    s->realtime_ns = 1763700000123456789u;
    s->period_ns = 1000250000;
    s->boot_id = "b00t";
    s->host_name = "box";
    s->events_read = count(1000);
    s->events_lost = count(2);
    s->collect_duration_ns = 150000;
    s->group_period_ns[NTK_SYSTEM_GROUP_ECC] = 2000500000;
    fill_runtimes(s, lnc);
    fill_machine(s, lnc);
    fill_k8s(s);
    fill_system(s);
    for (size_t k = 0; k < s->runtime_count; k++) {
        for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
            s->outcome[i].period += s->runtimes[k].outcome[i].period;
            s->outcome[i].total += s->runtimes[k].outcome[i].total;
        }
        for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
            s->error_class[i].period += s->runtimes[k].error_class[i].period;
            s->error_class[i].total += s->runtimes[k].error_class[i].total;
        }
    }
    return s;
}

struct ntk_snapshot *test_idle_snapshot(void)
{
    struct ntk_snapshot *s = must(ntk_snapshot_create());

    s->period_ns = 500000;
    s->hardware.error = "no Neuron device found";
    s->hardware.lnc = 1;
    fill_system(s);
    return s;
}
