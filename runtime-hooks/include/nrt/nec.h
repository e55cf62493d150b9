/* SPDX-License-Identifier: MIT */
/*
 * nec - functions of the runtime that the vendor's collectives library calls.
 *
 * Software NeuronCores lack the hardware for these calls; the functions only exist so that programs
 * with references to them load. The structs of the collectives library are opaque but have the
 * correct size.
 */
#ifndef NRT_NEC_H
#define NRT_NEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NEC_MAX_CHANNELS 32
#define NEC_MAX_NR_CHANNEL_CHUNKS 32
#define NEC_MAX_FOLD_N 16
#define NEC_MAX_COMM_N 12
#define NEC_MAX_NET_BUFFERS 24
#define NEC_CACHE_LINE_SIZE 128
#define NEC_MAX_STREAM_N 4
#define NCCL_NET_NEURON_MAX_REQUESTS 128
#define NEC_HIER_CC_PIPELINE_STAGE_N 3
#define NEC_KANGARING_MAX_NUM_RANKS 256

typedef enum nec_pod_type {
    NEC_POD_TYPE_NONE = 0,
    NEC_POD_TYPE_P2P = 1,
    NEC_POD_TYPE_SWITCH = 2,
    NEC_POD_TYPE_INVALID = 3,
} nec_pod_type_t;

/* The content is private to the collectives library, in 64-bit words. */
#define NEC_OPAQUE_STRUCT(tag, type, bytes)          \
    typedef struct tag {                             \
        uint64_t opaque[(bytes) / sizeof(uint64_t)]; \
    } type

NEC_OPAQUE_STRUCT(enc_host_mem, enc_host_mem_t, 32);
NEC_OPAQUE_STRUCT(enc_host_mem_shared, enc_host_mem_shared_t, 40);
NEC_OPAQUE_STRUCT(enc_net_host_memory, enc_net_host_memory, 2048);
NEC_OPAQUE_STRUCT(enc_net_connector, enc_net_connector, 96);
NEC_OPAQUE_STRUCT(enc_channel, enc_channel, 88);
NEC_OPAQUE_STRUCT(enc_peer_info, enc_peer_info, 16);
NEC_OPAQUE_STRUCT(enc_comm_info, enc_comm_info, 64);
NEC_OPAQUE_STRUCT(enc_ring, enc_ring, 24);
NEC_OPAQUE_STRUCT(enc_alg_metaring, enc_alg_metaring, 37544);
NEC_OPAQUE_STRUCT(enc_alg_mesh_subtype, enc_alg_mesh_subtype, 3016);
NEC_OPAQUE_STRUCT(enc_alg_mesh, enc_alg_mesh, 61568);
NEC_OPAQUE_STRUCT(enc_alg_hier, enc_alg_hier, 386328);
NEC_OPAQUE_STRUCT(enc_comm, enc_comm, 561856);
NEC_OPAQUE_STRUCT(enc_glb_comm, enc_glb_comm, 564360);
NEC_OPAQUE_STRUCT(nccl_comm_info, nccl_comm_info_t, 1376);
NEC_OPAQUE_STRUCT(enc_nccl_comm_node, enc_nccl_comm_node_t, 88);
NEC_OPAQUE_STRUCT(enc_neuron_device_info, enc_neuron_device_info_t, 216);
NEC_OPAQUE_STRUCT(net_src_addr, net_src_addr_t, 72);
NEC_OPAQUE_STRUCT(net_dest_addr, net_dest_addr_t, 48);
NEC_OPAQUE_STRUCT(net_ops_info, net_ops_info_t, 88);

/* The content is private, in 32-bit words. */
typedef struct enc_kangaring {
    uint32_t opaque[265];
} enc_kangaring;

typedef struct nec_version_info {
    uint64_t major;
    uint64_t minor;
    uint64_t patch;
    uint64_t maintenance;
    char git_hash[16];
    uint64_t compatibility_version;
    uint8_t extension[];
} nec_version_info_t;

void nec_inc_semaphore(volatile uint32_t *sem_inc_addr, uint32_t val);
size_t nec_get_dynamic_send_size_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz, int dst_rank,
                                       int rank_n);
size_t nec_get_dynamic_send_offset_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz,
                                         int dst_rank, int rank_n);
size_t nec_get_dynamic_recv_offset_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz,
                                         int src_rank, int rank_n);
void nec_set_recv_size_bytes(enc_host_mem_t *dyn_input, size_t recv_size_bytes, size_t data_type_sz,
                             int src_rank, int rank_n);
int nec_get_device_count(int *available_devices_array, uint32_t array_size);
int nec_get_device_pci_bdf(int neuron_dev, uint32_t *domain, uint32_t *bus_num, uint8_t *pci_slot,
                           uint8_t *dev_func);
NRT_STATUS nec_get_virtual_core_size(uint32_t *virtual_core_size);
/* The vendor's header declares this function, but not every version of its library exports it. */
NRT_STATUS nec_get_version_info(nec_version_info_t *version_info);
NRT_STATUS nec_build_port_and_rid_map(int local_nec_dev_id, int *mla_indexes, int *host_device_ids,
                                      int count);
bool nec_is_mla_available(int local_nec_dev_id, int mla_idx);
int nec_mla_idx_to_rid(int local_nec_dev_id, int mla_idx);
int nec_rid_to_mla_idx(int local_nec_dev_id, int rid);
int nec_get_peer_mla_idx(int local_nec_dev_id, int mla_idx, int port);
int nec_get_p2p_pod_peer_node(uint32_t nec_dev_id, int node, uint32_t port_distance,
                              int *peer_node);
NRT_STATUS nec_pod_node_can_access_peer_node(nec_pod_type_t pod_type, uint32_t local_rid,
                                             uint32_t local_node_id, uint32_t remote_rid,
                                             uint32_t remote_node_id, int *can_access_peer);
void nec_ndl_printk(char *str, uint32_t size, uint32_t action);

#ifdef __cplusplus
}
#endif
#endif
