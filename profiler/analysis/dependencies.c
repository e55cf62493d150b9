/* SPDX-License-Identifier: MIT */
/* dependencies - changes and the instructions that made them, sorted by semaphore, and a search for
 * each wait. */
#include "profiler/analysis/dependencies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/core_signals.h"
#include "profiler/analysis/transfers.h"

/* Semaphores and events share one numbering here: 256 of each. */
#define NUMBERS 512
#define EVENT_NUMBER 256
/* How far back to search for hidden changes, per wait. */
#define HIDDEN_MAX 256
/* A change this long after the end of an instruction was made by another one; hardware takes up to
 * 0.05 us. */
#define SIGNAL_DELAY_PS 1000000
#define LISTS 3 /* struct by_number */
/* LDWEIGHTS loads up to four columns in the time in which a MATMUL streams one. */
#define LOAD_COLUMNS 4

/* Indices sorted by number, then time: those of number n are items[first[n]] up to items[first[n +
 * 1]]. */
struct by_number {
    uint32_t first[NUMBERS + 1];
    uint32_t near[NUMBERS]; /* where the last search in a number ended: the next time is close */
    const uint32_t *items;
    struct ntk_long_list list; /* their storage: uint32_t */
};

/* The last search for one condition: it was true from first to at. */
struct run {
    bool is_used;
    uint8_t wait; /* enum ntk_wait_kind */
    uint16_t number;
    uint32_t value, first, at;
};
#define RUNS 256

struct index {
    const struct ntk_program *program;
    size_t core_index;
    const struct ntk_trace_core *core;
    const struct ntk_core_dependencies *dependencies; /* for ntk_change_at() */
    struct by_number changes;                         /* of all changes */
    struct by_number signals;                         /* instructions that signal the number */
    struct by_number transfers;                       /* instructions whose transfers signal it */
    struct ntk_core_signals signals_from;             /* changes by other cores */
    bool finds_hidden; /* changes from before the engine was free, too */
    struct run runs[RUNS];
};

static unsigned number_of(bool is_event, unsigned number)
{
    return (is_event ? EVENT_NUMBER : 0) + (number & 0xff);
}

typedef int key_of(const struct index *index, size_t item);

static int change_key(const struct index *index, size_t item)
{
    const struct ntk_trace_event *event =
        ntk_change_at(index->core, index->dependencies, (uint32_t)item);

    return (int)number_of(!event->is_semaphore, event->number);
}

static const struct ntk_slot_fact *fact_of(const struct index *index, size_t item)
{
    return ntk_program_fact(index->program, index->core_index, &index->core->instructions[item]);
}

/* Instruction lists have two keys each. */
static int signal_key(const struct index *index, size_t item)
{
    const struct ntk_slot_fact *fact = fact_of(index, item);

    return fact->signal_number == NTK_PROGRAM_NO_NUMBER
               ? -1
               : (int)number_of(fact->signals_event, fact->signal_number);
}

static int transfer_key(const struct index *index, size_t item)
{
    const struct ntk_slot_fact *fact = fact_of(index, item);

    return fact->done_number == NTK_PROGRAM_NO_NUMBER
               ? -1
               : (int)number_of(fact->done_is_event, fact->done_number);
}

/* A list and what it is sorted by. */
struct sorting {
    key_of *key;
    struct by_number *to;
    const uint32_t *order; /* items in order of time; NULL: they are */
};
#define SORTINGS_MAX 2

/* Memory is returned now and then. */
static void passed(const struct index *index, const struct sorting *sortings, size_t count,
                   size_t item)
{
    if (item % NTK_TRACE_LOOKS == 0) {
        ntk_trace_give_back(index->core);
        for (size_t s = 0; s < count; s++) {
            ntk_long_list_give_back(&sortings[s].to->list);
        }
    }
}

/* A counting sort keeps the order of time within a number. Lists of the same items are sorted
 * together, because most of the time goes into reading the items. */
