/* SPDX-License-Identifier: MIT */
/*
 * adaptor_like NEFF - a framework's adaptor: tensors that are views of the framework's own buffers,
 * NaN in an output is not a failure. Includes the driver's and the datastore's headers too, as
 * monitors do.
 */
#include <ndl/ndl.h>
#include <ndl/neuron_driver_shared.h>
#include <nrt/nds/neuron_ds.h>
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_status.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

static bool good(NRT_STATUS status)
{
    return status == NRT_SUCCESS || status == NRT_EXEC_COMPLETED_WITH_NUM_ERR;
}

static nrt_tensor_t *view_of(std::vector<char> &buffer)
{
    nrt_tensor_t *tensor = nullptr;

    if (!good(nrt_tensor_allocate_empty(nullptr, &tensor)) ||
        !good(nrt_tensor_attach_buffer(tensor, buffer.data(), buffer.size()))) {
        return nullptr;
    }
    return tensor;
}

int main(int argc, char **argv)
{
    if (argc < 2 || !good(nrt_init(NRT_FRAMEWORK_TYPE_TENSORFLOW, "2.10.1", "2.10.1.2.1.0"))) {
        return 2;
    }
    std::ifstream file(argv[1], std::ios::binary);
    std::vector<char> neff((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    nrt_model_t *model = nullptr;
    nrt_tensor_info_array_t *info = nullptr;
    nrt_tensor_set_t *inputs = nullptr, *outputs = nullptr;
    std::map<std::string, std::vector<char>> buffers;
    std::vector<nrt_tensor_t *> tensors;

    if (!good(nrt_load(neff.data(), neff.size(), 0, 1, &model)) ||
        !good(nrt_get_model_tensor_info(model, &info)) || !good(nrt_allocate_tensor_set(&inputs)) ||
        !good(nrt_allocate_tensor_set(&outputs))) {
        return 3;
    }
    for (uint64_t i = 0; i < info->tensor_count; i++) {
        const nrt_tensor_info_t *t = &info->tensor_array[i];

        buffers[t->name].resize(t->size);
        tensors.push_back(view_of(buffers[t->name]));
        if (tensors.back() == nullptr ||
            !good(nrt_add_tensor_to_tensor_set(
                t->usage == NRT_TENSOR_USAGE_INPUT ? inputs : outputs, t->name, tensors.back()))) {
            return 4;
        }
    }
    if (!good(nrt_execute(model, inputs, outputs))) {
        return 5;
    }
    for (uint64_t i = 0; i < info->tensor_count; i++) {
        const nrt_tensor_info_t *t = &info->tensor_array[i];

        if (t->usage == NRT_TENSOR_USAGE_OUTPUT) {
            const float *values = reinterpret_cast<const float *>(buffers[t->name].data());
            std::printf("%s %g %g\n", t->name, values[0], values[4]);
        }
    }
    nrt_free_model_tensor_info(info);
    nrt_destroy_tensor_set(&inputs);
    nrt_destroy_tensor_set(&outputs);
    for (nrt_tensor_t *&tensor : tensors) {
        nrt_tensor_free(&tensor);
    }
    NRT_STATUS status = nrt_unload(model);
    nrt_close();
    return good(status) ? 0 : 6;
}
