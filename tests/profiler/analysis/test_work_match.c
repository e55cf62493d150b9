/* SPDX-License-Identifier: MIT */
/*
 * Method: pairs of small programs, written as lists of steps with the layer of each. The links of
 * each pair are known by construction. Names of layers differ on purpose: only shapes, types and
 * the flow of data may decide.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/work_match.h"
#include "profiler/output/answers/output_matched.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define STEPS_MAX 10
#define LINKS_MAX 8
#define TENSORS 5 /* variables: SB, q, k, s, o */

enum act {
    END,
    LOAD,  /* tensor `at` to column block `to` of SBUF */
    STORE, /* block `from` to tensor `at` */
    MUL,   /* blocks `from` x `at` to `to` */
    EXP,   /* `from` to `to` */
    ADD,   /* `from` and `at` to `to` */
    COPY,
};

enum tensor { Q = 1, K, S, O }; /* inputs q and k, scratch s, output o */

struct step {
    enum act act;
    const char *layer;
    unsigned from, at, to;
    int ns;
    bool is_fp32, is_small; /* MUL: its type; half of the columns */
};

struct link {
    const char *before, *after; /* NULL: none */
    enum ntk_work_relation relation;
    double before_ratio, after_ratio;
};

static const struct pair {
    const char *title;
    struct step before[STEPS_MAX], after[STEPS_MAX];
    struct link links[LINKS_MAX];
} pairs[] = {
    { "nothing changed but names",
      { { MUL, "a", 1, 2, 3, 100 }, { EXP, "b", 3, 0, 4, 50 } },
      { { MUL, "x", 1, 2, 3, 100 }, { EXP, "y", 3, 0, 4, 50 } },
      { { "a", "x", NTK_WORK_KEPT, 1, 1 }, { "b", "y", NTK_WORK_KEPT, 1, 1 } } },
    { "two layers fused into one",
      { { MUL, "a", 1, 2, 3, 100 }, { EXP, "b", 3, 0, 4, 50 } },
      { { MUL, "ab", 1, 2, 3, 75 }, { EXP, "ab", 3, 0, 4, 25 } },
      { { "a", "ab", NTK_WORK_FUSED, 1, 0.75 }, { "b", "ab", NTK_WORK_FUSED, 1, 0.25 } } },
    { "one layer split into two",
      { { MUL, "ab", 1, 2, 3, 100 }, { EXP, "ab", 3, 0, 4, 100 } },
      { { MUL, "a", 1, 2, 3, 30 }, { EXP, "b", 3, 0, 4, 20 } },
      { { "ab", "a", NTK_WORK_SPLIT, 0.5, 1 }, { "ab", "b", NTK_WORK_SPLIT, 0.5, 1 } } },
    { "work that is gone, and work that is new",
      { { MUL, "a", 1, 2, 3, 100 }, { EXP, "b", 3, 0, 4, 50 } },
      { { MUL, "a", 1, 2, 3, 100 }, { ADD, "c", 3, 3, 4, 40 } },
      { { "a", "a", NTK_WORK_KEPT, 1, 1 },
        { "b", NULL, NTK_WORK_GONE, 0, 0 },
        { NULL, "c", NTK_WORK_NEW, 0, 0 } } },
    { "products of another type",
      { { MUL, "a", 1, 2, 3, 100 }, { ADD, "b", 3, 3, 4, 30 } },
      { { MUL, "x", 1, 2, 3, 400, .is_fp32 = true }, { ADD, "y", 3, 3, 4, 30 } },
      { { "a", "x", NTK_WORK_KEPT, 1, 1 }, { "b", "y", NTK_WORK_KEPT, 1, 1 } } },
    { "products in other tiles",
      { { MUL, "a", 1, 2, 3, 100 } },
      { { MUL, "x", 1, 2, 3, 50, .is_small = true }, { MUL, "x", 1, 2, 3, 50, .is_small = true } },
      { { "a", "x", NTK_WORK_KEPT, 1, 1 } } },
    /* Only the sources distinguish the two, which are in reverse order: one product is of inputs,
     * the other one of an exponential. */
    { "products of one shape in another order",
      { { LOAD, "in", 0, Q, 1, 10 },
        { EXP, "e", 1, 0, 2, 20 },
        { MUL, "scores", 1, 1, 3, 100 },
        { MUL, "weigh", 2, 1, 4, 60 } },
      { { LOAD, "in", 0, Q, 1, 10 },
        { EXP, "e", 1, 0, 2, 20 },
        { MUL, "second", 2, 1, 4, 60 },
        { MUL, "first", 1, 1, 3, 100 } },
      { { "scores", "first", NTK_WORK_KEPT, 1, 1 },
        { "weigh", "second", NTK_WORK_KEPT, 1, 1 },
        { "e", "e", NTK_WORK_KEPT, 1, 1 },
        { "in", "in", NTK_WORK_KEPT, 1, 1 } } },
    /* The exponential is of the product, through a scratch tensor or not: its sources are the
     * same. */
    { "a round trip through device memory is fused away",
      { { MUL, "scores", 1, 1, 3, 100 },
        { STORE, "spill", 3, S, 0, 40 },
        { LOAD, "spill", 0, S, 5, 40 },
        { EXP, "softmax", 5, 0, 6, 60 } },
      { { MUL, "fused", 1, 1, 3, 100 }, { EXP, "fused", 3, 0, 6, 100 } },
      { { "scores", "fused", NTK_WORK_FUSED, 1, 0.5 },
        { "spill", NULL, NTK_WORK_GONE, 0, 0 },
        { "softmax", "fused", NTK_WORK_FUSED, 1, 0.5 } } },
    { "copies on the way do not matter",
      { { EXP, "e", 1, 0, 2, 10 }, { MUL, "a", 2, 2, 3, 100 } },
      { { EXP, "e", 1, 0, 2, 10 }, { COPY, "c", 2, 0, 7, 30 }, { MUL, "x", 7, 7, 3, 100 } },
      { { "a", "x", NTK_WORK_KEPT, 1, 1 },
        { "e", "e", NTK_WORK_KEPT, 1, 1 },
        { NULL, "c", NTK_WORK_NEW, 0, 0 } } },
    { "a load of one input is not the load of another",
      { { LOAD, "a", 0, Q, 1, 30 }, { LOAD, "b", 0, K, 2, 20 } },
      { { LOAD, "x", 0, K, 2, 20 }, { LOAD, "y", 0, Q, 1, 30 } },
      { { "a", "y", NTK_WORK_KEPT, 1, 1 }, { "b", "x", NTK_WORK_KEPT, 1, 1 } } },
    /* Half of the sums moved to another layer. */
    { "parts change places",
      { { MUL, "a", 1, 2, 3, 100 }, { ADD, "a", 3, 3, 4, 100 }, { EXP, "b", 4, 0, 5, 100 } },
      { { MUL, "x", 1, 2, 3, 100 }, { ADD, "y", 3, 3, 4, 100 }, { EXP, "y", 4, 0, 5, 100 } },
      { { "a", "x", NTK_WORK_SPLIT, 0.5, 1 },
        { "a", "y", NTK_WORK_MIXED, 0.5, 0.5 },
        { "b", "y", NTK_WORK_FUSED, 1, 0.5 } } },
    /* Equal work is paired in time order: 60 and 40 of 100 against 50 and 50. */
    { "equal steps cut at another place",
      { { EXP, "a", 1, 0, 2, 60 }, { EXP, "b", 1, 0, 3, 40 } },
      { { EXP, "x", 1, 0, 2, 50 }, { EXP, "y", 1, 0, 3, 50 } },
      { { "a", "x", NTK_WORK_SPLIT, 50.0 / 60, 1 },
        { "a", "y", NTK_WORK_MIXED, 10.0 / 60, 0.2 },
        { "b", "y", NTK_WORK_FUSED, 1, 0.8 } } },
};

