/* SPDX-License-Identifier: MIT */
/*
 * bench_overhead - the time that nrt_execute adds to the work itself: examples through libnrt
 * (hooks on, as in production) against their programs on a bare core, which runs only the event
 * loop and the kernels. The example that only moves bytes is also compared with memcpy of the same
 * rows. bench_engine measures what the loop adds to kernels that compute (C1, C2). CPU time of the
 * calling thread, which does all of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/nrt/nrt_library.h"
#include "runtime-hooks/engine/engine.h"
#include "shared/base/fs.h"
#include "shared/formats/neff/neff.h"
#include "tests/bench/rounds.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"

#define ROUND_COUNT 9
#define ROUND_NS_MIN \
    ROUNDS_SIZE(20000000, 1) /* enough executions to make a round at least this long */
#define NEFF_BYTES_MAX (64u << 20)
#define VARS_MAX 64
#define SBUF_ROW_BYTES (192u << 10)
#define MEMCPY_ROWS 128u
#define MEMCPY_ROW_BYTES 4096u

struct subject {
    /* Through libnrt. */
    const struct ntk_nrt *nrt;
    nrt_model_t *model;
    nrt_tensor_set_t *inputs, *outputs;
    /* The program on an engine core, without a runtime. */
    struct ntk_neff *neff;
    struct ntk_engine_core *core;
    struct ntk_engine_program *program;
    struct ntk_engine_binding bindings[VARS_MAX];
    uint32_t binding_count;
    /* memcpy alone. */
    uint8_t *from, *between, *to;
    int repeat;
};

static void *memory_of(size_t bytes)
{
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

    rounds_require(memory != NULL, "out of memory");
    memset(memory, 0, (bytes + 4095) / 4096 * 4096);
    return memory;
}

static double run_nrt(void *ctx)
{
    const struct subject *s = ctx;
    uint64_t start = rounds_cpu_ns();

    for (int i = 0; i < s->repeat; i++) {
        rounds_require(s->nrt->nrt_execute(s->model, s->inputs, s->outputs) == NRT_SUCCESS,
                       "nrt_execute");
    }
    return (double)(rounds_cpu_ns() - start) / s->repeat;
}

static double run_engines(void *ctx)
{
    const struct subject *s = ctx;
    struct ntk_engine_run_options options = { .bindings = s->bindings,
                                              .binding_count = s->binding_count };
    struct ntk_engine_result result;
    uint64_t start = rounds_cpu_ns();

    for (int i = 0; i < s->repeat; i++) {
        rounds_require(ntk_engine_run(s->core, s->program, &options, &result, NULL) == 0 &&
                           result.outcome == NTK_RUN_OK,
                       "the bare core");
    }
    return (double)(rounds_cpu_ns() - start) / s->repeat;
}

static double run_memcpy(void *ctx)
{
    const struct subject *s = ctx;
    uint64_t start = rounds_cpu_ns();

    for (int i = 0; i < s->repeat; i++) {
        for (size_t row = 0; row < MEMCPY_ROWS; row++) {
            memcpy(s->between + row * SBUF_ROW_BYTES, s->from + row * MEMCPY_ROW_BYTES,
                   MEMCPY_ROW_BYTES);
        }
        for (size_t row = 0; row < MEMCPY_ROWS; row++) {
            memcpy(s->to + row * MEMCPY_ROW_BYTES, s->between + row * SBUF_ROW_BYTES,
                   MEMCPY_ROW_BYTES);
        }
        __asm__ volatile("" ::: "memory");
    }
    return (double)(rounds_cpu_ns() - start) / s->repeat;
}

static void load(struct subject *s, const uint8_t *bytes, size_t count)
{
    nrt_tensor_info_array_t *info = NULL;

    rounds_require(s->nrt->nrt_load(bytes, count, 0, 1, &s->model) == NRT_SUCCESS, "nrt_load");
    rounds_require(s->nrt->nrt_get_model_tensor_info(s->model, &info) == NRT_SUCCESS,
                   "tensor info");
    rounds_require(s->nrt->nrt_allocate_tensor_set(&s->inputs) == NRT_SUCCESS &&
                       s->nrt->nrt_allocate_tensor_set(&s->outputs) == NRT_SUCCESS,
                   "tensor sets");
    for (uint64_t i = 0; i < info->tensor_count; i++) {
        const nrt_tensor_info_t *tensor = &info->tensor_array[i];
        nrt_tensor_t *made = NULL;

        rounds_require(s->nrt->nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, tensor->size,
                                                   tensor->name, &made) == NRT_SUCCESS &&
                           s->nrt->nrt_add_tensor_to_tensor_set(
                               tensor->usage == NRT_TENSOR_USAGE_INPUT ? s->inputs : s->outputs,
                               tensor->name, made) == NRT_SUCCESS,
                       "tensors");
    }
}

