/* SPDX-License-Identifier: MIT */
/*
 * Models on more than one core: pairs of physical cores, replicas, and cores that change owners;
 * and which CPU nodes may run.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/abi/soft_abi.h"
#include "shared/formats/neff/neff_build.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define COLUMNS 64U
#define ROW_BYTES (COLUMNS * sizeof(float))

static const uint64_t shape[2] = { 128, COLUMNS };

static struct ntk_soft_state *state_read(const struct runtime *runtime)
{
    struct ntk_soft_state *state = malloc(sizeof *state);
    char *path = test_scratch_path(runtime->folder, NTK_SOFT_STATE_NAME);
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, state, sizeof *state, 0), sizeof *state);
    close(fd);
    free(path);
    return state;
}

/* From first_row on, 64 rows of the second tensor are those of the first times factor. */
static void rows_scale(struct ntk_neff_kernel *kernel, const char *from, const char *to,
                       uint32_t first_row, float factor)
{
    uint32_t x = ntk_neff_kernel_var(kernel, from);
    uint32_t y = ntk_neff_kernel_var(kernel, to);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    struct ntk_isa_instr scale = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_SCALAR);

    ntk_neff_token in =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, first_row * ROW_BYTES, ROW_BYTES, 64), 0,
                             ROW_BYTES, NTK_AFTER_NONE);
    scale.op0 = NTK_ISA_ALU_MULTIPLY;
    memcpy(&scale.imm[0], &factor, sizeof factor);
    scale.operand[NTK_ISA_DST] = ntk_isa_sbuf(ROW_BYTES, 64, COLUMNS, NTK_DTYPE_FLOAT32);
    scale.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 64, COLUMNS, NTK_DTYPE_FLOAT32);
    ntk_neff_token done = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &scale, NTK_AFTER(in));
    (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, first_row * ROW_BYTES, ROW_BYTES, 64),
                                ROW_BYTES, ROW_BYTES, NTK_AFTER(done));
}

static uint8_t *pair_model(size_t *out_bytes)
{
    struct ntk_neff_build_options options = { .name = "pair", .lnc = 2 };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "pair");

    (void)ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 2, shape);
    (void)ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    rows_scale(kernel, "x", "y", 0, 2.0F);
    ntk_neff_kernel_subgraph(kernel, 1);
    rows_scale(kernel, "x", "y", 64, 3.0F);
    return test_build_finish(build, out_bytes);
}

static void x_fill(nrt_tensor_t *tensor)
{
    float x[128 * COLUMNS];

    for (size_t i = 0; i < 128 * COLUMNS; i++) {
        x[i] = (float)(i % 31);
    }
    assert_int_equal(nrt_tensor_write(tensor, x, 0, sizeof x), NRT_SUCCESS);
}

static void the_subgraphs_of_a_core_pair_run_on_separate_cores(void **state)
{
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = pair_model(&bytes);
    float y[128 * COLUMNS];

    setenv("NEURON_SOFT_INSTANCE", "trn2.3xlarge", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 1);
    free(neff);
    x_fill(loaded.x);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_read(loaded.y, y, 0, sizeof y), NRT_SUCCESS);
    for (size_t i = 0; i < 128 * COLUMNS; i++) {
        float expected = (float)(i % 31) * (i < 64 * COLUMNS ? 2.0F : 3.0F);

        if (y[i] != expected) {
            fail_msg("element %zu is %g, not %g", i, (double)y[i], (double)expected);
        }
    }
    /* Logical core 1 is physical cores 2 and 3: counts are on the first, time is on both. */
    struct ntk_soft_state *seen = state_read(*state);
    assert_int_equal(seen->core[2].inference_count.total, 1);
    assert_int_equal(seen->core[3].inference_count.total, 0);
    for (size_t p = 0; p < 8; p++) {
        assert_int_equal(seen->core[p].nc_time_in_use_ns.total > 0, p == 2 || p == 3);
        assert_int_equal(seen->core[p].engine_busy_ns > 0, p == 2 || p == 3);
        assert_int_equal(seen->core[p].model_load_count.total, p == 2);
    }
    free(seen);
    loaded_fini(&loaded);
}

/* One physical core of a pair: its half of x goes to the other one, which writes it as its half of
 * y. */
