/* SPDX-License-Identifier: MIT */
/*
 * What lines, loops and iterations cost.
 *
 * Method: a hand-made trace of two cores with hand-made positions of slots: slot s
 * has line 10 + s, and slots 1 and 2 of PE are in the iterations h=0,t=0 and h=0,t=1 of a kernel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/source_lines.h"
#include "tests/support/hand_positions.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define SLOTS 4
#define FILE_NAME "/k/a.py"

struct fixture {
    struct hand_trace h;
    struct ntk_program *program;
    struct ntk_dependencies dependencies;
    struct ntk_source_lines *lines;
};

static struct ntk_neff_positions *make_positions(void)
{
    struct ntk_neff_positions *p = hand_positions(FILE_NAME, 2, SLOTS, 10);
    struct ntk_neff_kernel *kernel = &p->kernel;

    HAND_POSITIONS_PUSH(&kernel->functions, struct ntk_neff_function, .name = "f",
                        .file = FILE_NAME);
    HAND_POSITIONS_PUSH(&kernel->loops, struct ntk_neff_loop, .variable = "h", .function = "f");
    HAND_POSITIONS_PUSH(&kernel->loops, struct ntk_neff_loop, .variable = "t", .function = "f",
                        .parent = 1, .depth = 1);
    /* Two nodes with the same path count as one iteration. */
    for (int64_t i = 0; i < 2; i++) {
        HAND_POSITIONS_PUSH(&kernel->iterations, struct ntk_neff_iteration, .variable = "h",
                            .function = 1);
        HAND_POSITIONS_PUSH(&kernel->iterations, struct ntk_neff_iteration, .variable = "t",
                            .function = 1, .value = i, .parent = (uint32_t)(2 * i + 1), .loop = 1,
                            .depth = 1);
        HAND_POSITIONS_PUSH(&kernel->instructions, struct ntk_neff_kernel_instruction,
                            .number = (uint64_t)i, .line = 11, .function = 1,
                            .iteration = (uint32_t)(2 * i + 2));
    }
    HAND_POSITIONS_PUSH(&kernel->instructions, struct ntk_neff_kernel_instruction, .number = 9,
                        .line = 13, .function = 1, .iteration = 3); /* h=0 alone */
    for (size_t c = 0; c < 2; c++) {
        struct ntk_neff_position *of_kernel = p->cores[c].slots[NTK_ISA_ENGINE_PE];
        of_kernel[0].instruction = 3;
        of_kernel[1].instruction = 1;
        of_kernel[2].instruction = 2;
        for (unsigned e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
            p->cores[c].slots[e][SLOTS - 1] = (struct ntk_neff_position){ 0 };
        }
    }
    return p;
}

static void make_program(struct fixture *f)
{
    hand_trace_end(&f->h);
    assert_int_equal(ntk_program_create(&f->h.trace, &f->program), 0);
}

static void ask(struct fixture *f, bool has_positions)
{
    if (!f->program) {
        make_program(f);
    }
    assert_int_equal(ntk_analysis_dependencies(f->program, &f->dependencies), 0);
    ntk_neff_positions_destroy(f->program->positions);
    f->program->positions = has_positions ? make_positions() : NULL;
    assert_int_equal(ntk_source_lines_create(f->program, NULL, &f->dependencies, &f->lines), 0);
}

static void done(struct fixture *f)
{
    ntk_source_lines_destroy(f->lines);
    ntk_dependencies_fini(&f->dependencies);
    ntk_program_destroy(f->program);
    hand_trace_fini(&f->h);
}

static const struct ntk_source_line *line_at(const struct fixture *f, uint32_t line)
{
    for (size_t i = 0; i < f->lines->line_count; i++) {
        if (f->lines->lines[i].line == line) {
            return &f->lines->lines[i];
        }
    }
    fail_msg("no line %u", line);
    return NULL;
}

static void wait_of(struct fixture *f, size_t core, uint16_t cycles)
{
    f->h.cores[core].instructions[f->h.cores[core].instruction_count - 1].wait_cycles = cycles;
}

