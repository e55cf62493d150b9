/* SPDX-License-Identifier: MIT */
/*
 * Properties that hold for every trace, checked over many random ones: sums and limits
 * (hand_answers_ask() asserts them), and how answers change when the trace does.
 *
 * Method: traces from fixed seeds: a failure names the seed and can be repeated. Instructions of an
 * engine follow one another or overlap, wait and signal at random, in the open encoding and in a
 * vendor's; changes follow their signals or come from nowhere.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/activity_over_time.h"
#include "profiler/analysis/advice.h"
#include "profiler/analysis/chip_memory.h"
#include "profiler/analysis/engine_activity.h"
#include "profiler/analysis/summary.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define SEEDS 400
#define TOTAL_NS 10000
#define SEMAPHORES 6
#define SLOTS 12
#define RUNS 20
#define LAYERS 4

struct source {
    uint64_t state;
};

static uint64_t last_seed; /* also printed after a failed test */

static int tell_seed(void **state)
{
    print_message("the last seed was %llu\n", (unsigned long long)last_seed);
    return 0;
}

/* splitmix64 */
static uint64_t draw(struct source *source)
{
    uint64_t z = (source->state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t below(struct source *source, int64_t limit)
{
    return (int64_t)(draw(source) % (uint64_t)limit);
}

static bool one_in(struct source *source, int64_t count)
{
    return below(source, count) == 0;
}

/* ---- programs ---- */

struct slot {
    uint32_t at;
    int signal; /* -1: none */
    int done;   /* of a transfer */
    int remote; /* of another core; 0: none */
};

static void wait_and_signal(struct source *source, struct ntk_isa_instr *instr, struct slot *slot)
{
    slot->signal = slot->done = -1;
    if (one_in(source, 2)) {
        instr->wait_semaphore = (uint16_t)below(source, SEMAPHORES);
        instr->wait_value = (uint16_t)(1 + below(source, 3));
    }
    if (one_in(source, 2)) {
        slot->signal = (int)below(source, SEMAPHORES);
        instr->signal_semaphore = (uint16_t)slot->signal;
        instr->signal_value = 1;
    }
}

/* WRITE to the register of another core that increments a semaphore, see core_signals.h. */
static struct slot remote_slot(struct source *source, struct hand_trace *h, size_t core,
                               unsigned engine)
{
    uint8_t bytes[NTK_NTFF_SLOT_BYTES] = { 0xa5, 0x10, [12] = 4, [32] = 1 };
    uint64_t address = UINT64_C(0x802802701800) + 4 * (uint64_t)(SEMAPHORES + below(source, 2));
    struct slot slot = { .signal = -1, .done = -1 };

    for (unsigned b = 0; b < 8; b++) {
        bytes[16 + b] = (uint8_t)(address >> (8 * b));
    }
    slot.at = hand_trace_slot(h, core, engine, bytes);
    slot.remote = (int)(address - UINT64_C(0x802802701800)) / 4;
    return slot;
}

/* EVENT_SEMAPHORE that waits while it runs, or before. */
static struct slot vendor_slot(struct source *source, struct hand_trace *h, size_t core,
                               unsigned engine)
{
    uint8_t bytes[NTK_NTFF_SLOT_BYTES] = { 0xa0, 0x10 };
    struct slot slot = { .signal = (int)below(source, SEMAPHORES), .done = -1 };
    unsigned at = one_in(source, 2) ? 32 : 4;

    bytes[at] = one_in(source, 2) ? 0x05 : 0x01;
    bytes[at + 1] = (uint8_t)below(source, SEMAPHORES + 2);
    bytes[at + 2] = 0x13;
    bytes[at + 3] = (uint8_t)slot.signal;
    bytes[at == 32 ? 36 : 8] = (uint8_t)(1 + below(source, 3));
    slot.at = hand_trace_slot(h, core, engine, bytes);
    return slot;
}

static struct slot random_slot(struct source *source, struct hand_trace *h, size_t core,
                               unsigned engine, bool has_vendor, const uint32_t names[LAYERS],
                               uint16_t queue)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NOP);
    struct slot slot = { 0 };

    if (has_vendor && one_in(source, 6)) {
        return one_in(source, 3) ? remote_slot(source, h, core, engine)
                                 : vendor_slot(source, h, core, engine);
    }
    if (engine == NTK_ISA_ENGINE_PE && one_in(source, 2)) {
        bool is_transpose = one_in(source, 3);
        instr = ntk_isa_instr_make(is_transpose ? NTK_ISA_OP_NC_TRANSPOSE : NTK_ISA_OP_NC_MATMUL);
        if (is_transpose) {
            instr.operand[NTK_ISA_DST] = ntk_isa_psum(2048, 64, 128, NTK_DTYPE_BFLOAT16);
            instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 64, NTK_DTYPE_BFLOAT16);
        } else {
            instr.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, 64, NTK_DTYPE_FLOAT32);
            instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_BFLOAT16);
            instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(512, 128, 64, NTK_DTYPE_BFLOAT16);
        }
        wait_and_signal(source, &instr, &slot);
    } else if (engine == NTK_ISA_ENGINE_SP && one_in(source, 2)) {
        instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
        instr.queue = queue;
        struct ntk_isa_operand tile = ntk_isa_sbuf(0, 128, 64, NTK_DTYPE_FLOAT32);
        struct ntk_isa_operand tensor = ntk_isa_var(1, 0, 128, 64, 64, NTK_DTYPE_FLOAT32);
        bool is_load = one_in(source, 2);
        instr.operand[NTK_ISA_DST] = is_load ? tile : tensor;
        instr.operand[NTK_ISA_SRC0] = is_load ? tensor : tile;
        wait_and_signal(source, &instr, &slot);
        slot.done = (int)below(source, SEMAPHORES);
        instr.done_semaphore = (uint16_t)slot.done;
        instr.done_value = 1;
    } else {
        instr.imm[0] = 1;
        wait_and_signal(source, &instr, &slot);
    }
    instr.name_id = one_in(source, 5) ? 0 : names[below(source, LAYERS)];
    slot.at = hand_trace_open(h, core, engine, &instr);
    return slot;
}

