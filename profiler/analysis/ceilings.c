/* SPDX-License-Identifier: MIT */
/* ceilings - collects the cores, element types, DMA engines and memory stacks of an execution. */
#include "profiler/analysis/ceilings.h"

#include <stdio.h>
#include <stdlib.h>

#include "shared/base/bits.h"
#include "shared/base/order.h"
#include "shared/formats/neff/neff.h"

#define SEMAPHORE_BYTES 4 /* packets of this size change a semaphore */
#define PLAIN_QUARTERS 4  /* weight of a 16-bit product, in quarters */
#define FP32_QUARTERS 16

const char *ntk_ceiling_type_name(const struct ntk_ceiling_type *type, char *buf, size_t buf_bytes)
{
    static const char *const names[NTK_DTYPE_COUNT] = {
        [NTK_DTYPE_BFLOAT16] = "bf16",  [NTK_DTYPE_FLOAT16] = "fp16",
        [NTK_DTYPE_FLOAT32] = "fp32",   [NTK_DTYPE_FLOAT32R] = "fp32r",
        [NTK_DTYPE_FLOAT8E3] = "fp8e3", [NTK_DTYPE_FLOAT8E4] = "fp8e4",
        [NTK_DTYPE_FLOAT8E5] = "fp8e5", [NTK_DTYPE_UINT8] = "uint8",
    };

    if (type->dtype == NTK_DTYPE_FLOAT32 && type->quarters < FP32_QUARTERS) {
        return "fp32 in one pass";
    }
    if (type->dtype < NTK_DTYPE_COUNT && names[type->dtype]) {
        return names[type->dtype];
    }
    snprintf(buf, buf_bytes, "type %u", type->dtype);
    return buf;
}

static void add_type(struct ntk_ceilings *ceilings, const struct ntk_slot_fact *fact,
                     uint64_t times)
{
    unsigned quarters =
        (unsigned)(fact->code->adjusted_flops * PLAIN_QUARTERS / fact->code->useful_flops);
    size_t i = 0;

    while (i < ceilings->type_count && (ceilings->types[i].dtype != fact->code->dtype ||
                                        ceilings->types[i].quarters != quarters)) {
        i++;
    }
    if (i == NTK_CEILING_TYPES_MAX) {
        return;
    }
    if (i == ceilings->type_count) {
        ceilings->types[ceilings->type_count++] =
            (struct ntk_ceiling_type){ .dtype = fact->code->dtype, .quarters = quarters };
    }
    ceilings->types[i].flops += times * fact->code->useful_flops;
}

NTK_ORDER(compare_types, struct ntk_ceiling_type, NTK_DOWN(flops) NTK_UP(dtype) NTK_UP(quarters));

/* Adds types and cores of each instruction that ran. */
static void add_instructions(const struct ntk_program *program, const struct ntk_cost_table *costs,
                             bool *ran, struct ntk_ceilings *ceilings)
{
    for (size_t i = 0; i < costs->instructions.count; i++) {
        const struct ntk_cost_row *row = &costs->instructions.rows[i];
        struct ntk_trace_instruction of = { .engine = row->engine, .slot = row->slot };
        const struct ntk_slot_fact *fact = ntk_program_fact(program, row->core, &of);

        ran[row->core] = ran[row->core] || ntk_fact_is_work(fact, row->opcode);
        if (fact->code->useful_flops) {
            add_type(ceilings, fact, row->count);
        }
    }
    qsort(ceilings->types, ceilings->type_count, sizeof *ceilings->types, compare_types);
}

static void count_dma_engines(const struct ntk_trace *trace, struct ntk_ceilings *ceilings)
{
    uint64_t seen[NTK_BITS_WORDS(UINT16_MAX + 1)] = { 0 };

    ceilings->dma_engines_known = !trace->is_cut.packets;
    for (size_t c = 0; c < trace->core_count; c++) {
        ntk_trace_each_packet(&trace->cores[c], packet) {
            if (packet->bytes_count > SEMAPHORE_BYTES &&
                packet->dma_class != NTK_TRACE_DMA_INSTRUCTION) {
                ntk_bits_add(seen, packet->engine);
            }
        }
    }
    ceilings->dma_engine_count += (unsigned)ntk_bits_count(seen, sizeof seen / sizeof *seen);
    if (!ceilings->dma_engines_known || ceilings->dma_engine_count == 0) {
        ceilings->dma_engines_known = false;
        ceilings->dma_engine_count = (unsigned)ceilings->ran_count * trace->chip.core_dma_engines;
    }
}

