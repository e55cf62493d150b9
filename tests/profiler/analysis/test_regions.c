/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made traces with loops, layers and unrolled iterations of known length, some of them
 * slow; counts, medians and outliers are known by construction.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/regions.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define NS(ns) ((int64_t)(ns)*NTK_TRACE_PS_PER_NS)

struct found {
    struct ntk_program *program;
    struct ntk_regions regions;
};

static void find(struct hand_trace *h, struct found *f)
{
    memset(f, 0, sizeof *f);
    hand_trace_end(h);
    assert_int_equal(ntk_program_create(&h->trace, &f->program), 0);
    assert_int_equal(ntk_analysis_regions(f->program, &f->regions), 0);
}

static void done(struct hand_trace *h, struct found *f)
{
    ntk_regions_fini(&f->regions);
    ntk_program_destroy(f->program);
    hand_trace_fini(h);
}

static const struct ntk_region *region(const struct found *f, enum ntk_region_kind kind,
                                       const char *name)
{
    for (size_t i = 0; i < f->regions.region_count; i++) {
        const struct ntk_region *one = &f->regions.regions[i];
        if (one->kind == kind && strcmp(one->name, name) == 0) {
            return one;
        }
    }
    fail_msg("no %s %s", ntk_region_kind_name(kind), name);
    return NULL;
}

static uint32_t operation(struct hand_trace *h, unsigned engine, enum ntk_isa_op op,
                          const char *name)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(op);

    if (op == NTK_ISA_OP_TENSOR_COPY) {
        instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 128, 16, NTK_DTYPE_BFLOAT16);
        instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(512, 128, 16, NTK_DTYPE_BFLOAT16);
    }
    if (name) {
        instr.name_id = hand_trace_name(h, 0, engine, name);
    }
    return hand_trace_open(h, 0, engine, &instr);
}

/* Two slots, ten times: 10 ns and 20 ns, in the seventh time 10 and 170. */
static void a_loop_region_has_count_median_and_slowest_iteration(void **state)
{
    struct hand_trace h;
    struct found f;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t before = operation(&h, NTK_ISA_ENGINE_ACT, NTK_ISA_OP_NOP, NULL);
    uint32_t one = operation(&h, NTK_ISA_ENGINE_ACT, NTK_ISA_OP_NOP, NULL);
    uint32_t two = operation(&h, NTK_ISA_ENGINE_ACT, NTK_ISA_OP_TENSOR_COPY, NULL);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, before, 0, 5);
    int64_t at = 10;
    int64_t slow = 0;
    for (int i = 0; i < 10; i++) {
        slow = i == 6 ? at : slow;
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, one, at, at + 10);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, two, at + 10, at + (i == 6 ? 180 : 30));
        at += i == 6 ? 185 : 35;
    }
    find(&h, &f);

    assert_int_equal(f.regions.region_count, 1);
    const struct ntk_region *loop = &f.regions.regions[0];
    assert_int_equal(loop->kind, NTK_REGION_LOOP);
    assert_int_equal(loop->engine, NTK_ISA_ENGINE_ACT);
    assert_int_equal(loop->count, 10);
    assert_int_equal(loop->instruction_count, 20);
    assert_int_equal(loop->median_ps, NS(30));
    assert_int_equal(loop->worst_ps, NS(180));
    assert_int_equal(loop->worst, 6);
    assert_int_equal(loop->total_ps, NS(9 * 30 + 180));
    assert_int_equal(loop->outlier_count, 1);
    assert_int_equal(loop->outliers[0].index, 6);
    assert_int_equal(loop->outliers[0].start_ps, NS(slow));
    assert_true(ntk_region_share(&h.trace, loop) > 0.4499 &&
                ntk_region_share(&h.trace, loop) < 0.4501);
    done(&h, &f);
}

/* A loop of a NOP and a copy after a start: the number of iterations, the ns of both, and the extra
 * ns of the copy in one iteration. */
static const struct {
    const char *what;
    unsigned count;
    int64_t one_ns, two_ns;
    unsigned slow;
    int64_t more_ns;
    uint64_t outlier_count;
} loops[] = {
    { "three", 3, 10, 20, 0, 0, 0 },
    { "ten that are even", 10, 10, 20, 0, 0, 0 },
    { "a slow first", 10, 10, 20, 0, 100, 1 },
    { "a slow last", 10, 10, 20, 9, 100, 1 },
    { "a slow one in the middle", 11, 10, 20, 5, 200, 1 },
    { "one that is twice as long", 10, 10, 20, 4, 30, 1 },
    { "short ones", 20, 1, 1, 0, 0, 0 },
    { "a long first half", 8, 40, 5, 0, 0, 0 },
    { "a long second half", 8, 5, 40, 0, 0, 0 },
    { "many", 30, 5, 10, 20, 150, 1 },
};

