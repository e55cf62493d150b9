/* SPDX-License-Identifier: MIT */
/*
 * nds_live - shows counters, memory, models and process of a segment under the datastore's names.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/nds/nds_store.h"

#define NS_PER_US 1000u

enum source {
    FROM_NOTHING,        /* the segment has no such counter */
    FROM_WORD,           /* a word of struct ntk_segment_core */
    FROM_BUSY,           /* including running executions */
    FROM_DEVICE_LATENCY, /* sums of the histograms */
    FROM_TOTAL_LATENCY,
    FROM_DEVICE_MEMORY /* device memory by slot */
};

#define WORD(member) FROM_WORD, offsetof(struct ntk_segment_core, member)

/* Maps a core counter of the datastore to its source in a segment. Status counters have the numbers
 * of the folders in the device tree, so that both agree. */
static const struct {
    enum source source;
    size_t where;     /* offset of the word, or slot */
    uint32_t divisor; /* 0 means 1 */
} core_counters[NDS_TOTAL_NC_COUNTER_COUNT] = {
#define NTK_STATUS(id, symbol, folder, counter) [counter] = { WORD(status[id]), 0 },
#include "shared/abi/status.def"
#undef NTK_STATUS
    [NDS_NC_COUNTER_TIME_IN_USE] = { FROM_BUSY, 0, NS_PER_US },
    [NDS_NC_COUNTER_ERR_NUMERICAL] = { WORD(error_class[NTK_ERROR_NUMERICAL]), 0 },
    [NDS_NC_COUNTER_ERR_MODEL] = { WORD(error_class[NTK_ERROR_MODEL]), 0 },
    [NDS_NC_COUNTER_ERR_TRANSIENT] = { WORD(error_class[NTK_ERROR_TRANSIENT]), 0 },
    [NDS_NC_COUNTER_ERR_RT] = { WORD(error_class[NTK_ERROR_RUNTIME]), 0 },
    [NDS_NC_COUNTER_LATENCY_DEVICE] = { FROM_DEVICE_LATENCY, 0, NS_PER_US },
    [NDS_NC_COUNTER_LATENCY_TOTAL] = { FROM_TOTAL_LATENCY, 0, NS_PER_US },
    [NDS_NC_COUNTER_MEM_USAGE_CODE_DEVICE] = { FROM_DEVICE_MEMORY, NDS_DMA_MEM_USAGE_SLOT_CODE, 0 },
    [NDS_NC_COUNTER_MEM_USAGE_TENSORS_DEVICE] = { FROM_DEVICE_MEMORY,
                                                  NDS_DMA_MEM_USAGE_SLOT_TENSORS, 0 },
    [NDS_NC_COUNTER_MEM_USAGE_CONSTANTS_DEVICE] = { FROM_DEVICE_MEMORY,
                                                    NDS_DMA_MEM_USAGE_SLOT_CONSTANTS, 0 },
    [NDS_NC_COUNTER_MEM_USAGE_SCRATCHPAD_DEVICE] = { FROM_DEVICE_MEMORY,
                                                     NDS_DMA_MEM_USAGE_SLOT_SCRATCHPAD, 0 },
    [NDS_NC_COUNTER_MEM_USAGE_MISC_DEVICE] = { FROM_DEVICE_MEMORY, NDS_DMA_MEM_USAGE_SLOT_MISC, 0 },
    [NDS_NC_COUNTER_MODEL_LOAD_COUNT] = { WORD(model_load_count), 0 },
    [NDS_NC_COUNTER_INFERENCE_COUNT] = { WORD(outcome[NTK_OUTCOME_COMPLETED]), 0 },
    [NDS_NC_COUNTER_MAC_COUNT] = { WORD(effective_flops), 2 },
};

/* Temporary data of the functions below, protected by the library's lock. */
static struct ntk_ring_core cores[NTK_SEGMENT_CORES];
static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
static struct ntk_ring_model models[NTK_SEGMENT_MODELS];
static struct ntk_ring_histogram histogram;

/* ---- memory ---- */

/* Maps a memory group of the report to a slot of the datastore: both have the same five groups. */
static uint32_t slot_of_category(uint32_t category)
{
    static const char *const groups[] = {
#define NTK_MEMORY(id, symbol, name, location, folder, group, oom_row, profile_type) [id] = (group),
#include "shared/abi/memory.def"
#undef NTK_MEMORY
    };
    static const struct {
        const char *group;
        uint32_t slot;
    } slots[] = {
        { "model_code", NDS_DMA_MEM_USAGE_SLOT_CODE },
        { "dma_buffers", NDS_DMA_MEM_USAGE_SLOT_CODE },
        { "tensors", NDS_DMA_MEM_USAGE_SLOT_TENSORS },
        { "constants", NDS_DMA_MEM_USAGE_SLOT_CONSTANTS },
        { "model_shared_scratchpad", NDS_DMA_MEM_USAGE_SLOT_SCRATCHPAD },
    };
    size_t i;

    for (i = 0; category < sizeof groups / sizeof *groups && i < sizeof slots / sizeof *slots;
         i++) {
        if (strcmp(groups[category], slots[i].group) == 0) {
            return slots[i].slot;
        }
    }
    return NDS_DMA_MEM_USAGE_SLOT_MISC;
}

