/* SPDX-License-Identifier: MIT */
/* read_instructions - pairs starts and ends of instructions, and finds the execution. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/trace/trace_build.h"
#include "profiler/trace/waiting.h"
#include "shared/base/order.h"

struct pairing { /* starts without an end yet, FIFO per slot of an engine */
    const struct ntk_ntff_subgraph *ntff;
    struct ntk_waiting waiting;
    uint32_t *queues[NTK_NTFF_ENGINE_COUNT]; /* indexed by slot */
    uint64_t outside_code, unpaired, unknown;
};

static int pairing_init(struct pairing *p, const struct ntk_ntff_subgraph *ntff)
{
    *p = (struct pairing){ .ntff = ntff };
    for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        const struct ntk_ntff_buffer *buffer = ntff->engine_buffers[e];
        size_t slots = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
        p->queues[e] = calloc(slots + 1, sizeof *p->queues[e]);
        if (!p->queues[e]) {
            return -ENOMEM;
        }
    }
    return 0;
}

static void pairing_fini(struct pairing *p)
{
    for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        free(p->queues[e]);
    }
    ntk_waiting_fini(&p->waiting);
}

/* Pairs a record. Returns 1 if an instruction is complete, with times on the file's clock; 0 if
 * not; or -ENOMEM. */
static int pair(struct pairing *p, const struct ntk_ntff_record *record,
                struct ntk_trace_instruction *out)
{
    if (record->kind == NTK_NTFF_RECORD_UNKNOWN) {
        p->unknown++;
        return 0;
    }
    if (record->slot == NTK_NTFF_SLOT_OUTSIDE) {
        p->outside_code++;
        return 0;
    }
    uint32_t *queue = &p->queues[record->engine][record->slot];
    if (record->kind == NTK_NTFF_RECORD_INSTRUCTION_START) {
        int ret = ntk_waiting_push(&p->waiting, queue, record->time_ps, record->wait_cycles);
        p->unpaired++;
        return ret == -ENOMEM ? ret : 0;
    }
    if (!*queue) {
        p->unpaired++;
        return 0;
    }
    struct ntk_waiting_item start = ntk_waiting_pop(&p->waiting, queue);
    if (record->time_ps < start.time_ps) {
        p->unpaired++; /* its start stays counted */
        return 0;
    }
    p->unpaired--;
    *out = (struct ntk_trace_instruction){
        .start_ps = start.time_ps,
        .end_ps = record->time_ps,
        .slot = record->slot,
        .wait_cycles = (uint16_t)start.detail, /* complete, because records have 16 bits */
        .crc_in = record->crc_in,
        .crc_out = record->crc_out,
        .engine = record->engine,
        .opcode = p->ntff->engine_buffers[record->engine]
                      ->code[(size_t)record->slot * NTK_NTFF_SLOT_BYTES],
    };
    return 1;
}

/* ---- the time of the execution ---- */

struct found {
    bool has_notify;
    int64_t notify_end_ps;
    int64_t start_ps, end_ps; /* range of all instructions */
};

static void see(struct found *found, const struct ntk_trace_instruction *instruction)
{
    if (instruction->opcode == NTK_NTFF_OPCODE_NOTIFY &&
        (!found->has_notify || instruction->end_ps > found->notify_end_ps)) {
        found->has_notify = true;
        found->notify_end_ps = instruction->end_ps;
    }
    found->start_ps =
        instruction->start_ps < found->start_ps ? instruction->start_ps : found->start_ps;
    found->end_ps = instruction->end_ps > found->end_ps ? instruction->end_ps : found->end_ps;
}

/* ---- processing the records ---- */

struct sink { /* a list of the two */
    const struct ntk_trace_build *build;
    struct found *found;
    struct ntk_sorter *sorter;
    struct ntk_trace_core *core;
    const struct ntk_trace_window *window;
};

static int put(const struct sink *sink, const struct ntk_trace_instruction *instruction)
{
    struct ntk_trace_core *core = sink->core;

    if (sink->found) {
        see(sink->found, instruction);
        return 0;
    }
    int64_t start_ps = ntk_trace_since(instruction->start_ps, core->t0_ps);
    int64_t end_ps = ntk_trace_since(instruction->end_ps, core->t0_ps);
    if (instruction->start_ps < sink->window->start_ps ||
        instruction->end_ps > sink->window->end_ps || !ntk_trace_is_time(start_ps) ||
        !ntk_trace_is_time(end_ps)) {
        core->outside_window += 2;
        return 0;
    }
    int64_t started_ps = start_ps;
    core->end_ps = end_ps > core->end_ps ? end_ps : core->end_ps;
    if (!ntk_trace_build_clip(sink->build, &start_ps, &end_ps)) {
        return 0;
    }
    struct ntk_trace_instruction *to = ntk_sorter_add(sink->sorter);
    if (!to) {
        return sink->sorter->failed;
    }
    *to = *instruction;
    to->start_ps = start_ps;
    to->end_ps = end_ps;
    to->wait_cycles = started_ps < 0 ? 0 : to->wait_cycles; /* the wait was before the window */
    core->slot_counts[to->engine][to->slot]++;
    return 0;
}

