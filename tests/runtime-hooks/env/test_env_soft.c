/* SPDX-License-Identifier: MIT */
/*
 * Environment variables of software NeuronCores, as options of the core.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/env/env_soft.h"
#include "tests/support/unit.h"

static int setup(void **state)
{
    static const char *const names[] = { "NEURON_SOFT_INSTANCE", "NEURON_SOFT_SYSFS",
                                         "NEURON_SOFT_FAULT",    "NEURON_SOFT_PACE",
                                         "NEURON_SOFT_OPAQUE",   "NEURON_SOFT_NEFF_FEATURES",
                                         "NEURON_SOFT_CPU_NODES" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsetenv(names[i]);
    }
    return 0;
}

static void empty_environment_variables_are_equivalent_to_unset_variables(void **state)
{
    for (int is_empty = 0; is_empty < 2; is_empty++) {
        struct ntk_core_options options = { .lnc = 2 };
        struct ntk_core_load_options load = { .nc = 3 };

        if (is_empty) {
            setenv("NEURON_SOFT_INSTANCE", "", 1);
            setenv("NEURON_SOFT_FAULT", "", 1);
            setenv("NEURON_SOFT_PACE", "", 1);
            setenv("NEURON_SOFT_CPU_NODES", "", 1);
        }
        assert_int_equal(ntk_env_soft_options_get(&options, NULL), 0);
        assert_null(options.machine.instance.value);
        assert_false(options.machine.new_tree);
        assert_null(options.faults.value);
        assert_false(options.is_paced);
        assert_int_equal(options.lnc, 2);
        assert_int_equal(ntk_env_soft_load_options_get(&load, NULL), 0);
        assert_false(load.run_opaque);
        assert_int_equal(load.features_mask, UINT64_C(0x8000000000000fff));
        assert_int_equal(load.nc, 3);
        assert_int_equal(ntk_env_soft_cpu_nodes(), NTK_ENV_CPU_NODES_OWN);
    }
}

static void environment_variables_are_passed_with_their_names(void **state)
{
    struct ntk_core_options options = { .lnc = 1 };
    struct ntk_core_load_options load = { .nc = 0 };

    setenv("NEURON_SOFT_INSTANCE", "inf2.xlarge", 1);
    setenv("NEURON_SOFT_SYSFS", "new", 1);
    setenv("NEURON_SOFT_FAULT", "hang:at=1", 1);
    setenv("NEURON_SOFT_PACE", "1", 1);
    setenv("NEURON_SOFT_OPAQUE", "true", 1);
    setenv("NEURON_SOFT_NEFF_FEATURES", "0x11", 1);
    assert_int_equal(ntk_env_soft_options_get(&options, NULL), 0);
    assert_string_equal(options.machine.instance.name, "NEURON_SOFT_INSTANCE");
    assert_string_equal(options.machine.instance.value, "inf2.xlarge");
    assert_true(options.machine.new_tree);
    assert_string_equal(options.faults.name, "NEURON_SOFT_FAULT");
    assert_string_equal(options.faults.value, "hang:at=1");
    assert_true(options.is_paced);
    assert_int_equal(ntk_env_soft_load_options_get(&load, NULL), 0);
    assert_true(load.run_opaque);
    assert_int_equal(load.features_mask, 0x11);
    assert_non_null(strstr(load.opaque_way_out, "NEURON_SOFT_OPAQUE=1"));
    assert_non_null(strstr(load.cpu_nodes_why, "NEURON_SOFT_CPU_NODES"));
}

static void host_code_is_allowed_from_own_files_all_files_or_none(void **state)
{
    static const struct {
        const char *value;
        enum ntk_env_cpu_nodes allowed;
    } rows[] = {
        { "own", NTK_ENV_CPU_NODES_OWN },  { "OWN", NTK_ENV_CPU_NODES_OWN },
        { "1", NTK_ENV_CPU_NODES_ALL },    { "0", NTK_ENV_CPU_NODES_NONE },
        { "yes", NTK_ENV_CPU_NODES_NONE }, /* an invalid value means none */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("NEURON_SOFT_CPU_NODES", rows[i].value, 1);
        assert_int_equal(ntk_env_soft_cpu_nodes(), rows[i].allowed);
    }
}

static void an_invalid_value_is_rejected_with_the_variable_name(void **state)
{
    struct ntk_core_options options = { .lnc = 1 };
    struct ntk_core_load_options load = { .nc = 0 };
    struct ntk_err err = { 0 };

    setenv("NEURON_SOFT_SYSFS", "newest", 1);
    assert_int_equal(ntk_env_soft_options_get(&options, &err), -EINVAL);
    assert_string_equal(err.text, "NEURON_SOFT_SYSFS=newest: expected old or new");
    unsetenv("NEURON_SOFT_SYSFS");
    setenv("NEURON_SOFT_PACE", "fast", 1);
    assert_int_equal(ntk_env_soft_options_get(&options, &err), -EINVAL);
    assert_string_equal(err.text, "NEURON_SOFT_PACE=fast: expected 0 or 1");
    setenv("NEURON_SOFT_NEFF_FEATURES", "many", 1);
    assert_int_equal(ntk_env_soft_load_options_get(&load, &err), -EINVAL);
    assert_string_equal(err.text, "NEURON_SOFT_NEFF_FEATURES=many: expected a number");
    setenv("NEURON_SOFT_OPAQUE", "maybe", 1);
    assert_int_equal(ntk_env_soft_load_options_get(&load, &err), -EINVAL);
    assert_string_equal(err.text, "NEURON_SOFT_OPAQUE=maybe: expected 0 or 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(empty_environment_variables_are_equivalent_to_unset_variables,
                               setup),
        cmocka_unit_test_setup(environment_variables_are_passed_with_their_names, setup),
        cmocka_unit_test_setup(host_code_is_allowed_from_own_files_all_files_or_none, setup),
        cmocka_unit_test_setup(an_invalid_value_is_rejected_with_the_variable_name, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
