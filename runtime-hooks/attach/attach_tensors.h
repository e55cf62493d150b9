/* SPDX-License-Identifier: MIT */
/*
 * attach_tensors - the tensors of an attached process, and their memory in its segment.
 *
 * Slices share the memory of the tensor that they were made from; it is freed with the last of
 * them. Adding a tensor twice, or removing an unknown one, has no effect, so lost events can be
 * repaired from a list of living tensors.
 *
 * Owner:   caller's storage, zeroed; _fini frees.
 * Threads: one at a time, the thread that writes the segment.
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
    struct ntk_attach_tensor_entry *first; /* list of all tensors */
    uint64_t round;
    uint64_t refused; /* number of tensors not added because out of memory */
};

void ntk_attach_tensors_fini(struct ntk_attach_tensors *tensors);
/* core is the physical core of tensor->vnc, or NTK_NO_CORE. */
void ntk_attach_tensors_add(struct ntk_attach_tensors *tensors, uint64_t handle,
                            const struct ntk_attach_tensor *tensor, uint16_t core,
                            const char *name);
void ntk_attach_tensors_remove(struct ntk_attach_tensors *tensors, uint64_t handle, uint64_t id);
/* Removes all older tensors. */
void ntk_attach_tensors_remove_before(struct ntk_attach_tensors *tensors, uint64_t id);

/* Repairs lost events: call _begin, then _add and _see for each living tensor; _end removes the
 * others, except those that is_alive (may be NULL) accepts. */
void ntk_attach_tensors_begin(struct ntk_attach_tensors *tensors);
void ntk_attach_tensors_see(struct ntk_attach_tensors *tensors, uint64_t handle, uint64_t id);
void ntk_attach_tensors_end(struct ntk_attach_tensors *tensors,
                            bool (*is_alive)(uint64_t handle, uint64_t id, void *ctx), void *ctx);

#endif