/* Returns the device of a row. Memory without a core is added to the device of the process's first
 * core, so that the sum over devices is the process's total. */
static uint32_t device_of_core(struct nds_store *store, uint32_t core, uint32_t per_device)
{
    if (core == NTK_NO_CORE) {
        core = ntk_ring_segment_cores(store->segment, cores, NTK_SEGMENT_CORES) > 0 ? cores[0].core
                                                                                    : 0;
    }
    return core / per_device;
}

/* ---- counters ---- */

static const struct ntk_ring_core *find_core(struct nds_store *store, uint32_t core)
{
    size_t count = ntk_ring_segment_cores(store->segment, cores, NTK_SEGMENT_CORES);

    for (size_t i = 0; i < count; i++) {
        if (cores[i].core == core) {
            return &cores[i];
        }
    }
    return NULL;
}

static uint64_t device_memory(struct nds_store *store, uint32_t core, uint32_t slot)
{
    size_t count = ntk_ring_segment_memory(store->segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].location == NTK_MEMORY_DEVICE && rows[i].core == core &&
            slot_of_category(rows[i].category) == slot) {
            sum += rows[i].current_bytes;
        }
    }
    return sum;
}

static uint64_t host_memory(struct nds_store *store, uint32_t slot)
{
    size_t count = ntk_ring_segment_memory(store->segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    uint32_t per_device = nds_cores_per_device(store);
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].location == NTK_MEMORY_HOST && slot_of_category(rows[i].category) == slot &&
            (per_device == 0 ? 0 : device_of_core(store, rows[i].core, per_device)) ==
                store->device) {
            sum += rows[i].current_bytes;
        }
    }
    return sum;
}

uint64_t nds_live_core_counter(struct nds_store *store, uint32_t core, uint32_t counter)
{
    uint32_t per_device = nds_cores_per_device(store);
    uint64_t global = (uint64_t)store->device * per_device + core;
    const struct ntk_ring_core *found;
    uint64_t value = 0;

    if (store->segment == NULL || core_counters[counter].source == FROM_NOTHING ||
        (per_device == 0 && store->device != 0) || global >= NTK_SEGMENT_CORES) {
        return 0;
    }
    switch (core_counters[counter].source) {
    case FROM_WORD:
        found = find_core(store, (uint32_t)global);
        if (found != NULL) {
            memcpy(&value, (const char *)&found->counters + core_counters[counter].where,
                   sizeof value);
        }
        break;
    case FROM_BUSY:
        found = find_core(store, (uint32_t)global);
        value = found != NULL ? found->busy_ns : 0;
        break;
    case FROM_DEVICE_LATENCY:
    case FROM_TOTAL_LATENCY:
        if (ntk_ring_segment_core_histogram(store->segment, (uint16_t)global, &histogram) == 0) {
            value = core_counters[counter].source == FROM_TOTAL_LATENCY ? histogram.total.sum_ns
                                                                        : histogram.device.sum_ns;
        }
        break;
    case FROM_DEVICE_MEMORY:
        value = device_memory(store, (uint32_t)global, (uint32_t)core_counters[counter].where);
        break;
    case FROM_NOTHING:
        break;
    }
    return core_counters[counter].divisor > 1 ? value / core_counters[counter].divisor : value;
}

/* Parses a version: "2.31.24.0" is major 2, minor 31, build 24; parsing stops at a non-number. */
static nds_version_info_t version_of_text(const char *text)
{
    uint64_t part[3] = { 0, 0, 0 };
    size_t i = 0;

    while (i < 3 && *text >= '0' && *text <= '9') {
        for (; *text >= '0' && *text <= '9'; text++) {
            if (part[i] < UINT32_MAX) {
                part[i] = part[i] * 10 + (uint64_t)(*text - '0');
            }
        }
        i++;
        if (*text == '.') {
            text++;
        }
    }
    return (nds_version_info_t){
        .major = (uint8_t)(part[0] < UINT8_MAX ? part[0] : UINT8_MAX),
        .minor = (uint8_t)(part[1] < UINT8_MAX ? part[1] : UINT8_MAX),
        .build = (uint32_t)(part[2] < UINT32_MAX ? part[2] : UINT32_MAX),
    };
}

