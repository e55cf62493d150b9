/* SPDX-License-Identifier: MIT */
/*
 * model_hbm - lists memory of the devices by purpose.
 *
 * The total use is the driver's count, if there is one; categories come from applications. The
 * difference belongs to applications that do not report.
 */
#include "top/model/model_hbm.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "top/model/model_alerts.h"

/* Known facts about one device. */
struct device_memory {
    bool has_used;
    bool is_measured; /* the driver has measured the use */
    bool has_capacity;
    bool has_categories;
    uint64_t used;
    uint64_t capacity;
    uint64_t reported_bytes; /* sum of the categories */
    uint64_t category[NTK_TOP_HBM_CATEGORY_COUNT];
    uint64_t estimated;       /* estimated part of the category "uncategorized" */
    uint32_t unreported_mask; /* one bit per category: a present application does not report it */
};
static_assert(NTK_TOP_HBM_CATEGORY_COUNT <= 32, "bits of unreported_mask");

static uint32_t unreported_mask_of(const struct ntk_runtime_sample *runtime)
{
    uint32_t unreported_mask = 0;

    if (ntk_snapshot_tells_memory(runtime)) {
        return 0;
    }
    for (int c = 0; c < NTK_TOP_HBM_CATEGORY_COUNT; c++) {
        if (!ntk_snapshot_tells_group(runtime, ntk_memory_group_of((enum ntk_memory_category)c))) {
            unreported_mask |= 1u << c;
        }
    }
    return unreported_mask;
}

/* Consecutive physical cores: `unit_count` devices or logical cores of `unit_cores` each. */
struct core_range {
    uint32_t first;
    uint32_t unit_cores;
    uint32_t unit_count;
};

static struct device_memory *unit_of(const struct core_range *range, uint32_t core,
                                     struct device_memory *units)
{
    if (core < range->first || range->unit_cores == 0) {
        return NULL;
    }
    uint32_t unit = (core - range->first) / range->unit_cores;

    return unit < range->unit_count ? &units[unit] : NULL;
}

static void add_rows(const struct ntk_runtime_sample *runtime, const struct core_range *range,
                     struct device_memory *units)
{
    for (size_t i = 0; i < runtime->memory_count; i++) {
        const struct ntk_memory_sample *row = &runtime->memory[i];
        struct device_memory *out;

        if (row->location != NTK_MEMORY_DEVICE || row->category >= NTK_TOP_HBM_CATEGORY_COUNT ||
            row->core == NTK_NO_CORE) {
            continue;
        }
        out = unit_of(range, row->core, units);
        if (out) {
            out->category[row->category] += row->current_bytes;
            out->reported_bytes += row->current_bytes;
            out->estimated += row->category == NTK_MEMORY_UNCATEGORIZED &&
                                      ntk_snapshot_memory_is_estimated(runtime, row->model_id)
                                  ? row->current_bytes
                                  : 0;
        }
    }
}

/* Adds memory that applications report for each unit of a range, in one pass. */
static void add_reported(const struct ntk_top_model *model, const struct core_range *range,
                         bool is_all, struct device_memory *units)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    /* without a process, nothing is used */
    bool has_categories = snapshot->hardware.software && ntk_top_model_has_no_application(model);

    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        if (!(runtime->has & NTK_RUNTIME_HAS_MEMORY) ||
            (!is_all && !ntk_top_model_is_in_tab(model, r))) {
            continue;
        }
        has_categories = true;
        for (size_t i = 0; i < runtime->core_count; i++) {
            struct device_memory *out = unit_of(range, runtime->cores[i].core, units);

            if (out) {
                out->unreported_mask |= unreported_mask_of(runtime);
            }
        }
        add_rows(runtime, range, units);
    }
    for (uint32_t i = 0; i < range->unit_count; i++) {
        struct device_memory *out = &units[i];

        out->has_categories = has_categories;
        out->has_used = has_categories && (out->reported_bytes > 0 || out->unreported_mask == 0);
        out->used = out->reported_bytes;
    }
}

static void set_capacity(const struct ntk_snapshot *snapshot, uint32_t index,
                         struct device_memory *out)
{
    const struct ntk_device_sample *device = ntk_snapshot_find_device(snapshot, index);

    if (device && device->has & NTK_DEVICE_HAS_MEMORY_CAPACITY) {
        out->has_capacity = true;
        out->capacity = ntk_device_sum(device, device->memory_capacity_bytes);
    } else if (snapshot->hardware.has & NTK_HARDWARE_HAS_MEMORY) {
        out->has_capacity = true;
        out->capacity = snapshot->hardware.device_memory_bytes;
    }
}

/* Adds the driver's count. */
static void add_measured(const struct ntk_device_sample *device, struct device_memory *out)
{
    uint64_t used = ntk_device_sum(device, device->memory_used_bytes);
    /* The driver's files may be older than the reports of applications. */
    uint64_t exact = out->reported_bytes - out->estimated;

    out->has_used = out->is_measured = true;
    out->used = used > exact ? used : exact;
}

