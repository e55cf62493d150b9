/* SPDX-License-Identifier: MIT */
/*
 * Waits for other cores. Method: hand-made programs of two cores. In core 1, Vector
 * works until 600 ns, Scalar waits for it and then writes to a register of core 0, where Tensor
 * waits for the change. Which instruction made which change is known by construction.
 */
#include "profiler/analysis/core_signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/output_analysis.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define NONE NTK_ISA_NO_SEMAPHORE
#define PE NTK_ISA_ENGINE_PE
#define ACT NTK_ISA_ENGINE_ACT
#define DVE NTK_ISA_ENGINE_DVE
#define TENSOR NTK_NTFF_ENGINE_TENSOR
#define SCALAR NTK_NTFF_ENGINE_SCALAR
#define VECTOR NTK_NTFF_ENGINE_VECTOR
#define AXI NTK_NTFF_ENGINE_AXI
/* As in captures: the register of core 4 that increments semaphore 0. */
#define REGISTER UINT64_C(0x802802701800)

/* A vendor's WRITE of 1 to an address; it waits for semaphore 9 to be at least `wait` (0: not). */
static uint32_t write_to(struct hand_trace *h, size_t core, unsigned engine, uint64_t address,
                         uint8_t wait)
{
    uint8_t slot[NTK_NTFF_SLOT_BYTES] = { [0] = NTK_NTFF_OPCODE_WRITE,
                                          [1] = 0x10,
                                          [4] = wait ? 5 : 0,
                                          [5] = wait ? 9 : 0,
                                          [8] = wait,
                                          [12] = 4,
                                          [32] = 1 };

    for (unsigned b = 0; b < 8; b++) {
        slot[16 + b] = (uint8_t)(address >> (8 * b));
    }
    return hand_trace_slot(h, core, engine, slot);
}

static void find_engine(const struct hand_answers *a, size_t core, unsigned engine,
                        const struct ntk_idle_engine **out)
{
    *out = NULL;
    for (size_t i = 0; i < a->idle.engine_count; i++) {
        if (a->idle.engines[i].core == core && a->idle.engines[i].engine == engine) {
            *out = &a->idle.engines[i];
        }
    }
    assert_non_null(*out);
}

/* Writes and changes as "400 900": when each starts, or occurs. */
struct row {
    const char *what;
    const char *writes; /* by Scalar of core 1, to the register of semaphore 3 */
    const char *others; /* the same by Vector of core 1 */
    uint64_t other_address;
    const char *changes; /* of semaphore 3 in core 0, by DMA */
    unsigned wait_value; /* of Tensor, which starts 10 ns after the change to it */
    bool is_alone;       /* core 1 is not in the trace, and not in the capture */
    bool is_unselected;  /* it is in the capture */
    bool has_queue;      /* according to the NEFF a queue changes it */
    bool has_no_neff;    /* transfers of the core are not known */
    const char *wanted;  /* what Tensor waited for */
};

