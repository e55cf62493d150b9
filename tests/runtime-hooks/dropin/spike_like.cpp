/* SPDX-License-Identifier: MIT */
/*
 * spike_like NEFF - a C++ client that counts cores before it starts, owns tensors in objects, traces the system
 * and profiles one execution, as kernel-tuning front ends do.
 */
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_profile.h>
#include <nrt/nrt_sys_trace.h>
#include <nrt/nrt_version.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static void check(NRT_STATUS status, const char *what)
{
    if (status != NRT_SUCCESS) {
        throw std::runtime_error(std::string(what) + ": " + nrt_get_status_as_str(status));
    }
}
#define CHECK(call) check((call), #call)

class Tensor
{
  public:
    Tensor(size_t size, int core, const std::string &name)
    {
        CHECK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, core, size, name.c_str(), &tensor_));
    }
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;
    ~Tensor()
    {
        nrt_tensor_free(&tensor_);
    }
    nrt_tensor_t *get()
    {
        return tensor_;
    }

  private:
    nrt_tensor_t *tensor_ = nullptr;
};

class TensorSet
{
  public:
    TensorSet()
    {
        CHECK(nrt_allocate_tensor_set(&set_));
    }
    TensorSet(const TensorSet &) = delete;
    TensorSet &operator=(const TensorSet &) = delete;
    ~TensorSet()
    {
        nrt_destroy_tensor_set(&set_);
    }
    nrt_tensor_set_t *get()
    {
        return set_;
    }

  private:
    nrt_tensor_set_t *set_ = nullptr;
};

static void run(const char *path, const std::string &profile)
{
    std::ifstream file(path, std::ios::binary);
    std::vector<char> neff((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    nrt_tensor_info_array_t *info = nullptr;
    nrt_model_t *model = nullptr;

    CHECK(nrt_load(neff.data(), neff.size(), 0, 1, &model));
    CHECK(nrt_get_model_tensor_info(model, &info));
    {
        std::vector<std::unique_ptr<Tensor>> tensors;
        TensorSet inputs, outputs;
        nrt_tensor_t *slice = nullptr;

        for (uint64_t i = 0; i < info->tensor_count; i++) {
            const nrt_tensor_info_t &t = info->tensor_array[i];
            tensors.push_back(std::make_unique<Tensor>(t.size, 0, t.name));
            CHECK(nrt_add_tensor_to_tensor_set(t.usage == NRT_TENSOR_USAGE_INPUT ? inputs.get()
                                                                                 : outputs.get(),
                                               t.name, tensors.back()->get()));
        }
        CHECK(nrt_tensor_allocate_slice(tensors[0]->get(), 0, 64, "view", &slice));
        std::vector<char> ones(64, 1), back(64, 0);
        CHECK(nrt_tensor_write(slice, ones.data(), 0, ones.size()));
        CHECK(nrt_tensor_read(tensors[0]->get(), back.data(), 0, back.size()));
        if (back != ones || nrt_tensor_get_va(slice) == nullptr) {
            throw std::runtime_error("a slice is not its source");
        }
        nrt_tensor_free(&slice);

        nrt_sys_trace_config_t *config = nullptr;
        nrt_sys_trace_fetch_options_t *options = nullptr;
        char *json = nullptr;
        size_t written = 0;
        CHECK(nrt_sys_trace_config_allocate(&config));
        nrt_sys_trace_config_set_capture_enabled_for_nc(config, 0, true);
        CHECK(nrt_sys_trace_start(config));
        nrt_sys_trace_config_free(config);
        CHECK(nrt_profile_start(model, profile.c_str()));
        CHECK(nrt_execute(model, inputs.get(), outputs.get()));
        CHECK(nrt_profile_stop(profile.c_str()));
        CHECK(nrt_sys_trace_fetch_options_allocate(&options));
        nrt_sys_trace_fetch_options_set_nc_idx(options, 0);
        CHECK(nrt_sys_trace_fetch_events(&json, &written, options));
        nrt_sys_trace_fetch_options_free(options);
        std::string text(json, written);
        nrt_sys_trace_buffer_free(json);
        CHECK(nrt_sys_trace_stop());
        if (text.find("\"nc_exec_running\"") == std::string::npos) {
            throw std::runtime_error("the trace has no execution");
        }
    }
    CHECK(nrt_free_model_tensor_info(info));
    CHECK(nrt_unload(model));
}

int main(int argc, char **argv)
{
    uint32_t visible = 0;
    nrt_version_t version;

    if (argc < 3) {
        return 2;
    }
    try {
        CHECK(nrt_get_visible_nc_count(&visible));
        CHECK(nrt_get_version(&version, sizeof version));
        CHECK(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
        run(argv[1], argv[2]);
        nrt_close();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    std::printf("%u %u.%u\n", visible, (unsigned)version.rt_major, (unsigned)version.rt_minor);
    return 0;
}