static void half_exchange(struct ntk_neff_kernel *kernel, uint64_t first_row)
{
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    struct ntk_isa_instr exchange = ntk_isa_instr_make(NTK_ISA_OP_SENDRECV);

    ntk_neff_token in = ntk_neff_kernel_load(
        kernel, queue,
        NTK_ROWS(ntk_neff_kernel_var(kernel, "x"), first_row * ROW_BYTES, ROW_BYTES, 64), 0,
        ROW_BYTES, NTK_AFTER_NONE);
    exchange.queue = (uint16_t)queue;
    exchange.operand[NTK_ISA_DST] = ntk_isa_sbuf(ROW_BYTES, 64, COLUMNS, NTK_DTYPE_FLOAT32);
    exchange.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 64, COLUMNS, NTK_DTYPE_FLOAT32);
    ntk_neff_token there =
        ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_SP, &exchange, NTK_AFTER(in));
    (void)ntk_neff_kernel_store(
        kernel, queue,
        NTK_ROWS(ntk_neff_kernel_var(kernel, "y"), first_row * ROW_BYTES, ROW_BYTES, 64), ROW_BYTES,
        ROW_BYTES, NTK_AFTER(there));
}

enum meeting { EXCHANGE, EXCHANGE_ALONE, BARRIER_OF_ONE };

static uint8_t *meeting_model(enum meeting meeting, uint32_t lnc, size_t *out_bytes)
{
    struct ntk_neff_build_options options = { .name = "meeting", .lnc = lnc };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "meeting");
    struct ntk_isa_instr barrier = ntk_isa_instr_make(NTK_ISA_OP_CORE_BARRIER);

    (void)ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 2, shape);
    (void)ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    half_exchange(kernel, 0);
    if (meeting != EXCHANGE_ALONE) {
        ntk_neff_kernel_subgraph(kernel, 1);
        half_exchange(kernel, 64);
    }
    if (meeting == BARRIER_OF_ONE) {
        (void)ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_POOL, &barrier, NTK_AFTER_NONE);
    }
    return test_build_finish(build, out_bytes);
}

static void the_cores_of_a_pair_exchange_loaded_data(void **state)
{
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = meeting_model(EXCHANGE, 2, &bytes);
    float y[128 * COLUMNS];

    setenv("NEURON_SOFT_INSTANCE", "trn2.3xlarge", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 1);
    free(neff);
    x_fill(loaded.x);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_read(loaded.y, y, 0, sizeof y), NRT_SUCCESS);
    for (size_t i = 0; i < 128 * COLUMNS; i++) {
        size_t from = (i + 64 * COLUMNS) % (128 * COLUMNS);

        if (y[i] != (float)(from % 31)) {
            fail_msg("element %zu is %g, not %g", i, (double)y[i], (double)(from % 31));
        }
    }
    struct ntk_soft_state *seen = state_read(*state);
    for (size_t p = 0; p < 8; p++) {
        assert_int_equal(seen->core[p].nc_time_in_use_ns.total > 0, p == 2 || p == 3);
        assert_int_equal(seen->core[p].engine_busy_ns > 0, p == 2 || p == 3);
    }
    free(seen);
    loaded_fini(&loaded);
}

static void a_core_pair_that_does_not_synchronise_times_out(void **state)
{
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = meeting_model(BARRIER_OF_ONE, 2, &bytes);

    setenv("NEURON_SOFT_INSTANCE", "trn2.3xlarge", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 1);
    free(neff);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_TIMEOUT);
    struct ntk_soft_state *seen = state_read(*state);
    assert_int_equal(seen->core[2].status[ntk_status_counter_of_status(NRT_TIMEOUT)].total, 1);
    assert_int_equal(seen->core[3].status[ntk_status_counter_of_status(NRT_TIMEOUT)].total, 0);
    free(seen);
    loaded_fini(&loaded);
}

static void a_program_for_one_core_of_a_pair_is_rejected(void **state)
{
    nrt_model_t *model = NULL;
    size_t bytes;
    uint8_t *neff = meeting_model(EXCHANGE_ALONE, 1, &bytes);

    setenv("NEURON_SOFT_INSTANCE", "trn2.3xlarge", 1);
    setenv("NEURON_LOGICAL_NC_CONFIG", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_load(neff, bytes, 0, 1, &model), NRT_INVALID);
    free(neff);
    unsetenv("NEURON_LOGICAL_NC_CONFIG");
}

static void a_model_for_a_different_logical_core_size_is_rejected(void **state)
{
    struct test_model_options options = { 0 };
    nrt_model_t *model = NULL;
    size_t pair_bytes;
    size_t bytes;
    uint8_t *pair = pair_model(&pair_bytes);
    uint8_t *single = test_model_adder(&options, &bytes);

    setenv("NEURON_SOFT_INSTANCE", "trn2.3xlarge", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_load(single, bytes, 0, -1, &model), NRT_INVALID);
    assert_int_equal(nrt_load(pair, pair_bytes, 0, -1, &model), NRT_SUCCESS);
    nrt_close();
    setenv("NEURON_RT_VIRTUAL_CORE_SIZE", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_load(pair, pair_bytes, 0, -1, &model), NRT_INVALID);
    assert_int_equal(nrt_load(single, bytes, 0, -1, &model), NRT_SUCCESS);
    free(pair);
    free(single);
}

