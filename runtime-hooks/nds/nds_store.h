/* SPDX-License-Identifier: MIT */
/*
 * nds_store - implements an instance of the datastore; private to this folder.
 *
 * An instance shows a segment (shared/abi/segment_abi.h) like the vendor's datastore. The segment
 * has one writer, the hooks, so values written through an instance stay in the instance, as a
 * difference to the live value of each counter. Handles are numbers, never addresses, so stale or
 * forged ones are detected.
 *
 * Owner:   the store owns an item while the item has a handle, afterwards the caller that took it.
 * Threads: every public call takes one lock; all functions below expect that the caller holds it.
 */
#ifndef NTK_RUNTIME_HOOKS_NDS_NDS_STORE_H
#define NTK_RUNTIME_HOOKS_NDS_NDS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nrt/nds/neuron_ds.h"
#include "shared/ring/ring_registry.h"

#define NDS_CORES (NDS_MAX_NEURONCORE_COUNT + NDS_EXT_MAX_NEURONCORE_COUNT)
#define NDS_HANDLES_MAX 65536u /* limit on simultaneous instances and objects */

struct nds_store {
    uint32_t device;
    bool own; /* true: segment of the calling process; false: segment found in the registry */
    bool writable;
    pid_t pid; /* if own: the process that found the segment */
    struct ntk_ring_registry *registry;
    struct ntk_ring_segment *segment; /* NULL while there is none */
    uint64_t core_difference[NDS_CORES][NDS_TOTAL_NC_COUNTER_COUNT];
    uint64_t device_difference[NDS_ND_COUNTER_COUNT];
};

struct nds_object {
    struct nds_store *store;
    int type;
    bool committed; /* false: being created, or a copy for a reader */
    union {
        struct {
            nds_model_node_info_t info;
            nds_model_node_mem_usage_info_t memory;
        } node;
        nds_process_info_t process;
        nds_process_info_ext_t process_ext;
    } data;
};

/* Functions of nds_handle.c */
enum nds_handle_kind { NDS_HANDLE_FREE, NDS_HANDLE_STORE, NDS_HANDLE_OBJECT };

void nds_lock(void);
void nds_unlock(void);
/* Returns NULL if out of memory or numbers; the caller then keeps the item. */
void *nds_handle_add(enum nds_handle_kind kind, void *item);
/* Returns NULL for an invalid handle. */
void *nds_handle_get(enum nds_handle_kind kind, const void *handle);
/* Like nds_handle_get(), and invalidates the handle. */
void *nds_handle_take(enum nds_handle_kind kind, const void *handle);
/* Returns the next item of a kind: *position starts at 0; NULL at the end. */
void *nds_handle_next(enum nds_handle_kind kind, uint32_t *position, void **out_handle);

/* Functions of nds_segment.c */

/* Returns 0, or -errno without opening anything. */
int nds_segment_open(struct nds_store *store, pid_t pid);
void nds_segment_close(struct nds_store *store);
/* Updates the segment; called before each access to it, because this process may have attached,
 * closed or forked since. */
void nds_segment_refresh(struct nds_store *store);
/* Returns the number of physical cores per device, 0 if unknown. */
uint32_t nds_cores_per_device(const struct nds_store *store);

/* In nds_live.c: returns the value in the segment; 0 for a missing counter. */
uint64_t nds_live_core_counter(struct nds_store *store, uint32_t core, uint32_t counter);
uint64_t nds_live_device_counter(struct nds_store *store, uint32_t counter);
void nds_live_process(const struct nds_store *store, nds_process_info_t *out);
void nds_live_process_ext(const struct nds_store *store, nds_process_info_ext_t *out);
/* Calls fn for each core of each loaded model on the device, until it returns non-zero; returns
 * that value. */
typedef int (*nds_node_fn)(const nds_model_node_info_t *info,
                           const nds_model_node_mem_usage_info_t *memory, void *ctx);
int nds_live_model_nodes(struct nds_store *store, nds_node_fn fn, void *ctx);

#endif
