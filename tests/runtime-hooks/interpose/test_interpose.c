/* SPDX-License-Identifier: MIT */
/*
 * What libneuron-hooks.so reports about single calls.
 * Method: a forked child opens it, and it opens the stand-in for the vendor's runtime; the parent
 * reads its segment.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_profile.h"
#include "shared/ring/ring_registry.h"
#include "tests/support/models.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void *library;
#define CALL(name) ((__typeof__(&name))dlsym(library, #name))
#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) {                                                             \
            (void)fprintf(stderr, "in the child: line %d: %s\n", __LINE__, #condition); \
            _exit(99);                                                                  \
        }                                                                               \
    } while (0)

/* ---- the child ---- */

static void open_library(void)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/vendor/libnrt.so.1", getenv("NTK_LIB_DIR"));
    CHECK(setenv("NEURON_HOOKS_LIBNRT", path, 1) == 0);
    CHECK(setenv("NEURON_SOFT_INSTANCE", "trn1.2xlarge", 1) == 0);
    (void)snprintf(path, sizeof path, "%s/libneuron-hooks.so", getenv("NTK_LIB_DIR"));
    library = dlopen(path, RTLD_NOW);
    CHECK(library);
}

static void open_runtime(void)
{
    open_library();
    CHECK(CALL(nrt_init)(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS);
}

static nrt_model_t *model_load(nrt_tensor_set_t *sets[2])
{
    size_t bytes = 0;
    uint8_t *neff = test_model_smallest(&bytes);
    nrt_model_t *model = NULL;
    nrt_tensor_t *tensors[2];

    CHECK(CALL(nrt_load)(neff, bytes, 0, 1, &model) == NRT_SUCCESS);
    free(neff);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "x" : "y";

        CHECK(CALL(nrt_allocate_tensor_set)(&sets[i]) == NRT_SUCCESS);
        CHECK(CALL(nrt_tensor_allocate)(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, name, &tensors[i]) ==
              NRT_SUCCESS);
        CHECK(CALL(nrt_add_tensor_to_tensor_set)(sets[i], name, tensors[i]) == NRT_SUCCESS);
    }
    return model;
}

static int child_captures(struct observed *child, void *ctx)
{
    nrt_tensor_set_t *sets[2];

    open_runtime();
    nrt_model_t *model = model_load(sets);
    CHECK(CALL(nrt_profile_start)(model, ctx) == NRT_SUCCESS);
    CHECK(CALL(nrt_execute)(model, sets[0], sets[1]) == NRT_SUCCESS);
    CHECK(CALL(nrt_profile_stop)(ctx) == NRT_SUCCESS);
    observed_send(child, 0);
    (void)observed_receive(child);
    CALL(nrt_close)();
    return 0;
}

static int child_shares_memory(struct observed *child, void *ctx)
{
    nrt_tensor_t *whole = NULL;
    nrt_tensor_t *slice = NULL;
    nrt_tensor_t *attached = NULL;
    static char buffer[4096];

    (void)ctx;
    open_runtime();
    CHECK(CALL(nrt_tensor_allocate)(NRT_TENSOR_PLACEMENT_DEVICE, 0, 1000, "whole", &whole) ==
          NRT_SUCCESS);
    CHECK(CALL(nrt_tensor_allocate_slice)(whole, 100, 200, "slice", &slice) == NRT_SUCCESS);
    CALL(nrt_tensor_free)(&whole); /* the slice keeps the memory alive */
    CHECK(CALL(nrt_tensor_allocate)(NRT_TENSOR_PLACEMENT_DEVICE, 0, 5000, "a", &attached) ==
          NRT_SUCCESS);
    CHECK(CALL(nrt_tensor_attach_buffer)(attached, buffer, sizeof buffer) == NRT_SUCCESS);
    observed_send(child, 0);
    (void)observed_receive(child);
    CALL(nrt_tensor_free)(&slice);
    observed_send(child, 0);
    (void)observed_receive(child);
    CALL(nrt_close)();
    CALL(nrt_tensor_free)(&attached); /* as late destructors do */
    return 0;
}

static int child_asks_for_names(struct observed *child, void *ctx)
{
    (void)ctx;
    open_runtime();
    /* Whether the stand-in has them. */
    CHECK(dlsym(library, "nrt_execute"));
    CHECK(dlvsym(library, "nrta_tensor_write", "NRT_3.0.0"));
    CHECK(!dlsym(library, "nrt_get_status_as_str"));
    CHECK(!dlvsym(library, "nrta_tensor_write", "NRT_2.0.0"));
    CHECK(!dlsym(library, "nrt_of_tomorrow"));
    observed_send(child, 0);
    (void)observed_receive(child);
    CALL(nrt_close)();
    return 0;
}