/* The same inputs, zeros; the same constants. */
static void bare(struct subject *s, const uint8_t *bytes, size_t count)
{
    const struct ntk_neff_open_options options = { 0 }; /* with constants */
    const struct ntk_neff_subgraph *subgraph;
    struct ntk_err err = { 0 };

    rounds_require(ntk_neff_open_with(bytes, count, &options, &s->neff, &err) == 0, err.text);
    subgraph = &s->neff->kelfs[0].subgraphs[0];
    rounds_require(ntk_engine_core_create(2, &s->core, &err) == 0, err.text);
    rounds_require(ntk_engine_program_create(2, subgraph, &s->program, &err) == 0, err.text);
    rounds_require(subgraph->var_count <= VARS_MAX, "too many variables");
    s->binding_count = subgraph->var_count;
    for (uint32_t v = 0; v < subgraph->var_count; v++) {
        const struct ntk_neff_var *var = &subgraph->vars[v];

        if (var->type == NTK_NEFF_VAR_STATE_BUFFER) {
            continue;
        }
        rounds_require(var->var_id < subgraph->var_count, "variables are not dense");
        s->bindings[var->var_id] =
            (struct ntk_engine_binding){ memory_of(var->bytes_count), var->bytes_count,
                                         (uint64_t)(v + 1) << 32 };
        if (var->data) {
            memcpy(s->bindings[var->var_id].bytes, var->data, var->data_bytes);
        }
    }
}

static void bench(const struct ntk_nrt *nrt, const char *folder, const char *example)
{
    char *path = test_scratch_path(folder, "example.neff");
    const char *const make[] = { "neuron-packager", "example", example, "-o", path, NULL };
    struct subject s = { .nrt = nrt, .repeat = 1 };
    struct rounds_subject subjects[3] = {
        { .name = "nrt_execute", .measure = run_nrt, .ctx = &s },
        { .name = "the same program on a bare core", .measure = run_engines, .ctx = &s },
        { .name = "memcpy of the same rows", .measure = run_memcpy, .ctx = &s },
    };
    int is_memcpy = strcmp(example, "memcpy") == 0;
    struct test_run made = test_run_program(make, NULL);
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;

    rounds_require(made.exit_code == 0, made.err);
    test_run_fini(&made);
    rounds_require(ntk_fs_read(path, NEFF_BYTES_MAX, &bytes, &count, &err) == 0, err.text);
    load(&s, bytes, count);
    bare(&s, bytes, count);
    if (is_memcpy) {
        s.from = memory_of((size_t)MEMCPY_ROWS * MEMCPY_ROW_BYTES);
        s.between = memory_of((size_t)MEMCPY_ROWS * SBUF_ROW_BYTES);
        s.to = memory_of((size_t)MEMCPY_ROWS * MEMCPY_ROW_BYTES);
    }
    s.repeat = (int)(ROUND_NS_MIN / (run_nrt(&s) + 1)) + 1;
    rounds_run(subjects, is_memcpy ? 3 : 2, ROUND_COUNT);
    (void)printf("%s\n", example);
    for (int i = 0; i < (is_memcpy ? 3 : 2); i++) {
        rounds_print(&subjects[i], "ns");
    }
    rounds_print_ratio("   nrt_execute / bare core", &subjects[0], &subjects[1], 0);
    if (is_memcpy) {
        rounds_print_ratio("   nrt_execute / memcpy", &subjects[0], &subjects[2], 0);
    }
    rounds_require(nrt->nrt_unload(s.model) == NRT_SUCCESS, "nrt_unload");
    ntk_engine_program_destroy(s.program);
    ntk_engine_core_destroy(s.core);
    ntk_neff_close(s.neff);
    for (uint32_t v = 0; v < s.binding_count; v++) {
        free(s.bindings[v].bytes);
    }
    free(s.from);
    free(s.between);
    free(s.to);
    free(bytes);
    free(path);
}

int main(int argc, char **argv)
{
    static const char *const examples[] = { "memcpy", "mlp", "attention", "conv" };
    char *folder = test_scratch_create();
    struct ntk_nrt nrt;
    struct ntk_err err = { 0 };

    rounds_options(argc, argv);
    setenv("NEURON_HOOKS_DIR", folder, 1);
    setenv("NEURON_SOFT_INSTANCE", "trn1.2xlarge", 1);
    setenv("NEURON_RT_NUM_CORES", "1", 1);
    rounds_require(ntk_nrt_open(&nrt, &err) == 0, err.text);
    rounds_require(nrt.nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "nrt_init");
    (void)rounds_pin(0);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        bench(&nrt, folder, examples[i]);
    }
    nrt.nrt_close();
    test_scratch_destroy(folder);
    return rounds_result();
}
