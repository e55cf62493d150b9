/* SPDX-License-Identifier: MIT */
/* neff_read_vars - reads the variables and queues of a program from its def.json, and constants. */
#include "shared/formats/neff/neff_read_private.h"

#include <string.h>

#include "shared/base/order.h"
#include "shared/base/str.h"

static const char *const var_type_names[] = {
    [NTK_NEFF_VAR_STATE_BUFFER] = "state-buffer",
    [NTK_NEFF_VAR_INPUT] = "input",
    [NTK_NEFF_VAR_OUTPUT] = "output",
    [NTK_NEFF_VAR_FILE] = "file",
    [NTK_NEFF_VAR_TMP_BUF] = "tmp-buf",
    [NTK_NEFF_VAR_VIRTUAL] = "virtual",
    [NTK_NEFF_VAR_POINTER] = "pointer",
    [NTK_NEFF_VAR_DGE_TABLE] = "dge-table",
};
static const char *const queue_type_names[] = {
    [NTK_NEFF_QUEUE_IN] = "in",           [NTK_NEFF_QUEUE_OUT] = "out",
    [NTK_NEFF_QUEUE_DATA] = "data",       [NTK_NEFF_QUEUE_EMBEDDING_UPDATE] = "embedding_update",
    [NTK_NEFF_QUEUE_DYNAMIC] = "dynamic",
};

static int is_alt_fabric(struct reader *r, const json_t *json, const char *what, bool *out_alt)
{
    const char *fabric;
    int ret = neff_get_text(r, json, what, "fabric_path", "main", &fabric);

    if (ret < 0) {
        return ret;
    }
    *out_alt = strcmp(fabric, "alt") == 0;
    if (!*out_alt && strcmp(fabric, "main") != 0) {
        return BAD(r, "%s: invalid fabric_path '%s': expected main or alt", what, fabric);
    }
    return 0;
}

/* Checks the fields that belong to one type of variable; other types must not have them. */
static int check_own_fields(struct reader *r, const struct ntk_neff_subgraph *subgraph,
                            const json_t *json, const struct ntk_neff_var *var)
{
    static const struct {
        const char *key;
        enum ntk_neff_var_type type;
    } own[] = {
        { "file_name", NTK_NEFF_VAR_FILE },
        { "backing_variable_off", NTK_NEFF_VAR_VIRTUAL },
        { "referenced_var_id", NTK_NEFF_VAR_POINTER },
        { "list", NTK_NEFF_VAR_DGE_TABLE },
    };

    for (size_t i = 0; i < COUNT_OF(own); i++) {
        const json_t *value = json_object_get(json, own[i].key);

        if (value && !json_is_null(value) && var->type != own[i].type) {
            return BAD(r, "%s: variable '%s' has %s, which belongs to type '%s', not '%s'",
                       subgraph->name, var->name, own[i].key, var_type_names[own[i].type],
                       var_type_names[var->type]);
        }
    }
    return 0;
}

int neff_read_constant(struct reader *r, const char *where, const char *folder,
                       struct ntk_neff_var *var)
{
    const struct ntk_neff_member *member;
    struct ntk_neff_npy npy;
    const char *path;
    int ret;

    if (!var->file_name) {
        return BAD(r, "%s: constant '%s' has no file", where, var->name);
    }
    path = neff_join(r, folder, var->file_name);
    if (!path) {
        return NO_MEMORY(r);
    }
    member = ntk_neff_member_get(r->neff, path);
    if (!member) {
        return BAD(r, "%s: the archive has no %s for constant '%s'", where, path, var->name);
    }
    var->member = path;
    if (!member->bytes) {
        var->data_bytes = var->bytes_count;
        return 0;
    }
    var->data = member->bytes;
    var->data_bytes = member->bytes_count;
    /* If the member landed, its header was read then. */
    if (ntk_str_ends_with(var->file_name, ".npy") && !member->is_landed) {
        ret = ntk_neff_npy_read(member->bytes, member->bytes_count, &npy, r->err);
        if (ret < 0) {
            ntk_err_prefix(r->err, "%s", path);
            return ret;
        }
        var->data = npy.data;
        var->data_bytes = npy.data_bytes;
    }
    var->bytes_count = var->bytes_count > 0 ? var->bytes_count : var->data_bytes;
    if (var->data_bytes != var->bytes_count) {
        return BAD(r, "%s: constant '%s' has %llu bytes, but its file has %llu", where, var->name,
                   (unsigned long long)var->bytes_count, (unsigned long long)var->data_bytes);
    }
    if (r->leave_constants) {
        var->data = NULL;
    }
    return 0;
}

