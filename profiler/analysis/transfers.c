/* SPDX-License-Identifier: MIT */
/* transfers - processes instructions, changes and packets of a core in order of time. */
#include "profiler/analysis/transfers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/packet_rules.h"
#include "profiler/analysis/queue_names.h"
#include "profiler/trace/executed.h"
#include "shared/base/bisect.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

#define RINGS ((size_t)NTK_NTFF_DMA_ENGINES * NTK_NTFF_DMA_QUEUES)
#define NONE NTK_PACKET_NO_TRANSFER
#define LISTS 4 /* maximum number of simultaneous lists */
#define LOOKS (NTK_TRACE_LOOKS / LISTS)

struct number { /* a semaphore or event */
    uint32_t first, last, count;
    uint64_t change_count, passed;
    uint32_t current; /* current transfer */
};

struct finding {
    const struct ntk_program *program;
    size_t core_index;
    const struct ntk_trace_core *core;
    struct ntk_transfers_core *out;
    struct ntk_vec queues;       /* elements are struct ntk_packet_queue */
    struct ntk_map names;        /* maps a shown name to 1 + index */
    struct ntk_map facts;        /* maps the address of a name in a fact to 1 + index */
    struct ntk_long_list begun;  /* elements are struct ntk_begun, parallel to out->list */
    struct ntk_long_list owners; /* elements are uint32_t: queue of each transfer */
    struct number numbers[NTK_PROGRAM_NUMBERS];
    struct ntk_packet_ring rings[RINGS];
};

static struct ntk_begun *begun_of(const struct finding *f)
{
    return f->begun.items;
}

static struct ntk_transfer *items_of(const struct finding *f)
{
    return f->out->list.items;
}

static void passed(const struct finding *f, size_t item)
{
    if (item % LOOKS == 0) {
        ntk_long_list_give_back(&f->out->list);
        ntk_long_list_give_back(&f->out->packet_list);
        ntk_long_list_give_back(&f->begun);
        ntk_long_list_give_back(&f->owners);
    }
}

/* Returns NULL if unknown. */
static struct ntk_packet_queue *queue_of(const struct finding *f, size_t transfer)
{
    uint32_t owner = ((const uint32_t *)f->owners.items)[transfer];

    return owner == NONE ? NULL : ntk_vec_at(&f->queues, owner);
}

/* ---- queues ---- */

/* Finds a queue by its shown name. Returns 0 and an index, or -ENOMEM. */
static int queue_of_name(struct finding *f, const char *name, uint32_t *out_queue)
{
    char shown[NTK_NTFF_NAME_BYTES];

    ntk_ntff_queue_name_show(name, shown, sizeof shown);
    uintptr_t number = (uintptr_t)ntk_map_get(&f->names, shown);
    if (!number) {
        struct ntk_packet_queue queue = { .first = NONE, .last = NONE, .is_prepared = true };
        number = f->queues.count + 1;
        if (ntk_vec_push(&f->queues, &queue) < 0 ||
            ntk_map_put(&f->names, shown, (void *)number) < 0) {
            return -ENOMEM;
        }
    }
    *out_queue = (uint32_t)(number - 1);
    return 0;
}

static int find_rings(struct finding *f)
{
    const struct ntk_ntff_subgraph *ntff = f->core->ntff;
    int ret = 0;

    for (size_t r = 0; r < RINGS; r++) {
        f->rings[r] = (struct ntk_packet_ring){ .queue = NONE, .current = NONE };
    }
    for (size_t q = 0; q < ntff->queue_count && ret == 0; q++) {
        const struct ntk_ntff_queue *queue = &ntff->queues[q];
        size_t ring =
            (size_t)(queue->engine % NTK_NTFF_DMA_ENGINES) * NTK_NTFF_DMA_QUEUES + queue->queue;
        if (queue->queue < NTK_NTFF_DMA_QUEUES) {
            ret = queue_of_name(f, queue->name, &f->rings[ring].queue);
        }
    }
    for (size_t r = 0; r < RINGS && ret == 0; r++) {
        if (f->rings[r].queue != NONE) {
            ((struct ntk_packet_queue *)ntk_vec_at(&f->queues, f->rings[r].queue))->ring_count++;
        }
    }
    return ret;
}

/* Finds the ring of a packet; a packet of an unnamed queue gets the ring of its position. */
static struct ntk_packet_ring *ring_of(struct finding *f, const struct ntk_trace_packet *packet)
{
    size_t ring = (size_t)(packet->engine % NTK_NTFF_DMA_ENGINES) * NTK_NTFF_DMA_QUEUES +
                  packet->queue % NTK_NTFF_DMA_QUEUES;

