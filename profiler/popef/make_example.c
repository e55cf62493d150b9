/* SPDX-License-Identifier: MIT */
/*
 * popef_make example - creates models that run on software NeuronCores: a sum of two numbers with
 * its parameter, and a model with a parameter that grows with each execution.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/popef/make.h"
#include "shared/base/buf.h"
#include "shared/base/opt.h"
#include "shared/formats/neff/neff_build.h"

static const char *output;
static uint64_t replicas = 1;
static uint64_t iterations = 1;
static bool compress;

static const struct ntk_opt options[] = {
    { 'o', "output", "FILE", NTK_OPT_TEXT, &output, "write to FILE" },
    { 'r', "replicas", "N", NTK_OPT_U64, &replicas, "set the replication factor (default 1)",
      .is_above_zero = true },
    { 'i', "iterations", "N", NTK_OPT_U64, &iterations,
      "set the device iterations per call (default 1)", .is_above_zero = true },
    { 0, "compress", NULL, NTK_OPT_FLAG, &compress, "compress the executable" },
    NTK_OPT_COMMON,
    { 0 },
};

/* Creates a NEFF that adds two rows of numbers. */
static int neff_make(const char *name, const char *x_name, const char *w_name, const char *y_name,
                     uint8_t **out_bytes, size_t *out_count, struct ntk_err *err)
{
    static const uint64_t shape[1] = { 2 };
    const uint32_t row = 8;
    struct ntk_neff_build *build =
        ntk_neff_build_create(&(struct ntk_neff_build_options){ .name = name });
    if (!build) {
        return ntk_err_no_memory(err);
    }
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, name);
    uint32_t x = ntk_neff_kernel_input(kernel, x_name, NTK_DTYPE_FLOAT32, 1, shape);
    uint32_t w = ntk_neff_kernel_input(kernel, w_name, NTK_DTYPE_FLOAT32, 1, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, y_name, NTK_DTYPE_FLOAT32, 1, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    ntk_neff_token load_x =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, row, 1), 0, row, NTK_AFTER_NONE);
    ntk_neff_token load_w =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(w, 0, row, 1), row, row, NTK_AFTER_NONE);
    struct ntk_isa_instr add = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);

    add.op0 = NTK_ISA_ALU_ADD;
    add.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 1, 2, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(row, 1, 2, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_DST] = ntk_isa_sbuf(2 * (uint64_t)row, 1, 2, NTK_DTYPE_FLOAT32);
    ntk_neff_token sum =
        ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &add, NTK_AFTER(load_x, load_w));
    ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, row, 1), 2 * (uint64_t)row, row,
                          NTK_AFTER(sum));
    int ret = ntk_neff_build_bytes(build, out_bytes, out_count, err);
    ntk_neff_build_destroy(build);
    return ret;
}

/* The example in the guide of the format: its names, options, flow and programs. */
static const char add_text[] =
    "{ \"producer\": \"popart\","
    "  \"executable\": { \"name\": \"3284579348837926701\", \"compress\": %s, \"programs\": {"
    "    \"5\": { \"kind\": \"neff\", \"file\": \"5.neff\" } } },"
    "  \"metadata\": { \"replicationFactor\": %llu, \"deviceIterations\": %llu,"
    "    \"ipuVersion\": 2, \"isInference\": true, \"engineOptions\": {"
    "      \"debug.retainDebugInformation\": \"true\", \"exchange.enablePrefetch\": \"true\","
    "      \"exchange.streamBufferOverlap\": \"hostRearrangeOnly\","
    "      \"target.deterministicWorkers\": \"false\" },"
    "    \"programFlow\": { \"load\": [0, 1], \"main\": [5], \"save\": [7] },"
    "    \"anchors\": ["
    "      { \"name\": \"user_input\", \"type\": \"input\", \"dataType\": \"F32\","
    "        \"shape\": [2], \"isPerReplica\": true },"
    "      { \"name\": \"input_parameter\", \"type\": \"input\", \"dataType\": \"F32\","
    "        \"shape\": [2] },"
    "      { \"name\": \"Add:0\", \"type\": \"output\", \"dataType\": \"F32\","
    "        \"shape\": [2], \"isPerReplica\": true },"
    "      { \"name\": \"input_parameter\", \"type\": \"output\", \"dataType\": \"F32\","
    "        \"shape\": [2] } ] },"
    "  \"tensors\": [ { \"name\": \"input_parameter\", \"dataType\": \"F32\", \"shape\": [2],"
    "    \"values\": [1.0, 2.0] } ] }";

