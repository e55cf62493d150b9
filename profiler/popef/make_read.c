/* SPDX-License-Identifier: MIT */
/* make_read - reads the description of a file from JSON; unknown keys are errors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/popef/make.h"
#include "shared/base/str.h"

#define BAD(...) ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, __VA_ARGS__)

void *make_keep(struct make_description *description, void *memory)
{
    if (memory && ntk_vec_push(&description->owned, &memory) < 0) {
        free(memory);
        memory = NULL;
    }
    return memory;
}

/* keys: all allowed keys, with NULL at the end. */
static int object_check(const json_t *object, const char *what, const char *const *keys,
                        struct ntk_err *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object)) {
        return BAD("%s: not an object", what);
    }
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;

        while (keys[i] && strcmp(keys[i], key) != 0) {
            i++;
        }
        if (!keys[i]) {
            return BAD("%s: unknown key '%s'", what, key);
        }
    }
    return 0;
}

static int text_get(const json_t *object, const char *what, const char *key, const char **out,
                    struct ntk_err *err)
{
    const json_t *value = json_object_get(object, key);

    if (value && !json_is_string(value)) {
        return BAD("%s: '%s' is not a string", what, key);
    }
    *out = value ? json_string_value(value) : *out;
    return 0;
}

static int bool_get(const json_t *object, const char *what, const char *key, bool *out,
                    struct ntk_err *err)
{
    const json_t *value = json_object_get(object, key);

    if (value && !json_is_boolean(value)) {
        return BAD("%s: '%s' is not true or false", what, key);
    }
    *out = value ? json_is_true(value) : *out;
    return 0;
}

static int number_get(const json_t *object, const char *what, const char *key, int64_t *out,
                      struct ntk_err *err)
{
    const json_t *value = json_object_get(object, key);

    if (value && !json_is_integer(value)) {
        return BAD("%s: '%s' is not an integer", what, key);
    }
    *out = value ? json_integer_value(value) : *out;
    return 0;
}

static int index_of(const char *what, const char *text, uint32_t *out, struct ntk_err *err)
{
    uint64_t value = 0;

    if (ntk_str_parse_u64(text, &value) < 0 || value > UINT32_MAX) {
        return BAD("%s: '%s' is not a program number", what, text);
    }
    *out = (uint32_t)value;
    return 0;
}

/* Reads a list of program numbers to a vec of uint32_t. */
static int programs_get(const json_t *object, const char *what, const char *key,
                        struct ntk_vec *out, bool *out_is_given, struct ntk_err *err)
{
    const json_t *list = json_object_get(object, key);
    size_t i;
    json_t *item;

    *out_is_given = list != NULL;
    if (list && !json_is_array(list)) {
        return BAD("%s: '%s' is not a list", what, key);
    }
    json_array_foreach((json_t *)list, i, item)
    {
        uint32_t index = (uint32_t)json_integer_value(item);

        if (!json_is_integer(item) || json_integer_value(item) != index) {
            return BAD("%s: '%s' contains an invalid program number", what, key);
        }
        if (ntk_vec_push(out, &index) < 0) {
            return ntk_err_no_memory(err);
        }
    }
    return 0;
}

static int shape_get(const json_t *item, const char *what, struct popef_tensor_info *info,
                     struct ntk_err *err)
{
    const json_t *shape = json_object_get(item, "shape");
    size_t i;
    json_t *dim;

    if (!json_is_array(shape)) {
        return BAD("%s: \"shape\": expected a list of dimensions", what);
    }
    if (json_array_size(shape) > POPEF_RANK_MAX) {
        return BAD("%s: too many dimensions (at most %d)", what, POPEF_RANK_MAX);
    }
    info->rank = (uint32_t)json_array_size(shape);
    json_array_foreach((json_t *)shape, i, dim)
    {
        if (!json_is_integer(dim) || json_integer_value(dim) < 0) {
            return BAD("%s: \"shape\": invalid dimension", what);
        }
        info->shape[i] = json_integer_value(dim);
    }
    if (popef_tensor_info_size_in_bytes(info) < 0) {
        return BAD("%s: the shape is too large", what);
    }
    return 0;
}

static int data_type_get(const json_t *item, const char *what, enum popef_data_type *out,
                         struct ntk_err *err)
{
    const char *name = NULL;
    int ret = text_get(item, what, "dataType", &name, err);

    if (ret == 0 && (!name || popef_data_type_find(name, out) < 0)) {
        ret = BAD("%s: missing or unknown \"dataType\": %s", what, name ? name : "such as F32");
    }
    return ret;
}

/* ---- the executable ---- */

static int program_read(struct make_description *d, const char *key, const json_t *item,
                        struct ntk_err *err)
{
    static const char *const keys[] = { "kind", "file", NULL };
    struct make_program program = { .kind = "neff" };
    char what[64];

