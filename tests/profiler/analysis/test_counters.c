/* SPDX-License-Identifier: MIT */
/*
 * Method: a hand-made load, product, copy out of PSUM, and store. By construction, the use of
 * on-chip memory, the work of the tensor engine and the moved bytes are known at each moment.
 *
 *     0- 50  SP begins the load of 32768 bytes; its packets move from 100 to 300
 *   400-440  PE multiplies what was loaded, into bank 0 of PSUM, from 440 to 460 into bank 1
 *   470-480  PE transposes: no operation of a model
 *   500-600  DVE copies the product to the state buffer
 *   650-660  SP begins the store of 262144 bytes; its packets move from 700 to 800
 */
#include <math.h>

#include "profiler/analysis/counters.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define POINTS_MAX 16
#define LOAD_BYTES 32768
#define STORE_BYTES 262144
#define COLUMNS 512 /* of a product: a bank */
#define FLOPS (2.0 * 128 * 128 * COLUMNS)

struct seen {
    size_t counts[NTK_COUNTER_COUNT];
    struct {
        int64_t time_ps;
        double value;
    } points[NTK_COUNTER_COUNT][POINTS_MAX];
};

static struct ntk_ntff_queue queues[] = { { .name = "qSPIO0", .engine = 0, .queue = 3 },
                                          { .name = "qSPIO0", .engine = 1, .queue = 3 } };
static struct ntk_neff_var vars[3];

static int see(void *ctx, enum ntk_counter counter, int64_t time_ps, double value)
{
    struct seen *seen = ctx;
    size_t at = seen->counts[counter]++;

    assert_true(at < POINTS_MAX);
    seen->points[counter][at].time_ps = time_ps;
    seen->points[counter][at].value = value;
    return 0;
}

static struct ntk_isa_instr transfer(struct ntk_isa_operand to, struct ntk_isa_operand from,
                                     unsigned semaphore)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    instr.done_semaphore = (uint16_t)semaphore;
    instr.done_value = 1;
    instr.operand[NTK_ISA_DST] = to;
    instr.operand[NTK_ISA_SRC0] = from;
    return instr;
}

static void run(struct hand_trace *h, unsigned engine, struct ntk_isa_instr instr, int64_t start_ns,
                int64_t end_ns)
{
    hand_trace_run(h, 0, engine, hand_trace_open(h, 0, engine, &instr), start_ns, end_ns);
}

