/* SPDX-License-Identifier: MIT */
/* transfers - one pass over instructions, changes and packets for one queue. */
#include "profiler/analysis/transfers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/dma_efficiency.h"
#include "profiler/analysis/queue_names.h"

#define NUMBERS 512 /* semaphores, then events */
#define EVENT_NUMBER 256
#define NOT_KNOWN_PS INT64_MAX

struct begun {
    uint32_t instruction;
    int64_t start_ps, done_ps; /* done: NOT_KNOWN_PS where no change tells */
    uint64_t bytes_count;      /* 0: not known */
};

struct ring {
    bool is_of_queue;
    uint32_t packet_count, write_count; /* write: of a semaphore */
};

struct queue {
    const struct ntk_program *program;
    size_t core_index;
    const struct ntk_trace_core *core;
    const char *name;     /* as in the NEFF */
    struct ntk_vec begun; /* of struct begun, in order of start */
    struct ring rings[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES];
    bool has_writes; /* each transfer ends with a semaphore write on each ring */
    bool has_bytes;  /* transfers have the bytes of all packets together */
};

/* ---- what was begun ---- */

static struct ring *ring_of(struct queue *queue, const struct ntk_trace_packet *packet)
{
    return &queue->rings[packet->engine % NTK_NTFF_DMA_ENGINES][packet->queue];
}

static const struct ntk_slot_fact *fact_of(const struct queue *queue,
                                           const struct ntk_trace_instruction *instruction)
{
    return ntk_program_fact(queue->program, queue->core_index, instruction);
}

static bool is_name(const char *name, const char *other)
{
    char shown[2][NTK_NTFF_NAME_BYTES];

    ntk_ntff_queue_name_show(name, shown[0], sizeof shown[0]);
    ntk_ntff_queue_name_show(other, shown[1], sizeof shown[1]);
    return strcmp(shown[0], shown[1]) == 0;
}

