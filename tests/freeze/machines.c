/* SPDX-License-Identifier: MIT */
/* machines - the sample snapshot with the devices, cores, ranks, ports and jobs of a machine
 * type. */
#include "tests/freeze/machines.h"

#include <string.h>

#include "shared/metrics/snapshot.h"
#include "tests/support/sample_snapshot.h"

const char *const test_machine_types[] = {
#define NTK_MACHINE(name, ...) name,
#include "shared/abi/machine.def"
};
const size_t test_machine_type_count = sizeof test_machine_types / sizeof *test_machine_types;

static void fill_core(struct ntk_core_sample *core, uint32_t number, bool is_busy)
{
    *core = (struct ntk_core_sample){
        .has = NTK_CORE_HAS_IDLE | NTK_CORE_HAS_TRANSFERS | NTK_CORE_HAS_HELD_IDLE,
        .core = number,
        .utilization = is_busy ? (number % 10 + 1) / 16.0 : 0,
        .in_flight = is_busy,
        .held_idle_ns = is_busy ? 0 : 5000000000u,
    };
    for (size_t i = 0; i < NTK_CORE_COUNTS && is_busy; i++) {
        core->counts[i] = (struct ntk_count){ 1000 * (i + 1) + number, 50000 * (i + 1) + number };
    }
}

static void fill_devices(struct ntk_snapshot *s, const struct ntk_machine *machine, bool is_busy)
{
    const struct ntk_device_sample pattern = s->devices[0];
    struct ntk_device_sample *devices = ntk_snapshot_alloc_devices(s, machine->device_count);

    for (uint32_t d = 0; d < machine->device_count; d++) {
        devices[d] = pattern;
        devices[d].index = d;
        devices[d].core_count = machine->cores_per_device;
        devices[d].name = machine->sysfs_device_name;
        devices[d].arch = machine->sysfs_device_arch;
        devices[d].stack_count = machine->stack_count;
        for (uint32_t k = 0; k < machine->stack_count; k++) {
            devices[d].memory_capacity_bytes[k] = machine->stack_bytes;
            devices[d].memory_used_bytes[k] = is_busy ? 4096 * (d + 1) + k : 0;
        }
        for (uint32_t k = 0; k < NTK_ECC_COUNT; k++) {
            devices[d].ecc[k] =
                (struct ntk_count){ is_busy ? d + k : 0, is_busy ? 100 * d + k : 0 };
        }
        if (d % 2 == 0 || !is_busy) {
            devices[d].verdict = NTK_HEALTH_HEALTHY;
            devices[d].health_count = 0;
        }
    }
}

static void fill_machine(struct ntk_snapshot *s, const struct ntk_machine *machine, bool is_busy)
{
    struct ntk_hardware *hardware = &s->hardware;

    hardware->instance_type = machine->instance_type;
    hardware->device_type = machine->device_type;
    hardware->device_version = machine->device_version;
    hardware->lnc = machine->lnc_default;
    hardware->core_version =
        hardware->lnc == 2 ? machine->core_version_lnc2 : machine->core_version;
    hardware->device_count = machine->device_count;
    hardware->cores_per_device = machine->cores_per_device;
    hardware->stack_count = machine->stack_count;
    hardware->cores_per_stack = machine->cores_per_stack;
    hardware->device_memory_bytes = machine->stack_count * machine->stack_bytes;
    hardware->tensor_peak_flops = machine->tensor_peak_flops;
    hardware->software = !is_busy; /* a driver's tree lists the cores of the machine */
    s->core_count = (size_t)machine->device_count * machine->cores_per_device;
    s->cores = ntk_snapshot_alloc(s, s->core_count, sizeof *s->cores);
    for (uint32_t i = 0; i < s->core_count; i++) {
        fill_core(&s->cores[i], i, is_busy);
    }
}