static int sort_by_number(const struct index *index, size_t item_count,
                          const struct sorting *sortings, size_t count)
{
    uint32_t next[SORTINGS_MAX][NUMBERS];
    uint32_t *items[SORTINGS_MAX];

    for (size_t i = 0; i < item_count; i++) {
        passed(index, sortings, count, i);
        for (size_t s = 0; s < count; s++) {
            int k = sortings[s].key(index, sortings[s].order ? sortings[s].order[i] : i);
            sortings[s].to->first[k + 1] += k >= 0;
        }
    }
    for (size_t s = 0; s < count; s++) {
        struct by_number *to = sortings[s].to;
        for (unsigned n = 0; n < NUMBERS; n++) {
            to->first[n + 1] += to->first[n];
            next[s][n] = to->first[n];
        }
        ntk_long_list_init(&to->list, index->program->trace, sizeof(uint32_t), LISTS);
        int ret = ntk_long_list_resize(&to->list, to->first[NUMBERS]);
        if (ret < 0) {
            return ret;
        }
        items[s] = to->list.items;
        memcpy(to->near, to->first, sizeof to->near);
        to->items = items[s];
    }
    for (size_t i = 0; i < item_count; i++) {
        passed(index, sortings, count, i);
        for (size_t s = 0; s < count; s++) {
            uint32_t item = sortings[s].order ? sortings[s].order[i] : (uint32_t)i;
            int k = sortings[s].key(index, item);
            if (k >= 0) {
                items[s][next[s][k]++] = item;
            }
        }
    }
    return 0;
}

static bool is_satisfied(const struct ntk_slot_fact *fact, uint32_t value)
{
    switch (fact->wait) {
    case NTK_WAIT_AT_LEAST:
        return value >= fact->wait_value;
    case NTK_WAIT_EQUAL:
        return value == fact->wait_value;
    case NTK_WAIT_SET:
        return value != 0;
    case NTK_WAIT_CLEAR:
        return value == 0;
    default:
        return true;
    }
}

/* The time of an event, the start of an instruction: each is the first member. */
static_assert(offsetof(struct ntk_trace_event, time_ps) == 0 &&
                  offsetof(struct ntk_trace_instruction, start_ps) == 0,
              "list elements begin with their time");

struct elements {
    const void *first;
    size_t bytes; /* of one */
    size_t count; /* in first; the others are in more */
    const void *more;
};

static bool is_until(const struct by_number *sorted, struct elements of, size_t at, int64_t time_ps)
{
    uint32_t item = sorted->items[at];
    bool is_more = item >= of.count;
    const char *list = is_more ? of.more : of.first;
    int64_t at_ps;

    memcpy(&at_ps, list + of.bytes * (is_more ? item - of.count : item), sizeof at_ps);
    return at_ps <= time_ps;
}

/* The position in the items of the number after the last one that is not later than the time. Steps
 * double from the end of the last search, so each search is short. */
