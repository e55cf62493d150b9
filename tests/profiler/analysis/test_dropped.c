/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made programs, changes and packets from which a known number of records is removed.
 */
#include "profiler/analysis/dropped.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/incomplete.h"
#include "shared/formats/neff/vendor_slot.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define SP NTK_ISA_ENGINE_SP
#define SEMAPHORE 9

static void expect(struct hand_trace *h, const char *what, uint64_t instructions, uint64_t changes,
                   uint64_t bytes)
{
    struct ntk_program *program = NULL;

    hand_trace_end(h);
    assert_int_equal(ntk_program_create(&h->trace, &program), 0);
    if (program->dropped.instructions.lost != instructions ||
        program->dropped.changes.lost != changes || program->dropped.bytes.lost != bytes) {
        fail_msg("%s: %llu instructions, %llu changes, %llu bytes", what,
                 (unsigned long long)program->dropped.instructions.lost,
                 (unsigned long long)program->dropped.changes.lost,
                 (unsigned long long)program->dropped.bytes.lost);
    }
    unsigned wanted = (instructions ? NTK_LACK_INSTRUCTIONS : 0) | (changes ? NTK_LACK_EVENTS : 0) |
                      (bytes ? NTK_LACK_PACKETS : 0);
    assert_int_equal(ntk_program_lacks(program), wanted);
    ntk_program_destroy(program);
}

/* ---- instructions ---- */

/* n: one slot; o: with two operands; b: branch; h: second half of the previous one; f: starts a
 * function; r: returns. */
static uint32_t add(struct hand_trace *h, char kind)
{
    uint8_t vendor[NTK_NTFF_SLOT_BYTES] = { NTK_NTFF_OPCODE_COMPARE_BRANCH, 0x10 };
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

    switch (kind) {
    case 'b':
        return hand_trace_slot(h, 0, NTK_ISA_ENGINE_DVE, vendor);
    case 'h':
        vendor[0] = 0xda;
        return hand_trace_slot(h, 0, NTK_ISA_ENGINE_DVE, vendor);
    case 'f':
        instr = ntk_isa_instr_make(NTK_ISA_OP_FUNCTION);
        instr.name_id = 1; /* a function must have one */
        break;
    case 'r':
        instr = ntk_isa_instr_make(NTK_ISA_OP_RETURN);
        break;
    case 'o':
        instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 128, 4, NTK_DTYPE_FLOAT32);
        instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(64, 128, 4, NTK_DTYPE_FLOAT32);
        break;
    default:
        return hand_trace_nop(h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, NONE);
    }
    return hand_trace_open(h, 0, NTK_ISA_ENGINE_DVE, &instr);
}

static void dropped_instruction_records_are_counted(void **state)
{
    static const struct {
        const char *what, *program, *counts;
        uint64_t lost;
    } rows[] = {
        { "complete", "nnnn", "1111", 0 },
        { "one is missing", "nnnn", "1011", 1 },
        { "three in a row", "nnnnn", "10001", 3 },
        { "twice one", "nnnnn", "10101", 2 },
        { "a branch skips what is not executed", "nnbnnn", "111001", 0 },
        { "the first ones after a branch", "nbnnn", "11111", 0 },
        { "a loop runs its body more often", "nnnbn", "14441", 0 },
        { "one repetition of the body", "nnnbn", "14341", 1 },
        { "operand slots do not run", "oono", "1111", 0 },
        { "one with operands", "oono", "1011", 1 },
        { "a program that stopped", "nnnn", "1100", 0 },
        { "a second half runs with the first", "nhn", "101", 0 },
        { "a function is called from elsewhere", "nnfonr", "110333", 0 },
        { "one repetition in a function", "nnfonr", "110323", 1 },
        { "nothing ran", "nnn", "000", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t counts[64] = { 0 };
        struct hand_trace h;
        int64_t at_ns = 0;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        for (size_t n = 0; rows[i].program[n]; n++) {
            uint32_t slot = add(&h, rows[i].program[n]);
            counts[slot] = (uint64_t)(rows[i].counts[n] - '0');
            for (uint64_t time = 0; time < counts[slot]; time++, at_ns += 10) {
                hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, slot, at_ns, at_ns + 10);
            }
        }
        h.cores[0].has_slot_counts = true;
        h.cores[0].slot_counts[NTK_NTFF_ENGINE_VECTOR] = counts;
        expect(&h, rows[i].what, rows[i].lost, 0, 0);
        h.trace.is_part = true; /* a window lacks records that exist elsewhere */
        expect(&h, "a window", 0, 0, 0);
        hand_trace_fini(&h);
    }
}