static int find_begun(struct queue *queue)
{
    ntk_trace_each_instruction(queue->core, instruction) {
        const struct ntk_slot_fact *fact = fact_of(queue, instruction);
        struct begun begun = { .instruction = (uint32_t)(instruction - queue->core->instructions),
                               .start_ps = instruction->start_ps,
                               .done_ps = NOT_KNOWN_PS };
        if (!fact->is_transfer || !fact->queue || !is_name(fact->queue, queue->name)) {
            continue;
        }
        if (fact->has_bytes) {
            begun.bytes_count =
                fact->read_bytes > fact->write_bytes ? fact->read_bytes : fact->write_bytes;
        }
        if (ntk_vec_push(&queue->begun, &begun) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

static unsigned number_of(const struct queue *queue, const struct begun *begun)
{
    const struct ntk_slot_fact *fact =
        fact_of(queue, &queue->core->instructions[begun->instruction]);

    return fact->done_number == NTK_PROGRAM_NO_NUMBER
               ? NUMBERS
               : (fact->done_is_event ? EVENT_NUMBER : 0U) + (fact->done_number & 0xffU);
}

/* Changes by DMA of a number are shared out evenly among the transfers that name it, in their
 * order. */
static int find_ends(struct queue *queue)
{
    struct ntk_vec times[NUMBERS];
    uint32_t counts[NUMBERS + 1] = { 0 };
    uint32_t passed[NUMBERS + 1] = { 0 };
    int ret = 0;

    for (size_t n = 0; n < NUMBERS; n++) {
        ntk_vec_init(&times[n], sizeof(int64_t));
    }
    ntk_vec_each(struct begun, begun, &queue->begun) {
        counts[number_of(queue, begun)]++;
    }
    ntk_trace_each_event(queue->core, event) {
        unsigned number = (event->is_semaphore ? 0U : EVENT_NUMBER) + event->number;
        if (event->source == NTK_NTFF_ENGINE_AXI && counts[number] && ret == 0) {
            ret = ntk_vec_push(&times[number], &event->time_ps);
        }
    }
    ntk_vec_each(struct begun, begun, &queue->begun) {
        unsigned number = number_of(queue, begun);
        size_t each = number < NUMBERS ? times[number].count / counts[number] : 0;
        if (each && each * counts[number] == times[number].count) {
            begun->done_ps =
                *(int64_t *)ntk_vec_at(&times[number], (passed[number] + 1) * each - 1);
        }
        passed[number]++;
    }
    for (size_t n = 0; n < NUMBERS; n++) {
        ntk_vec_fini(&times[n]);
    }
    return ret;
}

static bool is_write(const struct ntk_trace_packet *packet)
{
    return packet->bytes_count <= NTK_DMA_SEMAPHORE_BYTES;
}

static void find_rings(struct queue *queue)
{
    const struct ntk_ntff_subgraph *ntff = queue->core->ntff;
    uint64_t packet_bytes = 0;
    uint64_t transfer_bytes = 0;

    for (size_t q = 0; q < ntff->queue_count; q++) {
        if (ntff->queues[q].queue < NTK_NTFF_DMA_QUEUES &&
            is_name(ntff->queues[q].name, queue->name)) {
            queue->rings[ntff->queues[q].engine % NTK_NTFF_DMA_ENGINES][ntff->queues[q].queue]
                .is_of_queue = true;
        }
    }
    ntk_trace_each_packet(queue->core, packet) {
        struct ring *ring = ring_of(queue, packet);
        ring->packet_count++;
        ring->write_count += is_write(packet);
        packet_bytes += ring->is_of_queue ? packet->bytes_count : 0;
    }
    queue->has_bytes = true;
    ntk_vec_each(const struct begun, begun, &queue->begun) {
        queue->has_bytes = queue->has_bytes && begun->bytes_count;
        transfer_bytes += begun->bytes_count;
    }
    queue->has_bytes = queue->has_bytes && packet_bytes == transfer_bytes;
    queue->has_writes = true;
    for (size_t r = 0; r < (size_t)NTK_NTFF_DMA_ENGINES * NTK_NTFF_DMA_QUEUES; r++) {
        const struct ring *ring = &queue->rings[r / NTK_NTFF_DMA_QUEUES][r % NTK_NTFF_DMA_QUEUES];
        if (ring->is_of_queue && ring->packet_count && ring->write_count != queue->begun.count) {
            queue->has_writes = false;
        }
    }
}

static void queue_fini(struct queue *queue)
{
    if (queue) {
        ntk_vec_fini(&queue->begun);
        free(queue);
    }
}

/* NULL without memory. */
static struct queue *queue_create(const struct ntk_program *program, size_t core, const char *name)
{
    struct queue *queue = calloc(1, sizeof *queue);

    if (!queue) {
        return NULL;
    }
    queue->program = program;
    queue->core_index = core;
    queue->core = &program->trace->cores[core];
    queue->name = name;
    ntk_vec_init(&queue->begun, sizeof(struct begun));
    if (find_begun(queue) < 0 || find_ends(queue) < 0) {
        queue_fini(queue);
        return NULL;
    }
    find_rings(queue);
    return queue;
}

/* ---- packets ---- */

static int add_packet(const struct ntk_trace_core *core, const struct ntk_trace_packet *packet,
                      struct ntk_transfer *transfer)
{
    uint32_t index = (uint32_t)(packet - core->packets);

    if (transfer->packets.count == 0) {
        transfer->start_ps = packet->start_ps;
        transfer->end_ps = packet->end_ps;
        transfer->last = index;
    }
    if (packet->end_ps > transfer->end_ps) {
        transfer->end_ps = packet->end_ps;
        transfer->last = index;
    }
    transfer->bytes_count += packet->bytes_count;
    return ntk_vec_push(&transfer->packets, &index);
}

/* Of the transfer with the ordinal: those up to its semaphore write on each ring. */
static int add_by_writes(struct queue *queue, size_t ordinal, struct ntk_transfer *transfer)
{
    int ret = 0;

    for (size_t r = 0; r < (size_t)NTK_NTFF_DMA_ENGINES * NTK_NTFF_DMA_QUEUES; r++) {
        queue->rings[r / NTK_NTFF_DMA_QUEUES][r % NTK_NTFF_DMA_QUEUES].write_count = 0;
    }
    ntk_trace_each_packet(queue->core, packet) {
        struct ring *ring = ring_of(queue, packet);
        if (ring->is_of_queue && ring->write_count == ordinal && ret == 0) {
            ret = add_packet(queue->core, packet, transfer);
        }
        ring->write_count += is_write(packet);
    }
    return ret;
}

static int add_by_time(struct queue *queue, size_t ordinal, struct ntk_transfer *transfer)
{
    const struct begun *begun = ntk_vec_at(&queue->begun, ordinal);
    const struct begun *before = ordinal ? ntk_vec_at(&queue->begun, ordinal - 1) : NULL;
    int64_t before_ps = before ? before->done_ps : INT64_MIN;
    int ret = 0;

    if (begun->done_ps == NOT_KNOWN_PS || before_ps == NOT_KNOWN_PS) {
        return 0;
    }
    ntk_trace_each_packet(queue->core, packet) {
        if (ring_of(queue, packet)->is_of_queue && packet->start_ps >= begun->start_ps &&
            packet->end_ps > before_ps && packet->end_ps <= begun->done_ps && ret == 0) {
            ret = add_packet(queue->core, packet, transfer);
        }
        if (packet->start_ps > begun->done_ps) {
            break;
        }
    }
    bool is_all = begun->bytes_count ? transfer->bytes_count == begun->bytes_count
                                     : before_ps <= begun->start_ps;
    if (!is_all) {
        ntk_vec_clear(&transfer->packets);
    }
    return ret;
}

/* The bytes of the transfers before it are those of packets before its own. */
static int add_by_bytes(struct queue *queue, size_t ordinal, struct ntk_transfer *transfer)
{
    uint64_t first = 0;
    uint64_t passed = 0;
    int ret = 0;

    for (size_t i = 0; i < ordinal; i++) {
        first += ((const struct begun *)ntk_vec_at(&queue->begun, i))->bytes_count;
    }
    const struct begun *begun = ntk_vec_at(&queue->begun, ordinal);
    bool is_whole = true;
    ntk_trace_each_packet(queue->core, packet) {
        if (!ring_of(queue, packet)->is_of_queue) {
            continue;
        }
        uint64_t end = passed + packet->bytes_count;
        if (passed >= first && end <= first + begun->bytes_count && ret == 0) {
            is_whole = is_whole && packet->start_ps >= begun->start_ps;
            ret = add_packet(queue->core, packet, transfer);
        }
        passed = end;
    }
    if (!is_whole || transfer->bytes_count != begun->bytes_count) {
        ntk_vec_clear(&transfer->packets);
    }
    return ret;
}

static int transfer_with(struct queue *queue, size_t ordinal, struct ntk_transfer *out_transfer)
{
    const struct begun *begun = ntk_vec_at(&queue->begun, ordinal);

    *out_transfer =
        (struct ntk_transfer){ .instruction = begun->instruction, .queue = queue->name };
    ntk_vec_init(&out_transfer->packets, sizeof(uint32_t));
    return queue->has_writes  ? add_by_writes(queue, ordinal, out_transfer)
           : queue->has_bytes ? add_by_bytes(queue, ordinal, out_transfer)
                              : add_by_time(queue, ordinal, out_transfer);
}

static void none(struct ntk_transfer *out_transfer)
{
    *out_transfer = (struct ntk_transfer){ .instruction = NTK_NO_INDEX };
}

int ntk_transfer_of_instruction(const struct ntk_program *program, size_t core,
                                uint32_t instruction, struct ntk_transfer *out_transfer)
{
    const struct ntk_slot_fact *fact =
        ntk_program_fact(program, core, &program->trace->cores[core].instructions[instruction]);
    size_t ordinal = 0;
    int ret = 0;

    none(out_transfer);
    if (!fact->is_transfer || !fact->queue) {
        return 0;
    }
    struct queue *queue = queue_create(program, core, fact->queue);
    if (!queue) {
        return -ENOMEM;
    }
    while (((struct begun *)ntk_vec_at(&queue->begun, ordinal))->instruction != instruction) {
        ordinal++; /* it is one of them */
    }
    ret = transfer_with(queue, ordinal, out_transfer);
    queue_fini(queue);
    return ret;
}

static bool has_packet(const struct ntk_transfer *transfer, uint32_t packet)
{
    ntk_vec_each(const uint32_t, one, &transfer->packets) {
        if (*one == packet) {
            return true;
        }
    }
    return false;
}

/* The only ordinal that the packet may have; count when there is none. */
static size_t ordinal_of(struct queue *queue, uint32_t index)
{
    const struct ntk_trace_packet *wanted = &queue->core->packets[index];
    size_t ordinal = 0;

    if (queue->has_writes) {
        ntk_trace_each_packet(queue->core, packet) {
            if (packet == wanted) {
                break;
            }
            ordinal += ring_of(queue, packet) == ring_of(queue, wanted) && is_write(packet);
        }
        return ordinal;
    }
    if (queue->has_bytes) {
        uint64_t left = 0; /* bytes of packets before it */
        ntk_trace_each_packet(queue->core, packet) {
            if (packet == wanted) {
                break;
            }
            left += ring_of(queue, packet)->is_of_queue ? packet->bytes_count : 0;
        }
        ntk_vec_each(const struct begun, begun, &queue->begun) {
            if (left < begun->bytes_count) {
                break;
            }
            left -= begun->bytes_count;
            ordinal++;
        }
        return ordinal;
    }
    ntk_vec_each(const struct begun, begun, &queue->begun) {
        if (begun->done_ps >= wanted->end_ps) {
            break;
        }
        ordinal++;
    }
    return ordinal;
}

int ntk_transfer_of_packet(const struct ntk_program *program, size_t core, uint32_t packet,
                           struct ntk_transfer *out_transfer)
{
    const struct ntk_trace_packet *of = &program->trace->cores[core].packets[packet];
    const char *name = ntk_queue_name_get(program->trace->cores[core].ntff, of->engine, of->queue);
    int ret = 0;

    none(out_transfer);
    if (!name) {
        return 0;
    }
    struct queue *queue = queue_create(program, core, name);
    if (!queue) {
        return -ENOMEM;
    }
    size_t ordinal = ordinal_of(queue, packet);
    if (ordinal < queue->begun.count) {
        ret = transfer_with(queue, ordinal, out_transfer);
        if (ret == 0 && !has_packet(out_transfer, packet)) {
            ntk_transfer_fini(out_transfer);
        }
    }
    queue_fini(queue);
    return ret;
}

void ntk_transfer_fini(struct ntk_transfer *transfer)
{
    ntk_vec_fini(&transfer->packets);
    none(transfer);
}
