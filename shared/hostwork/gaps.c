/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/order.h"

#define BUSY_MAX (1u << 21)
#define MARKS_MAX (1u << 16)
#define COLLECTIVES_MAX (1u << 18)
#define BLINDS_MAX 1024u /* limit; the last one is then extended */
#define TEXT_BYTES 257

struct busy {
    uint64_t start_ns, end_ns;
    uint32_t core, tid;
};

/* A time that counts as neither idle nor busy, because execution records were lost. */
struct blind {
    uint64_t start_ns, end_ns;
};

int ntk_core_gaps_begin(struct ntk_core_gaps *gaps, struct ntk_ring_segment *segment,
                        struct ntk_host_records *records, uint64_t now_ns, struct ntk_err *err)
{
    struct ntk_ring_process process;

    ntk_ring_segment_process(segment, &process);
    if (process.mode < 2) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                           "process %u records no events: start it without NEURON_HOOKS=counters",
                           process.pid);
    }
    if (process.flags & NTK_PROCESS_NO_EXECUTIONS) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                           "executions of process %u are too frequent to be observed from outside: "
                           "start it with neuron-monitor run",
                           process.pid);
    }
    memset(gaps, 0, sizeof *gaps);
    ntk_vec_init(&gaps->busy, sizeof(struct busy));
    ntk_vec_init(&gaps->blinds, sizeof(struct blind));
    gaps->segment = segment;
    gaps->records = records;
    gaps->main_tid = process.own_pid;
    gaps->has_parts = process.flags & NTK_PROCESS_SOFTWARE_CORE;
    gaps->models = calloc(NTK_SEGMENT_MODELS, sizeof *gaps->models);
    if (!gaps->models) {
        return ntk_err_no_memory(err);
    }
    ntk_core_gaps_start(gaps, now_ns);
    return 0;
}

void ntk_core_gaps_start(struct ntk_core_gaps *gaps, uint64_t now_ns)
{
    gaps->start_ns = now_ns;
    gaps->records->start_ns = now_ns;
    (void)ntk_core_gaps_follow(gaps);
    gaps->followed_ns = now_ns;
    gaps->missed_before = gaps->missed;
    ntk_vec_clear(&gaps->blinds);
}

void ntk_core_gaps_fini(struct ntk_core_gaps *gaps)
{
    ntk_vec_fini(&gaps->busy);
    ntk_vec_fini(&gaps->blinds);
    free(gaps->models);
    gaps->models = NULL;
}

/* ---- events ---- */

static void take_mark(struct ntk_core_gaps *gaps, const struct ntk_slot *slot)
{
    struct ntk_vec *marks = &gaps->records->marks;
    char text[TEXT_BYTES];
    struct ntk_host_mark mark = {
        .start_ns = ntk_ring_segment_monotonic_ns(gaps->segment, slot->start_ticks),
        .value = slot->word[2],
    };

    mark.end_ns = mark.start_ns + ntk_ring_segment_ticks_to_ns(gaps->segment, slot->word[0]);
    if (slot->word[0] == 0 || mark.end_ns <= gaps->start_ns || marks->count >= MARKS_MAX ||
        ntk_ring_segment_text(gaps->segment, NTK_WORD_LO(slot->word[1]), text, sizeof text) == 0) {
        return;
    }
    mark.name = ntk_host_stacks_text(&gaps->records->stacks, text);
    (void)ntk_vec_push(marks, &mark);
}

static void add_collective(struct ntk_core_gaps *gaps, uint64_t start_ns, uint64_t end_ns,
                           uint32_t tid)
{
    struct ntk_host_collective collective = { start_ns, end_ns, tid, !gaps->has_parts };
    struct ntk_vec *collectives = &gaps->records->collectives;

    if (tid == 0 || end_ns <= gaps->start_ns) {
        return;
    }
    if (collectives->count >= COLLECTIVES_MAX || ntk_vec_push(collectives, &collective) < 0) {
        gaps->records->lost++;
    }
}

/* Processes a collective operation. The thread that executed it writes the record when the
 * operation ends. */
static void take_collective(struct ntk_core_gaps *gaps, const struct ntk_slot *slot)
{
    uint64_t start_ns = ntk_ring_segment_monotonic_ns(gaps->segment, slot->start_ticks);
    struct ntk_ring_thread thread;

    if ((slot->flags & 0xff) == NTK_COLLECTIVE_PROGRAM) {
        return; /* it is a model's execution, so the core is not idle */
    }
    ntk_ring_segment_thread(gaps->segment, slot, &thread);
    add_collective(gaps, start_ns,
                   start_ns + ntk_ring_segment_ticks_to_ns(gaps->segment, slot->word[0]),
                   thread.tid);
}

/* Adds operations that have not ended yet and so have no record. */
static int add_open_collectives(struct ntk_core_gaps *gaps, uint64_t now_ns)
{
    struct ntk_ring_comm *comms = calloc(NTK_SEGMENT_COMMS, sizeof *comms);
    size_t count = comms ? ntk_ring_segment_comms(gaps->segment, comms, NTK_SEGMENT_COMMS) : 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t ns = comms[i].state_ns < now_ns ? comms[i].state_ns : now_ns;
        if (comms[i].in_flight > 0 && comms[i].model == 0) {
            add_collective(gaps, now_ns - ns, now_ns, comms[i].tid);
        }
    }
    free(comms);
    return comms ? 0 : -ENOMEM;
}