static void begin(struct hand_trace *h)
{
    const struct ntk_isa_operand loaded = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_BFLOAT16);
    const struct ntk_isa_operand moving = ntk_isa_sbuf(8192, 128, COLUMNS, NTK_DTYPE_BFLOAT16);
    const struct ntk_isa_operand banks = ntk_isa_psum(0, 128, 2 * COLUMNS, NTK_DTYPE_FLOAT32);
    const struct ntk_isa_operand result = ntk_isa_sbuf(32768, 128, 2 * COLUMNS, NTK_DTYPE_BFLOAT16);
    struct ntk_isa_instr product = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
    struct ntk_isa_instr turn = ntk_isa_instr_make(NTK_ISA_OP_NC_TRANSPOSE);
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

    hand_trace_begin(h, 1, "trn2.3xlarge", 1000);
    (void)hand_trace_queue(h, 0, "qSPIO0", 20);
    h->neff_subgraphs[0].queue_sets[0].semaphores[1] = 21;
    h->neff_subgraphs[0].queue_sets[0].semaphore_count = 2;
    vars[0] = (struct ntk_neff_var){ .name = "SB", .type = NTK_NEFF_VAR_STATE_BUFFER };
    vars[1] = (struct ntk_neff_var){
        .name = "x", .type = NTK_NEFF_VAR_INPUT, .var_id = 1, .bytes_count = LOAD_BYTES
    };
    vars[2] = (struct ntk_neff_var){
        .name = "y", .type = NTK_NEFF_VAR_OUTPUT, .var_id = 2, .bytes_count = STORE_BYTES
    };
    h->neff_subgraphs[0].vars = vars;
    h->neff_subgraphs[0].var_count = 3;
    h->subgraphs[0].queues = queues;
    h->subgraphs[0].queue_count = 1;

    run(h, NTK_ISA_ENGINE_SP,
        transfer(loaded, ntk_isa_var(1, 0, 128, 128, 128, NTK_DTYPE_BFLOAT16), 20), 0, 50);
    product.operand[NTK_ISA_SRC0] = loaded;
    product.operand[NTK_ISA_SRC1] = moving;
    product.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, COLUMNS, NTK_DTYPE_FLOAT32);
    run(h, NTK_ISA_ENGINE_PE, product, 400, 440);
    product.operand[NTK_ISA_DST] = ntk_isa_psum(2048, 128, COLUMNS, NTK_DTYPE_FLOAT32);
    run(h, NTK_ISA_ENGINE_PE, product, 440, 460);
    turn.operand[NTK_ISA_DST] = ntk_isa_psum(8192, 128, 128, NTK_DTYPE_BFLOAT16);
    turn.operand[NTK_ISA_SRC0] = loaded;
    run(h, NTK_ISA_ENGINE_PE, turn, 470, 480);
    copy.operand[NTK_ISA_DST] = result;
    copy.operand[NTK_ISA_SRC0] = banks;
    run(h, NTK_ISA_ENGINE_DVE, copy, 500, 600);
    run(h, NTK_ISA_ENGINE_SP,
        transfer(ntk_isa_var(2, 0, 128, 2 * COLUMNS, 2 * COLUMNS, NTK_DTYPE_BFLOAT16), result, 21),
        650, 660);
    hand_trace_packet(h, 0, 0, 3, NTK_TRACE_DMA_IO, LOAD_BYTES / 2, 100, 200);
    hand_trace_packet(h, 0, 0, 3, NTK_TRACE_DMA_IO, LOAD_BYTES / 2, 200, 300);
    hand_trace_packet(h, 0, 0, 3, NTK_TRACE_DMA_IO, STORE_BYTES, 700, 800);
}

static void ask(struct hand_trace *h, struct seen *seen)
{
    struct ntk_program *program = NULL;
    struct ntk_transfers transfers;
    struct ntk_counters counters;

    hand_trace_end(h);
    *seen = (struct seen){ 0 };
    assert_int_equal(ntk_program_create(&h->trace, &program), 0);
    assert_int_equal(ntk_transfers_init(&transfers, program), 0);
    ntk_counters_init(&counters, &transfers);
    assert_int_equal(ntk_analysis_counters(&counters, 0, see, seen), 0);
    ntk_transfers_fini(&transfers);
    ntk_program_destroy(program);
    hand_trace_fini(h);
}

static void assert_points(const struct seen *seen, enum ntk_counter counter,
                          const double (*wanted)[2], size_t count)
{
    assert_int_equal(seen->counts[counter], count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(seen->points[counter][i].time_ps, NS((int64_t)wanted[i][0]));
        assert_true(fabs(seen->points[counter][i].value - wanted[i][1]) <=
                    1e-9 * fabs(wanted[i][1]));
    }
}

#define ASSERT_POINTS(seen, counter, ...)                                     \
    do {                                                                      \
        static const double wanted[][2] = { __VA_ARGS__ };                    \
        assert_points(seen, counter, wanted, sizeof wanted / sizeof *wanted); \
    } while (0)

/* Value times seconds. */
static double sum_of(const struct seen *seen, enum ntk_counter counter)
{
    double sum = 0;

    for (size_t i = 1; i < seen->counts[counter]; i++) {
        sum += seen->points[counter][i - 1].value *
               (double)(seen->points[counter][i].time_ps - seen->points[counter][i - 1].time_ps) *
               1e-12;
    }
    return sum;
}

