/* SPDX-License-Identifier: MIT */
/*
 * Wrong usage of the public calls: a status of the documented table, never a crash.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nrt/nrt_async.h"
#include "nrt/nrt_async_sendrecv.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_version.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/unit.h"

static char somewhere[256];

static void on_end(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
                   NRT_STATUS status)
{
    (void)params;
    (void)model_id;
    (void)vnc;
    (void)job_id;
    (void)status;
}

/* Every call that needs the runtime, with otherwise valid arguments. */
static void calls_answer(NRT_STATUS expected)
{
    nrt_tensor_t *tensor = NULL;
    nrt_tensor_set_t *set = NULL;
    nrt_model_t *model = NULL;
    nrt_tensor_info_array_t *info = NULL;
    nrt_vnc_memory_stats_t stats;
    nrt_tensor_device_allocation_info_t allocation;
    nrt_model_info_t model_info;
    uint32_t count;
    size_t size;
    void *address;
    nrta_error_tracker_t *tracker = NULL;
    nrta_seq_t seq = 0;
    nrt_async_sendrecv_comm_t *comm = NULL;
    nrt_async_sendrecv_request_t *request = NULL;
    bool is_completed;
    int fd;

#define ANSWERS(call) assert_int_equal((call), expected)
    ANSWERS(nrt_load(somewhere, sizeof somewhere, 0, 1, &model));
    ANSWERS(nrt_unload((nrt_model_t *)somewhere));
    ANSWERS(nrt_get_model_nc_count((nrt_model_t *)somewhere, &count));
    ANSWERS(nrt_get_model_vnc_count((nrt_model_t *)somewhere, &count));
    ANSWERS(nrt_get_model_instance_count((nrt_model_t *)somewhere, &count));
    ANSWERS(nrt_get_model_tensor_info((nrt_model_t *)somewhere, &info));
    ANSWERS(nrt_get_model_info((nrt_model_t *)somewhere, &model_info, sizeof model_info, &size));
    ANSWERS(nrt_execute((nrt_model_t *)somewhere, somewhere, somewhere));
    ANSWERS(nrt_execute_repeat((nrt_model_t *)somewhere, somewhere, somewhere, 2));
    ANSWERS(nrt_execute_repeat((nrt_model_t *)somewhere, somewhere, somewhere, 0));
    ANSWERS(nrt_get_vnc_memory_stats(0, &stats, sizeof stats, &size));
    ANSWERS(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", &tensor));
    ANSWERS(nrt_tensor_allocate_empty("t", &tensor));
    ANSWERS(nrt_tensor_allocate_slice((nrt_tensor_t *)somewhere, 0, 1, "s", &tensor));
    ANSWERS(nrt_tensor_attach_buffer((nrt_tensor_t *)somewhere, somewhere, 4));
    ANSWERS(nrt_tensor_read((nrt_tensor_t *)somewhere, somewhere, 0, 1));
    ANSWERS(nrt_tensor_write((nrt_tensor_t *)somewhere, somewhere, 0, 1));
    ANSWERS(nrt_tensor_memset((nrt_tensor_t *)somewhere, 0, 1, 1));
    ANSWERS(nrt_tensor_copy((nrt_tensor_t *)somewhere, 0, (nrt_tensor_t *)somewhere, 0, 1));
    ANSWERS(nrt_tensor_get_device_allocation_info((nrt_tensor_t *)somewhere, &allocation));
    ANSWERS(nrt_tensor_check_output_completion((nrt_tensor_t *)somewhere, 0, 1));
    ANSWERS(nrt_tensor_reset_output_completion((nrt_tensor_t *)somewhere));
    ANSWERS(nrt_tensor_read_batch(NULL, 1, false));
    ANSWERS(nrt_tensor_write_batch(NULL, 1, false));
    ANSWERS(nrt_tensor_write_batch(NULL, 0, false));
    ANSWERS(
        nrta_cc_prepare(NULL, NULL, NULL, NRT_DTYPE_FLOAT32, NRT_OP_ADD, NRT_CC_ALLREDUCE, NULL));
    ANSWERS(nrta_cc_schedule(NULL, 0, NULL, &seq));
    ANSWERS(nrt_cc_create_stream(0));
    ANSWERS(nrt_debug_log_oom_report());
    ANSWERS(nrt_dump_device_allocation_info());
    ANSWERS(nrt_allocate_tensor_set(&set));
    ANSWERS(nrt_add_tensor_to_tensor_set(somewhere, "t", (nrt_tensor_t *)somewhere));
    ANSWERS(nrt_get_tensor_from_tensor_set(somewhere, "t", &tensor));
    ANSWERS(nrt_memcpy_to_device(somewhere, somewhere, 1));
    ANSWERS(nrt_get_hbm_mmap_va(0, 0, &address, &size));
    ANSWERS(nrt_get_dmabuf_fd(1, 1, &fd));
    ANSWERS(nrt_get_attached_efa_bdf(somewhere, somewhere, &size));
    ANSWERS(nrt_profile_start((nrt_model_t *)somewhere, "x.ntff"));
    ANSWERS(nrt_profile_stop("x.ntff"));
    ANSWERS(nrt_register_async_exec_callback(on_end, NULL));
    ANSWERS(nrt_async_drain_queued_execs(0));
    ANSWERS(nrta_tensor_write((nrt_tensor_t *)somewhere, somewhere, 0, 1, 0, NULL, &seq));
    ANSWERS(nrta_tensor_read(somewhere, (nrt_tensor_t *)somewhere, 0, 1, 0, NULL, &seq));
    ANSWERS(nrta_tensor_copy((nrt_tensor_t *)somewhere, 0, (nrt_tensor_t *)somewhere, 0, 1, 0, NULL,
                             &seq));
    ANSWERS(nrta_execute_schedule((nrt_model_t *)somewhere, somewhere, somewhere, 0, NULL, &seq));
    ANSWERS(nrta_is_completed(1, &is_completed));
    ANSWERS(nrta_get_sequence(0, NRTA_XU_COMPUTE, 0, &seq));
    ANSWERS(nrta_get_completion_handle(1, &fd));
    ANSWERS(nrta_error_tracker_create(0, &tracker));
    ANSWERS(nrt_async_sendrecv_init(0));
    ANSWERS(nrt_async_sendrecv_close(0));
    ANSWERS(nrt_async_sendrecv_flush(0));
    ANSWERS(nrt_async_sendrecv_connect("127.0.0.1", 0, 0, &comm));
    ANSWERS(nrt_async_sendrecv_accept("127.0.0.1", 0, 0, &comm));
    ANSWERS(nrt_async_sendrecv_test_comm(comm, &is_completed));
    ANSWERS(nrt_async_sendrecv_send_tensor((nrt_tensor_t *)somewhere, 0, 1, comm, &request));
    ANSWERS(nrt_async_sendrecv_recv_tensor((nrt_tensor_t *)somewhere, 0, 1, comm, &request));
    ANSWERS(nrt_async_sendrecv_test_request(request, &is_completed, &size));
#undef ANSWERS
    assert_null(tensor);
    assert_null(set);
    assert_null(model);
    assert_null(info);
    assert_int_equal(nrt_tensor_get_size((nrt_tensor_t *)somewhere), 0);
    assert_null(nrt_tensor_get_va((nrt_tensor_t *)somewhere));
}

static void calls_before_init_or_after_close_return_their_error_code(void **state)
{
    calls_answer(NRT_UNINITIALIZED);
    nrt_close(); /* has no effect */
    calls_answer(NRT_UNINITIALIZED);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, NULL, NULL), NRT_SUCCESS);
    nrt_close();
    calls_answer(NRT_CLOSED);
    nrt_close();
    calls_answer(NRT_CLOSED);
}

