/* SPDX-License-Identifier: MIT */
/* dma_group - matches triggers with the groups of the NEFF. */
#include "profiler/analysis/dma_group.h"

#include <string.h>

#include "profiler/analysis/open_slot.h"
#include "shared/formats/neff/vendor_slot.h"

/* Finds the queue set, and 1 + the instance, of a vendor's trigger. */
static bool find_queue(const struct ntk_neff_subgraph *neff, const char *name,
                       struct ntk_isa_instr *trigger)
{
    for (uint32_t q = 0; q < neff->queue_set_count; q++) {
        const struct ntk_neff_queue_set *set = &neff->queue_sets[q];
        trigger->queue = (uint16_t)q;
        trigger->imm[0] = 0;
        if (strcmp(set->name, name) == 0) {
            return true;
        }
        for (uint32_t i = 0; i < set->instance_count; i++) {
            if (strcmp(set->instances[i], name) == 0) {
                trigger->imm[0] = i + 1;
                return true;
            }
        }
    }
    return false;
}

bool ntk_dma_trigger_get(const struct ntk_trace_core *core,
                         const struct ntk_trace_instruction *instruction,
                         struct ntk_isa_instr *out_trigger)
{
    const uint8_t *loaded = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);

    if (loaded && loaded[0] == NTK_NTFF_OPCODE_DMA_TRIGGER) {
        return ntk_open_slot_decode(core, instruction, out_trigger);
    }
    if (!loaded || loaded[0] != NTK_NTFF_OPCODE_WRITE || !core->neff) {
        return false;
    }
    const struct ntk_neff_engine *engine = &core->neff->engines[instruction->engine];
    int64_t pc = ntk_ntff_compiler_pc(core->ntff, instruction->engine, instruction->slot);
    if (engine->nsx_version || pc < 0 || (uint64_t)pc >= engine->code_bytes / NTK_NTFF_SLOT_BYTES) {
        return false;
    }
    const uint8_t *slot = engine->code + (size_t)pc * NTK_NTFF_SLOT_BYTES;
    char name[NTK_VENDOR_TRIGGER_NAME_BYTES + 1] = { 0 };
    memcpy(name, slot + NTK_VENDOR_TRIGGER_NAME, NTK_VENDOR_TRIGGER_NAME_BYTES);
    *out_trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    out_trigger->group_id = (uint32_t)ntk_vendor_slot_u(slot, NTK_VENDOR_TRIGGER_GROUP, 4);
    return slot[0] == NTK_VENDOR_OPCODE_TRIGGER && find_queue(core->neff, name, out_trigger);
}

uint64_t ntk_dma_rows_of(const struct ntk_isa_instr *instr, unsigned role)
{
    if (instr->op != NTK_ISA_OP_DMA_INDIRECT_COPY ||
        (role != NTK_ISA_DST && role != NTK_ISA_SRC0)) {
        return 1;
    }
    struct ntk_isa_indexing by = ntk_isa_indexing_get(instr);
    const struct ntk_isa_operand *indices = role == NTK_ISA_DST ? by.of_destination : by.of_source;
    return indices ? ntk_isa_operand_elements(indices) : 1;
}

/* Returns true if a trigger for an instance (1 + its number; 0 for none) starts the group. */
static bool is_in_instance(const struct ntk_neff_subgraph *neff,
                           const struct ntk_neff_dma_group *group, uint32_t instance)
{
    const struct ntk_neff_queue_set *set;

    if (instance == 0) {
        return true;
    }
    set = &neff->queue_sets[group->queue_set];
    return group->instance && instance <= set->instance_count &&
           strcmp(group->instance, set->instances[instance - 1]) == 0;
}

const struct ntk_neff_dma_group *ntk_dma_group_next(const struct ntk_trace_core *core,
                                                    unsigned engine,
                                                    const struct ntk_isa_instr *instr,
                                                    uint32_t *index)
{
    const struct ntk_neff_engine *of = core->neff ? &core->neff->engines[engine] : NULL;

    while (of && *index < of->group_count) {
        const struct ntk_neff_dma_group *group = &of->groups[(*index)++];
        if (group->id == instr->group_id && group->queue_set == instr->queue &&
            is_in_instance(core->neff, group, instr->imm[0])) {
            return group;
        }
    }
    return NULL;
}

const struct ntk_neff_transfer *ntk_dma_transfer_next(const struct ntk_trace_core *core,
                                                      unsigned engine,
                                                      const struct ntk_isa_instr *instr,
                                                      struct ntk_dma_cursor *cursor)
{
    while (!cursor->group || cursor->transfer_index == cursor->group->transfer_count) {
        cursor->group = ntk_dma_group_next(core, engine, instr, &cursor->group_index);
        cursor->transfer_index = 0;
        if (!cursor->group) {
            return NULL;
        }
        cursor->has_group = true;
    }
    return &cursor->group->transfers[cursor->transfer_index++];
}

uint64_t ntk_dma_pattern_bytes(const struct ntk_neff_pattern *pattern)
{
    uint64_t bytes_count = 1;

    for (uint32_t d = 0; d < pattern->dim_count; d++) {
        bytes_count *= pattern->sizes[d];
    }
    return bytes_count;
}

bool ntk_dma_transfer_accumulates(const struct ntk_neff_transfer *transfer)
{
    switch (transfer->op) {
    case NTK_NEFF_TRANSFER_ADD:
    case NTK_NEFF_TRANSFER_FMA:
        return !transfer->has_source_array;
    case NTK_NEFF_TRANSFER_MIN:
    case NTK_NEFF_TRANSFER_MAX:
        return !transfer->has_source_array && !transfer->has_constant;
    default:
        return false;
    }
}