static const char accumulate_text[] =
    "{ \"producer\": \"popart\","
    "  \"executable\": { \"name\": \"accumulate\", \"compress\": %s, \"programs\": {"
    "    \"5\": { \"kind\": \"neff\", \"file\": \"5.neff\" } } },"
    "  \"metadata\": { \"replicationFactor\": %llu, \"deviceIterations\": %llu,"
    "    \"ipuVersion\": 2, \"anchors\": ["
    "      { \"name\": \"step\", \"type\": \"input\", \"dataType\": \"F32\", \"shape\": [2] },"
    "      { \"name\": \"weight\", \"type\": \"input\", \"dataType\": \"F32\", \"shape\": [2] },"
    "      { \"name\": \"weight\", \"type\": \"output\", \"dataType\": \"F32\","
    "        \"shape\": [2] } ] },"
    "  \"tensors\": [ { \"name\": \"weight\", \"dataType\": \"F32\", \"shape\": [2],"
    "    \"values\": [10.0, 20.0] } ],"
    "  \"feeds\": [ { \"name\": \"step\", \"dataType\": \"F32\", \"shape\": [2],"
    "    \"values\": [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0] } ] }";

/* Examples; names of tensors are the same as in the program. */
static const struct example {
    const char *name;
    const char *text;
    const char *x_name, *w_name, *y_name;
} examples[] = {
    { "add", add_text, "h2d_user_input", "h2d_input_parameter", "anchor_d2h_Add:0" },
    { "accumulate", accumulate_text, "h2d_step", "h2d_weight", "weight_d2h_weight" },
};

#define EXAMPLES (sizeof examples / sizeof *examples)

static const char *example_name(size_t index)
{
    return index < EXAMPLES ? examples[index].name : NULL;
}

static const struct example *example_find(const char *name)
{
    for (size_t i = 0; i < EXAMPLES; i++) {
        if (strcmp(examples[i].name, name) == 0) {
            return &examples[i];
        }
    }
    return NULL;
}

static const struct ntk_opt_program program = {
    .name = "popef_make example",
    .operand_get = example_name,
    .usage = "add|accumulate -o FILE [OPTION]...",
    .summary =
        "Writes an example model for popef_run: add returns input + parameter; accumulate adds its "
        "input to the parameter, which stays on the device and is saved at the end.",
    .options = options,
};

int make_example(int argc, char **argv)
{
    struct make_description description = { 0 };
    struct ntk_err err = { 0 };
    struct ntk_buf text = { 0 };
    uint8_t *neff = NULL;
    size_t count = 0;
    int first = ntk_opt_parse(&program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (argc == first) {
        return ntk_opt_usage_error(&program, "missing argument NAME: expected add or accumulate");
    }
    if (argc - first != 1) {
        return ntk_opt_argument_error(&program, NULL, argv[first + 1]);
    }
    const struct example *example = example_find(argv[first]);
    if (!example) {
        return ntk_opt_usage_error(&program, "unknown example '%s': expected add or accumulate",
                                   argv[first]);
    }
    if (!output) {
        return ntk_opt_usage_error(&program, "no output: use --output FILE");
    }
    if (replicas > INT32_MAX || iterations > INT32_MAX) {
        return ntk_opt_usage_error(&program, "--replicas and --iterations must be at most %d",
                                   INT32_MAX);
    }
    ntk_buf_add_format(&text, example->text, compress ? "true" : "false",
                       (unsigned long long)replicas, (unsigned long long)iterations);
    int ret = neff_make(example->name, example->x_name, example->w_name, example->y_name, &neff,
                        &count, &err);
    if (ret == 0) {
        ret = make_description_read(ntk_buf_text_get(&text), text.bytes_count, ".", &description,
                                    &err);
    }
    if (ret == 0) {
        ntk_vec_each(struct make_program, entry, &description.programs) {
            if (entry->file) {
                entry->bytes = neff;
                entry->bytes_count = count;
            }
        }
        ret = make_write(&description, output, POPEF_WRITER_CREATE, &err);
        make_description_fini(&description);
    }
    free(neff);
    ntk_buf_fini(&text);
    return ret < 0 ? make_fail(&err) : 0;
}