static const struct ntk_ring_model *find_model(const struct ntk_core_gaps *gaps, uint32_t id)
{
    for (size_t i = 0; i < gaps->model_count; i++) {
        if (gaps->models[i].id == id) {
            return &gaps->models[i];
        }
    }
    return NULL;
}

/* The number of cores that an execution of the model keeps busy. Hooks around another runtime write
 * one record for all of them, on the first core. */
static uint32_t width_of(struct ntk_core_gaps *gaps, uint32_t id)
{
    if (gaps->has_parts) {
        return 1;
    }
    const struct ntk_ring_model *model = find_model(gaps, id);
    if (!model) {
        gaps->model_count =
            ntk_ring_segment_models(gaps->segment, gaps->models, NTK_SEGMENT_MODELS);
        model = find_model(gaps, id);
    }
    return model && model->core_count > 1 ? model->core_count : 1;
}

/* Processes an execution. Its record is written when it ends, which is also when its time on the
 * core ends. */
static void take_execution(struct ntk_core_gaps *gaps, const struct ntk_slot *slot)
{
    uint64_t ticks = slot->word[3] && slot->word[3] < slot->word[0] ? slot->word[3] : slot->word[0];
    uint64_t end_ns =
        ntk_ring_segment_monotonic_ns(gaps->segment, slot->start_ticks + slot->word[0]);
    uint64_t ns = ntk_ring_segment_ticks_to_ns(gaps->segment, ticks);
    struct ntk_ring_thread thread;

    if (slot->core == NTK_NO_CORE || end_ns <= gaps->start_ns) {
        return;
    }
    ntk_ring_segment_thread(gaps->segment, slot, &thread);
    struct busy busy = {
        .start_ns = end_ns > ns ? end_ns - ns : 0,
        .end_ns = end_ns,
        .core = slot->core,
        .tid = thread.tid,
    };
    for (uint32_t rest = width_of(gaps, NTK_WORD_LO(slot->word[1]));
         rest > 0 && busy.core < NTK_SEGMENT_CORES; rest--, busy.core++) {
        if (gaps->busy.count >= BUSY_MAX || ntk_vec_push(&gaps->busy, &busy) < 0) {
            gaps->beyond++;
        }
    }
}

static void take(const struct ntk_ring_segment *segment, const struct ntk_slot *slots, size_t count,
                 void *ctx)
{
    for (size_t i = 0; i < count; i++) {
        if (slots[i].kind == NTK_EVENT_EXEC) {
            take_execution(ctx, &slots[i]);
        } else if (slots[i].kind == NTK_EVENT_MARK) {
            take_mark(ctx, &slots[i]);
        } else if (slots[i].kind == NTK_EVENT_COLLECTIVE) {
            take_collective(ctx, &slots[i]);
        }
    }
    (void)segment;
}

/* Adds a blind interval because events were lost since the previous call. */
static void add_blind(struct ntk_core_gaps *gaps, uint64_t now_ns)
{
    struct blind blind = { gaps->followed_ns, now_ns };
    struct blind *last =
        gaps->blinds.count > 0 ? ntk_vec_at(&gaps->blinds, gaps->blinds.count - 1) : NULL;

    if (last && (last->end_ns == blind.start_ns || gaps->blinds.count >= BLINDS_MAX ||
                 ntk_vec_push(&gaps->blinds, &blind) < 0)) {
        last->end_ns = now_ns;
    } else if (!last) {
        (void)ntk_vec_push(&gaps->blinds, &blind);
    }
}

bool ntk_core_gaps_follow(struct ntk_core_gaps *gaps)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();
    uint64_t read;
    uint64_t lost;
    uint64_t published;
    size_t count;

    (void)ntk_ring_segment_drain(gaps->segment, 0, take, gaps);
    ntk_ring_segment_events(gaps->segment, &read, &lost, &published);
    if (lost + gaps->beyond > gaps->missed) {
        add_blind(gaps, now_ns);
    }
    gaps->missed = lost + gaps->beyond;
    gaps->followed_ns = now_ns;
    count = ntk_ring_segment_cores(gaps->segment, gaps->cores, NTK_SEGMENT_CORES);
    bool is_idle = false;
    for (size_t i = 0; i < count; i++) {
        const struct ntk_ring_core *core = &gaps->cores[i];
        if (core->owned && core->core < NTK_SEGMENT_CORES) {
            gaps->held_ns[core->core] = now_ns;
            is_idle = is_idle || core->in_flight == 0;
        }
    }
    return is_idle;
}

/* ---- gaps ---- */

NTK_ORDER(compare_busy, struct busy, NTK_UP(core) NTK_UP(start_ns) NTK_UP(end_ns));