/* ---- changes ---- */

static void dropped_semaphore_records_are_counted(void **state)
{
    static const struct {
        const char *what, *values; /* "3": an increment to 3; "=0": a write; "-2": a decrement */
        unsigned number;
        uint64_t lost;
    } rows[] = {
        { "complete", "1 2 3 4", SEMAPHORE, 0 },
        { "one is missing", "1 3 4", SEMAPHORE, 1 },
        { "several in a row", "1 2 7", SEMAPHORE, 4 },
        { "twice", "1 3 4 6", SEMAPHORE, 2 },
        { "the first ones are unknown", "5 6", SEMAPHORE, 0 },
        { "a write restarts it", "1 2 =0 1 2", SEMAPHORE, 0 },
        { "after a write", "1 2 =0 2", SEMAPHORE, 1 },
        { "a decrement", "1 2 -1 2", SEMAPHORE, 0 },
        { "a value that fell without a record", "8 1 2", SEMAPHORE, 0 },
        { "a value that did not change", "2 2", SEMAPHORE, 0 },
        { "a semaphore that the program does not use", "1 5", SEMAPHORE + 1, 0 },
        { "a value that is not a count", "1 4294967290", SEMAPHORE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        char *rest = text;
        struct hand_trace h;
        int64_t at_ns = 0;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        const uint8_t slot[NTK_NTFF_SLOT_BYTES] = {
            [0] = NTK_NTFF_OPCODE_NOP, [1] = 0x10, [6] = NTK_VENDOR_SIGNAL_INC, [7] = SEMAPHORE
        };
        hand_trace_run(&h, 0, SP, hand_trace_slot(&h, 0, SP, slot), 0, 10);
        snprintf(text, sizeof text, "%s", rows[i].values);
        for (const char *word; (word = strtok_r(rest, " ", &rest)) != NULL; at_ns += 10) {
            bool is_inc = *word != '=' && *word != '-';
            hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SYNC, rows[i].number,
                              (uint32_t)strtoul(word + !is_inc, NULL, 10), at_ns);
            h.cores[0].events[h.cores[0].event_count - 1].mode =
                is_inc         ? NTK_NTFF_MODE_SEMAPHORE_INC
                : *word == '-' ? NTK_NTFF_MODE_SEMAPHORE_DEC
                               : NTK_NTFF_MODE_SEMAPHORE_WRITE;
        }
        if (rows[i].number != SEMAPHORE) { /* the change that the instruction makes */
            hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SYNC, SEMAPHORE, 1, at_ns);
        }
        expect(&h, rows[i].what, 0, rows[i].lost, 0);
        hand_trace_fini(&h);
    }
}

/* Sync and Scalar each have an instruction of the runtime that changes semaphore 2, as in the
 * barriers around a program: 1, 2, then a write of 0. */