static uint32_t until(struct by_number *sorted, struct elements of, unsigned number,
                      int64_t time_ps)
{
    size_t low = sorted->first[number];
    size_t high = sorted->first[number + 1];
    size_t near = sorted->near[number];

    if (near < high && is_until(sorted, of, near, time_ps)) {
        low = near + 1;
        for (size_t step = 1; step < high - low; step *= 2) {
            if (!is_until(sorted, of, low + step - 1, time_ps)) {
                high = low + step - 1;
                break;
            }
            low += step;
        }
    } else {
        high = near;
        for (size_t step = 1; step < high - low; step *= 2) {
            if (is_until(sorted, of, high - step, time_ps)) {
                low = high - step + 1;
                break;
            }
            high -= step;
        }
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_until(sorted, of, middle, time_ps)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    sorted->near[number] = (uint32_t)low;
    return (uint32_t)low;
}

static uint32_t changes_until(struct index *index, unsigned number, int64_t time_ps)
{
    struct elements events = { index->core->events, sizeof *index->core->events,
                               index->core->event_count, index->dependencies->lost.events };

    return until(&index->changes, events, number, time_ps);
}

static const struct ntk_trace_event *change_of(const struct index *index, uint32_t at)
{
    return ntk_change_at(index->core, index->dependencies, index->changes.items[at]);
}

/* The first of at most HIDDEN_MAX successive changes before `at` that leave the condition true.
 * Waits for the same condition come in the order of time, so they examine each change once
 * together. */
static uint32_t first_of_run(struct index *index, const struct ntk_slot_fact *fact, unsigned number,
                             uint32_t at)
{
    struct run *run = &index->runs[(number * 31 + fact->wait_value) % RUNS];
    bool is_known = run->is_used && run->number == number && run->wait == fact->wait &&
                    run->value == fact->wait_value && run->at <= at;
    uint32_t least = is_known ? run->at : index->changes.first[number];
    uint32_t first = at;

    least = at - least > HIDDEN_MAX ? at - HIDDEN_MAX : least;
    while (first > least && is_satisfied(fact, change_of(index, first - 1)->value)) {
        first--;
    }
    if (is_known && first == run->at) {
        first = at - run->first > HIDDEN_MAX ? at - HIDDEN_MAX : run->first;
    }
    *run = (struct run){ .is_used = true,
                         .wait = fact->wait,
                         .number = (uint16_t)number,
                         .value = fact->wait_value,
                         .first = first,
                         .at = at };
    return first;
}

/* A vendor's wait for an event clears it. */
static bool takes(const struct ntk_slot_fact *fact, const struct ntk_trace_instruction *instruction,
                  const struct ntk_trace_event *change)
{
    return fact->wait == NTK_WAIT_SET && !fact->is_open && change->value == 0 &&
           change->source == instruction->engine;
}

/* Walks back over changes that left the condition true to the one that made it true. Changes that
 * take the value away again (a consuming wait, the instruction's own change) may come later: those
 * not before the start are skipped while they leave it false. If the condition was true before the
 * engine was free, its origin does not matter, and the walk stops there; so all walks together
 * examine each change about once per engine. */
static uint32_t find_change(struct index *index, const struct ntk_slot_fact *fact,
                            const struct ntk_trace_instruction *instruction, int64_t free_ps,
                            uint32_t *out_ordinal)
{
    bool is_event = fact->wait == NTK_WAIT_SET || fact->wait == NTK_WAIT_CLEAR;
    unsigned number = number_of(is_event, fact->wait_number);
    const uint32_t *items = index->changes.items;
    uint32_t first = index->changes.first[number];
    uint32_t at = changes_until(index, number,
                                fact->waits_inside ? instruction->end_ps : instruction->start_ps);
    bool is_taken = false;

    while (at > first && !is_satisfied(fact, change_of(index, at - 1)->value) &&
           change_of(index, at - 1)->time_ps >= instruction->start_ps) {
        at--;
        is_taken = is_taken || takes(fact, instruction, change_of(index, at));
    }
    /* The event is taken at the end of the wait, which can be before the recorded start. */
    if (at > first && !is_taken && takes(fact, instruction, change_of(index, at - 1))) {
        at--;
    }
    if (at == first || !is_satisfied(fact, change_of(index, at - 1)->value)) {
        return NTK_NO_INDEX;
    }
    at--;
    if (index->finds_hidden) {
        at = first_of_run(index, fact, number, at);
    }
    while (!index->finds_hidden && at > first && change_of(index, at)->time_ps > free_ps &&
           is_satisfied(fact, change_of(index, at - 1)->value)) {
        at--;
    }
    *out_ordinal = at - first;
    return items[at];
}

static uint32_t begun_until(const struct index *index, struct by_number *sorted, unsigned number,
                            int64_t time_ps)
{
    struct elements instructions = { index->core->instructions, sizeof *index->core->instructions,
                                     index->core->instruction_count, NULL };

    return until(sorted, instructions, number, time_ps);
}

/* The instruction of the engine that signals the number and ends closest to the change. */
static uint32_t find_signaller(struct index *index, unsigned number,
                               const struct ntk_trace_event *change)
{
    struct by_number *signals = &index->signals;
    uint32_t of_number = signals->first[number + 1] - signals->first[number];
    uint32_t best = NTK_NO_INDEX;
    int64_t best_ps = INT64_MAX;
    /* From the last one that starts before the change; earlier ends are farther away, except for
     * overlapping instructions: a few of them are checked. */
    if (change->is_semaphore && index->dependencies->lost.is_counted[change->number] &&
        change->value - 1 < of_number) {
        return signals->items[signals->first[number] + change->value - 1];
    }
    uint32_t low = begun_until(index, signals, number, change->time_ps);
    for (unsigned looked_at = 0; low > signals->first[number] && looked_at < 32; looked_at++) {
        uint32_t item = signals->items[--low];
        const struct ntk_trace_instruction *instruction = &index->core->instructions[item];
        int64_t distance_ps = instruction->end_ps > change->time_ps
                                  ? instruction->end_ps - change->time_ps
                                  : change->time_ps - instruction->end_ps;
        if (instruction->engine == change->source && distance_ps < best_ps &&
            change->time_ps - instruction->end_ps <= SIGNAL_DELAY_PS) {
            best = item;
            best_ps = distance_ps;
        }
    }
    return best;
}

static uint32_t find_transfer(struct index *index, unsigned number, uint32_t ordinal,
                              int64_t time_ps)
{
    struct by_number *transfers = &index->transfers;
    uint32_t first = transfers->first[number];
    uint32_t count = transfers->first[number + 1] - first;
    uint32_t changes = index->changes.first[number + 1] - index->changes.first[number];
    if (count && changes % count == 0) {
        uint32_t item = transfers->items[first + ordinal / (changes / count)];
        if (index->core->instructions[item].start_ps <= time_ps) {
            return item;
        }
    }
    uint32_t low = begun_until(index, transfers, number, time_ps);
    return low > first ? transfers->items[low - 1] : NTK_NO_INDEX;
}

/* For a change by DMA: a transfer of this core, an instruction or transfer of another one, or the
 * load of its code. */
static void find_sender(struct index *index, unsigned number, uint32_t ordinal,
                        struct ntk_release *release)
{
    const struct ntk_code_load *code_load = &index->dependencies->code_load;
    const struct ntk_core_signal *signal =
        ntk_core_signals_at(&index->signals_from, release->event);
    const struct ntk_trace_event *change =
        ntk_change_at(index->core, index->dependencies, release->event);

    if (signal) {
        release->by = signal->item;
        release->by_transfer = signal->is_transfer;
        release->core_away = (uint32_t)(signal->core - index->core_index) & 0xf;
        return;
    }
    release->by = find_transfer(index, number, ordinal, change->time_ps);
    if (code_load->queue && release->event == code_load->event) {
        release->by = code_load->by;
    }
    /* Without a NEFF, the core's own transfers are not all known. */
    release->is_foreign = index->core->neff && release->by == NTK_NO_INDEX &&
                          change->is_semaphore &&
                          index->transfers.first[number] == index->transfers.first[number + 1] &&
                          !ntk_program_queue_of(index->core, (uint16_t)(number & 0xff));
}

/* For an item with the wait of `waiter`: itself or an instruction that it overtook. free_ps: the
 * engine executes earlier work until then. */
static void find_release(struct index *index, size_t waiter, size_t item, int64_t free_ps,
                         struct ntk_release *release)
{
    const struct ntk_slot_fact *fact = fact_of(index, waiter);
    uint32_t ordinal = 0;

    if (fact->wait == NTK_WAIT_NONE) {
        return;
    }
    release->event = find_change(index, fact, &index->core->instructions[item], free_ps, &ordinal);
    if (release->event == NTK_NO_INDEX) {
        return;
    }
    const struct ntk_trace_event *change =
        ntk_change_at(index->core, index->dependencies, release->event);
    unsigned number = number_of(!change->is_semaphore, change->number);
    release->by_transfer = change->source == NTK_NTFF_ENGINE_AXI;
    if (release->by_transfer) {
        find_sender(index, number, ordinal, release);
    } else {
        release->by = find_signaller(index, number, change);
    }
}

/* ---- instructions that were overtaken ---- */

/* The last instructions of an engine: descriptors of this many transfers are generated while the
 * engine issues later instructions. */
#define RECENT 16

struct recent {
    struct {
        uint32_t item;
        int64_t free_ps; /* the engine executed earlier work until then */
    } items[RECENT];
    size_t count; /* of all so far */
};

static uint32_t slot_of(const struct index *index, size_t item)
{
    return index->core->instructions[item].slot;
}

/* One of the last ones has this slot: the program repeats and did not overtake. */
static bool has_slot(const struct index *index, const struct recent *recent, uint32_t slot)
{
    for (size_t i = 0; i < recent->count && i < RECENT; i++) {
        if (slot_of(index, recent->items[i].item) == slot) {
            return true;
        }
    }
    return false;
}

static int64_t change_ps(const struct index *index, const struct ntk_release *release)
{
    return release->event == NTK_NO_INDEX
               ? INT64_MIN
               : ntk_change_at(index->core, index->dependencies, release->event)->time_ps;
}

/* An engine issues in program order. An instruction that starts before an earlier one of the
 * program was issued after that one had waited, so that wait is its own, too. */
static void see_overtaken(struct index *index, uint32_t item, int64_t free_ps,
                          struct recent *recent, struct ntk_release *releases)
{
    uint32_t slot = slot_of(index, item);
    bool is_late = recent->count > 0 && !has_slot(index, recent, slot);

    for (size_t i = 0; is_late && i < recent->count && i < RECENT; i++) {
        uint32_t before = recent->items[i].item;
        struct ntk_release *own = &releases[before];
        struct ntk_release other = *own;

        if (slot_of(index, before) < slot || slot_of(index, before) > slot + RECENT) {
            continue;
        }
        other.event = NTK_NO_INDEX;
        other.by = NTK_NO_INDEX;
        other.by_transfer = false;
        other.is_foreign = false;
        other.core_away = 0;
        find_release(index, item, before, recent->items[i].free_ps, &other);
        if (change_ps(index, &other) > change_ps(index, own)) {
            *own = other;
        }
    }
    recent->items[recent->count % RECENT].item = item;
    recent->items[recent->count++ % RECENT].free_ps = free_ps;
}

/* ---- the pipeline of an engine ---- */

struct overlap {
    int64_t shortest_ps; /* shortest instruction of the opcode; 0: none so far */
    int64_t longest_ps;  /* longest overlap with one that has to wait for it */
    int64_t end_ps;      /* of the last one */
};

static void see_overlap(struct overlap *of, int64_t start_ps)
{
    if (of->shortest_ps && of->end_ps - start_ps > of->longest_ps) {
        of->longest_ps = of->end_ps - start_ps;
    }
}

/* The next MATMUL needs the weights that LDWEIGHTS loads. */
static int find_drains(const struct ntk_trace_core *core, struct ntk_core_dependencies *out)
{
    struct overlap(*overlaps)[256] = calloc(NTK_NTFF_ENGINE_COUNT, sizeof *overlaps);

    if (!overlaps) {
        return -ENOMEM;
    }
    ntk_trace_each_instruction(core, one) {
        struct overlap *own = &overlaps[one->engine][one->opcode];
        int64_t length_ps = one->end_ps - one->start_ps;

        if (ntk_only_waits(one) || length_ps <= 0) {
            continue;
        }
        if (one->opcode == NTK_NTFF_OPCODE_MATMUL) {
            see_overlap(&overlaps[one->engine][NTK_NTFF_OPCODE_LDWEIGHTS], one->start_ps);
        }
        if (one->opcode != NTK_NTFF_OPCODE_LDWEIGHTS) {
            see_overlap(own, one->start_ps);
        }
        if (!own->shortest_ps || length_ps < own->shortest_ps) {
            own->shortest_ps = length_ps;
        }
        own->end_ps = one->end_ps;
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        for (unsigned o = 0; o < 256; o++) {
            const struct overlap *of = &overlaps[e][o];
            out->drain_ps[e][o] =
                of->longest_ps < of->shortest_ps ? of->longest_ps : of->shortest_ps;
        }
    }
    free(overlaps);
    return 0;
}

/* The instruction of an engine that executes longest so far. */
struct holder {
    uint32_t item; /* NTK_NO_INDEX: none */
    int64_t until_ps;
};

static bool loads_more(const struct index *index, size_t load, size_t product)
{
    const struct ntk_slot_fact *loaded = fact_of(index, load);
    const struct ntk_slot_fact *streamed = fact_of(index, product);

    return loaded->has_onchip && streamed->has_onchip &&
           loaded->sbuf_read_bytes / LOAD_COLUMNS >= streamed->sbuf_read_bytes;
}

/* After the instruction was issued. */
static void hold(const struct index *index, const struct ntk_core_dependencies *dependencies,
                 size_t item, struct ntk_release *release, struct holder *holder)
{
    const struct ntk_trace_instruction *all = index->core->instructions;
    const struct ntk_trace_instruction *one = &all[item];
    int64_t until_ps = ntk_executes_until_ps(dependencies, one);

    if (holder->item != NTK_NO_INDEX && one->start_ps < holder->until_ps) {
        if (one->opcode == NTK_NTFF_OPCODE_LDWEIGHTS &&
            all[holder->item].opcode == NTK_NTFF_OPCODE_MATMUL) {
            if (!loads_more(index, item, holder->item)) {
                return;
            }
            release->cuts_holder = true;
        } else {
            release->cuts_holder = ntk_only_waits(&all[holder->item]);
        }
        holder->until_ps = release->cuts_holder ? one->start_ps : holder->until_ps;
    }
    if (holder->item == NTK_NO_INDEX || until_ps >= holder->until_ps) {
        *holder = (struct holder){ (uint32_t)item, until_ps };
    }
}

static uint32_t back_to(const struct holder *holder, size_t item)
{
    size_t back = holder->item == NTK_NO_INDEX ? 0 : item - holder->item;

    return back > NTK_HOLDER_BACK_MAX ? 0 : (uint32_t)back;
}

static int sort_changes(struct index *index)
{
    struct ntk_long_list order;
    int ret = ntk_lost_changes_order(&index->dependencies->lost, index->program->trace, index->core,
                                     &order);

    if (ret == 0) {
        const struct sorting changes = { change_key, &index->changes, order.items };
        ret = sort_by_number(index, order.count ? order.count : index->core->event_count, &changes,
                             1);
    }
    ntk_long_list_fini(&order);
    return ret;
}

static int core_dependencies(const struct ntk_program *program, size_t core_index,
                             bool finds_hidden, const struct ntk_transfers *transfers,
                             struct ntk_core_dependencies *out)
{
    struct index *index = calloc(1, sizeof *index);
    uint32_t previous[NTK_NTFF_ENGINE_COUNT];
    struct holder holders[NTK_NTFF_ENGINE_COUNT];
    struct recent recent[NTK_NTFF_ENGINE_COUNT] = { 0 };

    if (!index) {
        return -ENOMEM;
    }
    index->program = program;
    index->core_index = core_index;
    index->finds_hidden = finds_hidden;
    index->core = &program->trace->cores[core_index];
    index->dependencies = out;
    ntk_long_list_init(&out->list, program->trace, sizeof(struct ntk_release),
                       program->trace->core_count);
    int ret = ntk_long_list_resize(&out->list, index->core->instruction_count);
    struct ntk_release *releases = out->list.items;
    out->releases = releases;
    const struct sorting of_instructions[] = { { signal_key, &index->signals, NULL },
                                               { transfer_key, &index->transfers, NULL } };
    if (ret == 0) {
        ret = find_drains(index->core, out);
    }
    if (ret == 0) {
        ret = ntk_lost_changes_find(program, core_index, transfers, &out->lost);
    }
    if (ret == 0) {
        ret = sort_changes(index);
    }
    if (ret == 0) {
        ntk_code_load_find(program, core_index, &out->code_load);
        ret = ntk_core_signals_find(program, core_index, &index->signals_from);
    }
    if (ret == 0) {
        ret = sort_by_number(index, index->core->instruction_count, of_instructions, SORTINGS_MAX);
    }
    memset(previous, 0xff, sizeof previous);
    memset(holders, 0xff, sizeof holders);
    for (size_t i = 0; ret == 0 && i < index->core->instruction_count; i++) {
        unsigned engine = index->core->instructions[i].engine;

        releases[i] = (struct ntk_release){ .previous = previous[engine],
                                            .event = NTK_NO_INDEX,
                                            .by = NTK_NO_INDEX,
                                            .holder_back = back_to(&holders[engine], i) };
        previous[engine] = (uint32_t)i;
        int64_t free_ps =
            holders[engine].item == NTK_NO_INDEX ? INT64_MIN : holders[engine].until_ps;
        find_release(index, i, i, free_ps, &releases[i]);
        see_overtaken(index, (uint32_t)i, free_ps, &recent[engine], releases);
        hold(index, out, i, &releases[i], &holders[engine]);
        if (i % NTK_TRACE_LOOKS == 0) {
            ntk_dependencies_give_back(index->core, out);
            ntk_long_list_give_back(&index->changes.list);
            ntk_long_list_give_back(&index->signals.list);
            ntk_long_list_give_back(&index->transfers.list);
        }
    }
    ntk_dependencies_give_back(index->core, out);
    memcpy(out->last, previous, sizeof previous);
    ntk_long_list_fini(&index->changes.list);
    ntk_long_list_fini(&index->signals.list);
    ntk_long_list_fini(&index->transfers.list);
    ntk_core_signals_fini(&index->signals_from);
    free(index);
    return ret;
}

const char *ntk_release_queue(const struct ntk_program *program, size_t core_index,
                              const struct ntk_core_dependencies *dependencies, uint32_t item)
{
    const struct ntk_trace *trace = program->trace;
    const struct ntk_trace_core *core = &trace->cores[core_index];
    const struct ntk_release *release = &dependencies->releases[item];
    const struct ntk_trace_event *change = ntk_change_at(core, dependencies, release->event);
    const char *queue = NULL;

    if (release->by != NTK_NO_INDEX) {
        size_t by_core = ntk_release_core(core_index, release);
        queue = ntk_program_fact(program, by_core, &trace->cores[by_core].instructions[release->by])
                    ->queue;
    }
    if (!queue && change->is_semaphore) {
        queue = ntk_program_queue_of(core, change->number);
    }
    return ntk_release_loads_code(dependencies, release) ? dependencies->code_load.queue : queue;
}

void ntk_dependencies_give_back(const struct ntk_trace_core *core,
                                const struct ntk_core_dependencies *dependencies)
{
    ntk_trace_give_back(core);
    ntk_long_list_give_back(&dependencies->list);
}

/* transfers: NULL finds them, for lost changes alone. */
static int find_all(const struct ntk_program *program, bool finds_hidden,
                    const struct ntk_transfers *transfers,
                    struct ntk_dependencies *out_dependencies)
{
    struct ntk_dependencies result = { .core_count = program->trace->core_count };
    struct ntk_transfers own = { 0 };
    int ret = 0;

    result.cores = calloc(result.core_count + 1, sizeof *result.cores);
    if (!result.cores) {
        return -ENOMEM;
    }
    if (program->dropped.changes.lost && !transfers) {
        ret = ntk_transfers_init(&own, program);
        transfers = &own;
    }
    for (size_t c = 0; c < result.core_count && ret == 0; c++) {
        result.cores[c].all = result.cores;
        ret = core_dependencies(program, c, finds_hidden, transfers, &result.cores[c]);
    }
    ntk_transfers_fini(&own);
    if (ret < 0) {
        ntk_dependencies_fini(&result);
        return ret;
    }
    *out_dependencies = result;
    return 0;
}

int ntk_analysis_dependencies(const struct ntk_program *program,
                              struct ntk_dependencies *out_dependencies)
{
    return find_all(program, false, NULL, out_dependencies);
}

int ntk_analysis_dependencies_hidden(const struct ntk_program *program,
                                     const struct ntk_transfers *transfers,
                                     struct ntk_dependencies *out_dependencies)
{
    return find_all(program, true, transfers, out_dependencies);
}

void ntk_dependencies_fini(struct ntk_dependencies *dependencies)
{
    for (size_t c = 0; dependencies->cores && c < dependencies->core_count; c++) {
        ntk_long_list_fini(&dependencies->cores[c].list);
        ntk_lost_changes_fini(&dependencies->cores[c].lost);
    }
    free(dependencies->cores);
    *dependencies = (struct ntk_dependencies){ 0 };
}
