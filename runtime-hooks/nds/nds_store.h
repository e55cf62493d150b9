/* SPDX-License-Identifier: MIT */
/*
 * nds_store - what an instance of the datastore is inside: private to this folder.
 *
 * An instance shows a segment (shared/abi/segment_abi.h) as the vendor's datastore. The segment has
 * one writer, the hooks, so what is written through an instance stays in the instance: for each
 * counter a difference to the live value. Handles are numbers, never addresses: a stale or invented
 * one is unknown.
 *
 * Owner:   an item is the store's while it has a handle, else its taker's.
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
#define NDS_HANDLES_MAX 65536u /* instances and objects at a time; beyond, nothing new is made */

struct nds_store {
    uint32_t device;
    bool own; /* the calling process; else the registry's */
    bool writable;
    pid_t pid; /* own: the process that found the segment */
    struct ntk_ring_registry *registry;
    struct ntk_ring_segment *segment; /* NULL: none there (yet) */
    uint64_t core_difference[NDS_CORES][NDS_TOTAL_NC_COUNTER_COUNT];
    uint64_t device_difference[NDS_ND_COUNTER_COUNT];
};

struct nds_object {
    struct nds_store *store;
    int type;
    bool committed; /* else being made, or a copy for a reader */
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
/* NULL when there is no memory or no number left; item stays the caller's then. */
void *nds_handle_add(enum nds_handle_kind kind, void *item);
/* NULL for what is not a handle of the kind. */
void *nds_handle_get(enum nds_handle_kind kind, const void *handle);
/* The same, and the handle is unknown from now on. */
void *nds_handle_take(enum nds_handle_kind kind, const void *handle);
/* Walks all handles of a kind: *position from 0; NULL at the end. */
void *nds_handle_next(enum nds_handle_kind kind, uint32_t *position, void **out_handle);

/* nds_segment.c */

/* 0, or -errno with nothing opened. */
int nds_segment_open(struct nds_store *store, pid_t pid);
void nds_segment_close(struct nds_store *store);
/* The own process may have attached, ended or forked since: before each look at the segment. */
void nds_segment_refresh(struct nds_store *store);
/* Physical cores of a device, 0 unknown. */
uint32_t nds_cores_per_device(const struct nds_store *store);

/* nds_live.c: what the segment says. Absent counters are 0. */
uint64_t nds_live_core_counter(struct nds_store *store, uint32_t core, uint32_t counter);
uint64_t nds_live_device_counter(struct nds_store *store, uint32_t counter);
void nds_live_process(const struct nds_store *store, nds_process_info_t *out);
void nds_live_process_ext(const struct nds_store *store, nds_process_info_ext_t *out);
/* Calls fn for each core of each loaded model on the device, until it returns non-zero: that
 * value. */
typedef int (*nds_node_fn)(const nds_model_node_info_t *info,
                           const nds_model_node_mem_usage_info_t *memory, void *ctx);
int nds_live_model_nodes(struct nds_store *store, nds_node_fn fn, void *ctx);

#endif