/* Executions counted on physical cores 0 and 1. */
static void executions_check(void **state, uint64_t first, uint64_t second)
{
    struct ntk_soft_state *seen = state_read(*state);

    assert_int_equal(seen->core[0].inference_count.total, first);
    assert_int_equal(seen->core[1].inference_count.total, second);
    free(seen);
}

static void executions_alternate_between_replicas(void **state)
{
    struct test_model_options options = { 0 };
    struct loaded loaded;
    nrt_model_t *other = NULL;
    uint32_t count = 0;
    float y[2];
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    assert_int_equal(nrt_unload(loaded.model), NRT_SUCCESS);
    assert_int_equal(nrt_load(neff, bytes, 0, 2, &loaded.model), NRT_SUCCESS);
    assert_int_equal(nrt_get_model_vnc_count(loaded.model, &count), NRT_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(nrt_get_model_instance_count(loaded.model, &count), NRT_SUCCESS);
    assert_int_equal(count, 2);
    x_fill(loaded.x);
    for (int i = 0; i < 4; i++) {
        executions_check(state, (uint64_t)(i + 1) / 2, (uint64_t)i / 2);
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
        assert_int_equal(nrt_tensor_read(loaded.y, y, 0, sizeof y), NRT_SUCCESS);
        assert_true(y[1] == 2.0F);
        assert_int_equal(nrt_tensor_memset(loaded.y, 0, 0, sizeof y), NRT_SUCCESS);
    }
    executions_check(state, 2, 2);

    assert_int_equal(nrt_load(neff, bytes, 0, 3, &other), NRT_LOAD_NOT_ENOUGH_NC);
    assert_int_equal(nrt_load(neff, bytes, 1, 2, &other), NRT_LOAD_NOT_ENOUGH_NC);
    assert_int_equal(nrt_load(neff, bytes, -1, 2, &other), NRT_SUCCESS);
    assert_int_equal(nrt_unload(other), NRT_SUCCESS);
    assert_int_equal(nrt_load(neff, bytes, 0, 0, &other), NRT_INVALID);
    free(neff);
    loaded_fini(&loaded);
}

/* Two nodes, each on a separate logical core: a = 2 x, y = 3 a in the first 64 rows. */
static uint8_t *two_node_model(size_t *out_bytes)
{
    struct ntk_neff_build_options options = { .name = "two" };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    static const char *const names[] = { "x", "a", "y" };

    for (size_t i = 0; i < 2; i++) {
        struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, names[i + 1]);

        (void)ntk_neff_kernel_input(kernel, names[i], NTK_DTYPE_FLOAT32, 2, shape);
        (void)ntk_neff_kernel_output(kernel, names[i + 1], NTK_DTYPE_FLOAT32, 2, shape);
        rows_scale(kernel, names[i], names[i + 1], 0, (float)(i + 2));
    }
    return test_build_finish(build, out_bytes);
}

static void every_core_of_a_two_core_model_is_replicated(void **state)
{
    struct loaded loaded;
    nrt_model_t *other = NULL;
    uint32_t count = 0;
    size_t bytes;
    uint8_t *neff = two_node_model(&bytes);
    float y[64 * COLUMNS];

    setenv("NEURON_SOFT_INSTANCE", "inf1.xlarge", 1); /* four cores */
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    assert_int_equal(nrt_get_model_vnc_count(loaded.model, &count), NRT_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(nrt_unload(loaded.model), NRT_SUCCESS);
    assert_int_equal(nrt_load(neff, bytes, 0, 3, &other), NRT_INVALID);
    assert_int_equal(nrt_load(neff, bytes, 3, 1, &other), NRT_LOAD_NOT_ENOUGH_NC);
    assert_int_equal(nrt_load(neff, bytes, 0, 4, &loaded.model), NRT_SUCCESS);
    free(neff);
    assert_int_equal(nrt_get_model_vnc_count(loaded.model, &count), NRT_SUCCESS);
    assert_int_equal(count, 4);
    x_fill(loaded.x);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(nrt_tensor_memset(loaded.y, 0, 0, sizeof y), NRT_SUCCESS);
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
        assert_int_equal(nrt_tensor_read(loaded.y, y, 0, sizeof y), NRT_SUCCESS);
        for (size_t k = 0; k < 64 * COLUMNS; k++) {
            assert_true(y[k] == (float)(k % 31) * 6.0F);
        }
    }
    struct ntk_soft_state *seen = state_read(*state);
    for (size_t p = 0; p < 4; p++) {
        assert_int_equal(seen->core[p].inference_count.total, 1);
    }
    free(seen);
    loaded_fini(&loaded);
}

