/* SPDX-License-Identifier: MIT */
/*
 * attach_tensors - the tensors of an attached process, and their memory in its segment.
 *
 * Slices share the memory of the tensor they were made of; it is freed with the last of them.
 * Telling of a tensor twice, or of the end of one that is unknown, changes nothing: so what was
 * lost on the way can be made good from a list of those that live.
 *
 * Owner:   caller's storage, zeroed; _fini frees.
 * Threads: one at a time, the one that writes the segment.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_TENSORS_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_TENSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/attach/attach_events.h"
struct ntk_attach_tensor_entry;

struct ntk_attach_tensors {
    void *by_handle; /* trees of <search.h> */
    void *storages;
    struct ntk_attach_tensor_entry *first; /* of all tensors */
    uint64_t round;
    uint64_t refused; /* no memory to keep them */
};

void ntk_attach_tensors_fini(struct ntk_attach_tensors *tensors);
/* core: the physical one of tensor->vnc, or NTK_NO_CORE. */
void ntk_attach_tensors_add(struct ntk_attach_tensors *tensors, uint64_t handle,
                            const struct ntk_attach_tensor *tensor, uint16_t core,
                            const char *name);
void ntk_attach_tensors_remove(struct ntk_attach_tensors *tensors, uint64_t handle, uint64_t id);
/* All that are older. */
void ntk_attach_tensors_remove_before(struct ntk_attach_tensors *tensors, uint64_t id);

/* Making good: _begin, _add and _see for each that lives, _end removes the others that is_alive
 * (may be NULL) does not know. */
void ntk_attach_tensors_begin(struct ntk_attach_tensors *tensors);
void ntk_attach_tensors_see(struct ntk_attach_tensors *tensors, uint64_t handle, uint64_t id);
void ntk_attach_tensors_end(struct ntk_attach_tensors *tensors,
                            bool (*is_alive)(uint64_t handle, uint64_t id, void *ctx), void *ctx);

#endif
