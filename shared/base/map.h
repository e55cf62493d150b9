/* SPDX-License-Identifier: MIT */
/*
 * map - maps a text or a number to a pointer, and keeps the order of insertion.
 *
 *   struct ntk_map map = { 0 };
 *   ntk_map_put(&map, "SB", variable);      // the key is copied; an old value is replaced
 *   struct variable *v = ntk_map_get(&map, "SB");
 *
 * Removal is O(n). Values are borrowed; the map never frees them.
 *
 * Owner:   caller's storage, a zeroed struct is an empty map; ntk_map_fini() frees.
 * Threads: one at a time per map.
 */
#ifndef NTK_SHARED_BASE_MAP_H
#define NTK_SHARED_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_map_entry {
    char *key;       /* NULL for a number key */
    uint64_t number; /* the number key, or the hash of the text key */
    void *value;
};

struct ntk_map {
    struct ntk_map_entry *entries; /* sorted by insertion */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* entry index + 1; 0 = free */
    size_t slot_count;
};

void ntk_map_fini(struct ntk_map *map);
/* Returns 0 or -ENOMEM. */
int ntk_map_put(struct ntk_map *map, const char *key, void *value);
int ntk_map_put_number(struct ntk_map *map, uint64_t key, void *value);
/* Returns NULL if the key is missing. */
void *ntk_map_get(const struct ntk_map *map, const char *key);
void *ntk_map_get_number(const struct ntk_map *map, uint64_t key);
/* Returns the removed value, or NULL if the key is missing. */
void *ntk_map_remove(struct ntk_map *map, const char *key);
void *ntk_map_remove_number(struct ntk_map *map, uint64_t key);

#define ntk_map_each(name, map)                       \
    for (struct ntk_map_entry *name = (map)->entries; \
         name && name < (map)->entries + (map)->count; name++)

#ifdef __cplusplus
}
#endif
#endif
