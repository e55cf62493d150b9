/* SPDX-License-Identifier: MIT */
/* map - maps a text or a number to a pointer, in order of insertion. */
#include "shared/base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/hash.h"

static size_t first_slot(const struct ntk_map *map, uint64_t number)
{
    return (size_t)ntk_hash_number(number) & (map->slot_count - 1);
}

static int same_key(const struct ntk_map_entry *entry, const char *key, uint64_t number)
{
    if (entry->number != number || !entry->key != !key) {
        return 0;
    }
    return !key || strcmp(entry->key, key) == 0;
}

static struct ntk_map_entry *find(const struct ntk_map *map, const char *key, uint64_t number)
{
    if (!map->count) {
        return NULL;
    }
    for (size_t slot = first_slot(map, number); map->slots[slot];
         slot = (slot + 1) & (map->slot_count - 1)) {
        struct ntk_map_entry *entry = &map->entries[map->slots[slot] - 1];
        if (same_key(entry, key, number)) {
            return entry;
        }
    }
    return NULL;
}

static void index_all(struct ntk_map *map)
{
    memset(map->slots, 0, map->slot_count * sizeof *map->slots);
    for (size_t i = 0; i < map->count; i++) {
        size_t slot = first_slot(map, map->entries[i].number);
        while (map->slots[slot]) {
            slot = (slot + 1) & (map->slot_count - 1);
        }
        map->slots[slot] = (uint32_t)(i + 1);
    }
}

static int grow(struct ntk_map *map)
{
    size_t capacity = map->capacity ? map->capacity * 2 : 8;
    struct ntk_map_entry *entries = realloc(map->entries, capacity * sizeof *entries);

    if (!entries) {
        return -ENOMEM;
    }
    map->entries = entries;
    uint32_t *slots = realloc(map->slots, capacity * 2 * sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    map->slots = slots;
    map->capacity = capacity;
    map->slot_count = capacity * 2;
    index_all(map);
    return 0;
}

static int put(struct ntk_map *map, const char *key, uint64_t number, void *value)
{
    struct ntk_map_entry *entry = find(map, key, number);

    if (entry) {
        entry->value = value;
        return 0;
    }
    if (map->count == map->capacity && grow(map) < 0) {
        return -ENOMEM;
    }
    char *own_key = NULL;
    if (key) {
        own_key = strdup(key);
        if (!own_key) {
            return -ENOMEM;
        }
    }
    map->entries[map->count] = (struct ntk_map_entry){ own_key, number, value };
    map->count++;
    size_t slot = first_slot(map, number);
    while (map->slots[slot]) {
        slot = (slot + 1) & (map->slot_count - 1);
    }
    map->slots[slot] = (uint32_t)map->count;
    return 0;
}

static void *take(struct ntk_map *map, struct ntk_map_entry *entry)
{
    if (!entry) {
        return NULL;
    }
    void *value = entry->value;
    size_t index = (size_t)(entry - map->entries);
    free(entry->key);
    memmove(entry, entry + 1, (map->count - index - 1) * sizeof *entry);
    map->count--;
    index_all(map);
    return value;
}

void ntk_map_fini(struct ntk_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        free(map->entries[i].key);
    }
    free(map->entries);
    free(map->slots);
    *map = (struct ntk_map){ 0 };
}

int ntk_map_put(struct ntk_map *map, const char *key, void *value)
{
    return put(map, key, ntk_hash_text(key), value);
}

int ntk_map_put_number(struct ntk_map *map, uint64_t key, void *value)
{
    return put(map, NULL, key, value);
}

void *ntk_map_get(const struct ntk_map *map, const char *key)
{
    struct ntk_map_entry *entry = find(map, key, ntk_hash_text(key));

    return entry ? entry->value : NULL;
}

void *ntk_map_get_number(const struct ntk_map *map, uint64_t key)
{
    struct ntk_map_entry *entry = find(map, NULL, key);

    return entry ? entry->value : NULL;
}

void *ntk_map_remove(struct ntk_map *map, const char *key)
{
    return take(map, find(map, key, ntk_hash_text(key)));
}

void *ntk_map_remove_number(struct ntk_map *map, uint64_t key)
{
    return take(map, find(map, NULL, key));
}