    return &f->rings[ring];
}

/* ---- started transfers ---- */

static int queue_of_fact(struct finding *f, const struct ntk_slot_fact *fact, uint32_t *out_queue)
{
    uint64_t key = (uintptr_t)fact->code->queue;
    uintptr_t number = (uintptr_t)ntk_map_get_number(&f->facts, key);
    int ret = 0;

    if (!number) {
        ret = queue_of_name(f, fact->code->queue, out_queue);
        return ret ? ret : ntk_map_put_number(&f->facts, key, (void *)((uintptr_t)*out_queue + 1));
    }
    *out_queue = (uint32_t)(number - 1);
    return 0;
}

static void fill_begun(const struct ntk_slot_fact *fact, struct ntk_begun *begun)
{
    const struct ntk_moves *moves = fact->code->moves;

    begun->next = NONE;
    begun->before = NONE;
    begun->next_of_number = NONE;
    begun->done_ps = INT64_MAX;
    begun->last_done_ps = INT64_MAX;
    if (fact->code->has_bytes) {
        begun->bytes_count = fact->code->read_bytes > fact->code->write_bytes
                                 ? fact->code->read_bytes
                                 : fact->code->write_bytes;
    }
    if (moves && moves->is_plain) {
        begun->sides[0] = moves->bytes[NTK_MOVES_SOURCE];
        begun->sides[1] = moves->bytes[NTK_MOVES_DEST];
        begun->is_undivided = moves->is_one_row && begun->sides[1] > 0;
    }
}

static void append(struct finding *f, struct ntk_packet_queue *queue, uint32_t transfer)
{
    struct ntk_begun *begun = begun_of(f);

    begun[transfer].before = queue->last;
    if (queue->last == NONE) {
        queue->first = transfer;
    } else {
        begun[queue->last].next = transfer;
    }
    queue->last = transfer;
    queue->count++;
}

static void append_to_number(struct finding *f, const struct ntk_slot_fact *fact, uint32_t transfer)
{
    struct number *number;

    if (fact->code->done_number == NTK_PROGRAM_NO_NUMBER) {
        return;
    }
    number = &f->numbers[ntk_program_number(fact->code->done_is_event, fact->code->done_number)];
    if (number->count++ == 0) {
        number->first = transfer;
    } else {
        begun_of(f)[number->last].next_of_number = transfer;
    }
    number->last = transfer;
}

static int add_transfer(struct finding *f, const struct ntk_trace_instruction *instruction,
                        const struct ntk_slot_fact *fact)
{
    int ret = 0;
    uint32_t queue_index = NONE;
    struct ntk_transfer *transfer = ntk_long_list_add(&f->out->list, &ret);
    struct ntk_begun *begun = ret ? NULL : ntk_long_list_add(&f->begun, &ret);
    uint32_t *owner = ret ? NULL : ntk_long_list_add(&f->owners, &ret);
    uint32_t index = (uint32_t)f->out->list.count - 1;

    if (!transfer || !begun || !owner) {
        return ret;
    }
    transfer->instruction = (uint32_t)(instruction - f->core->instructions);
    fill_begun(fact, begun);
    begun->start_ps = instruction->start_ps;
    append_to_number(f, fact, index);
    ret = fact->code->queue ? queue_of_fact(f, fact, &queue_index) : 0;
    *owner = queue_index;
    if (ret == 0 && queue_index != NONE) {
        struct ntk_packet_queue *queue = ntk_vec_at(&f->queues, queue_index);
        append(f, queue, index);
        queue->is_prepared = queue->is_prepared && !fact->code->is_open && fact->code->moves &&
                             fact->code->moves->is_prepared;
    }
    passed(f, index);
    return ret;
}