/* ---- runs ---- */

struct made {
    uint32_t values[SEMAPHORES + 2]; /* the last two are changed by other cores */
};

static void change(struct source *source, struct hand_trace *h, size_t core, unsigned by,
                   int number, int64_t at_ns, struct made *made)
{
    if (number >= 0 && at_ns <= TOTAL_NS && !one_in(source, 8)) {
        hand_trace_change(h, core, by, (unsigned)number, ++made->values[number], at_ns);
    }
}

static void random_engine(struct source *source, struct hand_trace *h, size_t core, unsigned engine,
                          const struct slot *slots, struct made *made)
{
    size_t other = h->trace.core_count - 1 - core;
    int64_t at_ns = below(source, 500);
    int64_t count = below(source, RUNS);

    for (int64_t i = 0; i < count && at_ns < TOTAL_NS; i++) {
        const struct slot *slot = &slots[below(source, SLOTS)];
        int64_t end_ns = at_ns + (one_in(source, 9) ? 0 : below(source, 700));
        end_ns = end_ns < TOTAL_NS ? end_ns : TOTAL_NS;
        hand_trace_run(h, core, engine, slot->at, at_ns, end_ns);
        /* Some before their instruction, as in version 4. */
        change(source, h, core, engine, slot->signal, end_ns + (below(source, 5) - 2) * 20, made);
        if (slot->remote) {
            change(source, h, other, NTK_NTFF_ENGINE_AXI, slot->remote, end_ns + below(source, 200),
                   made);
        }
        if (slot->done >= 0) {
            int64_t start_ns = end_ns + below(source, 40);
            int64_t took_ns = below(source, 400);
            if (start_ns + took_ns <= TOTAL_NS) {
                hand_trace_packet(h, core, (unsigned)below(source, 16), 1, NTK_TRACE_DMA_IO,
                                  (uint32_t)below(source, 9000), start_ns, start_ns + took_ns);
                change(source, h, core, NTK_NTFF_ENGINE_AXI, slot->done, start_ns + took_ns, made);
            }
        }
        at_ns = one_in(source, 5) ? at_ns + below(source, 100) : end_ns + below(source, 300);
    }
}