struct kind {
    const char *name;
    const char *const *types;
    size_t type_count;
};

static const struct kind variable_kind = { "variable", var_type_names, COUNT_OF(var_type_names) };
static const struct kind queue_set_kind = { "queue set", queue_type_names,
                                            COUNT_OF(queue_type_names) };

/* Reads the common part of variables and queue sets: a kept name, an object, a type from a
 * table. */
static int read_head(struct reader *r, const struct ntk_neff_subgraph *subgraph,
                     const struct kind *kind, const char *name, const json_t *json,
                     const char **out_name, int *out_type)
{
    const char *type;
    int ret;

    *out_name = neff_keep_text(r, name);
    if (!*out_name) {
        return NO_MEMORY(r);
    }
    if (!json_is_object(json)) {
        return BAD(r, "%s: %s '%s' is not an object", subgraph->name, kind->name, name);
    }
    ret = neff_get_text(r, json, name, "type", "", &type);
    if (ret < 0) {
        return ret;
    }
    *out_type = neff_lookup(type, kind->types, kind->type_count);
    if (*out_type < 0) {
        return BAD(r, "%s: %s '%s' has the unknown type '%s'", subgraph->name, kind->name, name,
                   type);
    }
    return 0;
}

static int read_var(struct reader *r, const struct ntk_neff_subgraph *subgraph, const char *name,
                    const json_t *json, struct ntk_neff_var *var)
{
    const json_t *list;
    int type;
    int ret;

    ret = read_head(r, subgraph, &variable_kind, name, json, &var->name, &type);
    if (ret < 0) {
        return ret;
    }
    var->type = (enum ntk_neff_var_type)type;
    if (!json_object_get(json, "var_id")) {
        return BAD(r, "%s: variable '%s' has no var_id", subgraph->name, name);
    }
    if ((ret = neff_get_u32(r, json, name, "var_id", UINT32_MAX - 1, 0, &var->var_id)) < 0 ||
        (ret = neff_get_u64(r, json, name, "size", VALUE_MAX, 0, &var->bytes_count)) < 0 ||
        (ret = neff_get_u64(r, json, name, "alignment", VALUE_MAX, 0, &var->alignment)) < 0 ||
        (ret = is_alt_fabric(r, json, name, &var->alt_fabric)) < 0 ||
        (ret = neff_get_text(r, json, name, "file_name", NULL, &var->file_name)) < 0 ||
        (ret = neff_get_u64(r, json, name, "backing_variable_off", VALUE_MAX, 0,
                            &var->backing_offset)) < 0 ||
        (ret = neff_get_u32(r, json, name, "referenced_var_id", UINT32_MAX - 1, NTK_NEFF_NONE,
                            &var->referenced_var_id)) < 0 ||
        (ret = neff_get_array(r, json, name, "list", false, ARRAY_MAX, &list, &var->list_count)) <
            0) {
        return ret;
    }
    ret = check_own_fields(r, subgraph, json, var);
    if (ret < 0) {
        return ret;
    }
    if ((var->alignment & (var->alignment - 1)) != 0) {
        return BAD(r, "%s: variable '%s': alignment %llu is not a power of two", subgraph->name,
                   name, (unsigned long long)var->alignment);
    }
    if (!json_object_get(json, "size") && var->type != NTK_NEFF_VAR_STATE_BUFFER &&
        var->type != NTK_NEFF_VAR_DGE_TABLE) {
        return BAD(r, "%s: variable '%s' has no size", subgraph->name, name);
    }
    if (var->list_count > 0) {
        var->list = neff_keep(r, var->list_count, sizeof *var->list);
        if (!var->list) {
            return NO_MEMORY(r);
        }
        for (uint32_t i = 0; i < var->list_count; i++) {
            int64_t number;

            if (!neff_number_of(json_array_get(list, i), &number) || number < 0 ||
                number >= UINT32_MAX) {
                return BAD(r, "%s: the list of %s contains an invalid var_id", subgraph->name,
                           name);
            }
            var->list[i] = (uint32_t)number;
        }
    }
    return var->type == NTK_NEFF_VAR_FILE
               ? neff_read_constant(r, subgraph->name, subgraph->folder, var)
               : 0;
}

