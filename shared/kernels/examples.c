/* SPDX-License-Identifier: MIT */
/* examples - the table of examples, and the check of their options. */
#include "shared/kernels/examples.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/formats/neff/source_text.h"
#include "shared/kernels/kit.h"
#include "shared/kernels/sources.h"

static const struct ntk_example examples[] = {
    { "mlp", "two dense layers with gelu: y = W2' gelu(W1' x + b1) + b2 for 512 columns",
      "features; the hidden layer has four times as many", 256, 128, 1024, 128, true, true,
      .compile = ntk_example_mlp },
    { "conv", "3x3 convolution from 64 to 128 channels with bias and relu, same size",
      "width and height of the image", 32, 4, 128, 1, true, true, .is_wide = true,
      .compile = ntk_example_conv },
    { "attention", "one head of scaled dot-product attention, 64 wide", "length of the sequence",
      256, 128, 2048, 128, true, true, .compile = ntk_example_attention },
    { "attention-slow",
      "same as attention, but the scores go to device memory and back before the softmax",
      "length of the sequence", 256, 128, 2048, 128, true, true,
      .compile = ntk_example_attention_slow },
    { "memcpy", "copies a tensor of 128 rows through the state buffer", "float32 columns", 1024, 1,
      1 << 20, 1, true, false, .compile = ntk_example_memcpy },
    { "nan", "computes the logarithm of -1: every execution ends with a numerical error", NULL, 0,
      0, 0, 0, false, false, .compile = ntk_example_nan },
    { "oob",
      "reads a row past the end of its table: every execution ends with an out-of-bounds error",
      NULL, 0, 0, 0, 0, false, false, .compile = ntk_example_oob },
    { "deadlock", "waits for a semaphore that is never signalled: every execution times out", NULL,
      0, 0, 0, 0, false, false, .compile = ntk_example_deadlock },
    { "two-node-cpu", "scales on a NeuronCore, then computes the softmax of each row on the CPU",
      "columns in each of the 128 rows", 64, 1, 8192, 1, false, false,
      .compile = ntk_example_two_node_cpu },
    { "pipeline", "dense layers with relu, each a subgraph on its own NeuronCore (inf1)",
      "NeuronCores", 4, 1, 64, 1, true, true, .nodes = 1, .compile = ntk_example_pipeline },
    { "two-node-core",
      "the same pipeline, followed by a node with one more layer on one NeuronCore (inf1)",
      "NeuronCores of the first node", 4, 1, 63, 1, true, true, .nodes = 2,
      .compile = ntk_example_two_node_core },
    { "spin", "keeps the engines busy for a long time without computing anything",
      "millions of base clock cycles; 7000 take 5 s on trn1", 7000, 1, 10000000, 1, false, false,
      .compile = ntk_example_spin },
};

enum { EXAMPLE_COUNT = sizeof examples / sizeof examples[0] };

const struct ntk_example *ntk_example_at(size_t index)
{
    return index < EXAMPLE_COUNT ? &examples[index] : NULL;
}

const struct ntk_example *ntk_example_find(const char *name)
{
    for (size_t i = 0; i < EXAMPLE_COUNT; i++) {
        if (strcmp(examples[i].name, name) == 0) {
            return &examples[i];
        }
    }
    return NULL;
}

static bool is_target(const char *name)
{
    static const char *const targets[] = { "sunda", "cayman", "mariana", "*" };

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (strcmp(name, targets[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int check_options(const struct ntk_example *example,
                         const struct ntk_example_options *options, struct ntk_err *err)
{
    if (options->size != 0 && !example->size_meaning) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "example '%s' does not support --size",
                           example->name);
    }
    if (options->size != 0 &&
        (options->size < example->size_min || options->size > example->size_max ||
         options->size % example->size_step != 0)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "--size of '%s' must be between %llu and %llu%s", example->name,
                           (unsigned long long)example->size_min,
                           (unsigned long long)example->size_max,
                           example->size_step > 1 ? " and a multiple of 128" : "");
    }
    if (options->repeat > 1 && !example->repeats) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "example '%s' does not support --repeat", example->name);
    }
    if (options->repeat > NTK_EXAMPLE_REPEAT_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "--repeat must be at most %d",
                           NTK_EXAMPLE_REPEAT_MAX);
    }
    if (options->dtype != NTK_DTYPE_NONE && !example->has_dtype) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "example '%s' supports only one dtype",
                           example->name);
    }
    if (options->dtype != NTK_DTYPE_NONE && options->dtype != NTK_DTYPE_FLOAT32 &&
        options->dtype != NTK_DTYPE_BFLOAT16) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "--dtype must be float32 or bfloat16");
    }
    if (options->target && !is_target(options->target)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "--target must be sunda, cayman, mariana or *");
    }
    if (options->lnc > 2) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "--lnc must be 1 or 2");
    }
    return 0;
}

int ntk_example_build(const struct ntk_example *example, const struct ntk_example_options *options,
                      struct ntk_neff_build **out_build, struct ntk_err *err)
{
    struct ntk_example_options full = *options;
    struct ntk_neff_build_options build_options = { .name = example->name,
                                                    .target = options->target,
                                                    .lnc = options->lnc };
    struct ntk_neff_build *build;
    int ret = check_options(example, options, err);

    if (ret < 0) {
        return ret;
    }
    build = ntk_neff_build_create(&build_options);
    if (!build) {
        return ntk_err_no_memory(err);
    }
    if (full.size == 0) {
        full.size = example->size_default;
    }
    if (full.repeat == 0) {
        full.repeat = 1;
    }
    if (full.dtype == NTK_DTYPE_NONE) {
        full.dtype = NTK_DTYPE_BFLOAT16;
    }
    if (full.columns == 0) {
        full.columns = NTK_KIT_P;
    }
    example->compile(build, &full);
    for (const struct ntk_example_source *source = ntk_example_sources; source->name; source++) {
        char path[64];
        char member[96];

        snprintf(path, sizeof path, "shared/kernels/%s", source->name);
        if (ntk_neff_build_names_file(build, path)) {
            snprintf(member, sizeof member, NTK_SOURCE_TEXT_MEMBER, path);
            ntk_neff_build_member(build, member, source->bytes, source->bytes_count);
        }
    }
    *out_build = build;
    return 0;
}
