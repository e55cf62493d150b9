/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/libnrt/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/neff/neff_build.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

int runtime_setup(void **state)
{
    static const char *const unset[] = {
        "NEURON_RT_NUM_CORES",
        "NEURON_RT_VISIBLE_CORES",
        "NEURON_RT_VIRTUAL_CORE_SIZE",
        "NEURON_LOGICAL_NC_CONFIG",
        "NEURON_RT_EXEC_TIMEOUT",
        "NEURON_RT_VALIDATE_HASH",
        "NEURON_RT_LOG_LOCATION",
        "NEURON_SOFT_PACE",
        "NEURON_SOFT_LEGACY_DTYPE",
        "NEURON_HOOKS",
        "NEURON_PROCESS_TAG",
        "NEURON_SOFT_SYSFS",
        "NEURON_SOFT_CPU_NODES",
        "NEURON_SOFT_OPAQUE",
        "NEURON_SOFT_FAULT",
        "NEURON_RT_LOG_LEVEL_TDRV",
        "NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS",
    };
    struct runtime *runtime = calloc(1, sizeof *runtime);

    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) {
        unsetenv(unset[i]);
    }
    /* each test creates and removes the hundreds of files of a device tree */
    test_scratch_in_memory();
    runtime->folder = test_scratch_create();
    setenv("NEURON_HOOKS_DIR", runtime->folder, 1);
    setenv("NEURON_SOFT_INSTANCE", "trn1.2xlarge", 1);
    setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
    setenv("NEURON_RT_OOM_DUMP_DIRECTORY", runtime->folder, 1);
    *state = runtime;
    return 0;
}

int runtime_teardown(void **state)
{
    struct runtime *runtime = *state;

    nrt_close();
    test_scratch_destroy(runtime->folder);
    free(runtime);
    return 0;
}

void loaded_init(struct loaded *loaded, const uint8_t *neff, size_t bytes, int core)
{
    nrt_tensor_info_array_t *info = NULL;

    assert_int_equal(nrt_load(neff, bytes, core, -1, &loaded->model), NRT_SUCCESS);
    assert_int_equal(nrt_get_model_tensor_info(loaded->model, &info), NRT_SUCCESS);
    assert_int_equal(nrt_allocate_tensor_set(&loaded->inputs), NRT_SUCCESS);
    assert_int_equal(nrt_allocate_tensor_set(&loaded->outputs), NRT_SUCCESS);
    assert_int_equal(info->tensor_count, 2);
    for (uint64_t i = 0; i < info->tensor_count; i++) {
        const nrt_tensor_info_t *tensor = &info->tensor_array[i];
        bool is_output = tensor->usage == NRT_TENSOR_USAGE_OUTPUT;
        nrt_tensor_t **to = is_output ? &loaded->y : &loaded->x;

        assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, core < 0 ? 0 : core,
                                             tensor->size, tensor->name, to),
                         NRT_SUCCESS);
        assert_int_equal(nrt_add_tensor_to_tensor_set(is_output ? loaded->outputs : loaded->inputs,
                                                      tensor->name, *to),
                         NRT_SUCCESS);
    }
    assert_int_equal(nrt_free_model_tensor_info(info), NRT_SUCCESS);
}

void loaded_adder(struct loaded *loaded, const struct test_model_options *options, int core)
{
    static const struct test_model_options none;
    size_t bytes;
    uint8_t *neff = test_model_adder(options ? options : &none, &bytes);

    loaded_init(loaded, neff, bytes, core);
    free(neff);
}

void loaded_fini(struct loaded *loaded)
{
    nrt_tensor_free(&loaded->x);
    nrt_tensor_free(&loaded->y);
    nrt_destroy_tensor_set(&loaded->inputs);
    nrt_destroy_tensor_set(&loaded->outputs);
    assert_int_equal(nrt_unload(loaded->model), NRT_SUCCESS);
}

uint8_t *test_build_finish(struct ntk_neff_build *build, size_t *out_bytes)
{
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;

    if (ntk_neff_build_bytes(build, &bytes, out_bytes, &err) != 0) {
        fail_msg("%s", err.text);
    }
    ntk_neff_build_destroy(build);
    return bytes;
}

uint8_t *test_file_read(const char *path, size_t *out_bytes)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 22);

    assert_non_null(file);
    *out_bytes = fread(bytes, 1, 1 << 22, file);
    (void)fclose(file);
    return bytes;
}