static void on_chip_memory_counts_live_values(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    begin(&h);
    ask(&h, &seen);
    /* The loaded data is needed until the transposition, the result until it is stored. */
    ASSERT_POINTS(&seen, NTK_COUNTER_SBUF, { 50, 256 }, { 480, 0 }, { 600, 2048 }, { 660, 0 });
    ASSERT_POINTS(&seen, NTK_COUNTER_PSUM, { 440, 2048 }, { 460, 4096 }, { 600, 0 });
    ASSERT_POINTS(&seen, NTK_COUNTER_PSUM_BANK, { 440, 2048 }, { 600, 0 });
    ASSERT_POINTS(&seen, NTK_COUNTER_PSUM_BANK + 1, { 460, 2048 }, { 600, 0 });
    for (unsigned bank = 2; bank < NTK_CHIP_BANKS; bank++) { /* nothing reads the transposed data */
        assert_int_equal(seen.counts[NTK_COUNTER_PSUM_BANK + bank], 0);
    }
}

static void product(struct hand_trace *h, int64_t start_ns, int64_t end_ns)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);

    instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_BFLOAT16);
    instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(8192, 128, COLUMNS, NTK_DTYPE_BFLOAT16);
    instr.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, COLUMNS, NTK_DTYPE_FLOAT32);
    run(h, NTK_ISA_ENGINE_PE, instr, start_ns, end_ns);
}

static void turn(struct hand_trace *h, int64_t start_ns, int64_t end_ns)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NC_TRANSPOSE);

    instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_BFLOAT16);
    instr.operand[NTK_ISA_DST] = ntk_isa_psum(8192, 128, 128, NTK_DTYPE_BFLOAT16);
    run(h, NTK_ISA_ENGINE_PE, instr, start_ns, end_ns);
}

static double percent_in(const struct hand_trace *h, double ns)
{
    return 100 * FLOPS / (ns * 1e-9) / h->trace.chip.core_flops_per_second;
}

static void assert_mfu(const struct seen *seen, const double (*wanted)[2], size_t count,
                       double flops, double peak)
{
    assert_points(seen, NTK_COUNTER_MFU, wanted, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(seen->points[NTK_COUNTER_MFU][i].value <= 100);
    }
    assert_true(fabs(sum_of(seen, NTK_COUNTER_MFU) / 100 * peak - flops) <= flops * 1e-9);
}

/* A product of 512 columns takes 213.3 ns at the peak. Each starts while the previous one drains:
 * until the next MATMUL starts, even if it transposes, the engine executes it. */
static void mfu_of_a_pipeline_is_the_rate_at_which_its_products_start(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 5000);
    product(&h, 1000, 1400);
    product(&h, 1220, 1620);
    product(&h, 1440, 1840);
    turn(&h, 1690, 1900);
    product(&h, 1900, 2300);
    product(&h, 3000, 3400);
    double peak = h.trace.chip.core_flops_per_second;
    const double wanted[][2] = { { 1000, percent_in(&h, 220) },
                                 { 1440, percent_in(&h, 250) },
                                 { 1690, 0 },
                                 { 1900, percent_in(&h, 400) },
                                 { 2300, 0 },
                                 { 3000, percent_in(&h, 400) },
                                 { 3400, 0 } };
    ask(&h, &seen);
    assert_mfu(&seen, wanted, sizeof wanted / sizeof *wanted, 5 * FLOPS, peak);
}

/* Three products start in the time of one. The last has 400 ns less the work that it waits for. */
static void work_beyond_the_peak_moves_later(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 5000);
    product(&h, 1000, 1400);
    product(&h, 1100, 1500);
    product(&h, 1200, 1900);
    double peak = h.trace.chip.core_flops_per_second;
    ask(&h, &seen);
    assert_int_equal(seen.counts[NTK_COUNTER_MFU], 3);
    int64_t full_ps = seen.points[NTK_COUNTER_MFU][1].time_ps - NS(1000);
    assert_true(fabs((double)full_ps - 2 * FLOPS / peak * 1e12) <= 2);
    const double wanted = 100 * FLOPS / peak / ((double)(NS(900) - full_ps) * 1e-12);
    assert_true(fabs(seen.points[NTK_COUNTER_MFU][0].value - 100) < 1e-3);
    assert_true(seen.points[NTK_COUNTER_MFU][0].value <= 100);
    assert_true(fabs(seen.points[NTK_COUNTER_MFU][1].value - wanted) < 1e-9 * wanted);
    assert_int_equal(seen.points[NTK_COUNTER_MFU][2].time_ps, NS(1900));
    assert_true(fabs(sum_of(&seen, NTK_COUNTER_MFU) / 100 * peak - 3 * FLOPS) < FLOPS * 1e-9);
}

