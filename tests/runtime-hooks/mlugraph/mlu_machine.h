/* SPDX-License-Identifier: MIT */
/* mlu_machine - the set-up of tests on software MLUs: a hooks folder of the process. */
#ifndef NTK_TESTS_MLUGRAPH_MLU_MACHINE_H
#define NTK_TESTS_MLUGRAPH_MLU_MACHINE_H

#include <stdlib.h>

#include "tests/support/scratch.h"

static inline int mlu_machine_set_up(void **state, const char *instance)
{
    test_scratch_in_memory();
    *state = test_scratch_create();
    setenv("NEURON_HOOKS_DIR", *state, 1);
    setenv("NEURON_SOFT_INSTANCE", instance, 1);
    unsetenv("NEURON_LIBCNML");
    unsetenv("NEUWARE_HOME");
    unsetenv("MLU_VISIBLE_DEVICES");
    return 0;
}

static inline int mlu_machine_tear_down(void **state)
{
    test_scratch_destroy(*state);
    return 0;
}

#endif