NTK_ORDER(compare_places, struct ntk_neff_var_place, NTK_UP(var_id));

/* Indexes the variables, because programs look them up once per instruction. */
static int index_vars(struct reader *r, struct ntk_neff_subgraph *subgraph)
{
    struct ntk_neff_var_place *places = neff_keep(r, subgraph->var_count, sizeof *places);

    if (!places) {
        return NO_MEMORY(r);
    }
    for (uint32_t v = 0; v < subgraph->var_count; v++) {
        places[v] = (struct ntk_neff_var_place){ subgraph->vars[v].var_id, v };
        if (subgraph->vars[v].type == NTK_NEFF_VAR_DGE_TABLE) {
            subgraph->dge_table = v;
            subgraph->dge_table_count++;
        }
    }
    qsort(places, subgraph->var_count, sizeof *places, compare_places);
    subgraph->vars_by_id = places;
    return 0;
}

int neff_read_vars(struct reader *r, struct ntk_neff_subgraph *subgraph, const json_t *def)
{
    json_t *vars = json_object_get(def, "var");
    struct ntk_map ids = { 0 };
    const char *name;
    json_t *value;
    int ret = 0;

    if (!json_is_object(vars)) {
        return BAD(r, "%s: the definition has no variables", subgraph->name);
    }
    subgraph->vars = neff_keep(r, json_object_size(vars), sizeof *subgraph->vars);
    if (!subgraph->vars) {
        return NO_MEMORY(r);
    }
    json_object_foreach(vars, name, value)
    {
        struct ntk_neff_var *var = &subgraph->vars[subgraph->var_count];

        ret = read_var(r, subgraph, name, value, var);
        if (ret < 0) {
            goto out;
        }
        if (ntk_map_get_number(&ids, var->var_id)) {
            ret = BAD(r, "%s: duplicate var_id %u", subgraph->name, var->var_id);
            goto out;
        }
        if (ntk_map_put_number(&ids, var->var_id, var) < 0) {
            ret = NO_MEMORY(r);
            goto out;
        }
        subgraph->var_count++;
    }
    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        const struct ntk_neff_var *var = &subgraph->vars[i];

        if (var->type == NTK_NEFF_VAR_POINTER &&
            !ntk_map_get_number(&ids, var->referenced_var_id)) {
            ret =
                BAD(r, "%s: pointer '%s' refers to an unknown variable", subgraph->name, var->name);
            goto out;
        }
        for (uint32_t k = 0; k < var->list_count; k++) {
            if (!ntk_map_get_number(&ids, var->list[k])) {
                ret =
                    BAD(r, "%s: table %s refers to an unknown variable", subgraph->name, var->name);
                goto out;
            }
        }
    }
    ret = index_vars(r, subgraph);

out:
    ntk_map_fini(&ids);
    return ret;
}

static int read_semaphores(struct reader *r, const struct ntk_neff_subgraph *subgraph,
                           const json_t *json, struct ntk_neff_queue_set *set)
{
    const json_t *list;
    uint32_t count;
    uint32_t one;
    int ret = neff_get_array(r, json, set->name, "semaphore_set", false, NTK_NEFF_QUEUES_MAX, &list,
                             &count);

    if (ret < 0) {
        return ret;
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t number;

        if (!neff_number_of(json_array_get(list, i), &number) || number < 0 ||
            number >= NTK_ISA_SEMAPHORES) {
            return BAD(r, "%s: queue set '%s' refers to an unknown semaphore", subgraph->name,
                       set->name);
        }
        set->semaphores[i] = (uint16_t)number;
    }
    set->semaphore_count = count;
    ret =
        neff_get_u32(r, json, set->name, "semaphore", NTK_ISA_SEMAPHORES - 1, NTK_NEFF_NONE, &one);
    if (ret == 0 && count == 0 && one != NTK_NEFF_NONE) {
        set->semaphores[0] = (uint16_t)one;
        set->semaphore_count = 1;
    }
    return ret;
}

