/* SPDX-License-Identifier: MIT */
/* model_topology - computes the load of each device as a share of its maximum, from the
 * snapshot. */
#include "top/model/model_topology.h"

#include "shared/abi/core_number.h"

bool ntk_top_model_topology_act(struct ntk_top_model *model, int action, int argument)
{
    if (action != NTK_TOP_ACTION_QUANTITY) {
        return false;
    }
    model->heat = (model->heat + NTK_TOP_HEAT_COUNT + argument) % NTK_TOP_HEAT_COUNT;
    return true;
}

enum ntk_topology ntk_top_model_topology_shape(const struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    struct ntk_topology_device devices[NTK_TOPOLOGY_DEVICES_MAX];
    size_t count = snapshot ? snapshot->device_count : 0;

    for (size_t i = 0; i < count && i < NTK_TOPOLOGY_DEVICES_MAX; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];

        devices[i] = (struct ntk_topology_device){
            device->index, (device->has & NTK_DEVICE_HAS_CONNECTED_DEVICES) != 0,
            device->connected_device_count, device->connected_devices
        };
    }
    return model->device_count > 1 && count != model->device_count
               ? NTK_TOPOLOGY_OTHER
               : ntk_topology_find(devices, count);
}

static struct ntk_top_number busy_of(const struct ntk_top_model *model, uint32_t device)
{
    double sum = 0;
    uint32_t count = 0;

    for (uint32_t c = 0; c < model->cores_per_device; c++) {
        const struct ntk_top_number *busy =
            &model->cores[ntk_core_number(device, model->cores_per_device, c)].busy_percent;

        sum += busy->present ? busy->value : 0;
        count += busy->present;
    }
    return (struct ntk_top_number){ count > 0 ? sum / count : 0, count > 0 };
}

static struct ntk_top_number memory_of(const struct ntk_device_sample *device)
{
    uint32_t has = NTK_DEVICE_HAS_MEMORY_USED | NTK_DEVICE_HAS_MEMORY_CAPACITY;
    bool is_known = device && (device->has & has) == has;
    double used = is_known ? (double)ntk_device_sum(device, device->memory_used_bytes) : 0;
    double capacity = is_known ? (double)ntk_device_sum(device, device->memory_capacity_bytes) : 0;

    return (struct ntk_top_number){ capacity > 0 ? 100 * used / capacity : 0, capacity > 0 };
}

struct ntk_top_number ntk_top_model_topology_heat(const struct ntk_top_model *model,
                                                  enum ntk_top_heat heat, uint32_t device)
{
    const struct ntk_device_sample *sample = ntk_snapshot_find_device(model->snapshot, device);
    bool has_power = sample && sample->has & NTK_DEVICE_HAS_POWER;

    switch (heat) {
    case NTK_TOP_HEAT_BUSY:
        return busy_of(model, device);
    case NTK_TOP_HEAT_HBM:
        return memory_of(sample);
    default:
        return (struct ntk_top_number){ has_power ? 100 * sample->power_average : 0, has_power };
    }
}
