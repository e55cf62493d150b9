/* SPDX-License-Identifier: MIT */
/* neff_questions - queries on an open NEFF. */
#include "shared/formats/neff/neff_read_private.h"

#include <string.h>

#include "shared/base/bisect.h"
#include "shared/base/str.h"

const struct ntk_neff_member *ntk_neff_member_get(const struct ntk_neff *neff, const char *name)
{
    const struct neff_private *data = neff->private_data;

    if (name[0] == '.' && name[1] == '/') {
        name += 2;
    }
    return ntk_map_get(&data->members, name);
}

bool ntk_neff_member_is_kernel_tree(const char *name)
{
    return strcmp(ntk_str_base_name(name), "kernel_debug_info.json") == 0 ||
           ntk_str_ends_with(name, ".debuginfo.json");
}

bool ntk_neff_member_is_debug(const char *name)
{
    const char *base = ntk_str_base_name(name);

    return ntk_str_starts_with(name, "debug_info/") || ntk_str_starts_with(base, "debug_info") ||
           ntk_str_ends_with(base, ".dbg") || ntk_str_ends_with(base, ".asm") ||
           ntk_neff_member_is_kernel_tree(name);
}

const struct ntk_neff_var *ntk_neff_var_by_id(const struct ntk_neff_subgraph *subgraph,
                                              uint32_t var_id)
{
    const struct ntk_neff_var_place *places = subgraph->vars_by_id;
    size_t count = places ? subgraph->var_count : 0;
    size_t at = 0;

    NTK_BISECT(at, count, i, places[i].var_id < var_id);
    if (at < count && places[at].var_id == var_id) {
        return &subgraph->vars[places[at].place];
    }
    for (uint32_t i = 0; i < subgraph->var_count && !subgraph->vars_by_id; i++) {
        if (subgraph->vars[i].var_id == var_id) {
            return &subgraph->vars[i];
        }
    }
    return NULL;
}

const struct ntk_neff_var *ntk_neff_var_by_name(const struct ntk_neff_subgraph *subgraph,
                                                const char *name)
{
    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        if (strcmp(subgraph->vars[i].name, name) == 0) {
            return &subgraph->vars[i];
        }
    }
    return NULL;
}

const struct ntk_neff_tensor *ntk_neff_tensor_get(const struct ntk_neff *neff,
                                                  struct ntk_neff_entry entry)
{
    if (entry.node >= neff->node_count || entry.output >= neff->nodes[entry.node].output_count) {
        return NULL;
    }
    return &neff->nodes[entry.node].outputs[entry.output];
}

uint64_t ntk_neff_transfer_descriptors(const struct ntk_neff_transfer *transfer)
{
    uint32_t first = transfer->tiling_dim_count > 0 ? transfer->tiling_dim_count : 1;
    uint64_t count = 1;

    for (uint32_t i = first; i < transfer->to.dim_count; i++) {
        count *= transfer->to.sizes[i];
    }
    return count;
}

static bool touches_io(const struct ntk_neff_subgraph *subgraph,
                       const struct ntk_neff_transfer *transfer)
{
    enum ntk_neff_var_type type = subgraph->vars[transfer->to.var].type;
    bool io = type == NTK_NEFF_VAR_INPUT || type == NTK_NEFF_VAR_OUTPUT;

    for (uint32_t i = 0; i < transfer->source_count; i++) {
        type = subgraph->vars[transfer->from[i].var].type;
        io = io || type == NTK_NEFF_VAR_INPUT || type == NTK_NEFF_VAR_OUTPUT;
    }
    return io;
}

void ntk_neff_subgraph_sizes(const struct ntk_neff_subgraph *subgraph,
                             struct ntk_neff_sizes *out_sizes)
{
    struct ntk_neff_sizes sizes = { 0 };
    uint64_t shared[2] = { 0, 0 };

    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        const struct ntk_neff_var *var = &subgraph->vars[i];

        switch (var->type) {
        case NTK_NEFF_VAR_FILE:
            sizes.constants += var->bytes_count;
            break;
        case NTK_NEFF_VAR_TMP_BUF:
            sizes.private_scratch += var->bytes_count;
            break;
        case NTK_NEFF_VAR_VIRTUAL:
            if (var->backing_offset + var->bytes_count > shared[var->alt_fabric]) {
                shared[var->alt_fabric] = var->backing_offset + var->bytes_count;
            }
            break;
        case NTK_NEFF_VAR_INPUT:
        case NTK_NEFF_VAR_OUTPUT:
            sizes.io += var->bytes_count;
            break;
        default:
            break;
        }
    }
    sizes.shared_scratch = shared[0] + shared[1];
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        const struct ntk_neff_engine *engine = &subgraph->engines[e];

        sizes.code += engine->code_bytes;
        for (uint32_t i = 0; i < engine->table_count; i++) {
            sizes.tables += engine->tables[i].bytes_count;
        }
        for (uint32_t i = 0; i < engine->group_count; i++) {
            for (uint32_t k = 0; k < engine->groups[i].transfer_count; k++) {
                const struct ntk_neff_transfer *transfer = &engine->groups[i].transfers[k];
                uint64_t bytes = 16 * ntk_neff_transfer_descriptors(transfer);

                if (touches_io(subgraph, transfer)) {
                    sizes.rings_io += bytes;
                } else {
                    sizes.rings_spill += bytes;
                }
            }
        }
    }
    *out_sizes = sizes;
}
