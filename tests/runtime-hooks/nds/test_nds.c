/* SPDX-License-Identifier: MIT */
/*
 * The datastore calls on processes that run models, and the lifetime of their objects.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nrt/nds/neuron_ds.h"
#include "shared/abi/paths.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/observed.h"
#include "tests/support/unit.h"

#define EXECUTIONS 7
#define BAD_INPUTS 3
#define HOST_BYTES (3u << 20)

static ndl_device_t device_0;

static const struct runtime *current(void **state)
{
    return *state;
}

static uint64_t core_counter(nds_instance_t *inst, int core, uint32_t counter)
{
    uint64_t value = 0;

    assert_int_equal(nds_get_nc_counter(inst, core, counter, &value), 0);
    return value;
}

static uint64_t device_counter(nds_instance_t *inst, uint32_t counter)
{
    uint64_t value = 0;

    assert_int_equal(nds_get_nd_counter(inst, counter, &value), 0);
    return value;
}

/* Runs a model on core 1 of trn1.2xlarge; with HOST_BYTES of host memory. */
static void work(struct loaded *loaded, nrt_tensor_t **out_host)
{
    const struct test_model_options options = { 0 };
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    nrt_tensor_set_t *empty = NULL;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_PYTORCH, "2.5.1", "1.4.77"), NRT_SUCCESS);
    loaded_init(loaded, neff, bytes, 1);
    free(neff);
    for (int i = 0; i < EXECUTIONS; i++) {
        assert_int_equal(nrt_execute(loaded->model, loaded->inputs, loaded->outputs), NRT_SUCCESS);
    }
    assert_int_equal(nrt_allocate_tensor_set(&empty), NRT_SUCCESS);
    for (int i = 0; i < BAD_INPUTS; i++) {
        assert_int_equal(nrt_execute(loaded->model, empty, loaded->outputs), NRT_INVALID);
    }
    nrt_destroy_tensor_set(&empty);
    assert_int_equal(
        nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, 1, HOST_BYTES, "host", out_host),
        NRT_SUCCESS);
}

static void check_counters(nds_instance_t *inst)
{
    uint64_t total = core_counter(inst, 1, NDS_NC_COUNTER_LATENCY_TOTAL);
    uint64_t busy = core_counter(inst, 1, NDS_NC_COUNTER_TIME_IN_USE);

    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_INFER_COMPLETED), EXECUTIONS);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_INFERENCE_COUNT), EXECUTIONS);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_ERR_INVALID), BAD_INPUTS);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_MODEL_LOAD_COUNT), 1);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_INFER_TIMED_OUT), 0);
    assert_int_equal(core_counter(inst, 1, NDS_EXT_NC_COUNTER_HW_ERR_HBM_UE), 0);
    assert_true(busy > 0);
    assert_true(total >= core_counter(inst, 1, NDS_NC_COUNTER_LATENCY_DEVICE));
    assert_true(total > 0);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_MEM_USAGE_TENSORS_DEVICE),
                     2 * TEST_MODEL_BYTES);
    assert_true(core_counter(inst, 1, NDS_NC_COUNTER_MEM_USAGE_CODE_DEVICE) > 0);
    assert_int_equal(core_counter(inst, 0, NDS_NC_COUNTER_INFER_COMPLETED), 0);
    assert_int_equal(core_counter(inst, 0, NDS_NC_COUNTER_MEM_USAGE_TENSORS_DEVICE), 0);
    assert_int_equal(device_counter(inst, NDS_ND_COUNTER_MEM_USAGE_TENSORS_HOST), HOST_BYTES);
    assert_int_equal(device_counter(inst, NDS_ND_COUNTER_RUNTIME_VERSION),
                     2ull << 40 | 31ull << 32 | 24);
    assert_int_equal(device_counter(inst, NDS_ND_COUNTER_FRAMEWORK_VERSION),
                     2ull << 40 | 5ull << 32 | 1);
    assert_int_equal(device_counter(inst, NDS_ND_COUNTER_FAL_VERSION),
                     1ull << 40 | 4ull << 32 | 77);
}

