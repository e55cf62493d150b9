/* SPDX-License-Identifier: MIT */
/*
 * Constants of a model: how much memory loading them takes, where they are, and which model owns
 * them when models share them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/abi/soft_abi.h"
#include "shared/formats/neff/neff_build.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define MIB (UINT64_C(1) << 20)
#define ROW_BYTES 256U
#define CONSTANT_ROWS 128U
#define CONSTANT_BYTES (UINT64_C(128) * ROW_BYTES)

/* y = 128 rows of the constant of a core's node; other constants are unused. */
static void node_add(struct ntk_neff_build *build, const char *node, const char *input,
                     const char *output, uint8_t seed, size_t idle_count, uint64_t idle_bytes)
{
    static const uint64_t shape[2] = { CONSTANT_ROWS, ROW_BYTES };
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, node);
    uint8_t *content = malloc(idle_bytes > CONSTANT_BYTES ? idle_bytes : CONSTANT_BYTES);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);

    (void)ntk_neff_kernel_input(kernel, input, NTK_DTYPE_UINT8, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, output, NTK_DTYPE_UINT8, 2, shape);
    for (size_t i = 0; i < CONSTANT_BYTES; i++) {
        content[i] = (uint8_t)(i * seed >> 3);
    }
    uint32_t constant =
        ntk_neff_kernel_constant(kernel, "weights", NTK_DTYPE_UINT8, 2, shape, content);
    ntk_neff_token in =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(constant, 0, ROW_BYTES, CONSTANT_ROWS), 0,
                             ROW_BYTES, NTK_AFTER_NONE);
    (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, ROW_BYTES, CONSTANT_ROWS), 0,
                                ROW_BYTES, NTK_AFTER(in));
    for (size_t i = 0; i < idle_count; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%s_%zu", i % 2 ? "idle" : "a", i);
        for (uint64_t k = 0; k < idle_bytes; k++) {
            content[k] = (uint8_t)(k >> 6);
        }
        (void)ntk_neff_kernel_constant(kernel, name, NTK_DTYPE_UINT8, 1, &idle_bytes, content);
    }
    free(content);
}

static uint8_t *model_make(uint8_t seed, size_t idle_count, uint64_t idle_bytes, size_t *out_bytes)
{
    struct ntk_neff_build_options options = { .name = "weights" };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);

    node_add(build, "node", "x", "y", seed, idle_count, idle_bytes);
    return test_build_finish(build, out_bytes);
}

/* Bytes of constants that a core counts, and the total HBM in use. */
struct seen {
    uint64_t constants[4];
    uint64_t stack[4];
};

static struct seen look(const struct runtime *runtime)
{
    struct ntk_soft_state *state = malloc(sizeof *state);
    char *path = test_scratch_path(runtime->folder, NTK_SOFT_STATE_NAME);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct seen seen;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, state, sizeof *state, 0), sizeof *state);
    close(fd);
    for (size_t i = 0; i < 4; i++) {
        seen.constants[i] = state->core[i].memory[NTK_MEMORY_CONSTANTS].total;
        seen.stack[i] = state->device[0].hbm_bytes_used[i];
    }
    free(path);
    free(state);
    return seen;
}

static void result_check(struct loaded *loaded, uint8_t seed)
{
    uint8_t y[CONSTANT_BYTES];

    assert_int_equal(nrt_tensor_memset(loaded->y, 0, 0, sizeof y), NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded->model, loaded->inputs, loaded->outputs), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_read(loaded->y, y, 0, sizeof y), NRT_SUCCESS);
    for (size_t i = 0; i < sizeof y; i++) {
        if (y[i] != (uint8_t)(i * seed >> 3)) {
            fail_msg("byte %zu is %u", i, y[i]);
        }
    }
}

/* A line of /proc/self/status in bytes. */
static uint64_t status_bytes(const char *key)
{
    char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t count = read(fd, text, sizeof text - 1);

    close(fd);
    assert_true(count > 0);
    text[count] = '\0';
    const char *line = strstr(text, key);
    assert_non_null(line);
    return strtoull(line + strlen(key), NULL, 10) << 10;
}

/* Method: the peak of resident memory is reset before nrt_load and read after it. A sanitizer
 * manages memory itself; then only the counters are checked. */
