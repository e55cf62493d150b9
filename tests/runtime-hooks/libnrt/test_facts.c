/* SPDX-License-Identifier: MIT */
/*
 * Small calls: element types under both of their numberings, devices of the host, and parts that a
 * software machine lacks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt_experimental.h>
#include <nrt/nrt_sys_trace.h>

#include "shared/formats/neff/neff_build.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* Name in the file, number in today's headers, number in those of 2023. */
static const struct {
    enum ntk_dtype dtype;
    uint32_t today, legacy;
} types[] = {
    { NTK_DTYPE_UINT64, 1, 11 },  { NTK_DTYPE_INT8, 2, 4 },     { NTK_DTYPE_UINT8, 3, 5 },
    { NTK_DTYPE_INT16, 4, 6 },    { NTK_DTYPE_UINT16, 5, 7 },   { NTK_DTYPE_BFLOAT16, 6, 3 },
    { NTK_DTYPE_FLOAT16, 7, 2 },  { NTK_DTYPE_INT32, 8, 8 },    { NTK_DTYPE_UINT32, 9, 9 },
    { NTK_DTYPE_FLOAT32, 10, 1 }, { NTK_DTYPE_INT64, 12, 10 },  { NTK_DTYPE_FLOAT8E3, 2, 4 },
    { NTK_DTYPE_FLOAT8E4, 2, 4 }, { NTK_DTYPE_FLOAT8E5, 2, 4 },
};
#define TYPE_COUNT (sizeof types / sizeof *types)

/* One input of each type, and one output. */
static uint8_t *model_make(size_t *out_bytes)
{
    static const uint64_t shape[2] = { 2, 32 };
    struct ntk_neff_build_options options = { .name = "types" };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "node");
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    uint32_t first = 0;

    for (size_t i = 0; i < TYPE_COUNT; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "x%zu", i);
        uint32_t var = ntk_neff_kernel_input(kernel, name, types[i].dtype, 2, shape);
        first = i == 0 ? var : first;
    }
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_UINT8, 1, &shape[1]);
    ntk_neff_token in =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(first, 0, 32, 1), 0, 32, NTK_AFTER_NONE);
    (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, 32, 1), 0, 32, NTK_AFTER(in));
    if (ntk_neff_build_bytes(build, &bytes, out_bytes, &err) != 0) {
        fail_msg("%s", err.text);
    }
    ntk_neff_build_destroy(build);
    return bytes;
}

static void element_types_use_legacy_or_current_numbers_on_request(void **state)
{
    size_t bytes;
    uint8_t *neff = model_make(&bytes);

    for (int legacy = 0; legacy < 2; legacy++) {
        nrt_tensor_info_array_t *info = NULL;
        nrt_model_t *model = NULL;
        size_t seen = 0;

        setenv("NEURON_SOFT_LEGACY_DTYPE", legacy ? "1" : "0", 1);
        assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
        assert_int_equal(nrt_load(neff, bytes, 0, -1, &model), NRT_SUCCESS);
        assert_int_equal(nrt_get_model_tensor_info(model, &info), NRT_SUCCESS);
        for (uint64_t i = 0; i < info->tensor_count; i++) {
            const nrt_tensor_info_t *tensor = &info->tensor_array[i];

            if (tensor->usage == NRT_TENSOR_USAGE_INPUT) {
                size_t type = strtoul(tensor->name + 1, NULL, 10);

                assert_true(type < TYPE_COUNT);
                assert_int_equal((uint32_t)tensor->dtype,
                                 legacy ? types[type].legacy : types[type].today);
                assert_int_equal(tensor->ndim, 2);
                assert_int_equal(tensor->shape[0], 2);
                assert_int_equal(tensor->shape[1], 32);
                seen++;
            }
        }
        assert_int_equal(seen, TYPE_COUNT);
        assert_int_equal(nrt_free_model_tensor_info(info), NRT_SUCCESS);
        assert_int_equal(nrt_unload(model), NRT_SUCCESS);
        nrt_close();
    }
    unsetenv("NEURON_SOFT_LEGACY_DTYPE");
    free(neff);
}