static void check_process(nds_instance_t *inst, const char *tag)
{
    nds_obj_handle_t handle = nds_read_process_info(inst);
    nds_obj_handle_t ext = nds_read_process_info_ext(inst);
    const nds_process_info_t *process = nds_obj_handle_to_process_info(handle);

    assert_non_null(process);
    assert_null(nds_obj_handle_to_process_info(ext));
    assert_null(nds_obj_handle_to_model_node_info(handle));
    assert_int_equal(process->framework_type, NRT_FRAMEWORK_TYPE_PYTORCH);
    assert_int_equal(strlen(process->tag), sizeof process->tag - 1);
    assert_int_equal(strncmp(process->tag, tag, sizeof process->tag - 1), 0);
    assert_int_equal(process->runtime_version.minor, 31);
    assert_int_equal(process->fal_version.build, 77);
    assert_string_equal(nds_obj_handle_to_process_info_ext(ext)->tag, tag);
    assert_int_equal(nds_obj_delete(handle), 0);
    assert_int_equal(nds_obj_delete(ext), 0);
    assert_null(nds_obj_handle_to_process_info(handle));
    assert_int_not_equal(nds_obj_delete(handle), 0);
}

/* The model has one node on core 1; its memory by slot adds up to the core's, without tensors. */
static void check_models(nds_instance_t *inst)
{
    nds_obj_handle_t *models = NULL;
    size_t count = 0;

    assert_int_equal(nds_read_all_model_nodes(inst, &models, &count), 0);
    assert_int_equal(count, 1);
    const nds_model_node_info_t *info = nds_obj_handle_to_model_node_info(models[0]);
    const nds_model_node_mem_usage_info_t *memory =
        nds_obj_handle_to_model_node_mem_usage(models[0]);
    assert_int_equal(info->model_id, 10001);
    assert_int_equal(info->nc_index, 1);
    assert_int_equal(info->sg_index, 0);
    assert_string_equal(info->name, "adder");
    assert_int_equal(memory->model_mem_usage[1][NDS_DMA_MEM_USAGE_SLOT_TENSORS].total_size, 0);
    assert_true(memory->model_mem_usage[1][NDS_DMA_MEM_USAGE_SLOT_CODE].total_size > 0);
    assert_true(memory->model_mem_usage[1][NDS_DMA_MEM_USAGE_SLOT_CODE].chunk_count > 0);
    assert_true(memory->model_mem_usage[1][NDS_DMA_MEM_USAGE_SLOT_CODE].total_size <=
                core_counter(inst, 1, NDS_NC_COUNTER_MEM_USAGE_CODE_DEVICE));
    assert_int_equal(memory->model_mem_usage[0][NDS_DMA_MEM_USAGE_SLOT_TENSORS].total_size, 0);
    free(models);
}

#define TAG "a tag that is longer than the thirty-one bytes of the old record"

/* Reports when the work is done, exits on request. */
static int observed_process(struct observed *parent, void *ctx)
{
    struct loaded loaded = { 0 };
    nrt_tensor_t *host = NULL;

    (void)ctx;
    work(&loaded, &host);
    observed_send(parent, 1);
    (void)observed_receive(parent);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    nrt_tensor_free(&host);
    loaded_fini(&loaded);
    observed_send(parent, 2);
    (void)observed_receive(parent);
    return 0;
}

static void nds_values_of_another_running_process_can_be_read(void **state)
{
    nds_instance_t *inst = NULL;
    nds_obj_handle_t *models = NULL;
    uint64_t value = 5;
    size_t count = 9;

    setenv("NEURON_PROCESS_TAG", TAG, 1);
    struct observed child = observed_start(current(state)->folder, observed_process, NULL);
    (void)observed_receive(&child);

    assert_int_equal(nds_open(&device_0, child.pid, &inst), 0);
    check_counters(inst);
    check_process(inst, TAG);
    check_models(inst);

    /* Read-only. */
    assert_int_not_equal(nds_increment_nc_counter(inst, 1, NDS_NC_COUNTER_NC_TIME, 1), 0);
    assert_int_not_equal(nds_set_nd_counter(inst, NDS_ND_COUNTER_FEATURE_BITMAP, &value), 0);
    assert_int_not_equal(nds_or_nd_counter(inst, NDS_ND_COUNTER_FEATURE_BITMAP, 1), 0);
    assert_null(nds_obj_new(inst, OBJECT_TYPE_PROCESS_INFO));

    /* The same instance sees later changes, and the unloaded model is no longer a node. */
    observed_send(&child, 1);
    (void)observed_receive(&child);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_INFER_COMPLETED), EXECUTIONS + 1);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_MEM_USAGE_TENSORS_DEVICE), 0);
    assert_int_equal(nds_read_all_model_nodes(inst, &models, &count), 0);
    assert_int_equal(count, 0);
    free(models);

    /* Its counters stay after it is killed, but a new instance does not find it. */
    assert_int_equal(observed_finish(&child, SIGKILL), 128 + SIGKILL);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_INFER_COMPLETED), EXECUTIONS + 1);
    assert_int_equal(nds_close(inst), 0);
    assert_int_not_equal(nds_open(&device_0, child.pid, &inst), 0);
    unsetenv("NEURON_PROCESS_TAG");
}

