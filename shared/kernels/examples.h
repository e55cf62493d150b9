/* SPDX-License-Identifier: MIT */
/*
 * examples - small NEFFs, each for one purpose: demos, load, tests of results and of errors.
 *
 * One file per example, one row each in examples.c. They are compiled by hand with
 * shared/formats/neff/neff_build.h, so they also show how that is used.
 *
 * Owner:   ntk_example_build() gives a build that the caller destroys. Threads: any.
 */
#ifndef NTK_SHARED_KERNELS_EXAMPLES_H
#define NTK_SHARED_KERNELS_EXAMPLES_H

#include "shared/base/err.h"
#include "shared/formats/neff/neff_build.h"

struct ntk_example_options {
    uint64_t size;        /* 0: the example's own */
    uint64_t repeat;      /* 0 is 1: how often one execution does the work */
    enum ntk_dtype dtype; /* FLOAT32 or BFLOAT16; NONE is BFLOAT16 */
    const char *target;   /* NULL is "*" */
    uint32_t lnc;         /* 0 is 1 */
    uint32_t columns;     /* of the smallest tensor engine it shall run on; 0 is 128 */
};

struct ntk_example {
    const char *name;
    const char *summary;
    const char *size_meaning; /* NULL: it has no size */
    uint64_t size_default;
    uint64_t size_min;
    uint64_t size_max;
    uint64_t size_step; /* must be a multiple of */
    bool repeats;       /* takes repeat */
    bool has_dtype;     /* takes dtype */
    bool is_wide;       /* needs a tensor engine of 128 columns */
    uint32_t nodes;     /* of a pipeline, whose first one takes `size` NeuronCores; 0: it is none */
    void (*compile)(struct ntk_neff_build *build, const struct ntk_example_options *options);
};

/* In the order of the help; NULL at the end. */
const struct ntk_example *ntk_example_at(size_t index);
const struct ntk_example *ntk_example_find(const char *name);

/* -EINVAL with a message for an option that the example does not take. */
int ntk_example_build(const struct ntk_example *example, const struct ntk_example_options *options,
                      struct ntk_neff_build **out_build, struct ntk_err *err);

/* Greatest repeat: the programs are unrolled. */
#define NTK_EXAMPLE_REPEAT_MAX 10000

/* Their compile functions; options are complete, with no value left 0. */
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