static void random_trace(struct hand_trace *h, uint64_t seed)
{
    static const char *const layers[LAYERS] = { "load", "product", "softmax", "store" };
    static struct ntk_neff_var vars[2];
    static struct ntk_ntff_queue queues[] = {
        { .engine = 0, .queue = 1, .name = "qSPIO0" },
        { .engine = 1, .queue = 1, .name = "qActSpillReload0" },
        { .engine = 2, .queue = 1, .name = "qPoolSpillReload0" },
    };
    struct source source = { seed };
    bool has_vendor = seed % 2 != 0;
    struct made made[HAND_TRACE_CORES];

    last_seed = seed;
    memset(&made, 0, sizeof made);
    vars[0] = (struct ntk_neff_var){ .name = "SB", .type = NTK_NEFF_VAR_STATE_BUFFER };
    vars[1] = (struct ntk_neff_var){
        .name = "x", .type = NTK_NEFF_VAR_INPUT, .var_id = 1, .bytes_count = 32768
    };
    hand_trace_begin(h, 1 + (size_t)below(&source, 2), "trn2.3xlarge", TOTAL_NS);
    h->ntff.version = seed % 4 == 1 ? 4 : 6;
    for (size_t core = 0; core < h->trace.core_count; core++) {
        uint16_t queue_index = (uint16_t)hand_trace_queue(h, core, "qSPIO0", 5);

        h->neff_subgraphs[core].vars = vars;
        h->neff_subgraphs[core].var_count = 2;
        h->subgraphs[core].queues = queues;
        h->subgraphs[core].queue_count = (size_t)below(&source, 4);
        for (unsigned engine = 0; engine < NTK_NTFF_ENGINE_COUNT; engine++) {
            struct slot slots[SLOTS];
            uint32_t names[LAYERS];

            for (int n = 0; n < LAYERS; n++) {
                names[n] = hand_trace_name(h, core, engine, layers[n]);
            }
            for (int s = 0; s < SLOTS; s++) {
                slots[s] = random_slot(&source, h, core, engine, has_vendor, names, queue_index);
            }
            random_engine(&source, h, core, engine, slots, &made[core]);
        }
        for (int64_t i = below(&source, 5); i > 0; i--) { /* from nowhere */
            hand_trace_change(h, core, (unsigned)below(&source, NTK_NTFF_ENGINE_AXI + 1),
                              (unsigned)below(&source, SEMAPHORES), (uint32_t)below(&source, 5),
                              below(&source, TOTAL_NS));
        }
    }
    hand_trace_end(h);
}

/* ---- properties ---- */

static double value_of(const struct ntk_summary *summary, const char *name)
{
    for (size_t i = 0; i < summary->value_count; i++) {
        if (strcmp(summary->values[i].name, name) == 0 && summary->values[i].is_present) {
            return summary->values[i].number;
        }
    }
    fail_msg("no metric %s", name);
    return 0;
}

static void check_summary(const struct hand_trace *h)
{
    struct ntk_summary summary;
    struct ntk_activity activity;

    assert_int_equal(ntk_analysis_summary(&h->trace, &summary), 0);
    ntk_analysis_engine_activity(&h->trace, &activity);
    for (size_t i = 0; i < summary.value_count; i++) {
        const struct ntk_summary_value *value = &summary.values[i];
        if (value->is_present && value->kind == NTK_SUMMARY_KIND_FRACTION &&
            (value->number < 0 || value->number > 1)) {
            fail_msg("%s is %.12g", value->name, value->number);
        }
    }
    assert_true(value_of(&summary, "hardware_flops") >= value_of(&summary, "transpose_flops"));
    assert_true(value_of(&summary, "dma_active_time") <= value_of(&summary, "dma_packet_time"));
    assert_true(value_of(&summary, "dma_active_time") <= value_of(&summary, "total_active_time"));
    assert_true(value_of(&summary, "total_active_time") <= value_of(&summary, "total_time"));
    assert_true(value_of(&summary, "trace_count") >= value_of(&summary, "event_count"));
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        assert_true(activity.engines[e].active_ps <= activity.engines[e].instruction_ps);
        assert_true(activity.engines[e].active_ps <= activity.total_active_ps);
    }
    ntk_summary_fini(&summary);
}

