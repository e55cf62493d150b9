/* SPDX-License-Identifier: MIT */
/*
 * examples - small NEFFs, each for one purpose: demos, load, tests of results and of errors.
 *
 * Each example has a file, and a row in examples.c. The examples are written with
 * shared/formats/neff/neff_build.h, so they also show how to use it.
 *
 * Owner: the caller destroys the build from ntk_example_build(). Threads: any.
 */
#ifndef NTK_SHARED_KERNELS_EXAMPLES_H
#define NTK_SHARED_KERNELS_EXAMPLES_H

#include "shared/base/err.h"
#include "shared/formats/neff/neff_build.h"

struct ntk_example_options {
    uint64_t size;        /* 0: the default of the example */
    uint64_t repeat;      /* how often one execution repeats the work; 0 means 1 */
    enum ntk_dtype dtype; /* FLOAT32 or BFLOAT16; NONE means BFLOAT16 */
    const char *target;   /* NULL means "*" */
    uint32_t lnc;         /* 0 means 1 */
    uint32_t columns; /* columns of the smallest tensor engine on which it must run; 0 means 128 */
};

struct ntk_example {
    const char *name;
    const char *summary;
    const char *size_meaning; /* NULL: the example has no size */
    uint64_t size_default;
    uint64_t size_min;
    uint64_t size_max;
    uint64_t size_step; /* size must be a multiple of this */
    bool repeats;       /* accepts repeat */
    bool has_dtype;     /* accepts dtype */
    bool is_wide;       /* requires a tensor engine with 128 columns */
    /* Nodes of a pipeline; the first one uses `size` NeuronCores. 0: not a pipeline. */
    uint32_t nodes;
    void (*compile)(struct ntk_neff_build *build, const struct ntk_example_options *options);
};

/* The example at an index, in the order of the help; NULL after the last. */
const struct ntk_example *ntk_example_at(size_t index);
const struct ntk_example *ntk_example_find(const char *name);

/* Returns -EINVAL with a message for an option that the example does not accept. */
int ntk_example_build(const struct ntk_example *example, const struct ntk_example_options *options,
                      struct ntk_neff_build **out_build, struct ntk_err *err);

/* Maximum repeat, because the programs are unrolled. */
#define NTK_EXAMPLE_REPEAT_MAX 10000

/* Functions that write the programs; all options must be set, none may be 0. */
void ntk_example_mlp(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_conv(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_attention(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_attention_slow(struct ntk_neff_build *build,
                                const struct ntk_example_options *options);
void ntk_example_memcpy(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_nan(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_oob(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_deadlock(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_two_node_cpu(struct ntk_neff_build *build,
                              const struct ntk_example_options *options);
void ntk_example_pipeline(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_two_node_core(struct ntk_neff_build *build,
                               const struct ntk_example_options *options);
void ntk_example_spin(struct ntk_neff_build *build, const struct ntk_example_options *options);

#endif