static void table_rows_are_summed_by_source_line_and_overlaps_count_once(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    hand_trace_begin(&f.h, 2, "trn2.3xlarge", 1000);
    for (size_t c = 0; c < 2; c++) {
        for (int s = 0; s < SLOTS; s++) {
            hand_trace_nop(&f.h, c, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
            hand_trace_nop(&f.h, c, NTK_ISA_ENGINE_DVE, NONE, 0, NONE);
        }
    }
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, 1, 100, 200);
    wait_of(&f, 0, 1200);                                     /* 1000 ns */
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_DVE, 1, 150, 250); /* the same line */
    hand_trace_run(&f.h, 1, NTK_ISA_ENGINE_PE, 1, 240, 300);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, 1, 500, 900);
    f.h.cores[0].instructions[2].opcode = NTK_NTFF_OPCODE_EVENT_SEMAPHORE;
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, 2, 600, 610);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, 3, 700, 720); /* no line */
    ask(&f, true);

    assert_int_equal(f.lines->line_count, 3);
    const struct ntk_source_line *line = &f.lines->lines[0];
    assert_int_equal(line->line, 11);
    assert_string_equal(line->function, "f");
    assert_int_equal(line->sums.instruction_count, 4);
    assert_int_equal(line->sums.duration_ns, 100 + 100 + 60 + 400);
    assert_int_equal(line->sums.wait_ns, 1000);
    assert_int_equal(line->sums.active.covered_ps, 200 * NTK_TRACE_PS_PER_NS);
    assert_int_equal(line->sums.engine_counts[NTK_NTFF_ENGINE_TENSOR], 3);
    assert_int_equal(line->sums.engine_counts[NTK_NTFF_ENGINE_VECTOR], 1);
    assert_int_equal(f.lines->lines[1].line, 12);
    assert_int_equal(f.lines->lines[2].reason, NTK_SOURCE_COMPILER);
    assert_int_equal(f.lines->lines[2].sums.duration_ns, 20);
    done(&f);
}

/* Rows of tables are truncated to whole ns; the time that they cover together is not. */
static void the_active_time_of_a_line_is_at_most_that_of_its_rows(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    hand_trace_begin(&f.h, 1, "trn2.3xlarge", 1000);
    for (int s = 0; s < SLOTS; s++) {
        hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    }
    for (int i = 0; i < 20; i++) {
        hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, 1, 100 + 10 * i, 101 + 10 * i);
        f.h.cores[0].instructions[i].end_ps += 900;
    }
    ask(&f, true);

    const struct ntk_source_sums *sums = &line_at(&f, 11)->sums;
    assert_int_equal(sums->duration_ns, 20);
    assert_int_equal(sums->active.covered_ps, 38000);
    assert_int_equal(sums->duration_ps, 38000);
    done(&f);
}

static void overlapping_iterations_of_one_loop_path_are_merged(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    hand_trace_begin(&f.h, 1, "trn2.3xlarge", 1000);
    for (int s = 0; s < SLOTS; s++) {
        hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    }
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, 1, 100, 150); /* t=0 */
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, 2, 200, 250); /* t=1 */
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, 1, 300, 400); /* t=0 again */
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, 0, 450, 500); /* h=0 */
    ask(&f, true);

    const struct ntk_source_iteration *i = f.lines->iterations;
    assert_int_equal(f.lines->loop_count, 2);
    assert_int_equal(f.lines->iteration_count, 3);
    assert_int_equal(i[0].loop, 0);
    assert_int_equal(i[0].sums.instruction_count, 1);
    assert_int_equal(i[0].totals.instruction_count, 4);
    assert_int_equal(i[0].start_ps, 100 * NTK_TRACE_PS_PER_NS);
    assert_int_equal(i[0].end_ps, 500 * NTK_TRACE_PS_PER_NS);
    assert_int_equal(i[1].loop, 1);
    assert_int_equal(i[1].parent, 1);
    assert_int_equal(i[1].sums.instruction_count, 2);
    assert_int_equal(i[1].iteration->value, 0);
    assert_int_equal(i[2].iteration->value, 1);
    const struct ntk_source_loop *loop = &f.lines->loops[1];
    assert_int_equal(loop->iteration_count, 2);
    assert_int_equal(loop->span_sum_ns, 300 + 50);
    assert_int_equal(loop->span_max_ns, 300);
    assert_int_equal(loop->slowest, 1);
    assert_true(ntk_source_loop_overlap(loop) > 1.16 && ntk_source_loop_overlap(loop) < 1.17);
    assert_int_equal(f.lines->loops[0].sums.duration_ns, 50);
    assert_int_equal(f.lines->loops[0].totals.duration_ns, 250);
    done(&f);
}

