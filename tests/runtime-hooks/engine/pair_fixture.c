/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/engine/pair_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

void pair_init(struct pair *p, unsigned generation)
{
    memset(p, 0, sizeof *p);
    for (int c = 0; c < 2; c++) {
        engine_fixture_init(&p->cores[c], generation);
        engine_fixture_queue(&p->cores[c], 1);
        engine_fixture_var(&p->cores[c], NTK_NEFF_VAR_INPUT, 64);
        engine_fixture_var(&p->cores[c], NTK_NEFF_VAR_OUTPUT, 64);
    }
}

void pair_fini(struct pair *p)
{
    engine_fixture_fini(&p->cores[0]);
    engine_fixture_fini(&p->cores[1]);
}

int pair_setup(void **state)
{
    struct pair *p = calloc(1, sizeof *p);

    assert_non_null(p);
    pair_init(p, 3);
    *state = p;
    return 0;
}

int pair_teardown(void **state)
{
    pair_fini(*state);
    free(*state);
    return 0;
}

void pair_assemble(struct pair *p, int core, enum ntk_isa_engine engine, const char *text)
{
    engine_fixture_assemble(&p->cores[core], engine, text);
}

int pair_try(struct pair *p, const struct ntk_engine_trace *traces, uint64_t timeout_ns)
{
    struct ntk_engine_run_options options[2];
    struct ntk_engine_member members[2];

    for (int c = 0; c < 2; c++) {
        struct engine_fixture *f = &p->cores[c];

        if (!f->program && engine_fixture_make(f) < 0) {
            fail_msg("core %d: %s", c, f->err.text);
        }
        options[c] = (struct ntk_engine_run_options){ .bindings = f->bindings,
                                                      .binding_count = FIXTURE_VARS,
                                                      .timeout_ns = timeout_ns,
                                                      .trace = traces ? &traces[c] : NULL };
        members[c] = (struct ntk_engine_member){ f->core, f->program, &options[c] };
    }
    return ntk_engine_run_together(members, 2, p->results, &p->err);
}

void pair_must_run(struct pair *p)
{
    assert_int_equal(pair_try(p, NULL, 0), 0);
    for (int c = 0; c < 2; c++) {
        if (p->results[c].outcome != NTK_RUN_OK) {
            fail_msg("core %d: %s at slot %u", c, ntk_engine_outcome_name(p->results[c].outcome),
                     p->results[c].fault_slot);
        }
    }
}

void pair_clear(struct pair *p)
{
    engine_fixture_clear(&p->cores[0]);
    engine_fixture_clear(&p->cores[1]);
}

int32_t *pair_memory(struct pair *p, int core, uint32_t var)
{
    return engine_fixture_memory(&p->cores[core], var);
}

void pair_fill(struct pair *p)
{
    for (int c = 0; c < 2; c++) {
        for (int i = 0; i < 16; i++) {
            pair_memory(p, c, 1)[i] = 1000 * (c + 1) + i;
            pair_memory(p, c, 2)[i] = -1;
        }
    }
}