static int add_gap(struct ntk_core_gaps *gaps, uint64_t start_ns, uint64_t end_ns, uint32_t core,
                   uint32_t tid)
{
    struct ntk_host_gap gap = { start_ns, end_ns, core, tid, false };

    if (start_ns >= end_ns) {
        return 0;
    }
    if (gaps->records->gaps.count >= NTK_HOST_GAPS_MAX) {
        gaps->records->lost++;
        return 0;
    }
    return ntk_vec_push(&gaps->records->gaps, &gap);
}

/* Returns true if the core is the second of a pair. With LNC 2, an execution is counted on the
 * first physical core of a logical core, but occupies both. */
static bool is_second_of_pair(const struct ntk_core_gaps *gaps, size_t count, size_t index)
{
    for (size_t i = 0; i < count; i++) {
        if (i != index && gaps->held_ns[gaps->cores[i].core] > 0 &&
            gaps->cores[i].core < gaps->cores[index].core &&
            gaps->cores[i].logical == gaps->cores[index].logical) {
            return true;
        }
    }
    return false;
}

/* Adds the blind intervals as if each core had been busy; they do not count as held time either. */
static int add_blinds(struct ntk_core_gaps *gaps, size_t count)
{
    int ret = 0;

    ntk_vec_each(struct blind, blind, &gaps->blinds) {
        blind->end_ns =
            blind->end_ns < gaps->records->end_ns ? blind->end_ns : gaps->records->end_ns;
        for (size_t i = 0; i < count && ret == 0; i++) {
            struct busy busy = { blind->start_ns, blind->end_ns, gaps->cores[i].core, 0 };
            ret = ntk_vec_push(&gaps->busy, &busy);
        }
        gaps->records->unknown_ns += blind->end_ns - blind->start_ns;
    }
    return ret;
}

/* Adds the gaps of a core up to now, or up to the time at which it was last seen held. Work that is
 * still running has no event yet. */
static int add_core(struct ntk_core_gaps *gaps, const struct ntk_ring_core *core, uint64_t now_ns)
{
    uint64_t until_ns = gaps->start_ns;
    uint64_t last_ns = now_ns;
    uint32_t tid = 0;
    int ret = 0;

    if (core->in_flight > 0) {
        uint64_t since_ns = core->read_monotonic_ns > core->running_ns
                                ? core->read_monotonic_ns - core->running_ns
                                : 0;
        last_ns = since_ns < now_ns ? since_ns : now_ns;
    }
    ntk_vec_each(const struct busy, busy, &gaps->busy) {
        if (busy->core > core->core || ret < 0) {
            break;
        }
        if (busy->core < core->core) {
            continue;
        }
        uint64_t to_ns = busy->start_ns < now_ns ? busy->start_ns : now_ns;
        ret = add_gap(gaps, until_ns, to_ns, core->core, busy->tid);
        until_ns = busy->end_ns > until_ns ? busy->end_ns : until_ns;
        tid = busy->tid;
    }
    size_t count = gaps->records->gaps.count;
    ret = ret < 0 ? ret : add_gap(gaps, until_ns, last_ns, core->core, tid);
    if (gaps->records->gaps.count > count && until_ns == gaps->start_ns && core->in_flight == 0) {
        struct ntk_host_gap *whole = ntk_vec_at(&gaps->records->gaps, count);
        whole->is_unused = gaps->busy.count > 0;
        whole->tid = whole->is_unused ? 0 : gaps->main_tid;
    }
    return ret;
}

int ntk_core_gaps_end(struct ntk_core_gaps *gaps, uint64_t now_ns, uint32_t *out_cores)
{
    uint64_t last_ns = 0; /* time at which any core was last held */
    size_t count;

    (void)ntk_core_gaps_follow(gaps);
    count = ntk_ring_segment_cores(gaps->segment, gaps->cores, NTK_SEGMENT_CORES);
    /* An exited process held its cores after the last check, for at least one execution. */
    ntk_vec_each(const struct busy, busy, &gaps->busy) {
        uint64_t *held_ns = &gaps->held_ns[busy->core];
        *held_ns = *held_ns > 0 && busy->end_ns > *held_ns ? busy->end_ns : *held_ns;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t *held_ns = &gaps->held_ns[gaps->cores[i].core];
        *held_ns = *held_ns < now_ns ? *held_ns : now_ns;
        last_ns = *held_ns > last_ns ? *held_ns : last_ns;
    }
    gaps->records->end_ns = last_ns > gaps->start_ns ? last_ns : now_ns;
    int ret = add_open_collectives(gaps, now_ns);
    ret = ret < 0 ? ret : add_blinds(gaps, count);
    ntk_vec_sort(&gaps->busy, compare_busy);
    *out_cores = 0;
    for (size_t i = 0; i < count && ret == 0; i++) {
        uint64_t held_ns = gaps->held_ns[gaps->cores[i].core];
        if (held_ns > gaps->start_ns && !is_second_of_pair(gaps, count, i)) {
            (*out_cores)++;
            ret = add_core(gaps, &gaps->cores[i], held_ns);
        }
    }
    gaps->records->lost += gaps->missed - gaps->missed_before;
    return ret;
}