    (void)snprintf(what, sizeof what, "program %s", key);
    int ret = object_check(item, what, keys, err);
    if (ret == 0) {
        ret = index_of("programs", key, &program.index, err);
    }
    if (ret == 0) {
        ret = text_get(item, what, "kind", &program.kind, err);
    }
    if (ret == 0) {
        ret = text_get(item, what, "file", &program.file, err);
    }
    if (ret < 0) {
        return ret;
    }
    bool is_neff = strcmp(program.kind, "neff") == 0;
    if (!is_neff && strcmp(program.kind, "copy_in") != 0 && strcmp(program.kind, "copy_out") != 0) {
        return BAD("%s: \"kind\" must be copy_in, copy_out or neff", what);
    }
    if (is_neff != (program.file != NULL)) {
        return BAD("%s: %s", what,
                   is_neff ? "missing \"file\"" : "\"file\" is valid only for kind neff");
    }
    return ntk_vec_push(&d->programs, &program) < 0 ? ntk_err_no_memory(err) : 0;
}

static int executable_read(struct make_description *d, const json_t *item, struct ntk_err *err)
{
    static const char *const keys[] = { "name", "compress", "file", "programs", NULL };
    const char *file = NULL;
    const char *key;
    json_t *program;
    int ret = object_check(item, "executable", keys, err);

    d->executable = "";
    if (ret == 0) {
        ret = text_get(item, "executable", "name", &d->executable, err);
    }
    if (ret == 0) {
        ret = bool_get(item, "executable", "compress", &d->compress, err);
    }
    if (ret == 0) {
        ret = text_get(item, "executable", "file", &file, err);
    }
    json_t *programs = json_object_get(item, "programs");
    if (ret == 0 && (file != NULL) == (programs != NULL)) {
        ret = BAD("executable: expected either \"file\" or \"programs\"");
    }
    if (ret == 0 && file) {
        char *path = NULL;

        if (asprintf(&path, "%s%s%s", file[0] == '/' ? "" : d->folder, file[0] == '/' ? "" : "/",
                     file) < 0) {
            return ntk_err_no_memory(err);
        }
        d->executable_path = make_keep(d, path);
        ret = d->executable_path ? 0 : ntk_err_no_memory(err);
    }
    if (ret == 0 && programs && !json_is_object(programs)) {
        ret = BAD("executable: \"programs\" is not an object");
    }
    json_object_foreach(programs, key, program)
    {
        ret = ret == 0 ? program_read(d, key, program, err) : ret;
    }
    return ret;
}

/* ---- metadata ---- */

static int options_read(const json_t *metadata, const char *key, struct ntk_vec *out,
                        struct ntk_err *err)
{
    json_t *list = json_object_get(metadata, key);
    const char *name;
    json_t *value;

    if (list && !json_is_object(list)) {
        return BAD("metadata: '%s' is not an object", key);
    }
    json_object_foreach(list, name, value)
    {
        struct popef_option option = { name, json_string_value(value) };

        if (!option.value) {
            return BAD("metadata: %s: '%s' is not a string", key, name);
        }
        if (ntk_vec_push(out, &option) < 0) {
            return ntk_err_no_memory(err);
        }
    }
    return 0;
}

static int programs_map_read(struct make_description *d, const json_t *metadata,
                             struct ntk_err *err)
{
    json_t *map = json_object_get(metadata, "programsMap");
    const char *key;
    json_t *value;

    if (map && !json_is_object(map)) {
        return BAD("metadata: \"programsMap\" is not an object");
    }
    json_object_foreach(map, key, value)
    {
        struct popef_program_name program = { 0, json_string_value(value) };
        int ret = index_of("programsMap", key, &program.index, err);

        if (ret < 0) {
            return ret;
        }
        if (!program.name) {
            return BAD("programsMap: the name of program %s is not a string", key);
        }
        if (ntk_vec_push(&d->programs_map, &program) < 0) {
            return ntk_err_no_memory(err);
        }
    }
    return 0;
}