/* Finds started transfers. Facts are far apart in memory, and few instructions start a transfer. */
static int find_begun(struct finding *f)
{
    struct ntk_executed executed = { .core = f->core };
    /* indexed by opcode: true if some instructions start a transfer */
    bool begins[256] = { false };

    while (ntk_executed_next(&executed)) {
        const struct ntk_trace_instruction *of = &executed.instruction;
        begins[of->opcode] = begins[of->opcode] ||
                             ntk_program_fact(f->program, f->core_index, of)->code->is_transfer;
    }
    ntk_trace_each_instruction(f->core, instruction) {
        if (!begins[instruction->opcode]) {
            continue;
        }
        const struct ntk_slot_fact *fact = ntk_program_fact(f->program, f->core_index, instruction);
        int ret = fact->code->is_transfer ? add_transfer(f, instruction, fact) : 0;
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

/* ---- ends ---- */

static struct number *number_of(struct finding *f, const struct ntk_trace_event *event)
{
    return &f->numbers[ntk_program_number(!event->is_semaphore, event->number)];
}

/* Finds ends: DMA changes of a number are divided evenly among the transfers with that number, in
 * order. */
static void find_ends(struct finding *f)
{
    struct ntk_begun *begun = begun_of(f);

    ntk_trace_each_event(f->core, event) {
        number_of(f, event)->change_count += event->source == NTK_NTFF_ENGINE_AXI;
    }
    ntk_trace_each_event(f->core, event) {
        struct number *number = number_of(f, event);
        uint64_t each = number->count ? number->change_count / number->count : 0;
        passed(f, (size_t)(event - f->core->events));
        if (event->source != NTK_NTFF_ENGINE_AXI || !each ||
            each * number->count != number->change_count) {
            continue;
        }
        number->current = number->passed ? number->current : number->first;
        if (++number->passed % each == 0) {
            begun[number->current].done_ps = event->time_ps;
            number->current = begun[number->current].next_of_number;
        }
    }
    for (size_t t = 0; t < f->begun.count; t++) {
        int64_t before_ps =
            begun[t].before == NONE ? INT64_MIN : begun[begun[t].before].last_done_ps;
        begun[t].last_done_ps = begun[t].done_ps > before_ps ? begun[t].done_ps : before_ps;
        passed(f, t);
    }
}

/* ---- packets ---- */

/* Selects the rules; returns true if a rule uses the ends of transfers. */
static bool choose_rules(struct finding *f)
{
    bool by_time = false;

    ntk_trace_each_packet(f->core, packet) {
        struct ntk_packet_ring *ring = ring_of(f, packet);
        if (ring->queue != NONE) {
            struct ntk_packet_queue *queue = ntk_vec_at(&f->queues, ring->queue);
            ring->packet_count++;
            ring->write_count += ntk_packet_is_write(packet);
            queue->packet_count++;
            queue->packet_bytes += packet->bytes_count;
        }
    }
    for (size_t t = 0; t < f->begun.count; t++) {
        struct ntk_packet_queue *queue = queue_of(f, t);
        if (queue) {
            ntk_packet_rule_add(queue, &begun_of(f)[t]);
        }
        passed(f, t);
    }
    for (uint32_t q = 0; q < f->queues.count; q++) {
        struct ntk_packet_queue *queue = ntk_vec_at(&f->queues, q);
        ntk_packet_rule_choose(queue, q, f->rings, RINGS);
        by_time = by_time || (queue->rule == NTK_PACKETS_TIME && queue->count);
    }
    return by_time;
}

static void add_packet(struct ntk_transfer *transfer, const struct ntk_trace_packet *packet,
                       uint32_t index)
{
    if (transfer->packet_count++ == 0) {
        transfer->first = index;
        transfer->last = index;
        transfer->start_ps = packet->start_ps;
        transfer->end_ps = packet->end_ps;
    }
    if (packet->end_ps > transfer->end_ps) {
        transfer->end_ps = packet->end_ps;
        transfer->last = index;
    }
    transfer->bytes_count += packet->bytes_count;
}

static int share_out(struct finding *f)
{
    int ret = ntk_long_list_resize(&f->out->packet_list, f->core->packet_count);

    if (ret < 0) {
        return ret;
    }
    uint32_t *of_packets = f->out->packet_list.items;
    ntk_trace_each_packet(f->core, packet) {
        struct ntk_packet_ring *ring = ring_of(f, packet);
        uint32_t index = (uint32_t)(packet - f->core->packets);
        passed(f, index);
        if (ring->queue == NONE) {
            continue;
        }
        uint32_t of =
            ntk_packet_rule_next(ntk_vec_at(&f->queues, ring->queue), ring, begun_of(f), packet);
        if (of != NONE) {
            add_packet(&items_of(f)[of], packet, index);
            of_packets[index] = of + 1;
        }
    }
    return 0;
}

static void keep_what_fits(struct finding *f)
{
    const struct ntk_begun *begun = begun_of(f);

    ntk_vec_each(const struct ntk_packet_queue, queue, &f->queues) {
        f->out->left_count += queue->count ? queue->packet_count : 0;
    }
    for (size_t t = 0; t < f->out->list.count; t++) {
        struct ntk_transfer *transfer = &items_of(f)[t];
        struct ntk_packet_queue *queue = queue_of(f, t);
        if (!queue || !ntk_packet_rule_fits(queue, &begun[t], begun, transfer)) {
            *transfer = (struct ntk_transfer){ .instruction = transfer->instruction };
            f->out->unknown_count++;
        }
        f->out->left_count -= transfer->packet_count;
        passed(f, t);
    }
}

static int find_core(const struct ntk_program *program, size_t core_index,
                     struct ntk_transfers_core *out)
{
    struct finding *f = calloc(1, sizeof *f);

    if (!f) {
        return -ENOMEM;
    }
    f->program = program;
    f->core_index = core_index;
    f->core = &program->trace->cores[core_index];
    f->out = out;
    ntk_vec_init(&f->queues, sizeof(struct ntk_packet_queue));
    ntk_long_list_init(&out->list, program->trace, sizeof(struct ntk_transfer),
                       LISTS * program->trace->core_count);
    ntk_long_list_init(&out->packet_list, program->trace, sizeof(uint32_t),
                       LISTS * program->trace->core_count);
    ntk_long_list_init(&f->begun, program->trace, sizeof(struct ntk_begun), LISTS);
    ntk_long_list_init(&f->owners, program->trace, sizeof(uint32_t), LISTS);
    int ret = find_rings(f);
    ret = ret ? ret : find_begun(f);
    if (ret == 0) {
        if (choose_rules(f)) {
            find_ends(f);
        }
        ret = share_out(f);
    }
    if (ret == 0) {
        keep_what_fits(f);
    }
    out->items = out->list.items;
    out->count = out->list.count;
    out->of_packets = out->packet_list.items;
    ntk_long_list_fini(&f->begun);
    ntk_long_list_fini(&f->owners);
    ntk_map_fini(&f->names);
    ntk_map_fini(&f->facts);
    ntk_vec_fini(&f->queues);
    free(f);
    return ret;
}

/* ---- the list ---- */

int ntk_transfers_init(struct ntk_transfers *transfers, const struct ntk_program *program)
{
    int ret = 0;

    *transfers =
        (struct ntk_transfers){ .program = program, .core_count = program->trace->core_count };
    transfers->cores = calloc(transfers->core_count + 1, sizeof *transfers->cores);
    if (!transfers->cores) {
        return -ENOMEM;
    }
    for (size_t c = 0; c < transfers->core_count && ret == 0; c++) {
        ret = find_core(program, c, &transfers->cores[c]);
        ntk_transfers_give_back(transfers, c);
    }
    if (ret < 0) {
        ntk_transfers_fini(transfers);
    }
    return ret;
}

void ntk_transfers_fini(struct ntk_transfers *transfers)
{
    for (size_t c = 0; transfers->cores && c < transfers->core_count; c++) {
        ntk_long_list_fini(&transfers->cores[c].list);
        ntk_long_list_fini(&transfers->cores[c].packet_list);
    }
    free(transfers->cores);
    *transfers = (struct ntk_transfers){ 0 };
}

const struct ntk_transfer *ntk_transfer_of_instruction(const struct ntk_transfers *transfers,
                                                       size_t core, uint32_t instruction)
{
    const struct ntk_transfers_core *of = &transfers->cores[core];
    size_t low = 0;

    NTK_BISECT(low, of->count, i, of->items[i].instruction < instruction);
    return low < of->count && of->items[low].instruction == instruction ? &of->items[low] : NULL;
}

const struct ntk_transfer *ntk_transfer_of_packet(const struct ntk_transfers *transfers,
                                                  size_t core, uint32_t packet)
{
    const struct ntk_transfers_core *of = &transfers->cores[core];
    uint32_t number = of->of_packets[packet];

    return number && of->items[number - 1].packet_count ? &of->items[number - 1] : NULL;
}

const struct ntk_slot_fact *ntk_transfer_fact(const struct ntk_transfers *transfers, size_t core,
                                              const struct ntk_transfer *transfer)
{
    const struct ntk_trace_core *of = &transfers->program->trace->cores[core];

    return ntk_program_fact(transfers->program, core, &of->instructions[transfer->instruction]);
}

void ntk_transfers_give_back(const struct ntk_transfers *transfers, size_t core)
{
    ntk_trace_give_back(&transfers->program->trace->cores[core]);
    ntk_long_list_give_back(&transfers->cores[core].list);
    ntk_long_list_give_back(&transfers->cores[core].packet_list);
}