static void a_process_reads_its_runtime_counters_and_its_own_changes(void **state)
{
    struct loaded loaded = { 0 };
    nds_instance_t *inst = NULL;
    nds_instance_t *reader = NULL;
    nrt_tensor_t *host = NULL;
    uint64_t value = 1000;

    /* Before the runtime is open: an empty instance. */
    assert_int_equal(nds_open(&device_0, 0, &inst), 0);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_INFER_COMPLETED), 0);
    assert_null(nds_read_process_info(inst));

    setenv("NEURON_PROCESS_TAG", TAG, 1);
    work(&loaded, &host);
    check_counters(inst);
    check_process(inst, TAG);
    check_models(inst);

    /* A counter that the segment has: an offset to the live value. */
    assert_int_equal(nds_increment_nc_counter(inst, 1, NDS_NC_COUNTER_INFER_COMPLETED, 5), 0);
    assert_int_equal(nds_decrement_nc_counter(inst, 1, NDS_NC_COUNTER_INFER_COMPLETED, 2), 0);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_INFER_COMPLETED), EXECUTIONS + 3);
    assert_int_equal(nds_set_nc_counter(inst, 1, NDS_NC_COUNTER_INFER_COMPLETED, &value), 0);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_INFER_COMPLETED), 1000);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_INFER_COMPLETED), 1001);

    /* Counters that the segment lacks. */
    assert_int_equal(nds_increment_nc_counter(inst, 0, NDS_NC_COUNTER_CC_TIME, 70), 0);
    assert_int_equal(nds_increment_nc_counter(inst, 0, 94, 9), 0);
    assert_int_equal(core_counter(inst, 0, NDS_NC_COUNTER_CC_TIME), 70);
    assert_int_equal(core_counter(inst, 0, 94), 9);
    assert_int_equal(nds_set_nd_counter(inst, NDS_ND_COUNTER_DEVICE_CLUSTER_ID, &value), 0);
    assert_int_equal(nds_decrement_nd_counter(inst, NDS_ND_COUNTER_DEVICE_CLUSTER_ID, 1), 0);
    assert_int_equal(nds_increment_nd_counter(inst, NDS_ND_COUNTER_DEVICE_CLUSTER_ID, 3), 0);
    assert_int_equal(device_counter(inst, NDS_ND_COUNTER_DEVICE_CLUSTER_ID), 1002);
    assert_int_equal(nds_or_nd_counter(inst, NDS_ND_COUNTER_FEATURE_BITMAP, 1), 0);
    assert_int_equal(nds_or_nd_counter(inst, NDS_ND_COUNTER_FEATURE_BITMAP, 63), 0);
    assert_int_equal(nds_or_nd_counter(inst, NDS_ND_COUNTER_FEATURE_BITMAP, 1), 0);
    assert_true(device_counter(inst, NDS_ND_COUNTER_FEATURE_BITMAP) == (1ull << 63 | 2));

    /* Opened by its pid it is a normal reader, and sees the live value. */
    assert_int_equal(nds_open(&device_0, getpid(), &reader), 0);
    assert_int_equal(core_counter(reader, 1, NDS_NC_COUNTER_INFER_COMPLETED), EXECUTIONS + 1);
    assert_int_not_equal(nds_increment_nc_counter(reader, 1, NDS_NC_COUNTER_CC_TIME, 1), 0);
    assert_int_equal(nds_close(reader), 0);

    /* After the runtime has closed, the last values stay; a new runtime counts from 0. */
    nrt_tensor_free(&host);
    loaded_fini(&loaded);
    value = core_counter(inst, 1, NDS_NC_COUNTER_TIME_IN_USE);
    nrt_close();
    assert_true(core_counter(inst, 1, NDS_NC_COUNTER_TIME_IN_USE) == value);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_ERR_INVALID), BAD_INPUTS);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(core_counter(inst, 1, NDS_NC_COUNTER_ERR_INVALID), 0);
    assert_int_equal(nds_close(inst), 0);
    unsetenv("NEURON_PROCESS_TAG");
}

