/* SPDX-License-Identifier: MIT */
/*
 * Programs before and after a change, compared and checked against a limit.
 *
 * Method: a hand-made chain of steps: SP starts a load in 10 ns and its data arrives, PE
 * multiplies, ACT activates, DVE reduces, each as soon as the previous one is done. So every step
 * is on the critical path with its own length, and the change is known by construction.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/baseline.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define BEGIN_NS 10
#define STEPS 3

struct side { /* ns; 0: the program has no such step */
    int64_t load, multiply, activate, reduce;
    int64_t other; /* GpSimd works from the start, and no step waits for it */
};

static const struct {
    unsigned engine;
    const char *layer;
} steps[STEPS] = { { NTK_ISA_ENGINE_PE, "multiply" },
                   { NTK_ISA_ENGINE_ACT, "activate" },
                   { NTK_ISA_ENGINE_DVE, "reduce" } };

/* Like hand_trace_nop(), with an operand and a name. */
static void step(struct hand_trace *h, size_t index, unsigned wait, int64_t start_ns,
                 int64_t end_ns)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NOP);
    unsigned engine = steps[index].engine;

    instr.imm[0] = 1;
    instr.name_id = hand_trace_name(h, 0, engine, steps[index].layer);
    instr.signal_semaphore = (uint16_t)(30 + index);
    instr.signal_value = 1;
    if (wait != NONE) {
        instr.wait_semaphore = (uint16_t)wait;
        instr.wait_value = 1;
    }
    hand_trace_run(h, 0, engine, hand_trace_open(h, 0, engine, &instr), start_ns, end_ns);
    hand_trace_change(h, 0, engine, 30 + (unsigned)index, 1, end_ns);
}

static void measure(const struct side *side, struct ntk_measures *out)
{
    const int64_t lengths[STEPS] = { side->multiply, side->activate, side->reduce };
    int64_t chain_ns =
        (side->load ? BEGIN_NS + side->load : 0) + side->multiply + side->activate + side->reduce;
    int64_t at_ns = 0;
    unsigned wait = NONE;
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", chain_ns > side->other ? chain_ns : side->other);
    if (side->load) {
        struct ntk_isa_instr load = hand_trace_load(&h, 0, 4);
        load.name_id = hand_trace_name(&h, 0, NTK_ISA_ENGINE_SP, "load");
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, hand_trace_open(&h, 0, NTK_ISA_ENGINE_SP, &load),
                       0, BEGIN_NS);
        at_ns = BEGIN_NS + side->load;
        wait = 20;
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, at_ns);
    }
    for (size_t i = 0; i < STEPS; i++) {
        if (lengths[i]) {
            step(&h, i, wait, at_ns, at_ns + lengths[i]);
            at_ns += lengths[i];
            wait = 30 + (unsigned)i;
        }
    }
    if (side->other) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL,
                       hand_trace_nop(&h, 0, NTK_ISA_ENGINE_POOL, NONE, 0, NONE), 0, side->other);
    }
    hand_answers_ask(&h, &a);
    assert_int_equal(ntk_analysis_measures(a.program, &a.path, &a.costs, NULL, out, NULL), 0);
    hand_answers_done(&h, &a);
}