/* Pieces add up to the busy time, and engines are as busy as idle_reasons reports. */
static void check_over_time(const struct hand_trace *h, const struct hand_answers *a)
{
    struct ntk_activity_over_time activity;
    const size_t pieces = 37;

    assert_int_equal(ntk_analysis_activity_over_time(&h->trace, pieces, &activity), 0);
    for (size_t r = 0; r < activity.row_count; r++) {
        const struct ntk_activity_row *row = &activity.rows[r];
        double sum = 0;
        for (size_t p = 0; p < pieces; p++) {
            assert_true(row->pieces[p] >= 0 && row->pieces[p] <= 1);
            sum += (double)row->pieces[p];
        }
        assert_true(fabs(sum / (double)pieces - row->busy_ratio) < 1e-5);
        for (size_t i = 0; i < a->idle.engine_count; i++) {
            const struct ntk_idle_engine *engine = &a->idle.engines[i];
            if (engine->core == row->core && engine->engine == row->engine) {
                double busy = (double)engine->busy_ps / (double)a->idle.total_ps;
                assert_true(fabs(row->busy_ratio - busy) < 1e-9);
            }
        }
    }
    ntk_activity_over_time_fini(&activity);
}

static bool check_chip(const struct hand_answers *a)
{
    struct ntk_chip_memory chip;
    int ret = ntk_analysis_chip_memory(a->program, 50, &chip);

    if (ret == -ENODATA) { /* the slots of a vendor ran */
        return false;
    }
    assert_int_equal(ret, 0);
    for (size_t s = 0; s < chip.space_count; s++) {
        const struct ntk_chip_memory_space *space = &chip.spaces[s];
        uint64_t most = 0;
        uint64_t parts = 0;
        for (size_t p = 0; p < chip.piece_count; p++) {
            most = space->pieces[p] > most ? space->pieces[p] : most;
        }
        for (size_t p = 0; p < space->part_count; p++) {
            parts += space->parts[p].peak_bytes;
        }
        assert_int_equal(most, space->peak_bytes);
        assert_int_equal(parts, space->peak_bytes);
        assert_true(space->mean_bytes <= (double)space->peak_bytes);
        assert_true(space->peak_bytes <= space->capacity_bytes);
        assert_true(space->peak_ps >= 0 && space->peak_ps <= chip.total_ps);
    }
    ntk_chip_memory_fini(&chip);
    return true;
}

/* Each piece of advice is about a part of the execution, beyond its threshold, and contains the
 * number. */
static unsigned check_advice(const struct hand_trace *h, const struct hand_answers *a)
{
    struct ntk_tensor_traffic tensors = { 0 };
    struct ntk_dma_traffic traffic;
    struct ntk_hbm_traffic hbm;
    struct ntk_advice advice;

    ntk_analysis_dma_traffic(&h->trace, &traffic);
    ntk_analysis_hbm_traffic(&h->trace, &traffic, &hbm);
    bool has_tensors = ntk_analysis_tensor_traffic(a->program, &tensors) == 0;
    struct ntk_advice_input input = {
        a->program,   &a->idle, &a->path, &a->costs, &a->dma, &hbm, has_tensors ? &tensors : NULL,
        &a->transfers
    };
    assert_int_equal(ntk_analysis_advice(&input, &advice), 0);
    for (size_t i = 0; i < advice.count; i++) {
        const struct ntk_advice_item *item = &advice.items[i];
        bool is_below =
            item->rule == NTK_ADVICE_DMA_EFFICIENCY || item->rule == NTK_ADVICE_TENSOR_RATE;
        double beyond = item->value - ntk_advice_threshold(item->rule);
        assert_true(is_below ? beyond < 0 : beyond > 0);
        if (!(item->share > 0 && item->share <= 1)) {
            fail_msg("%s: a share of %.6f", ntk_advice_id(item->rule), item->share);
        }
        assert_int_equal(item->has_gain, item->rule != NTK_ADVICE_THROTTLING &&
                                             item->rule != NTK_ADVICE_INCOMPLETE);
        if (item->gain < 0 || item->gain > item->gain_bound || item->gain_bound > 1) {
            fail_msg("%s: %.6f, at most %.6f", ntk_advice_id(item->rule), item->gain,
                     item->gain_bound);
        }
        assert_true(strpbrk(item->text, "123456789") || item->rule == NTK_ADVICE_INCOMPLETE);
        assert_null(strstr(item->text, "nan"));
    }
    unsigned count = (unsigned)advice.count;
    ntk_advice_fini(&advice);
    ntk_tensor_traffic_fini(&tensors);
    return count;
}