static void loading_takes_no_more_memory_than_the_constants(void **state)
{
    const struct runtime *runtime = *state;
    const char *sanitizer = getenv("NTK_SANITIZE");
    struct loaded loaded;
    nrt_model_t *model = NULL;
    size_t bytes;
    uint64_t wanted = 16 * 4 * MIB + CONSTANT_BYTES;
    uint8_t *neff = model_make(3, 16, 4 * MIB, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0); /* one-time allocations are done */
    assert_int_equal(nrt_unload(loaded.model), NRT_SUCCESS);

    FILE *peak = fopen("/proc/self/clear_refs", "we");
    bool can_reset = peak && fputs("5", peak) >= 0;
    can_reset = peak && fclose(peak) == 0 && can_reset;
    uint64_t before = status_bytes("VmRSS:");
    assert_int_equal(nrt_load(neff, bytes, 0, -1, &model), NRT_SUCCESS);
    uint64_t grown = status_bytes("VmHWM:") - before;
    assert_int_equal(look(runtime).constants[0], wanted);
    if (can_reset && (!sanitizer || !*sanitizer)) {
        assert_in_range(grown, wanted * 9 / 10, wanted * 11 / 10);
    }
    loaded.model = model;
    result_check(&loaded, 3);
    free(neff);
    loaded_fini(&loaded);
}