static const struct row rows[] = {
    { .what = "one write, one change",
      .writes = "600",
      .changes = "800",
      .wait_value = 1,
      .wanted = "semaphore 3, changed by Scalar WRITE of core 1" },
    { .what = "the second of two writes",
      .writes = "200 600",
      .changes = "400 800",
      .wait_value = 2,
      .wanted = "semaphore 3, changed by Scalar WRITE of core 1" },
    { .what = "two writes before the first change, by order",
      .writes = "200 300",
      .changes = "400 800",
      .wait_value = 2,
      .wanted = "semaphore 3, changed by Scalar WRITE of core 1" },
    { .what = "writes to the register of another semaphore as well",
      .writes = "600",
      .others = "100 300",
      .other_address = REGISTER + 4 * 7,
      .changes = "800",
      .wait_value = 1,
      .wanted = "semaphore 3, changed by Scalar WRITE of core 1" },
    { .what = "another core's register of this number, written twice",
      .writes = "600",
      .others = "100 300",
      .other_address = REGISTER + 0x1000000000 + 4 * 3,
      .changes = "800",
      .wait_value = 1,
      .wanted = "semaphore 3, changed by Scalar WRITE of core 1" },
    { .what = "two addresses fit",
      .writes = "600",
      .others = "500",
      .other_address = REGISTER + 0x1000000000 + 4 * 3,
      .changes = "800",
      .wait_value = 1,
      .wanted = "semaphore 3, changed by DMA that no captured instruction started" },
    { .what = "the only write comes after the change",
      .writes = "850",
      .changes = "800",
      .wait_value = 1,
      .wanted = "semaphore 3, changed by DMA that no captured instruction started" },
    { .what = "more changes than writes",
      .writes = "600",
      .changes = "400 800",
      .wait_value = 2,
      .wanted = "semaphore 3, changed by DMA that no captured instruction started" },
    { .what = "a write to memory, not to a register",
      .others = "600",
      .other_address = 0x1000803,
      .changes = "800",
      .wait_value = 1,
      .wanted = "semaphore 3, changed by DMA that no captured instruction started" },
    { .what = "a queue of the core changes it",
      .writes = "600",
      .changes = "800",
      .wait_value = 1,
      .has_queue = true,
      .wanted = "semaphore 3, changed by DMA queue qSyncIO0" },
    { .what = "the other core is in the capture, but not selected",
      .changes = "800",
      .wait_value = 1,
      .is_alone = true,
      .is_unselected = true,
      .wanted = "semaphore 3, changed by another core, not captured" },
    { .what = "without a NEFF, it may be DMA of the core itself",
      .changes = "800",
      .wait_value = 1,
      .is_alone = true,
      .is_unselected = true,
      .has_no_neff = true,
      .wanted = "semaphore 3, changed by DMA\n" },
    { .what = "without a NEFF, a write that fits is still the maker",
      .writes = "600",
      .changes = "800",
      .wait_value = 1,
      .has_no_neff = true,
      .wanted = "semaphore 3, changed by Scalar WRITE of core 1" },
    { .what = "a capture of one core",
      .changes = "800",
      .wait_value = 1,
      .is_alone = true,
      .wanted = "semaphore 3, changed by DMA that no captured instruction started" },
};

static const char *next_number(const char *at, int64_t *out_number)
{
    char *end = NULL;

    if (!at || !*at) {
        return NULL;
    }
    *out_number = strtoll(at, &end, 10);
    return end;
}

/* Core 1: Vector works until 600 at most, Scalar writes. */
static void put_writes(struct hand_trace *h, const struct row *row)
{
    uint32_t write = write_to(h, 1, ACT, REGISTER + 4 * 3, 0);
    int64_t at_ns = 0;

    for (const char *at = row->writes; (at = next_number(at, &at_ns));) {
        hand_trace_run(h, 1, ACT, write, at_ns, at_ns + 100);
    }
    uint32_t other = row->others ? write_to(h, 1, DVE, row->other_address, 0) : 0;
    for (const char *at = row->others; (at = next_number(at, &at_ns));) {
        hand_trace_run(h, 1, DVE, other, at_ns, at_ns + 100);
    }
}

static void a_wait_is_reported_with_its_cause_on_the_other_core_or_why_it_is_unknown(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct hand_trace h;
        struct hand_answers a;
        const struct ntk_idle_engine *tensor;
        int64_t at_ns = 0;
        uint32_t value = 0;

        hand_trace_begin(&h, row->is_alone ? 1 : 2, "trn2.3xlarge", 1000);
        if (!row->has_no_neff) {
            (void)hand_trace_queue(&h, 0, "qSPIO0", row->has_queue ? 3 : 20);
        }
        if (!row->is_alone) {
            put_writes(&h, row);
        }
        for (const char *at = row->changes; (at = next_number(at, &at_ns));) {
            hand_trace_change(&h, 0, AXI, 3, ++value, at_ns);
        }
        uint32_t after = hand_trace_nop(&h, 0, PE, 3, row->wait_value, NONE);
        hand_trace_run(&h, 0, PE, after, at_ns + 10, 1000);
        h.ntff.subgraph_count += row->is_unselected;
        hand_answers_ask(&h, &a);

        find_engine(&a, 0, TENSOR, &tensor);
        struct ntk_buf out = { 0 };
        ntk_output_idle_text(a.program, &a.idle, &out);
        if (!strstr(ntk_buf_text_get(&out), row->wanted) || tensor->rows[0].idle_ps != NS(at_ns)) {
            fail_msg("%s: not '%s' in:\n%s", row->what, row->wanted, ntk_buf_text_get(&out));
        }
        ntk_buf_fini(&out);
        hand_answers_done(&h, &a);
    }
}