/* A logical core of two physical ones: counts on the first, time and code on both, and a node on
 * each. */
static void the_physical_cores_of_a_logical_core_are_distinguished(void **state)
{
    const struct test_model_options options = { .lnc = 2 };
    nds_obj_handle_t *models = NULL;
    nds_instance_t *inst = NULL;
    struct loaded loaded;
    uint64_t value = 0;
    size_t count = 0;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    setenv("NEURON_SOFT_INSTANCE", "trn2.3xlarge", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 1);
    free(neff);
    for (int i = 0; i < EXECUTIONS; i++) {
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    }
    assert_int_equal(nds_open(&device_0, 0, &inst), 0);
    for (int core = 0; core < 8; core++) {
        bool is_first = core == 2;
        bool is_of_it = core == 2 || core == 3;

        assert_int_equal(core_counter(inst, core, NDS_NC_COUNTER_INFER_COMPLETED),
                         is_first ? EXECUTIONS : 0);
        assert_int_equal(core_counter(inst, core, NDS_NC_COUNTER_MODEL_LOAD_COUNT), is_first);
        assert_int_equal(core_counter(inst, core, NDS_NC_COUNTER_LATENCY_TOTAL) > 0, is_first);
        assert_int_equal(core_counter(inst, core, NDS_NC_COUNTER_TIME_IN_USE) > 0, is_of_it);
    }
    assert_int_not_equal(nds_get_nc_counter(inst, 12, NDS_NC_COUNTER_TIME_IN_USE, &value), 0);

    assert_int_equal(nds_read_all_model_nodes(inst, &models, &count), 0);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++) {
        const nds_model_node_info_t *info = nds_obj_handle_to_model_node_info(models[i]);
        const nds_model_node_mem_usage_info_t *memory =
            nds_obj_handle_to_model_node_mem_usage(models[i]);

        assert_int_equal(info->model_node_id, i);
        assert_int_equal(info->nc_index, 2 + i);
        assert_true(memory->model_mem_usage[1][NDS_DMA_MEM_USAGE_SLOT_CODE].total_size <=
                    core_counter(inst, (int)(2 + i), NDS_NC_COUNTER_MEM_USAGE_CODE_DEVICE));
    }
    free(models);
    assert_int_equal(nds_close(inst), 0);
    loaded_fini(&loaded);
}

static int looks_at_itself(struct observed *parent, void *ctx)
{
    nds_instance_t *inst = NULL;

    (void)ctx;
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nds_open(&device_0, 0, &inst), 0);
    nds_obj_handle_t process = nds_read_process_info(inst);
    assert_non_null(process);
    assert_int_equal(nds_close(inst), 0);
    observed_send(parent, 1);
    (void)observed_receive(parent);
    nrt_close();
    return 0;
}

