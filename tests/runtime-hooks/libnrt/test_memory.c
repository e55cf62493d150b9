/* SPDX-License-Identifier: MIT */
/*
 * What is counted as memory: soft.state shows byte for byte what was allocated, and nothing
 * remains.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/abi/soft_abi.h"
#include "shared/base/fs.h"
#include "shared/formats/neff/neff.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define MIB (UINT64_C(1) << 20)
#define UCODE (96 * MIB)

/* Read as a file, so that the runtime's mapping is not shared. */
static struct ntk_soft_state *state_read(const struct runtime *runtime)
{
    struct ntk_soft_state *state = malloc(sizeof *state);
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", runtime->folder, NTK_SOFT_STATE_NAME);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, state, sizeof *state, 0), sizeof *state);
    close(fd);
    return state;
}

/* Memory of core 0 by category, the sum of all cores' device memory, and the figure of the
 * stack. */
struct seen {
    uint64_t category[NTK_SOFT_CATEGORIES];
    uint64_t device_total, all_cores, stack, host_total;
};

static struct seen look(const struct runtime *runtime)
{
    struct ntk_soft_state *state = state_read(runtime);
    struct seen seen = { .device_total = state->core[0].device_memory_total.total,
                         .stack = state->device[0].hbm_bytes_used[0],
                         .host_total = state->core[0].host_memory_total.total };
    uint64_t sum = 0;

    for (size_t i = 0; i < NTK_SOFT_CATEGORIES; i++) {
        bool is_host = i >= NTK_MEMORY_HOST_APPLICATION;

        seen.category[i] =
            is_host ? state->device[0].host_memory[i].total : state->core[0].memory[i].total;
        sum += is_host ? 0 : seen.category[i];
    }
    for (uint32_t core = 0; core < NTK_SEGMENT_CORES; core++) {
        seen.all_cores += state->core[core].device_memory_total.total;
    }
    assert_int_equal(seen.device_total, sum);
    assert_int_equal(seen.stack, sum); /* trn1: a separate stack for each core */
    free(state);
    return seen;
}

static void device_memory_use_includes_tensor_sizes(void **state)
{
    const struct runtime *runtime = *state;
    nrt_tensor_t *device = NULL;
    nrt_tensor_t *host = NULL;
    nrt_tensor_t *slice = NULL;
    nrt_vnc_memory_stats_t stats;
    size_t written = 0;
    char buffer[10];

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    struct seen seen = look(runtime);
    assert_int_equal(seen.category[NTK_MEMORY_UCODE], UCODE);
    assert_int_equal(seen.all_cores, 2 * UCODE);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 1001, "a", &device),
                     NRT_SUCCESS);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, 0, 77, "b", &host),
                     NRT_SUCCESS);
    assert_int_equal(nrt_tensor_allocate_slice(device, 1000, 1, "c", &slice), NRT_SUCCESS);
    seen = look(runtime);
    assert_int_equal(seen.category[NTK_MEMORY_TENSORS], 1001);
    assert_int_equal(seen.category[NTK_MEMORY_HOST_TENSORS], 77);
    assert_int_equal(seen.host_total, 77);
    assert_int_equal(nrt_get_vnc_memory_stats(0, &stats, sizeof stats, &written), NRT_SUCCESS);
    assert_int_equal(written, sizeof stats);
    assert_int_equal(stats.bytes_used, UCODE + 1001);
    assert_int_equal(stats.bytes_limit, UINT64_C(16) << 30);
    nrt_tensor_free(&device); /* its storage stays alive in the slice */
    assert_int_equal(look(runtime).category[NTK_MEMORY_TENSORS], 1001);
    assert_int_equal(nrt_tensor_write(slice, "x", 0, 1), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_attach_buffer(slice, buffer, sizeof buffer), NRT_SUCCESS);
    assert_int_equal(look(runtime).category[NTK_MEMORY_TENSORS], 0);
    assert_int_equal(nrt_tensor_get_size(slice), sizeof buffer);
    assert_ptr_equal(nrt_tensor_get_va(slice), buffer);
    nrt_tensor_free(&slice);
    nrt_tensor_free(&host);
    seen = look(runtime);
    assert_int_equal(seen.device_total, UCODE);
    assert_int_equal(seen.host_total, 0);
}