static void a_second_nrt_init_succeeds_without_effect(void **state)
{
    uint32_t count = 0;

    setenv("NEURON_RT_NUM_CORES", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_PYTORCH, "2.1", "1.0"), NRT_SUCCESS);
    setenv("NEURON_RT_NUM_CORES", "2", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_get_visible_nc_count(&count), NRT_SUCCESS);
    assert_int_equal(count, 1);
    nrt_close();
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_get_visible_nc_count(&count), NRT_SUCCESS);
    assert_int_equal(count, 2);
}

static void nrt_init_succeeds_after_a_failed_one_with_invalid_settings(void **state)
{
    static const struct {
        const char *name, *value;
        NRT_STATUS status;
    } rows[] = {
        { "NEURON_RT_VISIBLE_CORES", "0,2", NRT_INVALID },
        { "NEURON_RT_VISIBLE_CORES", "x", NRT_INVALID },
        { "NEURON_RT_VISIBLE_CORES", "1-0", NRT_INVALID },
        { "NEURON_RT_VISIBLE_CORES", "7", NRT_INVALID },
        { "NEURON_RT_NUM_CORES", "many", NRT_INVALID },
        { "NEURON_RT_NUM_CORES", "3", NRT_FAILURE },
        { "NEURON_RT_VIRTUAL_CORE_SIZE", "2", NRT_INVALID },
        { "NEURON_LOGICAL_NC_CONFIG", "0", NRT_INVALID },
        { "NEURON_SCRATCHPAD_PAGE_SIZE", "100", NRT_INVALID },
        { "NEURON_RT_CONTIGUOUS_SCRATCHPAD", "maybe", NRT_INVALID },
        { "NEURON_SOFT_INSTANCE", "trn9.large", NRT_INVALID },
    };

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_INVALID, "", ""), NRT_INVALID);
    assert_int_equal(nrt_init((nrt_framework_type_t)6, "", ""), NRT_INVALID);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *old = getenv(rows[i].name);
        char *saved = old ? strdup(old) : NULL;

        setenv(rows[i].name, rows[i].value, 1);
        NRT_STATUS status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
        if (status != rows[i].status) {
            fail_msg("%s=%s gives %s", rows[i].name, rows[i].value, nrt_get_status_as_str(status));
        }
        if (saved) {
            setenv(rows[i].name, saved, 1);
        } else {
            unsetenv(rows[i].name);
        }
        free(saved);
    }
    calls_answer(NRT_UNINITIALIZED);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

