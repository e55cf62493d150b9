/* SPDX-License-Identifier: MIT */
/* Method: hand-made packets on two queues and a ring without a name; ten programs of one queue with
 * a known answer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/dma_efficiency.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)

static struct ntk_ntff_queue queues[] = {
    { .engine = 0, .queue = 1, .name = "qSPIO0" },
    { .engine = 1, .queue = 1, .name = "qSPIO0" },
    { .engine = 0, .queue = 2, .name = "qActSpillReload0" },
};

static void packet_counts_sizes_and_rates_of_queues_are_reported(void **state)
{
    struct hand_trace h;
    struct ntk_dma_efficiency dma;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    h.subgraphs[0].queues = queues;
    h.subgraphs[0].queue_count = 3;
    hand_trace_packet(&h, 0, 0, 1, NTK_TRACE_DMA_IO, 4096, 0, 400);
    hand_trace_packet(&h, 0, 1, 1, NTK_TRACE_DMA_IO, 2048, 200, 500);
    hand_trace_packet(&h, 0, 1, 1, NTK_TRACE_DMA_IO, 4, 500, 510);
    hand_trace_packet(&h, 0, 0, 2, NTK_TRACE_DMA_DATA, 100, 600, 700);
    hand_trace_packet(&h, 0, 0, 2, NTK_TRACE_DMA_DATA, 512, 700, 800);
    hand_trace_packet(&h, 0, 5, 14, NTK_TRACE_DMA_INSTRUCTION, 23000, 0, 100);
    hand_trace_end(&h);
    assert_int_equal(ntk_analysis_dma_efficiency(&h.trace, &dma), 0);

    assert_int_equal(dma.row_count, 3);
    assert_string_equal(dma.rows[0].name, "qSPIO0");
    assert_int_equal(dma.rows[0].engine_count, 2);
    assert_int_equal(dma.rows[0].packet_count, 3);
    assert_int_equal(dma.rows[0].bytes_count, 6148);
    assert_int_equal(dma.rows[0].active_ps, NS(510));
    assert_int_equal(dma.rows[0].busy_ps, NS(710));
    assert_int_equal(dma.rows[0].size_counts[NTK_DMA_SIZE_SEMAPHORE], 1);
    assert_int_equal(dma.rows[0].size_counts[NTK_DMA_SIZE_MEDIUM], 1);
    assert_int_equal(dma.rows[0].size_counts[NTK_DMA_SIZE_FULL], 1);
    assert_true(fabs(dma.rows[0].efficiency - 6148 / (710 * 23.0)) < 1e-9);
    assert_true(fabs(dma.rows[0].wasted_bytes - (710 * 23.0 - 6148)) < 1e-6);
    assert_string_equal(dma.rows[1].name, "qActSpillReload0");
    assert_int_equal(dma.rows[1].size_counts[NTK_DMA_SIZE_POOR], 1);
    assert_int_equal(dma.rows[1].size_counts[NTK_DMA_SIZE_SMALL], 1);
    assert_int_equal(dma.rows[1].small_ps, NS(200));
    assert_int_equal(dma.rows[0].small_ps, 0); /* changes of semaphores are not data */
    assert_null(dma.rows[2].name);
    assert_int_equal(dma.rows[2].dma_class, NTK_TRACE_DMA_INSTRUCTION);
    /* Capped: more than the published rate counts as 100 %. */
    assert_true(dma.rows[2].efficiency == 1);
    assert_true(dma.rows[2].wasted_bytes == 0);
    assert_true(dma.has_spill);
    assert_int_equal(dma.spill_bytes, 612);
    assert_int_equal(dma.total.packet_count, 6);
    assert_int_equal(dma.total.engine_count, 3);
    assert_int_equal(dma.total.active_ps, NS(710));
    assert_true(fabs(dma.total.wasted_bytes - dma.rows[0].wasted_bytes - dma.rows[1].wasted_bytes) <
                1e-6);
    ntk_dma_efficiency_fini(&dma);
    hand_trace_fini(&h);
}

/* At most four packets: { DMA engine, bytes, from ns, to ns }. The published rate of an engine of a
 * trn2 is 23 bytes per ns, so 100 ns can move 2300 bytes. */
