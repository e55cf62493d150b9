/* SPDX-License-Identifier: MIT */
/* nrt_io - describes the tensors of a loaded model, creates them, adds them to sets and frees
 * them. */
#include "runtime-hooks/nrt/nrt_io.h"

#include <stdlib.h>
#include <string.h>

NRT_STATUS ntk_nrt_io_open(const struct ntk_nrt *nrt, nrt_model_t *model, struct ntk_nrt_io *io,
                           const char **out_call)
{
    *out_call = "nrt_get_model_tensor_info";
    NRT_STATUS status = nrt->nrt_get_model_tensor_info(model, &io->infos);

    for (int i = 0; i < 2 && status == NRT_SUCCESS; i++) {
        *out_call = "nrt_allocate_tensor_set";
        status = nrt->nrt_allocate_tensor_set(&io->sets[i]);
    }
    if (status == NRT_SUCCESS) {
        *out_call = "allocating the list of tensors";
        io->tensors = calloc(io->infos->tensor_count + 1, sizeof(nrt_tensor_t *));
        status = io->tensors ? NRT_SUCCESS : NRT_RESOURCE;
    }
    return status;
}

NRT_STATUS ntk_nrt_io_add(const struct ntk_nrt *nrt, struct ntk_nrt_io *io, size_t index, int core,
                          const char **out_call)
{
    const nrt_tensor_info_t *info = &io->infos->tensor_array[index];
    bool is_read = info->usage == NRT_TENSOR_USAGE_INPUT;
    NRT_STATUS status = NRT_SUCCESS;

    if (!io->tensors[index]) {
        *out_call = "nrt_tensor_allocate";
        status = nrt->nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, core, info->size, info->name,
                                          &io->tensors[index]);
    }
    if (status == NRT_SUCCESS) {
        *out_call = "nrt_add_tensor_to_tensor_set";
        status = nrt->nrt_add_tensor_to_tensor_set(
            io->sets[is_read ? NTK_NRT_IO_READ : NTK_NRT_IO_WRITTEN], info->name,
            io->tensors[index]);
    }
    return status;
}

void ntk_nrt_io_close(const struct ntk_nrt *nrt, struct ntk_nrt_io *io)
{
    for (int i = 0; i < 2; i++) {
        if (io->sets[i]) {
            nrt->nrt_destroy_tensor_set(&io->sets[i]);
        }
    }
    for (uint64_t i = 0; io->tensors && i < io->infos->tensor_count; i++) {
        if (io->tensors[i]) {
            nrt->nrt_tensor_free(&io->tensors[i]);
        }
    }
    free(io->tensors);
    if (io->infos) {
        (void)nrt->nrt_free_model_tensor_info(io->infos);
    }
    memset(io, 0, sizeof *io);
}
