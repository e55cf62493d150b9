/* SPDX-License-Identifier: MIT */
/* report_models - loaded_models of memory_used, and the models of our part of the line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/report/report_part.h"

/* Names of models are truncated here, as in the vendor's report. */
#define NAME_BYTES_MAX 255

#define AT(member) .offset = offsetof(struct ntk_model_sample, member)
const struct report_field report_fields_model_ext[] = {
    REPORT_ROW("model_id", REPORT_U32, AT(id)),
    REPORT_ROW("name", REPORT_TEXT, AT(name)),
    REPORT_ROW("neff_path", REPORT_TEXT, AT(neff_path), .sparse = true),
    REPORT_ROW("uuid", REPORT_UUID, AT(uuid)),
    REPORT_ROW("loaded", REPORT_BOOL, AT(loaded)),
    REPORT_ROW("is_running", REPORT_BOOL, AT(is_running)),
    REPORT_ROW("estimated", REPORT_BOOL, AT(estimated), .sparse = true),
    REPORT_ROW("memory_estimated", REPORT_BOOL, AT(memory_estimated), .sparse = true),
    REPORT_ROW("core", REPORT_U32, AT(core)),
    REPORT_ROW("core_count", REPORT_U32, AT(core_count)),
    REPORT_ROW("in_flight", REPORT_U64, AT(in_flight), .has = NTK_MODEL_HAS_IN_FLIGHT),
#define HAS(group) .has = NTK_MODEL_HAS_##group
#define ANY .sparse = true
#define NTK_MODEL_COUNT(name, known) REPORT_ROW(#name, REPORT_COUNT, AT(name), known),
#include "shared/metrics/model.def"
#undef ANY
#undef HAS
    REPORT_ROW("load_ns", REPORT_U64, AT(load_ns)),
    REPORT_ROW("load_timestamp_ns", REPORT_U64, AT(load_timestamp_ns)),
    REPORT_ROW("total_latency", REPORT_HISTOGRAM, AT(total_latency)),
    REPORT_ROW("device_latency", REPORT_HISTOGRAM, AT(device_latency)),
    REPORT_END,
};
/* The fields after the name. */
const struct report_field report_fields_model[] = {
    REPORT_ROW("uuid", REPORT_UUID, AT(uuid)),
    REPORT_ROW("model_id", REPORT_U32, AT(id)),
    REPORT_ROW("is_running", REPORT_BOOL, AT(is_running)),
    REPORT_END,
};
/* Our additional fields, omitted for models that the vendor's tool could have written. */
const struct report_field report_fields_model_estimated[] = {
    REPORT_ROW("estimated", REPORT_BOOL, AT(estimated), .sparse = true),
    REPORT_ROW("memory_estimated", REPORT_BOOL, AT(memory_estimated), .sparse = true),
    REPORT_END,
};
#undef AT

/* -- the vendor's list ------------------------------------------------------------------------- */

static void write_device_groups(struct report_writer *w, const struct ntk_runtime_sample *runtime,
                                const uint64_t group[NTK_GROUP_COUNT])
{
    ntk_json_key_object_begin(&w->json, "neuron_device");
    report_key_group(w, runtime, NTK_GROUP_CONSTANTS, group[NTK_GROUP_CONSTANTS]);
    report_key_group(w, runtime, NTK_GROUP_MODEL_CODE, group[NTK_GROUP_MODEL_CODE]);
    /* Scratchpad has no key here; it is added to the runtime's memory, so that the sum is right. */
    report_key_group(w, runtime, NTK_GROUP_RUNTIME,
                     group[NTK_GROUP_RUNTIME] + group[NTK_GROUP_SCRATCHPAD]);
    report_key_group(w, runtime, NTK_GROUP_TENSORS, group[NTK_GROUP_TENSORS]);
    ntk_json_object_end(&w->json);
}

static void add_total(struct ntk_memory_total *to, const struct ntk_memory_total *from)
{
    to->bytes += from->bytes;
    to->known = to->known || from->known;
}

/* Writes one physical core of a model. The model's memory that is on no core counts with its first
 * core. */
