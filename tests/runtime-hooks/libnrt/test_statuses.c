/* SPDX-License-Identifier: MIT */
/*
 * Every status of nrt_status.h: the test provokes those that can occur; docs/libnrt-status.md lists
 * those that cannot.
 *
 * Method: each row runs in a separate scratch machine, with the fault that it names.
 */
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nrt/ndebug_stream.h"
#include "nrt/nrt_async_sendrecv.h"
#include "shared/base/fs.h"
#include "shared/formats/neff/neff_build.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/unit.h"

#define STATUS_MAX 4096
#define FILE_BYTES_MAX (1U << 22)

static void init(void)
{
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

/* The result of one execution of this NEFF, which it frees. x starts with value. */
static NRT_STATUS execute_with(uint8_t *neff, size_t bytes, const void *value, size_t value_bytes)
{
    struct loaded loaded;

    init();
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    if (value) {
        assert_int_equal(nrt_tensor_write(loaded.x, value, 0, value_bytes), NRT_SUCCESS);
    }
    NRT_STATUS status = nrt_execute(loaded.model, loaded.inputs, loaded.outputs);
    loaded_fini(&loaded);
    return status;
}

#define CALLS_MAX 1024 /* calls that one model may have */
#define CALLER_COUNT (CALLS_MAX + 8)

static NRT_STATUS execute(void)
{
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);

    return execute_with(neff, bytes, NULL, 0);
}

static NRT_STATUS before_init(void)
{
    nrt_tensor_t *tensor = NULL;

    return nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, NULL, &tensor);
}

static NRT_STATUS after_close(void)
{
    init();
    nrt_close();
    return before_init();
}

static NRT_STATUS name_that_is_not_in_the_set(void)
{
    nrt_tensor_set_t *set = NULL;
    nrt_tensor_t *tensor = NULL;

    init();
    assert_int_equal(nrt_allocate_tensor_set(&set), NRT_SUCCESS);
    NRT_STATUS status = nrt_get_tensor_from_tensor_set(set, "unknown", &tensor);
    nrt_destroy_tensor_set(&set);
    return status;
}

static NRT_STATUS load_of_no_neff(void)
{
    nrt_model_t *model = NULL;

    init();
    return nrt_load("no NEFF", 7, 0, 1, &model);
}

static NRT_STATUS unknown_handle(void)
{
    bool done = false;

    init();
    return nrt_async_sendrecv_test_comm((nrt_async_sendrecv_comm_t *)&done, &done);
}

static NRT_STATUS model_that_is_unloaded(void)
{
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);

    init();
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    assert_int_equal(nrt_unload(loaded.model), NRT_SUCCESS);
    NRT_STATUS status = nrt_execute(loaded.model, loaded.inputs, loaded.outputs);
    nrt_tensor_free(&loaded.x);
    nrt_tensor_free(&loaded.y);
    nrt_destroy_tensor_set(&loaded.inputs);
    nrt_destroy_tensor_set(&loaded.outputs);
    return status;
}

static NRT_STATUS more_memory_than_there_is(void)
{
    nrt_tensor_t *tensor = NULL;

    init();
    return nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, UINT64_C(17) << 30, NULL, &tensor);
}

static NRT_STATUS program_that_waits_for_ever(void)
{
    struct test_model_options options = { .deadlock = 1 };
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    return execute_with(neff, bytes, NULL, 0);
}

static void callback_wait(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
                          NRT_STATUS status)
{
    (void)model_id;
    (void)vnc;
    (void)job_id;
    (void)status;
    while (sem_wait(params) != 0) {
    }
}

static NRT_STATUS second_of_a_queue_of_one(void)
{
    struct loaded loaded;
    sem_t may_return;
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);

    sem_init(&may_return, 0, 0);
    setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "1", 1);
    init();
    unsetenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    assert_int_equal(nrt_register_async_exec_callback(callback_wait, &may_return), NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    NRT_STATUS status = nrt_execute(loaded.model, loaded.inputs, loaded.outputs);
    sem_post(&may_return);
    assert_int_equal(nrt_async_drain_queued_execs(0), NRT_SUCCESS);
    loaded_fini(&loaded);
    nrt_close();
    sem_destroy(&may_return);
    return status;
}

struct caller {
    struct loaded *loaded;
    pthread_t thread;
    NRT_STATUS status;
};

static void *caller_run(void *ctx)
{
    struct caller *caller = ctx;

    caller->status =
        nrt_execute(caller->loaded->model, caller->loaded->inputs, caller->loaded->outputs);
    return NULL;
}

struct called {
    size_t full; /* callers that found no room */
    size_t dead; /* callers on dead cores */
};

