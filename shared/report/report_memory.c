/* SPDX-License-Identifier: MIT */
/* report_memory - memory_used, and the rows of our part of the line by core, model and category. */
#include <string.h>

#include "shared/report/report_part.h"

#define HOST_FIRST NTK_GROUP_HOST_APPLICATION
#define HOST_LAST NTK_GROUP_HOST_TENSORS
#define CORE_FIRST NTK_GROUP_CONSTANTS
#define CORE_LAST NTK_GROUP_TENSORS

#define AT(member) .offset = offsetof(struct ntk_memory_sample, member)
/* The fields after category and core. */
const struct report_field report_fields_memory_row[] = {
    REPORT_ROW("model_id", REPORT_U32, AT(model_id), .sparse = true),
    REPORT_ROW("current_bytes", REPORT_U64, AT(current_bytes)),
    REPORT_ROW("peak_bytes", REPORT_U64, AT(peak_bytes)),
    REPORT_END,
};
#undef AT

/* -- the vendor's group: sums ------------------------------------------------------------------ */

void report_key_group(struct report_writer *w, const struct ntk_runtime_sample *runtime,
                      enum ntk_memory_group group, uint64_t bytes)
{
    if (ntk_snapshot_tells_group(runtime, group)) {
        report_key_u64(w, ntk_memory_group_keys[group], bytes);
    }
}

void report_key_totals(struct report_writer *w, const struct ntk_memory_total *host,
                       const struct ntk_memory_total *device)
{
    if (host->known) {
        report_key_u64(w, "host", host->bytes);
    }
    if (device->known) {
        report_key_u64(w, "neuron_device", device->bytes);
    }
}

static void write_groups(struct report_writer *w, const struct ntk_runtime_sample *runtime,
                         const uint64_t group[NTK_GROUP_COUNT], int first, int last)
{
    ntk_json_object_begin(&w->json);
    for (int i = first; i <= last; i++) {
        report_key_group(w, runtime, (enum ntk_memory_group)i, group[i]);
    }
    ntk_json_object_end(&w->json);
}

void report_write_host_groups(struct report_writer *w, const struct ntk_runtime_sample *runtime,
                              const uint64_t group[NTK_GROUP_COUNT])
{
    ntk_json_key(&w->json, "host");
    write_groups(w, runtime, group, HOST_FIRST, HOST_LAST);
}

static void write_core_memory(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    uint32_t lnc = report_lnc_of(w->snapshot, runtime);
    struct ntk_vec logical;

    ntk_json_key_object_begin(&w->json, "neuroncore_memory_usage");
    report_list_cores(w, runtime, &logical);
    ntk_vec_each(uint32_t, core, &logical) {
        uint64_t group[NTK_GROUP_COUNT] = { 0 };
        for (uint32_t i = 0; i < lnc; i++) {
            ntk_snapshot_memory_add(runtime, *core * lnc + i, NTK_MEMORY_ANY, group, NULL, NULL);
        }
        report_key_number(w, *core);
        write_groups(w, runtime, group, CORE_FIRST, CORE_LAST);
    }
    ntk_vec_fini(&logical);
    ntk_json_object_end(&w->json);
}

