/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/engine/flow_fixture.h"

#include <stdlib.h>

#include "tests/support/unit.h"

int flow_setup(void **state)
{
    struct engine_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    engine_fixture_init(f, 2);
    engine_fixture_queue(f, 1);
    engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 64);
    engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 64);
    *state = f;
    return 0;
}

int flow_teardown(void **state)
{
    engine_fixture_fini(*state);
    free(*state);
    return 0;
}

const int32_t *flow_output(struct engine_fixture *f)
{
    return engine_fixture_memory(f, 2);
}

void flow_must_run(struct engine_fixture *f)
{
    if (engine_fixture_run(f, NULL, 0) != NTK_RUN_OK) {
        fail_msg("%s at slot %u", ntk_engine_outcome_name(f->result.outcome), f->result.fault_slot);
    }
}
