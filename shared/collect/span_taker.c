/* SPDX-License-Identifier: MIT */
/* span_taker - keeps the state of each segment and turns its records into spans. */
#include "shared/collect/span_taker.h"

#include <stdlib.h>
#include <string.h>

#include "shared/base/map.h"

#define NAMES 8 /* model names remembered per segment */

enum span_kind { SPAN_EXEC, SPAN_LOAD, SPAN_COLLECTIVE, SPAN_KINDS };

struct thread_state {
    struct ntk_span_parent parent; /* a trace id of 0 in both halves: none */
    uint64_t since_ticks;
    uint64_t next_seq; /* next sequence in the thread's ring; it is the only writer of that ring */
};

struct model_name {
    uint32_t id;
    char text[NTK_MODEL_NAME_BYTES + 1];
};

struct segment_state {
    uint64_t seen[SPAN_KINDS];
    bool is_there;                /* mark for ntk_span_taker_forget(): still in the registry */
    struct thread_state *threads; /* NTK_SEGMENT_THREADS entries, allocated at the first trace */
    struct model_name names[NAMES];
    size_t next_name;
};

struct ntk_span_taker {
    struct ntk_span_rules rules;
    struct ntk_map segments; /* struct segment_state by serial number */
};

struct ntk_span_taker *ntk_span_taker_create(const struct ntk_span_rules *rules)
{
    struct ntk_span_taker *taker = calloc(1, sizeof *taker);

    if (taker) {
        taker->rules = *rules;
    }
    return taker;
}

static void free_state(struct segment_state *state)
{
    free(state->threads);
    free(state);
}

void ntk_span_taker_destroy(struct ntk_span_taker *taker)
{
    if (!taker) {
        return;
    }
    ntk_map_each(entry, &taker->segments) {
        free_state(entry->value);
    }
    ntk_map_fini(&taker->segments);
    free(taker);
}

void ntk_span_taker_forget(struct ntk_span_taker *taker, const struct ntk_ring_registry *registry)
{
    for (size_t i = 0; i < ntk_ring_registry_count(registry); i++) {
        struct segment_state *state = ntk_map_get_number(
            &taker->segments, ntk_ring_segment_serial(ntk_ring_registry_get(registry, i)));
        if (state) {
            state->is_there = true;
        }
    }
    for (size_t i = taker->segments.count; i-- > 0;) {
        struct ntk_map_entry *entry = &taker->segments.entries[i];
        struct segment_state *state = entry->value;

        if (!state->is_there) {
            ntk_map_remove_number(&taker->segments, entry->number);
            free_state(state);
        } else {
            state->is_there = false;
        }
    }
}

/* The state of a segment, created at the first request; NULL if out of memory. */
static struct segment_state *state_of(struct ntk_span_taker *taker,
                                      const struct ntk_ring_segment *segment)
{
    uint64_t serial = ntk_ring_segment_serial(segment);
    struct segment_state *state = ntk_map_get_number(&taker->segments, serial);

    if (!state) {
        state = calloc(1, sizeof *state);
        if (state && ntk_map_put_number(&taker->segments, serial, state) < 0) {
            free(state);
            return NULL;
        }
    }
    return state;
}

/* ---- the caller's trace ---- */

/* Sets the trace of a thread. All threads beyond the table share number 0, so their traces are
 * unknown. */
static void set_parent(struct segment_state *state, const struct ntk_slot *slot)
{
    struct thread_state *thread;

    if (slot->thread == 0) {
        return;
    }
    if (!state->threads) {
        state->threads = calloc(NTK_SEGMENT_THREADS, sizeof *state->threads);
        if (!state->threads) {
            return;
        }
    }
    thread = &state->threads[slot->thread];
    *thread = (struct thread_state){ .parent = { .trace_high = slot->word[2],
                                                 .trace_low = slot->word[3],
                                                 .span = slot->word[4],
                                                 .flags = (uint8_t)slot->word[1] },
                                     .since_ticks = slot->start_ticks,
                                     .next_seq = slot->seq + 1 };
    if (thread->parent.span == 0) { /* an id of zeros means none, whatever the segment claims */
        memset(&thread->parent, 0, sizeof thread->parent);
    }
}

/* The thread's trace at this record, or NULL. */
static const struct thread_state *follow(struct segment_state *state, const struct ntk_slot *slot)
{
    struct thread_state *thread = &state->threads[slot->thread];

    if ((thread->parent.trace_high | thread->parent.trace_low) == 0) {
        return NULL;
    }
    if (slot->seq != thread->next_seq) {
        memset(thread, 0, sizeof *thread); /* lost records may have ended the trace */
        return NULL;
    }
    thread->next_seq++;
    return thread;
}

/* Returns true if the trace was set by the record's thread, not by an earlier thread in the same
 * place, and before the record's work began. */
static bool is_of_trace(const struct thread_state *thread, const struct ntk_ring_thread *writer,
                        const struct ntk_slot *slot)
{
    return writer->first_ticks <= thread->since_ticks && thread->since_ticks <= slot->start_ticks;
}

/* ---- spans ---- */

