/* SPDX-License-Identifier: MIT */
/* counters - converts lives of values, MATMULs and transfers to intervals for steps.h. */
#include "profiler/analysis/counters.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "profiler/analysis/chip_lives.h"
#include "profiler/analysis/hbm_traffic.h"
#include "profiler/analysis/pending.h"
#include "profiler/analysis/steps.h"
#include "shared/formats/neff/isa.h"

#define BANK(n)                                                     \
    [NTK_COUNTER_PSUM_BANK + (n)] = { "PSUM bank " #n " live", "B", \
                                      "bytes still needed in a partition of this bank", true }

static const struct ntk_counter_info infos[NTK_COUNTER_COUNT] = {
    [NTK_COUNTER_SBUF] = { "SBUF live", "B", "bytes still needed in a state buffer partition",
                           true },
    [NTK_COUNTER_PSUM] = { "PSUM live", "B", "bytes still needed in a PSUM partition", true },
    BANK(0),
    BANK(1),
    BANK(2),
    BANK(3),
    BANK(4),
    BANK(5),
    BANK(6),
    BANK(7),
    [NTK_COUNTER_MFU] = { "MFU", "%",
                          "MATMUL operations without transposes, as a share of the core's peak",
                          false },
    [NTK_COUNTER_HBM_READ] = { "HBM read", "B/s", "bytes that transfers read from device memory",
                               false },
    [NTK_COUNTER_HBM_WRITE] = { "HBM written", "B/s", "bytes that transfers write to device memory",
                                false },
    [NTK_COUNTER_PENDING] = { "Pending DMA", "transfers",
                              "transfers that have started but not finished", true },
};
static_assert(NTK_CHIP_BANKS == 8, "a row for each bank");

const struct ntk_counter_info *ntk_counter_info_get(enum ntk_counter counter)
{
    return &infos[counter];
}

struct target {
    enum ntk_counter counter;
    ntk_counter_put *put;
    void *ctx;
};

static int put_point(void *ctx, int64_t time_ps, double value)
{
    const struct target *target = ctx;

    return target->put(target->ctx, target->counter, time_ps, value);
}

static int finish(struct ntk_steps *steps, enum ntk_steps_kind kind, struct target target)
{
    return ntk_steps_finish(steps, kind, put_point, &target);
}

/* ---- memory on the chip ---------------------------------------------------------------------- */

enum { ON_CHIP = NTK_COUNTER_PSUM_BANK + NTK_CHIP_BANKS }; /* counters from the first on */
static_assert(NTK_COUNTER_SBUF == 0 && NTK_COUNTER_PSUM == 1, "those on the chip are the first");

static int add_life(void *ctx, enum ntk_chip_space space, const struct ntk_chip_life *life,
                    uint32_t layer)
{
    struct ntk_steps *steps = ctx;
    enum ntk_counter all = space == NTK_CHIP_SBUF ? NTK_COUNTER_SBUF : NTK_COUNTER_PSUM;
    int ret = ntk_steps_add(&steps[all], life->from_ps, life->until_ps, life->high - life->low);

    (void)layer;
    for (uint32_t low = life->low, high; space == NTK_CHIP_PSUM && low < life->high && ret == 0;
         low = high) {
        uint32_t bank = low / NTK_ISA_PSUM_BANK_BYTES;
        high = (bank + 1) * NTK_ISA_PSUM_BANK_BYTES;
        high = high < life->high ? high : life->high;
        ret = ntk_steps_add(&steps[NTK_COUNTER_PSUM_BANK + bank], life->from_ps, life->until_ps,
                            high - low);
    }
    return ret;
}

static int put_chip(const struct ntk_program *program, size_t core, struct target target)
{
    struct ntk_steps steps[ON_CHIP];

    for (unsigned c = 0; c < ON_CHIP; c++) {
        ntk_steps_init(&steps[c], program->trace, ON_CHIP);
    }
    int ret = program->trace->is_cut.instructions
                  ? -ENODATA
                  : ntk_analysis_chip_lives(program, core, add_life, steps);
    for (unsigned c = 0; c < ON_CHIP && ret == 0; c++) {
        target.counter = c;
        ret = finish(&steps[c], NTK_STEPS_MOST, target);
    }
    for (unsigned c = 0; c < ON_CHIP; c++) {
        ntk_steps_fini(&steps[c]);
    }
    return ret == -ENODATA ? 0 : ret;
}