static int anchor_read(struct make_description *d, const json_t *item, struct ntk_err *err)
{
    static const char *const keys[] = {
        "name",     "handle",           "type",    "dataType", "shape", "isPerReplica",
        "programs", "useRemoteBuffers", "repeats", NULL
    };
    static const char *const types[] = { "unknown", "input", "output" };
    struct popef_anchor anchor = { .repeats = 1 };
    struct popef_tensor_info one = { 0 };
    const char *type = "";
    struct ntk_vec programs = NTK_VEC_INIT(uint32_t);
    bool is_given = false;
    int ret = object_check(item, "anchor", keys, err);

    if (ret == 0) {
        ret = text_get(item, "anchor", "name", &anchor.name, err);
    }
    if (ret == 0 && !anchor.name) {
        ret = BAD("anchor: missing \"name\"");
    }
    if (ret == 0) {
        ret = text_get(item, anchor.name, "handle", &anchor.handle, err);
    }
    if (ret == 0) {
        ret = text_get(item, anchor.name, "type", &type, err);
    }
    for (anchor.type = 0; ret == 0 && strcmp(types[anchor.type], type) != 0; anchor.type++) {
        if (anchor.type == POPEF_TENSOR_OUTPUT) {
            ret = BAD("anchor '%s': \"type\" must be unknown, input or output", anchor.name);
            break;
        }
    }
    if (ret == 0) {
        ret = bool_get(item, anchor.name, "isPerReplica", &anchor.is_per_replica, err);
    }
    if (ret == 0) {
        ret = bool_get(item, anchor.name, "useRemoteBuffers", &anchor.use_remote_buffers, err);
    }
    if (ret == 0) {
        ret = number_get(item, anchor.name, "repeats", &anchor.repeats, err);
    }
    if (ret == 0) {
        ret = data_type_get(item, anchor.name, &one.data_type, err);
    }
    if (ret == 0) {
        ret = shape_get(item, anchor.name, &one, err);
    }
    if (ret == 0 && popef_tensor_info_extend(&one, d->metadata.replication_factor,
                                             anchor.is_per_replica, anchor.use_remote_buffers,
                                             anchor.repeats, &anchor.tensor_info) < 0) {
        ret = BAD("anchor '%s': more than %d dimensions with replicas and repeats", anchor.name,
                  POPEF_RANK_MAX);
    }
    if (ret == 0) {
        ret = programs_get(item, anchor.name, "programs", &programs, &is_given, err);
    }
    /* The producer fills a missing list; count marks it until then. */
    anchor.programs.indices = programs.items;
    anchor.programs.count = is_given ? programs.count : SIZE_MAX;
    if (programs.items && !make_keep(d, programs.items)) {
        return ntk_err_no_memory(err);
    }
    if (ret == 0 && ntk_vec_push(&d->anchors, &anchor) < 0) {
        ret = ntk_err_no_memory(err);
    }
    return ret;
}

static int flow_read(struct make_description *d, const json_t *metadata, struct ntk_err *err)
{
    static const char *const keys[] = { "load", "main", "save", NULL };
    struct ntk_vec *const lists[] = { &d->load, &d->main, &d->save };
    const json_t *flow = json_object_get(metadata, "programFlow");
    bool is_given = false;
    int ret = flow ? object_check(flow, "programFlow", keys, err) : 0;

    for (size_t i = 0; flow && i < 3 && ret == 0; i++) {
        ret = programs_get(flow, "programFlow", keys[i], lists[i], &is_given, err);
    }
    return ret;
}

static int metadata_read(struct make_description *d, const json_t *item, struct ntk_err *err)
{
    static const char *const keys[] = {
        "executable",
        "replicationFactor",
        "numIpus",
        "ipuVersion",
        "isInference",
        "isPOD",
        "numProcesses",
        "seedHandle",
        "deviceIterations",
        "engineOptions",
        "deviceOptions",
        "programFlow",
        "programsMap",
        "anchors",
        "rngState",
        "cycleCounters",
        NULL,
    };
    struct popef_metadata *m = &d->metadata;
    const struct {
        const char *key;
        int64_t *value;
    } numbers[] = {
        { "replicationFactor", &m->replication_factor },
        { "numIpus", &m->num_ipus },
        { "ipuVersion", &m->ipu_version },
        { "numProcesses", &m->num_processes },
        { "deviceIterations", &m->device_iterations },
    };
    const struct {
        const char *key;
        bool *value;
    } bools[] = {
        { "isInference", &m->is_inference },
        { "isPOD", &m->is_pod },
        { "rngState", &d->has_rng_state },
        { "cycleCounters", &d->has_cycle_counters },
    };
    int ret = object_check(item, "metadata", keys, err);
    size_t i;
    json_t *anchor;

    if (ret == 0) {
        ret = text_get(item, "metadata", "executable", &m->executable, err);
    }
    if (ret == 0) {
        ret = text_get(item, "metadata", "seedHandle", &m->seed_handle, err);
    }
    for (i = 0; i < sizeof numbers / sizeof *numbers && ret == 0; i++) {
        ret = number_get(item, "metadata", numbers[i].key, numbers[i].value, err);
    }
    for (i = 0; i < sizeof bools / sizeof *bools && ret == 0; i++) {
        ret = bool_get(item, "metadata", bools[i].key, bools[i].value, err);
    }
    if (ret == 0) {
        ret = options_read(item, "engineOptions", &d->engine_options, err);
    }
    if (ret == 0) {
        ret = options_read(item, "deviceOptions", &d->device_options, err);
    }
    if (ret == 0) {
        ret = flow_read(d, item, err);
    }
    if (ret == 0) {
        ret = programs_map_read(d, item, err);
    }
    json_t *anchors = json_object_get(item, "anchors");
    if (ret == 0 && anchors && !json_is_array(anchors)) {
        ret = BAD("metadata: \"anchors\" is not a list");
    }
    json_array_foreach(anchors, i, anchor)
    {
        ret = ret == 0 ? anchor_read(d, anchor, err) : ret;
    }
    return ret;
}

