/* SPDX-License-Identifier: MIT */
/*
 * Method: a product of 40 ns into bank 1 of PSUM, copied out 100 ns later: the counters are known,
 * and their rows must show them. Nothing moves by DMA, so rows of device memory are absent.
 */
#include <math.h>
#include <string.h>

#include "profiler/timeline/timeline_answer.h"
#include "profiler/timeline/timeline_pyramid.h"
#include "tests/profiler/timeline/hand_timeline.h"
#include "tests/support/unit.h"

#define COLUMNS 64          /* less than 40 ns of work at the peak */
#define BYTES (COLUMNS * 4) /* of a product in a partition */
#define FLOPS (2.0 * 128 * 128 * COLUMNS)

static void run(struct hand_trace *h, unsigned engine, const struct ntk_isa_instr *instr,
                int64_t start_ns, int64_t end_ns)
{
    hand_trace_run(h, 0, engine, hand_trace_open(h, 0, engine, instr), start_ns, end_ns);
}

static void begin(struct hand_timeline *t)
{
    struct ntk_isa_instr product = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

    hand_trace_begin(&t->h, 1, "trn2.3xlarge", 1000);
    product.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_BFLOAT16);
    product.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(8192, 128, COLUMNS, NTK_DTYPE_BFLOAT16);
    product.operand[NTK_ISA_DST] = ntk_isa_psum(2048, 128, COLUMNS, NTK_DTYPE_FLOAT32);
    copy.operand[NTK_ISA_SRC0] = product.operand[NTK_ISA_DST];
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(16384, 128, COLUMNS, NTK_DTYPE_BFLOAT16);
    run(&t->h, NTK_ISA_ENGINE_PE, &product, 400, 440);
    run(&t->h, NTK_ISA_ENGINE_DVE, &copy, 500, 540);
}

/* NULL: absent. */
static const struct ntk_timeline_track *find(const struct ntk_timeline *timeline, const char *name,
                                             uint32_t *out_index)
{
    for (uint32_t t = 0; t < timeline->tracks.count; t++) {
        const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
        if (strcmp(track->name, name) == 0) {
            *out_index = t;
            return track;
        }
    }
    return NULL;
}

static double value_of(const struct ntk_timeline_track *track, size_t slice)
{
    return ntk_timeline_slice_value(track, &track->slices[slice]) * track->scale;
}

static void counter_rows_have_the_counter_values(void **state)
{
    struct hand_timeline t;
    uint32_t index = 0;

    (void)state;
    begin(&t);
    hand_timeline_open(&t, 100); /* shifts all times by -100 ns */
    const struct ntk_timeline_track *psum = find(t.timeline, "PSUM live", &index);
    assert_non_null(psum);
    assert_string_equal(psum->unit, "B");
    assert_true(psum->scale == 1);
    assert_int_equal(psum->slice_count, 2);
    assert_int_equal(psum->slices[0].start_ps, NS(340));
    assert_int_equal(psum->slices[0].end_ps, NS(440));
    assert_true(value_of(psum, 0) == BYTES);
    assert_int_equal(psum->slices[1].end_ps, NS(900)); /* 0 from there to the end */
    assert_true(value_of(psum, 1) == 0);
    assert_int_equal(psum->value_max, BYTES);

    const struct ntk_timeline_track *mfu = find(t.timeline, "MFU", &index);
    double wanted = 100 * FLOPS / 40e-9 / t.h.trace.chip.core_flops_per_second;
    assert_non_null(mfu);
    assert_string_equal(mfu->unit, "%");
    assert_true(fabs(value_of(mfu, 0) - wanted) < 1e-8 * wanted);
    assert_true(fabs(mfu->value_max * mfu->scale - wanted) < 1e-8 * wanted);
    hand_timeline_close(&t);
}

static void memory_bank_rows_are_in_a_collapsed_group_below_the_counters(void **state)
{
    struct hand_timeline t;
    uint32_t index = 0;

    (void)state;
    begin(&t);
    hand_timeline_open(&t, 0);
    const struct ntk_timeline_track *bank = find(t.timeline, "PSUM bank 1 live", &index);
    assert_non_null(bank);
    const struct ntk_timeline_group *banks = ntk_vec_at(&t.timeline->groups, bank->group);
    const struct ntk_timeline_group *counters = ntk_vec_at(&t.timeline->groups, banks->parent);
    assert_string_equal(banks->name, "PSUM banks");
    assert_true(banks->is_folded);
    assert_string_equal(counters->name, "Counters");
    assert_false(counters->is_folded);
    hand_timeline_close(&t);
}

