/* SPDX-License-Identifier: MIT */
/* lost_changes - compares the makers and records of each semaphore in order of time. */
#include "profiler/analysis/lost_changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/early_changes.h"
#include "profiler/analysis/transfers.h"
#include "shared/base/order.h"

#define NUMBERS 256
#define LISTS 3
/* Maximum time by which a record may be earlier than its maker (packets that end at the same time
 * can be in either order), and maximum of the least delay. */
#define AWAY_PS 1000000
/* If the engine was free for this time before an instruction, the instruction waited for its
 * condition. */
#define WAITED_PS 100000

struct maker {
    int64_t time_ps;
    uint8_t source;
};

struct waiter {
    int64_t start_ps;
    uint32_t value;
    bool waited; /* true if its engine was free before */
};

/* A list by number: items of number n are from first[n] up to first[n + 1]. */
struct by_number {
    size_t first[NUMBERS + 1];
    size_t next[NUMBERS];
    struct ntk_long_list list;
};

struct finding {
    const struct ntk_program *program;
    size_t core_index;
    const struct ntk_trace_core *core;
    const struct ntk_transfers *transfers;
    bool is_other[NUMBERS];  /* the number is also changed in another way, or by an unknown maker */
    struct by_number makers; /* elements are struct maker */
    struct by_number records; /* elements are struct ntk_trace_event */
    struct by_number waiters; /* elements are struct waiter */
    int64_t *latest, *seen;   /* arrays for struct stretch */
    /* For each transfer a uint16_t: the DMA engines after their last packet */
    struct ntk_long_list rings;
    struct ntk_lost_changes *out;
    int failed;
};

/* ---- lists by number ---- */

/* Adds one item of the number: first only counts, then stores. */
static void add(struct finding *f, struct by_number *list, unsigned number, const void *item)
{
    if (!item) {
        list->first[number + 1]++;
        return;
    }
    char *items = list->list.items;
    memcpy(items + list->list.item_bytes * list->next[number]++, item, list->list.item_bytes);
    if (list->next[number] % NTK_TRACE_LOOKS == 0) {
        ntk_long_list_give_back(&list->list);
        ntk_trace_give_back(f->core);
    }
}

static int counted(const struct finding *f, struct by_number *list, size_t item_bytes)
{
    for (unsigned n = 0; n < NUMBERS; n++) {
        list->first[n + 1] += list->first[n];
        list->next[n] = list->first[n];
    }
    ntk_long_list_init(&list->list, f->program->trace, item_bytes, LISTS);
    return ntk_long_list_resize(&list->list, list->first[NUMBERS]);
}

/* ---- the makers of changes ---- */

static void pass_instructions(struct finding *f, bool is_counting)
{
    ntk_trace_each_instruction(f->core, one) {
        const struct ntk_slot_fact *fact = ntk_program_fact(f->program, f->core_index, one);
        const struct maker maker = { one->end_ps, one->engine };

        if (fact->code->signals_event || fact->code->signal_number >= NUMBERS) {
            continue;
        }
        if (fact->code->adds_one) {
            add(f, &f->makers, fact->code->signal_number, is_counting ? NULL : &maker);
        } else {
            f->is_other[fact->code->signal_number] = true;
        }
    }
}

static bool is_of_number(const struct ntk_slot_fact *fact)
{
    return !fact->code->done_is_event && fact->code->done_number < NUMBERS;
}

/* Visits packets. Each ring increments the semaphore with the last packet that it has of a
 * transfer: backwards, this is the first packet. */
static void pass_packets(struct finding *f, bool is_counting)
{
    const struct ntk_transfers_core *all = &f->transfers->cores[f->core_index];
    uint16_t *rings = f->rings.items;

    if (all->count) {
        memset(rings, 0, all->count * sizeof *rings);
    }
    for (size_t i = f->core->packet_count; i-- > 0;) {
        const struct ntk_trace_packet *packet = &f->core->packets[i];
        const struct maker maker = { packet->end_ps, NTK_NTFF_ENGINE_AXI };
        const struct ntk_transfer *of =
            ntk_transfer_of_packet(f->transfers, f->core_index, (uint32_t)i);
        const struct ntk_slot_fact *fact =
            of ? ntk_transfer_fact(f->transfers, f->core_index, of) : NULL;
        uint16_t ring = (uint16_t)(1U << packet->engine % NTK_NTFF_DMA_ENGINES);
        if (i % NTK_TRACE_LOOKS == 0) {
            ntk_trace_give_back(f->core);
        }
        if (fact && is_of_number(fact) && !(rings[of - all->items] & ring)) {
            rings[of - all->items] |= ring;
            add(f, &f->makers, fact->code->done_number, is_counting ? NULL : &maker);
        }
    }
}