static void each_loop_region_has_count_times_and_outliers(void **state)
{
    for (size_t l = 0; l < sizeof loops / sizeof *loops; l++) {
        int64_t usual_ns = loops[l].one_ns + loops[l].two_ns;
        struct hand_trace h;
        struct found f;
        int64_t at = 10;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        uint32_t before = operation(&h, NTK_ISA_ENGINE_ACT, NTK_ISA_OP_NOP, NULL);
        uint32_t one = operation(&h, NTK_ISA_ENGINE_ACT, NTK_ISA_OP_NOP, NULL);
        uint32_t two = operation(&h, NTK_ISA_ENGINE_ACT, NTK_ISA_OP_TENSOR_COPY, NULL);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, before, 0, 5);
        for (unsigned i = 0; i < loops[l].count; i++) {
            int64_t two_ns = loops[l].two_ns + (i == loops[l].slow ? loops[l].more_ns : 0);
            hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, one, at, at + loops[l].one_ns);
            hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, two, at + loops[l].one_ns,
                           at + loops[l].one_ns + two_ns);
            at += loops[l].one_ns + two_ns + 2;
        }
        find(&h, &f);
        const struct ntk_region *loop = &f.regions.regions[0];
        if (f.regions.region_count != 1 || loop->count != loops[l].count ||
            loop->median_ps != NS(usual_ns) || loop->worst_ps != NS(usual_ns + loops[l].more_ns) ||
            loop->total_ps != NS(loops[l].count * usual_ns + loops[l].more_ns) ||
            loop->outlier_count != loops[l].outlier_count) {
            fail_msg("%s: %zu regions", loops[l].what, f.regions.region_count);
        }
        if (loops[l].more_ns) {
            assert_int_equal(loop->worst, loops[l].slow);
        }
        done(&h, &f);
    }
}

/* Four iterations of 30 ns, each started 10 ns after the previous one: 120 ns together, 60 in
 * total. */
static void the_share_of_overlapping_iterations_counts_their_time_once(void **state)
{
    struct hand_trace h;
    struct found f;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t slot = operation(&h, NTK_ISA_ENGINE_DVE, NTK_ISA_OP_TENSOR_COPY, NULL);
    for (int i = 0; i < 4; i++) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, slot, 100 + 10 * i, 130 + 10 * i);
    }
    find(&h, &f);

    const struct ntk_region *loop = &f.regions.regions[0];
    assert_int_equal(loop->count, 4);
    assert_int_equal(loop->total_ps, NS(120));
    assert_int_equal(loop->covered_ps, NS(60));
    assert_true(ntk_region_share(&h.trace, loop) > 0.0599 &&
                ntk_region_share(&h.trace, loop) < 0.0601);
    done(&h, &f);
}

/* A slot, then an inner loop of 3, 4, 3, 4 and 3 iterations, five times. */
static void nested_loops_are_nested_regions(void **state)
{
    struct hand_trace h;
    struct found f;
    int64_t at = 0;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t head = operation(&h, NTK_ISA_ENGINE_DVE, NTK_ISA_OP_TENSOR_COPY, NULL);
    uint32_t inner = operation(&h, NTK_ISA_ENGINE_DVE, NTK_ISA_OP_NOP, NULL);
    for (int i = 0; i < 5; i++, at += 20) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, head, at, at + 5);
        for (int k = 0; k < 3 + i % 2; k++) {
            at += 10;
            hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, inner, at, at + 6);
        }
    }
    find(&h, &f);

    assert_int_equal(f.regions.region_count, 2);
    const struct ntk_region *outer = &f.regions.regions[0];
    const struct ntk_region *inside = &f.regions.regions[1];
    assert_int_equal(outer->count, 5);
    assert_int_equal(outer->depth, 0);
    assert_int_equal(outer->median_ps, NS(36));
    assert_int_equal(inside->count, 17);
    assert_int_equal(inside->parent, 0);
    assert_int_equal(inside->depth, 1);
    assert_int_equal(inside->median_ps, NS(6));
    assert_int_equal(inside->outlier_count, 0);
    done(&h, &f);
}

