/* SPDX-License-Identifier: MIT */
/*
 * What several callers gain on a model of three steps: 1 ms on the host, 20 ms on the core, 2 ms on
 * the host, paced. One caller needs the sum, 23 ms. Several are limited only by the slowest step,
 * so the gain is at most 23/20 = 1.15.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "shared/base/fs.h"
#include "shared/formats/neff/neff_build.h"
#include "tests/bench/rounds.h"
#include "tests/support/scratch.h"

#define EXECUTIONS ROUNDS_SIZE(12U, 2U) /* per caller in a round */
#define CALLERS_MAX 3U
#define ROUND_COUNT 5
#define CORE_CYCLES UINT64_C(28000000) /* 20 ms at the 1.4 GHz of an NC-v2 */
#define TARGET 1.10

static const struct ntk_neff_build_tensor tensors[] = {
    { "x", NTK_DTYPE_FLOAT32, 1, { 64 } },
    { "a", NTK_DTYPE_FLOAT32, 1, { 64 } },
    { "b", NTK_DTYPE_FLOAT32, 1, { 64 } },
    { "y", NTK_DTYPE_FLOAT32, 1, { 64 } },
};

static uint8_t *model_make(size_t *out_bytes)
{
    struct ntk_neff_build_options options = { .name = "pipeline" };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_isa_instr work = ntk_isa_instr_make(NTK_ISA_OP_NOP);
    struct ntk_err err = { 0 };
    uint8_t *library = NULL;
    uint8_t *bytes = NULL;
    size_t library_bytes = 0;

    rounds_require(ntk_fs_read(BENCH_PIPELINE_NODE, 1 << 22, &library, &library_bytes, &err) == 0,
                   err.text);
    ntk_neff_build_member(build, "cpu.so", library, library_bytes);
    free(library);
    ntk_neff_build_cpu_node(build, "before", "bench_before", "cpu.so", &tensors[0], 1, &tensors[1],
                            1);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "core");
    uint32_t a = ntk_neff_kernel_input(kernel, "a", NTK_DTYPE_FLOAT32, 1, tensors[1].dims);
    uint32_t b = ntk_neff_kernel_output(kernel, "b", NTK_DTYPE_FLOAT32, 1, tensors[2].dims);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    ntk_neff_token in =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(a, 0, 256, 1), 0, 256, NTK_AFTER_NONE);
    work.imm[0] = (uint32_t)CORE_CYCLES;
    ntk_neff_token done = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_PE, &work, NTK_AFTER(in));
    (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(b, 0, 256, 1), 0, 256, NTK_AFTER(done));
    ntk_neff_build_cpu_node(build, "after", "bench_after", "cpu.so", &tensors[2], 1, &tensors[3],
                            1);
    rounds_require(ntk_neff_build_bytes(build, &bytes, out_bytes, &err) == 0, err.text);
    ntk_neff_build_destroy(build);
    return bytes;
}

static nrt_model_t *model;

static nrt_tensor_set_t *set_make(const char *name)
{
    nrt_tensor_set_t *set = NULL;
    nrt_tensor_t *tensor = NULL;

    rounds_require(nrt_allocate_tensor_set(&set) == NRT_SUCCESS, "tensor set");
    rounds_require(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 256, name, &tensor) ==
                       NRT_SUCCESS,
                   "tensor");
    rounds_require(nrt_add_tensor_to_tensor_set(set, name, tensor) == NRT_SUCCESS, "tensor set");
    return set;
}

struct caller {
    pthread_t thread;
    nrt_tensor_set_t *inputs, *outputs;
};

static void *caller_run(void *argument)
{
    struct caller *caller = argument;

    for (unsigned i = 0; i < EXECUTIONS; i++) {
        rounds_require(nrt_execute(model, caller->inputs, caller->outputs) == NRT_SUCCESS,
                       "nrt_execute");
    }
    return NULL;
}

/* ns per execution with the number of callers that ctx gives. */
static double measure(void *ctx)
{
    static struct caller callers[CALLERS_MAX];
    unsigned count = *(const unsigned *)ctx;

    for (unsigned i = 0; i < count; i++) {
        if (!callers[i].inputs) {
            callers[i].inputs = set_make("x");
            callers[i].outputs = set_make("y");
        }
    }
    uint64_t start = rounds_now_ns();
    for (unsigned i = 0; i < count; i++) {
        rounds_require(pthread_create(&callers[i].thread, NULL, caller_run, &callers[i]) == 0,
                       "thread");
    }
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(callers[i].thread, NULL);
    }
    return (double)(rounds_now_ns() - start) / (double)(count * EXECUTIONS);
}

int main(int argc, char **argv)
{
    static unsigned counts[] = { 1, CALLERS_MAX };
    struct rounds_subject subjects[] = {
        { .name = "1 ms + 20 ms + 2 ms, one caller", .measure = measure, .ctx = &counts[0] },
        { .name = "1 ms + 20 ms + 2 ms, three callers", .measure = measure, .ctx = &counts[1] },
    };
    char *folder = test_scratch_create();
    size_t bytes = 0;
    uint8_t *neff = model_make(&bytes);

    rounds_options(argc, argv);
    setenv("NEURON_HOOKS_DIR", folder, 1);
    setenv("NEURON_SOFT_INSTANCE", "trn1.2xlarge", 1);
    setenv("NEURON_SOFT_PACE", "1", 1);
    rounds_require(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "nrt_init");
    rounds_require(nrt_load(neff, bytes, 0, -1, &model) == NRT_SUCCESS, "nrt_load");
    free(neff);
    rounds_run(subjects, 2, ROUND_COUNT);
    rounds_print(&subjects[0], "ns");
    rounds_print(&subjects[1], "ns");
    rounds_print_value("rate of three callers to that of one",
                       rounds_median(&subjects[0]) / rounds_median(&subjects[1]), "x", TARGET, 1);
    nrt_close();
    test_scratch_destroy(folder);
    return rounds_result();
}
