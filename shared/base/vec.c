/* SPDX-License-Identifier: MIT */
/* vec - a growing array of elements of one size. */
#include "shared/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void ntk_vec_init(struct ntk_vec *vec, size_t item_bytes)
{
    *vec = (struct ntk_vec){ .item_bytes = item_bytes };
}

void ntk_vec_fini(struct ntk_vec *vec)
{
    free(vec->items);
    ntk_vec_init(vec, vec->item_bytes);
}

void *ntk_vec_add_many(struct ntk_vec *vec, size_t count)
{
    assert(vec->item_bytes > 0);
    if (count > SIZE_MAX / 2 / vec->item_bytes - vec->count) {
        return NULL;
    }
    if (vec->count + count > vec->capacity || !vec->items) {
        size_t capacity = vec->capacity ? vec->capacity : 8;
        while (capacity < vec->count + count) {
            capacity *= 2;
        }
        void *items = realloc(vec->items, capacity * vec->item_bytes);
        if (!items) {
            return NULL;
        }
        vec->items = items;
        vec->capacity = capacity;
    }
    void *first = (char *)vec->items + vec->count * vec->item_bytes;
    memset(first, 0, count * vec->item_bytes);
    vec->count += count;
    return first;
}

void *ntk_vec_add(struct ntk_vec *vec)
{
    return ntk_vec_add_many(vec, 1);
}

int ntk_vec_push(struct ntk_vec *vec, const void *item)
{
    void *added = ntk_vec_add(vec);

    if (!added) {
        return -ENOMEM;
    }
    memcpy(added, item, vec->item_bytes);
    return 0;
}

void *ntk_vec_at(const struct ntk_vec *vec, size_t index)
{
    assert(index < vec->count);
    return (char *)vec->items + index * vec->item_bytes;
}

void ntk_vec_remove(struct ntk_vec *vec, size_t index)
{
    char *item = ntk_vec_at(vec, index);

    memmove(item, item + vec->item_bytes, (vec->count - index - 1) * vec->item_bytes);
    vec->count--;
}

void ntk_vec_clear(struct ntk_vec *vec)
{
    vec->count = 0;
}

void ntk_vec_sort(struct ntk_vec *vec, int (*compare)(const void *a, const void *b))
{
    if (vec->count > 1) {
        qsort(vec->items, vec->count, vec->item_bytes, compare);
    }
}
