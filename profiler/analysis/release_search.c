/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/release_search.h"

#include <assert.h>
#include <string.h>

#include "shared/base/bisect.h"

/* Maximum number of changes in a search for hidden changes, per wait. */
#define HIDDEN_MAX 256
/* A change this long after the end of an instruction was made by another instruction; hardware
 * takes up to 0.05 us. */
#define SIGNAL_DELAY_PS 1000000
#define LISTS 3 /* number of struct ntk_by_number */

typedef int key_of(const struct ntk_release_search *index, size_t item);

static int change_key(const struct ntk_release_search *index, size_t item)
{
    const struct ntk_trace_event *event =
        ntk_change_at(index->core, index->dependencies, (uint32_t)item);

    return (int)ntk_program_number(!event->is_semaphore, event->number);
}

const struct ntk_slot_fact *ntk_release_search_fact(const struct ntk_release_search *index,
                                                    size_t item)
{
    return ntk_program_fact(index->program, index->core_index, &index->core->instructions[item]);
}

/* Returns a key; instruction lists have two keys each. */
static int signal_key(const struct ntk_release_search *index, size_t item)
{
    const struct ntk_slot_fact *fact = ntk_release_search_fact(index, item);

    return fact->code->signal_number == NTK_PROGRAM_NO_NUMBER
               ? -1
               : (int)ntk_program_number(fact->code->signals_event, fact->code->signal_number);
}

static int transfer_key(const struct ntk_release_search *index, size_t item)
{
    const struct ntk_slot_fact *fact = ntk_release_search_fact(index, item);

    return fact->code->done_number == NTK_PROGRAM_NO_NUMBER
               ? -1
               : (int)ntk_program_number(fact->code->done_is_event, fact->code->done_number);
}

/* A list and its sort key. */
struct sorting {
    key_of *key;
    struct ntk_by_number *to;
    const uint32_t *order; /* items in order of time; NULL if they already are */
};
#define SORTINGS_MAX 2

/* Returns memory to the system from time to time. */
static void passed(const struct ntk_release_search *index, const struct sorting *sortings,
                   size_t count, size_t item)
{
    if (item % NTK_TRACE_LOOKS == 0) {
        ntk_trace_give_back(index->core);
        for (size_t s = 0; s < count; s++) {
            ntk_long_list_give_back(&sortings[s].to->list);
        }
    }
}

/* Sorts lists with a counting sort, which keeps the order of time within a number. Lists of the
 * same items are sorted together, because reading the items takes most of the time. */
