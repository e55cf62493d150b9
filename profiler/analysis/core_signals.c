/* SPDX-License-Identifier: MIT */
/* core_signals - matches writes by address and changes by semaphore, in order. */
#include "profiler/analysis/core_signals.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/analysis/dma_group.h"
#include "profiler/analysis/open_slot.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/vendor_slot.h"

#define NUMBERS 256

/* An instruction that changes a semaphore of another core. */
struct write {
    uint64_t address; /* for a group in the open encoding: the core that has it */
    int64_t start_ps;
    uint32_t item;
    uint16_t core;
    uint16_t number;
    bool is_transfer;
};

struct finding {
    const struct ntk_program *program;
    size_t core_index;
    const struct ntk_trace_core *core;
    bool is_own[NUMBERS]; /* changed by a transfer of the core itself */
    struct ntk_vec writes;
    struct ntk_vec changes[NUMBERS]; /* elements are uint32_t: indices of changes by DMA */
    struct ntk_vec signals;
    int failed;
};

bool ntk_core_signals_in(const uint8_t *slot)
{
    uint64_t address;
    uint64_t data;
    uint16_t number;
    bool is_any = false;

    for (unsigned w = 0; slot[0] == NTK_NTFF_OPCODE_WRITE && w < NTK_VENDOR_SLOT_WRITE_WORDS; w++) {
        is_any = is_any || (ntk_vendor_slot_write(slot, w, &address, &data) &&
                            ntk_vendor_address_is_increment(address, &number));
    }
    return is_any;
}

bool ntk_core_signals_lack_cores(const struct ntk_trace *trace)
{
    bool lacks = trace->ntff->subgraph_count > trace->core_count;

    for (uint32_t k = 0; trace->neff && trace->core_count && k < trace->neff->kelf_count; k++) {
        const struct ntk_neff_kelf *kelf = &trace->neff->kelfs[k];
        const struct ntk_neff_subgraph *of = trace->cores[0].neff;
        bool is_of = kelf->subgraph_count && of >= kelf->subgraphs &&
                     of < kelf->subgraphs + kelf->subgraph_count;
        lacks = lacks || (is_of && kelf->subgraph_count > trace->core_count);
    }
    return lacks;
}

static void push(struct finding *f, struct ntk_vec *to, const void *item)
{
    if (ntk_vec_push(to, item) < 0) {
        f->failed = -ENOMEM;
    }
}

/* ---- writes of other cores ---- */

static void add_vendor(struct finding *f, const uint8_t *slot, struct write write)
{
    uint64_t data;

    for (unsigned w = 0; w < NTK_VENDOR_SLOT_WRITE_WORDS; w++) {
        if (ntk_vendor_slot_write(slot, w, &write.address, &data) &&
            ntk_vendor_address_is_increment(write.address, &write.number)) {
            push(f, &f->writes, &write);
        }
    }
}

/* Adds groups, which change semaphores of the other core in the pair. */
static void add_open(struct finding *f, const struct ntk_trace_core *from,
                     const struct ntk_trace_instruction *one, const struct ntk_isa_instr *open,
                     struct write write)
{
    uint32_t index = 0;
    const struct ntk_neff_dma_group *group = ntk_dma_group_next(from, one->engine, open, &index);

    write.is_transfer = true;
    write.address = write.core;
    if ((from->ntff->core ^ 1U) != f->core->ntff->core) {
        return;
    }
    for (; group; group = ntk_dma_group_next(from, one->engine, open, &index)) {
        for (uint32_t i = 0; i < group->remote_semaphore_count; i++) {
            write.number = group->remote_semaphores[i];
            push(f, &f->writes, &write);
        }
    }
}

static void add_writes(struct finding *f, size_t core_index)
{
    const struct ntk_trace_core *from = &f->program->trace->cores[core_index];

    ntk_trace_each_instruction(from, one) {
        const struct write write = { .start_ps = one->start_ps,
                                     .item = (uint32_t)(one - from->instructions),
                                     .core = (uint16_t)core_index };
        struct ntk_isa_instr open;
        if (!ntk_program_fact(f->program, core_index, one)->code->signals_core) {
            continue;
        }
        if (ntk_open_slot_decode(from, one, &open)) {
            add_open(f, from, one, &open, write);
        } else {
            add_vendor(f, ntk_ntff_slot_get(from->ntff, one->engine, one->slot), write);
        }
    }
}

NTK_ORDER(by_place, struct write, NTK_UP(number) NTK_UP(address) NTK_UP(start_ps) NTK_UP(item));

/* ---- changes of this core ---- */