/* The records are far too short for the operations: the engine needs its peak until later. */
static void mfu_never_exceeds_the_peak_and_keeps_all_operations(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    begin(&h);
    double peak = h.trace.chip.core_flops_per_second;
    ask(&h, &seen);
    assert_int_equal(seen.counts[NTK_COUNTER_MFU], 2);
    assert_int_equal(seen.points[NTK_COUNTER_MFU][0].time_ps, NS(400));
    assert_true(seen.points[NTK_COUNTER_MFU][0].value <= 100);
    double flops = sum_of(&seen, NTK_COUNTER_MFU) / 100 * peak;
    assert_true(fabs(flops - 2 * FLOPS) < FLOPS * 1e-9);
}

static void device_memory_counters_have_bytes_per_direction(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    begin(&h);
    ask(&h, &seen);
    ASSERT_POINTS(&seen, NTK_COUNTER_HBM_READ, { 100, LOAD_BYTES / 200e-9 }, { 300, 0 });
    ASSERT_POINTS(&seen, NTK_COUNTER_HBM_WRITE, { 700, STORE_BYTES / 100e-9 }, { 800, 0 });
    assert_true(fabs(sum_of(&seen, NTK_COUNTER_HBM_READ) - LOAD_BYTES) < 1e-6);
    assert_true(fabs(sum_of(&seen, NTK_COUNTER_HBM_WRITE) - STORE_BYTES) < 1e-6);
}

/* The load pauses between its packets: nothing is read then, and the second packet is faster. */
static void the_bytes_of_a_transfer_are_moved_by_its_packets(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    begin(&h);
    h.cores[0].packets[1].start_ps = NS(250);
    ask(&h, &seen);
    ASSERT_POINTS(&seen, NTK_COUNTER_HBM_READ, { 100, LOAD_BYTES / 2 / 100e-9 }, { 200, 0 },
                  { 250, LOAD_BYTES / 2 / 50e-9 }, { 300, 0 });
    assert_true(fabs(sum_of(&seen, NTK_COUNTER_HBM_READ) - LOAD_BYTES) < 1e-6);
}

/* The second packet is recorded 50 ns before its engine has moved the first, as in a pipeline. Two
 * engines work at the same time. */
static void packets_of_a_dma_engine_move_their_bytes_one_after_the_other(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    begin(&h);
    h.cores[0].packets[1].start_ps = NS(150);
    ask(&h, &seen);
    ASSERT_POINTS(&seen, NTK_COUNTER_HBM_READ, { 100, LOAD_BYTES / 200e-9 }, { 300, 0 });
    assert_true(fabs(sum_of(&seen, NTK_COUNTER_HBM_READ) - LOAD_BYTES) < 1e-6);

    begin(&h);
    h.cores[0].packets[1].start_ps = NS(150);
    h.cores[0].packets[1].engine = 1;
    h.subgraphs[0].queue_count = 2;
    h.cores[0].packets[2].bytes_count = STORE_BYTES / 2; /* each transfer uses both engines */
    hand_trace_packet(&h, 0, 1, 3, NTK_TRACE_DMA_IO, STORE_BYTES / 2, 700, 800);
    ask(&h, &seen);
    ASSERT_POINTS(&seen, NTK_COUNTER_HBM_READ, { 100, LOAD_BYTES / 2 / 100e-9 },
                  { 150, LOAD_BYTES / 2 / 100e-9 + LOAD_BYTES / 2 / 150e-9 },
                  { 200, LOAD_BYTES / 2 / 150e-9 }, { 300, 0 });
    assert_true(fabs(sum_of(&seen, NTK_COUNTER_HBM_READ) - LOAD_BYTES) < 1e-6);
}

static void transfers_are_pending_from_their_instruction_to_their_last_packet(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    begin(&h);
    ask(&h, &seen);
    ASSERT_POINTS(&seen, NTK_COUNTER_PENDING, { 0, 1 }, { 300, 0 }, { 650, 1 }, { 800, 0 });
}