/* Copies the state buffer to the output as the model finds it. */
static uint8_t *peek_model(size_t *out_bytes)
{
    struct ntk_neff_build_options options = { .name = "peek" };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "peek");

    (void)ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, ROW_BYTES, 128), 0, ROW_BYTES,
                                NTK_AFTER_NONE);
    return test_build_finish(build, out_bytes);
}

static void a_model_cannot_read_data_of_the_previous_model(void **state)
{
    struct test_model_options options = { 0 };
    struct loaded adder;
    struct loaded peek;
    size_t adder_bytes;
    size_t peek_bytes;
    uint8_t *adder_neff = test_model_adder(&options, &adder_bytes);
    uint8_t *peek_neff = peek_model(&peek_bytes);
    float y[128 * COLUMNS];

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&adder, adder_neff, adder_bytes, 0);
    loaded_init(&peek, peek_neff, peek_bytes, 0);
    free(adder_neff);
    free(peek_neff);
    /* The adder leaves its constant 0, 1, 2 ... where the other model reads. */
    assert_int_equal(nrt_execute(adder.model, adder.inputs, adder.outputs), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_memset(peek.y, 0, 0xff, sizeof y), NRT_SUCCESS);
    assert_int_equal(nrt_execute(peek.model, peek.inputs, peek.outputs), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_read(peek.y, y, 0, sizeof y), NRT_SUCCESS);
    for (size_t i = 0; i < 128 * COLUMNS; i++) {
        if (y[i] != 0.0F) {
            fail_msg("element %zu is %g", i, (double)y[i]);
        }
    }
    loaded_fini(&adder);
    loaded_fini(&peek);
}

static NRT_STATUS load_once(const void *neff, size_t bytes)
{
    nrt_model_t *model = NULL;
    NRT_STATUS status = nrt_load(neff, bytes, 0, -1, &model);

    if (status == NRT_SUCCESS) {
        assert_int_equal(nrt_unload(model), NRT_SUCCESS);
    }
    return status;
}

static void host_code_is_executed_only_from_files_of_the_user(void **state)
{
    const struct runtime *runtime = *state;
    struct test_model_options options = { .cpu_after = 1 };
    uint8_t *library = test_file_read(TEST_CPU_NODE, &options.cpu_library_bytes);
    char *path = test_scratch_path(runtime->folder, "cpu.neff");
    size_t bytes;

    options.cpu_library = library;
    uint8_t *neff = test_model_adder(&options, &bytes);
    free(library);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(load_once(neff, bytes), NRT_SUCCESS);
    setenv("NEURON_SOFT_CPU_NODES", "0", 1);
    assert_int_equal(load_once(neff, bytes), NRT_FAILURE);
    unsetenv("NEURON_SOFT_CPU_NODES");

    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, neff, bytes), bytes);
    free(neff);
    void *mapped = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    assert_int_equal(load_once(mapped, bytes), NRT_SUCCESS);
    /* Only root can give a file to another user. */
    if (geteuid() == 0 && fchown(fd, 65534, 65534) == 0) {
        assert_int_equal(load_once(mapped, bytes), NRT_FAILURE);
        setenv("NEURON_SOFT_CPU_NODES", "1", 1);
        assert_int_equal(load_once(mapped, bytes), NRT_SUCCESS);
        unsetenv("NEURON_SOFT_CPU_NODES");
    }
    /* The owner of a file without a name is unknown. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(load_once(mapped, bytes), NRT_FAILURE);
    munmap(mapped, bytes);
    close(fd);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(the_subgraphs_of_a_core_pair_run_on_separate_cores),
        TEST(the_cores_of_a_pair_exchange_loaded_data),
        TEST(a_core_pair_that_does_not_synchronise_times_out),
        TEST(a_program_for_one_core_of_a_pair_is_rejected),
        TEST(a_model_for_a_different_logical_core_size_is_rejected),
        TEST(executions_alternate_between_replicas),
        TEST(every_core_of_a_two_core_model_is_replicated),
        TEST(a_model_cannot_read_data_of_the_previous_model),
        TEST(host_code_is_executed_only_from_files_of_the_user),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