static void a_process_that_reads_its_own_segment_keeps_the_liveness_lock(void **state)
{
    const char *folder = current(state)->folder;
    struct observed child = observed_start(folder, looks_at_itself, NULL);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };
    unsigned long long started;
    struct dirent *entry;
    unsigned int pid;
    int fd = -1;

    (void)observed_receive(&child);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (fd < 0 && (entry = readdir(dir)) != NULL) {
        if (ntk_paths_parse_segment_name(entry->d_name, &pid, &started) == 1 &&
            pid == (unsigned int)child.pid) {
            fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        }
    }
    closedir(dir);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETLK, &lock), 0);
    assert_int_equal(lock.l_type, F_WRLCK);
    assert_int_equal(lock.l_pid, child.pid);
    close(fd);
    observed_send(&child, 1);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void nds_objects_are_visible_between_commit_and_deletion(void **state)
{
    nds_obj_handle_t *models = NULL;
    nds_instance_t *inst = NULL;
    size_t count = 0;

    assert_int_equal(nds_open(&device_0, 0, &inst), 0);
    nds_obj_handle_t node = nds_obj_new(inst, OBJECT_TYPE_MODEL_NODE_INFO);
    nds_model_node_info_t *info = nds_obj_handle_to_model_node_info(node);
    assert_non_null(info);
    assert_int_equal(info->model_id, 0);
    info->model_id = 4711;
    nds_obj_handle_to_model_node_mem_usage(node)->model_mem_usage[0][2].total_size = 99;
    assert_int_equal(nds_read_all_model_nodes(inst, &models, &count), 0);
    assert_int_equal(count, 0);
    free(models);

    assert_int_equal(nds_obj_commit(node), 0);
    assert_int_equal(nds_read_all_model_nodes(inst, &models, &count), 0);
    assert_int_equal(count, 1);
    assert_true(models[0] != node);
    assert_int_equal(nds_obj_handle_to_model_node_info(models[0])->model_id, 4711);
    assert_int_equal(
        nds_obj_handle_to_model_node_mem_usage(models[0])->model_mem_usage[0][2].total_size, 99);
    assert_int_equal(nds_obj_delete(node), 0);
    assert_int_equal(nds_obj_handle_to_model_node_info(models[0])->model_id, 4711);
    free(models);
    assert_int_equal(nds_read_all_model_nodes(inst, &models, &count), 0);
    assert_int_equal(count, 0);
    free(models);

    nds_obj_handle_t process = nds_obj_new(inst, OBJECT_TYPE_PROCESS_INFO);
    (void)snprintf(nds_obj_handle_to_process_info(process)->tag, 32, "mine");
    assert_null(nds_read_process_info(inst));
    assert_int_equal(nds_obj_commit(process), 0);
    assert_string_equal(nds_obj_handle_to_process_info(nds_read_process_info(inst))->tag, "mine");

    /* Closing the instance destroys its objects. */
    assert_int_equal(nds_close(inst), 0);
    assert_null(nds_obj_handle_to_process_info(process));
    assert_int_not_equal(nds_obj_commit(process), 0);
    assert_int_not_equal(nds_obj_delete(process), 0);
}

static void a_thousand_objects_are_created_and_deleted(void **state)
{
    static nds_obj_handle_t objects[1000];
    nds_instance_t *inst = NULL;

    assert_int_equal(nds_open(&device_0, 0, &inst), 0);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 1000; i++) {
            objects[i] = nds_obj_new(inst, OBJECT_TYPE_MODEL_NODE_INFO);
            assert_non_null(objects[i]);
            nds_obj_handle_to_model_node_info(objects[i])->model_id = i;
        }
        for (uint32_t i = 0; i < 1000; i++) {
            assert_int_equal(nds_obj_handle_to_model_node_info(objects[i])->model_id, i);
            assert_int_equal(nds_obj_delete(objects[i]), 0);
        }
    }
    /* Allocations succeed until all handles are in use, and again after a close. */
    uint32_t made = 0;
    while (nds_obj_new(inst, OBJECT_TYPE_PROCESS_INFO) != NULL) {
        made++;
    }
    assert_in_range(made, 10000, 65536);
    assert_int_equal(nds_close(inst), 0);
    assert_int_equal(nds_open(&device_0, 0, &inst), 0);
    assert_non_null(nds_obj_new(inst, OBJECT_TYPE_PROCESS_INFO));
    assert_int_equal(nds_close(inst), 0);
}