/* ---- programs ---- */

static struct ntk_isa_operand block(unsigned number, uint32_t columns, enum ntk_dtype dtype)
{
    return ntk_isa_sbuf((uint64_t)number * 1024, 128, columns, dtype);
}

static struct ntk_isa_instr transfer(const struct step *step)
{
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    bool is_load = step->act == LOAD;
    struct ntk_isa_operand tile = block(is_load ? step->to : step->from, 128, NTK_DTYPE_BFLOAT16);
    struct ntk_isa_operand tensor = ntk_isa_var(step->at, 0, 128, 128, 128, NTK_DTYPE_BFLOAT16);

    copy.done_semaphore = 20;
    copy.done_value = 1;
    copy.operand[NTK_ISA_DST] = is_load ? tile : tensor;
    copy.operand[NTK_ISA_SRC0] = is_load ? tensor : tile;
    return copy;
}

static struct ntk_isa_instr instruction(const struct step *step, unsigned *out_engine)
{
    enum ntk_dtype dtype = step->is_fp32 ? NTK_DTYPE_FLOAT32 : NTK_DTYPE_BFLOAT16;
    struct ntk_isa_instr instr;

    switch (step->act) {
    case LOAD:
    case STORE:
        *out_engine = NTK_ISA_ENGINE_SP;
        return transfer(step);
    case MUL:
        *out_engine = NTK_ISA_ENGINE_PE;
        instr = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
        instr.operand[NTK_ISA_DST] =
            ntk_isa_psum(0, step->is_small ? 64 : 128, 128, NTK_DTYPE_FLOAT32);
        instr.operand[NTK_ISA_SRC0] = block(step->from, step->is_small ? 64 : 128, dtype);
        instr.operand[NTK_ISA_SRC1] = block(step->at, 128, dtype);
        return instr;
    case EXP:
        *out_engine = NTK_ISA_ENGINE_ACT;
        instr = ntk_isa_instr_make(NTK_ISA_OP_ACTIVATION);
        instr.act = NTK_ISA_ACT_EXP;
        break;
    case ADD:
        *out_engine = NTK_ISA_ENGINE_DVE;
        instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);
        instr.op0 = NTK_ISA_ALU_ADD;
        instr.operand[NTK_ISA_SRC1] = block(step->at, 128, dtype);
        break;
    default:
        *out_engine = NTK_ISA_ENGINE_DVE;
        instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);
        break;
    }
    instr.operand[NTK_ISA_DST] = block(step->to, 128, dtype);
    instr.operand[NTK_ISA_SRC0] = block(step->from, 128, dtype);
    return instr;
}

