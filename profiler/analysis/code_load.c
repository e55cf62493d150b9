/* SPDX-License-Identifier: MIT */
/* code_load - finds the write, the wait, and the packets in between. */
#include "profiler/analysis/code_load.h"

#include "profiler/analysis/queue_names.h"
#include "shared/formats/neff/vendor_slot.h"

#define PROLOGUE_MAX 4096 /* maximum number of instructions of all engines, from the start */
#define PACKETS_MAX 65536 /* maximum number of packets, from the start */
#define PACKET_BYTES_MAX 8
#define RINGS_MAX 256
/* Maximum number of waits that are compared with the packets. A real prologue has one; a damaged
 * file could have thousands, each with all packets to count. */
#define WAITS_MAX 16

struct load {
    uint32_t by; /* valid while packet_count is not 0 */
    uint64_t packet_count;
};

struct ring {
    uint16_t engine;
    uint8_t queue;
    uint64_t packet_count;
};

/* Returns the number of descriptors that a write to the tails of rings starts; 0 if it is not
 * one. */
static uint64_t descriptors_of(const struct ntk_trace_core *core,
                               const struct ntk_trace_instruction *one)
{
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, one->engine, one->slot);
    uint64_t count = 0;

    for (unsigned w = 0; slot && w < NTK_VENDOR_SLOT_WRITE_WORDS; w++) {
        uint64_t address;
        uint64_t data;
        if (!ntk_vendor_slot_write(slot, w, &address, &data)) {
            continue;
        }
        if (!ntk_vendor_address_is_ring_tail(address) || (w && data != count)) {
            return 0;
        }
        count = data;
    }
    return count <= PACKETS_MAX ? count : 0;
}

/* Finds the change by DMA that set the event for a waiting instruction; UINT32_MAX if none. */
static uint32_t find_change(const struct ntk_trace_core *core, unsigned event_number,
                            int64_t from_ps, int64_t until_ps)
{
    ntk_trace_each_event(core, event) {
        if (event->time_ps > until_ps) {
            break;
        }
        if (!event->is_semaphore && event->number == event_number && event->value &&
            event->source == NTK_NTFF_ENGINE_AXI && event->time_ps >= from_ps) {
            return (uint32_t)(event - core->events);
        }
    }
    return UINT32_MAX;
}

static struct ring *ring_of(struct ring *rings, size_t *count,
                            const struct ntk_trace_packet *packet)
{
    for (size_t i = 0; i < *count; i++) {
        if (rings[i].engine == packet->engine && rings[i].queue == packet->queue) {
            return &rings[i];
        }
    }
    if (*count == RINGS_MAX) {
        return NULL;
    }
    rings[*count] = (struct ring){ .engine = packet->engine, .queue = packet->queue };
    return &rings[(*count)++];
}

/* Finds the only ring that moved as many packets in this time; false if there are none or
 * several. */
static bool find_ring(const struct ntk_trace_core *core, uint64_t packet_count, int64_t from_ps,
                      int64_t until_ps, struct ring *out)
{
    struct ring rings[RINGS_MAX];
    size_t count = 0;
    size_t seen = 0;
    unsigned found = 0;

    ntk_trace_each_packet(core, packet) {
        if (packet->start_ps > until_ps || seen++ == PACKETS_MAX) {
            break;
        }
        if (packet->start_ps < from_ps || packet->end_ps > until_ps ||
            packet->bytes_count > PACKET_BYTES_MAX) {
            continue;
        }
        struct ring *ring = ring_of(rings, &count, packet);
        if (!ring) {
            return false;
        }
        ring->packet_count++;
    }
    for (size_t i = 0; i < count; i++) {
        if (rings[i].packet_count == packet_count) {
            *out = rings[i];
            found++;
        }
    }
    return found == 1;
}

void ntk_code_load_find(const struct ntk_program *program, size_t core_index,
                        struct ntk_code_load *out)
{
    const struct ntk_trace_core *core = &program->trace->cores[core_index];
    struct load loads[NTK_NTFF_ENGINE_COUNT] = { 0 };
    unsigned waits = 0;

    *out = (struct ntk_code_load){ 0 };
    for (uint32_t i = 0; i < core->instruction_count && i < PROLOGUE_MAX; i++) {
        const struct ntk_trace_instruction *one = &core->instructions[i];
        const struct ntk_slot_fact *fact = ntk_program_fact(program, core_index, one);
        struct load *load = &loads[one->engine];
        struct ring ring;

        if (!fact->code->is_runtime || fact->code->is_open) {
            continue;
        }
        if (one->opcode == NTK_NTFF_OPCODE_WRITE) {
            *load = (struct load){ i, descriptors_of(core, one) };
            continue;
        }
        if (fact->code->wait != NTK_WAIT_SET || load->packet_count == 0) {
            continue;
        }
        if (waits++ == WAITS_MAX) {
            return;
        }
        int64_t from_ps = core->instructions[load->by].start_ps;
        uint32_t event = find_change(core, fact->code->wait_number, from_ps, one->start_ps);
        if (event != UINT32_MAX &&
            find_ring(core, load->packet_count, from_ps, core->events[event].time_ps, &ring)) {
            const char *name = ntk_queue_name_get(core->ntff, ring.engine, ring.queue);
            *out = (struct ntk_code_load){ load->by, event, name ? name : "(instruction)" };
            return;
        }
        load->packet_count = 0;
    }
}