static void device_memory_use_includes_a_model_until_it_is_unloaded(void **state)
{
    const struct runtime *runtime = *state;
    struct test_model_options options = { .virtual_bytes = 65 * MIB, .tmp_bytes = 1000 };
    struct test_model_options smaller = { .virtual_bytes = 1 };
    struct ntk_neff *file = NULL;
    struct ntk_neff_sizes sizes;
    nrt_model_t *model = NULL;
    nrt_model_t *second = NULL;
    size_t bytes;
    size_t small_bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    uint8_t *small = test_model_adder(&smaller, &small_bytes);

    assert_int_equal(ntk_neff_open_bytes(neff, bytes, &file, NULL), 0);
    ntk_neff_subgraph_sizes(&file->kelfs[0].subgraphs[0], &sizes);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    struct seen before = look(runtime);
    assert_int_equal(nrt_load(neff, bytes, 0, -1, &model), NRT_SUCCESS);
    struct seen loaded = look(runtime);
    assert_int_equal(loaded.category[NTK_MEMORY_CONSTANTS], TEST_MODEL_BYTES);
    assert_int_equal(loaded.category[NTK_MEMORY_SCRATCHPAD], 1000);
    assert_int_equal(loaded.category[NTK_MEMORY_SHARED_SCRATCHPAD], 128 * MIB);
    assert_int_equal(loaded.category[NTK_MEMORY_MODEL_CODE], sizes.code);
    assert_int_equal(loaded.category[NTK_MEMORY_DMA_RINGS_IO], sizes.rings_io);
    assert_int_equal(loaded.category[NTK_MEMORY_DMA_RINGS_SPILL], sizes.rings_spill);
    assert_true(sizes.code > 0 && sizes.rings_io > 0);
    /* The decoded program is in host memory: instructions of 64-byte slots and more. */
    assert_int_equal(before.host_total, 0);
    assert_true(loaded.category[NTK_MEMORY_HOST_APPLICATION] >= sizes.code);
    assert_int_equal(loaded.host_total, loaded.category[NTK_MEMORY_HOST_APPLICATION]);
    /* The shared scratchpad is the larger of two, not their sum. */
    assert_int_equal(nrt_load(small, small_bytes, 0, -1, &second), NRT_SUCCESS);
    struct seen both = look(runtime);
    assert_int_equal(both.category[NTK_MEMORY_SHARED_SCRATCHPAD], 128 * MIB);
    assert_int_equal(both.category[NTK_MEMORY_CONSTANTS], 2 * TEST_MODEL_BYTES);
    assert_int_equal(nrt_unload(model), NRT_SUCCESS);
    assert_int_equal(look(runtime).category[NTK_MEMORY_SHARED_SCRATCHPAD], 64 * MIB);
    assert_int_equal(nrt_unload(second), NRT_SUCCESS);
    struct seen after = look(runtime);
    assert_memory_equal(&before, &after, sizeof before);
    ntk_neff_close(file);
    free(neff);
    free(small);
}

static void closing_frees_all_remaining_memory(void **state)
{
    const struct runtime *runtime = *state;
    struct test_model_options options = { .virtual_bytes = 1, .tmp_bytes = 1 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    for (int i = 0; i < 5; i++) {
        assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
        loaded_init(&loaded, neff, bytes, i % 2);
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
        assert_true(look(runtime).all_cores > 2 * UCODE);
        nrt_close();
        struct seen seen = look(runtime);
        assert_int_equal(seen.all_cores, 0);
        assert_int_equal(seen.host_total, 0);
    }
    free(neff);
}

static void two_hundred_loads_and_unloads_leak_no_memory(void **state)
{
    const struct runtime *runtime = *state;
    struct test_model_options options = { .virtual_bytes = 1, .tmp_bytes = 1 };
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    struct seen before = look(runtime);
    for (int i = 0; i < 200; i++) {
        nrt_model_t *model = NULL;

        assert_int_equal(nrt_load(neff, bytes, i % 2, -1, &model), NRT_SUCCESS);
        assert_int_equal(nrt_unload(model), NRT_SUCCESS);
    }
    struct seen after = look(runtime);
    assert_memory_equal(&before, &after, sizeof before);
    free(neff);
}

static void a_full_memory_stack_rejects_allocations_until_freed(void **state)
{
    nrt_tensor_t *tensors[17] = { NULL };
    nrt_tensor_t *more = NULL;
    const struct runtime *runtime = *state;
    char path[512];
    char line[256] = "";
    uint8_t *data;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    for (int i = 0; i < 15; i++) {
        assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, UINT64_C(1) << 30,
                                             "gigabyte", &tensors[i]),
                         NRT_SUCCESS);
    }
    assert_int_equal(
        nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, UINT64_C(1) << 30, "one more", &more),
        NRT_RESOURCE);
    /* The log of allocations contains its header, the microcode of two cores, and the tensors. */
    (void)snprintf(path, sizeof path, "%s/nrt_mem_log_device_0_%08x.csv", runtime->folder,
                   (unsigned)getpid());
    FILE *log = fopen(path, "r");
    int lines = 0;
    assert_non_null(log);
    while (fgets(line, sizeof line, log)) {
        lines++;
    }
    (void)fclose(log);
    assert_int_equal(lines, 1 + 2 + 15);
    assert_non_null(strstr(line, ",device,tensors,1073741824,64,0x"));
    assert_non_null(strstr(line, ",0,gigabyte,16106127360\n"));
    /* The other core has a separate stack. */
    assert_int_equal(
        nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, UINT64_C(1) << 30, "other", &more),
        NRT_SUCCESS);
    data = nrt_tensor_get_va(tensors[7]);
    memset(data, 0x5a, 100000);
    nrt_tensor_free(&tensors[7]);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, UINT64_C(1) << 30, "again",
                                         &tensors[7]),
                     NRT_SUCCESS);
    data = nrt_tensor_get_va(tensors[7]);
    for (size_t i = 0; i < 100001; i++) {
        assert_int_equal(data[i], 0);
    }
}