/* Returns the number of memory stacks. Cores belong to one device; core p uses stack p /
 * stack_cores. */
static unsigned count_stacks(const struct ntk_trace *trace, const bool *ran)
{
    unsigned count = 0;

    for (size_t c = 0; c < trace->core_count; c++) {
        bool is_new = ran[c];
        for (size_t b = 0; b < c && is_new; b++) {
            is_new = !ran[b] || trace->cores[b].ntff->core / trace->chip.stack_cores !=
                                    trace->cores[c].ntff->core / trace->chip.stack_cores;
        }
        count += is_new;
    }
    return count;
}

static void set_rates(const struct ntk_chip *chip, struct ntk_ceilings *ceilings)
{
    double peak = chip->core_flops_per_second;
    double flops = 0;
    double weighted = 0;

    for (size_t i = 0; i < ceilings->type_count; i++) {
        struct ntk_ceiling_type *type = &ceilings->types[i];
        double weight = (double)type->quarters / PLAIN_QUARTERS;
        type->core_flops_per_second = peak / weight;
        flops += (double)type->flops;
        weighted += (double)type->flops * weight;
    }
    ceilings->plain_per_second = peak * (double)ceilings->ran_count;
    ceilings->flops_per_second =
        weighted > 0 ? ceilings->plain_per_second * (flops / weighted) : ceilings->plain_per_second;
    ceilings->dma_bytes_per_second = chip->dma_bytes_per_second * ceilings->dma_engine_count;
    ceilings->memory_bytes_per_second = chip->hbm_bytes_per_second * ceilings->stack_count;
    ceilings->bytes_per_second = ceilings->dma_bytes_per_second < ceilings->memory_bytes_per_second
                                     ? ceilings->dma_bytes_per_second
                                     : ceilings->memory_bytes_per_second;
}

bool ntk_analysis_ceilings(const struct ntk_program *program, const struct ntk_cost_table *costs,
                           struct ntk_ceilings *out_ceilings)
{
    const struct ntk_trace *trace = program->trace;
    struct ntk_ceilings ceilings = { .core_count = trace->core_count };
    bool ran[NTK_NTFF_SUBGRAPHS_MAX] = { false };

    if (!trace->has_chip || !costs->weights_known) {
        return false;
    }
    add_instructions(program, costs, ran, &ceilings);
    for (size_t i = 0; i < costs->operations.count; i++) {
        ceilings.has_transposes |= costs->operations.rows[i].transpose_flops > 0;
    }
    for (size_t c = 0; c < trace->core_count; c++) {
        ceilings.ran_count += ran[c];
    }
    for (size_t c = 0; c < trace->core_count && ceilings.ran_count == 0; c++) {
        ran[c] = true;
    }
    ceilings.ran_count = ceilings.ran_count ? ceilings.ran_count : trace->core_count;
    ceilings.stack_count = count_stacks(trace, ran);
    count_dma_engines(trace, &ceilings);
    set_rates(&trace->chip, &ceilings);
    *out_ceilings = ceilings;
    return true;
}

bool ntk_analysis_mfu(const struct ntk_program *program, const struct ntk_cost_table *costs,
                      double *out_mfu)
{
    const struct ntk_trace *trace = program->trace;
    uint64_t work = 0;
    uint64_t macs = 0;
    bool is_known = trace->has_chip && trace->has_total && trace->total_ps > 0;

    if (!is_known) {
        return false;
    }
    if (trace->neff && ntk_neff_model_macs(trace->neff, &macs) && macs) {
        work = 2 * macs;
    } else if (costs->flops_known && !trace->is_cut.instructions) {
        for (size_t i = 0; i < costs->operations.count; i++) {
            work += costs->operations.rows[i].useful_peak_flops;
        }
    } else {
        return false;
    }
    *out_mfu = (double)work / (trace->chip.core_flops_per_second * (double)trace->core_count *
                               ((double)trace->total_ps / 1e12));
    return true;
}