static void counters_missing_from_the_capture_have_no_row(void **state)
{
    static const char *const absent[] = { "HBM read", "HBM written", "Pending DMA",
                                          "PSUM bank 0 live", "SBUF live" };
    struct hand_timeline t;
    uint32_t index = 0;

    (void)state;
    begin(&t);
    hand_timeline_open(&t, 0);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        assert_null(find(t.timeline, absent[i], &index));
    }
    hand_timeline_close(&t);
}

static void counters_do_not_count_as_events_of_the_capture(void **state)
{
    struct hand_timeline t;
    struct ntk_buf out = { 0 };

    (void)state;
    begin(&t);
    hand_timeline_open(&t, 0);
    ntk_timeline_put_meta(t.timeline, "one", &out);
    json_t *meta = json_of(&out);
    assert_int_equal(number(meta, "slices"), 2);
    json_decref(meta);
    hand_timeline_close(&t);
}

static void counter_metadata_has_unit_scale_and_meaning(void **state)
{
    struct hand_timeline t;
    struct ntk_buf out = { 0 };
    uint32_t index = 0;

    (void)state;
    begin(&t);
    hand_timeline_open(&t, 0);
    assert_non_null(find(t.timeline, "PSUM live", &index));
    ntk_timeline_put_meta(t.timeline, "one", &out);
    json_t *meta = json_of(&out);
    const json_t *track = json_array_get(json_object_get(meta, "tracks"), index);
    assert_string_equal(text(track, "kind"), "counter");
    assert_string_equal(text(track, "unit"), "B");
    assert_non_null(text(track, "help"));
    assert_true(json_number_value(json_object_get(track, "scale")) == 1);
    json_decref(meta);

    assert_int_equal(ntk_timeline_put_slice(t.timeline, index, 0, &out, NULL), 0);
    json_t *slice = json_of(&out);
    const json_t *groups = json_object_get(slice, "groups");
    const json_t *rows = json_object_get(json_array_get(groups, 1), "rows");
    assert_string_equal(text(json_array_get(groups, 1), "title"), "Value");
    assert_string_equal(text(json_array_get(rows, 0), "name"), "Bytes");
    assert_true(json_number_value(json_object_get(json_array_get(rows, 0), "value")) == BYTES);
    assert_string_equal(text(json_array_get(rows, 1), "name"), "Meaning");
    json_decref(slice);
    hand_timeline_close(&t);
}

/* Buckets of any width: mean times width adds up to the same. */
static void buckets_keep_the_sum_of_a_counter(void **state)
{
    struct hand_timeline t;
    uint32_t index = 0;

    (void)state;
    begin(&t);
    hand_timeline_open(&t, 0);
    const struct ntk_timeline_track *mfu = find(t.timeline, "MFU", &index);
    assert_non_null(mfu);
    unsigned top = ntk_timeline_level_top(t.timeline->end_ps - t.timeline->begin_ps);
    for (unsigned level = top - 3; level <= top; level++) {
        double sum = 0;
        for (uint64_t tile = 0; tile << (level + NTK_TIMELINE_TILE_SHIFT) <=
                                (uint64_t)(t.timeline->end_ps - t.timeline->begin_ps);
             tile++) {
            struct ntk_timeline_node nodes[NTK_TIMELINE_TILE_BUCKETS];
            ntk_timeline_pyramid_read(mfu, t.timeline->begin_ps, level, tile, nodes);
            for (size_t i = 0; i < NTK_TIMELINE_TILE_BUCKETS; i++) {
                sum += nodes[i].busy_ps;
            }
        }
        double flops = sum * mfu->scale * 1e-12 / 100 * t.h.trace.chip.core_flops_per_second;
        assert_true(fabs(flops - FLOPS) < 1e-4 * FLOPS);
    }
    hand_timeline_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_rows_have_the_counter_values),
        cmocka_unit_test(memory_bank_rows_are_in_a_collapsed_group_below_the_counters),
        cmocka_unit_test(counters_missing_from_the_capture_have_no_row),
        cmocka_unit_test(counters_do_not_count_as_events_of_the_capture),
        cmocka_unit_test(counter_metadata_has_unit_scale_and_meaning),
        cmocka_unit_test(buckets_keep_the_sum_of_a_counter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