static void invalid_arguments_are_rejected(void **state)
{
    nrt_tensor_t *tensor = NULL;
    nrt_tensor_t *slice = NULL;
    nrt_tensor_t *empty = NULL;
    nrt_tensor_set_t *set = NULL;
    nrt_tensor_t *found = (nrt_tensor_t *)somewhere;
    nrt_model_t *model = NULL;
    nrt_vnc_memory_stats_t stats;
    nrt_tensor_batch_op_t op = { 60, 8, somewhere };
    size_t size = 0;
    uint32_t count;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
#define REFUSED(call) assert_int_equal((call), NRT_INVALID)
    REFUSED(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 0, "t", &tensor));
    REFUSED(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, -1, 64, "t", &tensor));
    REFUSED(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 2, 64, "t", &tensor));
    REFUSED(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, 2, 64, "t", &tensor));
    REFUSED(nrt_tensor_allocate((nrt_tensor_placement_t)3, 0, 64, "t", &tensor));
    REFUSED(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", NULL));
    assert_null(tensor);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, UINT64_MAX, "t", &tensor),
                     NRT_RESOURCE);
    assert_int_equal(
        nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, UINT64_MAX, NULL, &tensor),
        NRT_RESOURCE);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, NULL, &tensor),
                     NRT_SUCCESS);
    nrt_tensor_batch_t batch = { tensor, &op, 1 };
    REFUSED(nrt_tensor_read(tensor, somewhere, 64, 1));
    REFUSED(nrt_tensor_read(tensor, somewhere, UINT64_MAX, 2));
    REFUSED(nrt_tensor_write(tensor, somewhere, 1, 64));
    REFUSED(nrt_tensor_write(tensor, NULL, 0, 1));
    REFUSED(nrt_tensor_read(NULL, somewhere, 0, 1));
    REFUSED(nrt_tensor_read((nrt_tensor_t *)((char *)tensor + 8), somewhere, 0, 1));
    REFUSED(nrt_tensor_memset(tensor, 60, 0, 5));
    REFUSED(nrt_tensor_copy(tensor, 0, NULL, 0, 1));
    REFUSED(nrt_tensor_copy(tensor, 0, tensor, 60, 8));
    REFUSED(nrt_tensor_write_batch(&batch, 1, false));
    REFUSED(nrt_tensor_allocate_slice(tensor, 32, 33, "s", &slice));
    REFUSED(nrt_tensor_allocate_slice(tensor, 0, 0, "s", &slice));
    REFUSED(nrt_tensor_allocate_slice(tensor, 0, 1, "s", NULL));
    REFUSED(nrt_tensor_attach_buffer(tensor, NULL, 4));
    REFUSED(nrt_tensor_get_device_allocation_info(tensor, NULL));
    REFUSED(nrt_tensor_allocate_empty("e", NULL));
    assert_int_equal(nrt_tensor_allocate_empty("e", &empty), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_get_size(empty), 0);
    assert_null(nrt_tensor_get_va(empty));
    REFUSED(nrt_tensor_read(empty, somewhere, 0, 1));
    assert_int_equal(nrt_tensor_read(empty, somewhere, 0, 0), NRT_SUCCESS);
    REFUSED(nrt_allocate_tensor_set(NULL));
    assert_int_equal(nrt_allocate_tensor_set(&set), NRT_SUCCESS);
    REFUSED(nrt_add_tensor_to_tensor_set(set, NULL, tensor));
    REFUSED(nrt_add_tensor_to_tensor_set(set, "t", NULL));
    REFUSED(nrt_add_tensor_to_tensor_set(NULL, "t", tensor));
    assert_int_equal(nrt_get_tensor_from_tensor_set(set, "unknown", &found), NRT_FAILURE);
    assert_ptr_equal(found, somewhere);
    REFUSED(nrt_load(NULL, 10, 0, 1, &model));
    REFUSED(nrt_load(somewhere, 0, 0, 1, &model));
    REFUSED(nrt_load(somewhere, sizeof somewhere, 0, 1, NULL));
    REFUSED(nrt_load(somewhere, sizeof somewhere, 0, 1, &model));
    REFUSED(nrt_load(somewhere, sizeof somewhere, -2, 1, &model));
    REFUSED(nrt_load(somewhere, sizeof somewhere, 0, 7, &model));
    REFUSED(nrt_unload(NULL));
    nrt_model_t *none = (nrt_model_t *)tensor;
    nrta_seq_t sequence;
    nrt_tensor_info_array_t *info = NULL;
