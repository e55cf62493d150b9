/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/core/core_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

extern char **environ;

/* Collects the names first, because unsetenv() moves what environ points to. */
static void variables_unset(void)
{
    for (size_t i = 0; environ[i];) {
        const char *end = strchr(environ[i], '=');

        if (strncmp(environ[i], "NEURON_", 7) != 0 || !end) {
            i++;
            continue;
        }
        char *name = strndup(environ[i], (size_t)(end - environ[i]));
        unsetenv(name);
        free(name);
    }
}

int core_fixture_prepare(void **state)
{
    struct core_fixture *f = calloc(1, sizeof *f);

    variables_unset();
    test_scratch_in_memory();
    f->folder = test_scratch_create();
    setenv("NEURON_HOOKS_DIR", f->folder, 1);
    *state = f;
    return 0;
}

int core_fixture_setup(void **state)
{
    const struct ntk_core_options options = { .lnc = 1 };

    (void)core_fixture_prepare(state);
    core_fixture_open(*state, &options);
    return 0;
}

int core_fixture_teardown(void **state)
{
    struct core_fixture *f = *state;

    core_fixture_close(f);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

void core_fixture_open(struct core_fixture *f, const struct ntk_core_options *options)
{
    if (ntk_core_open(options, &f->core, &f->err) < 0) {
        fail_msg("cannot open the machine: %s", f->err.text);
    }
}

void core_fixture_close(struct core_fixture *f)
{
    if (f->core) {
        ntk_core_close(f->core);
        f->core = NULL;
    }
}

void core_adder_init(struct core_fixture *f, struct core_adder *adder,
                     const struct test_model_options *model,
                     const struct ntk_core_load_options *options)
{
    static const struct test_model_options plain = { .name = NULL };
    struct ntk_core_load_options load = { .nc = 0 };
    size_t bytes = 0;
    size_t count = 0;
    uint8_t *neff = test_model_adder(model ? model : &plain, &bytes);

    if (options) {
        load = *options;
    }
    load.features_mask = UINT64_MAX;
    if (ntk_core_model_load(f->core, neff, bytes, &load, &adder->model, &f->err) < 0) {
        fail_msg("cannot load the model: %s", f->err.text);
    }
    free(neff);
    const struct ntk_core_io *io = ntk_core_model_io_get(adder->model, &count);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(io[i].bytes, TEST_MODEL_BYTES);
        assert_int_equal(ntk_core_tensor_create(f->core, NTK_CORE_DEVICE,
                                                ntk_core_model_nc(adder->model), io[i].bytes,
                                                io[i].name, &adder->tensors[i], &f->err),
                         0);
    }
}

void core_adder_fini(struct core_adder *adder)
{
    ntk_core_tensor_destroy(adder->tensors[0]);
    ntk_core_tensor_destroy(adder->tensors[1]);
    ntk_core_model_unload(adder->model);
}

enum ntk_core_outcome core_adder_run(struct core_fixture *f, struct core_adder *adder, float value)
{
    enum ntk_core_outcome outcome = NTK_CORE_FAILED;
    float x[TEST_MODEL_ELEMENTS];

    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        x[i] = value;
    }
    assert_int_equal(ntk_core_tensor_write(adder->tensors[0], x, 0, sizeof x, &f->err), 0);
    assert_int_equal(ntk_core_execute(adder->model, adder->tensors, 2, &outcome, &f->err), 0);
    return outcome;
}

size_t core_adder_right(struct core_fixture *f, struct core_adder *adder, float value)
{
    float y[TEST_MODEL_ELEMENTS];
    size_t right = 0;

    assert_int_equal(ntk_core_tensor_read(adder->tensors[1], y, 0, sizeof y, &f->err), 0);
    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        right += y[i] == value + (float)i;
    }
    return right;
}