/* One byte less, and the transfers of the queue do not match their packets. */
static void device_memory_counters_are_absent_if_packets_are_unknown(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    begin(&h);
    h.cores[0].packet_count--;
    ask(&h, &seen);
    assert_int_equal(seen.counts[NTK_COUNTER_HBM_READ], 0);
    assert_int_equal(seen.counts[NTK_COUNTER_HBM_WRITE], 0);
    assert_true(seen.counts[NTK_COUNTER_SBUF] > 0); /* known parts stay */
    assert_true(seen.counts[NTK_COUNTER_MFU] > 0);
}

static void mfu_is_absent_for_an_unknown_chip(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    begin(&h);
    h.trace.has_chip = false;
    ask(&h, &seen);
    assert_int_equal(seen.counts[NTK_COUNTER_MFU], 0);
    assert_true(seen.counts[NTK_COUNTER_HBM_READ] > 0);
}

/* A slot of an unknown encoding: its memory accesses and its operation are unknown. */
static void memory_counters_are_absent_with_an_unknown_instruction(void **state)
{
    static const uint8_t slot[NTK_NTFF_SLOT_BYTES] = { [0] = 0x77, [1] = 0x10 };
    struct hand_trace h;
    struct seen seen;

    (void)state;
    begin(&h);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, hand_trace_slot(&h, 0, NTK_ISA_ENGINE_ACT, slot), 900,
                   950);
    ask(&h, &seen);
    assert_int_equal(seen.counts[NTK_COUNTER_SBUF], 0);
    assert_int_equal(seen.counts[NTK_COUNTER_PSUM], 0);
    assert_int_equal(seen.counts[NTK_COUNTER_PSUM_BANK], 0);
    assert_true(seen.counts[NTK_COUNTER_MFU] > 0);
    assert_true(seen.counts[NTK_COUNTER_PENDING] > 0);
}

static void a_truncated_capture_has_no_counter_sums(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    begin(&h);
    h.trace.is_cut.instructions = true;
    ask(&h, &seen);
    assert_int_equal(seen.counts[NTK_COUNTER_SBUF], 0);
    assert_int_equal(seen.counts[NTK_COUNTER_MFU], 0);
    assert_int_equal(seen.counts[NTK_COUNTER_HBM_READ], 0);
}

static void an_idle_core_has_no_counter_values(void **state)
{
    struct hand_trace h;
    struct seen seen;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    ask(&h, &seen);
    for (unsigned c = 0; c < NTK_COUNTER_COUNT; c++) {
        assert_int_equal(seen.counts[c], 0);
    }
}

static void each_counter_has_a_name_a_unit_and_a_meaning(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NTK_COUNTER_COUNT; c++) {
        const struct ntk_counter_info *info = ntk_counter_info_get(c);
        assert_non_null(info->name);
        assert_non_null(info->unit);
        assert_non_null(info->help);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_chip_memory_counts_live_values),
        cmocka_unit_test(mfu_of_a_pipeline_is_the_rate_at_which_its_products_start),
        cmocka_unit_test(work_beyond_the_peak_moves_later),
        cmocka_unit_test(mfu_never_exceeds_the_peak_and_keeps_all_operations),
        cmocka_unit_test(device_memory_counters_have_bytes_per_direction),
        cmocka_unit_test(the_bytes_of_a_transfer_are_moved_by_its_packets),
        cmocka_unit_test(packets_of_a_dma_engine_move_their_bytes_one_after_the_other),
        cmocka_unit_test(transfers_are_pending_from_their_instruction_to_their_last_packet),
        cmocka_unit_test(device_memory_counters_are_absent_if_packets_are_unknown),
        cmocka_unit_test(mfu_is_absent_for_an_unknown_chip),
        cmocka_unit_test(memory_counters_are_absent_with_an_unknown_instruction),
        cmocka_unit_test(a_truncated_capture_has_no_counter_sums),
        cmocka_unit_test(an_idle_core_has_no_counter_values),
        cmocka_unit_test(each_counter_has_a_name_a_unit_and_a_meaning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