/* ---- the whole ---- */

static int data_list_read(struct make_description *d, const char *key, enum make_data_kind kind,
                          struct ntk_vec *out, struct ntk_err *err)
{
    json_t *list = json_object_get(d->root, key);
    int ret = 0;
    size_t i;
    json_t *item;

    if (list && !json_is_array(list)) {
        return BAD("'%s' is not a list", key);
    }
    json_array_foreach(list, i, item)
    {
        struct make_data data = { 0 };

        if (ret == 0) {
            ret = make_data_read(d, item, kind, &data, err);
        }
        if (ret == 0 && ntk_vec_push(out, &data) < 0) {
            ret = ntk_err_no_memory(err);
        }
    }
    return ret;
}

static int description_read(struct make_description *d, struct ntk_err *err)
{
    static const char *const keys[] = { "producer", "executable", "metadata", "tensors",
                                        "feeds",    "opaques",    NULL };
    const char *producer = "";
    int ret = object_check(d->root, "description", keys, err);

    if (ret == 0) {
        ret = text_get(d->root, "description", "producer", &producer, err);
    }
    if (ret == 0 && !(d->profile = make_profile_find(producer))) {
        ret = BAD("unknown producer '%s': expected %s", producer, make_profile_names());
    }
    const json_t *executable = json_object_get(d->root, "executable");
    if (ret == 0 && executable) {
        ret = executable_read(d, executable, err);
    }
    const json_t *metadata = json_object_get(d->root, "metadata");
    d->has_metadata = metadata != NULL;
    if (ret == 0 && metadata) {
        ret = metadata_read(d, metadata, err);
    }
    if (ret == 0) {
        ret = data_list_read(d, "tensors", MAKE_TENSOR, &d->tensors, err);
    }
    if (ret == 0) {
        ret = data_list_read(d, "feeds", MAKE_FEED, &d->feeds, err);
    }
    if (ret == 0) {
        ret = data_list_read(d, "opaques", MAKE_OPAQUE, &d->opaques, err);
    }
    return ret == 0 ? make_profile_apply(d, err) : ret;
}

int make_description_read(const char *text, size_t bytes_count, const char *folder,
                          struct make_description *out, struct ntk_err *err)
{
    struct make_description d = {
        .metadata = { .replication_factor = 1,
                      .num_ipus = 1,
                      .num_processes = 1,
                      .device_iterations = 1 },
        .engine_options = NTK_VEC_INIT(struct popef_option),
        .device_options = NTK_VEC_INIT(struct popef_option),
        .programs_map = NTK_VEC_INIT(struct popef_program_name),
        .anchors = NTK_VEC_INIT(struct popef_anchor),
        .programs = NTK_VEC_INIT(struct make_program),
        .load = NTK_VEC_INIT(uint32_t),
        .main = NTK_VEC_INIT(uint32_t),
        .save = NTK_VEC_INIT(uint32_t),
        .tensors = NTK_VEC_INIT(struct make_data),
        .feeds = NTK_VEC_INIT(struct make_data),
        .opaques = NTK_VEC_INIT(struct make_data),
        .owned = NTK_VEC_INIT(void *),
    };
    json_error_t error;
    int ret = 0;

    d.folder = strdup(folder);
    d.root = json_loadb(text, bytes_count, JSON_REJECT_DUPLICATES, &error);
    if (!d.folder) {
        ret = ntk_err_no_memory(err);
    } else if (!d.root) {
        ret = BAD("line %d: %s", error.line, error.text);
    } else {
        ret = description_read(&d, err);
    }
    if (ret < 0) {
        make_description_fini(&d);
        return ret;
    }
    *out = d;
    return 0;
}

void make_description_fini(struct make_description *d)
{
    ntk_vec_each(void *, memory, &d->owned) {
        free(*memory);
    }
    struct ntk_vec *const all[] = {
        &d->engine_options, &d->device_options, &d->programs_map, &d->anchors,
        &d->programs,       &d->load,           &d->main,         &d->save,
        &d->tensors,        &d->feeds,          &d->opaques,      &d->owned,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ntk_vec_fini(all[i]);
    }
    json_decref(d->root);
    free(d->folder);
    *d = (struct make_description){ 0 };
}