/* Collects data of consecutive devices. is_all: every application, with the driver's counts;
 * otherwise the applications of the tab. */
static void collect(const struct ntk_top_model *model, uint32_t first, uint32_t count, bool is_all,
                    struct device_memory *out)
{
    uint32_t cores = model->cores_per_device * model->lnc;
    const struct core_range range = { first * cores, cores, count };

    memset(out, 0, count * sizeof *out);
    add_reported(model, &range, is_all, out);
    for (uint32_t i = 0; i < count; i++) {
        const struct ntk_device_sample *device =
            ntk_snapshot_find_device(model->snapshot, first + i);

        if (device && is_all && device->has & NTK_DEVICE_HAS_MEMORY_USED) {
            add_measured(device, &out[i]);
        }
        set_capacity(model->snapshot, first + i, &out[i]);
    }
}

/* Collects data of all devices; returns their number. */
static uint32_t collect_all(const struct ntk_top_model *model, bool is_all,
                            struct device_memory out[NTK_SNAPSHOT_DEVICES_MAX])
{
    uint32_t count = model->device_count < NTK_SNAPSHOT_DEVICES_MAX ? model->device_count
                                                                    : NTK_SNAPSHOT_DEVICES_MAX;

    collect(model, 0, count, is_all, out);
    return count;
}

int ntk_top_model_hbm_observe(struct ntk_top_model *model)
{
    struct device_memory memory[NTK_SNAPSHOT_DEVICES_MAX];

    /* If a recording was rewound, forget peaks of a later time. */
    if (model->snapshot->realtime_ns < model->watch.peaks.last_ns) {
        memset(model->watch.peaks.devices, 0, sizeof model->watch.peaks.devices);
    }
    model->watch.peaks.last_ns = model->snapshot->realtime_ns;
    uint32_t count = collect_all(model, true, memory);
    for (uint32_t d = 0; d < count; d++) {
        if (memory[d].has_used && memory[d].used >= model->watch.peaks.devices[d].value) {
            model->watch.peaks.devices[d] = (struct ntk_top_bytes){ memory[d].used, true };
        }
    }
    return 0;
}

static struct ntk_top_hbm_use use_of(const struct device_memory *memory)
{
    return (struct ntk_top_hbm_use){
        .used = { memory->used, memory->has_used, memory->estimated > 0 && !memory->is_measured },
        .capacity = { memory->capacity, memory->has_capacity, false },
    };
}

struct ntk_top_hbm_use ntk_top_model_hbm_device(const struct ntk_top_model *model, uint32_t device)
{
    struct device_memory memory;

    collect(model, device, 1, ntk_top_model_tab_get(model)->is_all, &memory);
    return use_of(&memory);
}

void ntk_top_model_hbm_devices(const struct ntk_top_model *model,
                               struct ntk_top_hbm_use out[NTK_SNAPSHOT_DEVICES_MAX])
{
    struct device_memory memory[NTK_SNAPSHOT_DEVICES_MAX];
    uint32_t count = collect_all(model, ntk_top_model_tab_get(model)->is_all, memory);

    for (uint32_t d = 0; d < count; d++) {
        out[d] = use_of(&memory[d]);
    }
}

struct ntk_top_number ntk_top_model_hbm_share(struct ntk_top_bytes used,
                                              struct ntk_top_bytes capacity)
{
    bool is_known = used.present && capacity.present && capacity.value > 0;

    return (struct ntk_top_number){ is_known ? 100 * (double)used.value / (double)capacity.value
                                             : 0,
                                    is_known };
}

static void fill_used(const struct device_memory *memory, struct ntk_top_cell *cells)
{
    bool has_both = memory->has_used && memory->has_capacity && memory->capacity > 0;

    cells[NTK_TOP_HBM_SHARE] = ntk_top_cell_if(
        has_both, has_both ? 100 * (double)memory->used / (double)memory->capacity : 0);
    cells[NTK_TOP_HBM_USED] = ntk_top_cell_if(memory->has_used, (double)memory->used);
    cells[NTK_TOP_HBM_USED].estimated = cells[NTK_TOP_HBM_SHARE].estimated =
        memory->estimated > 0 && !memory->is_measured;
    for (int c = 0; c < NTK_TOP_HBM_CATEGORY_COUNT; c++) {
        bool is_reported = memory->category[c] > 0 || !(memory->unreported_mask >> c & 1);

        cells[NTK_TOP_HBM_CATEGORY_COLUMN(c)] =
            ntk_top_cell_if(memory->has_categories && is_reported, (double)memory->category[c]);
    }
    cells[NTK_TOP_HBM_CATEGORY_COLUMN(NTK_MEMORY_UNCATEGORIZED)].estimated = memory->estimated > 0;
}

