/* SPDX-License-Identifier: MIT */
/* packager_figures - evaluates slots with the variables and groups of their NEFF. */
#include "profiler/packager/packager_figures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns true for the state buffer, with any name; without a variable the address decides. */
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

/* ---- triggers ---- */

#define KEY_BYTES (NTK_VENDOR_TRIGGER_NAME_BYTES + 16)

/* Composes the key of a queue or of one of its instances in a trigger. Returns false if it is too
 * long for a trigger. */
static bool put_key(char key[KEY_BYTES], uint32_t group, const char *queue)
{
    return strlen(queue) <= NTK_VENDOR_TRIGGER_NAME_BYTES &&
           snprintf(key, KEY_BYTES, "%" PRIu32 " %s", group, queue) < KEY_BYTES;
}

static int add_to_key(struct packager_triggers *triggers, const struct ntk_neff_dma_group *group,
                      const char *queue)
{
    char key[KEY_BYTES];

    if (!put_key(key, group->id, queue)) {
        return 0;
    }
    struct ntk_vendor_work *work = ntk_map_get(&triggers->works, key);
    if (!work) {
        work = calloc(1, sizeof *work);
        if (!work || ntk_map_put(&triggers->works, key, work) < 0) {
            free(work);
            return -ENOMEM;
        }
    }
    add_group(triggers->subgraph, group, work);
    return 0;
}

int packager_triggers_init(struct packager_triggers *triggers,
                           const struct ntk_neff_subgraph *subgraph, enum ntk_isa_engine which)
{
    const struct ntk_neff_engine *engine = &subgraph->engines[which];
    int ret = 0;

    *triggers = (struct packager_triggers){ .subgraph = subgraph };
    for (uint32_t g = 0; g < engine->group_count && ret == 0; g++) {
        const struct ntk_neff_dma_group *group = &engine->groups[g];
        const char *set = subgraph->queue_sets[group->queue_set].name;

        ret = add_to_key(triggers, group, set);
        if (ret == 0 && group->instance && strcmp(group->instance, set) != 0) {
            ret = add_to_key(triggers, group, group->instance);
        }
    }
    if (ret < 0) {
        packager_triggers_fini(triggers);
    }
    return ret;
}

void packager_triggers_fini(struct packager_triggers *triggers)
{
    ntk_map_each(entry, &triggers->works) {
        free(entry->value);
    }
    ntk_map_fini(&triggers->works);
    *triggers = (struct packager_triggers){ 0 };
}

const struct ntk_vendor_work *packager_triggers_find(const struct packager_triggers *triggers,
                                                     const uint8_t slot[NTK_VENDOR_SLOT_BYTES])
{
    char queue[NTK_VENDOR_TRIGGER_NAME_BYTES + 1] = { 0 };
    char key[KEY_BYTES];

    memcpy(queue, slot + NTK_VENDOR_TRIGGER_NAME, NTK_VENDOR_TRIGGER_NAME_BYTES);
    return put_key(key, (uint32_t)ntk_vendor_slot_u(slot, NTK_VENDOR_TRIGGER_GROUP, 4), queue)
               ? ntk_map_get(&triggers->works, key)
               : NULL;
}

void packager_figures_get(const struct packager_triggers *triggers,
                          const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                          struct packager_figures *out_figures)
{
    struct packager_figures figures = { 0 };
    const struct ntk_vendor_work *started = NULL;

    figures.has_flops = ntk_vendor_slot_flops(slot, NTK_METRICS_2_32, &figures.flops);
    switch (slot[0]) {
    case NTK_VENDOR_OPCODE_PSEUDO_TRANSFER:
        get_transfer(triggers->subgraph, slot, &figures.work);
        break;
    case NTK_VENDOR_OPCODE_TRIGGER:
        started = packager_triggers_find(triggers, slot);
        figures.work = started ? *started : figures.work;
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