static int sort_by_number(const struct ntk_release_search *index, size_t item_count,
                          const struct sorting *sortings, size_t count)
{
    uint32_t next[SORTINGS_MAX][NTK_PROGRAM_NUMBERS];
    uint32_t *items[SORTINGS_MAX];

    for (size_t i = 0; i < item_count; i++) {
        passed(index, sortings, count, i);
        for (size_t s = 0; s < count; s++) {
            int k = sortings[s].key(index, sortings[s].order ? sortings[s].order[i] : i);
            sortings[s].to->first[k + 1] += k >= 0;
        }
    }
    for (size_t s = 0; s < count; s++) {
        struct ntk_by_number *to = sortings[s].to;
        for (unsigned n = 0; n < NTK_PROGRAM_NUMBERS; n++) {
            to->first[n + 1] += to->first[n];
            next[s][n] = to->first[n];
        }
        ntk_long_list_init(&to->list, index->program->trace, sizeof(uint32_t), LISTS);
        int ret = ntk_long_list_resize(&to->list, to->first[NTK_PROGRAM_NUMBERS]);
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
    switch (fact->code->wait) {
    case NTK_WAIT_AT_LEAST:
        return value >= fact->code->wait_value;
    case NTK_WAIT_EQUAL:
        return value == fact->code->wait_value;
    case NTK_WAIT_SET:
        return value != 0;
    case NTK_WAIT_CLEAR:
        return value == 0;
    default:
        return true;
    }
}

/* The time of an event and the start of an instruction are the first member of their struct. */
static_assert(offsetof(struct ntk_trace_event, time_ps) == 0 &&
                  offsetof(struct ntk_trace_instruction, start_ps) == 0,
              "list elements begin with their time");

struct elements {
    const void *first;
    size_t bytes; /* size of one element */
    size_t count; /* number of elements in first; the others are in more */
    const void *more;
};

static bool is_until(const struct ntk_by_number *sorted, struct elements of, size_t at,
                     int64_t time_ps)
{
    uint32_t item = sorted->items[at];
    bool is_more = item >= of.count;
    const char *list = is_more ? of.more : of.first;
    int64_t at_ps;

    assert(list != NULL);
    memcpy(&at_ps, list + of.bytes * (is_more ? item - of.count : item), sizeof at_ps);
    return at_ps <= time_ps;
}

/* Returns the position in the items of the number after the last item that is not later than the
 * time. Steps double from the end of the last search, so each search is short. */
static uint32_t until(struct ntk_by_number *sorted, struct elements of, unsigned number,
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
    NTK_BISECT(low, high, i, is_until(sorted, of, i, time_ps));
    sorted->near[number] = (uint32_t)low;
    return (uint32_t)low;
}

static uint32_t changes_until(struct ntk_release_search *index, unsigned number, int64_t time_ps)
{
    struct elements events = { index->core->events, sizeof *index->core->events,
                               index->core->event_count, index->dependencies->lost.events };

    return until(&index->changes, events, number, time_ps);
}

static const struct ntk_trace_event *change_of(const struct ntk_release_search *index, uint32_t at)
{
    return ntk_change_at(index->core, index->dependencies, index->changes.items[at]);
}

/* Returns the first of at most HIDDEN_MAX successive changes before `at`, but after from_ps, that
 * leave the condition true. Waits for the same condition are in order of time, so together they
 * examine each change once. */
static uint32_t first_of_run(struct ntk_release_search *index, const struct ntk_slot_fact *fact,
                             unsigned number, uint32_t at, int64_t from_ps)
{
    struct ntk_release_run *run =
        &index->runs[(number * 31 + fact->code->wait_value) % NTK_RELEASE_RUNS];
    bool is_known = run->is_used && run->number == number && run->wait == fact->code->wait &&
                    run->value == fact->code->wait_value && run->at <= at;
    uint32_t least = is_known ? run->at : index->changes.first[number];
    uint32_t first = at;

    least = at - least > HIDDEN_MAX ? at - HIDDEN_MAX : least;
    while (first > least && change_of(index, first - 1)->time_ps > from_ps &&
           is_satisfied(fact, change_of(index, first - 1)->value)) {
        first--;
    }
    if (is_known && first == run->at) {
        first = at - run->first > HIDDEN_MAX ? at - HIDDEN_MAX : run->first;
    }
    *run = (struct ntk_release_run){ .is_used = true,
                                     .wait = fact->code->wait,
                                     .number = (uint16_t)number,
                                     .value = fact->code->wait_value,
                                     .first = first,
                                     .at = at };
    return first;
}

/* Returns true for a vendor's wait for an event, which clears it. */
static bool takes(const struct ntk_slot_fact *fact, const struct ntk_trace_instruction *instruction,
                  const struct ntk_trace_event *change)
{
    return fact->code->wait == NTK_WAIT_SET && !fact->code->is_open && change->value == 0 &&
           change->source == instruction->engine;
}

/* Returns the start of the instruction's execution, which its own changes follow; INT64_MIN for the
 * first one. */
static int64_t execution_start(const struct ntk_release_search *index,
                               const struct ntk_trace_instruction *instruction)
{
    const struct ntk_execution_borders *borders = &index->program->borders;
    size_t of = ntk_execution_of(borders, instruction->start_ps);

    return of ? borders->items[of].start_ps : INT64_MIN;
}

/* Finds the change that made the condition true, by walking back over changes that left it true.
 * Changes that make it false again (a consuming wait, the instruction's own change) may be later:
 * changes not before the start are skipped while they leave it false. If the condition was true
 * before the engine was free, its origin does not matter, and the walk stops there; so all walks
 * together examine each change about once per engine. Changes of an earlier execution release
 * nothing: each execution starts with its own state. */
static uint32_t find_change(struct ntk_release_search *index, const struct ntk_slot_fact *fact,
                            const struct ntk_trace_instruction *instruction, int64_t free_ps,
                            uint32_t *out_ordinal)
{
    bool is_event = fact->code->wait == NTK_WAIT_SET || fact->code->wait == NTK_WAIT_CLEAR;
    unsigned number = ntk_program_number(is_event, fact->code->wait_number);
    const uint32_t *items = index->changes.items;
    uint32_t first = index->changes.first[number];
    int64_t from_ps = execution_start(index, instruction);
    uint32_t at = changes_until(
        index, number, fact->code->waits_inside ? instruction->end_ps : instruction->start_ps);
    bool is_taken = false;

    while (at > first && !is_satisfied(fact, change_of(index, at - 1)->value) &&
           change_of(index, at - 1)->time_ps >= instruction->start_ps) {
        at--;
        is_taken = is_taken || takes(fact, instruction, change_of(index, at));
    }
    /* The event is cleared at the end of the wait, which can be before the recorded start. */
    if (at > first && !is_taken && takes(fact, instruction, change_of(index, at - 1))) {
        at--;
    }
    if (at == first || change_of(index, at - 1)->time_ps <= from_ps ||
        !is_satisfied(fact, change_of(index, at - 1)->value)) {
        return NTK_NO_INDEX;
    }
    at--;
    if (index->finds_hidden) {
        at = first_of_run(index, fact, number, at, from_ps);
    }
    while (!index->finds_hidden && at > first && change_of(index, at)->time_ps > free_ps &&
           change_of(index, at - 1)->time_ps > from_ps &&
           is_satisfied(fact, change_of(index, at - 1)->value)) {
        at--;
    }
    *out_ordinal = at - first;
    return items[at];
}

static uint32_t begun_until(const struct ntk_release_search *index, struct ntk_by_number *sorted,
                            unsigned number, int64_t time_ps)
{
    struct elements instructions = { index->core->instructions, sizeof *index->core->instructions,
                                     index->core->instruction_count, NULL };

    return until(sorted, instructions, number, time_ps);
}

/* Finds the instruction of the engine that signals the number and ends closest to the change. */
static uint32_t find_signaller(struct ntk_release_search *index, unsigned number,
                               const struct ntk_trace_event *change)
{
    struct ntk_by_number *signals = &index->signals;
    uint32_t of_number = signals->first[number + 1] - signals->first[number];
    uint32_t best = NTK_NO_INDEX;
    int64_t best_ps = INT64_MAX;
    /* Start with the last instruction that starts before the change; earlier instructions end
     * farther away, except for overlapping instructions: a few of them are checked. */
    if (change->is_semaphore && index->dependencies->lost.is_counted[change->number] &&
        change->value - 1 < of_number) {
        return signals->items[signals->first[number] + change->value - 1];
    }
    uint32_t low = begun_until(index, signals, number, change->time_ps);
    for (unsigned looked_at = 0; low > signals->first[number] && looked_at < 32 && best_ps > 0;
         looked_at++) {
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

static uint32_t find_transfer(struct ntk_release_search *index, unsigned number, uint32_t ordinal,
                              int64_t time_ps)
{
    struct ntk_by_number *transfers = &index->transfers;
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

/* Finds the sender of a change by DMA: a transfer of this core, an instruction or transfer of
 * another core, or the load of its code. */
static void find_sender(struct ntk_release_search *index, unsigned number, uint32_t ordinal,
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
    /* Without a NEFF, not all transfers of the core are known. */
    release->is_foreign = index->core->neff && release->by == NTK_NO_INDEX &&
                          change->is_semaphore &&
                          index->transfers.first[number] == index->transfers.first[number + 1] &&
                          !ntk_program_queue_of(index->core, (uint16_t)(number & 0xff));
}

void ntk_release_find(struct ntk_release_search *index, size_t waiter, size_t item, int64_t free_ps,
                      struct ntk_release *release)
{
    const struct ntk_slot_fact *fact = ntk_release_search_fact(index, waiter);
    uint32_t ordinal = 0;

    if (fact->code->wait == NTK_WAIT_NONE) {
        return;
    }
    release->event = find_change(index, fact, &index->core->instructions[item], free_ps, &ordinal);
    if (release->event == NTK_NO_INDEX) {
        return;
    }
    const struct ntk_trace_event *change =
        ntk_change_at(index->core, index->dependencies, release->event);
    unsigned number = ntk_program_number(!change->is_semaphore, change->number);
    release->by_transfer = change->source == NTK_NTFF_ENGINE_AXI;
    if (release->by_transfer) {
        find_sender(index, number, ordinal, release);
    } else {
        release->by = find_signaller(index, number, change);
    }
}

static int sort_changes(struct ntk_release_search *index)
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

int ntk_release_search_init(struct ntk_release_search *index)
{
    const struct sorting of_instructions[] = { { signal_key, &index->signals, NULL },
                                               { transfer_key, &index->transfers, NULL } };
    int ret = sort_changes(index);

    if (ret == 0) {
        ret = ntk_core_signals_find(index->program, index->core_index, &index->signals_from);
    }
    return ret < 0 ? ret
                   : sort_by_number(index, index->core->instruction_count, of_instructions,
                                    SORTINGS_MAX);
}

void ntk_release_search_give_back(struct ntk_release_search *index)
{
    ntk_long_list_give_back(&index->changes.list);
    ntk_long_list_give_back(&index->signals.list);
    ntk_long_list_give_back(&index->transfers.list);
}

void ntk_release_search_fini(struct ntk_release_search *index)
{
    ntk_long_list_fini(&index->changes.list);
    ntk_long_list_fini(&index->signals.list);
    ntk_long_list_fini(&index->transfers.list);
    ntk_core_signals_fini(&index->signals_from);
}