/* stderr is a file that cannot grow. */
static void fill_stderr(rlim_t bytes)
{
    const struct rlimit limit = { bytes, bytes };
    int fd = open("/tmp", O_TMPFILE | O_WRONLY, 0600);

    CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    CHECK(lseek(fd, 0, SEEK_END) == (off_t)bytes && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* A segment does not fit, which is logged. */
static int child_has_no_file_size(struct observed *child, void *ctx)
{
    (void)child;
    (void)ctx;
    open_library();
    fill_stderr(8000000); /* enough for the stand-in, too little for a segment */
    CHECK(CALL(nrt_init)(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS);
    CALL(nrt_close)();
    return 0;
}

/* No runtime is found, which is logged. */
static int child_has_no_runtime(struct observed *child, void *ctx)
{
    (void)child;
    (void)ctx;
    CHECK(setenv("NEURON_HOOKS_LIBNRT", "/nowhere", 1) == 0);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/libneuron-hooks.so", getenv("NTK_LIB_DIR"));
    library = dlopen(path, RTLD_NOW);
    CHECK(library);
    fill_stderr(0);
    CHECK(CALL(nrt_unload)(NULL) != NRT_SUCCESS);
    return 0;
}

static void *call_first(void *ctx)
{
    (void)pthread_barrier_wait(ctx);
    CHECK(CALL(nrt_unload)(NULL) != NRT_SUCCESS);
    return NULL;
}

static int child_calls_first_from_threads(struct observed *child, void *ctx)
{
    pthread_t threads[8];
    pthread_barrier_t barrier;

    (void)ctx;
    open_library();
    CHECK(pthread_barrier_init(&barrier, NULL, 8) == 0);
    for (int i = 0; i < 8; i++) {
        CHECK(pthread_create(&threads[i], NULL, call_first, &barrier) == 0);
    }
    for (int i = 0; i < 8; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(CALL(nrt_init)(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS);
    observed_send(child, 0);
    (void)observed_receive(child);
    CALL(nrt_close)();
    return 0;
}

/* ---- the parent ---- */

struct fixture {
    char *folder;
    struct ntk_ring_registry *registry;
    struct ntk_ring_segment *segment;
    struct observed child;
    uint64_t captured_bytes;
    uint32_t captured_name;
};

static void begin(struct fixture *f, int (*fn)(struct observed *child, void *ctx), void *ctx)
{
    struct ntk_ring_options options = { .hold = true };

    memset(f, 0, sizeof *f);
    f->folder = test_scratch_create();
    f->child = observed_start(f->folder, fn, ctx);
    (void)observed_receive(&f->child);
    options.folder = f->folder;
    assert_int_equal(ntk_ring_registry_open(&options, &f->registry, NULL), 0);
    assert_int_equal(ntk_ring_registry_poll(f->registry, NULL, NULL), 0);
    assert_int_equal(ntk_ring_registry_count(f->registry), 1);
    f->segment = ntk_ring_registry_get(f->registry, 0);
}

static void end(struct fixture *f)
{
    observed_send(&f->child, 0);
    assert_int_equal(observed_finish(&f->child, 0), 0);
    ntk_ring_registry_close(f->registry);
    test_scratch_destroy(f->folder);
}

static void see_batch(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                      size_t count, void *ctx)
{
    struct fixture *f = ctx;

    (void)segment;
    for (size_t i = 0; i < count; i++) {
        if (slots[i].kind == NTK_EVENT_PROFILE_STOP) {
            f->captured_bytes = slots[i].word[4];
            f->captured_name = NTK_WORD_LO(slots[i].word[3]);
        }
    }
}

static void a_capture_event_has_the_file_name_and_size(void **state)
{
    char *folder = test_scratch_create();
    char *file = test_scratch_path(folder, "capture.ntff");
    struct fixture f;
    char text[512];

    (void)state;
    begin(&f, child_captures, file);
    (void)ntk_ring_segment_drain(f.segment, 0, see_batch, &f);
    assert_true(f.captured_bytes > 0);
    assert_true(ntk_ring_segment_text(f.segment, f.captured_name, text, sizeof text) > 0);
    assert_string_equal(text, file);
    end(&f);
    free(file);
    test_scratch_destroy(folder);
}

static uint64_t tensor_bytes(struct fixture *f)
{
    struct ntk_ring_memory rows[16];
    size_t count = ntk_ring_segment_memory(f->segment, rows, 16);
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += rows[i].category == NTK_MEMORY_TENSORS ? rows[i].current_bytes : 0;
    }
    return bytes;
}

static void memory_of_a_tensor_slice_is_counted_until_the_slice_is_freed(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, child_shares_memory, NULL);
    assert_int_equal(tensor_bytes(&f), 1000);
    observed_send(&f.child, 0);
    (void)observed_receive(&f.child);
    assert_int_equal(tensor_bytes(&f), 0);
    end(&f);
}

static void symbols_missing_from_the_runtime_are_not_exported(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, child_asks_for_names, NULL);
    end(&f);
}

static void first_calls_from_several_threads_load_one_runtime(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, child_calls_first_from_threads, NULL);
    end(&f);
}

static void stderr_messages_beyond_the_file_size_limit_do_not_end_the_process(void **state)
{
    int (*const children[])(struct observed *, void *) = { child_has_no_file_size,
                                                           child_has_no_runtime };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *folder = test_scratch_create();
        struct observed child = observed_start(folder, children[i], NULL);

        assert_int_equal(observed_finish(&child, 0), 0);
        test_scratch_destroy(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_event_has_the_file_name_and_size),
        cmocka_unit_test(memory_of_a_tensor_slice_is_counted_until_the_slice_is_freed),
        cmocka_unit_test(symbols_missing_from_the_runtime_are_not_exported),
        cmocka_unit_test(first_calls_from_several_threads_load_one_runtime),
        cmocka_unit_test(stderr_messages_beyond_the_file_size_limit_do_not_end_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