static void an_exhausted_memory_stack_writes_tables_and_logs(void **state)
{
    static char log[1 << 16];
    const struct runtime *runtime = *state;
    char *log_path = test_scratch_path(runtime->folder, "log");
    struct test_model_options options = { .tmp_bytes = 3 << 20 };
    nrt_tensor_t *tensors[2] = { NULL };
    char path[512];
    char text[8192];
    char wanted[128];
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    setenv("NEURON_RT_LOG_LEVEL", "ERROR", 1);
    setenv("NEURON_RT_LOG_LOCATION", log_path, 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, UINT64_C(3) << 29,
                                         "a,\"b\"", &tensors[0]),
                     NRT_SUCCESS);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, UINT64_C(15) << 30,
                                         "too much", &tensors[1]),
                     NRT_RESOURCE);

    assert_true(ntk_fs_read_text(log_path, log, sizeof log) > 0);
    assert_non_null(strstr(log, "TDRV:log_dev_mem                               Failed to allocate "
                                "15.000GB (alignment: none, usage: tensors) on ND 0:NC 0\n"));
    assert_non_null(strstr(log,
                           "TDRV:print_lnc_hbm_details                     LNC size is 1. Neuron "
                           "Cores using this HBM: NC 0\n"));
    assert_non_null(strstr(log, "TDRV:log_dev_mem_usage_table                   ND 0 HBM 0"));

    (void)snprintf(path, sizeof path, "%s/neuron_mem_table_device_0_hbm_0.log", runtime->folder);
    assert_true(ntk_fs_read_text(path, text, sizeof text) > 0);
    assert_non_null(strstr(text, "ND 0 Overall        |"));
    const char *nc = strstr(text, "\\_NC 0");
    assert_non_null(nc);
    /* 1.5 GiB and the two tensors of the model: the Tensors column. */
    assert_non_null(strstr(nc, "|    1.500GB|"));
    (void)snprintf(wanted, sizeof wanted, "  \\_NEFF ");
    const char *model = strstr(nc, wanted);
    assert_non_null(model);
    assert_non_null(strstr(model, "|        n/a|        n/a|    3.000MB|")); /* tmp: Scratchpad */
    assert_non_null(strstr(model, "NEFF id to name mapping:\n"));
    assert_non_null(strstr(model, ": \"adder\""));

    (void)snprintf(path, sizeof path, "%s/neuron_mem_table_device_0_nc_0.log", runtime->folder);
    assert_true(ntk_fs_read_text(path, text, sizeof text) > 0);
    (void)snprintf(path, sizeof path, "%s/neuron_mem_log_device_0_hbm_0_%08x.csv", runtime->folder,
                   (unsigned)getpid());
    assert_true(ntk_fs_read_text(path, text, sizeof text) > 0);
    assert_non_null(strstr(text, ",\"a,\"\"b\"\"\","));
    assert_null(strstr(text, ",0,1,1,device,")); /* nothing of the other stack */

    /* The other files are written once, the log each time. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, UINT64_C(15) << 30,
                                         "too much", &tensors[1]),
                     NRT_RESOURCE);
    assert_int_equal(access(path, F_OK), -1);
    nrt_tensor_free(&tensors[0]);
    loaded_fini(&loaded);
    free(neff);
    free(log_path);
}

static void the_out_of_memory_log_can_be_disabled(void **state)
{
    static char log[1 << 16];
    const struct runtime *runtime = *state;
    char *log_path = test_scratch_path(runtime->folder, "log");
    nrt_tensor_t *tensor = NULL;
    char path[512];

    setenv("NEURON_RT_LOG_LEVEL", "ERROR", 1);
    setenv("NEURON_RT_LOG_LOCATION", log_path, 1);
    setenv("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "0", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(
        nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, UINT64_C(17) << 30, "t", &tensor),
        NRT_RESOURCE);
    unsetenv("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG");
    assert_true(ntk_fs_read_text(log_path, log, sizeof log) > 0);
    assert_non_null(strstr(log, "Failed to allocate 17.000GB"));
    assert_null(strstr(log, "log_dev_mem_usage_table"));
    (void)snprintf(path, sizeof path, "%s/neuron_mem_table_device_0_hbm_0.log", runtime->folder);
    assert_int_equal(access(path, F_OK), -1);
    free(log_path);
}

static void memory_reports_list_current_allocations(void **state)
{
    static char text[1 << 16];
    const struct runtime *runtime = *state;
    char *log_path = test_scratch_path(runtime->folder, "log");
    nrt_tensor_t *gone = NULL;
    nrt_tensor_t *kept = NULL;
    char path[512];

    setenv("NEURON_RT_LOG_LEVEL", "INFO", 1);
    setenv("NEURON_RT_LOG_LOCATION", log_path, 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 5000, "gone", &gone),
                     NRT_SUCCESS);
    nrt_tensor_free(&gone);
    /* Allocated at the same address. */
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 3 << 20, "kept", &kept),
                     NRT_SUCCESS);
    assert_int_equal(nrt_debug_log_oom_report(), NRT_SUCCESS);
    assert_true(ntk_fs_read_text(log_path, text, sizeof text) > 0);
    assert_non_null(strstr(
        text, "TDRV:log_dev_mem                               Current memory use of ND 0 HBM 0\n"));
    assert_non_null(strstr(text, "Current memory use of ND 0 HBM 1\n"));
    assert_non_null(strstr(text, "|    3.000MB|"));
    (void)snprintf(path, sizeof path, "%s/neuron_mem_table_device_0_hbm_0.log", runtime->folder);
    assert_int_equal(access(path, F_OK), -1);

    assert_int_equal(nrt_dump_device_allocation_info(), NRT_SUCCESS);
    (void)snprintf(path, sizeof path, "%s/neuron_mem_alloc_device_0_hbm_0_%08x.csv",
                   runtime->folder, (unsigned)getpid());
    assert_true(ntk_fs_read_text(path, text, sizeof text) > 0);
    assert_int_equal(
        strncmp(text, "seq,timestamp_ns,op,pid,nd,nc,hbm,placement,usage,size,align,", 61), 0);
    assert_non_null(strstr(text, ",tensors,3145728,"));
    assert_non_null(strstr(text, ",kept"));
    assert_non_null(strstr(text, ",ucode,100663296,"));
    assert_null(strstr(text, "gone"));
    assert_null(strstr(text, ",free,"));
    assert_true(ntk_fs_read_text(log_path, text, sizeof text) > 0);
    assert_non_null(strstr(text, path));

    nrt_tensor_free(&kept);
    nrt_close();
    assert_int_equal(nrt_debug_log_oom_report(), NRT_CLOSED);
    assert_int_equal(nrt_dump_device_allocation_info(), NRT_CLOSED);
    /* A folder that does not exist. */
    setenv("NEURON_RT_OOM_DUMP_DIRECTORY", "/nowhere/at/all", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_dump_device_allocation_info(), NRT_FAILURE);
    nrt_close();
    setenv("NEURON_RT_OOM_DUMP_DIRECTORY", runtime->folder, 1);
    setenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "0", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_dump_device_allocation_info(), NRT_FAILURE);
    unsetenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE");
    free(log_path);
}