static uint64_t packed(nds_version_info_t version)
{
    return (uint64_t)version.major << 40 | (uint64_t)version.minor << 32 | version.build;
}

uint64_t nds_live_device_counter(struct nds_store *store, uint32_t counter)
{
    nds_process_info_t process;

    if (store->segment == NULL) {
        return 0;
    }
    nds_live_process(store, &process);
    switch (counter) {
    case NDS_ND_COUNTER_RUNTIME_VERSION:
        return packed(process.runtime_version);
    case NDS_ND_COUNTER_FRAMEWORK_VERSION:
        return packed(process.framework_version);
    case NDS_ND_COUNTER_FAL_VERSION:
        return packed(process.fal_version);
    case NDS_ND_COUNTER_MEM_USAGE_CODE_HOST:
    case NDS_ND_COUNTER_MEM_USAGE_TENSORS_HOST:
    case NDS_ND_COUNTER_MEM_USAGE_CONSTANTS_HOST:
    case NDS_ND_COUNTER_MEM_USAGE_SCRATCHPAD_HOST:
    case NDS_ND_COUNTER_MEM_USAGE_MISC_HOST:
        return host_memory(store, counter - NDS_ND_COUNTER_MEM_USAGE_CODE_HOST);
    default:
        return 0;
    }
}

/* ---- the process and its models ---- */

void nds_live_process(const struct nds_store *store, nds_process_info_t *out)
{
    struct ntk_ring_process process;

    ntk_ring_segment_process(store->segment, &process);
    memset(out, 0, sizeof *out);
    out->framework_type = (int8_t)(process.framework_type <= INT8_MAX ? process.framework_type : 0);
    (void)memccpy(out->tag, process.tag, '\0', sizeof out->tag - 1);
    out->framework_version = version_of_text(process.framework_version);
    out->fal_version = version_of_text(process.fal_version);
    out->runtime_version = version_of_text(process.runtime_version);
}

void nds_live_process_ext(const struct nds_store *store, nds_process_info_ext_t *out)
{
    struct ntk_ring_process process;

    ntk_ring_segment_process(store->segment, &process);
    memset(out, 0, sizeof *out);
    (void)memccpy(out->tag, process.tag, '\0', sizeof out->tag - 1);
}

/* Returns the memory of one model on one core; memory outside its cores is added to the first
 * core. */
static void node_memory(const struct ntk_ring_model *model, uint32_t core, size_t row_count,
                        nds_model_node_mem_usage_info_t *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < row_count; i++) {
        uint32_t at = rows[i].core;

        if (at < model->core || at >= (uint32_t)model->core + model->core_count) {
            at = model->core;
        }
        if (rows[i].model == model->id && at == core && rows[i].location <= NTK_MEMORY_DEVICE) {
            nds_mem_usage_info_t *usage =
                &out->model_mem_usage[rows[i].location][slot_of_category(rows[i].category)];

            usage->total_size += rows[i].current_bytes;
            if (rows[i].alloc_count > rows[i].free_count) {
                usage->chunk_count += (uint32_t)(rows[i].alloc_count - rows[i].free_count);
            }
        }
    }
}

int nds_live_model_nodes(struct nds_store *store, nds_node_fn fn, void *ctx)
{
    nds_model_node_mem_usage_info_t memory;
    struct ntk_ring_process process;
    nds_model_node_info_t info;
    size_t model_count, row_count;
    int ret = 0;

    if (store->segment == NULL) {
        return 0;
    }
    ntk_ring_segment_process(store->segment, &process);
    model_count = ntk_ring_segment_models(store->segment, models, NTK_SEGMENT_MODELS);
    row_count = ntk_ring_segment_memory(store->segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    for (size_t i = 0; i < model_count; i++) {
        const struct ntk_ring_model *model = &models[i];

        for (uint32_t k = 0;
             model->state == NTK_MODEL_LOADED && k < model->core_count && k < NTK_SEGMENT_CORES;
             k++) {
            uint32_t core = (uint32_t)model->core + k;
            uint32_t per_device =
                process.cores_per_device != 0 ? process.cores_per_device : NTK_SEGMENT_CORES;

            if (core / per_device != store->device) {
                continue;
            }
            memset(&info, 0, sizeof info);
            info.model_id = model->id;
            info.model_node_id = k;
            (void)memccpy(info.name, model->name, '\0', sizeof info.name - 1);
            memcpy(info.uuid, model->uuid, sizeof info.uuid);
            info.nc_index = (uint8_t)(core % per_device);
            info.sg_index = (uint8_t)(k / process.lnc);
            node_memory(model, core, row_count, &memory);
            ret = fn(&info, &memory, ctx);
            if (ret != 0) {
                return ret;
            }
        }
    }
    return ret;
}