static const struct pair {
    const char *what;
    struct side before, after;
    enum ntk_comparison_verdict verdict;
    const char *most;  /* layer of the path; NULL: none */
    int64_t change_ns; /* layer of the operation */
    const char *limit;
    bool is_beyond;
} pairs[] = {
    { "the same program",
      { 200, 300, 100, 50, 0 },
      { 200, 300, 100, 50, 0 },
      NTK_COMPARISON_SAME,
      NULL,
      0,
      "total=0%",
      false },
    { "a load that takes twice as long",
      { 200, 300, 100, 50, 0 },
      { 400, 300, 100, 50, 0 },
      NTK_COMPARISON_SLOWER,
      "load",
      200,
      "total=5%",
      true },
    { "a load of half the length",
      { 200, 300, 100, 50, 0 },
      { 100, 300, 100, 50, 0 },
      NTK_COMPARISON_FASTER,
      "load",
      -100,
      "total=0%",
      false },
    { "the product is slower by more than the activation is faster",
      { 200, 300, 100, 50, 0 },
      { 200, 360, 60, 50, 0 },
      NTK_COMPARISON_SLOWER,
      "multiply",
      60,
      "path_layers/multiply=50ns",
      true },
    { "the activation is faster by more than the product is slower",
      { 200, 300, 100, 50, 0 },
      { 200, 330, 20, 50, 0 },
      NTK_COMPARISON_FASTER,
      "activate",
      -80,
      "path_layers/multiply=50ns",
      false },
    { "time moves from one step to another, the length stays",
      { 200, 300, 100, 50, 0 },
      { 200, 250, 150, 50, 0 },
      NTK_COMPARISON_PARTS,
      "activate",
      50,
      "engines/Scalar=40%",
      true },
    { "a step is gone",
      { 200, 300, 100, 50, 0 },
      { 200, 300, 100, 0, 0 },
      NTK_COMPARISON_FASTER,
      "reduce",
      -50,
      "path_layers=0%",
      false },
    { "a step is new",
      { 200, 300, 0, 50, 0 },
      { 200, 300, 100, 50, 0 },
      NTK_COMPARISON_SLOWER,
      "activate",
      100,
      "engines/Scalar=0",
      true },
    { "the data is there: no load",
      { 200, 300, 100, 50, 0 },
      { 0, 300, 100, 50, 0 },
      NTK_COMPARISON_FASTER,
      "load",
      -210,
      "engines=0%",
      false },
    { "an engine off the path works longer",
      { 200, 300, 100, 50, 100 },
      { 200, 300, 100, 50, 400 },
      NTK_COMPARISON_PARTS,
      NULL,
      0,
      "engines/GpSimd=100%",
      true },
    { "the same engine, within the limit",
      { 200, 300, 100, 50, 100 },
      { 200, 300, 100, 50, 180 },
      NTK_COMPARISON_PARTS,
      NULL,
      0,
      "engines/GpSimd=100%",
      false },
    { "an engine off the path becomes the path",
      { 200, 300, 100, 50, 600 },
      { 200, 300, 100, 50, 900 },
      NTK_COMPARISON_SLOWER,
      "(no layer)",
      900,
      "total=30%",
      true },
};

static void check(const struct pair *pair, const struct ntk_measures *before,
                  const struct ntk_measures *after)
{
    struct ntk_baseline_result result = { 0 };
    struct ntk_baseline_limit limit;
    struct ntk_comparison c;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_analysis_comparison(before, 1, after, 1, &c), 0);
    if (c.verdict != pair->verdict) {
        fail_msg("%s: %s", pair->what, ntk_comparison_verdict_name(c.verdict));
    }
    if ((c.most != NULL) != (pair->most != NULL)) {
        fail_msg("%s: most is %s", pair->what, c.most ? c.most->name : "none");
    }
    if (pair->most &&
        (strcmp(c.most->name, pair->most) != 0 ||
         fabs(c.most->after - c.most->before - (double)pair->change_ns * 1e3) > 0.5)) {
        fail_msg("%s: most is %s by %.0f ps", pair->what, c.most->name,
                 c.most->after - c.most->before);
    }
    assert_false(c.is_unrelated);

    assert_int_equal(ntk_baseline_limit_parse(pair->limit, &limit, &err), 0);
    if (ntk_baseline_check(&c, &limit, 1, &result, &err) != 0) {
        fail_msg("%s: %s", pair->what, err.text);
    }
    assert_int_equal(result.beyond_count > 0, pair->is_beyond);
    ntk_baseline_result_fini(&result);
    free(limit.name);
    ntk_comparison_fini(&c);
}

static void changes_between_program_pairs_are_found_and_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct ntk_measures before = { 0 };
        struct ntk_measures after = { 0 };

        measure(&pairs[i].before, &before);
        measure(&pairs[i].after, &after);
        check(&pairs[i], &before, &after);
        ntk_measures_fini(&before);
        ntk_measures_fini(&after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_between_program_pairs_are_found_and_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