static const char *model_name(struct segment_state *state, const struct ntk_ring_segment *segment,
                              uint32_t id)
{
    struct model_name *name = &state->names[state->next_name % NAMES];

    if (id == 0) {
        return "";
    }
    for (size_t i = 0; i < NAMES; i++) {
        if (state->names[i].id == id) {
            return state->names[i].text;
        }
    }
    name->id = 0;
    ntk_ring_segment_model_name(segment, id, name->text);
    if (name->text[0]) {
        name->id = id;
        state->next_name++;
    }
    return name->text;
}

static void fill_collective(const struct ntk_ring_segment *segment, const struct ntk_slot *slot,
                            struct ntk_span *out)
{
    struct ntk_ring_comm comm;

    out->operation = slot->flags & 0xffU;
    out->number = slot->word[2];
    out->bytes = slot->word[3];
    out->core_ns = ntk_ring_segment_ticks_to_ns(segment, slot->word[4]);
    if (ntk_ring_segment_comm(segment, NTK_WORD_LO(slot->word[1]), &comm)) {
        out->comm_key = comm.key;
        out->rank = comm.rank;
        out->rank_count = comm.rank_count;
        out->model_id = comm.model;
    }
}

static void fill(struct segment_state *state, struct ntk_aggregate *aggregate,
                 const struct ntk_ring_segment *segment, const struct ntk_slot *slot,
                 struct ntk_span *out)
{
    out->start_ns = ntk_ring_segment_realtime_ns(segment, slot->start_ticks);
    out->duration_ns = ntk_ring_segment_ticks_to_ns(segment, slot->word[0]);
    out->kind = slot->kind;
    out->core = slot->core;
    out->status = NTK_WORD_HI(slot->word[1]);
    switch (slot->kind) {
    case NTK_EVENT_COLLECTIVE:
        fill_collective(segment, slot, out);
        break;
    case NTK_EVENT_MODEL_LOAD:
        out->model_id = NTK_WORD_LO(slot->word[1]);
        out->bytes = slot->word[2];
        break;
    default:
        out->model_id = NTK_WORD_LO(slot->word[1]);
        out->queue = (uint16_t)NTK_EXEC_QUEUE(slot->flags);
        out->number = slot->word[2];
        out->core_ns = ntk_ring_segment_ticks_to_ns(segment, slot->word[3]);
        break;
    }
    const char *name = model_name(state, segment, out->model_id);
    char of_load[NTK_MODEL_NAME_BYTES + 1];
    if (!name[0] && slot->kind == NTK_EVENT_MODEL_LOAD &&
        ntk_ring_segment_text(segment, NTK_WORD_LO(slot->word[3]), of_load, sizeof of_load) > 0) {
        name = of_load; /* a model that failed to load has no row */
    }
    out->model_name = ntk_aggregate_event_text(aggregate, name);
}

static void take_one(struct ntk_span_taker *taker, struct segment_state *state,
                     struct ntk_aggregate *aggregate, const struct ntk_ring_segment *segment,
                     const struct ntk_ring_process *process, const struct ntk_slot *slot,
                     const struct thread_state *trace)
{
    const struct ntk_process_key key = { process->own_pid, process->uid, process->start_time };
    enum span_kind kind = slot->kind == NTK_EVENT_EXEC         ? SPAN_EXEC
                          : slot->kind == NTK_EVENT_MODEL_LOAD ? SPAN_LOAD
                                                               : SPAN_COLLECTIVE;
    const struct ntk_span_facts facts = {
        .is_load = kind == SPAN_LOAD,
        .has_failed = NTK_WORD_HI(slot->word[1]) != 0,
        .is_parent_sampled = trace && trace->parent.flags & NTK_SPAN_FLAG_SAMPLED,
        .duration_ns = ntk_ring_segment_ticks_to_ns(segment, slot->word[0])
    };
    struct ntk_ring_thread writer;
    unsigned why = ntk_span_rules_match(&taker->rules, &facts, &state->seen[kind]);

    if (!why) {
        return;
    }
    ntk_ring_segment_thread(segment, slot, &writer);
    if (trace && !is_of_trace(trace, &writer, slot)) {
        trace = NULL;
        why &= ~(unsigned)NTK_SPAN_PARENT;
    }
    struct ntk_span *span = why ? ntk_aggregate_span(aggregate, key, why) : NULL;
    if (!span) {
        return;
    }
    span->pid = process->pid;
    span->tid = writer.tid;
    if (trace) {
        span->parent = trace->parent;
    }
    fill(state, aggregate, segment, slot, span);
}

void ntk_span_taker_take(struct ntk_span_taker *taker, struct ntk_aggregate *aggregate,
                         const struct ntk_ring_segment *segment,
                         const struct ntk_ring_process *process, uint64_t begin_monotonic_ns,
                         const struct ntk_slot *slots, size_t count)
{
    struct segment_state *state = state_of(taker, segment);

    for (size_t i = 0; state && i < count; i++) {
        const struct ntk_slot *slot = &slots[i];
        const struct thread_state *trace = state->threads ? follow(state, slot) : NULL;

        if (slot->kind == NTK_EVENT_TRACE_PARENT) {
            set_parent(state, slot);
        } else if ((slot->kind == NTK_EVENT_EXEC || slot->kind == NTK_EVENT_MODEL_LOAD ||
                    slot->kind == NTK_EVENT_COLLECTIVE) &&
                   ntk_ring_segment_monotonic_ns(segment, slot->start_ticks + slot->word[0]) >=
                       begin_monotonic_ns) {
            take_one(taker, state, aggregate, segment, process, slot, trace);
        }
    }
}