static void fill_device(const struct ntk_top_model *model, uint32_t index, bool is_all,
                        const struct device_memory *memory, struct ntk_top_cell *cells)
{
    const struct ntk_device_sample *device = ntk_snapshot_find_device(model->snapshot, index);

    cells[NTK_TOP_HBM_CAPACITY] = ntk_top_cell_if(memory->has_capacity, (double)memory->capacity);
    if (is_all) {
        const struct ntk_top_bytes *peak = &model->watch.peaks.devices[index];

        cells[NTK_TOP_HBM_FREE] = ntk_top_cell_if(
            memory->has_used && memory->has_capacity &&
                (memory->is_measured || memory->unreported_mask == 0),
            memory->capacity > memory->used ? (double)(memory->capacity - memory->used) : 0);
        cells[NTK_TOP_HBM_PEAK] = ntk_top_cell_if(peak->present, (double)peak->value);
        cells[NTK_TOP_HBM_OTHER] = ntk_top_cell_if(
            memory->has_used && memory->has_categories,
            memory->used > memory->reported_bytes ? (double)(memory->used - memory->reported_bytes)
                                                  : 0);
        for (uint32_t s = 0; device && device->has & NTK_DEVICE_HAS_MEMORY_USED &&
                             s < device->stack_count && s < NTK_SNAPSHOT_STACKS_MAX;
             s++) {
            cells[NTK_TOP_HBM_STACK + s] =
                ntk_top_cell_number((double)device->memory_used_bytes[s]);
        }
    }
    fill_used(memory, cells);
}

/* Returns a new row; NULL if out of memory. */
static struct ntk_top_cell *add_row(struct ntk_top_table *table, uint64_t key, const char *name,
                                    const struct device_memory *memory)
{
    struct ntk_top_cell *cells = ntk_top_table_add(
        table, key, memory->has_used && memory->used == 0 ? NTK_TOP_ROW_DIM : NTK_TOP_ROW_NORMAL);

    if (cells) {
        cells[NTK_TOP_HBM_DEVICE] = ntk_top_cell_text(name);
        cells[NTK_TOP_HBM_DEVICE].value = (double)key;
    }
    return cells;
}

/* Lists cores. A core may borrow memory of another core of its device, so it has no separate
 * capacity, and its share relates to the device. */
static int list_cores(const struct ntk_top_model *model, struct ntk_top_table *table, bool is_all)
{
    for (uint32_t i = 0; i < model->device_count * model->cores_per_device; i++) {
        struct device_memory memory = { 0 };
        struct ntk_top_cell *cells;

        add_reported(model, &(struct core_range){ i * model->lnc, model->lnc, 1 }, is_all, &memory);
        set_capacity(model->snapshot, i / model->cores_per_device, &memory);
        if (!is_all && memory.used == 0) {
            continue; /* the core does not belong to the application */
        }
        cells = add_row(table, i,
                        ntk_top_table_text(table, "ND%u NC%u", i / model->cores_per_device,
                                           i % model->cores_per_device),
                        &memory);
        if (!cells) {
            return -ENOMEM;
        }
        fill_used(&memory, cells);
    }
    return 0;
}

int ntk_top_model_hbm(struct ntk_top_model *model, struct ntk_top_table *table)
{
    bool is_all = ntk_top_model_tab_get(model)->is_all;
    struct device_memory memory[NTK_SNAPSHOT_DEVICES_MAX];

    if (model->hbm_by_core) {
        return list_cores(model, table, is_all);
    }
    uint32_t count = collect_all(model, is_all, memory);
    for (uint32_t d = 0; d < count; d++) {
        struct ntk_top_cell *cells;

        if (!is_all && memory[d].used == 0) {
            continue;
        }
        cells = add_row(table, d,
                        ntk_top_table_text(table, "ND%u%s", d, ntk_top_model_alerts_mark(model, d)),
                        &memory[d]);
        if (!cells) {
            return -ENOMEM;
        }
        fill_device(model, d, is_all, &memory[d], cells);
    }
    return 0;
}

void ntk_top_model_hbm_sum(const struct ntk_top_model *model, struct ntk_top_hbm_sum *out)
{
    bool is_all = ntk_top_model_tab_get(model)->is_all;
    struct device_memory all[NTK_SNAPSHOT_DEVICES_MAX];
    uint32_t count = collect_all(model, is_all, all);

    *out = (struct ntk_top_hbm_sum){ 0 };
    for (uint32_t d = 0; d < count; d++) {
        const struct device_memory *memory = &all[d];

        out->has_categories = out->has_categories || memory->has_categories;
        out->used.present = out->used.present || memory->has_used;
        if (!is_all && memory->used == 0) {
            continue;
        }
        out->device_count++;
        out->used.value += memory->used;
        out->used.estimated =
            out->used.estimated || (memory->estimated > 0 && !memory->is_measured);
        out->capacity.present = out->capacity.present || memory->has_capacity;
        out->capacity.value += memory->capacity;
        out->other +=
            memory->used > memory->reported_bytes ? memory->used - memory->reported_bytes : 0;
        for (int c = 0; c < NTK_TOP_HBM_CATEGORY_COUNT; c++) {
            out->category[c] += memory->category[c];
        }
        /* This is the memory with an unknown purpose. */
        out->category[NTK_MEMORY_UNCATEGORIZED] -= memory->estimated;
        out->other += memory->estimated;
    }
}