/* ---- the tensor engine ----------------------------------------------------------------------- */

static bool mfu_is_known(const struct ntk_program *program, size_t core)
{
    const struct ntk_trace *trace = program->trace;
    bool is_known =
        trace->has_chip && trace->chip.core_flops_per_second > 0 && !trace->is_cut.instructions;
    uint64_t flops;

    for (size_t i = 0; i < program->code_count && is_known; i++) {
        const struct ntk_slot_code *code = ntk_program_code(program, i);
        is_known = code->core_index != core || code->opcode != NTK_NTFF_OPCODE_MATMUL ||
                   ntk_code_peak_flops(trace, code, &flops);
    }
    return is_known;
}

#define LATEST_PS (INT64_MAX / 4) /* keeps sums of times of an invalid capture in their range */

struct product {
    int64_t start_ps, end_ps;
    double peak_ps; /* time at the core's peak */
    bool is_useful;
};

/* Adds the operations of a MATMUL. They start once the engine is free; updates *free_ps. */
static int add_product(struct ntk_steps *steps, const struct product *product, int64_t next_ps,
                       int64_t *free_ps)
{
    int64_t from_ps = product->start_ps > *free_ps ? product->start_ps : *free_ps;
    int64_t until_ps = product->end_ps < next_ps ? product->end_ps : next_ps;
    int64_t least_ps = from_ps + (int64_t)fmin(ceil(product->peak_ps), (double)LATEST_PS);

    until_ps = until_ps > least_ps ? until_ps : least_ps;
    *free_ps = until_ps < LATEST_PS ? until_ps : LATEST_PS;
    return product->is_useful ? ntk_steps_add(steps, from_ps, until_ps,
                                              100 * product->peak_ps / (double)(until_ps - from_ps))
                              : 0;
}

static int put_mfu(const struct ntk_program *program, size_t core, struct target target)
{
    const struct ntk_trace *trace = program->trace;
    struct product last = { INT64_MIN, INT64_MIN, 0, false }; /* its end depends on the next */
    int64_t free_ps = INT64_MIN;
    struct ntk_steps steps;
    int ret = 0;

    if (!mfu_is_known(program, core)) {
        return 0;
    }
    ntk_steps_init(&steps, trace, 1);
    ntk_trace_each_instruction(&trace->cores[core], instruction) {
        const struct ntk_slot_fact *fact;
        uint64_t flops = 0;
        if (instruction->opcode != NTK_NTFF_OPCODE_MATMUL) {
            continue;
        }
        fact = ntk_program_fact(program, core, instruction);
        ret = add_product(&steps, &last, instruction->start_ps, &free_ps);
        if (ret < 0) {
            break;
        }
        (void)ntk_code_peak_flops(trace, fact->code, &flops);
        last = (struct product){ instruction->start_ps, instruction->end_ps,
                                 (double)flops * 1e12 / trace->chip.core_flops_per_second,
                                 !fact->code->is_transpose };
    }
    target.counter = NTK_COUNTER_MFU;
    ret = ret ? ret : add_product(&steps, &last, INT64_MAX, &free_ps);
    ret = ret ? ret : finish(&steps, NTK_STEPS_MEAN, target);
    ntk_steps_fini(&steps);
    return ret;
}

/* ---- device memory --------------------------------------------------------------------------- */

/* Adds a share of the bytes of a transfer, in a part of its time. */
static int add_bytes(struct ntk_steps steps[2], const struct ntk_slot_fact *fact, int64_t from_ps,
                     int64_t until_ps, double share)
{
    int ret =
        ntk_steps_add_amount(&steps[0], from_ps, until_ps, share * (double)fact->code->read_bytes);

    return ret ? ret
               : ntk_steps_add_amount(&steps[1], from_ps, until_ps,
                                      share * (double)fact->code->write_bytes);
}

/* Spreads the bytes of each transfer over its packets, one after the other on each DMA engine. */
static int add_packets(const struct ntk_transfers *transfers, size_t core,
                       struct ntk_steps steps[2])
{
    const struct ntk_transfers_core *of = &transfers->cores[core];
    const struct ntk_trace_core *in = &transfers->program->trace->cores[core];
    int64_t *ends_ps = calloc(UINT16_MAX + 1, sizeof *ends_ps); /* by engine */
    int ret = ends_ps ? 0 : -ENOMEM;