#define NO_MODEL(call) assert_int_equal((call), NRT_INVALID_HANDLE)
    NO_MODEL(nrt_unload(none));
    NO_MODEL(nrt_get_model_nc_count(none, &count));
    NO_MODEL(nrt_get_model_tensor_info(none, &info));
    NO_MODEL(nrt_execute(none, set, set));
    NO_MODEL(nrt_execute_repeat(none, set, set, 2));
    NO_MODEL(nrt_profile_start(none, "x.ntff"));
    NO_MODEL(nrta_execute_schedule(none, set, set, 0, NULL, &sequence));
    REFUSED(nrta_execute_schedule(NULL, set, set, 0, NULL, &sequence));
    REFUSED(nrt_get_model_nc_count(NULL, &count));
    REFUSED(nrt_execute(NULL, set, set));
    REFUSED(nrt_free_model_tensor_info(NULL));
    REFUSED(nrt_get_vnc_memory_stats(2, &stats, sizeof stats, &size));
    REFUSED(nrt_get_vnc_memory_stats(0, NULL, sizeof stats, &size));
    REFUSED(nrt_get_vnc_memory_stats(0, &stats, 0, &size));
    REFUSED(nrt_get_total_nc_count(NULL));
    REFUSED(nrt_get_visible_vnc_count(NULL));
    REFUSED(nrt_get_version(NULL, 4));
    REFUSED(nrt_get_instance_info(NULL, 4));
    REFUSED(nrt_profile_start(NULL, "x"));
    REFUSED(nrt_profile_stop("nothing goes there"));
    REFUSED(nrt_memcpy_to_device(somewhere, somewhere, 1));
