/* SPDX-License-Identifier: MIT */
/* neff_read_tables - reads dve_tables, a compiler's additional data for the vector engine. */
#include "shared/formats/neff/neff_read_private.h"

#include <string.h>

/* Maximum number of files. Older compilers write control_table where later ones write a fast and a
 * slow table. */
#define TABLES_MAX 64

static int read_table(struct reader *r, const char *where, const char *folder, const char *key,
                      const json_t *value, struct ntk_neff_table *table)
{
    const struct ntk_neff_member *member;
    const char *path;

    if (!json_is_string(value)) {
        return BAD(r, "%s: %s of dve_tables has no file", where, key);
    }
    path = neff_join(r, folder, json_string_value(value));
    table->key = neff_keep_text(r, key);
    if (!path || !table->key) {
        return NO_MEMORY(r);
    }
    member = ntk_neff_member_get(r->neff, path);
    if (!member) {
        return BAD(r, "%s: the archive has no %s for %s", where, path, key);
    }
    table->member = member->name;
    table->bytes_count = member->bytes_count;
    return 0;
}

static bool is_known(const struct ntk_neff_engine *engine, const char *key)
{
    for (uint32_t i = 0; i < engine->table_count; i++) {
        if (strcmp(engine->tables[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

int neff_read_tables(struct reader *r, const json_t *json, const char *where, const char *folder,
                     struct ntk_neff_engine *engine)
{
    const json_t *list;
    uint32_t count;
    size_t table_count = 0;
    int ret = neff_get_array(r, json, where, "dve_tables", false, TABLES_MAX, &list, &count);

    for (uint32_t i = 0; i < count && ret == 0; i++) {
        if (!json_is_object(json_array_get(list, i))) {
            ret = BAD(r, "%s: dve_tables[%u] is not an object", where, i);
        }
        table_count += json_object_size(json_array_get(list, i));
    }
    if (ret == 0 && table_count > TABLES_MAX) {
        ret = BAD(r, "%s: %zu tables (at most %d)", where, table_count, TABLES_MAX);
    }
    if (ret < 0) {
        return ret;
    }
    engine->tables = neff_keep(r, table_count, sizeof *engine->tables);
    if (!engine->tables) {
        return NO_MEMORY(r);
    }
    for (uint32_t i = 0; i < count; i++) {
        json_t *object = json_array_get(list, i);
        const char *key;
        json_t *value;

        json_object_foreach(object, key, value)
        {
            if (is_known(engine, key)) {
                return BAD(r, "%s: duplicate table '%s'", where, key);
            }
            ret = read_table(r, where, folder, key, value, &engine->tables[engine->table_count]);
            if (ret < 0) {
                return ret;
            }
            engine->table_count++;
        }
    }
    return 0;
}
