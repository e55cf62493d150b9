/* SPDX-License-Identifier: MIT */
/* dump_json - writes the content of the files as one object. */
#include <stdio.h>

#include "profiler/popef/dump.h"
#include "shared/base/json.h"

static void put_blob(struct ntk_json *json, const struct popef_blob *blob)
{
    ntk_json_key_u64(json, "offset", blob->offset);
    ntk_json_key_u64(json, "size", blob->size);
    ntk_json_key_text(json, "version", blob->version);
    ntk_json_key_u64(json, "available_read_size", blob->available_read_size);
}

static void put_tensor_info(struct ntk_json *json, const struct popef_tensor_info *info)
{
    ntk_json_key_text(json, "dtype", popef_data_type_name(info->data_type));
    ntk_json_key_array_begin(json, "shape");
    for (uint32_t i = 0; i < info->rank; i++) {
        ntk_json_i64(json, info->shape[i]);
    }
    ntk_json_array_end(json);
    ntk_json_key_i64(json, "size_in_bytes", popef_tensor_info_size_in_bytes(info));
}

static void put_programs(struct ntk_json *json, const char *key,
                         const struct popef_programs *programs)
{
    ntk_json_key_array_begin(json, key);
    for (size_t i = 0; i < programs->count; i++) {
        ntk_json_u64(json, programs->indices[i]);
    }
    ntk_json_array_end(json);
}

static void put_options(struct ntk_json *json, const char *key, const struct popef_option *options,
                        size_t count)
{
    ntk_json_key_array_begin(json, key);
    for (size_t i = 0; i < count; i++) {
        ntk_json_object_begin(json);
        ntk_json_key_text(json, "name", options[i].name);
        ntk_json_key_text(json, "value", options[i].value);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

static void put_anchor(const struct dump *dump, struct ntk_json *json,
                       const struct popef_anchor *anchor)
{
    static const char *const types[] = { "unknown", "input", "output" };

    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", anchor->name);
    ntk_json_key_text(json, "handle", anchor->handle);
    ntk_json_key_text(json, "type", types[anchor->type]);
    ntk_json_key_bool(json, "popef_provided", dump_is_popef_provided(dump, anchor));
    put_tensor_info(json, &anchor->tensor_info);
    ntk_json_key_bool(json, "is_per_replica", anchor->is_per_replica);
    ntk_json_key_bool(json, "use_remote_buffers", anchor->use_remote_buffers);
    ntk_json_key_i64(json, "repeats", anchor->repeats);
    put_programs(json, "programs", &anchor->programs);
    ntk_json_object_end(json);
}

static void put_metadata(const struct dump *dump, struct ntk_json *json,
                         const struct popef_metadata_blob *blob)
{
    const struct popef_metadata *metadata = &blob->metadata;

    ntk_json_object_begin(json);
    put_blob(json, &blob->blob);
    ntk_json_key_text(json, "executable", metadata->executable);
    ntk_json_key_i64(json, "replication_factor", metadata->replication_factor);
    ntk_json_key_i64(json, "num_ipus", metadata->num_ipus);
    ntk_json_key_i64(json, "ipu_version", metadata->ipu_version);
    ntk_json_key_bool(json, "is_inference", metadata->is_inference);
    ntk_json_key_bool(json, "is_pod", metadata->is_pod);
    ntk_json_key_i64(json, "num_processes", metadata->num_processes);
    ntk_json_key_i64(json, "device_iterations", metadata->device_iterations);
    ntk_json_key_text(json, "seed_handle", metadata->seed_handle);
    put_options(json, "engine_options", metadata->engine_options, metadata->engine_option_count);
    put_options(json, "device_options", metadata->device_options, metadata->device_option_count);
    ntk_json_key_object_begin(json, "program_flow");
    put_programs(json, "load", &metadata->program_flow.load);
    put_programs(json, "main", &metadata->program_flow.main);
    put_programs(json, "save", &metadata->program_flow.save);
    ntk_json_object_end(json);
    ntk_json_key_object_begin(json, "programs_map");
    for (size_t i = 0; i < metadata->programs_map_count; i++) {
        char index[16];

        (void)snprintf(index, sizeof index, "%u", metadata->programs_map[i].index);
        ntk_json_key_text(json, index, metadata->programs_map[i].name);
    }
    ntk_json_object_end(json);
    ntk_json_key_array_begin(json, "anchors");
    for (size_t i = 0; i < metadata->anchor_count; i++) {
        put_anchor(dump, json, &metadata->anchors[i]);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

static void put_executable(struct ntk_json *json, const struct popef_executable *executable)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", executable->blob.name);
    put_blob(json, &executable->blob);
    ntk_json_key_bool(json, "is_compressed", executable->blob.is_compressed);
    ntk_json_key_u64(json, "data_size", executable->blob.data_size);
    ntk_json_object_end(json);
}

static void put_tensor(struct ntk_json *json, const struct popef_tensor *tensor)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", tensor->blob.name);
    put_blob(json, &tensor->blob);
    put_tensor_info(json, &tensor->info.tensor_info);
    ntk_json_object_end(json);
}

static void put_feed(struct ntk_json *json, const struct popef_feed *feed)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", feed->blob.name);
    put_blob(json, &feed->blob);
    ntk_json_key_u64(json, "num_tensors", feed->info.num_tensors);
    put_tensor_info(json, &feed->info.tensor_info);
    ntk_json_object_end(json);
}

static void put_opaque(struct ntk_json *json, const struct popef_opaque *opaque)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", opaque->blob.name);
    ntk_json_key_text(json, "executable", opaque->executable);
    put_blob(json, &opaque->blob);
    ntk_json_object_end(json);
}

static void put_unknown(struct ntk_json *json, const struct popef_blob *blob)
{
    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "type", blob->type);
    put_blob(json, blob);
    ntk_json_object_end(json);
}

/* Writes the records of one kind in the file, each with put. */
#define LIST(key, kind, type, member, ...)                                         \
    do {                                                                           \
        const struct type *record;                                                 \
        ntk_json_key_array_begin(json, key);                                       \
        for (size_t i = 0; (record = popef_reader_##kind(dump->reader, i)); i++) { \
            if (record->member == file) {                                          \
                __VA_ARGS__;                                                       \
            }                                                                      \
        }                                                                          \
        ntk_json_array_end(json);                                                  \
    } while (0)

static void put_file(const struct dump *dump, struct ntk_json *json, size_t file)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "path", popef_reader_file_name(dump->reader, file));
    LIST("metadata", metadata, popef_metadata_blob, blob.file, put_metadata(dump, json, record));
    LIST("executables", executable, popef_executable, blob.file, put_executable(json, record));
    LIST("tensors", tensor, popef_tensor, blob.file, put_tensor(json, record));
    LIST("feeds", feed, popef_feed, blob.file, put_feed(json, record));
    LIST("opaques", opaque, popef_opaque, blob.file, put_opaque(json, record));
    LIST("unknown", unknown, popef_blob, file, put_unknown(json, record));
    ntk_json_object_end(json);
}

void dump_json(struct dump *dump)
{
    struct ntk_json json;

    ntk_json_init(&json, &dump->out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "files");
    for (size_t file = 0; file < popef_reader_file_count(dump->reader); file++) {
        put_file(dump, &json, file);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(&dump->out, '\n');
}