static void sums_and_bounds_of_random_traces_are_consistent(void **state)
{
    unsigned rooflines = 0;
    unsigned chips = 0;
    unsigned advice = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct hand_trace h;
        struct hand_answers a;

        random_trace(&h, seed);
        hand_answers_ask(&h, &a);
        rooflines += a.has_roofline;
        check_summary(&h);
        check_over_time(&h, &a);
        chips += check_chip(&a);
        advice += check_advice(&h, &a);
        hand_answers_done(&h, &a);
    }
    assert_true(rooflines > SEEDS / 2); /* otherwise the checks saw nothing */
    assert_true(chips >= SEEDS / 3);
    assert_true(advice > SEEDS);
}

/* With everything three times as slow, every answer is too, and no reason and no step changes its
 * kind. */
static void scale(struct hand_trace *h, int64_t by)
{
    h->trace.total_ps *= by;
    for (size_t c = 0; c < h->trace.core_count; c++) {
        struct ntk_trace_core *core = &h->cores[c];
        for (size_t i = 0; i < core->instruction_count; i++) {
            core->instructions[i].start_ps *= by;
            core->instructions[i].end_ps *= by;
        }
        for (size_t i = 0; i < core->event_count; i++) {
            core->events[i].time_ps *= by;
        }
        for (size_t i = 0; i < core->packet_count; i++) {
            core->packets[i].start_ps *= by;
            core->packets[i].end_ps *= by;
        }
    }
}

/* Whether the record of a change is late is judged in ns, on every clock. */
static bool has_derived(const struct hand_answers *a)
{
    bool has = false;

    for (size_t c = 0; c < a->dependencies.core_count; c++) {
        has = has || a->dependencies.cores[c].lost.count > 0;
    }
    return has;
}

static void scaling_all_times_changes_only_durations(void **state)
{
    size_t compared = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed += 3) {
        struct hand_trace h;
        struct hand_answers once;
        struct hand_answers thrice;

        random_trace(&h, seed);
        hand_answers_ask(&h, &once);
        scale(&h, 3);
        hand_answers_ask(&h, &thrice);
        bool is_same = !has_derived(&once) && !has_derived(&thrice);
        compared += is_same;
        assert_true(!is_same || thrice.path.step_count == once.path.step_count);
        for (size_t i = 0; i < once.path.step_count && is_same; i++) {
            assert_int_equal(thrice.path.steps[i].kind, once.path.steps[i].kind);
            assert_int_equal(thrice.path.steps[i].instruction, once.path.steps[i].instruction);
            assert_int_equal(thrice.path.steps[i].start_ps, 3 * once.path.steps[i].start_ps);
        }
        for (size_t i = 0; i < once.idle.engine_count && is_same; i++) {
            for (unsigned r = 0; r < NTK_IDLE_REASON_COUNT; r++) {
                assert_int_equal(thrice.idle.engines[i].reasons_ps[r],
                                 3 * once.idle.engines[i].reasons_ps[r]);
            }
        }
        assert_int_equal(thrice.dma.total.busy_ps, 3 * once.dma.total.busy_ps);
        assert_true(thrice.dma.total.efficiency <= once.dma.total.efficiency);
        h.trace.total_ps /= 3; /* both sets of answers belong to the same trace */
        struct hand_trace none = { 0 };
        hand_answers_done(&none, &once);
        hand_answers_done(&h, &thrice);
    }
    assert_true(compared * 3 > SEEDS / 2);
}