#undef REFUSED
    nrt_tensor_free(NULL);
    nrt_destroy_tensor_set(NULL);
    nrt_tensor_free(&tensor);
    assert_null(tensor);
    nrt_tensor_free(&tensor);
    nrt_tensor_free(&empty);
    nrt_destroy_tensor_set(&set);
    nrt_destroy_tensor_set(&set);
}

static void invalid_tensors_are_rejected_and_the_model_remains_usable(void **state)
{
    struct test_model_options options = { 0 };
    struct loaded loaded;
    nrt_tensor_t *small = NULL;
    nrt_tensor_t *other_core = NULL;
    nrt_tensor_set_t *empty = NULL;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    assert_int_equal(nrt_allocate_tensor_set(&empty), NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded.model, empty, loaded.outputs), NRT_INVALID);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, empty), NRT_INVALID);
    assert_int_equal(nrt_execute(loaded.model, NULL, loaded.outputs), NRT_INVALID);
    assert_int_equal(
        nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, TEST_MODEL_BYTES - 1, "small", &small),
        NRT_SUCCESS);
    assert_int_equal(nrt_add_tensor_to_tensor_set(loaded.inputs, "x", small), NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_INVALID);
    assert_int_equal(
        nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, TEST_MODEL_BYTES, "other", &other_core),
        NRT_SUCCESS);
    assert_int_equal(nrt_add_tensor_to_tensor_set(loaded.inputs, "x", other_core), NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_INVALID);
    /* A freed tensor is no longer in the set, even if its slot is used again. */
    nrt_tensor_free(&other_core);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_INVALID);
    for (int i = 0; i < 100; i++) {
        nrt_tensor_t *filler = NULL;

        assert_int_equal(
            nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, TEST_MODEL_BYTES, NULL, &filler),
            NRT_SUCCESS);
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_INVALID);
        nrt_tensor_free(&filler);
    }
    assert_int_equal(nrt_add_tensor_to_tensor_set(loaded.inputs, "x", loaded.x), NRT_SUCCESS);
    assert_int_equal(nrt_add_tensor_to_tensor_set(loaded.inputs, "unused", small), NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    nrt_tensor_free(&small);
    nrt_destroy_tensor_set(&empty);
    loaded_fini(&loaded);
}

static void handles_of_a_closed_runtime_are_rejected(void **state)
{
    struct test_model_options options = { 0 };
    struct loaded loaded;
    nrt_tensor_t *tensor = NULL;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    nrt_close();
    nrt_tensor_t *stale = loaded.x;
    nrt_tensor_free(&stale);
    assert_null(stale);
    assert_int_equal(nrt_unload(loaded.model), NRT_CLOSED);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", &tensor),
                     NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_INVALID_HANDLE);
    assert_int_equal(nrt_unload(loaded.model), NRT_INVALID_HANDLE);
    assert_int_equal(nrt_tensor_read(loaded.x, somewhere, 0, 1), NRT_INVALID);
    nrt_tensor_free(&loaded.x);
    nrt_tensor_free(&loaded.y);
    nrt_destroy_tensor_set(&loaded.inputs);
    nrt_destroy_tensor_set(&loaded.outputs);
    assert_int_equal(nrt_tensor_write(tensor, somewhere, 0, 64), NRT_SUCCESS);
    free(neff);
}