static void device_numbers_are_not_affected_by_visible_cores(void **state)
{
    uint32_t map[16];
    uint32_t count = 3;
    uint32_t id = 99;

    setenv("NEURON_SOFT_INSTANCE", "inf1.6xlarge", 1);
    setenv("NEURON_RT_VISIBLE_CORES", "0", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    for (int device = 0; device < 4; device++) {
        assert_int_equal(nrt_host_device_id_get(device, &id), NRT_SUCCESS);
        assert_int_equal(id, device);
    }
    id = 99;
    assert_int_equal(nrt_host_device_id_get(4, &id), NRT_INVALID);
    assert_int_equal(nrt_host_device_id_get(-1, &id), NRT_INVALID);
    assert_int_equal(nrt_host_device_id_get(0, NULL), NRT_INVALID);
    assert_int_equal(id, 99);
    /* Room for 4 is required. */
    assert_int_equal(nrt_host_device_id_rid_map_get(&count, map), NRT_INVALID);
    assert_int_equal(nrt_host_device_id_rid_map_get(&count, NULL), NRT_INVALID);
    count = 16;
    assert_int_equal(nrt_host_device_id_rid_map_get(&count, map), NRT_SUCCESS);
    assert_int_equal(count, 4);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(map[i], i);
    }
    unsetenv("NEURON_RT_VISIBLE_CORES");
}

/* Method: the text is not modified, because callers of the older form pass garbage for it. */
static void the_network_plugin_is_reported_as_absent(void **state)
{
    char text[8] = "before";
    int err = 0;

    assert_null(nrt_get_libnccl_net(&err, text, sizeof text));
    assert_int_equal(err, 1);
    assert_string_equal(text, "before");
    assert_null(nrt_get_libnccl_net(NULL, (char *)8, 1 << 20));
}

static void microcode_is_accepted_before_and_after_nrt_init(void **state)
{
    nrt_ucode_info ucode = { 0 };

    assert_int_equal(nrt_set_pool_eng_ucode(&ucode), NRT_SUCCESS);
    assert_int_equal(nrt_set_pool_eng_ucode(NULL), NRT_INVALID);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_set_pool_eng_ucode(&ucode), NRT_SUCCESS);
}

/* Method: options that request a core without events; then they are restored. */
static void trace_fetch_options_are_reset_to_all_cores(void **state)
{
    nrt_sys_trace_fetch_options_t *options = NULL;
    nrt_tensor_t *tensor = NULL;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_sys_trace_fetch_options_allocate(&options), NRT_SUCCESS);
    for (int reset = 0; reset < 2; reset++) {
        char *text = NULL;
        size_t bytes = 0;

        assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
        assert_int_equal(
            nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "looked for", &tensor),
            NRT_SUCCESS);
        nrt_tensor_free(&tensor);
        nrt_sys_trace_fetch_options_set_nc_idx(options, 1);
        if (reset) {
            nrt_sys_trace_fetch_options_set_defaults(options);
        }
        assert_int_equal(nrt_sys_trace_fetch_events(&text, &bytes, options), NRT_SUCCESS);
        assert_int_equal(strstr(text, "looked for") != NULL, reset);
        nrt_sys_trace_buffer_free(text);
        assert_int_equal(nrt_sys_trace_stop(), NRT_SUCCESS);
    }
    nrt_sys_trace_fetch_options_set_defaults(NULL);
    nrt_sys_trace_fetch_options_free(options);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(element_types_use_legacy_or_current_numbers_on_request),
        TEST(device_numbers_are_not_affected_by_visible_cores),
        TEST(the_network_plugin_is_reported_as_absent),
        TEST(microcode_is_accepted_before_and_after_nrt_init),
        TEST(trace_fetch_options_are_reset_to_all_cores),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