static void write_subgraph(struct report_writer *w, const struct ntk_runtime_sample *runtime,
                           const struct ntk_model_sample *model, uint32_t index)
{
    const struct ntk_hardware *hardware = &w->snapshot->hardware;
    uint32_t core = model->core + index;
    uint32_t per_device = hardware->cores_per_device ? hardware->cores_per_device : 1;
    uint64_t group[NTK_GROUP_COUNT] = { 0 };
    struct ntk_memory_total host;
    struct ntk_memory_total device;
    char key[24];
    char name[48];
    char version[24];

    ntk_snapshot_memory_add(runtime, core, model->id, group, NULL, NULL);
    ntk_snapshot_memory_total(runtime, core, model->id, &host, &device);
    if (index == 0) {
        struct ntk_memory_total more_host;
        struct ntk_memory_total more_device;

        ntk_snapshot_memory_add(runtime, NTK_NO_CORE, model->id, group, NULL, NULL);
        ntk_snapshot_memory_total(runtime, NTK_NO_CORE, model->id, &more_host, &more_device);
        add_total(&host, &more_host);
        add_total(&device, &more_device);
    }
    snprintf(key, sizeof key, "sg_%02u", index);
    ntk_json_key_object_begin(&w->json, key);
    ntk_json_key_object_begin(&w->json, "memory_used_bytes");
    report_key_totals(w, &host, &device);
    if (!report_omits(w, NTK_REPORT_OMIT_USAGE_BREAKDOWN)) {
        ntk_json_key_object_begin(&w->json, "usage_breakdown");
        report_write_host_groups(w, runtime, group);
        write_device_groups(w, runtime, group);
        ntk_json_object_end(&w->json);
    }
    ntk_json_object_end(&w->json);
    report_key_u64(w, "neuroncore_index", core % per_device / report_lnc_of(w->snapshot, runtime));
    report_key_u64(w, "neuron_device_index", core / per_device);
    report_physical_version(w->snapshot, version, sizeof version);
    if (version[0]) {
        snprintf(name, sizeof name, "nc_%s.%u", version, core);
        report_key_text(w, version, name);
    }
    ntk_json_object_end(&w->json);
}

static void write_name(struct report_writer *w, const struct ntk_model_sample *model)
{
    char text[NAME_BYTES_MAX + 1];
    const char *name = model->name[0] ? model->name : model->neff_path;

    ntk_str_copy_clean(text, sizeof text, name, strlen(name)); /* does not cut inside a character */
    ntk_json_key_text(&w->json, "name", text);
}

void report_write_models(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_key_array_begin(&w->json, "loaded_models");
    for (size_t i = 0; i < runtime->model_count; i++) {
        const struct ntk_model_sample *model = &runtime->models[i];
        if (!model->loaded) {
            continue;
        }
        ntk_json_object_begin(&w->json);
        write_name(w, model);
        report_write_fields(w, report_fields_model, model);
        if (!w->options->vendor_only) {
            report_write_fields(w, report_fields_model_estimated, model);
        }
        ntk_json_key_object_begin(&w->json, "subgraphs");
        for (uint32_t k = 0; k < model->core_count && k < REPORT_CORES_MAX; k++) {
            write_subgraph(w, runtime, model, k);
        }
        ntk_json_object_end(&w->json);
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
}

static void read_vendor_model(struct ntk_snapshot *snapshot,
                              const struct ntk_runtime_sample *runtime,
                              struct ntk_model_sample *model, const json_t *object)
{
    const json_t *subgraphs = report_get_object(object, "subgraphs");
    const json_t *first = report_get_object(subgraphs, "sg_00");
    uint32_t per_device = snapshot->hardware.cores_per_device;
    uint64_t core = (uint64_t)report_get_u32(first, "neuron_device_index") * per_device +
                    (uint64_t)report_get_u32(first, "neuroncore_index") * runtime->lnc;
    size_t parts = json_object_size(subgraphs);

    model->name = report_get_text(snapshot, object, "name");
    report_read_fields(snapshot, object, report_fields_model, model);
    report_read_fields(snapshot, object, report_fields_model_estimated, model);
    model->loaded = true;
    if (core < REPORT_CORES_MAX && parts <= REPORT_CORES_MAX) {
        model->core = (uint32_t)core;
        model->core_count = (uint32_t)parts;
    }
}

/* -- our list ---------------------------------------------------------------------------------- */

void report_write_ext_models(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_key_array_begin(&w->json, "models");
    for (size_t i = 0; i < runtime->model_count; i++) {
        ntk_json_object_begin(&w->json);
        report_write_fields(w, report_fields_model_ext, &runtime->models[i]);
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
}

static void read_ext_model(struct ntk_snapshot *snapshot, struct ntk_model_sample *model,
                           const json_t *object)
{
    report_read_fields(snapshot, object, report_fields_model_ext, model);
    if (model->core >= REPORT_CORES_MAX || model->core_count > REPORT_CORES_MAX) {
        model->core = model->core_count = 0;
    }
    if (model->total_latency.count > 0) {
        model->has |= NTK_MODEL_HAS_LATENCY;
    }
    if (model->device_latency.count > 0) {
        model->has |= NTK_MODEL_HAS_DEVICE_LATENCY;
    }
}

NTK_ORDER(compare_models, struct ntk_model_sample, NTK_UP(id));

void report_read_models(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                        const json_t *memory, const json_t *ext)
{
    const json_t *ours = report_get_array(ext, "models");
    const json_t *array = ours ? ours : report_get_array(memory, "loaded_models");

    if (!array) {
        return;
    }
    runtime->has |= NTK_RUNTIME_HAS_MODELS;
    struct ntk_model_sample *models = ntk_snapshot_alloc_models(
        snapshot, runtime, report_bounded(json_array_size(array), REPORT_MODELS_MAX));
    for (size_t i = 0; models && i < runtime->model_count; i++) {
        const json_t *entry = json_array_get(array, i);
        if (ours) {
            read_ext_model(snapshot, &models[i], entry);
        } else {
            read_vendor_model(snapshot, runtime, &models[i], entry);
        }
    }
    if (models) {
        qsort(models, runtime->model_count, sizeof *models, compare_models);
    }
}