static void a_wait_is_attributed_to_the_line_that_ended_it(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    hand_trace_begin(&f.h, 1, "trn2.3xlarge", 1000);
    hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9);
    hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, NONE);
    uint32_t waits = hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_DVE, 9, 1, NONE);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, 0, 100, 200);
    hand_trace_change(&f.h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 200);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_DVE, waits, 210, 300);
    wait_of(&f, 0, 120); /* 100 ns */
    ask(&f, true);

    const struct ntk_source_line *line = line_at(&f, 11);
    assert_int_equal(line->blocker_count, 1);
    assert_int_equal(line->blockers[0].wait_ns, 100);
    assert_int_equal(f.lines->lines[line->blockers[0].line].line, 10);
    assert_int_equal(line_at(&f, 10)->blocker_count, 0);
    done(&f);
}

/* "10 100, no_condition 50": lines and reasons with their waits. */
static void expect_blockers(const struct fixture *f, uint32_t line, const char *wanted)
{
    const struct ntk_source_line *of = line_at(f, line);
    char text[200] = "";
    int64_t sum_ns = 0;

    for (size_t b = 0; b < of->blocker_count; b++) {
        const struct ntk_source_blocker *one = &of->blockers[b];
        const char *reason = ntk_source_blocker_reason(f->lines, one);
        size_t used = strlen(text);
        char number[16];
        snprintf(number, sizeof number, "%u", f->lines->lines[one->line].line);
        snprintf(text + used, sizeof text - used, "%s%s %lld", b ? ", " : "",
                 reason ? reason : number, (long long)one->wait_ns);
        sum_ns += one->wait_ns;
    }
    assert_string_equal(text, wanted);
    assert_int_equal(sum_ns, of->sums.wait_ns);
}

static void the_parts_of_a_wait_sum_to_its_duration(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    hand_trace_begin(&f.h, 1, "trn2.3xlarge", 1000);
    hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    uint32_t plain = hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9); /* has no line */
    hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, NONE);
    uint32_t waits = hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_DVE, 9, 1, NONE);
    hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    uint32_t free = hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_SP, NONE, 0, NONE);
    uint32_t lost = hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_SP, 11, 1, NONE);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, plain, 100, 200);
    hand_trace_change(&f.h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 200);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_DVE, waits, 210, 220);
    wait_of(&f, 0, 120);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_ACT, free, 300, 310);
    wait_of(&f, 0, 60);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_SP, lost, 400, 410);
    wait_of(&f, 0, 24);
    ask(&f, true);
    expect_blockers(&f, 11, "compiler 100, no_condition 50, unknown 20");
    done(&f);
}

/* The runtime makes two instructions from a trigger of prepared transfers: the first waits, the
 * second is the compiler's; the hardware assigns the same wait to both. */
static void a_dma_trigger_includes_the_waits_of_preceding_runtime_instructions(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    hand_trace_begin(&f.h, 1, "trn2.3xlarge", 1000);
    hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9);
    uint32_t first = hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_DVE, 9, 1, NONE);
    uint32_t second = hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, NONE);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, 0, 100, 200);
    hand_trace_change(&f.h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 200);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_DVE, first, 210, 220);
    wait_of(&f, 0, 120);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_DVE, second, 220, 230);
    wait_of(&f, 0, 120);
    make_program(&f);
    struct ntk_slot_fact *facts = f.program->facts[NTK_NTFF_ENGINE_VECTOR];
    struct ntk_slot_code wait = *facts[first].code;
    struct ntk_slot_code trigger = *facts[second].code;
    wait.is_runtime = true;
    facts[first].code = &wait;
    facts[first].compiler_pc = -1;
    trigger.is_open = false;
    trigger.is_transfer = true;
    facts[second].code = &trigger;
    ask(&f, true);
    expect_blockers(&f, 11, "10 100");
    done(&f);
}