static void find_unknown_transfers(struct finding *f)
{
    const struct ntk_transfers_core *of = &f->transfers->cores[f->core_index];

    for (size_t t = 0; t < of->count; t++) {
        const struct ntk_slot_fact *fact =
            ntk_transfer_fact(f->transfers, f->core_index, &of->items[t]);
        bool is_unknown = of->items[t].packet_count == 0 || f->program->dropped.bytes.lost;
        if (is_unknown && is_of_number(fact)) {
            f->is_other[fact->code->done_number] = true;
        }
    }
}

static void pass_records(struct finding *f, bool is_counting)
{
    ntk_trace_each_event(f->core, event) {
        if (!event->is_semaphore) {
            continue;
        }
        bool is_write = event->mode == NTK_NTFF_MODE_SEMAPHORE_WRITE && event->value == 0;
        if (!is_write && event->mode != NTK_NTFF_MODE_SEMAPHORE_INC) {
            f->is_other[event->number] = true;
        }
        add(f, &f->records, event->number, is_counting ? NULL : event);
    }
}

/* Visits instructions that start when a semaphore has a value. */
static void pass_waiters(struct finding *f, bool is_counting)
{
    int64_t free_ps[NTK_NTFF_ENGINE_COUNT];

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        free_ps[e] = INT64_MAX;
    }
    ntk_trace_each_instruction(f->core, one) {
        const struct ntk_slot_fact *fact = ntk_program_fact(f->program, f->core_index, one);
        int64_t *free_at_ps = &free_ps[one->engine];
        /* Descriptors of transfers are recorded late. */
        bool waited = !fact->code->is_transfer && one->start_ps - WAITED_PS > *free_at_ps;
        const struct waiter waiter = { one->start_ps, fact->code->wait_value, waited };

        if (fact->code->has_sync && fact->code->wait == NTK_WAIT_AT_LEAST &&
            fact->code->wait_number < NUMBERS && !fact->code->waits_inside) {
            add(f, &f->waiters, fact->code->wait_number, is_counting ? NULL : &waiter);
        }
        *free_at_ps =
            *free_at_ps == INT64_MAX || one->end_ps > *free_at_ps ? one->end_ps : *free_at_ps;
    }
}

NTK_ORDER(by_time, struct maker, NTK_UP(time_ps));

static int find_all(struct finding *f)
{
    ntk_long_list_init(&f->rings, f->program->trace, sizeof(uint16_t), LISTS);
    int ret = ntk_long_list_resize(&f->rings, f->transfers->cores[f->core_index].count);

    if (ret < 0) {
        return ret;
    }
    pass_instructions(f, true);
    pass_packets(f, true);
    pass_records(f, true);
    pass_waiters(f, true);
    ret = counted(f, &f->makers, sizeof(struct maker));
    ret = ret ? ret : counted(f, &f->records, sizeof(struct ntk_trace_event));
    ret = ret ? ret : counted(f, &f->waiters, sizeof(struct waiter));
    if (ret < 0) {
        return ret;
    }
    pass_instructions(f, false);
    pass_packets(f, false);
    pass_records(f, false);
    pass_waiters(f, false);
    find_unknown_transfers(f);
    return 0;
}

/* ---- one semaphore ---- */

/* Changes from one write of 0 to the next. */
struct stretch {
    const struct maker *makers;
    size_t maker_count;
    const struct ntk_trace_event *records; /* increments */
    size_t record_count;
    const struct waiter *waiters;
    size_t waiter_count;
    int64_t *latest; /* for value k: latest time, because an instruction that needed it started */
    int64_t *seen; /* for value k: start of an instruction that waited for it; INT64_MAX if none */
};

static int64_t delay_of(const struct stretch *s, size_t record)
{
    const struct ntk_trace_event *event = &s->records[record];

    return event->time_ps - s->makers[event->value - 1].time_ps;
}

/* Returns true if the values of all records can come from the makers; computes the least delay. */
static bool fits(const struct stretch *s, int64_t *least_ps)
{
    for (size_t r = 0; r < s->record_count; r++) {
        uint32_t value = s->records[r].value;
        if (value == 0 || value > s->maker_count || (r && value <= s->records[r - 1].value) ||
            delay_of(s, r) < -AWAY_PS) {
            return false;
        }
        int64_t delay_ps = delay_of(s, r) > 0 ? delay_of(s, r) : 0;
        *least_ps = delay_ps < *least_ps ? delay_ps : *least_ps;
    }
    return true;
}