static void fill_rank(struct ntk_rank_sample *rank)
{
    rank->key = 0x1234abcd;
    rank->rank = rank->world_rank = 1;
    rank->rank_count = rank->world_count = 2;
    rank->rendezvous = "10.0.0.1:62182";
    rank->join_timestamp_ns = 1763699000000000000u;
    rank->sequence = 77;
    rank->in_flight = 1;
    rank->state_ns = 2500000;
    rank->bytes = 4096;
    rank->longest_ns = 9000000;
    for (uint32_t i = 0; i < NTK_COLLECTIVE_COUNT; i++) {
        rank->operations[i] = (struct ntk_count){ i + 1, 10 * (i + 1) };
    }
    rank->errors = (struct ntk_count){ 1, 2 };
    rank->moved_bytes = (struct ntk_count){ 3, 4 };
    rank->in_operations_ns = (struct ntk_count){ 5000, 6000 };
    rank->wait_ns = (struct ntk_count){ 700, 800 };
    rank->core_busy_ns = (struct ntk_count){ 9, 10 };
    rank->engine_busy_ns = (struct ntk_count){ 11, 12 };
    rank->dma_busy_ns = (struct ntk_count){ 13, 14 };
    rank->dma_bytes = (struct ntk_count){ 15, 16 };
}

static void fill_runtime(struct ntk_snapshot *s, bool is_busy)
{
    struct ntk_runtime_sample *runtime = &s->runtimes[0];

    if (!is_busy) {
        s->runtime_count = 0;
        return;
    }
    runtime->instance_type = s->hardware.instance_type;
    runtime->lnc = s->hardware.lnc;
    runtime->core_count = s->hardware.cores_per_device;
    runtime->cores = ntk_snapshot_alloc(s, runtime->core_count, sizeof *runtime->cores);
    for (uint32_t i = 0; i < runtime->core_count; i++) {
        fill_core(&runtime->cores[i], i, true);
    }
    fill_rank(ntk_snapshot_alloc_ranks(s, runtime, 1));
    s->runtimes[1].lnc = s->hardware.lnc;
}

static void fill_rest(struct ntk_snapshot *s, bool is_busy)
{
    struct ntk_adapter_port port = { .device = "rdmap16s27", .port = 1 };
    const struct ntk_rank_trouble trouble = { .kind = NTK_TROUBLE_HANGS,
                                              .key = 0x1234abcd,
                                              .rendezvous = "10.0.0.1:62182",
                                              .rank_count = 2,
                                              .has_rank = true,
                                              .pid = 41210,
                                              .tag = "bert",
                                              .job_id = "17",
                                              .cause = "killed",
                                              .sequence = 77,
                                              .missing_count = 1,
                                              .since_ns = 1763699900000000000u };
    uint32_t numbers[] = { 0, 1 };
    struct ntk_job job = { .id = "17",
                           .user = "ada",
                           .name = "train",
                           .partition = "gpu",
                           .cluster = "c1",
                           .since_ns = 1763699000000000000u,
                           .cores = numbers,
                           .core_count = 2,
                           .devices = numbers,
                           .device_count = 1 };
    const struct ntk_jobs jobs = { .is_asked = true, .error = "", .rows = &job, .count = is_busy };

    for (uint32_t i = 0; i < NTK_ADAPTER_COUNTERS; i++) {
        port.has |= UINT64_C(1) << i;
        port.counter[i] = is_busy ? 1000 + i : 0;
    }
    ntk_snapshot_set_ports(s, &port, 1);
    ntk_snapshot_set_troubles(s, &trouble, is_busy);
    ntk_snapshot_set_jobs(s, &jobs);
}

struct ntk_snapshot *test_machine_snapshot(const char *type, bool is_busy)
{
    const struct ntk_machine *machine = ntk_machine_find(type);
    struct ntk_snapshot *s = test_sample_snapshot(machine->lnc_default);

    fill_devices(s, machine, is_busy);
    fill_machine(s, machine, is_busy);
    fill_runtime(s, is_busy);
    fill_rest(s, is_busy);
    return s;
}
