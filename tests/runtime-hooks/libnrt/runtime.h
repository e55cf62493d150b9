/* SPDX-License-Identifier: MIT */
/*
 * runtime - a scratch machine and a loaded model for tests of libnrt.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_LIBNRT_RUNTIME_H
#define NTK_TESTS_RUNTIME_HOOKS_LIBNRT_RUNTIME_H

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "tests/support/models.h"

struct runtime {
    char *folder; /* NEURON_HOOKS_DIR */
};

/* A private hooks folder, and no NEURON_ variables except those set here. Returns 0. */
int runtime_setup(void **state);
int runtime_teardown(void **state);

/* A model on a core with its tensors; asserts that everything works. */
struct loaded {
    nrt_model_t *model;
    nrt_tensor_t *x, *y;
    nrt_tensor_set_t *inputs, *outputs;
};
void loaded_init(struct loaded *loaded, const uint8_t *neff, size_t bytes, int core);
/* The model of test_model_adder(); options: NULL for none. */
void loaded_adder(struct loaded *loaded, const struct test_model_options *options, int core);
void loaded_fini(struct loaded *loaded);

/* Returns the bytes of the NEFF, to be freed with free(); destroys the build. */
struct ntk_neff_build;
uint8_t *test_build_finish(struct ntk_neff_build *build, size_t *out_bytes);
/* At most 4 MiB of a file, to be freed with free(). */
uint8_t *test_file_read(const char *path, size_t *out_bytes);

#endif