    for (size_t p = 0; p < in->packet_count && ret == 0; p++) {
        const struct ntk_trace_packet *packet = &in->packets[p];
        const struct ntk_transfer *transfer =
            of->of_packets[p] ? &of->items[of->of_packets[p] - 1] : NULL;
        int64_t *end_ps = &ends_ps[packet->engine];
        bool overlaps = packet->start_ps < *end_ps && *end_ps < packet->end_ps;

        if (transfer && transfer->bytes_count) {
            ret = add_bytes(steps, ntk_transfer_fact(transfers, core, transfer),
                            overlaps ? *end_ps : packet->start_ps, packet->end_ps,
                            (double)packet->bytes_count / (double)transfer->bytes_count);
        }
        *end_ps = packet->end_ps > *end_ps ? packet->end_ps : *end_ps;
        if (p % NTK_TRACE_LOOKS == 0) {
            ntk_transfers_give_back(transfers, core);
        }
    }
    free(ends_ps);
    return ret;
}

/* Divides the time of the packets if they have too many edges for exact steps. */
static int divide(const struct ntk_trace_core *core, struct ntk_steps steps[2])
{
    int64_t until_ps = INT64_MIN;

    if (core->packet_count <= NTK_STEPS_MAX / 2) {
        return 0;
    }
    ntk_trace_each_packet(core, packet) {
        until_ps = packet->end_ps > until_ps ? packet->end_ps : until_ps;
    }
    int ret = ntk_steps_divide(&steps[0], core->packets[0].start_ps, until_ps);
    return ret ? ret : ntk_steps_divide(&steps[1], core->packets[0].start_ps, until_ps);
}

static int put_hbm(const struct ntk_counters *counters, size_t core, struct target target)
{
    const struct ntk_transfers *transfers = counters->transfers;
    const struct ntk_transfers_core *of = &transfers->cores[core];
    struct ntk_steps steps[2];
    int ret = 0;

    if (!counters->hbm_is_known || of->unknown_count) {
        return 0;
    }
    for (unsigned w = 0; w < 2; w++) {
        ntk_steps_init(&steps[w], transfers->program->trace, 2);
    }
    ret = divide(&transfers->program->trace->cores[core], steps);
    ret = ret ? ret : add_packets(transfers, core, steps);
    for (unsigned w = 0; w < 2; w++) {
        target.counter = NTK_COUNTER_HBM_READ + w;
        ret = ret ? ret : finish(&steps[w], NTK_STEPS_MEAN, target);
        ntk_steps_fini(&steps[w]);
    }
    return ret;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int put_pending(void *ctx, int64_t time_ps, int64_t count)
{
    return put_point(ctx, time_ps, (double)count);
}

static bool has_transfers(const struct ntk_transfers *transfers)
{
    bool has = false;

    for (size_t c = 0; c < transfers->core_count; c++) {
        has = has || transfers->cores[c].count > 0;
    }
    return has;
}

void ntk_counters_init(struct ntk_counters *counters, const struct ntk_transfers *transfers)
{
    const struct ntk_trace *trace = transfers->program->trace;
    struct ntk_dma_traffic traffic;
    struct ntk_hbm_traffic hbm;

    *counters = (struct ntk_counters){ .transfers = transfers };
    if (has_transfers(transfers)) { /* without any, a pass over the program has no use */
        ntk_analysis_dma_traffic(trace, &traffic);
        ntk_analysis_hbm_traffic(trace, &traffic, &hbm);
        counters->hbm_is_known = hbm.is_known && !trace->is_cut.packets;
    }
}

int ntk_analysis_counters(const struct ntk_counters *counters, size_t core, ntk_counter_put *put,
                          void *ctx)
{
    const struct ntk_program *program = counters->transfers->program;
    struct target target = { .put = put, .ctx = ctx };
    int ret = put_chip(program, core, target);

    ret = ret ? ret : put_mfu(program, core, target);
    ret = ret ? ret : put_hbm(counters, core, target);
    target.counter = NTK_COUNTER_PENDING;
    return ret ? ret : ntk_analysis_pending(counters->transfers, core, put_pending, &target);
}