static void corrupted_neffs_are_rejected(void **state)
{
    struct test_model_options options = { 0 };
    nrt_model_t *model = NULL;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    uint8_t *copy = malloc(bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    for (size_t cut = 0; cut < bytes; cut += 97) {
        assert_int_equal(nrt_load(neff, cut, 0, 1, &model), NRT_INVALID);
    }
    memcpy(copy, neff, bytes);
    copy[0] = 9; /* package version */
    assert_int_equal(nrt_load(copy, bytes, 0, 1, &model), NRT_UNSUPPORTED_NEFF_VERSION);
    memcpy(copy, neff, bytes);
    copy[24] = 3; /* major version */
    assert_int_equal(nrt_load(copy, bytes, 0, 1, &model), NRT_UNSUPPORTED_NEFF_VERSION);
    memcpy(copy, neff, bytes);
    copy[550] = 1; /* feature bit 48 */
    assert_int_equal(nrt_load(copy, bytes, 0, 1, &model), NRT_UNSUPPORTED_NEFF_VERSION);
    setenv("NEURON_SOFT_NEFF_FEATURES", "0x8001000000000fff", 1);
    assert_int_equal(nrt_load(copy, bytes, 0, 1, &model), NRT_SUCCESS);
    assert_int_equal(nrt_unload(model), NRT_SUCCESS);
    unsetenv("NEURON_SOFT_NEFF_FEATURES");
    memcpy(copy, neff, bytes);
    copy[552] = 2; /* LNC */
    assert_int_equal(nrt_load(copy, bytes, 0, 1, &model), NRT_INVALID);
    memcpy(copy, neff, bytes);
    copy[172] ^= 1; /* hash */
    assert_int_equal(nrt_load(copy, bytes, 0, 1, &model), NRT_SUCCESS);
    assert_int_equal(nrt_unload(model), NRT_SUCCESS);
    setenv("NEURON_RT_VALIDATE_HASH", "true", 1);
    assert_int_equal(nrt_load(copy, bytes, 0, 1, &model), NRT_INVALID);
    assert_int_equal(nrt_load(neff, bytes, 0, 1, &model), NRT_SUCCESS);
    assert_int_equal(nrt_unload(model), NRT_SUCCESS);
    options.target = "cayman"; /* a different generation from this machine */
    free(neff);
    neff = test_model_adder(&options, &bytes);
    assert_int_equal(nrt_load(neff, bytes, 0, 1, &model), NRT_INVALID);
    setenv("NEURON_RT_ALLOW_LEGACY_NEFF", "1", 1);
    assert_int_equal(nrt_load(neff, bytes, 0, 1, &model), NRT_SUCCESS);
    unsetenv("NEURON_RT_ALLOW_LEGACY_NEFF");
    free(neff);
    free(copy);
}

static void status_codes_are_described_by_their_names(void **state)
{
    nrt_version_t version;
    char cut[9] = "????????";

    assert_string_equal(nrt_get_status_as_str(NRT_SUCCESS), "NRT_SUCCESS");
    assert_string_equal(nrt_get_status_as_str(NRT_OOB), "NRT_EXEC_OOB");
    assert_string_equal(nrt_get_status_as_str((NRT_STATUS)4711), "NRT_UNKNOWN");
    assert_int_equal(nrt_get_version(&version, sizeof version), NRT_SUCCESS);
    assert_int_equal(version.rt_major, 2);
    assert_int_equal(version.rt_minor, 31);
    assert_int_equal(version.rt_patch, 24);
    assert_int_equal(version.rt_maintenance, 0);
    assert_memory_equal(version.rt_detail, "software NeuronCores ", 21);
    assert_int_equal(nrt_get_version((nrt_version_t *)cut, 1), NRT_SUCCESS);
    assert_memory_equal(cut, "\2???????", 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        /* first, because nothing was open yet */
        TEST(calls_before_init_or_after_close_return_their_error_code),
        TEST(a_second_nrt_init_succeeds_without_effect),
        TEST(invalid_arguments_are_rejected),
        TEST(invalid_tensors_are_rejected_and_the_model_remains_usable),
        TEST(handles_of_a_closed_runtime_are_rejected),
        TEST(corrupted_neffs_are_rejected),
        TEST(status_codes_are_described_by_their_names),
    };
    const struct CMUnitTest fresh[] = {
        TEST(nrt_init_succeeds_after_a_failed_one_with_invalid_settings),
    };
    int failed = 0;

    /* In a separate process: it needs a library that was never open. */
    pid_t child = fork();
    if (child == 0) {
        _exit(cmocka_run_group_tests_name("fresh", fresh, NULL, NULL));
    }
    (void)waitpid(child, &failed, 0);
    return cmocka_run_group_tests(tests, NULL, NULL) + (failed != 0 ? 1 : 0);
}
