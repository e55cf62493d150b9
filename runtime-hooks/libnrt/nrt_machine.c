/* SPDX-License-Identifier: MIT */
/*
 * nrt_machine - returns properties of the machine: counts, instance, memory. Most calls work before
 * nrt_init().
 */
#include "runtime-hooks/libnrt/nrt_front.h"

#include <stdio.h>
#include <string.h>

#include "runtime-hooks/env/env_soft.h"
#include "runtime-hooks/libnrt/nrt_env.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "runtime-hooks/libnrt/nrt_status_map.h"

static int machine_find(struct ntk_core_machine *out_machine, struct ntk_err *err)
{
    struct ntk_core_machine_options wanted;
    int ret = ntk_env_soft_machine_get(&wanted, err);

    return ret < 0 ? ret : ntk_core_machine_find(&wanted, out_machine, err);
}

/* Returns the machine and the effects of the environment, as seen by the running runtime, else as
 * nrt_init() would see them. out_count: logical cores in the machine; out_visible: cores of this
 * process. */
static NRT_STATUS cores_get(const char *function, uint32_t *out_count, uint32_t *out_visible)
{
    struct ntk_core_options options = { 0 };
    struct ntk_core_machine machine = { 0 };
    struct ntk_err err = { 0 };

    if (nrt_front_enter() == NRT_SUCCESS) {
        const struct ntk_core *core = nrt_front_core_get();
        const struct ntk_core_machine *open = ntk_core_machine_get(core);

        *out_count = open->device_count * open->cores_per_device / ntk_core_lnc(core);
        *out_visible = ntk_core_count(core);
        nrt_front_leave();
        return NRT_SUCCESS;
    }
    int ret = machine_find(&machine, &err);
    if (ret >= 0) {
        ret = nrt_env_options_get(&machine, &options, &err);
    }
    if (ret < 0) {
        return nrt_front_fail(function, ret, &err);
    }
    *out_count = machine.device_count * machine.cores_per_device / options.lnc;
    *out_visible = *out_count;
    if (options.core_count > 0 && options.core_count < *out_count) {
        *out_visible = options.core_count;
    }
    return NRT_SUCCESS;
}

/* Stores one of the two counts in *count on success. */
static NRT_STATUS count_get(const char *function, bool is_visible, uint32_t *count)
{
    uint32_t visible = 0;
    uint32_t total = 0;

    if (!count) {
        return NRT_INVALID;
    }
    NRT_STATUS status = cores_get(function, &total, &visible);
    if (status == NRT_SUCCESS) {
        *count = is_visible ? visible : total;
    }
    return status;
}

NRT_STATUS nrt_get_total_nc_count(uint32_t *vnc_count)
{
    return count_get("nrt_get_total_nc_count", false, vnc_count);
}

NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count)
{
    return count_get("nrt_get_total_vnc_count", false, vnc_count);
}

NRT_STATUS nrt_get_visible_nc_count(uint32_t *vnc_count)
{
    return count_get("nrt_get_visible_nc_count", true, vnc_count);
}

NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count)
{
    return count_get("nrt_get_visible_vnc_count", true, vnc_count);
}

/* Returns the machine of the open runtime, else the machine that nrt_init() would use. */
static NRT_STATUS machine_get(const char *function, struct ntk_core_machine *out_machine)
{
    struct ntk_err err = { 0 };

    if (nrt_front_enter() == NRT_SUCCESS) {
        *out_machine = *ntk_core_machine_get(nrt_front_core_get());
        nrt_front_leave();
        return NRT_SUCCESS;
    }
    int ret = machine_find(out_machine, &err);
    return ret < 0 ? nrt_front_fail(function, ret, &err) : NRT_SUCCESS;
}

/* Returns the number in "<family>.<number>xlarge" as NRT_INSTANCE_SIZE_*. */
static uint32_t instance_size_get(const char *instance)
{
    static const struct {
        unsigned number;
        uint32_t size;
    } sizes[] = {
        { 1, NRT_INSTANCE_SIZE_1XL },   { 2, NRT_INSTANCE_SIZE_2XL },
        { 3, NRT_INSTANCE_SIZE_3XL },   { 4, NRT_INSTANCE_SIZE_4XL },
        { 6, NRT_INSTANCE_SIZE_6XL },   { 8, NRT_INSTANCE_SIZE_8XL },
        { 24, NRT_INSTANCE_SIZE_24XL }, { 32, NRT_INSTANCE_SIZE_32XL },
        { 48, NRT_INSTANCE_SIZE_48XL },
    };
    const char *dot = strchr(instance, '.');
    unsigned number = 0;

    for (const char *c = dot ? dot + 1 : ""; *c >= '0' && *c <= '9'; c++) {
        number = number * 10 + (unsigned)(*c - '0');
    }
    if (number == 0) {
        number = 1; /* for "xlarge" without a number */
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i].number == number) {
            return sizes[i].size;
        }
    }
    return NRT_INSTANCE_SIZE_UNKNOWN;
}

NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t instance_info_len)
{
    struct ntk_core_machine machine = { .instance = "" };
    nrt_instance_info_t known = { 0 };

    if (!info || instance_info_len == 0) {
        return NRT_INVALID;
    }
    NRT_STATUS status = machine_get("nrt_get_instance_info", &machine);
    if (status != NRT_SUCCESS) {
        return status;
    }
    known.family = machine.family;
    known.size = instance_size_get(machine.instance);
    (void)snprintf(known.arch_name, sizeof known.arch_name, "%s", machine.core_arch);
    (void)snprintf(known.device_revision, sizeof known.device_revision, "0");
    memcpy(info, &known, instance_info_len < sizeof known ? instance_info_len : sizeof known);
    return NRT_SUCCESS;
}

/* Containers do not renumber the devices of a software machine. */
NRT_STATUS nrt_host_device_id_get(int neuron_dev, uint32_t *host_device_id)
{
    struct ntk_core_machine machine = { 0 };

    if (!host_device_id) {
        return NRT_INVALID;
    }
    NRT_STATUS status = machine_get("nrt_host_device_id_get", &machine);
    if (status != NRT_SUCCESS) {
        return status;
    }
    if (neuron_dev < 0 || (uint32_t)neuron_dev >= machine.device_count) {
        return NRT_INVALID;
    }
    *host_device_id = (uint32_t)neuron_dev;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_host_device_id_rid_map_get(uint32_t *count, uint32_t *host_did_to_rid_map)
{
    struct ntk_core_machine machine = { 0 };

    if (!count || !host_did_to_rid_map) {
        return NRT_INVALID;
    }
    NRT_STATUS status = machine_get("nrt_host_device_id_rid_map_get", &machine);
    if (status != NRT_SUCCESS) {
        return status;
    }
    if (*count < machine.device_count) {
        return NRT_INVALID;
    }
    for (uint32_t i = 0; i < machine.device_count; i++) {
        host_did_to_rid_map[i] = i;
    }
    *count = machine.device_count;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats,
                                    size_t stats_size_in, size_t *stats_size_out)
{
    struct ntk_core_memory memory = { 0 };
    NRT_FRONT_SCOPE;

    if (!stats || !stats_size_out || stats_size_in == 0 ||
        ntk_core_memory_get(nrt_front_core_get(), vnc, &memory) < 0) {
        status = NRT_INVALID;
    } else {
        nrt_vnc_memory_stats_t known = { memory.used_bytes, memory.limit_bytes };
        size_t bytes = stats_size_in < sizeof known ? stats_size_in : sizeof known;

        memcpy(stats, &known, bytes);
        *stats_size_out = bytes;
    }
    return status;
}

/* Software NeuronCores have no network plugin. Older callers pass only err, so the other two
 * arguments are never used. */
void *nrt_get_libnccl_net(int *err, char *err_msg, size_t err_msg_size)
{
    (void)err_msg;
    (void)err_msg_size;
    if (err) {
        *err = 1;
    }
    return NULL;
}

/* This call is accepted before and after nrt_init(): a software pool engine has no microcode to
 * replace. */
NRT_STATUS nrt_set_pool_eng_ucode(const nrt_ucode_info *ucode_info)
{
    return ucode_info ? NRT_SUCCESS : NRT_INVALID;
}

NRT_STATUS nrt_debug_log_oom_report(void)
{
    NRT_FRONT_SCOPE;

    ntk_core_memory_report(nrt_front_core_get());
    return status;
}

static void dump_tell(const char *path)
{
    nrt_log_info("nrt_dump_device_allocation_info", "allocations were written to %s", path);
}

NRT_STATUS nrt_dump_device_allocation_info(void)
{
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    int ret = ntk_core_memory_dump(nrt_front_core_get(), dump_tell, &err);
    if (ret < 0) {
        (void)nrt_front_fail("nrt_dump_device_allocation_info", ret, &err);
        status = NRT_FAILURE;
    }
    return status;
}
