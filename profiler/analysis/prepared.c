/* SPDX-License-Identifier: MIT */
/* prepared - sums over the transfers of groups of descriptors. */
#include "profiler/analysis/prepared.h"

#include "profiler/analysis/transfers.h"

static void add_core(const struct ntk_transfers *transfers, size_t core,
                     struct ntk_prepared *prepared)
{
    const struct ntk_transfers_core *of = &transfers->cores[core];

    for (size_t t = 0; t < of->count; t++) {
        const struct ntk_transfer *transfer = &of->items[t];
        const struct ntk_moves *moves = ntk_transfer_fact(transfers, core, transfer)->moves;
        if (moves && moves->is_prepared) {
            prepared->is_known = prepared->is_known && transfer->packet_count;
            prepared->count++;
            prepared->bytes_count += moves->bytes[NTK_MOVES_DEST];
            prepared->sum_ps += transfer->end_ps - transfer->start_ps;
        }
        if (t % NTK_TRACE_LOOKS == 0) {
            ntk_transfers_give_back(transfers, core);
        }
    }
}

int ntk_analysis_prepared(const struct ntk_trace *trace, struct ntk_prepared *out_prepared)
{
    struct ntk_prepared prepared = { .is_known = true };
    struct ntk_transfers transfers = { 0 };
    struct ntk_program *program = NULL;
    int ret = ntk_program_create(trace, &program);

    ret = ret ? ret : ntk_transfers_init(&transfers, program);
    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        add_core(&transfers, c, &prepared);
    }
    prepared.is_known = prepared.is_known && prepared.count;
    ntk_transfers_fini(&transfers);
    ntk_program_destroy(program);
    if (ret == 0) {
        *out_prepared = prepared;
    }
    return ret;
}