/* The product is in PSUM: one copy takes it to the block of the step. */
static void run(struct hand_trace *h, const struct step *step, int64_t *at_ns)
{
    unsigned engine;
    struct ntk_isa_instr instr = instruction(step, &engine);

    instr.name_id = hand_trace_name(h, 0, engine, step->layer);
    hand_trace_run(h, 0, engine, hand_trace_open(h, 0, engine, &instr), *at_ns, *at_ns + step->ns);
    *at_ns += step->ns;
    if (step->act == MUL) {
        struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);
        copy.operand[NTK_ISA_DST] = block(step->to, 128, NTK_DTYPE_BFLOAT16);
        copy.operand[NTK_ISA_SRC0] = ntk_isa_psum(0, 128, 128, NTK_DTYPE_FLOAT32);
        copy.name_id = hand_trace_name(h, 0, NTK_ISA_ENGINE_DVE, step->layer);
        hand_trace_run(h, 0, NTK_ISA_ENGINE_DVE, hand_trace_open(h, 0, NTK_ISA_ENGINE_DVE, &copy),
                       *at_ns - 1, *at_ns - 1);
    }
}

static void units_of(const struct step *steps, struct ntk_work_units *out_units)
{
    static struct ntk_neff_var vars[TENSORS] = {
        { .name = "SB", .type = NTK_NEFF_VAR_STATE_BUFFER },
        { .name = "q", .type = NTK_NEFF_VAR_INPUT, .var_id = Q, .bytes_count = 32768 },
        { .name = "k", .type = NTK_NEFF_VAR_INPUT, .var_id = K, .bytes_count = 32768 },
        { .name = "s", .type = NTK_NEFF_VAR_TMP_BUF, .var_id = S, .bytes_count = 32768 },
        { .name = "o", .type = NTK_NEFF_VAR_OUTPUT, .var_id = O, .bytes_count = 32768 },
    };
    struct ntk_program *program = NULL;
    struct ntk_regions regions;
    struct hand_trace h;
    int64_t at_ns = 0;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 10000);
    h.neff_subgraphs[0].vars = vars;
    h.neff_subgraphs[0].var_count = TENSORS;
    hand_trace_queue(&h, 0, "qSPIO0", 20);
    for (size_t i = 0; i < STEPS_MAX && steps[i].act != END; i++) {
        run(&h, &steps[i], &at_ns);
    }
    hand_trace_end(&h);
    assert_int_equal(ntk_program_create(&h.trace, &program), 0);
    assert_int_equal(ntk_analysis_regions(program, &regions), 0);
    assert_int_equal(ntk_work_units_init(out_units, program, &regions), 0);
    ntk_regions_fini(&regions);
    ntk_program_destroy(program);
    hand_trace_fini(&h);
}

/* ---- answers ---- */

