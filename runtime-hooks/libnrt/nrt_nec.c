/* SPDX-License-Identifier: MIT */
/*
 * nrt_nec - functions of the runtime that the vendor's collectives library calls. Software
 * NeuronCores lack the hardware: each function fails accordingly and logs this the first time.
 */
#include "runtime-hooks/libnrt/nrt_front.h"

#include <stdatomic.h>

#include "runtime-hooks/libnrt/nrt_log.h"

#pragma GCC visibility push(default)
#include "nrt/nec.h"
#pragma GCC visibility pop

static void say_once(atomic_flag *was_said, const char *function)
{
    if (!atomic_flag_test_and_set_explicit(was_said, memory_order_relaxed)) {
        nrt_log_write(NRT_LOG_NRT, NRT_LOG_WARN, function,
                      "software NeuronCores have no device network; the call has no effect");
    }
}

/* The body of a call: one log line the first time, then the result. */
#define ANSWER(...)                                 \
    static atomic_flag was_said = ATOMIC_FLAG_INIT; \
                                                    \
    say_once(&was_said, __func__);                  \
    return __VA_ARGS__

void nec_inc_semaphore(volatile uint32_t *sem_inc_addr, uint32_t val)
{
    (void)sem_inc_addr;
    (void)val;
    ANSWER();
}

size_t nec_get_dynamic_send_size_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz, int dst_rank,
                                       int rank_n)
{
    (void)dyn_input;
    (void)data_type_sz;
    (void)dst_rank;
    (void)rank_n;
    ANSWER(0);
}

size_t nec_get_dynamic_send_offset_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz,
                                         int dst_rank, int rank_n)
{
    (void)dyn_input;
    (void)data_type_sz;
    (void)dst_rank;
    (void)rank_n;
    ANSWER(0);
}

size_t nec_get_dynamic_recv_offset_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz,
                                         int src_rank, int rank_n)
{
    (void)dyn_input;
    (void)data_type_sz;
    (void)src_rank;
    (void)rank_n;
    ANSWER(0);
}

void nec_set_recv_size_bytes(enc_host_mem_t *dyn_input, size_t recv_size_bytes, size_t data_type_sz,
                             int src_rank, int rank_n)
{
    (void)dyn_input;
    (void)recv_size_bytes;
    (void)data_type_sz;
    (void)src_rank;
    (void)rank_n;
    ANSWER();
}

int nec_get_device_count(int *available_devices_array, uint32_t array_size)
{
    (void)available_devices_array;
    (void)array_size;
    ANSWER(-1);
}

int nec_get_device_pci_bdf(int neuron_dev, uint32_t *domain, uint32_t *bus_num, uint8_t *pci_slot,
                           uint8_t *dev_func)
{
    (void)neuron_dev;
    (void)domain;
    (void)bus_num;
    (void)pci_slot;
    (void)dev_func;
    ANSWER(-1);
}

NRT_STATUS nec_get_virtual_core_size(uint32_t *virtual_core_size)
{
    (void)virtual_core_size;
    ANSWER(NRT_FAILURE);
}

NRT_STATUS nec_get_version_info(nec_version_info_t *version_info)
{
    (void)version_info;
    ANSWER(NRT_FAILURE);
}

NRT_STATUS nec_build_port_and_rid_map(int local_nec_dev_id, int *mla_indexes, int *host_device_ids,
                                      int count)
{
    (void)local_nec_dev_id;
    (void)mla_indexes;
    (void)host_device_ids;
    (void)count;
    ANSWER(NRT_FAILURE);
}

bool nec_is_mla_available(int local_nec_dev_id, int mla_idx)
{
    (void)local_nec_dev_id;
    (void)mla_idx;
    ANSWER(false);
}

int nec_mla_idx_to_rid(int local_nec_dev_id, int mla_idx)
{
    (void)local_nec_dev_id;
    (void)mla_idx;
    ANSWER(-1);
}

int nec_rid_to_mla_idx(int local_nec_dev_id, int rid)
{
    (void)local_nec_dev_id;
    (void)rid;
    ANSWER(-1);
}

int nec_get_peer_mla_idx(int local_nec_dev_id, int mla_idx, int port)
{
    (void)local_nec_dev_id;
    (void)mla_idx;
    (void)port;
    ANSWER(-1);
}

int nec_get_p2p_pod_peer_node(uint32_t nec_dev_id, int node, uint32_t port_distance, int *peer_node)
{
    (void)nec_dev_id;
    (void)node;
    (void)port_distance;
    (void)peer_node;
    ANSWER(-1);
}

NRT_STATUS nec_pod_node_can_access_peer_node(nec_pod_type_t pod_type, uint32_t local_rid,
                                             uint32_t local_node_id, uint32_t remote_rid,
                                             uint32_t remote_node_id, int *can_access_peer)
{
    (void)pod_type;
    (void)local_rid;
    (void)local_node_id;
    (void)remote_rid;
    (void)remote_node_id;
    (void)can_access_peer;
    ANSWER(NRT_FAILURE);
}

void nec_ndl_printk(char *str, uint32_t size, uint32_t action)
{
    (void)str;
    (void)size;
    (void)action;
    ANSWER();
}
