/* SPDX-License-Identifier: MIT */
/* mixed_snapshot - a hand-made second in which runtimes are watched in three ways. */
#include "tests/support/mixed_snapshot.h"

#include <stdlib.h>
#include <string.h>

#define CORES 4u
#define SECOND 1000000000ull
#define GIB (1ull << 30)

static void *must(void *memory)
{
    if (!memory) {
        abort();
    }
    return memory;
}

static struct ntk_count count(uint64_t period)
{
    return (struct ntk_count){ period, 3 * period };
}

/* Only values in `has` are known; all others are poison. */
static void fill_core(struct ntk_core_sample *core, uint32_t number, uint32_t has)
{
    core->core = number;
    core->has = has;
    core->utilization = has & NTK_CORE_HAS_BUSY ? 0.25 * (number + 1) : 0.666;
    core->in_flight = has & NTK_CORE_HAS_EXECUTIONS ? 1 : MIXED_POISON;
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        for (size_t k = 0; k < row->count; k++) {
            core->counts[row->at + k] = count(has & row->has ? 1000 * (i + 1) : MIXED_POISON);
        }
    }
    if (has & NTK_CORE_HAS_BUSY) {
        core->busy_ns = count((uint64_t)(core->utilization * SECOND));
    }
    if (has & NTK_CORE_HAS_EXECUTIONS) {
        memset(core->outcome, 0, sizeof core->outcome);
        memset(core->error_class, 0, sizeof core->error_class);
        core->outcome[NTK_OUTCOME_COMPLETED] = count(10);
        core->outcome[NTK_OUTCOME_TIMED_OUT] = count(1);
        core->error_class[NTK_ERROR_TRANSIENT] = count(1);
    }
}

static struct ntk_histogram histogram(struct ntk_snapshot *s, uint64_t ns)
{
    struct ntk_histogram_entry *entries = must(ntk_snapshot_alloc(s, 1, sizeof *entries));

    entries[0].bucket = ntk_histogram_bucket(ns);
    entries[0].count = 10;
    return (struct ntk_histogram){
        .count = 10, .sum_ns = 10 * ns, .entries = entries, .entry_count = 1
    };
}

static void add_row(struct ntk_runtime_sample *r, enum ntk_memory_category category, uint32_t model,
                    uint64_t bytes)
{
    bool host = ntk_memory_location_of(category) == NTK_MEMORY_HOST;
    struct ntk_memory_sample row = { .location = (uint16_t)ntk_memory_location_of(category),
                                     .core = host ? NTK_NO_CORE : (uint16_t)r->cores[0].core,
                                     .category = (uint16_t)category,
                                     .model_id = model,
                                     .current_bytes = bytes,
                                     .peak_bytes = bytes };

    r->memory[r->memory_count++] = row;
    row.model_id = 0;
    r->memory_by_category[r->memory_by_category_count++] = row;
}

static void fill_model(struct ntk_snapshot *s, struct ntk_runtime_sample *r, const char *name)
{
    struct ntk_model_sample *model = must(ntk_snapshot_alloc_models(s, r, 1));

    model->has = NTK_MODEL_HAS_TOTALS;
    model->id = 10001;
    model->name = name;
    model->neff_path = "";
    model->loaded = true;
    model->core = r->cores[0].core;
    model->core_count = 1;
    model->memory_estimated = r->hooks == NTK_HOOKS_PRELOADED;
    model->load_timestamp_ns = 1763700000000000000u;
    model->load_ns = SECOND;
    model->effective_flops = count(MIXED_POISON);
    model->executions = model->errors = count(MIXED_POISON);
    model->in_flight = MIXED_POISON;
    if (r->has & NTK_RUNTIME_HAS_EXECUTIONS) {
        model->has |= NTK_MODEL_HAS_EXECUTIONS | NTK_MODEL_HAS_IN_FLIGHT | NTK_MODEL_HAS_LATENCY;
        model->is_running = true;
        model->executions = count(11);
        model->errors = count(1);
        model->in_flight = 1;
        model->total_latency = histogram(s, 4000000);
    }
    if (r->software) {
        model->has |= NTK_MODEL_HAS_EFFECTIVE_FLOPS | NTK_MODEL_HAS_DEVICE_LATENCY;
        model->effective_flops = count(4000);
        model->device_latency = histogram(s, 3000000);
    }
}