/* The first execution hangs until the timeout; all others wait for its core or find no room. */
static struct called call_all(const char *timeout_seconds)
{
    static struct caller callers[CALLER_COUNT];
    struct called called = { 0 };
    struct loaded loaded;
    pthread_attr_t small;
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);

    setenv("NEURON_RT_EXEC_TIMEOUT", timeout_seconds, 1);
    init();
    loaded_init(&loaded, neff, bytes, 0);
    unsetenv("NEURON_RT_EXEC_TIMEOUT");
    free(neff);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    for (size_t i = 0; i < CALLER_COUNT; i++) {
        callers[i] = (struct caller){ .loaded = &loaded };
        assert_int_equal(pthread_create(&callers[i].thread, &small, caller_run, &callers[i]), 0);
    }
    pthread_attr_destroy(&small);
    for (size_t i = 0; i < CALLER_COUNT; i++) {
        pthread_join(callers[i].thread, NULL);
        called.full += callers[i].status == NRT_QUEUE_FULL;
        called.dead += callers[i].status == NRT_EXEC_UNIT_UNRECOVERABLE;
    }
    loaded_fini(&loaded);
    return called;
}

/* Method: if all callers call before the core is dead, the queue is full for the last ones. */
static NRT_STATUS one_call_too_many(void)
{
    static const char *const timeouts[] = { "3", "30", "300" }; /* for slower machines */
    struct called called = { 0 };

    for (size_t i = 0;
         i < sizeof timeouts / sizeof *timeouts && called.full < CALLER_COUNT - CALLS_MAX; i++) {
        if (i > 0) {
            nrt_close(); /* the next init resets the core and reads the limit */
        }
        called = call_all(timeouts[i]);
        assert_int_equal(called.full + called.dead, CALLER_COUNT - 1); /* and the one that hung */
    }
    return called.full == CALLER_COUNT - CALLS_MAX ? NRT_QUEUE_FULL : NRT_SUCCESS;
}

static NRT_STATUS load_on_more_cores_than_there_are(void)
{
    nrt_model_t *model = NULL;
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);

    init();
    NRT_STATUS status = nrt_load(neff, bytes, 0, 3, &model);
    free(neff);
    return status;
}

static NRT_STATUS load_of_another_version(void)
{
    nrt_model_t *model = NULL;
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);

    init();
    neff[0] = 9; /* package version */
    NRT_STATUS status = nrt_load(neff, bytes, 0, 1, &model);
    free(neff);
    return status;
}

static NRT_STATUS stream_without_events(void)
{
    ndebug_stream_event_header_t header;
    void *payload = NULL;
    int fd = -1;

    init();
    assert_int_equal(nrt_debug_client_connect(0, &fd), NRT_SUCCESS);
    NRT_STATUS status = nrt_debug_client_read_one_event(fd, &header, &payload);
    nrt_debug_client_connect_close(fd);
    return status;
}

static NRT_STATUS second_execution_on_a_dead_core(void)
{
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);

    init();
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    (void)nrt_execute(loaded.model, loaded.inputs, loaded.outputs);
    NRT_STATUS status = nrt_execute(loaded.model, loaded.inputs, loaded.outputs);
    loaded_fini(&loaded);
    return status;
}

static NRT_STATUS result_that_is_no_number(void)
{
    struct test_model_options options = { 0 };
    float bad = NAN;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    return execute_with(neff, bytes, &bad, sizeof bad);
}

static NRT_STATUS host_code_that_fails(void)
{
    static uint8_t library[FILE_BYTES_MAX];
    struct test_model_options options = { .cpu_after = 1,
                                          .cpu_function = "test_fail",
                                          .cpu_library = library };
    FILE *file = fopen(TEST_CPU_NODE, "rb");
    size_t bytes;

    assert_non_null(file);
    options.cpu_library_bytes = fread(library, 1, sizeof library, file);
    (void)fclose(file);
    uint8_t *neff = test_model_adder(&options, &bytes);
    return execute_with(neff, bytes, NULL, 0);
}

/* y = rows of x, selected by the numbers in x itself; a row above the third is out of bounds. */
static NRT_STATUS index_out_of_bounds(void)
{
    static const uint64_t shape[1] = { 16 };
    static const int32_t index = 100;
    struct ntk_neff_build_options options = { .name = "gather" };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "gather");
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_INDIRECT_COPY);
    struct ntk_err err = { 0 };
    uint8_t *neff = NULL;
    size_t bytes = 0;

    uint32_t x = ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_INT32, 1, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_INT32, 1, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    ntk_neff_token load =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, 4, 4), 0, 4, NTK_AFTER_NONE);
    copy.queue = (uint16_t)queue;
    copy.op_flags = NTK_ISA_OPF_BOUNDS;
    copy.imm[0] = 16; /* bytes per row */
    copy.imm[1] = 3;
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(4096, 4, 4, NTK_DTYPE_INT32);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(x, 0, 1, 4, 4, NTK_DTYPE_INT32);
    copy.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(0, 4, 1, NTK_DTYPE_INT32);
    ntk_neff_token rows = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_SP, &copy, NTK_AFTER(load));
    (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, 16, 4), 4096, 16, NTK_AFTER(rows));
    if (ntk_neff_build_bytes(build, &neff, &bytes, &err) != 0) {
        fail_msg("%s", err.text);
    }
    ntk_neff_build_destroy(build);
    return execute_with(neff, bytes, &index, sizeof index);
}