static void a_change_is_expected_of_each_instruction_that_makes_one(void **state)
{
    static const struct {
        const char *what;
        unsigned sync_runs, scalar_runs;
        const char *changes; /* y: by Sync, s: by Scalar, d: by DMA, v: by Vector */
        uint64_t lost;
    } rows[] = {
        { "complete", 2, 2, "ysys", 0 },
        { "one of Sync is missing", 2, 2, "yss", 1 },
        { "one of each is missing", 2, 2, "ys", 2 },
        { "all of Scalar are missing", 2, 3, "yy", 3 },
        { "a change by another engine does not count", 2, 2, "ysvv", 2 },
        { "nor is one by DMA", 1, 1, "yd", 1 },
        { "more changes than instructions", 1, 1, "yysss", 0 },
        { "more by one engine, fewer by the other", 1, 2, "yyys", 1 },
        { "only by DMA", 0, 0, "ddd", 0 },
        { "no changes at all: the records of this kind are missing", 2, 2, "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const unsigned engines[2] = { SP, NTK_ISA_ENGINE_ACT };
        const unsigned runs[2] = { rows[i].sync_runs, rows[i].scalar_runs };
        struct ntk_ntff_insertion insertions[2] = { 0 };
        struct hand_trace h;
        int64_t at_ns = 0;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        for (size_t e = 0; e < 2; e++) {
            const uint8_t slot[NTK_NTFF_SLOT_BYTES] = { [0] = NTK_NTFF_OPCODE_EVENT_SEMAPHORE,
                                                        [1] = 0x10,
                                                        [34] = NTK_VENDOR_SIGNAL_INC,
                                                        [35] = 2 };
            uint32_t at = hand_trace_slot(&h, 0, engines[e], slot);
            insertions[e].engine = (uint8_t)engines[e];
            insertions[e].slot = at;
            insertions[e].count = 1;
            for (unsigned n = 0; n < runs[e]; n++, at_ns += 10) {
                hand_trace_run(&h, 0, engines[e], at, at_ns, at_ns + 10);
            }
        }
        h.subgraphs[0].insertions = insertions;
        h.subgraphs[0].insertion_count = 2;
        uint32_t value = 0;
        for (const char *at = rows[i].changes; *at; at++) {
            unsigned source = *at == 'y'   ? NTK_NTFF_ENGINE_SYNC
                              : *at == 's' ? NTK_NTFF_ENGINE_SCALAR
                              : *at == 'v' ? NTK_NTFF_ENGINE_VECTOR
                                           : NTK_NTFF_ENGINE_AXI;
            value = value % 3 + 1;
            hand_trace_change(&h, 0, source, 2, value % 3, at_ns += 10);
            h.cores[0].events[h.cores[0].event_count - 1].mode = NTK_NTFF_MODE_SEMAPHORE_WRITE;
        }
        expect(&h, rows[i].what, 0, rows[i].lost, 0);
        h.cores[0].is_cut.events = true; /* the rest of the file is missing */
        struct ntk_program *program = NULL;
        assert_int_equal(ntk_program_create(&h.trace, &program), 0);
        assert_int_equal(program->dropped.changes.lost, 0);
        ntk_program_destroy(program);
        hand_trace_fini(&h);
    }
}

/* ---- bytes ---- */

#define COLUMNS 4
#define LOAD_BYTES (128 * COLUMNS * 4) /* of a load */

static void dropped_packet_records_are_counted(void **state)
{
    static struct ntk_ntff_queue queue = { .engine = 0, .queue = 1, .name = "qSPIO0" };
    static const struct {
        const char *what;
        unsigned loads, packets;
        uint32_t packet_bytes;
        bool has_ring;
        uint64_t lost;
    } rows[] = {
        { "complete", 1, 1, LOAD_BYTES, true, 0 },
        { "in parts", 1, 4, LOAD_BYTES / 4, true, 0 },
        { "with the writes of semaphores", 1, 1, LOAD_BYTES + 4, true, 0 },
        { "half of it", 1, 1, LOAD_BYTES / 2, true, LOAD_BYTES / 2 },
        { "one packet of four", 1, 3, LOAD_BYTES / 4, true, LOAD_BYTES / 4 },
        { "twice, complete", 2, 2, LOAD_BYTES, true, 0 },
        { "one of two", 2, 1, LOAD_BYTES, true, LOAD_BYTES },
        { "two of three", 3, 1, LOAD_BYTES, true, 2 * LOAD_BYTES },
        { "more than the program moves", 1, 3, LOAD_BYTES, true, 0 },
        { "the place of the queue is unknown", 2, 1, LOAD_BYTES, false, 0 },
        { "no transfer", 0, 1, LOAD_BYTES, true, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hand_trace h;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        struct ntk_isa_instr load = hand_trace_load(&h, 0, COLUMNS);
        uint32_t slot = hand_trace_open(&h, 0, SP, &load);
        for (unsigned n = 0; n < rows[i].loads; n++) {
            hand_trace_run(&h, 0, SP, slot, 10 * n, 10 * n + 10);
        }
        for (unsigned n = 0; n < rows[i].packets; n++) {
            hand_trace_packet(&h, 0, 0, 1, NTK_TRACE_DMA_IO, rows[i].packet_bytes, 100 + 10 * n,
                              110 + 10 * n);
        }
        h.subgraphs[0].queues = &queue;
        h.subgraphs[0].queue_count = rows[i].has_ring;
        expect(&h, rows[i].what, 0, 0, rows[i].lost);
        hand_trace_fini(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropped_instruction_records_are_counted),
        cmocka_unit_test(dropped_semaphore_records_are_counted),
        cmocka_unit_test(a_change_is_expected_of_each_instruction_that_makes_one),
        cmocka_unit_test(dropped_packet_records_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
