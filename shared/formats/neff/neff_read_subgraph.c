/* SPDX-License-Identifier: MIT */
/* neff_read_subgraph - reads one program: def.json (its variables and queues: neff_read_vars), the
 * engine JSONs and binaries, act_info.json, tensor_map.json. */
#include "shared/formats/neff/neff_read_private.h"

#include <string.h>

const char *const neff_engine_keys[NTK_ISA_ENGINE_COUNT] = { "pe", "act", "pool", "dve", "sp" };
static const char *const engine_code_keys[NTK_ISA_ENGINE_COUNT] = { "pe_instr", "act_instr",
                                                                    "pool_instr", "dve_instr",
                                                                    "sp_instr" };

/* ---- engines ---- */

bool neff_is_code_key(const char *key)
{
    return strcmp(key, "instr") == 0 ||
           neff_lookup(key, engine_code_keys, COUNT_OF(engine_code_keys)) >= 0;
}

bool neff_is_all_zero(const uint8_t *bytes, size_t count)
{
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

static int read_nsx(struct reader *r, const json_t *json, const char *where,
                    struct ntk_neff_engine *engine)
{
    const json_t *nsx = json_object_get(json, "nsx");
    int ret;

    if (!nsx) {
        return 0;
    }
    ret = neff_get_u32(r, nsx, where, "version", UINT32_MAX, 0, &engine->nsx_version);
    if (ret < 0) {
        return ret;
    }
    if (engine->nsx_version == 0) {
        return BAD(r, "%s: nsx has no version", where);
    }
    if (engine->nsx_version > NTK_ISA_VERSION) {
        return ntk_err_set(r->err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "%s: unsupported instruction encoding %u (supported: %d)", where,
                           engine->nsx_version, NTK_ISA_VERSION);
    }
    return neff_get_texts(r, nsx, where, "names", &engine->names, &engine->name_count);
}

static int read_engine_json(struct reader *r, const struct ntk_neff_subgraph *subgraph,
                            struct ntk_map *vars, struct ntk_neff_engine *engine)
{
    const char *where = neff_join(r, subgraph->folder, engine->json_name);
    struct group_reader g = { r, subgraph, vars, where, 0 };
    struct ntk_json_list list;
    const char *text;
    size_t bytes;
    size_t count;
    json_t *json;
    int ret;

    if (!where) {
        return NO_MEMORY(r);
    }
    ret = neff_load_json_apart(r, where, "dma", &json, &list);
    if (ret < 0) {
        return ret;
    }
    if ((ret = read_nsx(r, json, where, engine)) < 0 ||
        (ret = neff_get_u32(r, json, where, "act_semaphore", NTK_ISA_SEMAPHORES - 1, NTK_NEFF_NONE,
                            &engine->act_semaphore)) < 0 ||
        (ret = neff_get_texts(r, json, where, "activation_function_sets", &engine->sets,
                              &engine->set_count)) < 0 ||
        (ret = neff_get_text(r, json, where, "act_info", NULL, &engine->act_info_name)) < 0 ||
        (ret = neff_read_tables(r, json, where, subgraph->folder, engine)) < 0) {
        goto out;
    }
    if (!list.text && json_object_get(json, "dma")) {
        ret = BAD(r, "%s: dma must be a list", where);
        goto out;
    }
    count = list.text ? ntk_json_list_count(&list) : 0;
    engine->groups = count <= ARRAY_MAX ? neff_keep(r, count, sizeof *engine->groups) : NULL;
    if (!engine->groups) {
        ret = count <= ARRAY_MAX
                  ? NO_MEMORY(r)
                  : BAD(r, "%s: dma has %zu elements (at most %d)", where, count, ARRAY_MAX);
        goto out;
    }
    while (list.text && ntk_json_list_next(&list, &text, &bytes)) {
        ret = neff_read_group(&g, text, bytes, &engine->groups[engine->group_count]);
        if (ret < 0) {
            goto out;
        }
        engine->group_count++;
    }
    ret = neff_check_triggers(&g, engine);

out:
    neff_json_drop(r, json);
    return ret;
}

static int read_engine(struct reader *r, struct ntk_neff_subgraph *subgraph, const json_t *def,
                       struct ntk_map *vars, int index)
{
    struct ntk_neff_engine *engine = &subgraph->engines[index];
    const struct ntk_neff_member *member;
    const char *path;
    int ret;

    engine->is_empty = true;
    engine->act_semaphore = NTK_NEFF_NONE;
    if ((ret = neff_get_text(r, def, subgraph->name, neff_engine_keys[index], NULL,
                             &engine->json_name)) < 0 ||
        (ret = neff_get_text(r, def, subgraph->name, engine_code_keys[index], NULL,
                             &engine->binary_name)) < 0) {
        return ret;
    }
    if (engine->json_name) {
        ret = read_engine_json(r, subgraph, vars, engine);
        if (ret < 0) {
            return ret;
        }
    }
    if (!engine->binary_name) {
        return 0;
    }
    path = neff_join(r, subgraph->folder, engine->binary_name);
    if (!path) {
        return NO_MEMORY(r);
    }
    member = ntk_neff_member_get(r->neff, path);
    if (!member) {
        return BAD(r, "the archive has no %s", path);
    }
    if (!member->bytes && !r->leave_code) {
        return BAD(r, "%s was not read (%zu bytes), because no other member refers to it", path,
                   member->bytes_count);
    }
    if (member->bytes_count % NTK_ISA_SLOT_BYTES != 0) {
        return BAD(r, "%s: %zu bytes are not a whole number of instructions", path,
                   member->bytes_count);
    }
    engine->code = member->bytes;
    engine->code_bytes = member->bytes_count;
    engine->is_empty = member->bytes ? neff_is_all_zero(member->bytes, member->bytes_count)
                                     : !ntk_map_get(&r->data->filled, member->name);
    if (!engine->is_empty && engine->nsx_version == 0) {
        r->neff->is_vendor = true;
    }
    return 0;
}

/* ---- act_info.json, tensor_map.json and the rest of a subgraph ---- */

static int read_act_info(struct reader *r, struct ntk_neff_subgraph *subgraph)
{
    const char *name = subgraph->engines[NTK_ISA_ENGINE_ACT].act_info_name;
    const char *path;
    const json_t *list;
    json_t *json;
    int ret;

    if (!name) {
        return 0;
    }
    path = neff_join(r, subgraph->folder, name);
    if (!path) {
        return NO_MEMORY(r);
    }
    if (!ntk_neff_member_get(r->neff, path)) {
        return 0;
    }
    ret = neff_load_json(r, path, &json);
    if (ret < 0) {
        return ret;
    }
    ret = neff_get_array(r, json, path, "act_func_sets", false, 4096, &list,
                         &subgraph->act_set_count);
    if (ret < 0) {
        goto out;
    }
    subgraph->act_sets = neff_keep(r, subgraph->act_set_count, sizeof *subgraph->act_sets);
    if (!subgraph->act_sets) {
        ret = NO_MEMORY(r);
        goto out;
    }
    for (uint32_t i = 0; i < subgraph->act_set_count; i++) {
        struct ntk_neff_act_set *set = &subgraph->act_sets[i];
        json_t *functions = json_object_get(json_array_get(list, i), "act");
        const char *key;
        json_t *value;

        ret = neff_get_text(r, json_array_get(list, i), path, "name", "", &set->name);
        if (ret < 0) {
            goto out;
        }
        set->functions = neff_keep(r, json_object_size(functions), sizeof *set->functions);
        if (!set->functions) {
            ret = NO_MEMORY(r);
            goto out;
        }
        json_object_foreach(functions, key, value)
        {
            struct ntk_neff_act_function *function = &set->functions[set->function_count++];
            int64_t number;

            function->name = neff_keep_text(r, key);
            if (!function->name) {
                ret = NO_MEMORY(r);
                goto out;
            }
            function->bucket_count =
                neff_number_of(value, &number) && number >= 0 && number <= UINT32_MAX
                    ? (uint32_t)number
                    : 0;
        }
    }

out:
    neff_json_drop(r, json);
    return ret;
}

static int read_tensor_map(struct reader *r, struct ntk_neff_subgraph *subgraph)
{
    const char *path = neff_join(r, subgraph->folder, "tensor_map.json");
    const char *name;
    json_t *value;
    json_t *json;
    int ret = 0;

    if (!path) {
        return NO_MEMORY(r);
    }
    if (!ntk_neff_member_get(r->neff, path)) {
        return 0;
    }
    ret = neff_load_json(r, path, &json);
    if (ret < 0) {
        return ret;
    }
    subgraph->mapped = neff_keep(r, json_object_size(json), sizeof *subgraph->mapped);
    if (!subgraph->mapped) {
        ret = NO_MEMORY(r);
        goto out;
    }
    json_object_foreach(json, name, value)
    {
        struct ntk_neff_mapped_tensor *tensor = &subgraph->mapped[subgraph->mapped_count];
        bool ok;

        if (!json_is_object(value)) {
            continue;
        }
        subgraph->mapped_count++;
        tensor->name = neff_keep_text(r, name);
        if (!tensor->name) {
            ret = NO_MEMORY(r);
            goto out;
        }
        if ((ret = neff_get_text(r, value, path, "dtype", "", &tensor->dtype)) < 0 ||
            (ret = neff_get_text(r, value, path, "kind", "", &tensor->kind)) < 0 ||
            (ret = neff_get_text(r, value, path, "layer_name", "", &tensor->layer_name)) < 0 ||
            (ret = neff_get_text(r, value, path, "sim_format", "", &tensor->format)) < 0) {
            goto out;
        }
        tensor->is_const = neff_is_true(json_object_get(value, "is_const"));
        tensor->dim_count = neff_read_dims(json_object_get(value, "sim_shape"), tensor->dims, &ok);
    }

out:
    neff_json_drop(r, json);
    return ret;
}

static int read_reservations(struct reader *r, struct ntk_neff_subgraph *subgraph,
                             const json_t *def)
{
    const char *what = "runtime_statebuffer_reservation";
    const json_t *list;
    int ret = neff_get_array(r, def, subgraph->name, what, false, 4096, &list,
                             &subgraph->reservation_count);

    if (ret < 0) {
        return ret;
    }
    subgraph->reservations =
        neff_keep(r, subgraph->reservation_count, sizeof *subgraph->reservations);
    if (!subgraph->reservations) {
        return NO_MEMORY(r);
    }
    for (uint32_t i = 0; i < subgraph->reservation_count; i++) {
        struct ntk_neff_reservation *reservation = &subgraph->reservations[i];
        const json_t *json = json_array_get(list, i);

        if ((ret = neff_get_text(r, json, what, "type", "", &reservation->type)) < 0 ||
            (ret = neff_get_u32(r, json, what, "base_partition", NTK_ISA_PARTITIONS, 0,
                                &reservation->base_partition)) < 0 ||
            (ret = neff_get_u32(r, json, what, "partitions", NTK_ISA_PARTITIONS, 0,
                                &reservation->partition_count)) < 0 ||
            (ret = neff_get_u64(r, json, what, "offset", VALUE_MAX, 0, &reservation->offset)) < 0 ||
            (ret = neff_get_u64(r, json, what, "size", VALUE_MAX, 0, &reservation->bytes_count)) <
                0) {
            return ret;
        }
    }
    return 0;
}

static void read_fp8(const json_t *def, struct ntk_neff_fp8_config *fp8)
{
    const json_t *json = json_object_get(def, "fp8_conversion_config");
    int64_t number;

    if (!json_is_object(json)) {
        return;
    }
    *fp8 = (struct ntk_neff_fp8_config){
        .present = true, .emax_e4m3 = 8, .emax_e5m2 = 15, .ocp_saturation = true
    };
    if (neff_number_of(json_object_get(json, "emax_fp8_e4m3"), &number)) {
        fp8->emax_e4m3 = (int32_t)number;
    }
    if (neff_number_of(json_object_get(json, "emax_fp8_e5m2"), &number)) {
        fp8->emax_e5m2 = (int32_t)number;
    }
    fp8->range_extension = neff_is_true(json_object_get(json, "fp8_range_extension"));
    fp8->sis = neff_is_true(json_object_get(json, "fp8_sis"));
    fp8->sns = neff_is_true(json_object_get(json, "fp8_sns"));
    if (json_object_get(json, "ocp_sat")) {
        fp8->ocp_saturation = neff_is_true(json_object_get(json, "ocp_sat"));
    }
}

int neff_read_subgraph(struct reader *r, const json_t *row, const char *where,
                       struct ntk_neff_subgraph *subgraph)
{
    struct ntk_map vars = { 0 };
    const char *definition;
    const char *slash;
    json_t *def = NULL;
    char *folder;
    int ret;

    if ((ret = neff_get_text(r, row, where, "name", "", &subgraph->name)) < 0 ||
        (ret = neff_get_text(r, row, where, "definition", NULL, &definition)) < 0) {
        return ret;
    }
    if (!definition) {
        return BAD(r, "%s: the graph has no definition", where);
    }
    slash = strrchr(definition, '/');
    folder = neff_keep(r, strlen(definition) + 1, 1);
    if (!folder) {
        return NO_MEMORY(r);
    }
    if (slash) {
        memcpy(folder, definition, (size_t)(slash - definition));
    }
    subgraph->folder = folder;

    ret = neff_load_json(r, definition, &def);
    if (ret < 0) {
        return ret;
    }
    if ((ret = neff_get_text(r, def, definition, "version", "", &subgraph->version)) < 0 ||
        (ret = neff_read_vars(r, subgraph, def)) < 0 ||
        (ret = neff_read_queue_sets(r, subgraph, def)) < 0) {
        goto out;
    }
    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        if (ntk_map_put(&vars, subgraph->vars[i].name, &subgraph->vars[i]) < 0) {
            ret = NO_MEMORY(r);
            goto out;
        }
    }
    for (int i = 0; i < NTK_ISA_ENGINE_COUNT; i++) {
        ret = read_engine(r, subgraph, def, &vars, i);
        if (ret < 0) {
            goto out;
        }
    }
    if ((ret = neff_get_texts(r, def, definition, "neff_features", &subgraph->features,
                              &subgraph->feature_count)) < 0 ||
        (ret = neff_get_u32(r, def, definition, "runtime_event_count", NTK_ISA_EVENTS, 0,
                            &subgraph->runtime_event_count)) < 0 ||
        (ret = neff_get_u32(r, def, definition, "runtime_semaphore_count", NTK_ISA_SEMAPHORES, 0,
                            &subgraph->runtime_semaphore_count)) < 0 ||
        (ret = neff_get_u32(r, json_object_get(def, "cc_streams"), definition, "num_streams",
                            UINT32_MAX, 0, &subgraph->cc_stream_count)) < 0 ||
        (ret = read_reservations(r, subgraph, def)) < 0 || (ret = read_act_info(r, subgraph)) < 0 ||
        (ret = read_tensor_map(r, subgraph)) < 0) {
        goto out;
    }
    read_fp8(def, &subgraph->fp8);

out:
    ntk_map_fini(&vars);
    neff_json_drop(r, def);
    return ret;
}
