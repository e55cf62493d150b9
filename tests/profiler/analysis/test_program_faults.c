/* SPDX-License-Identifier: MIT */
/* Method: every allocation fails in turn while the facts of a hand-made program are determined.
 * Facts that are determined nevertheless are complete. */
#include "profiler/analysis/program.h"

#include <errno.h>

#include "shared/formats/neff/vendor_slot.h"
#include "tests/support/fault.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define SP NTK_ISA_ENGINE_SP
#define SEMAPHORE 9
#define EXECUTIONS 3
#define COLUMNS 4

struct world {
    struct hand_trace h;
    uint64_t instructions, changes, bytes, executions;
    size_t borders;
};

static int create_and_destroy(void *ctx, struct ntk_err *err)
{
    struct world *w = ctx;
    struct ntk_program *program = NULL;
    int ret = ntk_program_create(&w->h.trace, &program);

    if (ret < 0) {
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "no program");
    }
    w->instructions = program->dropped.instructions.lost;
    w->changes = program->dropped.changes.lost;
    w->bytes = program->dropped.bytes.lost;
    w->executions = program->execution_count;
    w->borders = program->borders.count;
    ntk_program_destroy(program);
    return 0;
}

static const char *has_all(void *ctx, int ret)
{
    const struct world *w = ctx;

    return ret < 0                                          ? NULL
           : w->instructions != 1                           ? "lost instructions are missing"
           : w->changes != 2                                ? "lost changes are missing"
           : w->bytes == 0                                  ? "lost bytes are missing"
           : w->executions != EXECUTIONS || w->borders != 3 ? "executions are missing"
                                                            : NULL;
}

static void a_program_without_memory_fails_or_is_complete(void **state)
{
    static struct ntk_ntff_queue queue = { .engine = 0, .queue = 1, .name = "qSPIO0" };
    static const uint8_t signal[NTK_NTFF_SLOT_BYTES] = {
        [0] = NTK_NTFF_OPCODE_NOP, [1] = 0x10, [6] = NTK_VENDOR_SIGNAL_INC, [7] = SEMAPHORE
    };
    static struct world w;
    uint64_t counts[HAND_TRACE_SLOTS] = { 0 };
    const struct fault_operation operation = { .kinds = FAULT_ALLOCATION,
                                               .run = create_and_destroy,
                                               .after = has_all };

    (void)state;
    hand_trace_begin(&w.h, 1, "trn2.3xlarge", 1000);
    struct ntk_isa_instr load = hand_trace_load(&w.h, 0, COLUMNS);
    uint32_t first = hand_trace_slot(&w.h, 0, SP, signal);
    uint32_t middle = hand_trace_open(&w.h, 0, SP, &load);
    uint32_t last = hand_trace_slot(&w.h, 0, SP, signal);
    for (int i = 0; i < EXECUTIONS; i++) {
        hand_trace_run(&w.h, 0, SP, first, 100 * i, 100 * i + 10);
        hand_trace_run(&w.h, 0, SP, middle, 100 * i + 10, 100 * i + 20);
        hand_trace_run(&w.h, 0, SP, last, 100 * i + 20, 100 * i + 30);
    }
    for (uint32_t i = 1; i <= 4; i++) {
        hand_trace_change(&w.h, 0, NTK_NTFF_ENGINE_SYNC, SEMAPHORE, i, 10 * i);
        w.h.cores[0].events[w.h.cores[0].event_count - 1].mode = NTK_NTFF_MODE_SEMAPHORE_INC;
    }
    hand_trace_packet(&w.h, 0, 0, 1, NTK_TRACE_DMA_IO, 128 * COLUMNS * 4, 30, 40);
    w.h.subgraphs[0].queues = &queue;
    w.h.subgraphs[0].queue_count = 1;
    counts[first] = counts[last] = EXECUTIONS;
    counts[middle] = EXECUTIONS - 1;
    w.h.cores[0].has_slot_counts = true;
    w.h.cores[0].slot_counts[NTK_NTFF_ENGINE_SYNC] = counts;
    hand_trace_end(&w.h);
    assert_true(fault_everywhere(&operation, &w) > 3);
    hand_trace_fini(&w.h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_without_memory_fails_or_is_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