static int pass(struct ntk_trace_build *build, const struct ntk_ntff_subgraph *ntff,
                const struct sink *sink, struct pairing *p)
{
    int ret = pairing_init(p, ntff);

    for (size_t s = 0; s < ntff->section_count && ret == 0; s++) {
        const struct ntk_ntff_section *section = &ntff->sections[s];
        if (section->type != NTK_NTFF_SECTION_INSTRUCTION ||
            section->block != NTK_NTFF_BLOCK_CORE) {
            continue;
        }
        for (uint64_t i = 0; i < section->record_count && ret >= 0;) {
            uint64_t end = ntk_trace_build_piece_end(section, i);
            for (; i < end && ret >= 0; i++) {
                struct ntk_ntff_record record;
                struct ntk_trace_instruction instruction;
                ntk_ntff_record_get(ntff, section, i, &record);
                ret = pair(p, &record, &instruction);
                ret = ret == 1 ? put(sink, &instruction) : ret;
            }
            ntk_trace_build_passed(build, section, i);
        }
    }
    pairing_fini(p);
    return ret;
}

/* Before version 6 the execution ends with the last NOTIFY of any engine, and its length is in the
 * header. Without these the window includes all records of the file. */
int ntk_trace_find_window(struct ntk_trace_build *build, struct ntk_trace_window *out_window)
{
    const struct ntk_ntff_subgraph *first = build->trace->cores[0].ntff;
    const struct ntk_ntff *ntff = build->trace->ntff;
    struct found found = { .start_ps = INT64_MAX, .end_ps = INT64_MIN };
    struct sink sink = { .found = &found };
    struct pairing pairing;

    if (ntff->has_window) {
        *out_window = (struct ntk_trace_window){ true, (int64_t)ntff->window_start_ps,
                                                 (int64_t)ntff->window_end_ps };
        return 0;
    }
    int ret = pass(build, first, &sink, &pairing);
    if (ret < 0) {
        return ntk_err_no_memory(build->err);
    }
    if (found.has_notify && first->execution_ps && first->execution_ps < INT64_MAX / 2 &&
        found.notify_end_ps > INT64_MIN / 2) {
        *out_window =
            (struct ntk_trace_window){ true, found.notify_end_ps - (int64_t)first->execution_ps,
                                       found.notify_end_ps };
    } else if (found.start_ps > found.end_ps) { /* without instructions */
        *out_window = (struct ntk_trace_window){ false, INT64_MIN, INT64_MAX };
    } else {
        *out_window = (struct ntk_trace_window){ false, found.start_ps, found.end_ps };
    }
    return 0;
}

NTK_ORDER(compare, struct ntk_trace_instruction, NTK_UP(engine) NTK_UP(slot));

static int make_slot_counts(struct ntk_trace_core *core)
{
    for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        const struct ntk_ntff_buffer *buffer = core->ntff->engine_buffers[e];
        size_t slots = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
        core->slot_counts[e] = calloc(slots + 1, sizeof *core->slot_counts[e]);
        if (!core->slot_counts[e]) {
            return -ENOMEM;
        }
    }
    core->has_slot_counts = true;
    return 0;
}

int ntk_trace_read_instructions(struct ntk_trace_build *build, struct ntk_trace_core *core,
                                const struct ntk_trace_window *window)
{
    struct ntk_sorter sorter;
    struct ntk_sorted sorted;
    struct pairing pairing;
    struct sink sink = { .build = build, .sorter = &sorter, .core = core, .window = window };

    int ret = make_slot_counts(core);
    if (ret < 0) {
        return ntk_err_no_memory(build->err);
    }
    ntk_trace_build_sorter(build, &sorter, sizeof(struct ntk_trace_instruction), compare);
    ret = pass(build, core->ntff, &sink, &pairing);
    if (ret < 0 && !sorter.failed) {
        ntk_sorter_fini(&sorter);
        return ntk_err_no_memory(build->err);
    }
    core->end_ps = core->end_ps > build->length_ps ? build->length_ps : core->end_ps;
    core->outside_code += pairing.outside_code;
    core->unpaired += pairing.unpaired;
    core->unknown += pairing.unknown;
    ret = ntk_trace_build_finish(build, &sorter, sizeof(struct ntk_trace_instruction), &sorted);
    if (ret == 0) {
        core->instructions = sorted.items;
        core->instruction_count = sorted.count;
        core->is_mapped.instructions = sorted.is_mapped;
    }
    return ret;
}
