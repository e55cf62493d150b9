/* SPDX-License-Identifier: MIT */
/*
 * Method: a hand-made trace in which PE runs one instruction as many times as there is room, then
 * another one that follows it and carries a name from the compiler.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/output/tables/predecessors.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE

struct fixture {
    struct hand_trace h;
    struct ntk_export *export;
    struct ntk_neff_debug debug;
    struct ntk_neff_debug_instruction instructions[2];
    struct ntk_neff_predecessor predecessor;
    struct ntk_neff_debug *names;
    const struct ntk_slot_fact *last;
};

static void make(struct fixture *f, unsigned loops)
{
    uint32_t slots[2];

    memset(f, 0, sizeof *f);
    hand_trace_begin(&f->h, 1, "trn2.3xlarge", 100000);
    for (unsigned i = 0; i < 2; i++) {
        slots[i] = hand_trace_nop(&f->h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    }
    for (unsigned i = 0; i < loops; i++) {
        hand_trace_run(&f->h, 0, NTK_ISA_ENGINE_PE, slots[0], i, i + 1);
    }
    hand_trace_run(&f->h, 0, NTK_ISA_ENGINE_PE, slots[1], 90000, 90001);
    hand_trace_end(&f->h);
    assert_int_equal(ntk_export_create(&f->h.trace, "hand", "hand.ntff", &f->export), 0);
    f->predecessor = (struct ntk_neff_predecessor){ 1, 4 };
    f->instructions[0] = (struct ntk_neff_debug_instruction){ .bir_id = 1, .name = "first" };
    f->instructions[1] =
        (struct ntk_neff_debug_instruction){ .bir_id = 2, .name = "last", .predecessor_count = 1 };
    f->debug = (struct ntk_neff_debug){ .instruction_count = 2,
                                        .instructions = f->instructions,
                                        .predecessors = &f->predecessor };
    f->export->program->names[0] = &f->debug;
    for (unsigned i = 0; i < 2; i++) {
        f->export->program->facts[NTK_ISA_ENGINE_PE][slots[i]].named = &f->instructions[i];
    }
    f->last = &f->export->program->facts[NTK_ISA_ENGINE_PE][slots[1]];
}

static void unmake(struct fixture *f)
{
    f->export->program->names[0] = NULL; /* not in the program */
    ntk_export_destroy(f->export);
    hand_trace_fini(&f->h);
}

static size_t edges_of(const struct fixture *f)
{
    struct ntk_predecessors *predecessors = NULL;
    const char *json = NULL;
    size_t count = 0;

    assert_int_equal(ntk_predecessors_create(f->export, 0, &predecessors), 0);
    assert_int_equal(ntk_predecessors_get(predecessors, f->last, &json), 0);
    for (; json && (json = strstr(json, "\"FLOW_DEPENDENCE\"")); json++) {
        count++;
    }
    ntk_predecessors_destroy(predecessors);
    return count;
}

static void every_table_row_of_a_loop_is_listed_as_predecessor(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, NTK_PREDECESSORS_MAX);
    assert_int_equal(edges_of(&f), NTK_PREDECESSORS_MAX);
    assert_int_equal(ntk_predecessors_omitted(f.export), 0);
    unmake(&f);
}

static void predecessors_beyond_the_limit_are_omitted_and_counted(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, NTK_PREDECESSORS_MAX + 1);
    assert_int_equal(edges_of(&f), 0);
    assert_int_equal(ntk_predecessors_omitted(f.export), 1);
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_row_of_a_loop_is_listed_as_predecessor),
        cmocka_unit_test(predecessors_beyond_the_limit_are_omitted_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