static void a_failed_model_load_releases_its_resources(void **state)
{
    const struct runtime *runtime = *state;
    nrt_model_t *model = NULL;
    size_t bytes;
    uint8_t *neff = model_make(3, 4, MIB, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    struct seen before = look(runtime);
    /* A wrong hash is detected only after everything has been loaded. */
    setenv("NEURON_RT_VALIDATE_HASH", "1", 1);
    neff[172] ^= 1;
    assert_int_equal(nrt_load(neff, bytes, 0, -1, &model), NRT_INVALID);
    struct seen after = look(runtime);
    assert_memory_equal(&before, &after, sizeof before);
    neff[172] ^= 1;
    assert_int_equal(nrt_load(neff, bytes, 0, -1, &model), NRT_SUCCESS);
    assert_int_equal(nrt_unload(model), NRT_SUCCESS);
    /* Truncated, with a matching header: it ends inside a constant. */
    memcpy(neff + 16, &(uint64_t){ bytes / 2 }, 8);
    assert_int_equal(nrt_load(neff, bytes, 0, -1, &model), NRT_INVALID);
    after = look(runtime);
    assert_memory_equal(&before, &after, sizeof before);
    free(neff);
}

static void constants_of_a_node_are_in_the_memory_of_its_core(void **state)
{
    const struct runtime *runtime = *state;
    struct ntk_neff_build_options options = { .name = "two" };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct loaded loaded;
    size_t bytes;

    node_add(build, "first", "x", "a", 5, 2, MIB);
    node_add(build, "second", "a", "y", 7, 3, MIB);
    uint8_t *neff = test_build_finish(build, &bytes);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    struct seen before = look(runtime);
    loaded_init(&loaded, neff, bytes, 0);
    struct seen seen = look(runtime);
    assert_int_equal(seen.constants[0], 2 * MIB + CONSTANT_BYTES);
    assert_int_equal(seen.constants[1], 3 * MIB + CONSTANT_BYTES);
    result_check(&loaded, 7);
    loaded_fini(&loaded);
    seen = look(runtime);
    assert_memory_equal(&before, &seen, sizeof before);
    free(neff);
}

static void copies_of_a_model_share_weights_if_allowed(void **state)
{
    const struct runtime *runtime = *state;
    struct loaded loaded;
    size_t bytes;
    uint64_t wanted = 2 * MIB + CONSTANT_BYTES;
    uint8_t *neff = model_make(3, 2, MIB, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    struct seen before = look(runtime);
    for (int shared = 0; shared < 2; shared++) {
        setenv("NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS", shared ? "1" : "0", 1);
        loaded_init(&loaded, neff, bytes, 0);
        assert_int_equal(nrt_unload(loaded.model), NRT_SUCCESS);
        assert_int_equal(nrt_load(neff, bytes, 0, 2, &loaded.model), NRT_SUCCESS);
        struct seen seen = look(runtime);
        assert_int_equal(seen.constants[0], wanted);
        assert_int_equal(seen.constants[1], shared ? 0 : wanted);
        result_check(&loaded, 3);
        result_check(&loaded, 3); /* on the other core */
        loaded_fini(&loaded);
        seen = look(runtime);
        assert_memory_equal(&before, &seen, sizeof before);
    }
    unsetenv("NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS");
    free(neff);
}

static void shared_weights_remain_after_the_first_copy_is_unloaded(void **state)
{
    const struct runtime *runtime = *state;
    struct loaded first;
    struct loaded second;
    struct loaded third;
    size_t bytes;
    size_t other_bytes;
    uint64_t wanted = 2 * MIB + CONSTANT_BYTES;
    uint8_t *neff = model_make(3, 2, MIB, &bytes);
    uint8_t *other = model_make(5, 2, MIB, &other_bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    struct seen before = look(runtime);
    setenv("NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS", "true", 1);
    loaded_init(&first, neff, bytes, 0);
    struct seen alone = look(runtime);
    loaded_init(&second, neff, bytes, 1);
    struct seen seen = look(runtime);
    assert_int_equal(seen.constants[0], wanted);
    assert_int_equal(seen.constants[1], 0);
    assert_int_equal(seen.stack[0] - alone.stack[0], 0);
    assert_true(seen.stack[1] - alone.stack[1] < wanted); /* code and tensors only */
    /* Another file shares nothing, although all names are the same. */
    loaded_init(&third, other, other_bytes, 1);
    assert_int_equal(look(runtime).constants[1], wanted);
    result_check(&first, 3);
    result_check(&second, 3);
    result_check(&third, 5);
    loaded_fini(&third);
    /* The model that counted the constants is unloaded: the other one counts them, at the same
     * place. */
    loaded_fini(&first);
    seen = look(runtime);
    assert_int_equal(seen.constants[0], 0);
    assert_int_equal(seen.constants[1], wanted);
    result_check(&second, 3);
    loaded_fini(&second);
    seen = look(runtime);
    assert_memory_equal(&before, &seen, sizeof before);
    unsetenv("NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS");
    free(other);
    free(neff);
}

/* One of the threads that load, run and unload in parallel. cmocka cannot assert in threads. */
struct sharer {
    const struct sharer_file *files; /* two */
    unsigned int rounds;
    int core;
    const char *failure; /* NULL: none */
};

struct sharer_file {
    uint8_t *bytes;
    size_t bytes_count;
    uint8_t seed;
};

#define TRY(call)                    \
    do {                             \
        if ((call) != NRT_SUCCESS) { \
            sharer->failure = #call; \
            return NULL;             \
        }                            \
    } while (0)

static void *shares(void *ctx)
{
    struct sharer *sharer = ctx;

    for (unsigned int round = 0; round < sharer->rounds; round++) {
        const struct sharer_file *file = &sharer->files[(round + (unsigned int)sharer->core) % 2];
        nrt_tensor_set_t *inputs = NULL;
        nrt_tensor_set_t *outputs = NULL;
        uint8_t result[CONSTANT_BYTES];
        nrt_model_t *model = NULL;
        nrt_tensor_t *x = NULL;
        nrt_tensor_t *y = NULL;

        TRY(nrt_load(file->bytes, file->bytes_count, sharer->core, 1, &model));
        TRY(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, sharer->core, CONSTANT_BYTES, "x",
                                &x));
        TRY(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, sharer->core, CONSTANT_BYTES, "y",
                                &y));
        TRY(nrt_allocate_tensor_set(&inputs));
        TRY(nrt_allocate_tensor_set(&outputs));
        TRY(nrt_add_tensor_to_tensor_set(inputs, "x", x));
        TRY(nrt_add_tensor_to_tensor_set(outputs, "y", y));
        TRY(nrt_execute(model, inputs, outputs));
        TRY(nrt_tensor_read(y, result, 0, sizeof result));
        for (size_t i = 0; i < sizeof result; i++) {
            if (result[i] != (uint8_t)(i * file->seed >> 3)) {
                sharer->failure = "weights of another file";
                return NULL;
            }
        }
        nrt_tensor_free(&x);
        nrt_tensor_free(&y);
        nrt_destroy_tensor_set(&inputs);
        nrt_destroy_tensor_set(&outputs);
        TRY(nrt_unload(model));
    }
    return NULL;
}

/* Method: threads on both cores load, run and unload two files with the same names. The first model
 * loads the weights, the last one frees them. */
static void models_loaded_by_several_threads_share_weights(void **state)
{
    enum { THREADS = 4 };
    const struct runtime *runtime = *state;
    struct sharer sharers[THREADS];
    struct sharer_file files[2] = { { .seed = 3 }, { .seed = 5 } };
    pthread_t threads[THREADS];

    for (int f = 0; f < 2; f++) {
        files[f].bytes = model_make(files[f].seed, 3, MIB / 4, &files[f].bytes_count);
    }
    setenv("NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    struct seen before = look(runtime);
    for (int t = 0; t < THREADS; t++) {
        sharers[t] = (struct sharer){ .files = files, .rounds = 25, .core = t % 2 };
        assert_int_equal(pthread_create(&threads[t], NULL, shares, &sharers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        if (sharers[t].failure) {
            fail_msg("thread %d: %s", t, sharers[t].failure);
        }
    }
    struct seen after = look(runtime);
    assert_memory_equal(&before, &after, sizeof before);
    unsetenv("NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS");
    for (int f = 0; f < 2; f++) {
        free(files[f].bytes);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, runtime_setup, runtime_teardown)
        TEST(loading_takes_no_more_memory_than_the_constants),
        TEST(a_failed_model_load_releases_its_resources),
        TEST(constants_of_a_node_are_in_the_memory_of_its_core),
        TEST(copies_of_a_model_share_weights_if_allowed),
        TEST(shared_weights_remain_after_the_first_copy_is_unloaded),
        TEST(models_loaded_by_several_threads_share_weights),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