/* Time of the path in one core, in all kinds of steps of an engine. */
static int64_t path_ps(const struct hand_answers *a, size_t core, unsigned engine)
{
    int64_t sum_ps = 0;

    for (size_t i = 0; i < a->path.step_count; i++) {
        const struct ntk_path_step *step = &a->path.steps[i];
        if (ntk_path_is_engine(step->kind) && step->core == core &&
            ntk_path_instruction(a->program->trace, step)->engine == engine) {
            sum_ps += step->end_ps - step->start_ps;
        }
    }
    return sum_ps;
}

/* Core 1: Vector 0-600, Scalar waits for it (610), writes until 700. Core 0: the change comes at
 * 800, Tensor runs 810-1000. The path goes through both cores; the root of the wait is Vector. */
static void critical_path_and_wait_chain_include_the_other_core(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    const struct ntk_idle_engine *tensor;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    uint32_t softmax = hand_trace_nop(&h, 1, DVE, NONE, 0, 9);
    uint32_t write = write_to(&h, 1, ACT, REGISTER + 4 * 3, 1);
    uint32_t product = hand_trace_nop(&h, 0, PE, 3, 1, NONE);
    hand_trace_run(&h, 1, DVE, softmax, 0, 600);
    hand_trace_change(&h, 1, VECTOR, 9, 1, 600);
    hand_trace_run(&h, 1, ACT, write, 610, 700);
    hand_trace_change(&h, 0, AXI, 3, 1, 800);
    hand_trace_run(&h, 0, PE, product, 810, 1000);
    hand_answers_ask(&h, &a);

    assert_true(a.path.has_cores);
    assert_int_equal(a.path.core, 0);
    assert_int_equal(path_ps(&a, 1, VECTOR), NS(600));
    assert_int_equal(path_ps(&a, 1, SCALAR), NS(90));
    assert_int_equal(path_ps(&a, 0, TENSOR), NS(190));
    assert_int_equal(a.path.kinds_ps[NTK_PATH_LATENCY], NS(10 + 100 + 10));
    assert_int_equal(a.path.kinds_ps[NTK_PATH_WAIT], 0);

    find_engine(&a, 0, TENSOR, &tensor);
    assert_int_equal(tensor->rows[0].reason, NTK_IDLE_ENGINE);
    assert_true(tensor->rows[0].is_other_core);
    assert_int_equal(tensor->chains.count, 1);
    const struct ntk_wait_chain *chain = &tensor->chains.chains[0];
    const struct ntk_chain_link *root = &chain->links[chain->link_count - 1];
    assert_int_equal(root->engine, VECTOR);
    assert_true(root->is_other_core && root->core == 1);
    assert_int_equal(root->part_ps, NS(600));
    assert_false(chain->is_unknown);

    struct ntk_buf out = { 0 };
    ntk_output_bubbles_text(a.program, &a.bubbles, 0, &out);
    assert_non_null(strstr(ntk_buf_text_get(&out), "waits for Scalar WRITE of core 1"));
    assert_non_null(strstr(ntk_buf_text_get(&out), "Vector NOP of core 1"));
    ntk_output_path_text(a.program, &a.path, &out);
    assert_non_null(strstr(ntk_buf_text_get(&out), "over several cores to the end of core 0"));
    assert_non_null(strstr(ntk_buf_text_get(&out), "Vector engine of core 1"));
    assert_non_null(strstr(ntk_buf_text_get(&out), "Tensor engine of core 0"));
    assert_non_null(strstr(ntk_buf_text_get(&out), "Scalar WRITE of core 1"));
    assert_non_null(strstr(ntk_buf_text_get(&out), "Vector pc 0 NOP of core 1"));
    ntk_buf_fini(&out);
    hand_answers_done(&h, &a);
}

/* Ten rounds: core 0 works 100 ns and writes to core 1, which works 200 ns and writes back; each
 * write arrives 50 ns after its start. Two thirds of the path are in core 1. */