void report_write_memory(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    uint64_t group[NTK_GROUP_COUNT] = { 0 };
    struct ntk_memory_total host;
    struct ntk_memory_total device;

    ntk_snapshot_memory_add(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, group, NULL, NULL);
    ntk_snapshot_memory_total(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
    ntk_json_key_object_begin(&w->json, ntk_runtime_group_names[NTK_RUNTIME_GROUP_MEMORY]);
    report_write_period(w, runtime->group_period_ns[NTK_RUNTIME_GROUP_MEMORY]);
    ntk_json_key_object_begin(&w->json, "neuron_runtime_used_bytes");
    report_key_totals(w, &host, &device);
    if (!report_omits(w, NTK_REPORT_OMIT_USAGE_BREAKDOWN)) {
        ntk_json_key_object_begin(&w->json, "usage_breakdown");
        report_write_host_groups(w, runtime, group);
        write_core_memory(w, runtime);
        ntk_json_object_end(&w->json);
    }
#define NTK_PROCESS_BYTES(name, group)                                        \
    if (!w->options->vendor_only && runtime->has & NTK_RUNTIME_HAS_##group) { \
        report_key_u64(w, #name, runtime->name);                              \
    }
#include "shared/metrics/process.def"
    ntk_json_object_end(&w->json);
    if (!report_omits(w, NTK_REPORT_OMIT_LOADED_MODELS)) {
        report_write_models(w, runtime);
    }
    report_key_text(w, "error", "");
    ntk_json_object_end(&w->json);
}

/* The category for a vendor's group if the report has only the group. */
static const enum ntk_memory_category category_of_group[NTK_GROUP_COUNT] = {
    [NTK_GROUP_HOST_APPLICATION] = NTK_MEMORY_HOST_APPLICATION,
    [NTK_GROUP_HOST_CONSTANTS] = NTK_MEMORY_HOST_CONSTANTS,
    [NTK_GROUP_HOST_DMA_BUFFERS] = NTK_MEMORY_HOST_DMA_BUFFERS,
    [NTK_GROUP_HOST_TENSORS] = NTK_MEMORY_HOST_TENSORS,
    [NTK_GROUP_CONSTANTS] = NTK_MEMORY_CONSTANTS,
    [NTK_GROUP_MODEL_CODE] = NTK_MEMORY_MODEL_CODE,
    [NTK_GROUP_SCRATCHPAD] = NTK_MEMORY_SHARED_SCRATCHPAD,
    [NTK_GROUP_RUNTIME] = NTK_MEMORY_RUNTIME,
    [NTK_GROUP_TENSORS] = NTK_MEMORY_TENSORS,
};

static size_t read_groups(struct ntk_memory_sample *rows, size_t count, const json_t *object,
                          int first, int last, uint16_t core)
{
    for (int i = first; i <= last; i++) {
        uint64_t bytes = report_get_u64(object, ntk_memory_group_keys[i]);
        if (!report_has(object, ntk_memory_group_keys[i])) {
            continue;
        }
        rows[count++] = (struct ntk_memory_sample){
            .location = (uint16_t)ntk_memory_location_of(category_of_group[i]),
            .core = core,
            .category = (uint16_t)category_of_group[i],
            .current_bytes = bytes,
            .peak_bytes = bytes,
        };
    }
    return count;
}

/* Reads the sums by group as one category each, on the first physical core; the models are
 * unknown. */
static void read_vendor_memory(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                               const json_t *used)
{
    const json_t *breakdown = report_get_object(used, "usage_breakdown");
    const json_t *cores = report_get_object(breakdown, "neuroncore_memory_usage");
    size_t room = (report_bounded(json_object_size(cores), REPORT_CORES_MAX) + 1) * NTK_GROUP_COUNT;
    struct ntk_memory_sample *rows = ntk_snapshot_alloc(snapshot, room, sizeof *rows);
    size_t count = 0;
    const char *key;
    json_t *value;

    if (!rows) {
        return;
    }
    count = read_groups(rows, count, report_get_object(breakdown, "host"), HOST_FIRST, HOST_LAST,
                        NTK_NO_CORE);
    report_each_key(cores, key, value)
    {
        uint32_t logical;
        if (count + NTK_GROUP_COUNT <= room && json_is_object(value) &&
            report_key_index(key, REPORT_CORES_MAX / runtime->lnc, &logical)) {
            count = read_groups(rows, count, value, CORE_FIRST, CORE_LAST,
                                (uint16_t)(logical * runtime->lnc));
        }
    }
    runtime->has |= NTK_RUNTIME_HAS_LISTED_MEMORY;
    runtime->memory = runtime->memory_by_category = rows;
    runtime->memory_count = runtime->memory_by_category_count = count;
}

/* -- our part: rows ---------------------------------------------------------------------------- */

static void write_rows(struct report_writer *w, const char *key,
                       const struct ntk_memory_sample *rows, size_t count)
{
    ntk_json_key_array_begin(&w->json, key);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].category >= NTK_MEMORY_CATEGORY_COUNT) {
            continue;
        }
        ntk_json_object_begin(&w->json);
        report_key_text(w, "category", ntk_memory_category_names[rows[i].category]);
        if (rows[i].core != NTK_NO_CORE) {
            report_key_u64(w, "core", rows[i].core);
        }
        report_write_fields(w, report_fields_memory_row, &rows[i]);
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
}

void report_write_ext_memory(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    write_rows(w, "memory", runtime->memory, runtime->memory_count);
    write_rows(w, "memory_by_category", runtime->memory_by_category,
               runtime->memory_by_category_count);
}

static struct ntk_memory_sample *read_rows(struct ntk_snapshot *snapshot, const json_t *array,
                                           size_t *out_count)
{
    size_t room = report_bounded(json_array_size(array), REPORT_MEMORY_ROWS_MAX);
    struct ntk_memory_sample *rows = ntk_snapshot_alloc(snapshot, room, sizeof *rows);
    size_t count = 0;

    for (size_t i = 0; rows && i < room; i++) {
        const json_t *entry = json_array_get(array, i);
        size_t category = report_find_word(entry, "category", ntk_memory_category_names,
                                           NTK_MEMORY_CATEGORY_COUNT);
        uint64_t core = report_has(entry, "core") ? report_get_u64(entry, "core") : NTK_NO_CORE;
        if (category == NTK_MEMORY_CATEGORY_COUNT ||
            (core >= REPORT_CORES_MAX && core != NTK_NO_CORE)) {
            continue;
        }
        struct ntk_memory_sample *row = &rows[count++];
        row->location = (uint16_t)ntk_memory_location_of((enum ntk_memory_category)category);
        row->core = (uint16_t)core;
        row->category = (uint16_t)category;
        report_read_fields(snapshot, entry, report_fields_memory_row, row);
    }
    *out_count = count;
    return rows;
}

void report_read_memory(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                        const json_t *group, const json_t *ext)
{
    const json_t *used = report_get_object(group, "neuron_runtime_used_bytes");
    const json_t *rows = report_get_array(ext, "memory");

    if (!group) {
        return;
    }
    runtime->has |= NTK_RUNTIME_HAS_MEMORY;
#define NTK_PROCESS_BYTES(name, group)               \
    if (report_has(used, #name)) {                   \
        runtime->has |= NTK_RUNTIME_HAS_##group;     \
        runtime->name = report_get_u64(used, #name); \
    }
#include "shared/metrics/process.def"
    if (!rows) {
        read_vendor_memory(snapshot, runtime, used);
        return;
    }
    runtime->memory = read_rows(snapshot, rows, &runtime->memory_count);
    runtime->memory_by_category = read_rows(snapshot, report_get_array(ext, "memory_by_category"),
                                            &runtime->memory_by_category_count);
}
