/* SPDX-License-Identifier: MIT */
/*
 * nds_store - the implementation of an instance of the datastore: private to this folder.
 *
 * An instance shows a segment (shared/abi/segment_abi.h) like the vendor's datastore. The segment
 * has one writer, the hooks, so values written through an instance stay in the instance, as a
 * difference to the live value of each counter. Handles are numbers, never addresses, so stale or
 * forged ones are detected.
 *
 * Owner:   the store owns an item while it has a handle, else its taker does.
 * Threads: one lock around every public call; all functions here expect it held.
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
    bool own; /* the calling process's; else the registry's */
    bool writable;
    pid_t pid; /* own: the process that found the segment */
    struct ntk_ring_registry *registry;
    struct ntk_ring_segment *segment; /* NULL: none (yet) */
    uint64_t core_difference[NDS_CORES][NDS_TOTAL_NC_COUNTER_COUNT];
    uint64_t device_difference[NDS_ND_COUNTER_COUNT];
};

struct nds_object {
    struct nds_store *store;
    int type;
    bool committed; /* else being created, or a copy for a reader */
    union {
        struct {
            nds_model_node_info_t info;
            nds_model_node_mem_usage_info_t memory;
        } node;
        nds_process_info_t process;
        nds_process_info_ext_t process_ext;
    } data;
};

/* nds_handle.c */
enum nds_handle_kind { NDS_HANDLE_FREE, NDS_HANDLE_STORE, NDS_HANDLE_OBJECT };

void nds_lock(void);
void nds_unlock(void);
/* NULL if out of memory or numbers; the caller then keeps item. */
void *nds_handle_add(enum nds_handle_kind kind, void *item);
/* NULL for an invalid handle. */
void *nds_handle_get(enum nds_handle_kind kind, const void *handle);
/* The same, and invalidates the handle. */
void *nds_handle_take(enum nds_handle_kind kind, const void *handle);
/* Iterates over all handles of a kind: *position starts at 0; NULL at the end. */
void *nds_handle_next(enum nds_handle_kind kind, uint32_t *position, void **out_handle);

/* nds_segment.c */

/* 0, or -errno without opening anything. */
int nds_segment_open(struct nds_store *store, pid_t pid);
void nds_segment_close(struct nds_store *store);
/* This process may have attached, closed or forked since: call it before each access to the
 * segment. */
void nds_segment_refresh(struct nds_store *store);
/* Physical cores of a device, 0 unknown. */
uint32_t nds_cores_per_device(const struct nds_store *store);

/* nds_live.c: the segment's value. Absent counters are 0. */
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