static int read_queue_set(struct reader *r, const struct ntk_neff_subgraph *subgraph,
                          const char *name, const json_t *json, struct ntk_neff_queue_set *set)
{
    const json_t *dynamic;
    const char *text;
    int index;
    int ret;

    ret = read_head(r, subgraph, &queue_set_kind, name, json, &set->name, &index);
    if (ret < 0) {
        return ret;
    }
    set->type = (enum ntk_neff_queue_type)index;
    ret = neff_get_text(r, json, name, "owner", NULL, &text);
    if (ret < 0) {
        return ret;
    }
    set->owner = NTK_NEFF_NONE;
    if (text) {
        index = neff_lookup(text, neff_engine_keys, NTK_ISA_ENGINE_COUNT);
        if (index < 0) {
            return BAD(r, "%s: queue set '%s' has an unknown engine: '%s'", subgraph->name, name,
                       text);
        }
        set->owner = (uint32_t)index;
    }
    if ((ret = neff_get_u32(r, json, name, "num_queues", NTK_NEFF_QUEUES_MAX, 1,
                            &set->queue_count)) < 0 ||
        (ret = read_semaphores(r, subgraph, json, set)) < 0 ||
        (ret = is_alt_fabric(r, json, name, &set->alt_fabric)) < 0 ||
        (ret = neff_get_texts(r, json, name, "queue_instances", &set->instances,
                              &set->instance_count)) < 0) {
        return ret;
    }
    if (set->queue_count == 0) {
        return BAD(r, "%s: queue set '%s' has no queue", subgraph->name, name);
    }
    set->pinned = neff_is_true(json_object_get(json, "pinned"));
    dynamic = json_object_get(json, "dynamic_dma");
    if (!dynamic) {
        return 0;
    }
    ret = neff_get_u64(r, dynamic, name, "SB_scratch_partition_offset", VALUE_MAX, 0,
                       &set->sbuf_scratch_offset);
    if (ret == 0) {
        ret = neff_get_u64(r, dynamic, name, "SB_scratch_partition_size", VALUE_MAX, 0,
                           &set->sbuf_scratch_bytes);
    }
    return ret;
}

int neff_read_queue_sets(struct reader *r, struct ntk_neff_subgraph *subgraph, const json_t *def)
{
    json_t *sets = json_object_get(def, "dma_queue");
    struct ntk_map instances = { 0 };
    const char *name;
    json_t *value;
    int ret = 0;

    if (!sets) {
        return 0;
    }
    if (!json_is_object(sets)) {
        return BAD(r, "%s: dma_queue is not an object", subgraph->name);
    }
    subgraph->queue_sets = neff_keep(r, json_object_size(sets), sizeof *subgraph->queue_sets);
    if (!subgraph->queue_sets) {
        return NO_MEMORY(r);
    }
    json_object_foreach(sets, name, value)
    {
        struct ntk_neff_queue_set *set = &subgraph->queue_sets[subgraph->queue_set_count];

        ret = read_queue_set(r, subgraph, name, value, set);
        for (uint32_t i = 0; ret == 0 && i < set->instance_count; i++) {
            if (ntk_map_get(&instances, set->instances[i])) {
                ret =
                    BAD(r, "%s: duplicate queue instance '%s'", subgraph->name, set->instances[i]);
            } else if (ntk_map_put(&instances, set->instances[i], set) < 0) {
                ret = NO_MEMORY(r);
            }
        }
        if (ret < 0) {
            goto out;
        }
        subgraph->queue_set_count++;
    }

out:
    ntk_map_fini(&instances);
    return ret;
}