/* Eight layers of three operations each on two engines, every slot once; layer 5 takes longer. */
static void layers_and_unrolled_iterations_are_found_by_name(void **state)
{
    struct hand_trace h;
    struct found f;
    int64_t at = 0;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 2000);
    for (int i = 0; i < 8; i++) {
        static char names[8][2][32];
        int64_t more = i == 5 ? 100 : 0;
        snprintf(names[i][0], sizeof names[i][0], "layer%d/up", i);
        snprintf(names[i][1], sizeof names[i][1], "layer%d/down", i);
        uint32_t up = operation(&h, NTK_ISA_ENGINE_ACT, NTK_ISA_OP_NOP, names[i][0]);
        uint32_t copy = operation(&h, NTK_ISA_ENGINE_ACT, NTK_ISA_OP_TENSOR_COPY, names[i][0]);
        uint32_t down = operation(&h, NTK_ISA_ENGINE_DVE, NTK_ISA_OP_TENSOR_COPY, names[i][1]);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, up, at, at + 20);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, copy, at + 20, at + 40);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, down, at + 50, at + 80 + more);
        at += 100 + more;
    }
    find(&h, &f);

    const struct ntk_region *layer = region(&f, NTK_REGION_LAYER, "layer#");
    assert_int_equal(layer->engine, NTK_NTFF_ENGINE_COUNT);
    assert_int_equal(layer->count, 8);
    assert_int_equal(layer->median_ps, NS(80));
    assert_int_equal(layer->worst_ps, NS(180));
    assert_int_equal(layer->outlier_count, 1);
    assert_int_equal(layer->outliers[0].index, 5);
    assert_int_equal(layer->instruction_count, 24);
    const struct ntk_region *up = region(&f, NTK_REGION_LAYER, "layer#/up");
    assert_int_equal(up->count, 8);
    assert_int_equal(up->median_ps, NS(40));
    assert_ptr_equal(&f.regions.regions[up->parent], layer);
    const struct ntk_region *iteration = region(&f, NTK_REGION_ITERATION, "layer#/up");
    assert_int_equal(iteration->engine, NTK_ISA_ENGINE_ACT);
    assert_int_equal(iteration->count, 8);
    assert_int_equal(iteration->median_ps, NS(40));
    assert_string_equal(iteration->key, "NC 0 scalar iteration layer#/up");
    done(&h, &f);
}

static void a_collective_is_found_by_its_name(void **state)
{
    struct hand_trace h;
    struct found f;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t other = operation(&h, NTK_ISA_ENGINE_SP, NTK_ISA_OP_NOP, "mlp");
    uint32_t reduce = operation(&h, NTK_ISA_ENGINE_SP, NTK_ISA_OP_NOP, "mlp/All-Reduce.1");
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, other, 0, 10);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, reduce, 20, 50);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, other, 60, 70);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, reduce, 80, 120);
    find(&h, &f);

    const struct ntk_region *all_reduce = region(&f, NTK_REGION_COLLECTIVE, "all_reduce");
    assert_int_equal(all_reduce->count, 2);
    assert_int_equal(all_reduce->total_ps, NS(70));
    assert_int_equal(all_reduce->worst, 1);
    done(&h, &f);
}

static void a_program_without_repetitions_has_no_regions(void **state)
{
    struct hand_trace h;
    struct found f;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 100);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT,
                   operation(&h, NTK_ISA_ENGINE_ACT, NTK_ISA_OP_NOP, NULL), 0, 10);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT,
                   operation(&h, NTK_ISA_ENGINE_ACT, NTK_ISA_OP_TENSOR_COPY, NULL), 10, 20);
    find(&h, &f);

    assert_int_equal(f.regions.region_count, 0);
    assert_int_equal(f.regions.instances.count, 0);
    done(&h, &f);
}

static void an_empty_trace_has_no_regions(void **state)
{
    struct hand_trace h;
    struct found f;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 0);
    find(&h, &f);

    assert_int_equal(f.regions.region_count, 0);
    done(&h, &f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_region_has_count_median_and_slowest_iteration),
        cmocka_unit_test(each_loop_region_has_count_times_and_outliers),
        cmocka_unit_test(the_share_of_overlapping_iterations_counts_their_time_once),
        cmocka_unit_test(nested_loops_are_nested_regions),
        cmocka_unit_test(layers_and_unrolled_iterations_are_found_by_name),
        cmocka_unit_test(a_collective_is_found_by_its_name),
        cmocka_unit_test(a_program_without_repetitions_has_no_regions),
        cmocka_unit_test(an_empty_trace_has_no_regions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
