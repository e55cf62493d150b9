/* SPDX-License-Identifier: MIT */
/*
 * core_fixture - a small software machine of its own, and the adder of tests/support/models.h on a
 * core of it, asked through core.h alone.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_CORE_CORE_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_CORE_CORE_FIXTURE_H

#include "runtime-hooks/core/core.h"
#include "tests/support/models.h"

struct core_fixture {
    char *folder;          /* NEURON_HOOKS_DIR */
    struct ntk_core *core; /* a trn1.2xlarge: two cores of one device */
    struct ntk_err err;
};

/* Set-up and tear-down of a test: variables of the caller are removed, and the folder is empty. The
 * first function leaves the core closed. */
int core_fixture_prepare(void **state);
int core_fixture_setup(void **state);
int core_fixture_teardown(void **state);
void core_fixture_open(struct core_fixture *f, const struct ntk_core_options *options);
void core_fixture_close(struct core_fixture *f);

/* A model with tensors "x" and "y" on its core. */
struct core_adder {
    struct ntk_core_model *model;
    struct ntk_core_tensor *tensors[2];
};

/* Builds and loads it with all features accepted; NULL: the plain adder, options of zeros. Asserts
 * success. */
void core_adder_init(struct core_fixture *f, struct core_adder *adder,
                     const struct test_model_options *model,
                     const struct ntk_core_load_options *options);
void core_adder_fini(struct core_adder *adder);
/* x[i] = value for all i, then one execution. */
enum ntk_core_outcome core_adder_run(struct core_fixture *f, struct core_adder *adder, float value);
/* Returns for how many i y[i] is value + i. */
size_t core_adder_right(struct core_fixture *f, struct core_adder *adder, float value);

#endif
