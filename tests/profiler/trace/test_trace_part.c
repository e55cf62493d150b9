/* SPDX-License-Identifier: MIT */
/* Method: the capture of support/ntff_sample.h with its known spans, cut into windows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/ntff_sample.h"
#include "tests/support/unit.h"

#include "profiler/trace/trace.h"

#define US INT64_C(1000000) /* ps */
#define TOTAL (100 * US)

struct opened {
    struct ntk_buf file;
    struct ntk_ntff *ntff;
    struct ntk_trace *trace;
    int ret;
    struct ntk_err err;
};

static struct opened open_cores(int64_t from_ps, int64_t to_ps, const uint32_t *cores, size_t count)
{
    struct opened o = { 0 };
    struct ntff_sample sample = { .version = 6 };
    struct ntk_trace_options options = {
        .part = { .from_ps = from_ps, .to_ps = to_ps, .cores = cores, .core_count = count },
    };

    ntff_sample_build(&sample, &o.file);
    assert_int_equal(ntk_ntff_open_bytes(o.file.bytes, o.file.bytes_count, &o.ntff, NULL), 0);
    o.ret = ntk_trace_create(o.ntff, NULL, &options, &o.trace, &o.err);
    return o;
}

static struct opened open_part(int64_t from_ps, int64_t to_ps)
{
    return open_cores(from_ps, to_ps, NULL, 0);
}

static void close_part(struct opened *o)
{
    ntk_trace_destroy(o->trace);
    ntk_ntff_close(o->ntff);
    ntk_buf_fini(&o->file);
}

static void rows_that_overlap_the_window_are_clipped_and_count_from_its_start(void **state)
{
    static const struct ntk_trace_instruction expected[] = {
        { 0, 5 * US, 1, 0, 0, 0, NTK_NTFF_ENGINE_TENSOR, 0x02 }, /* it waited before the window */
        { 0, 15 * US, 2, 0, 0, 0, NTK_NTFF_ENGINE_TENSOR, 0x02 },
        { 15 * US, 28 * US, 3, 0, 0, 0, NTK_NTFF_ENGINE_TENSOR, 0xa0 },
        { 25 * US, 26 * US, 1, 0, 0, 0, NTK_NTFF_ENGINE_GPSIMD, 0xb8 },
    };
    struct opened o = open_part(25 * US, 53 * US);

    assert_int_equal(o.ret, 0);
    const struct ntk_trace_core *core = &o.trace->cores[0];
    assert_true(o.trace->is_part && o.trace->has_total);
    assert_int_equal(o.trace->total_ps, 28 * US);
    assert_int_equal(o.trace->part.from_ps, 25 * US);
    assert_int_equal(o.trace->part.to_ps, 53 * US);
    assert_int_equal(o.trace->part.total_ps, TOTAL);
    assert_int_equal(core->end_ps, 28 * US);
    assert_int_equal(core->instruction_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct ntk_trace_instruction *row = &core->instructions[i];
        assert_int_equal(row->start_ps, expected[i].start_ps);
        assert_int_equal(row->end_ps, expected[i].end_ps);
        assert_int_equal(row->slot, expected[i].slot);
        assert_int_equal(row->wait_cycles, expected[i].wait_cycles);
        assert_int_equal(row->engine, expected[i].engine);
    }
    assert_int_equal(core->slot_counts[NTK_NTFF_ENGINE_TENSOR][1], 1);
    assert_int_equal(core->slot_counts[NTK_NTFF_ENGINE_TENSOR][0], 0);
    /* Half of a packet of 2 us is there, so half of its bytes. */
    assert_int_equal(core->packet_count, 1);
    assert_int_equal(core->packets[0].start_ps, 27 * US);
    assert_int_equal(core->packets[0].end_ps, 28 * US);
    assert_int_equal(core->packets[0].bytes_count, 128);
    /* The limit in force when the window began. */
    assert_int_equal(core->event_count, 0);
    assert_true(core->throttle_count >= 1);
    assert_int_equal(core->throttles[0].time_ps, 0);
    assert_int_equal(core->throttles[0].type, 0);
    assert_int_equal(core->throttles[0].k, 8);
    close_part(&o);
}

struct sums {
    size_t instructions, crossing, packets, packets_crossing, events;
    int64_t busy_ps, packet_ps;
    uint64_t bytes, waited;
};