static const struct {
    const char *what;
    unsigned packets[4][4];
    uint64_t bytes_count;
    int64_t active_ns, busy_ns; /* overlaps count once; each engine is separate */
    double efficiency;
} programs[] = {
    { "one at the full rate", { { 0, 2300, 0, 100 } }, 2300, 100, 100, 1 },
    { "one at half of it", { { 0, 2300, 0, 200 } }, 2300, 200, 200, 0.5 },
    { "a stream", { { 0, 2300, 0, 100 }, { 0, 2300, 100, 200 } }, 4600, 200, 200, 1 },
    { "a bubble", { { 0, 2300, 0, 100 }, { 0, 2300, 300, 400 } }, 4600, 200, 200, 1 },
    { "two engines at once", { { 0, 2300, 0, 100 }, { 1, 2300, 0, 100 } }, 4600, 100, 200, 1 },
    { "two in turn", { { 0, 2300, 0, 100 }, { 1, 2300, 100, 200 } }, 4600, 200, 200, 1 },
    { "two that overlap", { { 0, 2300, 0, 100 }, { 1, 2300, 50, 150 } }, 4600, 150, 200, 1 },
    { "one of two is slow", { { 0, 2300, 0, 100 }, { 1, 2300, 0, 300 } }, 4600, 300, 400, 0.5 },
    { "more than the rate", { { 0, 9200, 0, 100 } }, 9200, 100, 100, 1 },
    { "small ones",
      { { 0, 23, 0, 100 }, { 0, 23, 100, 200 }, { 0, 23, 200, 300 }, { 0, 23, 300, 400 } },
      92,
      400,
      400,
      0.01 },
};

static void each_program_has_the_rate_of_its_packets(void **state)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct hand_trace h;
        struct ntk_dma_efficiency dma;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        h.subgraphs[0].queues = queues;
        h.subgraphs[0].queue_count = 3;
        for (size_t p = 0; p < 4 && programs[i].packets[p][1]; p++) {
            const unsigned *packet = programs[i].packets[p];
            hand_trace_packet(&h, 0, packet[0], 1, NTK_TRACE_DMA_IO, packet[1], packet[2],
                              packet[3]);
        }
        hand_trace_end(&h);
        assert_int_equal(ntk_analysis_dma_efficiency(&h.trace, &dma), 0);
        const struct ntk_dma_queue_row *row = &dma.rows[0];
        if (dma.row_count != 1 || row->bytes_count != programs[i].bytes_count ||
            row->active_ps != NS(programs[i].active_ns) ||
            row->busy_ps != NS(programs[i].busy_ns) ||
            fabs(row->efficiency - programs[i].efficiency) > 1e-9) {
            fail_msg("%s: %llu bytes, active %lld ps, busy %lld ps, efficiency %.9f",
                     programs[i].what, (unsigned long long)row->bytes_count,
                     (long long)row->active_ps, (long long)row->busy_ps, row->efficiency);
        }
        ntk_dma_efficiency_fini(&dma);
        hand_trace_fini(&h);
    }
}

static void the_dma_rate_of_an_unknown_machine_is_absent(void **state)
{
    struct hand_trace h;
    struct ntk_dma_efficiency dma;

    hand_trace_begin(&h, 2, "m5.large", 1000);
    hand_trace_packet(&h, 1, 0, 1, NTK_TRACE_DMA_DATA, 4096, 0, 400);
    hand_trace_end(&h);
    assert_int_equal(ntk_analysis_dma_efficiency(&h.trace, &dma), 0);
    assert_int_equal(dma.row_count, 1);
    assert_int_equal(dma.rows[0].core, 1);
    assert_false(dma.rows[0].has_rate);
    assert_false(dma.has_spill);
    ntk_dma_efficiency_fini(&dma);
    hand_trace_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packet_counts_sizes_and_rates_of_queues_are_reported),
        cmocka_unit_test(each_program_has_the_rate_of_its_packets),
        cmocka_unit_test(the_dma_rate_of_an_unknown_machine_is_absent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