static void find_own(struct finding *f)
{
    ntk_trace_each_instruction(f->core, one) {
        const struct ntk_slot_fact *fact = ntk_program_fact(f->program, f->core_index, one);
        if (fact->code->done_number < NUMBERS && !fact->code->done_is_event) {
            f->is_own[fact->code->done_number] = true;
        }
    }
    for (uint16_t n = 0; n < NUMBERS; n++) {
        f->is_own[n] = f->is_own[n] || ntk_program_queue_of(f->core, n);
    }
}

static void find_changes(struct finding *f)
{
    ntk_trace_each_event(f->core, event) {
        uint32_t index = (uint32_t)(event - f->core->events);
        if (event->is_semaphore && event->source == NTK_NTFF_ENGINE_AXI && event->value &&
            !f->is_own[event->number]) {
            push(f, &f->changes[event->number], &index);
        }
    }
}

/* ---- changes and their makers ---- */

/* Compares the writes to one address with the changes of their semaphore. */
static bool fits(const struct finding *f, const struct write *writes, size_t count,
                 const struct ntk_vec *changes)
{
    const uint32_t *events = changes->items;
    bool is_before = count == changes->count;

    for (size_t i = 0; is_before && i < count; i++) {
        is_before = writes[i].start_ps <= f->core->events[events[i]].time_ps;
    }
    return is_before;
}

/* Matches writes, all to one semaphore. */
static void match(struct finding *f, const struct write *writes, size_t count)
{
    const struct ntk_vec *changes = &f->changes[writes[0].number & (NUMBERS - 1)];
    const struct write *found = NULL;
    size_t found_count = 0;
    size_t length = 0;

    if (writes[0].number >= NUMBERS) {
        return;
    }
    for (size_t from = 0; from < count; from += length) {
        for (length = 1;
             from + length < count && writes[from + length].address == writes[from].address;
             length++) {
        }
        if (fits(f, writes + from, length, changes)) {
            found = writes + from;
            found_count++;
        }
    }
    for (size_t i = 0; found_count == 1 && i < changes->count; i++) {
        const struct ntk_core_signal signal = { ((const uint32_t *)changes->items)[i],
                                                found[i].item, found[i].core,
                                                found[i].is_transfer };
        push(f, &f->signals, &signal);
    }
}

NTK_ORDER(by_event, struct ntk_core_signal, NTK_UP(event));

static void match_all(struct finding *f)
{
    size_t length = 0;

    ntk_vec_sort(&f->writes, by_place);
    const struct write *writes = f->writes.items;
    for (size_t from = 0; from < f->writes.count; from += length) {
        for (length = 1;
             from + length < f->writes.count && writes[from + length].number == writes[from].number;
             length++) {
        }
        match(f, writes + from, length);
    }
    ntk_vec_sort(&f->signals, by_event);
}

int ntk_core_signals_find(const struct ntk_program *program, size_t core_index,
                          struct ntk_core_signals *out_signals)
{
    size_t core_count = program->trace->core_count;

    *out_signals = (struct ntk_core_signals){ 0 };
    if (!program->has_core_signals || core_count < 2) {
        return 0;
    }
    struct finding *f = calloc(1, sizeof *f);
    if (!f) {
        return -ENOMEM;
    }
    f->program = program;
    f->core_index = core_index;
    f->core = &program->trace->cores[core_index];
    ntk_vec_init(&f->writes, sizeof(struct write));
    ntk_vec_init(&f->signals, sizeof(struct ntk_core_signal));
    for (size_t n = 0; n < NUMBERS; n++) {
        ntk_vec_init(&f->changes[n], sizeof(uint32_t));
    }
    for (size_t c = 0; c < core_count; c++) {
        size_t away = c > core_index ? c - core_index : core_index - c;
        if (away && away <= NTK_CORE_SIGNALS_AWAY) {
            add_writes(f, c);
        }
    }
    if (f->writes.count && !f->failed) {
        find_own(f);
        find_changes(f);
        match_all(f);
    }
    int ret = f->failed;
    out_signals->items = f->signals.items;
    out_signals->count = f->signals.count;
    ntk_vec_fini(&f->writes);
    for (size_t n = 0; n < NUMBERS; n++) {
        ntk_vec_fini(&f->changes[n]);
    }
    free(f);
    if (ret < 0) {
        ntk_core_signals_fini(out_signals);
    }
    return ret;
}

const struct ntk_core_signal *ntk_core_signals_at(const struct ntk_core_signals *signals,
                                                  uint32_t event)
{
    const struct ntk_core_signal key = { .event = event };

    return signals->count ? bsearch(&key, signals->items, signals->count, sizeof key, by_event)
                          : NULL;
}

void ntk_core_signals_fini(struct ntk_core_signals *signals)
{
    free(signals->items);
    *signals = (struct ntk_core_signals){ 0 };
}