static const char *name_of(const struct ntk_work_units *units, uint32_t unit)
{
    return unit == NTK_WORK_NO_UNIT
               ? NULL
               : ((const struct ntk_work_unit *)ntk_vec_at(&units->units, unit))->name;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_link(const struct pair *pair, const struct link *wanted,
                       const struct ntk_output_matched *matched)
{
    for (size_t i = 0; i < matched->match->link_count; i++) {
        const struct ntk_work_link *link = &matched->match->links[i];
        if (is_same(name_of(matched->before, link->before), wanted->before) &&
            is_same(name_of(matched->after, link->after), wanted->after)) {
            assert_string_equal(ntk_work_relation_name(link->relation),
                                ntk_work_relation_name(wanted->relation));
            assert_true(fabs(link->before_ratio - wanted->before_ratio) < 1e-6);
            assert_true(fabs(link->after_ratio - wanted->after_ratio) < 1e-6);
            return;
        }
    }
    fail_msg("%s: no link from %s to %s", pair->title, wanted->before ? wanted->before : "-",
             wanted->after ? wanted->after : "-");
}

static void corresponding_parts_of_two_programs_are_found(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        struct ntk_work_units units[2];
        struct ntk_work_match match;
        size_t wanted = 0;

        print_message("%s\n", pairs[p].title);
        units_of(pairs[p].before, &units[0]);
        units_of(pairs[p].after, &units[1]);
        assert_int_equal(ntk_analysis_work_match(&units[0], &units[1], &match), 0);
        struct ntk_output_matched matched = { &units[0], &units[1], &match };
        for (;
             wanted < LINKS_MAX && (pairs[p].links[wanted].before || pairs[p].links[wanted].after);
             wanted++) {
            check_link(&pairs[p], &pairs[p].links[wanted], &matched);
        }
        assert_int_equal(match.link_count, wanted);
        ntk_work_match_fini(&match);
        ntk_work_units_fini(&units[0]);
        ntk_work_units_fini(&units[1]);
    }
}

/* The links of a unit cover all of its time, or it has no links. */
static void corresponding_parts_are_equal_if_the_programs_are_swapped(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        struct ntk_work_units units[2];
        struct ntk_work_match there;
        struct ntk_work_match back;

        units_of(pairs[p].before, &units[0]);
        units_of(pairs[p].after, &units[1]);
        assert_int_equal(ntk_analysis_work_match(&units[0], &units[1], &there), 0);
        assert_int_equal(ntk_analysis_work_match(&units[1], &units[0], &back), 0);
        assert_int_equal(there.link_count, back.link_count);
        for (size_t i = 0; i < there.link_count; i++) {
            bool is_found = false;
            for (size_t j = 0; j < back.link_count && !is_found; j++) {
                is_found = back.links[j].before == there.links[i].after &&
                           back.links[j].after == there.links[i].before &&
                           fabs(back.links[j].before_ratio - there.links[i].after_ratio) < 1e-9;
            }
            assert_true(is_found);
        }
        ntk_work_match_fini(&there);
        ntk_work_match_fini(&back);
        ntk_work_units_fini(&units[0]);
        ntk_work_units_fini(&units[1]);
    }
}

static void comparison_text_names_the_corresponding_parts(void **state)
{
    struct ntk_work_units units[2];
    struct ntk_work_match match;
    struct ntk_buf text = { 0 };

    (void)state;
    units_of(pairs[1].before, &units[0]);
    units_of(pairs[1].after, &units[1]);
    assert_int_equal(ntk_analysis_work_match(&units[0], &units[1], &match), 0);
    struct ntk_output_matched matched = { &units[0], &units[1], &match };
    assert_true(ntk_output_matched_add(&matched, "a", false, &text));
    ntk_buf_add_text(&text, "; ");
    assert_true(ntk_output_matched_add(&matched, "ab", true, &text));
    assert_false(ntk_output_matched_add(&matched, "a", true, &text));
    assert_string_equal(ntk_buf_text_get(&text), "became ab; from a, b");
    ntk_buf_fini(&text);
    ntk_work_match_fini(&match);
    /* A program and itself: the match adds nothing to the names. */
    assert_int_equal(ntk_analysis_work_match(&units[0], &units[0], &match), 0);
    assert_false(ntk_work_match_tells(&units[0], &units[0], &match));
    ntk_work_match_fini(&match);
    ntk_work_units_fini(&units[0]);
    ntk_work_units_fini(&units[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corresponding_parts_of_two_programs_are_found),
        cmocka_unit_test(corresponding_parts_are_equal_if_the_programs_are_swapped),
        cmocka_unit_test(comparison_text_names_the_corresponding_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