/* make is NULL if the status is never returned. */
static const struct row {
    NRT_STATUS status;
    NRT_STATUS (*make)(void);
    const char *fault;
} rows[] = {
    { NRT_UNINITIALIZED, before_init, NULL }, /* first, because nothing was open yet */
    { NRT_SUCCESS, execute, NULL },
    { NRT_FAILURE, name_that_is_not_in_the_set, NULL },
    { NRT_INVALID, load_of_no_neff, NULL },
    { NRT_INVALID_HANDLE, unknown_handle, NULL },
    { NRT_INVALID_HANDLE, model_that_is_unloaded, NULL },
    { NRT_RESOURCE, more_memory_than_there_is, NULL },
    { NRT_TIMEOUT, program_that_waits_for_ever, NULL },
    { NRT_HW_ERROR, execute, "device-error:at=1" },
    { NRT_QUEUE_FULL, second_of_a_queue_of_one, NULL },
    { NRT_QUEUE_FULL, one_call_too_many, "hang:at=1" },
    { NRT_LOAD_NOT_ENOUGH_NC, load_on_more_cores_than_there_are, NULL },
    { NRT_UNSUPPORTED_NEFF_VERSION, load_of_another_version, NULL },
    { NRT_FAIL_HOST_MEM_ALLOC, NULL, NULL },
    { NRT_CLOSED, after_close, NULL },
    { NRT_QUEUE_EMPTY, stream_without_events, NULL },
    { NRT_EXEC_UNIT_UNRECOVERABLE, second_execution_on_a_dead_core, "sram-ue:at=1" },
    { NRT_EXEC_BAD_INPUT, NULL, NULL },
    { NRT_EXEC_COMPLETED_WITH_NUM_ERR, result_that_is_no_number, NULL },
    { NRT_EXEC_COMPLETED_WITH_ERR, host_code_that_fails, NULL },
    { NRT_EXEC_NC_BUSY, execute, "core-busy:at=1" },
    { NRT_EXEC_OOB, index_out_of_bounds, NULL },
    { NRT_COLL_PENDING, NULL, NULL },
    { NRT_EXEC_HW_ERR_COLLECTIVES, execute, "hang-collectives:at=1" },
    { NRT_EXEC_HW_ERR_HBM_UE, execute, "hbm-ue:at=1" },
    { NRT_EXEC_HW_ERR_NC_UE, execute, "sram-ue:at=1" },
    { NRT_EXEC_HW_ERR_DMA_ABORT, execute, "dma-abort:at=1" },
    { NRT_EXEC_SW_NQ_OVERFLOW, execute, "nq-overflow:at=1" },
    { NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE, execute, "hbm-ue-repairable:at=1" },
    { NRT_NETWORK_PROXY_FAILURE, NULL, NULL },
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

static void each_documented_status_can_be_reproduced(void **state)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        struct runtime *runtime = NULL;

        if (!rows[i].make) {
            continue;
        }
        assert_int_equal(runtime_setup((void **)&runtime), 0);
        if (rows[i].fault) {
            setenv("NEURON_SOFT_FAULT", rows[i].fault, 1);
        }
        NRT_STATUS status = rows[i].make();
        if (status != rows[i].status) {
            fail_msg("%s where %s was expected", nrt_get_status_as_str(status),
                     nrt_get_status_as_str(rows[i].status));
        }
        runtime_teardown((void **)&runtime);
    }
}

static const struct row *row_find(NRT_STATUS status)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].status == status) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Statuses that have one row or several. */
static size_t row_statuses(void)
{
    size_t count = 0;

    for (size_t i = 0; i < ROW_COUNT; i++) {
        count += row_find(rows[i].status) == &rows[i];
    }
    return count;
}

/* "| 5 | `NRT_TIMEOUT` | " in one of two tables: when it is returned, or why it never is. */
static void the_status_page_explains_every_status(void **state)
{
    static char page[1 << 17];
    const char *never = NULL;
    size_t known = 0;

    assert_true(ntk_fs_read_text(TEST_STATUS_PAGE, page, sizeof page) > 0);
    never = strstr(page, "\nThe library never returns these statuses:\n");
    assert_non_null(never);
    for (int number = 0; number < STATUS_MAX; number++) {
        const char *name = nrt_get_status_as_str((NRT_STATUS)number);
        const struct row *row = row_find((NRT_STATUS)number);
        char line[128];

        if (strcmp(name, "NRT_UNKNOWN") == 0) {
            continue;
        }
        known++;
        (void)snprintf(line, sizeof line, "\n| %d | `%s` | ", number, name);
        const char *at = strstr(page, line);
        if (!row || !at || (at < never) != (row->make != NULL)) {
            fail_msg("%s is in the wrong place in " TEST_STATUS_PAGE, name);
            return;
        }
        assert_null(strstr(at + 1, line));
    }
    assert_int_equal(known, row_statuses());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_documented_status_can_be_reproduced),
        cmocka_unit_test(the_status_page_explains_every_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