/* The memory of the stacks is larger than any other mapping. */
static void device_memory_is_excluded_from_core_dumps(void **state)
{
    unsigned long long large = 0;
    unsigned long long stacks = 0;
    unsigned long long kib = 0;
    char line[1024];

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    FILE *maps = fopen("/proc/self/smaps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        (void)sscanf(line, "Size: %llu kB", &kib);
        if (strncmp(line, "VmFlags:", 8) == 0 && kib >= 8 << 20 && strstr(line, " rd wr")) {
            large++; /* the stacks, without the sanitizer's own mappings */
            stacks += strstr(line, " dd") != NULL;
        }
    }
    (void)fclose(maps);
#if defined(__SANITIZE_THREAD__) /* its large private mappings are partly in core files */
    assert_true(stacks >= 2);
#else
    assert_int_equal(stacks, large);
#endif
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    assert_int_equal(stacks, 2);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(device_memory_use_includes_tensor_sizes),
        TEST(device_memory_use_includes_a_model_until_it_is_unloaded),
        TEST(closing_frees_all_remaining_memory),
        TEST(two_hundred_loads_and_unloads_leak_no_memory),
        TEST(a_full_memory_stack_rejects_allocations_until_freed),
        TEST(an_exhausted_memory_stack_writes_tables_and_logs),
        TEST(the_out_of_memory_log_can_be_disabled),
        TEST(memory_reports_list_current_allocations),
        TEST(device_memory_is_excluded_from_core_dumps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