static void fill_runtime(struct ntk_snapshot *s, uint32_t index)
{
    static const char *const tags[] = { "ours", "preloaded", "attached" };
    static const char *const models[] = { "mlp", "llama", "whisper" };
    static const uint32_t has[] = {
        [MIXED_OURS] = NTK_CORE_HAS_IDLE | NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_DEVICE_LATENCY |
                       NTK_CORE_HAS_TRANSFERS,
        [MIXED_PRELOADED] = NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS | NTK_CORE_HAS_LATENCY |
                            NTK_CORE_HAS_TRANSFERS,
        [MIXED_ATTACHED] =
            NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EFFECTIVE_FLOPS | NTK_CORE_HAS_TRANSFERS,
    };
    struct ntk_runtime_sample *r = &s->runtimes[index];
    struct ntk_core_sample *core = must(ntk_snapshot_alloc(s, 1, sizeof *core));

    r->has = NTK_RUNTIME_HAS_CPU | NTK_RUNTIME_HAS_RSS | NTK_RUNTIME_HAS_MEMORY |
             NTK_RUNTIME_HAS_CORES | NTK_RUNTIME_HAS_MODELS | NTK_RUNTIME_HAS_TOTALS;
    r->pid = r->header_pid = 7001 + index;
    r->start_time = 1000 + index;
    r->uid = 1000;
    r->software = index == MIXED_OURS;
    r->hooks = (enum ntk_hooks_kind)(NTK_HOOKS_BUILT_IN + index);
    r->cores_guessed = index == MIXED_ATTACHED;
    r->executions_counted = index == MIXED_ATTACHED ? NTK_EXECUTIONS_NONE : NTK_EXECUTIONS_ALL;
    r->tag = tags[index];
    r->command = "python3";
    r->user = "ada";
    r->runtime_version = "2.31.24.0";
    r->lnc = 1;
    r->vcpu_user = 0.125;
    r->rss_bytes = GIB;
    r->in_flight = MIXED_POISON;
    r->cores = core;
    r->core_count = 1;
    fill_core(core, index, has[index]);
    core->busy_of_calls = index == MIXED_PRELOADED;
    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        r->outcome[i] = core->outcome[i];
    }
    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        r->error_class[i] = core->error_class[i];
    }
    if (r->executions_counted == NTK_EXECUTIONS_ALL) {
        r->has |= NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_IN_FLIGHT;
        r->in_flight = 1;
        core->total_latency = r->total_latency = histogram(s, 4000000);
    }
    if (r->software) {
        r->has_device_latency = true;
        core->device_latency = r->device_latency = histogram(s, 3000000);
    }
    r->memory = must(ntk_snapshot_alloc(s, 4, sizeof *r->memory));
    r->memory_by_category = must(ntk_snapshot_alloc(s, 4, sizeof *r->memory));
    add_row(r, NTK_MEMORY_TENSORS, 0, GIB);
    if (r->hooks != NTK_HOOKS_ATTACHED) {
        add_row(r, r->software ? NTK_MEMORY_CONSTANTS : NTK_MEMORY_UNCATEGORIZED, 10001, 2 * GIB);
        add_row(r, NTK_MEMORY_HOST_TENSORS, 0, GIB / 4);
    }
    if (r->software) {
        add_row(r, NTK_MEMORY_HOST_APPLICATION, 0, GIB / 8);
    }
    fill_model(s, r, models[index]);
}

static void fill_machine(struct ntk_snapshot *s)
{
    struct ntk_hardware *hardware = &s->hardware;
    struct ntk_device_sample *device = must(ntk_snapshot_alloc_devices(s, 1));

    hardware->has = NTK_HARDWARE_HAS_DEVICES | NTK_HARDWARE_HAS_MEMORY | NTK_HARDWARE_HAS_PEAK;
    hardware->instance_type = "trn2.3xlarge";
    hardware->device_type = "trainium2";
    hardware->device_version = "v4";
    hardware->core_version = "v3";
    hardware->driver_version = "2.30.2.0";
    hardware->device_count = 1;
    hardware->cores_per_device = CORES;
    hardware->lnc = 1;
    hardware->stack_count = 2;
    hardware->cores_per_stack = 2;
    hardware->device_memory_bytes = 96 * GIB;
    hardware->tensor_peak_flops = 78.64e12;
    device->has = NTK_DEVICE_HAS_MEMORY_CAPACITY | NTK_DEVICE_HAS_MEMORY_USED;
    device->core_count = CORES;
    device->name = "Trainium2";
    device->arch = "NDv3";
    device->serial_number = "";
    device->stack_count = 2;
    device->memory_capacity_bytes[0] = device->memory_capacity_bytes[1] = 48 * GIB;
    device->memory_used_bytes[0] = 6 * GIB;
    device->memory_used_bytes[1] = 3 * GIB;
    s->core_count = CORES;
    s->cores = must(ntk_snapshot_alloc(s, CORES, sizeof *s->cores));
    for (uint32_t i = 0; i < CORES; i++) {
        if (i < s->runtime_count) {
            s->cores[i] = s->runtimes[i].cores[0];
            s->cores[i].has &= ~(uint32_t)(NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_DEVICE_LATENCY);
        } else {
            fill_core(&s->cores[i], i, 0);
        }
    }
}

struct ntk_snapshot *test_mixed_snapshot(void)
{
    struct ntk_snapshot *s = must(ntk_snapshot_create());

    s->sequence = 3;
    s->realtime_ns = 1763700000123456789u;
    s->period_ns = SECOND;
    s->boot_id = "b00t";
    s->host_name = "box";
    s->k8s.period_ns = NTK_GROUP_ABSENT;
    must(ntk_snapshot_alloc_runtimes(s, MIXED_COUNT));
    for (uint32_t i = 0; i < MIXED_COUNT; i++) {
        fill_runtime(s, i);
        for (int k = 0;
             k < NTK_OUTCOME_COUNT && s->runtimes[i].executions_counted == NTK_EXECUTIONS_ALL;
             k++) {
            s->outcome[k].period += s->runtimes[i].outcome[k].period;
            s->outcome[k].total += s->runtimes[i].outcome[k].total;
        }
        for (int k = 0;
             k < NTK_ERROR_CLASS_COUNT && s->runtimes[i].executions_counted == NTK_EXECUTIONS_ALL;
             k++) {
            s->error_class[k].period += s->runtimes[i].error_class[k].period;
            s->error_class[k].total += s->runtimes[i].error_class[k].total;
        }
    }
    fill_machine(s);
    return s;
}
