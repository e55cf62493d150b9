/* SPDX-License-Identifier: MIT */
/* transfer_sums - adds up instructions that start transfers, and the packets of these transfers. */
#include "profiler/analysis/transfer_sums.h"

#include "profiler/analysis/hbm_traffic.h"
#include "profiler/analysis/interval.h"
#include "profiler/analysis/transfers.h"
#include "profiler/trace/executed.h"

/* Adds an instruction's transfer, if it is known. */
static void add_begun(const struct ntk_program *program, size_t core_index,
                      const struct ntk_executed *executed, struct ntk_transfer_sums *sums,
                      bool *has_trigger)
{
    const struct ntk_slot_fact *fact =
        ntk_program_fact(program, core_index, &executed->instruction);

    if (!fact->code->is_transfer) {
        sums->is_known = sums->is_known && !ntk_hbm_traffic_is_dma(executed->instruction.opcode);
        return;
    }
    sums->is_known = sums->is_known && fact->code->moves;
    if (fact->code->moves) {
        *has_trigger = *has_trigger || fact->code->moves->is_prepared;
        sums->count += executed->times;
        sums->bytes_count += executed->times * fact->code->moves->bytes[NTK_MOVES_DEST];
    }
}

/* Adds all transfers, without examining packets. */
static void add_all(const struct ntk_program *program, const struct ntk_dma_traffic *traffic,
                    struct ntk_transfer_sums *sums)
{
    const struct ntk_trace *trace = program->trace;
    bool has_open = false;
    bool has_trigger = false;

    sums->is_known = !trace->is_cut.instructions;
    for (size_t c = 0; c < trace->core_count; c++) {
        struct ntk_executed executed = { .core = &trace->cores[c] };
        while (ntk_executed_next(&executed)) {
            has_open =
                has_open || ntk_program_fact(program, c, &executed.instruction)->code->is_open;
            add_begun(program, c, &executed, sums, &has_trigger);
        }
    }
    /* Only the NEFF shows which WRITE in a vendor's program starts prepared transfers. */
    if (ntk_dma_prepared_packets(traffic) && !has_open && !has_trigger) {
        sums->is_known = false;
    }
}

static void add_times(const struct ntk_transfers *transfers, size_t core, bool is_prepared_only,
                      struct ntk_transfer_sums *sums, struct ntk_transfer_sums *prepared)
{
    const struct ntk_transfers_core *of = &transfers->cores[core];

    for (size_t t = 0; t < of->count; t++) {
        const struct ntk_transfer *transfer = &of->items[t];
        const struct ntk_moves *moves = ntk_transfer_fact(transfers, core, transfer)->code->moves;
        if (moves && (moves->is_prepared || !is_prepared_only)) {
            sums->has_time = sums->has_time && transfer->packet_count;
            prepared->count++;
            prepared->bytes_count += moves->bytes[NTK_MOVES_DEST];
            sums->sum_ps = ntk_ps_sum(sums->sum_ps, transfer->end_ps - transfer->start_ps);
        }
        if (t % NTK_TRACE_LOOKS == 0) {
            ntk_transfers_give_back(transfers, core);
        }
    }
}

int ntk_analysis_transfer_sums(const struct ntk_trace *trace, const struct ntk_program *program,
                               const struct ntk_dma_traffic *traffic,
                               struct ntk_transfer_sums *out_sums)
{
    bool is_prepared_only = trace->metrics == NTK_METRICS_2_28;
    struct ntk_transfer_sums sums = { .has_time = !trace->is_cut.packets };
    struct ntk_transfer_sums prepared = { 0 };
    struct ntk_transfers transfers = { 0 };
    struct ntk_program *own = NULL;
    int ret = program ? 0 : ntk_program_create_unnamed(trace, &own);

    program = program ? program : own;
    if (ret == 0 && !is_prepared_only) {
        add_all(program, traffic, &sums);
    }
    if (ret == 0 && (is_prepared_only || (sums.is_known && sums.count))) {
        ret = ntk_transfers_init(&transfers, program);
    }
    for (size_t c = 0; c < transfers.core_count && ret == 0; c++) {
        add_times(&transfers, c, is_prepared_only, &sums, &prepared);
    }
    if (is_prepared_only) {
        sums.is_known = sums.has_time && prepared.count;
        sums.count = prepared.count;
        sums.bytes_count = prepared.bytes_count;
    }
    ntk_transfers_fini(&transfers);
    ntk_program_destroy(own);
    if (ret == 0) {
        *out_sums = sums;
    }
    return ret;
}
