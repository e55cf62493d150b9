/* SPDX-License-Identifier: MIT */
/*
 * vec - a growing array of elements of one size.
 *
 *   struct ntk_vec points = NTK_VEC_INIT(struct point);
 *   struct point *p = ntk_vec_add(&points);              // zeroed, NULL if out of memory
 *   ntk_vec_each(struct point, q, &points) { ... }
 *
 * Owner:   caller's storage; ntk_vec_fini() frees. Pointers to elements are valid until the next
 *          add.
 * Threads: one at a time per vec.
 */
#ifndef NTK_SHARED_BASE_VEC_H
#define NTK_SHARED_BASE_VEC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_vec {
    void *items;
    size_t count;
    size_t capacity;
    size_t item_bytes;
};

#define NTK_VEC_INIT(type)       \
    {                            \
        NULL, 0, 0, sizeof(type) \
    }

void ntk_vec_init(struct ntk_vec *vec, size_t item_bytes);
void ntk_vec_fini(struct ntk_vec *vec);
/* Appends a zeroed element; if out of memory, returns NULL and leaves the vec unchanged. */
void *ntk_vec_add(struct ntk_vec *vec);
/* Appends count zeroed elements and returns the first, or NULL if out of memory. */
void *ntk_vec_add_many(struct ntk_vec *vec, size_t count);
/* Appends a copy. Returns 0 or -ENOMEM. */
int ntk_vec_push(struct ntk_vec *vec, const void *item);
/* index must be below count. */
void *ntk_vec_at(const struct ntk_vec *vec, size_t index);
void ntk_vec_remove(struct ntk_vec *vec, size_t index); /* keeps the order */
void ntk_vec_clear(struct ntk_vec *vec);                /* keeps the memory */
void ntk_vec_sort(struct ntk_vec *vec, int (*compare)(const void *a, const void *b));

/* type may be a pointer type. */
#define ntk_vec_each(type, name, vec)                                                           \
    for (type *name = (type *)(vec)->items; name && name < (type *)(vec)->items + (vec)->count; \
         name++)

#ifdef __cplusplus
}
#endif
#endif