/* A row that started before the window is not counted again. */
static void add(struct sums *sums, int64_t from_ps, int64_t to_ps)
{
    struct opened o = open_part(from_ps, to_ps);

    assert_int_equal(o.ret, 0);
    const struct ntk_trace_core *core = &o.trace->cores[0];
    ntk_trace_each_instruction(core, row) {
        sums->busy_ps += row->end_ps - row->start_ps;
        sums->waited += row->wait_cycles;
        sums->instructions++;
        assert_true(row->start_ps >= 0 && row->end_ps <= o.trace->total_ps);
    }
    ntk_trace_each_packet(core, row) {
        sums->packet_ps += row->end_ps - row->start_ps;
        sums->bytes += row->bytes_count;
        sums->packets++;
    }
    sums->events += core->event_count;
    close_part(&o);
}

/* Counts the rows of the whole execution that continue across at_ps. */
static void crossing(const struct ntk_trace_core *core, int64_t at_ps, struct sums *sums)
{
    ntk_trace_each_instruction(core, row) {
        sums->crossing += row->start_ps < at_ps && row->end_ps > at_ps;
    }
    ntk_trace_each_packet(core, row) {
        sums->packets_crossing += row->start_ps < at_ps && row->end_ps > at_ps;
    }
}

static void each_row_is_in_exactly_one_of_adjacent_windows(void **state)
{
    static const int64_t cuts[] = { 1,           1 * US,       2 * US,   5 * US - 1, 5 * US + 3,
                                    20 * US + 7, 30 * US,      40 * US,  50 * US,    53 * US + 1,
                                    90 * US,     99999 * 1000, TOTAL - 1 };
    struct opened whole = open_part(0, 0);
    const size_t count = sizeof cuts / sizeof *cuts;

    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j <= count; j++) {
            int64_t end_ps = j < count ? cuts[j] : 0; /* to the end */
            for (size_t from = 0; from <= i; from++) {
                int64_t from_ps = from == i ? 0 : cuts[from];
                struct sums all = { 0 };
                struct sums two = { 0 };
                add(&all, from_ps, end_ps);
                add(&two, from_ps, cuts[i]);
                add(&two, cuts[i], end_ps);
                crossing(&whole.trace->cores[0], cuts[i], &two);
                assert_int_equal(two.instructions - two.crossing, all.instructions);
                assert_int_equal(two.packets - two.packets_crossing, all.packets);
                assert_int_equal(two.events, all.events);
                assert_int_equal(two.busy_ps, all.busy_ps);
                assert_int_equal(two.packet_ps, all.packet_ps);
                assert_int_equal(two.bytes, all.bytes);
                assert_int_equal(two.waited, all.waited);
            }
        }
    }
    close_part(&whole);
}

static void a_window_over_the_whole_trace_is_not_marked_as_partial(void **state)
{
    struct opened whole = open_part(0, 0);
    struct opened same = open_part(0, TOTAL);

    assert_false(whole.trace->is_part);
    assert_false(same.trace->is_part);
    assert_int_equal(same.trace->cores[0].instruction_count,
                     whole.trace->cores[0].instruction_count);
    assert_int_equal(same.trace->total_ps, TOTAL);
    close_part(&same);
    close_part(&whole);
}

static void an_empty_window_and_an_unknown_core_are_rejected(void **state)
{
    const uint32_t other = 5;
    struct opened late = open_part(TOTAL, 0);
    struct opened unknown = open_cores(0, 0, &other, 1);

    assert_int_equal(late.ret, -ERANGE);
    assert_string_equal(late.err.text,
                        "the execution has already ended at 100us: it takes only 100us");
    assert_null(late.trace);
    assert_int_equal(unknown.ret, -ENOENT);
    assert_string_equal(unknown.err.text, "unknown core: the capture has 4");
    close_part(&late);
    close_part(&unknown);
}

static void selecting_the_only_core_keeps_the_whole_trace(void **state)
{
    const uint32_t four[] = { 9, 4 };
    struct opened o = open_cores(0, 0, four, 2);

    assert_int_equal(o.ret, 0);
    assert_false(o.trace->is_part);
    assert_int_equal(o.trace->core_count, 1);
    close_part(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_overlap_the_window_are_clipped_and_count_from_its_start),
        cmocka_unit_test(each_row_is_in_exactly_one_of_adjacent_windows),
        cmocka_unit_test(a_window_over_the_whole_trace_is_not_marked_as_partial),
        cmocka_unit_test(an_empty_window_and_an_unknown_core_are_rejected),
        cmocka_unit_test(selecting_the_only_core_keeps_the_whole_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