static void invalid_nds_arguments_are_errors(void **state)
{
    nds_instance_t *const invented[] = { NULL, (nds_instance_t *)(uintptr_t)16,
                                         (nds_instance_t *)(uintptr_t)-1,
                                         (nds_instance_t *)&device_0 };
    nds_obj_handle_t *models = NULL;
    nds_instance_t *inst = NULL;
    ndl_device_t far = { 0 };
    uint64_t value = 0;
    size_t count;

    far.device_index = 64;
    assert_int_not_equal(nds_open(NULL, 0, &inst), 0);
    assert_int_not_equal(nds_open(&device_0, 0, NULL), 0);
    assert_int_not_equal(nds_open(&far, 0, &inst), 0);
    assert_int_not_equal(nds_open(&device_0, -1, &inst), 0);
    assert_int_not_equal(nds_open(&device_0, 1, &inst), 0);
    assert_null(inst);
    for (size_t i = 0; i < sizeof invented / sizeof *invented; i++) {
        nds_obj_handle_t object = invented[i];

        assert_int_not_equal(nds_close(invented[i]), 0);
        assert_int_not_equal(nds_get_nc_counter(invented[i], 0, 0, &value), 0);
        assert_int_not_equal(nds_set_nc_counter(invented[i], 0, 0, &value), 0);
        assert_int_not_equal(nds_increment_nc_counter(invented[i], 0, 0, 1), 0);
        assert_int_not_equal(nds_decrement_nc_counter(invented[i], 0, 0, 1), 0);
        assert_int_not_equal(nds_get_nd_counter(invented[i], 0, &value), 0);
        assert_int_not_equal(nds_set_nd_counter(invented[i], 0, &value), 0);
        assert_int_not_equal(nds_increment_nd_counter(invented[i], 0, 1), 0);
        assert_int_not_equal(nds_decrement_nd_counter(invented[i], 0, 1), 0);
        assert_int_not_equal(nds_or_nd_counter(invented[i], 0, 1), 0);
        assert_null(nds_obj_new(invented[i], OBJECT_TYPE_PROCESS_INFO));
        assert_int_not_equal(nds_read_all_model_nodes(invented[i], &models, &count), 0);
        assert_null(nds_read_process_info(invented[i]));
        assert_null(nds_read_process_info_ext(invented[i]));
        assert_int_not_equal(nds_obj_commit(object), 0);
        assert_int_not_equal(nds_obj_delete(object), 0);
        assert_null(nds_obj_handle_to_model_node_info(object));
        assert_null(nds_obj_handle_to_model_node_mem_usage(object));
        assert_null(nds_obj_handle_to_process_info(object));
        assert_null(nds_obj_handle_to_process_info_ext(object));
    }
    assert_int_equal(nds_open(&device_0, 0, &inst), 0);
    assert_int_not_equal(nds_get_nc_counter(inst, -1, 0, &value), 0);
    assert_int_not_equal(nds_get_nc_counter(inst, 16, 0, &value), 0);
    assert_int_not_equal(nds_get_nc_counter(inst, 0, 95, &value), 0);
    assert_int_not_equal(nds_get_nc_counter(inst, 0, 0, NULL), 0);
    assert_int_not_equal(nds_set_nc_counter(inst, 0, 0, NULL), 0);
    assert_int_not_equal(nds_get_nd_counter(inst, 31, &value), 0);
    assert_int_not_equal(nds_get_nd_counter(inst, 0, NULL), 0);
    assert_int_not_equal(nds_or_nd_counter(inst, 0, 64), 0);
    assert_null(nds_obj_new(inst, 3));
    assert_null(nds_obj_new(inst, -1));
    assert_int_not_equal(nds_read_all_model_nodes(inst, NULL, &count), 0);
    assert_int_not_equal(nds_read_all_model_nodes(inst, &models, NULL), 0);
    /* If there is a machine, its core count is the limit. */
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nds_get_nc_counter(inst, 1, 0, &value), 0);
    assert_int_not_equal(nds_get_nc_counter(inst, 2, 0, &value), 0);
    assert_int_equal(nds_close(inst), 0);
    assert_int_not_equal(nds_close(inst), 0);
    assert_int_not_equal(nds_get_nc_counter(inst, 1, 0, &value), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nds_values_of_another_running_process_can_be_read,
                                        runtime_setup, runtime_teardown),
        cmocka_unit_test_setup_teardown(a_process_reads_its_runtime_counters_and_its_own_changes,
                                        runtime_setup, runtime_teardown),
        cmocka_unit_test_setup_teardown(
            a_process_that_reads_its_own_segment_keeps_the_liveness_lock, runtime_setup,
            runtime_teardown),
        cmocka_unit_test_setup_teardown(the_physical_cores_of_a_logical_core_are_distinguished,
                                        runtime_setup, runtime_teardown),
        cmocka_unit_test_setup_teardown(nds_objects_are_visible_between_commit_and_deletion,
                                        runtime_setup, runtime_teardown),
        cmocka_unit_test_setup_teardown(a_thousand_objects_are_created_and_deleted, runtime_setup,
                                        runtime_teardown),
        cmocka_unit_test_setup_teardown(invalid_nds_arguments_are_errors, runtime_setup,
                                        runtime_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
