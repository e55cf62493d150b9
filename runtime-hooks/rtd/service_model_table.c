/* SPDX-License-Identifier: MIT */
/* service_model_table - implements openneuron.rtd.v1.model_table: the loaded models, their places,
 * and their memory. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime-hooks/core/core_counters.h"
#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/rpc/proto/openneuron_rtd.pb-c.h"

struct row {
    Openneuron__Rtd__V1__Model model;
    char uuid[37];
};

static void uuid_write(const uint8_t *uuid, char text[37])
{
    char *at = text;

    for (size_t i = 0; i < 16; i++) {
        at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
    }
}

/* Fills the memory of the model, and of the inputs and outputs of running inferences. */
static void memory_fill(const struct rtd_model *model, Openneuron__Rtd__V1__Model *to)
{
    struct ntk_core_model_memory memory;
    struct ntk_core_tensor_info info;

    ntk_core_model_memory_get(model->core, &memory);
    to->mem_host = memory.host_bytes;
    to->mem_device = memory.device_bytes;
    for (uint32_t i = 0; i < model->ninfer; i++) {
        for (size_t t = 0; t < model->io_count; t++) {
            ntk_core_tensor_info_get(model->contexts[i].tensors[t], &info);
            *(info.placement == NTK_CORE_DEVICE ? &to->mem_device : &to->mem_host) += info.bytes;
        }
    }
    for (size_t i = 0; i < sizeof model->stages / sizeof *model->stages; i++) {
        ntk_core_tensor_info_get(model->stages[i], &info);
        to->mem_host += info.bytes;
    }
}

static void row_fill(const struct rtd_model *model, struct row *row)
{
    const struct rtd_manager *manager = model->manager;
    uint32_t nc = ntk_core_model_nc(model->core);

    openneuron__rtd__v1__model__init(&row->model);
    uuid_write(ntk_core_model_uuid(model->core), row->uuid);
    row->model.id = model->id;
    row->model.uuid = row->uuid;
    row->model.name = (char *)ntk_core_model_name(model->core);
    row->model.status =
        model->state == RTD_MODEL_STANDBY  ? OPENNEURON__RTD__V1__MODEL_STATE__MODEL_STANDBY
        : model->state == RTD_MODEL_FAILED ? OPENNEURON__RTD__V1__MODEL_STATE__MODEL_FAILED
                                           : OPENNEURON__RTD__V1__MODEL_STATE__MODEL_READY;
    row->model.eg_id = model->group->id;
    row->model.device_start = nc / manager->nc_per_device;
    row->model.nc_start = nc % manager->nc_per_device;
    row->model.nc_count = ntk_core_model_nc_count(model->core);
    memory_fill(model, &row->model);
}

void rtd_model_list(struct rtd_manager *manager, struct ntk_rpc_call *call,
                    const ProtobufCMessage *message)
{
    Openneuron__Rtd__V1__ListResponse reply = OPENNEURON__RTD__V1__LIST_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    size_t count = 0;

    (void)message;
    for (const struct rtd_model *model = manager->models; model; model = model->next) {
        count += !model->is_leaving;
    }
    struct row *rows = calloc(count + 1, sizeof *rows);
    Openneuron__Rtd__V1__Model **models = calloc(count + 1, sizeof *models);
    if (rows && models) {
        /* The latest model is first in the list. */
        size_t at = count;
        for (const struct rtd_model *model = manager->models; model; model = model->next) {
            if (!model->is_leaving) {
                row_fill(model, &rows[--at]);
                models[at] = &rows[at].model;
            }
        }
        reply.status = &status;
        reply.models = models;
        reply.n_models = count;
        ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    } else {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE, "out of memory");
    }
    free(rows);
    free(models);
}
