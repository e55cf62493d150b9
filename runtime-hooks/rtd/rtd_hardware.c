/* SPDX-License-Identifier: MIT */
/* rtd_hardware - reports errors of the devices, and handles their only setting. */
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_counters.h"
#include "runtime-hooks/rtd/rtd_manager.h"

struct hardware {
    Nrt__HwCounters counters;
    char bdf[NTK_CORE_BDF_BYTES];
};

static uint32_t count_of(uint64_t count)
{
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* device: a device of this daemon, numbered as in groups. */
static void hardware_fill(const struct rtd_manager *manager, uint32_t device, struct hardware *to)
{
    uint32_t nc = device * manager->nc_per_device;
    struct ntk_core_device_counts counts = { 0 };

    ntk_core_machine_bdf(ntk_core_global(manager->core, nc) / manager->nc_per_device, to->bdf);
    (void)ntk_core_device_counts_get(manager->core, nc, &counts);
    nrt__hw_counters__init(&to->counters);
    to->counters.bdf = to->bdf;
    to->counters.device_index = device;
    to->counters.mem_ecc_corr = count_of(counts.mem_ecc_corrected);
    to->counters.mem_ecc_uncorr =
        count_of(counts.mem_ecc_uncorrected + counts.mem_ecc_repairable_uncorrected);
    to->counters.sram_ecc_corr = count_of(counts.sram_ecc_corrected);
    to->counters.sram_ecc_uncorr = count_of(counts.sram_ecc_uncorrected);
    to->counters.transfer_adjustment_cnt = manager->transfer_adjustment;
}

/* Returns the device with that address, or the number of devices. */
static uint32_t device_find(const struct rtd_manager *manager, const char *bdf)
{
    struct hardware hardware;
    uint32_t device = 0;

    while (device < manager->device_count) {
        hardware_fill(manager, device, &hardware);
        if (strcmp(hardware.bdf, bdf) == 0) {
            break;
        }
        device++;
    }
    return device;
}

void rtd_get_hw_counters(struct rtd_manager *manager, struct ntk_rpc_call *call,
                         const ProtobufCMessage *message)
{
    const Nrt__GetHwCountersRequest *asked = (const void *)message;
    Nrt__GetHwCountersResponse reply = NRT__GET_HW_COUNTERS_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    struct hardware hardware;
    uint32_t device;

    if (asked->device_case == NRT__GET_HW_COUNTERS_REQUEST__DEVICE_BDF) {
        device = device_find(manager, asked->bdf);
    } else if (asked->device_case == NRT__GET_HW_COUNTERS_REQUEST__DEVICE_DEVICE_ID) {
        device = asked->device_id;
    } else {
        rtd_refuse(call, NRT__NERR__NERR_INVALID, "no device: set bdf or device_id");
        return;
    }
    if (device >= manager->device_count) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID,
                   "unknown device: get_all_hw_counters lists only %u", manager->device_count);
        return;
    }
    hardware_fill(manager, device, &hardware);
    reply.counters = &hardware.counters;
    reply.status = &status;
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
}

void rtd_get_all_hw_counters(struct rtd_manager *manager, struct ntk_rpc_call *call,
                             const ProtobufCMessage *message)
{
    Nrt__GetAllHwCountersResponse reply = NRT__GET_ALL_HW_COUNTERS_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    struct hardware *hardware = calloc(manager->device_count, sizeof *hardware);
    Nrt__HwCounters **rows = calloc(manager->device_count, sizeof *rows);

    (void)message;
    for (uint32_t i = 0; i < manager->device_count && hardware && rows; i++) {
        hardware_fill(manager, i, &hardware[i]);
        rows[i] = &hardware[i].counters;
    }
    if (hardware && rows) {
        reply.counters = rows;
        reply.n_counters = manager->device_count;
        reply.status = &status;
        ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    } else {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE, "out of memory");
    }
    free(hardware);
    free(rows);
}

/* Stores the number and returns it later; transfers of a software core cannot be adjusted. */
void rtd_set_static_transfer_adjustment(struct rtd_manager *manager, struct ntk_rpc_call *call,
                                        const ProtobufCMessage *message)
{
    const Nrt__SetStaticTransferAdjustmentRequest *asked = (const void *)message;

    manager->transfer_adjustment = asked->transfer_adjust_cnt;
    rtd_good(call);
}