/*
 * Slot 1 of PE (line 11) signals semaphore 9, slot 2 of DVE (line 12) waits for it, slot 1 of SP
 * (line 11) waits for a semaphore without a record; all others neither wait nor signal.
 */
struct run {
    size_t core;
    unsigned engine;
    uint32_t slot;
    int64_t start_ns, end_ns;
};

struct cost {
    uint32_t line;
    int64_t count, duration_ns, active_ns, idle_ns;
};

#define PE NTK_ISA_ENGINE_PE
#define ACT NTK_ISA_ENGINE_ACT
#define DVE NTK_ISA_ENGINE_DVE
#define SP NTK_ISA_ENGINE_SP

static const struct costed {
    const char *what;
    int64_t change_ns; /* of semaphore 9; 0: none */
    struct run runs[4];
    struct cost wanted[2]; /* the most expensive line first */
} costed[] = {
    { "one instruction", 0, { { 0, ACT, 1, 0, 100 } }, { { 11, 1, 100, 100, 0 } } },
    { "two lines, the longer one first",
      0,
      { { 0, ACT, 1, 0, 100 }, { 0, ACT, 2, 100, 300 } },
      { { 12, 1, 200, 200, 0 }, { 11, 1, 100, 100, 0 } } },
    { "twice the same line",
      0,
      { { 0, ACT, 1, 0, 100 }, { 0, ACT, 1, 300, 350 } },
      { { 11, 2, 150, 150, 0 } } },
    { "one line on two engines at the same time",
      0,
      { { 0, ACT, 1, 0, 100 }, { 0, DVE, 1, 50, 150 } },
      { { 11, 2, 200, 150, 0 } } },
    { "one line on two cores at the same time",
      0,
      { { 0, ACT, 1, 0, 100 }, { 1, ACT, 1, 0, 100 } },
      { { 11, 2, 200, 100, 0 } } },
    { "two lines at the same time each have their own",
      0,
      { { 0, ACT, 1, 0, 100 }, { 0, DVE, 0, 0, 90 } },
      { { 11, 1, 100, 100, 0 }, { 10, 1, 90, 90, 0 } } },
    { "an engine is idle for a line from its start on",
      200,
      { { 0, PE, 1, 0, 200 }, { 0, DVE, 2, 200, 210 } },
      { { 11, 1, 200, 200, 0 }, { 12, 1, 10, 10, 200 } } },
    { "an engine that works before it waits is idle only for the rest",
      200,
      { { 0, PE, 1, 0, 200 }, { 0, DVE, 1, 0, 150 }, { 0, DVE, 2, 200, 210 } },
      { { 11, 2, 350, 200, 0 }, { 12, 1, 10, 10, 50 } } },
    { "an engine that is busy until the change does not wait",
      200,
      { { 0, PE, 1, 0, 200 }, { 0, DVE, 1, 0, 200 }, { 0, DVE, 2, 200, 210 } },
      { { 11, 2, 400, 200, 0 }, { 12, 1, 10, 10, 0 } } },
    { "time after the change is issue, not waiting",
      200,
      { { 0, PE, 1, 0, 200 }, { 0, DVE, 2, 260, 270 } },
      { { 11, 1, 200, 200, 0 }, { 12, 1, 10, 10, 200 } } },
    { "a wait without a record is the line's, too",
      0,
      { { 0, SP, 1, 300, 340 } },
      { { 11, 1, 40, 40, 300 } } },
    { "after the last instruction no line waits",
      0,
      { { 0, ACT, 1, 0, 100 }, { 0, DVE, 1, 0, 900 } },
      { { 11, 2, 1000, 900, 0 } } },
};

static void make_slots(struct fixture *f)
{
    static const unsigned engines[] = { PE, ACT, DVE, SP };

    for (size_t c = 0; c < 2; c++) {
        for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
            for (int s = 0; s < SLOTS; s++) {
                bool signals = engines[e] == PE && s == 1;
                unsigned wait = engines[e] == DVE && s == 2  ? 9
                                : engines[e] == SP && s == 1 ? 33
                                                             : NONE;
                hand_trace_nop(&f->h, c, engines[e], wait, 1, signals ? 9 : NONE);
            }
        }
    }
}

