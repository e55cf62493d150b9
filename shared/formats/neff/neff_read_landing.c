/* SPDX-License-Identifier: MIT */
/*
 * neff_read_landing - detects the constants among the archive's members during inflation: by their
 * folder's def.json if it precedes them, which compilers ensure; otherwise every NumPy file is
 * treated as a constant.
 */
#include "shared/formats/neff/neff_read_private.h"

#include <string.h>

#include "shared/base/str.h"

struct neff_lander_constant {
    uint64_t bytes_count;
    uint64_t alignment;
};

/* Errors are ignored: the full reader reports the problem. If out of memory, the constants are
 * copied later. */
void neff_lander_note(struct neff_lander *lander, const struct ntk_neff_member *member)
{
    struct ntk_err *err = lander->r->err;
    struct reader *r = lander->r;
    const char *folder = neff_folder_of(r, member->name);
    json_t *def = NULL;
    json_t *var;
    const char *name;

    if (!folder || !lander->landing || !member->bytes ||
        ntk_map_get_number(&r->data->parsed, (uintptr_t)member->bytes)) {
        return;
    }
    r->err = NULL;
    (void)neff_parse(r, member, &def);
    r->err = err;
    if (!def || ntk_map_put_number(&r->data->parsed, (uintptr_t)member->bytes, def) < 0) {
        neff_json_drop(r, def);
        return;
    }
    json_object_foreach(json_object_get(def, "var"), name, var)
    {
        const char *type = json_string_value(json_object_get(var, "type"));
        const char *file = json_string_value(json_object_get(var, "file_name"));
        struct neff_lander_constant *constant;
        const char *path;
        int64_t number;

        if (!type || !file || strcmp(type, "file") != 0) {
            continue;
        }
        constant = neff_keep(r, 1, sizeof *constant);
        path = neff_join(r, folder, file);
        if (!constant || !path || ntk_map_put(&lander->constants, path, constant) < 0) {
            continue;
        }
        if (neff_number_of(json_object_get(var, "size"), &number) && number > 0) {
            constant->bytes_count = (uint64_t)number;
        }
        if (neff_number_of(json_object_get(var, "alignment"), &number) && number > 0) {
            constant->alignment = (uint64_t)number;
        }
    }
    (void)ntk_map_put(&lander->folders, folder, lander);
}

void neff_lander_land(struct neff_lander *lander, const struct ntk_tar_member *members,
                      size_t member_count, struct ntk_tar_landing *landing)
{
    bool is_array = ntk_str_ends_with(landing->name, ".npy");
    const struct neff_lander_constant *constant;
    struct ntk_neff_npy npy = { 0 };
    uint64_t bytes_count = landing->bytes_count;
    size_t head_bytes = 0;
    const char *folder;

    for (; lander->looked < member_count; lander->looked++) {
        const char *name = members[lander->looked].name;

        if (strcmp(name, "def.json") == 0 || ntk_str_ends_with(name, "/def.json")) {
            neff_lander_note(lander, (const struct ntk_neff_member *)&members[lander->looked]);
        }
    }
    if (ntk_str_ends_with(landing->name, ".json")) {
        return;
    }
    constant = ntk_map_get(&lander->constants, landing->name);
    folder = neff_folder_of(lander->r, landing->name);
    if (!constant && (!is_array || !folder || ntk_map_get(&lander->folders, folder))) {
        return;
    }
    if (is_array) {
        if (ntk_neff_npy_read_start(landing->start, landing->start_bytes, bytes_count, &npy,
                                    &head_bytes, NULL) < 0) {
            return;
        }
        bytes_count -= head_bytes;
    }
    /* Extra data after an array, or an array that does not fit its variable, is checked later. */
    if ((is_array && bytes_count != npy.data_bytes) ||
        (constant && bytes_count != constant->bytes_count) || bytes_count == 0) {
        return;
    }
    if (!neff_memory_has(lander->r, bytes_count)) {
        return;
    }
    landing->head_bytes = head_bytes;
    landing->bytes = lander->landing->take(lander->landing->ctx, landing->name, bytes_count,
                                           constant ? constant->alignment : 0, &landing->is_there);
    if (landing->bytes && !landing->is_there) {
        (void)neff_memory_take(lander->r, bytes_count);
    }
}

void neff_lander_fini(struct neff_lander *lander)
{
    ntk_map_fini(&lander->folders);
    ntk_map_fini(&lander->constants);
}