static void two_alternating_cores_have_one_critical_path(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    const struct ntk_idle_engine *engine;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 10 * 400);
    uint32_t writes[2];
    for (size_t c = 0; c < 2; c++) {
        writes[c] = write_to(&h, c, ACT, REGISTER + (c ? 0 : 0x1000000000) + 4 * 3, 0);
    }
    for (int64_t i = 0; i < 10; i++) {
        for (size_t c = 0; c < 2; c++) {
            int64_t from_ns = 400 * i + (c ? 150 : 0);
            int64_t until_ns = from_ns + (c ? 200 : 100);
            uint32_t wait = (uint32_t)(i + (int64_t)c);
            uint32_t work = hand_trace_nop(&h, c, ACT, wait ? 3 : NONE, wait, NONE);
            hand_trace_run(&h, c, ACT, work, from_ns, until_ns - 10);
            hand_trace_run(&h, c, ACT, writes[c], until_ns - 10, until_ns);
            if (i < 9 || c == 0) {
                hand_trace_change(&h, 1 - c, AXI, 3, (uint32_t)i + 1, until_ns + 50);
            } else {
                h.cores[c].instruction_count--; /* the last one writes to no core */
            }
        }
    }
    hand_answers_ask(&h, &a);

    assert_true(a.path.has_cores);
    assert_int_equal(path_ps(&a, 0, SCALAR), NS(10 * 100));
    assert_int_equal(path_ps(&a, 1, SCALAR), NS(10 * 200 - 10));
    assert_int_equal(a.path.kinds_ps[NTK_PATH_LATENCY], NS(19 * 50));
    find_engine(&a, 1, SCALAR, &engine);
    assert_int_equal(engine->rows[0].count, 10);
    assert_int_equal(engine->rows[0].idle_ps, NS(10 * 150 + 9 * 50));
    hand_answers_done(&h, &a);
}

/* A group of the open encoding changes semaphore 3 of the other core when its load is complete. */
static void a_completed_dma_group_signals_the_other_core(void **state)
{
    uint16_t remote[] = { 3 };
    struct hand_trace h;
    struct hand_answers a;
    const struct ntk_idle_engine *tensor;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    struct ntk_neff_dma_group group = { .id = 5,
                                        .queue_set = hand_trace_queue(&h, 1, "qSPIO0", 20),
                                        .semaphore = 20,
                                        .event = NTK_NEFF_NONE,
                                        .remote_semaphore_count = 1,
                                        .remote_semaphores = remote,
                                        .function_start = "" };
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    trigger.queue = (uint16_t)group.queue_set;
    trigger.group_id = 5;
    h.neff_subgraphs[1].engines[NTK_ISA_ENGINE_SP].groups = &group;
    h.neff_subgraphs[1].engines[NTK_ISA_ENGINE_SP].group_count = 1;
    uint32_t load = hand_trace_open(&h, 1, NTK_ISA_ENGINE_SP, &trigger);
    uint32_t product = hand_trace_nop(&h, 0, PE, 3, 1, NONE);
    hand_trace_run(&h, 1, NTK_ISA_ENGINE_SP, load, 0, 100);
    hand_trace_change(&h, 1, AXI, 20, 1, 700);
    hand_trace_change(&h, 0, AXI, 3, 1, 700);
    hand_trace_run(&h, 0, PE, product, 700, 1000);
    hand_answers_ask(&h, &a);

    find_engine(&a, 0, TENSOR, &tensor);
    assert_int_equal(tensor->rows[0].reason, NTK_IDLE_DMA);
    assert_true(tensor->rows[0].is_other_core);
    assert_string_equal(tensor->rows[0].queue, "qSPIO0");
    assert_int_equal(a.path.kinds_ps[NTK_PATH_TRANSFER], NS(600));
    assert_int_equal(a.path.kinds_ps[NTK_PATH_WAIT], 0);
    struct ntk_buf out = { 0 };
    ntk_output_idle_text(a.program, &a.idle, &out);
    assert_non_null(strstr(ntk_buf_text_get(&out), "changed by DMA queue qSyncIO0 of core 1"));
    ntk_buf_fini(&out);
    hand_answers_done(&h, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_reported_with_its_cause_on_the_other_core_or_why_it_is_unknown),
        cmocka_unit_test(critical_path_and_wait_chain_include_the_other_core),
        cmocka_unit_test(two_alternating_cores_have_one_critical_path),
        cmocka_unit_test(a_completed_dma_group_signals_the_other_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
