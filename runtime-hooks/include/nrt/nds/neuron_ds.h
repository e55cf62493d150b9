/* SPDX-License-Identifier: MIT */
/*
 * neuron_ds - the datastore in which a process keeps its counters and models for monitors.
 *
 * Not part of libnrt.so.1: the functions are in libnds.a. They return 0 for success and another
 * number for failure, or NULL instead of a handle or pointer.
 *
 * Owner:   nds_close() frees an instance and every object of it. An object's data lives as long as
 *          the object.
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

/* Bits of the counter FEATURE_BITMAP. */
typedef enum feature_bitmap_bit_index {
    BIT_INDEX_TEST_FEATURE = 0,
    BIT_INDEX_MULTICORE_FEATURE = 1,
    BIT_INDEX_COUNT = 2
} feature_bitmap_bit_index_t;

#define MODEL_MEM_USAGE_LOCATION_COUNT 2 /* 0 host, 1 device */

typedef struct nds_mem_usage_info {
    size_t total_size; /* bytes */
    uint32_t chunk_count;
} nds_mem_usage_info_t;

typedef struct nds_model_node_info {
    uint32_t model_id;
    uint32_t model_node_id;
    char name[256];
    char uuid[16];
    uint8_t nc_index; /* physical core of the device */
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
    char tag[32];          /* NUL-ended */
    nds_version_info_t framework_version;
    nds_version_info_t fal_version;
    nds_version_info_t runtime_version;
} nds_process_info_t;

typedef struct nds_process_info_ext {
    char tag[256]; /* NUL-ended */
} nds_process_info_ext_t;

/* pid 0: the calling process, counters and objects may be written. Another pid: read-only. */
int nds_open(ndl_device_t *device, pid_t pid, nds_instance_t **inst);
/* Frees the instance in any case. */
int nds_close(nds_instance_t *inst);

/* Counters of a core: pnc_index is the physical core of the device, counter_index one of
 * enum nds_nc_counter and enum nds_ext_nc_counter. */
int nds_increment_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
                             uint64_t increment);
int nds_decrement_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
                             uint64_t decrement);
int nds_get_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
                       uint64_t *value);
int nds_set_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
                       uint64_t *value);

/* Counters of the device: counter_index is one of enum nds_nd_counter. */
int nds_increment_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t increment);
int nds_decrement_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t decrement);
/* Sets one bit. */
int nds_or_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t bit_index);
int nds_get_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t *value);
int nds_set_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t *value);

/* A new zeroed object of enum nds_object_type; readers see it after its commit. */
nds_obj_handle_t nds_obj_new(nds_instance_t *inst, int type);
int nds_obj_commit(nds_obj_handle_t obj);
int nds_obj_delete(nds_obj_handle_t obj);

/* The data of an object; NULL if it has another type. */
nds_model_node_info_t *nds_obj_handle_to_model_node_info(nds_obj_handle_t obj);
nds_model_node_mem_usage_info_t *nds_obj_handle_to_model_node_mem_usage(nds_obj_handle_t obj);
nds_process_info_t *nds_obj_handle_to_process_info(nds_obj_handle_t obj);
nds_process_info_ext_t *nds_obj_handle_to_process_info_ext(nds_obj_handle_t obj);

/* Copies of the current contents, as separate objects; the caller frees the array with free(). */
int nds_read_all_model_nodes(nds_instance_t *inst, nds_obj_handle_t **models, size_t *count);
nds_obj_handle_t nds_read_process_info(nds_instance_t *inst);
nds_obj_handle_t nds_read_process_info_ext(nds_instance_t *inst);

#ifdef __cplusplus
}
#endif
#endif