/* An execution that continues after its last instruction: it is idle at the end, and the path ends
 * later by exactly that time. */
static void time_after_the_last_instruction_is_idle_time_at_the_end(void **state)
{
    const int64_t more_ps = NS(1234);

    for (uint64_t seed = 1; seed < SEEDS; seed += 3) {
        struct hand_trace h;
        struct hand_trace none = { 0 };
        struct hand_answers before;
        struct hand_answers after;

        random_trace(&h, seed);
        hand_answers_ask(&h, &before);
        h.trace.total_ps += more_ps;
        hand_answers_ask(&h, &after);
        for (size_t i = 0; i < before.idle.engine_count; i++) {
            const struct ntk_idle_engine *was = &before.idle.engines[i];
            const struct ntk_idle_engine *is = &after.idle.engines[i];
            assert_int_equal(is->busy_ps, was->busy_ps);
            for (unsigned r = 0; r < NTK_IDLE_END; r++) {
                assert_int_equal(is->reasons_ps[r], was->reasons_ps[r]);
            }
            assert_int_equal(is->reasons_ps[NTK_IDLE_END], was->reasons_ps[NTK_IDLE_END] + more_ps);
        }
        unsigned grown = before.path.kinds_ps[NTK_PATH_START] == before.path.total_ps
                             ? NTK_PATH_START /* nothing ran */
                             : NTK_PATH_END;
        assert_int_equal(after.path.kinds_ps[grown], before.path.kinds_ps[grown] + more_ps);
        hand_answers_done(&none, &before);
        hand_answers_done(&h, &after);
    }
}

/* One more packet, one more instruction: nothing becomes less busy. */
static void adding_instructions_never_reduces_engine_activity(void **state)
{
    for (uint64_t seed = 2; seed < SEEDS; seed += 3) {
        struct source source = { ~seed };
        struct hand_trace h;
        struct hand_trace none = { 0 };
        struct hand_answers before;
        struct hand_answers after;
        struct ntk_activity less;
        struct ntk_activity more;

        random_trace(&h, seed);
        uint32_t slot = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
        hand_answers_ask(&h, &before);
        ntk_analysis_engine_activity(&h.trace, &less);
        int64_t at_ns = below(&source, TOTAL_NS - 500);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, slot, at_ns, at_ns + below(&source, 500));
        hand_trace_packet(&h, 0, 3, 1, NTK_TRACE_DMA_IO, 512, at_ns, at_ns + 77);
        hand_answers_ask(&h, &after);
        ntk_analysis_engine_activity(&h.trace, &more);
        assert_true(more.total_active_ps >= less.total_active_ps);
        assert_true(more.engines[0].active_ps >= less.engines[0].active_ps);
        assert_int_equal(more.packet_count, less.packet_count + 1);
        assert_true(after.dma.total.active_ps >= before.dma.total.active_ps);
        assert_int_equal(after.dma.total.busy_ps, before.dma.total.busy_ps + NS(77));
        assert_true(after.dma.total.wasted_bytes >= before.dma.total.wasted_bytes);
        for (size_t i = 0; i < before.idle.engine_count; i++) {
            assert_true(after.idle.engines[i].busy_ps >= before.idle.engines[i].busy_ps);
        }
        hand_answers_done(&none, &before);
        hand_answers_done(&h, &after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(sums_and_bounds_of_random_traces_are_consistent, tell_seed),
        cmocka_unit_test_teardown(scaling_all_times_changes_only_durations, tell_seed),
        cmocka_unit_test_teardown(time_after_the_last_instruction_is_idle_time_at_the_end,
                                  tell_seed),
        cmocka_unit_test_teardown(adding_instructions_never_reduces_engine_activity, tell_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