static void costs_of_generated_source_lines_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof costed / sizeof *costed; i++) {
        const struct costed *program = &costed[i];
        struct fixture f = { 0 };
        size_t line_count = 0;

        hand_trace_begin(&f.h, 2, "trn2.3xlarge", 1000);
        make_slots(&f);
        for (size_t r = 0; r < 4 && program->runs[r].end_ns; r++) {
            const struct run *run = &program->runs[r];
            hand_trace_run(&f.h, run->core, run->engine, run->slot, run->start_ns, run->end_ns);
        }
        if (program->change_ns) {
            hand_trace_change(&f.h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, program->change_ns);
        }
        ask(&f, true);
        for (; line_count < 2 && program->wanted[line_count].line; line_count++) {
            const struct cost *wanted = &program->wanted[line_count];
            const struct ntk_source_line *line = &f.lines->lines[line_count];
            const struct ntk_source_sums *sums = &line->sums;
            if (line->line != wanted->line || sums->instruction_count != wanted->count ||
                sums->duration_ns != wanted->duration_ns ||
                sums->active.covered_ps != wanted->active_ns * NTK_TRACE_PS_PER_NS ||
                sums->idle_ps != wanted->idle_ns * NTK_TRACE_PS_PER_NS) {
                fail_msg("%s: line %u, %lld times, %lld ns, active %lld ps, idle %lld ps",
                         program->what, line->line, (long long)sums->instruction_count,
                         (long long)sums->duration_ns, (long long)sums->active.covered_ps,
                         (long long)sums->idle_ps);
            }
        }
        assert_int_equal(f.lines->line_count, line_count);
        done(&f);
    }
}

/* Records have 16 bits of cycles, 54,612 ns at 1.2 GHz: hardware begins again at 0. */
static void waits_longer_than_a_record_can_count_are_counted(void **state)
{
    static const struct {
        int64_t wait_ns;
        uint64_t long_count;
    } waits[] = { { 54000, 0 }, { 54612, 0 }, { 54614, 1 }, { 200000, 1 } };

    (void)state;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        struct fixture f = { 0 };

        hand_trace_begin(&f.h, 2, "trn2.3xlarge", 300000);
        make_slots(&f);
        hand_trace_run(&f.h, 0, PE, 1, 0, waits[i].wait_ns);
        hand_trace_run(&f.h, 0, DVE, 2, waits[i].wait_ns, waits[i].wait_ns + 10);
        wait_of(&f, 0, (uint16_t)(waits[i].wait_ns * 12 / 10));
        hand_trace_change(&f.h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, waits[i].wait_ns);
        ask(&f, true);
        assert_int_equal(f.lines->long_wait_count, waits[i].long_count);
        done(&f);
    }
}

static void rows_without_source_positions_are_reported_with_the_reason(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    hand_trace_begin(&f.h, 1, "trn2.3xlarge", 1000);
    uint32_t nop = hand_trace_nop(&f.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    hand_trace_run(&f.h, 0, NTK_ISA_ENGINE_PE, nop, 100, 200);
    ask(&f, false);
    assert_int_equal(f.lines->line_count, 1);
    assert_int_equal(f.lines->lines[0].reason, NTK_SOURCE_NO_DEBUG_INFO);
    assert_int_equal(f.lines->loop_count, 0);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_rows_are_summed_by_source_line_and_overlaps_count_once),
        cmocka_unit_test(the_active_time_of_a_line_is_at_most_that_of_its_rows),
        cmocka_unit_test(overlapping_iterations_of_one_loop_path_are_merged),
        cmocka_unit_test(a_wait_is_attributed_to_the_line_that_ended_it),
        cmocka_unit_test(the_parts_of_a_wait_sum_to_its_duration),
        cmocka_unit_test(a_dma_trigger_includes_the_waits_of_preceding_runtime_instructions),
        cmocka_unit_test(costs_of_generated_source_lines_are_found),
        cmocka_unit_test(waits_longer_than_a_record_can_count_are_counted),
        cmocka_unit_test(rows_without_source_positions_are_reported_with_the_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