static void see_waiters(const struct stretch *s)
{
    for (size_t k = 0; k <= s->maker_count; k++) {
        s->latest[k] = INT64_MAX;
        s->seen[k] = INT64_MAX;
    }
    for (size_t w = 0; w < s->waiter_count; w++) {
        const struct waiter *waiter = &s->waiters[w];
        if (waiter->value <= s->maker_count) {
            int64_t *latest = &s->latest[waiter->value];
            int64_t *seen = &s->seen[waiter->value];
            *latest = waiter->start_ps < *latest ? waiter->start_ps : *latest;
            *seen = waiter->waited && waiter->start_ps < *seen ? waiter->start_ps : *seen;
        }
    }
    for (size_t k = s->maker_count; k-- > 0;) {
        s->latest[k] = s->latest[k] < s->latest[k + 1] ? s->latest[k] : s->latest[k + 1];
    }
}

/* Estimates a delay between two known delays, because delays grow and shrink with the backlog. */
static int64_t between(const struct stretch *s, size_t next, uint32_t value, int64_t least_ps)
{
    if (next == 0 || next == s->record_count) {
        return least_ps;
    }
    int64_t from = s->records[next - 1].value;
    int64_t to = s->records[next].value;
    int64_t from_ps = delay_of(s, next - 1);
    return from_ps + (delay_of(s, next) - from_ps) / (to - from) * ((int64_t)value - from);
}

static void put_stretch(struct finding *f, const struct stretch *s, unsigned number,
                        int64_t least_ps)
{
    int64_t before_ps = INT64_MIN;
    size_t record = 0;

    see_waiters(s);
    for (size_t k = 0; k < s->maker_count && !f->failed; k++) {
        uint32_t value = (uint32_t)k + 1;
        const struct ntk_trace_event *next = record < s->record_count ? &s->records[record] : NULL;

        if (next && next->value == value) {
            before_ps = next->time_ps;
            record++;
            continue;
        }
        int64_t first_ps = s->makers[k].time_ps + least_ps;
        first_ps = first_ps > before_ps ? first_ps : before_ps;
        int64_t last_ps =
            next && next->time_ps < s->latest[value] ? next->time_ps : s->latest[value];
        int64_t time_ps = s->seen[value] != INT64_MAX
                              ? s->seen[value]
                              : s->makers[k].time_ps + between(s, record, value, least_ps);
        time_ps = time_ps < last_ps ? time_ps : last_ps;
        time_ps = time_ps > first_ps ? time_ps : first_ps;
        struct ntk_trace_event *event = ntk_long_list_add(&f->out->list, &f->failed);
        if (event) {
            *event = (struct ntk_trace_event){ .time_ps = time_ps,
                                               .value = value,
                                               .source = s->makers[k].source,
                                               .mode = NTK_NTFF_MODE_SEMAPHORE_INC,
                                               .number = (uint8_t)number,
                                               .is_semaphore = true };
            before_ps = time_ps;
        }
    }
}

/* Checks each stretch, then stores its changes. Returns false if a stretch does not fit. */
static bool pass_number(struct finding *f, unsigned number, int64_t *least_ps, bool is_check)
{
    const struct maker *makers = f->makers.list.items;
    const struct ntk_trace_event *records = f->records.list.items;
    const struct waiter *waiters = f->waiters.list.items;
    size_t maker = f->makers.first[number];
    size_t record = f->records.first[number];
    size_t waiter = f->waiters.first[number];
    size_t makers_end = f->makers.first[number + 1];
    size_t records_end = f->records.first[number + 1];
    size_t waiters_end = f->waiters.first[number + 1];

    f->out->is_counted[number] = true; /* reset below if there are several stretches */
    while (maker < makers_end) {
        struct stretch s = { .makers = makers + maker,
                             .records = records + record,
                             .waiters = waiters + waiter,
                             .latest = f->latest,
                             .seen = f->seen };
        int64_t until_ps = INT64_MAX;

        for (; record < records_end && records[record].mode == NTK_NTFF_MODE_SEMAPHORE_INC;
             record++) {
            s.record_count++;
        }
        if (record < records_end) {
            until_ps = records[record++].time_ps; /* the write of 0 */
        }
        for (; maker < makers_end && makers[maker].time_ps <= until_ps; maker++) {
            s.maker_count++;
        }
        for (; waiter < waiters_end && waiters[waiter].start_ps <= until_ps; waiter++) {
            s.waiter_count++;
        }
        f->out->is_counted[number] = f->out->is_counted[number] &&
                                     (s.maker_count == 0 || maker == makers_end) &&
                                     s.makers == makers + f->makers.first[number];
        if (is_check && !fits(&s, least_ps)) {
            f->out->is_counted[number] = false;
            return false;
        }
        if (!is_check) {
            put_stretch(f, &s, number, *least_ps);
        }
    }
    return true;
}

static bool is_of_one_engine(const struct maker *makers, size_t count)
{
    for (size_t m = 1; m < count; m++) {
        if (makers[m].source != makers[0].source) {
            return false;
        }
    }
    return makers[0].source != NTK_NTFF_ENGINE_AXI;
}

