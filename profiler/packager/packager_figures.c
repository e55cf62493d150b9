/* SPDX-License-Identifier: MIT */
/* packager_figures - slots, with the variables and groups of their NEFF. */
#include "profiler/packager/packager_figures.h"

#include <string.h>

/* The state buffer, whatever it is called; what no variable tells is judged by the address. */
static bool is_sbuf(const struct ntk_neff_subgraph *subgraph, uint64_t address)
{
    const struct ntk_neff_var *var = ntk_vendor_slot_var(subgraph, address);

    return var ? var->type == NTK_NEFF_VAR_STATE_BUFFER : !ntk_vendor_slot_address_is_hbm(address);
}

static void get_transfer(const struct ntk_neff_subgraph *subgraph, const uint8_t *slot,
                         struct ntk_vendor_work *work)
{
    bool from_sbuf = is_sbuf(subgraph, ntk_vendor_slot_u(slot, 16, 8));
    bool to_sbuf = is_sbuf(subgraph, ntk_vendor_slot_u(slot, 40, 8));

    work->is_known = true;
    *(from_sbuf ? &work->sbuf_read_bytes : &work->hbm_read_bytes) =
        ntk_vendor_slot_dma_read_bytes(slot);
    *(to_sbuf ? &work->sbuf_write_bytes : &work->hbm_write_bytes) =
        ntk_vendor_slot_dma_write_bytes(slot);
}

static void add_side(const struct ntk_neff_subgraph *subgraph,
                     const struct ntk_neff_pattern *pattern, uint64_t *sbuf_bytes,
                     uint64_t *hbm_bytes)
{
    uint64_t bytes_count = 1;

    for (uint32_t d = 0; d < pattern->dim_count; d++) {
        bytes_count *= pattern->sizes[d];
    }
    if (pattern->var < subgraph->var_count) {
        *(subgraph->vars[pattern->var].type == NTK_NEFF_VAR_STATE_BUFFER ? sbuf_bytes
                                                                         : hbm_bytes) +=
            bytes_count;
    }
}

static void add_group(const struct ntk_neff_subgraph *subgraph,
                      const struct ntk_neff_dma_group *group, struct ntk_vendor_work *work)
{
    for (uint32_t t = 0; t < group->transfer_count; t++) {
        const struct ntk_neff_transfer *transfer = &group->transfers[t];
        for (uint32_t s = 0; s < transfer->source_count; s++) {
            add_side(subgraph, &transfer->from[s], &work->sbuf_read_bytes, &work->hbm_read_bytes);
        }
        add_side(subgraph, &transfer->to, &work->sbuf_write_bytes, &work->hbm_write_bytes);
    }
    work->is_known = true;
}

/* Whether a trigger that names a queue, or one of its instances, starts the group. */
static bool is_of_queue(const struct ntk_neff_subgraph *subgraph,
                        const struct ntk_neff_dma_group *group, const char *queue)
{
    return (group->instance && strcmp(group->instance, queue) == 0) ||
           strcmp(subgraph->queue_sets[group->queue_set].name, queue) == 0;
}

static void get_trigger(const struct ntk_neff_subgraph *subgraph, enum ntk_isa_engine which,
                        const uint8_t *slot, struct ntk_vendor_work *work)
{
    const struct ntk_neff_engine *engine = &subgraph->engines[which];
    uint64_t id = ntk_vendor_slot_u(slot, NTK_VENDOR_TRIGGER_GROUP, 4);
    char queue[NTK_VENDOR_TRIGGER_NAME_BYTES + 1] = { 0 };

    memcpy(queue, slot + NTK_VENDOR_TRIGGER_NAME, NTK_VENDOR_TRIGGER_NAME_BYTES);
    for (uint32_t g = 0; g < engine->group_count; g++) {
        if (engine->groups[g].id == id && is_of_queue(subgraph, &engine->groups[g], queue)) {
            add_group(subgraph, &engine->groups[g], work);
        }
    }
}

void packager_figures_get(const struct ntk_neff_subgraph *subgraph, enum ntk_isa_engine which,
                          const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                          struct packager_figures *out_figures)
{
    struct packager_figures figures = { 0 };

    figures.has_flops = ntk_vendor_slot_flops(slot, NTK_METRICS_2_32, &figures.flops);
    switch (slot[0]) {
    case NTK_VENDOR_OPCODE_PSEUDO_TRANSFER:
        get_transfer(subgraph, slot, &figures.work);
        break;
    case NTK_VENDOR_OPCODE_TRIGGER:
        get_trigger(subgraph, which, slot, &figures.work);
        break;
    default:
        figures.is_transpose =
            (slot[0] == NTK_VENDOR_OPCODE_MATMUL || slot[0] == NTK_VENDOR_OPCODE_LDWEIGHTS) &&
            ntk_vendor_slot_is_transpose(slot);
        ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &figures.work);
        break;
    }
    *out_figures = figures;
}

void packager_sums_add(struct packager_sums *sums, const struct packager_figures *figures)
{
    const struct ntk_vendor_work *work = &figures->work;

    sums->slots++;
    sums->unknown += !work->is_known;
    sums->work.sbuf_read_bytes += work->sbuf_read_bytes;
    sums->work.sbuf_write_bytes += work->sbuf_write_bytes;
    sums->work.psum_read_bytes += work->psum_read_bytes;
    sums->work.psum_write_bytes += work->psum_write_bytes;
    sums->work.hbm_read_bytes += work->hbm_read_bytes;
    sums->work.hbm_write_bytes += work->hbm_write_bytes;
    sums->work.psum_to_sbuf_bytes += work->psum_to_sbuf_bytes;
    if (!figures->has_flops) {
        return;
    }
    sums->matmuls++;
    sums->has_unweighted = sums->has_unweighted || !figures->flops.has_adjusted;
    sums->flops += figures->flops.flops;
    sums->adjusted_flops += figures->flops.adjusted_flops;
    sums->transpose_flops += figures->is_transpose ? figures->flops.flops : 0;
    sums->adjusted_transpose_flops += figures->is_transpose ? figures->flops.adjusted_flops : 0;
}
