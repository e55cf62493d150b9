/* SPDX-License-Identifier: MIT */
#include "tests/profiler/analysis/hand_copies.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

#define SHAPES 40

void put(uint8_t *slot, unsigned offset, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++) {
        slot[offset + i] = (uint8_t)(value >> (8 * i));
    }
}

static void put_tile(uint8_t *slot, unsigned at, uint32_t address, unsigned count)
{
    put(slot, at, 4, address);
    for (unsigned d = 0; d < 4; d++) {
        put(slot, at + 4 + 2 * d, 2, 1);
        put(slot, at + 12 + 2 * d, 2, d ? 1 : count);
    }
}

void make_copy(uint8_t slot[64], uint8_t opcode, uint32_t to, uint32_t from, unsigned count,
               unsigned dtype)
{
    memset(slot, 0, 64);
    slot[0] = opcode;
    slot[1] = 0x10;
    slot[32] = slot[33] = (uint8_t)dtype;
    slot[34] = 128;
    if (opcode == COPY) {
        put_tile(slot, 12, from, count);
    }
    put_tile(slot, 44, to, count);
}

void run(struct hand_trace *h, unsigned engine, const uint8_t slot[64], int64_t start_ns,
         int64_t end_ns)
{
    hand_trace_run(h, 0, engine, hand_trace_slot(h, 0, engine, slot), start_ns, end_ns);
}

void copy(struct hand_trace *h, uint32_t to, uint32_t from, unsigned count, int64_t start_ns,
          int64_t end_ns)
{
    uint8_t slot[64];

    make_copy(slot, COPY, to, from, count, FP32);
    run(h, NTK_NTFF_ENGINE_VECTOR, slot, start_ns, end_ns);
}

void begin_unknown(struct hand_trace *h, int program, uint8_t opcode)
{
    static const char *const machines[UNKNOWN_PROGRAMS] = { "trn2.3xlarge", "unknown.type",
                                                            "inf1.xlarge" };
    uint8_t slot[64] = { opcode, 0x10 };

    hand_trace_begin(h, 1, machines[program], 1000);
    if (program == 0) {
        run(h, NTK_NTFF_ENGINE_VECTOR, slot, 0, 10);
    }
    copy(h, 0x2000, 0x1000, 64, 100, 200);
}

void begin_random(struct hand_trace *h, unsigned *seed, int gap_max, struct execution all[RUNS])
{
    uint32_t slots[SHAPES];
    struct execution shapes[SHAPES];
    int64_t now = 0;

    hand_trace_begin(h, 1, "trn2.3xlarge", TIMES);
    for (int s = 0; s < SHAPES; s++) {
        uint8_t slot[64];
        shapes[s].count = 4 * (1 + (unsigned)rand_r(seed) % 32);
        shapes[s].to = (unsigned)rand_r(seed) % (BYTES - shapes[s].count);
        shapes[s].from = (unsigned)rand_r(seed) % (BYTES - shapes[s].count);
        make_copy(slot, COPY, shapes[s].to, shapes[s].from, shapes[s].count / 4, FP32);
        slots[s] = hand_trace_slot(h, 0, NTK_NTFF_ENGINE_VECTOR, slot);
    }
    for (int i = 0; i < RUNS; i++) {
        int s = rand_r(seed) % SHAPES;
        all[i] = shapes[s];
        all[i].start = now;
        all[i].end = now + 1 + rand_r(seed) % 9;
        now += 1 + rand_r(seed) % gap_max;
        assert_true(all[i].end < TIMES);
        hand_trace_run(h, 0, NTK_NTFF_ENGINE_VECTOR, slots[s], all[i].start, all[i].end);
    }
}

bool writes(const struct execution *execution, unsigned byte)
{
    return byte >= execution->to && byte < execution->to + execution->count;
}

int64_t end_of(const struct execution all[RUNS], size_t w, unsigned byte)
{
    int64_t end = all[w].end;

    for (size_t r = w + 1; r < RUNS; r++) {
        if (byte >= all[r].from && byte < all[r].from + all[r].count && all[r].end > end) {
            end = all[r].end;
        }
        if (writes(&all[r], byte)) {
            break;
        }
    }
    return end;
}
