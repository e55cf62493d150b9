/* SPDX-License-Identifier: MIT */
/*
 * neuron_ds - the datastore in which a process keeps its counters and models for monitors.
 *
 * The functions are in libnds.a, not in libnrt.so.1. They return 0 on success and another number on
 * failure; functions that return a handle or pointer return NULL on failure.
 *
 * Owner:   nds_close() frees an instance and all its objects. An object owns its data.
 * Threads: any, at any time; closing an instance or deleting an object ends all other use of it.
 */
#ifndef NRT_NDS_NEURON_DS_H
#define NRT_NDS_NEURON_DS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ndl/ndl.h"
#include "ndl/neuron_driver_shared.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nds_instance nds_instance_t;
typedef void *nds_obj_handle_t;

enum nds_object_type {
    OBJECT_TYPE_MODEL_NODE_INFO = 0,
    OBJECT_TYPE_PROCESS_INFO = 1,
    OBJECT_TYPE_PROCESS_INFO_EXT = 2
};

/* Bits in the counter FEATURE_BITMAP. */
typedef enum feature_bitmap_bit_index {
    BIT_INDEX_TEST_FEATURE = 0,
    BIT_INDEX_MULTICORE_FEATURE = 1,
    BIT_INDEX_COUNT = 2
} feature_bitmap_bit_index_t;

#define MODEL_MEM_USAGE_LOCATION_COUNT 2 /* index 0 is the host, index 1 the device */

typedef struct nds_mem_usage_info {
    size_t total_size; /* bytes in total */
    uint32_t chunk_count;
} nds_mem_usage_info_t;

typedef struct nds_model_node_info {
    uint32_t model_id;
    uint32_t model_node_id;
    char name[256];
    char uuid[16];
    uint8_t nc_index; /* index of the physical core in the device */
    uint8_t sg_index;
} nds_model_node_info_t;

typedef struct nds_model_node_mem_usage_info {
    nds_mem_usage_info_t model_mem_usage[MODEL_MEM_USAGE_LOCATION_COUNT]
                                        [NDS_DMA_MEM_USAGE_SLOT_COUNT];
} nds_model_node_mem_usage_info_t;

typedef struct nds_version_info {
    uint8_t major;
    uint8_t minor;
    uint32_t build;
} nds_version_info_t;

typedef struct nds_process_info {
    int8_t framework_type; /* nrt_framework_type_t */
    char tag[32];          /* NUL-terminated */
    nds_version_info_t framework_version;
    nds_version_info_t fal_version;
    nds_version_info_t runtime_version;
} nds_process_info_t;

typedef struct nds_process_info_ext {
    char tag[256]; /* NUL-terminated */
} nds_process_info_ext_t;

/* pid 0 opens the store of the calling process, with write access to counters and objects. Any
 * other pid opens a store read-only. */
int nds_open(ndl_device_t *device, pid_t pid, nds_instance_t **inst);
/* Frees the instance even if an error is returned. */
int nds_close(nds_instance_t *inst);

/* Accesses a counter of a core: pnc_index is the physical core in the device, counter_index a
 * value of enum nds_nc_counter and enum nds_ext_nc_counter. */
int nds_increment_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
                             uint64_t increment);
int nds_decrement_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
                             uint64_t decrement);
int nds_get_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
                       uint64_t *value);
int nds_set_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
                       uint64_t *value);

/* Accesses a counter of the device: counter_index is a value of enum nds_nd_counter. */
int nds_increment_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t increment);
int nds_decrement_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t decrement);
/* Sets one bit in a counter. */
int nds_or_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t bit_index);
int nds_get_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t *value);
int nds_set_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t *value);

/* Creates a zeroed object; type is an enum nds_object_type. Readers see the object after its
 * commit. */
nds_obj_handle_t nds_obj_new(nds_instance_t *inst, int type);
int nds_obj_commit(nds_obj_handle_t obj);
int nds_obj_delete(nds_obj_handle_t obj);

/* Returns the data of an object; NULL if the object has another type. */
nds_model_node_info_t *nds_obj_handle_to_model_node_info(nds_obj_handle_t obj);
nds_model_node_mem_usage_info_t *nds_obj_handle_to_model_node_mem_usage(nds_obj_handle_t obj);
nds_process_info_t *nds_obj_handle_to_process_info(nds_obj_handle_t obj);
nds_process_info_ext_t *nds_obj_handle_to_process_info_ext(nds_obj_handle_t obj);

/* Returns copies of the current contents as separate objects; the caller frees the array with
 * free(). */
int nds_read_all_model_nodes(nds_instance_t *inst, nds_obj_handle_t **models, size_t *count);
nds_obj_handle_t nds_read_process_info(nds_instance_t *inst);
nds_obj_handle_t nds_read_process_info_ext(nds_instance_t *inst);

#ifdef __cplusplus
}
#endif
#endif