NTK_ORDER(by_moment, struct ntk_trace_event, NTK_UP(time_ps) NTK_UP(number) NTK_UP(value));

static void pass_numbers(struct finding *f)
{
    for (unsigned n = 0; n < NUMBERS && !f->failed; n++) {
        size_t count = f->makers.first[n + 1] - f->makers.first[n];
        int64_t least_ps = INT64_MAX;

        if (count == 0 || f->is_other[n]) {
            continue;
        }
        struct maker *makers = (struct maker *)f->makers.list.items + f->makers.first[n];
        qsort(makers, count, sizeof *makers, by_time);
        f->latest = calloc(2 * (count + 1), sizeof *f->latest);
        if (!f->latest) {
            f->failed = -ENOMEM;
            return;
        }
        f->seen = f->latest + count + 1;
        if (pass_number(f, n, &least_ps, true) && (least_ps == INT64_MAX || least_ps <= AWAY_PS)) {
            least_ps = least_ps == INT64_MAX ? 0 : least_ps;
            (void)pass_number(f, n, &least_ps, false);
            f->out->is_counted[n] = f->out->is_counted[n] && is_of_one_engine(makers, count);
        } else {
            f->out->is_counted[n] = false;
        }
        free(f->latest);
    }
}

static int find_lost(const struct ntk_program *program, size_t core_index,
                     const struct ntk_transfers *transfers, struct ntk_lost_changes *changes)
{
    const struct ntk_trace *trace = program->trace;
    const struct ntk_dropped *dropped = &program->dropped;

    if (!dropped->changes.lost || dropped->instructions.lost || trace->is_part ||
        trace->is_cut.instructions || trace->is_cut.events) {
        return 0;
    }
    struct finding *f = calloc(1, sizeof *f);
    if (!f) {
        return -ENOMEM;
    }
    f->program = program;
    f->core_index = core_index;
    f->core = &trace->cores[core_index];
    f->transfers = transfers;
    f->out = changes;
    f->failed = find_all(f);
    if (!f->failed) {
        pass_numbers(f);
    }
    int ret = f->failed;
    ntk_long_list_fini(&f->makers.list);
    ntk_long_list_fini(&f->records.list);
    ntk_long_list_fini(&f->waiters.list);
    ntk_long_list_fini(&f->rings);
    free(f);
    return ret;
}

int ntk_lost_changes_find(const struct ntk_program *program, size_t core_index,
                          const struct ntk_transfers *transfers,
                          struct ntk_lost_changes *out_changes)
{
    struct ntk_lost_changes changes = { 0 };
    size_t share = LISTS * program->trace->core_count;

    ntk_long_list_init(&changes.list, program->trace, sizeof(struct ntk_trace_event), share);
    ntk_long_list_init(&changes.replaced, program->trace, sizeof(uint32_t), share);
    int ret = find_lost(program, core_index, transfers, &changes);
    ret = ret ? ret : ntk_early_changes_add(program, core_index, &changes);
    if (ret < 0) {
        ntk_lost_changes_fini(&changes);
        *out_changes = changes;
        return ret;
    }
    if (changes.list.count) {
        qsort(changes.list.items, changes.list.count, sizeof(struct ntk_trace_event), by_moment);
    }
    changes.events = changes.list.items;
    changes.count = changes.list.count;
    *out_changes = changes;
    return 0;
}

void ntk_lost_changes_fini(struct ntk_lost_changes *changes)
{
    ntk_long_list_fini(&changes->list);
    ntk_long_list_fini(&changes->replaced);
    *changes = (struct ntk_lost_changes){ 0 };
}

int ntk_lost_changes_order(const struct ntk_lost_changes *changes, const struct ntk_trace *trace,
                           const struct ntk_trace_core *core, struct ntk_long_list *out_order)
{
    const uint32_t *replaced = changes->replaced.items;
    size_t replaced_count = changes->replaced.count;
    size_t count = changes->count ? core->event_count + changes->count - replaced_count : 0;
    size_t next = 0;

    ntk_long_list_init(out_order, trace, sizeof(uint32_t), LISTS);
    int ret = ntk_long_list_resize(out_order, count);
    if (ret < 0 || !count) {
        return ret;
    }
    uint32_t *to = out_order->items;
    ntk_trace_each_event(core, event) {
        uint32_t index = (uint32_t)(event - core->events);
        for (; next < changes->count && changes->events[next].time_ps < event->time_ps; next++) {
            *to++ = (uint32_t)(core->event_count + next);
        }
        if (replaced_count && *replaced == index) {
            replaced++;
            replaced_count--;
        } else {
            *to++ = index;
        }
    }
    for (; next < changes->count; next++) {
        *to++ = (uint32_t)(core->event_count + next);
    }
    return 0;
}
